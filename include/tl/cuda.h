//===- cuda.h - Device functions over PTX instructions ----------*- C++ -*-===//
//
// What generated CUDA C++ is written with, and what CUDA C++ written by hand
// may use too: `#include <tl/cuda.h>`. Each function is one instruction, or a
// few, of the PTX ISA; its comment names it and what it needs beyond compute
// capability 8.0. The header stands alone: it includes nothing, needs C++17,
// and is read by nvcc and NVRTC alike.
//
// Pointers are generic, as everywhere in CUDA C++. A pointer that an
// instruction wants in shared memory must point there.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CUDA_H
#define TL_CUDA_H

#define TL_DEVICE __device__ __forceinline__

namespace tl {

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// `N` values, which the compiler keeps in registers as long as every index is
/// known after unrolling.
///
/// What a text has by the thousand is written here without loops: unrolling
/// them took NVRTC 13.0 half of its time. Parts of vectors have loops, because
/// lists of their elements are made anew: ptxas waits for accumulators of
/// `wgmma` that are (C7514).
template <typename T, int N>
struct vec {
  T data[N];

  TL_DEVICE T &operator[](int i) { return data[i]; }
  TL_DEVICE const T &operator[](int i) const { return data[i]; }
};

namespace detail {
template <int... I>
struct Indices {};

template <typename Left, typename Right>
struct Joined;
template <int... I, int... J>
struct Joined<Indices<I...>, Indices<J...>> {
  using type = Indices<I..., (int(sizeof...(I)) + J)...>;
};

/// 0 to N - 1. In halves, because compilers limit how deep templates go.
template <int N>
struct IndicesBelow : Joined<typename IndicesBelow<N / 2>::type,
                             typename IndicesBelow<N - N / 2>::type> {};
template <>
struct IndicesBelow<0> {
  using type = Indices<>;
};
template <>
struct IndicesBelow<1> {
  using type = Indices<0>;
};
template <int N>
using Below = typename IndicesBelow<N>::type;

template <typename T, int... I>
TL_DEVICE vec<T, sizeof...(I)> splat(T x, Indices<I...>) {
  return {{(static_cast<void>(I), x)...}};
}
template <typename T, int... I>
TL_DEVICE vec<T, sizeof...(I)> slice(const T *x, Indices<I...>) {
  return {{x[I]...}};
}
template <typename T, int... I>
TL_DEVICE void insert(T *x, const T *part, Indices<I...>) {
  ((x[I] = part[I]), ...);
}
} // namespace detail

/// `N` times `x`.
template <int N, typename T>
TL_DEVICE vec<T, N> splat(T x) {
  return detail::splat(x, detail::Below<N>());
}

/// Elements `at` to `at + M` of `x`.
template <int M, typename T, int N>
TL_DEVICE vec<T, M> slice(const vec<T, N> &x, int at) {
  vec<T, M> result;
#pragma unroll
  for (int i = 0; i < M; ++i)
    result[i] = x[at + i];
  return result;
}

/// Overwrites the elements of `x` from `at` on.
template <typename T, int N, int M>
TL_DEVICE void insert(vec<T, N> &x, int at, const vec<T, M> &part) {
#pragma unroll
  for (int i = 0; i < M; ++i)
    x[at + i] = part[i];
}

/// Two results of one operation.
template <typename A, typename B>
struct pair {
  A first;
  B second;
};

/// The bits of `x` as another type of the same size.
///
/// Not by `memcpy` where it is a part of a register: NVRTC and nvcc 13.0 took
/// one of two bytes apart, and read the second from shared memory only where it
/// was used, behind barriers and stores. But by `memcpy` where it is several
/// registers: else the elements of accumulators are made anew between two
/// instructions on matrices, for which `ptxas` then waits (C7514).
template <typename To, typename From>
TL_DEVICE To bit_cast(const From &x) {
  static_assert(sizeof(To) == sizeof(From), "types of one size");
  if constexpr (sizeof(To) <= 4) {
    return __builtin_bit_cast(To, x);
  } else {
    To result;
    memcpy(&result, &x, sizeof(To));
    return result;
  }
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

/// IEEE binary16. Layout and alignment are those of `__half`.
struct half {
  unsigned short bits;

  half() = default;
  TL_DEVICE explicit half(float x) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  }
  TL_DEVICE explicit half(double x) {
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  }
  TL_DEVICE explicit half(int x) {
    asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(x));
  }
  TL_DEVICE explicit half(unsigned x) {
    asm("cvt.rn.f16.u32 %0, %1;" : "=h"(bits) : "r"(x));
  }
  TL_DEVICE explicit half(long long x) {
    asm("cvt.rn.f16.s64 %0, %1;" : "=h"(bits) : "l"(x));
  }
  TL_DEVICE explicit half(unsigned long long x) {
    asm("cvt.rn.f16.u64 %0, %1;" : "=h"(bits) : "l"(x));
  }
  TL_DEVICE explicit operator float() const {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
    return result;
  }
  TL_DEVICE explicit operator double() const { return float(*this); }
};

namespace detail {
/// A float near `x` that rounds on as `x` itself would: where `x` is between
/// two, the one whose last bit is set, which is no tie.
TL_DEVICE float roundToOdd(double x) {
  float nearest = __double2float_rn(x);
  unsigned low = __float_as_uint(nearest);
  double back = nearest;
  if (back != x && (low & 1) == 0 && x == x)
    low += fabs(back) < fabs(x) ? 1u : ~0u;
  return __uint_as_float(low);
}
TL_DEVICE float roundToOdd(int x) {
  float low = __int2float_rz(x);
  return __uint_as_float(__float_as_uint(low) | (__float2int_rz(low) != x));
}
TL_DEVICE float roundToOdd(unsigned x) {
  float low = __uint2float_rz(x);
  return __uint_as_float(__float_as_uint(low) | (__float2uint_rz(low) != x));
}
TL_DEVICE float roundToOdd(long long x) {
  float low = __ll2float_rz(x);
  return __uint_as_float(__float_as_uint(low) | (__float2ll_rz(low) != x));
}
TL_DEVICE float roundToOdd(unsigned long long x) {
  float low = __ull2float_rz(x);
  return __uint_as_float(__float_as_uint(low) | (__float2ull_rz(low) != x));
}
} // namespace detail

/// bfloat16, the upper half of a float. Layout and alignment are those of
/// `__nv_bfloat16`.
struct bfloat16 {
  unsigned short bits;

  bfloat16() = default;
#if __CUDA_ARCH__ >= 800
  TL_DEVICE explicit bfloat16(float x) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  }
#else
  TL_DEVICE explicit bfloat16(float x) {
    unsigned word = __float_as_uint(x);
    bits = x == x ? (word + 0x7fff + (word >> 16 & 1)) >> 16 : 0x7fff;
  }
#endif
  TL_DEVICE explicit bfloat16(double x) : bfloat16(detail::roundToOdd(x)) {}
#if __CUDA_ARCH__ >= 900
  TL_DEVICE explicit bfloat16(int x) {
    asm("cvt.rn.bf16.s32 %0, %1;" : "=h"(bits) : "r"(x));
  }
  TL_DEVICE explicit bfloat16(unsigned x) {
    asm("cvt.rn.bf16.u32 %0, %1;" : "=h"(bits) : "r"(x));
  }
  TL_DEVICE explicit bfloat16(long long x) {
    asm("cvt.rn.bf16.s64 %0, %1;" : "=h"(bits) : "l"(x));
  }
  TL_DEVICE explicit bfloat16(unsigned long long x) {
    asm("cvt.rn.bf16.u64 %0, %1;" : "=h"(bits) : "l"(x));
  }
#else
  TL_DEVICE explicit bfloat16(signed char x) : bfloat16(float(x)) {}
  TL_DEVICE explicit bfloat16(unsigned char x) : bfloat16(float(x)) {}
  TL_DEVICE explicit bfloat16(short x) : bfloat16(float(x)) {}
  TL_DEVICE explicit bfloat16(unsigned short x) : bfloat16(float(x)) {}
  TL_DEVICE explicit bfloat16(int x) : bfloat16(detail::roundToOdd(x)) {}
  TL_DEVICE explicit bfloat16(unsigned x) : bfloat16(detail::roundToOdd(x)) {}
  TL_DEVICE explicit bfloat16(long long x) : bfloat16(detail::roundToOdd(x)) {}
  TL_DEVICE explicit bfloat16(unsigned long long x)
      : bfloat16(detail::roundToOdd(x)) {}
#endif
  TL_DEVICE explicit operator float() const {
    return __uint_as_float(unsigned(bits) << 16);
  }
  TL_DEVICE explicit operator double() const { return float(*this); }
};

#if __CUDA_ARCH__ >= 890
namespace detail {
// Two floats as two of 8 bits, `low` the first in memory. The instruction makes
// the greatest number of what is too large: of that, 464 and 61440 are the
// least but for ties.
TL_DEVICE unsigned short packE4M3(float low, float high) {
  unsigned short both;
  low = fabsf(low) > 464.0f ? __uint_as_float(0x7fc00000) : low;
  high = fabsf(high) > 464.0f ? __uint_as_float(0x7fc00000) : high;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(both)
      : "f"(high), "f"(low));
  return both;
}
TL_DEVICE unsigned short packE5M2(float low, float high) {
  unsigned short both;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
      : "=h"(both)
      : "f"(high), "f"(low));
  // The greatest number is 0x7b, and infinity follows it.
  both += fabsf(low) >= 61440.0f ? 1 : 0;
  both += fabsf(high) >= 61440.0f ? 0x100 : 0;
  return both;
}
} // namespace detail
#endif

/// float8_e4m3fn, without infinities: what is too large is NaN. Layout and
/// alignment are those of `__nv_fp8_e4m3`.
struct float8_e4m3 {
  unsigned char bits;

  float8_e4m3() = default;
#if __CUDA_ARCH__ >= 890
  TL_DEVICE explicit float8_e4m3(float x) : bits(detail::packE4M3(x, 0.0f)) {}
#else
  TL_DEVICE explicit float8_e4m3(float x) {
    unsigned size = __float_as_uint(x) & 0x7fffffff;
    unsigned sign = __float_as_uint(x) >> 24 & 0x80;
    // Below the least normal number, the sum's last bit is the quantum.
    unsigned tiny = __float_as_uint(__uint_as_float(size) + 16384.0f) -
                    __float_as_uint(16384.0f);
    unsigned normal = ((size + 0x7ffff + (size >> 20 & 1)) >> 20) - (120 << 3);
    normal = normal < 0x7f ? normal : 0x7f;
    bits = (size < 121u << 23 ? tiny : normal) | sign;
  }
#endif
  TL_DEVICE explicit float8_e4m3(half x) : float8_e4m3(float(x)) {}
  TL_DEVICE explicit float8_e4m3(bfloat16 x) : float8_e4m3(float(x)) {}
  TL_DEVICE explicit float8_e4m3(double x)
      : float8_e4m3(detail::roundToOdd(x)) {}
  // What a float rounds is too large anyway.
  TL_DEVICE explicit float8_e4m3(int x) : float8_e4m3(float(x)) {}
  TL_DEVICE explicit float8_e4m3(unsigned x) : float8_e4m3(float(x)) {}
  TL_DEVICE explicit float8_e4m3(long long x) : float8_e4m3(float(x)) {}
  TL_DEVICE explicit float8_e4m3(unsigned long long x)
      : float8_e4m3(float(x)) {}
#if __CUDA_ARCH__ >= 890
  TL_DEVICE explicit operator half() const {
    unsigned both;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"((short)bits));
    half result;
    result.bits = both;
    return result;
  }
  TL_DEVICE explicit operator float() const { return float(half(*this)); }
#else
  TL_DEVICE explicit operator float() const {
    half wide;
    wide.bits = (bits & 0x80) << 8 | (bits & 0x7f) << 7;
    float result = float(wide) * 256.0f;
    return (bits & 0x7f) == 0x7f ? __uint_as_float(0x7fc00000) : result;
  }
  TL_DEVICE explicit operator half() const { return half(float(*this)); }
#endif
  TL_DEVICE explicit operator bfloat16() const {
    return bfloat16(float(*this));
  }
  TL_DEVICE explicit operator double() const { return float(*this); }
};

/// float8_e5m2, the upper half of a half. Layout and alignment are those of
/// `__nv_fp8_e5m2`.
struct float8_e5m2 {
  unsigned char bits;

  float8_e5m2() = default;
#if __CUDA_ARCH__ >= 890
  TL_DEVICE explicit float8_e5m2(float x) : bits(detail::packE5M2(x, 0.0f)) {}
#else
  TL_DEVICE explicit float8_e5m2(float x) {
    unsigned size = __float_as_uint(x) & 0x7fffffff;
    unsigned sign = __float_as_uint(x) >> 24 & 0x80;
    unsigned tiny = __float_as_uint(__uint_as_float(size) + 128.0f) -
                    __float_as_uint(128.0f);
    unsigned normal = ((size + 0xfffff + (size >> 21 & 1)) >> 21) - (112 << 2);
    normal = normal < 0x7c ? normal : size <= 0x7f800000 ? 0x7c : 0x7e;
    bits = (size < 113u << 23 ? tiny : normal) | sign;
  }
#endif
  TL_DEVICE explicit float8_e5m2(half x) : float8_e5m2(float(x)) {}
  TL_DEVICE explicit float8_e5m2(bfloat16 x) : float8_e5m2(float(x)) {}
  TL_DEVICE explicit float8_e5m2(double x)
      : float8_e5m2(detail::roundToOdd(x)) {}
  // What a float rounds is too large anyway.
  TL_DEVICE explicit float8_e5m2(int x) : float8_e5m2(float(x)) {}
  TL_DEVICE explicit float8_e5m2(unsigned x) : float8_e5m2(float(x)) {}
  TL_DEVICE explicit float8_e5m2(long long x) : float8_e5m2(float(x)) {}
  TL_DEVICE explicit float8_e5m2(unsigned long long x)
      : float8_e5m2(float(x)) {}
  TL_DEVICE explicit operator half() const {
    half wide;
    wide.bits = bits << 8;
    return wide;
  }
  TL_DEVICE explicit operator float() const { return float(half(*this)); }
  TL_DEVICE explicit operator bfloat16() const {
    return bfloat16(float(*this));
  }
  TL_DEVICE explicit operator double() const { return float(*this); }
};

// Products and sums round once; the assembler may contract them, as it does
// those of floats. Quotients are rounded from those of floats, which is exact.

TL_DEVICE half operator+(half a, half b) {
  half r;
  asm("add.f16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));
  return r;
}
TL_DEVICE half operator-(half a, half b) {
  half r;
  asm("sub.f16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));
  return r;
}
TL_DEVICE half operator*(half a, half b) {
  half r;
  asm("mul.f16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));
  return r;
}
TL_DEVICE half operator/(half a, half b) { return half(float(a) / float(b)); }
TL_DEVICE half operator-(half a) {
  a.bits ^= 0x8000;
  return a;
}
TL_DEVICE bool operator==(half a, half b) { return float(a) == float(b); }
TL_DEVICE bool operator!=(half a, half b) { return float(a) != float(b); }
TL_DEVICE bool operator<(half a, half b) { return float(a) < float(b); }
TL_DEVICE bool operator<=(half a, half b) { return float(a) <= float(b); }
TL_DEVICE bool operator>(half a, half b) { return float(a) > float(b); }
TL_DEVICE bool operator>=(half a, half b) { return float(a) >= float(b); }

TL_DEVICE bfloat16 operator+(bfloat16 a, bfloat16 b) {
#if __CUDA_ARCH__ >= 900
  bfloat16 r;
  asm("add.bf16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));
  return r;
#else
  return bfloat16(float(a) + float(b));
#endif
}
TL_DEVICE bfloat16 operator-(bfloat16 a, bfloat16 b) {
#if __CUDA_ARCH__ >= 900
  bfloat16 r;
  asm("sub.bf16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));
  return r;
#else
  return bfloat16(float(a) - float(b));
#endif
}
TL_DEVICE bfloat16 operator*(bfloat16 a, bfloat16 b) {
#if __CUDA_ARCH__ >= 900
  bfloat16 r;
  asm("mul.bf16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));
  return r;
#else
  return bfloat16(float(a) * float(b));
#endif
}
TL_DEVICE bfloat16 operator/(bfloat16 a, bfloat16 b) {
  return bfloat16(float(a) / float(b));
}
TL_DEVICE bfloat16 operator-(bfloat16 a) {
  a.bits ^= 0x8000;
  return a;
}
TL_DEVICE bool operator==(bfloat16 a, bfloat16 b) {
  return float(a) == float(b);
}
TL_DEVICE bool operator!=(bfloat16 a, bfloat16 b) {
  return float(a) != float(b);
}
TL_DEVICE bool operator<(bfloat16 a, bfloat16 b) { return float(a) < float(b); }
TL_DEVICE bool operator<=(bfloat16 a, bfloat16 b) {
  return float(a) <= float(b);
}
TL_DEVICE bool operator>(bfloat16 a, bfloat16 b) { return float(a) > float(b); }
TL_DEVICE bool operator>=(bfloat16 a, bfloat16 b) {
  return float(a) >= float(b);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// `x` as a `To`, rounded to nearest, or to zero if `To` is an integer.
template <typename To, typename From>
TL_DEVICE To convert(From x) {
  return To(x);
}

namespace detail {
/// Two floats rounded to one register; `low` is the first in memory.
#if __CUDA_ARCH__ >= 800
TL_DEVICE unsigned pack(float low, float high, half) {
  unsigned result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
TL_DEVICE unsigned pack(float low, float high, bfloat16) {
  unsigned result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
#else
template <typename T>
TL_DEVICE unsigned pack(float low, float high, T) {
  return T(low).bits | unsigned(T(high).bits) << 16;
}
#endif

#if __CUDA_ARCH__ >= 890
TL_DEVICE unsigned short pack(float low, float high, float8_e4m3) {
  return packE4M3(low, high);
}
TL_DEVICE unsigned short pack(float low, float high, float8_e5m2) {
  return packE5M2(low, high);
}
#endif

template <typename To, int N>
TL_DEVICE vec<To, N> convertPairs(const vec<float, N> &x) {
  vec<To, N> result;
#pragma unroll
  for (int i = 0; i + 1 < N; i += 2) {
    insert(result, i, bit_cast<vec<To, 2>>(pack(x[i], x[i + 1], To())));
  }
  if (N % 2 != 0)
    result[N - 1] = To(x[N - 1]);
  return result;
}

/// Converts element by element where there is no instruction for two.
template <typename To, typename From>
struct VectorConversion {
  template <int N>
  static TL_DEVICE vec<To, N> run(const vec<From, N> &x) {
    vec<To, N> result;
#pragma unroll
    for (int i = 0; i < N; ++i)
      result[i] = To(x[i]);
    return result;
  }
};
template <>
struct VectorConversion<half, float> {
  template <int N>
  static TL_DEVICE vec<half, N> run(const vec<float, N> &x) {
    return convertPairs<half>(x);
  }
};
template <>
struct VectorConversion<bfloat16, float> {
  template <int N>
  static TL_DEVICE vec<bfloat16, N> run(const vec<float, N> &x) {
    return convertPairs<bfloat16>(x);
  }
};
#if __CUDA_ARCH__ >= 890
template <>
struct VectorConversion<float8_e4m3, float> {
  template <int N>
  static TL_DEVICE vec<float8_e4m3, N> run(const vec<float, N> &x) {
    return convertPairs<float8_e4m3>(x);
  }
};
template <>
struct VectorConversion<float8_e5m2, float> {
  template <int N>
  static TL_DEVICE vec<float8_e5m2, N> run(const vec<float, N> &x) {
    return convertPairs<float8_e5m2>(x);
  }
};
#endif
} // namespace detail

/// The elements of `x`, converted; floats go to 16 bits, and from sm_89 on to
/// 8, two at a time.
template <typename To, typename From, int N>
TL_DEVICE vec<To, N> convert(const vec<From, N> &x) {
  return detail::VectorConversion<To, From>::run(x);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

constexpr float inf = __builtin_bit_cast(float, 0x7f800000);

template <typename T>
TL_DEVICE T min(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
TL_DEVICE T max(T a, T b) {
  return a > b ? a : b;
}

/// `x`, of which compilers know nothing more; no instruction.
template <typename T>
TL_DEVICE T opaque(T x) {
  if constexpr (sizeof(T) == 1)
    return static_cast<T>(opaque<int>(x));
  else if constexpr (sizeof(T) == 2)
    asm("" : "+h"(x));
  else if constexpr (sizeof(T) == 4)
    asm("" : "+r"(x));
  else
    asm("" : "+l"(x));
  return x;
}

/// `-x` in two steps, where ptxas 13.0 would lose a sign: of a short integer
/// that becomes a longer one (`neg.s16`), and as an operand of `max` or `min`,
/// since of `max(max(a, -b), c)` it makes one instruction for sm_90.
TL_DEVICE int negate(int x) {
  int result;
  asm("not.b32 %0, %1;\n\tadd.s32 %0, %0, 1;" : "=r"(result) : "r"(x));
  return result;
}

/// Quotients rounded down and up.
template <typename T>
TL_DEVICE T floordiv(T a, T b) {
  T quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <typename T>
TL_DEVICE T ceildiv(T a, T b) {
  if constexpr (T(-1) > T(0)) {
    return a == 0 ? 0 : (a - 1) / b + 1;
  } else {
    T quotient = a / b;
    return a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
  }
}

/// Bits that are set; zeros above the highest and below the lowest of them.
TL_DEVICE int popcount(unsigned x) { return __popc(x); }
TL_DEVICE int popcount(unsigned long long x) { return __popcll(x); }
TL_DEVICE int countl_zero(unsigned x) { return __clz(x); }
TL_DEVICE int countl_zero(unsigned long long x) { return __clzll(x); }
TL_DEVICE int countr_zero(unsigned x) { return __clz(__brev(x)); }
TL_DEVICE int countr_zero(unsigned long long x) { return __clzll(__brevll(x)); }

/// The upper half of a product.
TL_DEVICE int mulhi(int a, int b) { return __mulhi(a, b); }
TL_DEVICE unsigned mulhi(unsigned a, unsigned b) { return __umulhi(a, b); }
TL_DEVICE long long mulhi(long long a, long long b) { return __mul64hi(a, b); }
TL_DEVICE unsigned long long mulhi(unsigned long long a, unsigned long long b) {
  return __umul64hi(a, b);
}

/// The other operand if one is NaN.
TL_DEVICE float minnum(float a, float b) { return fminf(a, b); }
TL_DEVICE float maxnum(float a, float b) { return fmaxf(a, b); }
TL_DEVICE double minnum(double a, double b) { return fmin(a, b); }
TL_DEVICE double maxnum(double a, double b) { return fmax(a, b); }

/// NaN if an operand is.
#if __CUDA_ARCH__ >= 800
TL_DEVICE float minimum(float a, float b) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
TL_DEVICE float maximum(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
#else
TL_DEVICE float minimum(float a, float b) {
  float result = fminf(a, b);
  return (a != a) | (b != b) ? __uint_as_float(0x7fffffff) : result;
}
TL_DEVICE float maximum(float a, float b) {
  float result = fmaxf(a, b);
  return (a != a) | (b != b) ? __uint_as_float(0x7fffffff) : result;
}
#endif
/// Compared behind the instruction, and at once: else NVRTC makes two branches
/// of each, which are a block of two instructions among thousands.
TL_DEVICE double minimum(double a, double b) {
  double result = fmin(a, b);
  return (a != a) | (b != b) ? __longlong_as_double(0x7ff8000000000000ll)
                             : result;
}
TL_DEVICE double maximum(double a, double b) {
  double result = fmax(a, b);
  return (a != a) | (b != b) ? __longlong_as_double(0x7ff8000000000000ll)
                             : result;
}

/// Remainder of a division that is rounded to zero.
TL_DEVICE float rem(float a, float b) {
  float result = a - truncf(a / b) * b;
  return fabsf(b) == inf ? a : result;
}
TL_DEVICE double rem(double a, double b) {
  double result = a - trunc(a / b) * b;
  return fabs(b) == inf ? a : result;
}

/// `a * b + c`, rounded once.
TL_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }
TL_DEVICE double fma(double a, double b, double c) { return ::fma(a, b, c); }
TL_DEVICE half fma(half a, half b, half c) {
  half r;
  asm("fma.rn.f16 %0, %1, %2, %3;"
      : "=h"(r.bits)
      : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return r;
}
#if __CUDA_ARCH__ >= 800
TL_DEVICE bfloat16 fma(bfloat16 a, bfloat16 b, bfloat16 c) {
  bfloat16 r;
  asm("fma.rn.bf16 %0, %1, %2, %3;"
      : "=h"(r.bits)
      : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return r;
}
#else
/// Of the two floats around the sum, the one whose last bit is set rounds on as
/// the sum itself would; of an exact one there is one, but for zeros.
TL_DEVICE bfloat16 fma(bfloat16 a, bfloat16 b, bfloat16 c) {
  float low = __fmaf_rd(float(a), float(b), float(c));
  float high = __fmaf_ru(float(a), float(b), float(c));
  return bfloat16(__float_as_uint(low) & 1 ? low : high);
}
#endif

TL_DEVICE float abs(float x) { return fabsf(x); }
TL_DEVICE double abs(double x) { return fabs(x); }
TL_DEVICE int abs(int x) { return x < 0 ? int(0u - x) : x; }
TL_DEVICE long long abs(long long x) {
  return x < 0 ? (long long)(0ull - x) : x;
}
TL_DEVICE float ceil(float x) { return ceilf(x); }
TL_DEVICE double ceil(double x) { return ::ceil(x); }
TL_DEVICE float floor(float x) { return floorf(x); }
TL_DEVICE double floor(double x) { return ::floor(x); }
TL_DEVICE float trunc(float x) { return truncf(x); }
TL_DEVICE double trunc(double x) { return ::trunc(x); }
/// To the nearest integer, halves away from zero.
TL_DEVICE float round(float x) { return roundf(x); }
TL_DEVICE double round(double x) { return ::round(x); }
/// To the nearest integer, halves to even.
TL_DEVICE float roundeven(float x) { return rintf(x); }
TL_DEVICE double roundeven(double x) { return rint(x); }
TL_DEVICE float copysign(float x, float sign) { return copysignf(x, sign); }
TL_DEVICE double copysign(double x, double sign) { return ::copysign(x, sign); }
TL_DEVICE float sqrt(float x) { return sqrtf(x); }
TL_DEVICE double sqrt(double x) { return ::sqrt(x); }
TL_DEVICE bool isnan(float x) { return x != x; }
TL_DEVICE bool isnan(double x) { return x != x; }
TL_DEVICE bool isinf(float x) { return fabsf(x) == inf; }
TL_DEVICE bool isinf(double x) { return fabs(x) == inf; }
TL_DEVICE bool isfinite(float x) { return fabsf(x) < inf; }
TL_DEVICE bool isfinite(double x) { return fabs(x) < inf; }

// 16-bit floats: exact, or rounded from exact.
TL_DEVICE half minnum(half a, half b) {
  return half(minnum(float(a), float(b)));
}
TL_DEVICE half maxnum(half a, half b) {
  return half(maxnum(float(a), float(b)));
}
TL_DEVICE half minimum(half a, half b) {
  return half(minimum(float(a), float(b)));
}
TL_DEVICE half maximum(half a, half b) {
  return half(maximum(float(a), float(b)));
}
TL_DEVICE half rem(half a, half b) { return half(rem(float(a), float(b))); }
TL_DEVICE half copysign(half a, half b) {
  return half(copysign(float(a), float(b)));
}
TL_DEVICE half abs(half x) { return half(abs(float(x))); }
TL_DEVICE half ceil(half x) { return half(ceil(float(x))); }
TL_DEVICE half floor(half x) { return half(floor(float(x))); }
TL_DEVICE half trunc(half x) { return half(trunc(float(x))); }
TL_DEVICE half round(half x) { return half(round(float(x))); }
TL_DEVICE half roundeven(half x) { return half(roundeven(float(x))); }
TL_DEVICE half sqrt(half x) { return half(sqrt(float(x))); }
TL_DEVICE bool isnan(half x) { return isnan(float(x)); }
TL_DEVICE bool isinf(half x) { return isinf(float(x)); }
TL_DEVICE bool isfinite(half x) { return isfinite(float(x)); }
TL_DEVICE bfloat16 minnum(bfloat16 a, bfloat16 b) {
  return bfloat16(minnum(float(a), float(b)));
}
TL_DEVICE bfloat16 maxnum(bfloat16 a, bfloat16 b) {
  return bfloat16(maxnum(float(a), float(b)));
}
TL_DEVICE bfloat16 minimum(bfloat16 a, bfloat16 b) {
  return bfloat16(minimum(float(a), float(b)));
}
TL_DEVICE bfloat16 maximum(bfloat16 a, bfloat16 b) {
  return bfloat16(maximum(float(a), float(b)));
}
TL_DEVICE bfloat16 rem(bfloat16 a, bfloat16 b) {
  return bfloat16(rem(float(a), float(b)));
}
TL_DEVICE bfloat16 copysign(bfloat16 a, bfloat16 b) {
  return bfloat16(copysign(float(a), float(b)));
}
TL_DEVICE bfloat16 abs(bfloat16 x) { return bfloat16(abs(float(x))); }
TL_DEVICE bfloat16 ceil(bfloat16 x) { return bfloat16(ceil(float(x))); }
TL_DEVICE bfloat16 floor(bfloat16 x) { return bfloat16(floor(float(x))); }
TL_DEVICE bfloat16 trunc(bfloat16 x) { return bfloat16(trunc(float(x))); }
TL_DEVICE bfloat16 round(bfloat16 x) { return bfloat16(round(float(x))); }
TL_DEVICE bfloat16 roundeven(bfloat16 x) {
  return bfloat16(roundeven(float(x)));
}
TL_DEVICE bfloat16 sqrt(bfloat16 x) { return bfloat16(sqrt(float(x))); }
TL_DEVICE bool isnan(bfloat16 x) { return isnan(float(x)); }
TL_DEVICE bool isinf(bfloat16 x) { return isinf(float(x)); }
TL_DEVICE bool isfinite(bfloat16 x) { return isfinite(float(x)); }

// The special function unit; `_ftz` takes and gives zero for denormals.

/// `ex2.approx.f32`: 2 to the power of `x`
TL_DEVICE float ex2_approx(float x) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `ex2.approx.ftz.f32`: 2 to the power of `x`
TL_DEVICE float ex2_approx_ftz(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `rcp.approx.ftz.f32`: one over a number
TL_DEVICE float rcp_approx_ftz(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `rcp.approx.ftz.f64`: one over a number, to 20 bits
TL_DEVICE double rcp_approx_ftz(double x) {
  double result;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
  return result;
}
/// `lg2.approx.ftz.f32`: logarithm to base 2
TL_DEVICE float lg2_approx_ftz(float x) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `rsqrt.approx.f32`: 1 over the square root
TL_DEVICE float rsqrt_approx(float x) {
  float result;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `rsqrt.approx.ftz.f32`: 1 over the square root
TL_DEVICE float rsqrt_approx_ftz(float x) {
  float result;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `rsqrt.approx.ftz.f64`: 1 over the square root, to 20 bits
TL_DEVICE double rsqrt_approx_ftz(double x) {
  double result;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
  return result;
}
/// `fma.rp.f32`: a b + c, rounded up
TL_DEVICE float fma_up(float a, float b, float c) {
  float result;
  asm("fma.rp.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
/// `sin.approx.ftz.f32`: sine
TL_DEVICE float sin_approx_ftz(float x) {
  float result;
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// `cos.approx.ftz.f32`: cosine
TL_DEVICE float cos_approx_ftz(float x) {
  float result;
  asm("cos.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace detail {
template <int Bytes>
struct Word;
template <>
struct Word<1> {
  using type = unsigned char;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<4> {
  using type = unsigned;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

/// The widest access, in bytes, for `size` bytes at a multiple of `align`.
TL_DEVICE constexpr int accessBytes(int size, int align) {
  int bytes = 16;
  while (bytes > align || size % bytes != 0)
    bytes /= 2;
  return bytes;
}
} // namespace detail

/// Reads a `T` from `address`, a multiple of `Align` bytes (by default of its
/// size).
template <typename T, int Align = sizeof(T)>
TL_DEVICE T load(const void *address) {
  constexpr int bytes = detail::accessBytes(sizeof(T), Align);
  using Word = typename detail::Word<bytes>::type;
  auto words = detail::slice(static_cast<const Word *>(address),
                             detail::Below<sizeof(T) / bytes>());
  return __builtin_bit_cast(T, words);
}

/// Writes `value` to `address`, a multiple of `Align` bytes (by default of the
/// size of `T`).
template <typename T, int Align = sizeof(T)>
TL_DEVICE void store(void *address, const T &value) {
  constexpr int bytes = detail::accessBytes(sizeof(T), Align);
  using Word = typename detail::Word<bytes>::type;
  using Words = vec<Word, sizeof(T) / bytes>;
  auto words = __builtin_bit_cast(Words, value);
  detail::insert(static_cast<Word *>(address), words.data,
                 detail::Below<sizeof(T) / bytes>());
}

/// The address within the shared window of a pointer to shared memory.
TL_DEVICE unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// The pointer to an address within the shared window.
TL_DEVICE unsigned char *shared_pointer(unsigned address) {
  return static_cast<unsigned char *>(__cvta_shared_to_generic(address));
}

// Accesses that are not the compiler's to move or merge: `volatile`, and those
// of the memory model, by order and scope.

namespace detail {
template <int Bytes>
struct AtomicWord;
template <>
struct AtomicWord<1> {
  using type = unsigned char;
};
template <>
struct AtomicWord<2> {
  using type = unsigned short;
};
template <>
struct AtomicWord<4> {
  using type = unsigned;
};
template <>
struct AtomicWord<8> {
  using type = unsigned long long;
};
} // namespace detail

/// A vector is read and written in pieces of eight bytes at most.
template <typename T, int Align = sizeof(T)>
TL_DEVICE T load_volatile(const void *address) {
  constexpr int whole = detail::accessBytes(sizeof(T), Align);
  constexpr int bytes = whole > 8 ? 8 : whole;
  using Word = typename detail::AtomicWord<bytes>::type;
  vec<Word, sizeof(T) / bytes> words;
#pragma unroll
  for (int i = 0; i < int(sizeof(T)) / bytes; ++i)
    words[i] = static_cast<const volatile Word *>(address)[i];
  return __builtin_bit_cast(T, words);
}
template <typename T, int Align = sizeof(T)>
TL_DEVICE void store_volatile(void *address, const T &value) {
  constexpr int whole = detail::accessBytes(sizeof(T), Align);
  constexpr int bytes = whole > 8 ? 8 : whole;
  using Word = typename detail::AtomicWord<bytes>::type;
  using Words = vec<Word, sizeof(T) / bytes>;
  auto words = __builtin_bit_cast(Words, value);
#pragma unroll
  for (int i = 0; i < int(sizeof(T)) / bytes; ++i)
    static_cast<volatile Word *>(address)[i] = words[i];
}

#define TL_ATOMIC_LOAD(order, scope)                                           \
  template <typename T, int Align = sizeof(T)>                                 \
  TL_DEVICE T load_##order##_##scope(const void *address) {                    \
    if constexpr (sizeof(T) == 8) {                                            \
      unsigned long long word;                                                 \
      asm volatile("ld." #order "." #scope ".b64 %0, [%1];"                    \
                   : "=l"(word)                                                \
                   : "l"(address)                                              \
                   : "memory");                                                \
      return bit_cast<T>(word);                                                \
    } else if constexpr (sizeof(T) == 4) {                                     \
      unsigned word;                                                           \
      asm volatile("ld." #order "." #scope ".b32 %0, [%1];"                    \
                   : "=r"(word)                                                \
                   : "l"(address)                                              \
                   : "memory");                                                \
      return bit_cast<T>(word);                                                \
    } else if constexpr (sizeof(T) == 2) {                                     \
      unsigned short word;                                                     \
      asm volatile("ld." #order "." #scope ".b16 %0, [%1];"                    \
                   : "=h"(word)                                                \
                   : "l"(address)                                              \
                   : "memory");                                                \
      return bit_cast<T>(word);                                                \
    } else {                                                                   \
      unsigned word;                                                           \
      asm volatile("ld." #order "." #scope ".u8 %0, [%1];"                     \
                   : "=r"(word)                                                \
                   : "l"(address)                                              \
                   : "memory");                                                \
      return bit_cast<T>(static_cast<unsigned char>(word));                    \
    }                                                                          \
  }
#define TL_ATOMIC_STORE(order, scope)                                          \
  template <typename T, int Align = sizeof(T)>                                 \
  TL_DEVICE void store_##order##_##scope(void *address, const T &value) {      \
    if constexpr (sizeof(T) == 8)                                              \
      asm volatile("st." #order "." #scope ".b64 [%0], %1;" ::"l"(address),    \
                   "l"(bit_cast<unsigned long long>(value))                    \
                   : "memory");                                                \
    else if constexpr (sizeof(T) == 4)                                         \
      asm volatile("st." #order "." #scope ".b32 [%0], %1;" ::"l"(address),    \
                   "r"(bit_cast<unsigned>(value))                              \
                   : "memory");                                                \
    else if constexpr (sizeof(T) == 2)                                         \
      asm volatile("st." #order "." #scope ".b16 [%0], %1;" ::"l"(address),    \
                   "h"(bit_cast<unsigned short>(value))                        \
                   : "memory");                                                \
    else                                                                       \
      asm volatile("st." #order "." #scope ".u8 [%0], %1;" ::"l"(address),     \
                   "r"(unsigned(bit_cast<unsigned char>(value)))               \
                   : "memory");                                                \
  }
#define TL_ATOMIC_ACCESSES(scope)                                              \
  TL_ATOMIC_LOAD(relaxed, scope)                                               \
  TL_ATOMIC_LOAD(acquire, scope)                                               \
  TL_ATOMIC_STORE(relaxed, scope)                                              \
  TL_ATOMIC_STORE(release, scope)
TL_ATOMIC_ACCESSES(cta)
TL_ATOMIC_ACCESSES(cluster)
TL_ATOMIC_ACCESSES(gpu)
TL_ATOMIC_ACCESSES(sys)
#undef TL_ATOMIC_ACCESSES
#undef TL_ATOMIC_LOAD
#undef TL_ATOMIC_STORE

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// `barrier.sync`: waits for `threads` threads at barrier `id`.
TL_DEVICE void barrier_sync(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
TL_DEVICE void barrier_sync(int id) {
  asm volatile("barrier.sync %0;" ::"r"(id) : "memory");
}
/// `bar.arrive`: arrives, and does not wait.
TL_DEVICE void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// `shfl.sync` of a value of any size, by all lanes of the warp, in segments of
// `width` lanes.

namespace detail {
enum class Shuffle { Xor, Up, Down, Index };

template <Shuffle Kind>
TL_DEVICE pair<unsigned, bool> shuffleWord(unsigned mask, unsigned x, int lane,
                                           int control) {
  unsigned result, inside;
#define TL_SHUFFLE(mode)                                                       \
  asm volatile("{\n .reg .pred p;\n shfl.sync." mode                           \
               ".b32 %0|p, %2, %3, %4, %5;\n selp.u32 %1, 1, 0, p;\n}"         \
               : "=r"(result), "=r"(inside)                                    \
               : "r"(x), "r"(lane), "r"(control), "r"(mask))
  if constexpr (Kind == Shuffle::Xor)
    TL_SHUFFLE("bfly");
  else if constexpr (Kind == Shuffle::Up)
    TL_SHUFFLE("up");
  else if constexpr (Kind == Shuffle::Down)
    TL_SHUFFLE("down");
  else
    TL_SHUFFLE("idx");
#undef TL_SHUFFLE
  return {result, inside != 0};
}

/// `T` and as many bytes as make whole words of it.
template <typename T, int Rest = (4 - sizeof(T) % 4) % 4>
struct Padded {
  T value;
  vec<unsigned char, Rest> rest;
};
template <typename T>
struct Padded<T, 0> {
  T value;
};

/// PTX ISA, "shfl.sync": bits 8 to 12 of `control` are the lanes' bits that a
/// segment fixes, bits 0 to 4 the clamp.
template <Shuffle Kind, typename T>
TL_DEVICE pair<T, bool> shuffle(const T &x, int lane, int width) {
  constexpr int words = sizeof(Padded<T>) / 4;
  using Words = vec<unsigned, words>;
  auto in = __builtin_bit_cast(Words, Padded<T>{x});
  int control = (32 - width) << 8 | (Kind == Shuffle::Up ? 0 : 31);
  Words out;
  bool inside;
#pragma unroll
  for (int i = 0; i < words; ++i) {
    auto moved = shuffleWord<Kind>(0xffffffff, in[i], lane, control);
    out[i] = moved.first;
    inside = moved.second;
  }
  return {__builtin_bit_cast(Padded<T>, out).value, inside};
}

template <Shuffle Kind, typename T>
TL_DEVICE pair<T, bool> shuffleRaw(unsigned mask, T x, int lane, int control) {
  auto moved = shuffleWord<Kind>(mask, bit_cast<unsigned>(x), lane, control);
  return {bit_cast<T>(moved.first), moved.second};
}
} // namespace detail

/// The value of lane `own ^ mask`, and whether that lane is in the segment.
template <typename T>
TL_DEVICE pair<T, bool> shuffle_xor(const T &x, int mask, int width = 32) {
  return detail::shuffle<detail::Shuffle::Xor>(x, mask, width);
}
/// The value of lane `own - distance`.
template <typename T>
TL_DEVICE pair<T, bool> shuffle_up(const T &x, int distance, int width = 32) {
  return detail::shuffle<detail::Shuffle::Up>(x, distance, width);
}
/// The value of lane `own + distance`.
template <typename T>
TL_DEVICE pair<T, bool> shuffle_down(const T &x, int distance, int width = 32) {
  return detail::shuffle<detail::Shuffle::Down>(x, distance, width);
}
/// The value of lane `lane` of the segment.
template <typename T>
TL_DEVICE pair<T, bool> shuffle_idx(const T &x, int lane, int width = 32) {
  return detail::shuffle<detail::Shuffle::Index>(x, lane, width);
}

/// `shfl.sync` as it is: of 32 bits, by the lanes of `mask`, with clamp and
/// segment in `control`.
template <typename T>
TL_DEVICE pair<T, bool> shfl_sync_bfly(unsigned mask, T x, int lane,
                                       int control) {
  return detail::shuffleRaw<detail::Shuffle::Xor>(mask, x, lane, control);
}
template <typename T>
TL_DEVICE pair<T, bool> shfl_sync_up(unsigned mask, T x, int lane,
                                     int control) {
  return detail::shuffleRaw<detail::Shuffle::Up>(mask, x, lane, control);
}
template <typename T>
TL_DEVICE pair<T, bool> shfl_sync_down(unsigned mask, T x, int lane,
                                       int control) {
  return detail::shuffleRaw<detail::Shuffle::Down>(mask, x, lane, control);
}
template <typename T>
TL_DEVICE pair<T, bool> shfl_sync_idx(unsigned mask, T x, int lane,
                                      int control) {
  return detail::shuffleRaw<detail::Shuffle::Index>(mask, x, lane, control);
}

/// `vote.sync.uni`: whether all lanes of `mask` have the same `x`.
TL_DEVICE bool vote_uniform(unsigned mask, bool x) {
  unsigned result;
  asm volatile("{\n .reg .pred p, q;\n setp.ne.u32 p, %1, 0;\n"
               " vote.sync.uni.pred q, p, %2;\n selp.u32 %0, 1, 0, q;\n}"
               : "=r"(result)
               : "r"(unsigned(x)), "r"(mask));
  return result != 0;
}

/// `elect.sync`: true in one lane of `mask` (9.0).
TL_DEVICE bool elect_sync(unsigned mask = 0xffffffff) {
  unsigned result;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, %1;\n"
               " selp.u32 %0, 1, 0, p;\n}"
               : "=r"(result)
               : "r"(mask));
  return result != 0;
}

/// `setmaxnreg`: registers of each thread of the warp group (9.0a). `Count` is
/// a multiple of 8 from 24 to 256.
template <int Count>
TL_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
TL_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

/// `griddepcontrol`: waits for the kernels that this one depends on, and lets
/// those that depend on this one start (9.0).
TL_DEVICE void griddep_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
TL_DEVICE void griddep_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

//===----------------------------------------------------------------------===//
// Clusters (9.0)
//===----------------------------------------------------------------------===//

/// `barrier.cluster`; `_aligned` where all threads of the warp take part.
TL_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive;" ::: "memory");
}
TL_DEVICE void cluster_arrive_aligned() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}
TL_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait;" ::: "memory");
}
TL_DEVICE void cluster_wait_aligned() {
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

/// The number of this block in its cluster.
TL_DEVICE int cluster_rank() {
  int result;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(result));
  return result;
}

/// `mapa`: what `pointer`, to shared memory, is in block `rank` of the cluster.
template <typename T>
TL_DEVICE T *map_shared(T *pointer, int rank) {
  T *result;
  asm("mapa.u64 %0, %1, %2;" : "=l"(result) : "l"(pointer), "r"(rank));
  return result;
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

/// `mbarrier.init`: a phase completes after `count` arrivals.
TL_DEVICE void mbarrier_init(void *barrier, int count) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(count)
      : "memory");
}
/// `mbarrier.inval`: the memory may be used for something else.
TL_DEVICE void mbarrier_inval(void *barrier) {
  asm volatile(
      "mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
      : "memory");
}
/// `fence.mbarrier_init`: other blocks of the cluster see initialised barriers
/// (9.0).
TL_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// `mbarrier.arrive`: `count` arrivals. Returns the state of the phase.
TL_DEVICE unsigned long long mbarrier_arrive(void *barrier) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
               : "=l"(state)
               : "r"(shared_address(barrier))
               : "memory");
  return state;
}
TL_DEVICE unsigned long long mbarrier_arrive(void *barrier, int count) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(shared_address(barrier)), "r"(count)
               : "memory");
  return state;
}
/// `mbarrier.arrive.expect_tx`: arrives and expects `bytes` of copies in this
/// phase (9.0). Returns the state of the phase.
TL_DEVICE unsigned long long mbarrier_arrive_expect_tx(void *barrier,
                                                       int bytes) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(shared_address(barrier)), "r"(bytes)
               : "memory");
  return state;
}

// Arrivals in another order or scope than release at the block's, and at the
// barrier of another block of the cluster (9.0).

#define TL_MBARRIER_ARRIVE(order, scope)                                       \
  TL_DEVICE unsigned long long mbarrier_arrive_##order##_##scope(              \
      void *barrier, int count = 1) {                                          \
    unsigned long long state;                                                  \
    asm volatile("mbarrier.arrive." #order "." #scope                          \
                 ".shared::cta.b64 %0, [%1], %2;"                              \
                 : "=l"(state)                                                 \
                 : "r"(shared_address(barrier)), "r"(count)                    \
                 : "memory");                                                  \
    return state;                                                              \
  }                                                                            \
  TL_DEVICE unsigned long long mbarrier_arrive_expect_tx_##order##_##scope(    \
      void *barrier, int bytes) {                                              \
    unsigned long long state;                                                  \
    asm volatile("mbarrier.arrive.expect_tx." #order "." #scope                \
                 ".shared::cta.b64 %0, [%1], %2;"                              \
                 : "=l"(state)                                                 \
                 : "r"(shared_address(barrier)), "r"(bytes)                    \
                 : "memory");                                                  \
    return state;                                                              \
  }
TL_MBARRIER_ARRIVE(relaxed, cta)
TL_MBARRIER_ARRIVE(relaxed, cluster)
TL_MBARRIER_ARRIVE(release, cluster)
#undef TL_MBARRIER_ARRIVE

TL_DEVICE void mbarrier_arrive_remote(void *barrier, int count = 1) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
          shared_address(barrier)),
      "r"(count)
      : "memory");
}
/// The same, where nothing of the thread's own accesses has to be seen there.
TL_DEVICE void mbarrier_arrive_release_cta_remote(void *barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(
                   shared_address(barrier))
               : "memory");
}
TL_DEVICE void mbarrier_arrive_expect_tx_remote(void *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 "
               "_, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

/// `mbarrier.try_wait.parity`: waits until the phase of `parity` has completed
/// (9.0). One attempt suspends the thread for up to `ticks` nanoseconds.
TL_DEVICE void mbarrier_wait_parity(void *barrier, int parity,
                                    int ticks = 10000000) {
  asm volatile("{\n .reg .pred done;\n"
               "again:\n"
               " mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n"
               " @done bra.uni end;\n bra.uni again;\nend:\n}" ::"r"(
                   shared_address(barrier)),
               "r"(parity), "r"(ticks)
               : "memory");
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// `cp.async`: copies `Bytes` (4, 8 or 16) from device to shared memory, of
/// which those from `valid` on are zeros.
template <int Bytes>
TL_DEVICE void cp_async(void *target, const void *source, int valid = Bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   shared_address(target)),
               "l"(__cvta_generic_to_global(source)), "n"(Bytes), "r"(valid)
               : "memory");
}
/// The same, past the first level of cache; always 16 bytes.
TL_DEVICE void cp_async_cg(void *target, const void *source, int valid = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   shared_address(target)),
               "l"(__cvta_generic_to_global(source)), "r"(valid)
               : "memory");
}
TL_DEVICE void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `Pending` of this thread's groups are under way.
template <int Pending>
TL_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
/// `cp.async.mbarrier.arrive`: arrives when this thread's copies so far have
/// completed; `_noinc` counts it among the barrier's expected arrivals.
TL_DEVICE void cp_async_mbarrier_arrive(void *barrier) {
  asm volatile(
      "cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared_address(barrier))
      : "memory");
}
TL_DEVICE void cp_async_mbarrier_arrive_noinc(void *barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(
                   shared_address(barrier))
               : "memory");
}

/// `fence.proxy.async`: orders this thread's accesses to shared memory before
/// bulk copies and wgmma that read it (9.0).
TL_DEVICE void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//===----------------------------------------------------------------------===//
// Bulk copies of tensors (9.0)
//===----------------------------------------------------------------------===//

/// `CUtensorMap`, as a kernel takes it: `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

/// `prefetch.tensormap`: has the map at hand for the first copy.
TL_DEVICE void prefetch_tensormap(const TensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// `cp.async.bulk.tensor`: a box of a tensor of one to five dimensions, at
// coordinates from the innermost on.

/// Device to shared memory; `barrier` counts the bytes as they arrive.
TL_DEVICE void tma_load(void *target, const TensorMap *map, void *barrier,
                        int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
                   shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "r"(x)
               : "memory");
}
TL_DEVICE void tma_load(void *target, const TensorMap *map, void *barrier,
                        int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                   shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
               : "memory");
}
TL_DEVICE void tma_load(void *target, const TensorMap *map, void *barrier,
                        int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
                   shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
TL_DEVICE void tma_load(void *target, const TensorMap *map, void *barrier,
                        int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(
                   shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z),
               "r"(w)
               : "memory");
}
TL_DEVICE void tma_load(void *target, const TensorMap *map, void *barrier,
                        int x, int y, int z, int w, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier"
      "::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(
          shared_address(target)),
      "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w),
      "r"(v)
      : "memory");
}

/// Device memory to the same place of each block of the cluster that `mask` has
/// a bit for; `barrier` of each of these counts the bytes.
TL_DEVICE void tma_load_multicast(void *target, const TensorMap *map,
                                  void *barrier, int mask, int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%4}], [%2], %3;" ::"r"(shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "h"((short)mask), "r"(x)
               : "memory");
}
TL_DEVICE void tma_load_multicast(void *target, const TensorMap *map,
                                  void *barrier, int mask, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%4, %5}], [%2], %3;" ::"r"(shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "h"((short)mask), "r"(x),
               "r"(y)
               : "memory");
}
TL_DEVICE void tma_load_multicast(void *target, const TensorMap *map,
                                  void *barrier, int mask, int x, int y,
                                  int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier"
               "::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%4, %5, %6}], [%2], %3;" ::"r"(shared_address(target)),
               "l"(map), "r"(shared_address(barrier)), "h"((short)mask), "r"(x),
               "r"(y), "r"(z)
               : "memory");
}
TL_DEVICE void tma_load_multicast(void *target, const TensorMap *map,
                                  void *barrier, int mask, int x, int y, int z,
                                  int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier"
      "::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(shared_address(target)),
      "l"(map), "r"(shared_address(barrier)), "h"((short)mask), "r"(x), "r"(y),
      "r"(z), "r"(w)
      : "memory");
}
TL_DEVICE void tma_load_multicast(void *target, const TensorMap *map,
                                  void *barrier, int mask, int x, int y, int z,
                                  int w, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier"
      "::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%4, %5, %6, %7, %8}], [%2], %3;" ::"r"(shared_address(target)),
      "l"(map), "r"(shared_address(barrier)), "h"((short)mask), "r"(x), "r"(y),
      "r"(z), "r"(w), "r"(v)
      : "memory");
}

/// Shared to device memory, as part of the current group of bulk copies.
TL_DEVICE void tma_store(const TensorMap *map, const void *source, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group "
               "[%0, {%2}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x)
               : "memory");
}
TL_DEVICE void tma_store(const TensorMap *map, const void *source, int x,
                         int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
               "[%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y)
               : "memory");
}
TL_DEVICE void tma_store(const TensorMap *map, const void *source, int x, int y,
                         int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group "
               "[%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
TL_DEVICE void tma_store(const TensorMap *map, const void *source, int x, int y,
                         int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
               "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
TL_DEVICE void tma_store(const TensorMap *map, const void *source, int x, int y,
                         int z, int w, int v) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group "
               "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y), "r"(z), "r"(w),
               "r"(v)
               : "memory");
}

/// Adds what is in shared memory to device memory, element by element, as part
/// of the current group of bulk copies.
TL_DEVICE void tma_add(const TensorMap *map, const void *source, int x) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile"
               ".bulk_group [%0, {%2}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x)
               : "memory");
}
TL_DEVICE void tma_add(const TensorMap *map, const void *source, int x, int y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile"
               ".bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y)
               : "memory");
}
TL_DEVICE void tma_add(const TensorMap *map, const void *source, int x, int y,
                       int z) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile"
               ".bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
TL_DEVICE void tma_add(const TensorMap *map, const void *source, int x, int y,
                       int z, int w) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile"
               ".bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
TL_DEVICE void tma_add(const TensorMap *map, const void *source, int x, int y,
                       int z, int w, int v) {
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile"
               ".bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(shared_address(source)), "r"(x), "r"(y), "r"(z), "r"(w),
               "r"(v)
               : "memory");
}

TL_DEVICE void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until at most `Pending` of this thread's groups of bulk copies are
/// under way; `_read`, until all others have read their source.
template <int Pending>
TL_DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}
template <int Pending>
TL_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

//===----------------------------------------------------------------------===//
// Matrix instructions of a warp
//===----------------------------------------------------------------------===//

/// `ldmatrix.m8n8.xN.b16`: N matrices of 8 rows; lane l addresses row l mod 8
/// of matrix l / 8. `_trans` loads them transposed.
template <int N>
TL_DEVICE vec<int, N> ldmatrix(const void *row);
template <int N>
TL_DEVICE vec<int, N> ldmatrix_trans(const void *row);
/// `stmatrix.m8n8.xN.b16`, the other way round (9.0).
template <int N>
TL_DEVICE void stmatrix(void *row, const vec<int, N> &x);
template <int N>
TL_DEVICE void stmatrix_trans(void *row, const vec<int, N> &x);

template <>
TL_DEVICE vec<int, 1> ldmatrix<1>(const void *row) {
  vec<int, 1> r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
  return r;
}
template <>
TL_DEVICE vec<int, 1> ldmatrix_trans<1>(const void *row) {
  vec<int, 1> r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(r[0])
               : "r"(shared_address(row))
               : "memory");
  return r;
}
template <>
TL_DEVICE vec<int, 2> ldmatrix<2>(const void *row) {
  vec<int, 2> r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
  return r;
}
template <>
TL_DEVICE vec<int, 2> ldmatrix_trans<2>(const void *row) {
  vec<int, 2> r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
  return r;
}
template <>
TL_DEVICE vec<int, 4> ldmatrix<4>(const void *row) {
  vec<int, 4> r;
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(shared_address(row))
      : "memory");
  return r;
}
template <>
TL_DEVICE vec<int, 4> ldmatrix_trans<4>(const void *row) {
  vec<int, 4> r;
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(shared_address(row))
      : "memory");
  return r;
}
template <>
TL_DEVICE void stmatrix<1>(void *row, const vec<int, 1> &x) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(
                   shared_address(row)),
               "r"(x[0])
               : "memory");
}
template <>
TL_DEVICE void stmatrix_trans<1>(void *row, const vec<int, 1> &x) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(
          shared_address(row)),
      "r"(x[0])
      : "memory");
}
template <>
TL_DEVICE void stmatrix<2>(void *row, const vec<int, 2> &x) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                   shared_address(row)),
               "r"(x[0]), "r"(x[1])
               : "memory");
}
template <>
TL_DEVICE void stmatrix_trans<2>(void *row, const vec<int, 2> &x) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
          shared_address(row)),
      "r"(x[0]), "r"(x[1])
      : "memory");
}
template <>
TL_DEVICE void stmatrix<4>(void *row, const vec<int, 4> &x) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
          shared_address(row)),
      "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
      : "memory");
}
template <>
TL_DEVICE void stmatrix_trans<4>(void *row, const vec<int, 4> &x) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, "
               "%3, %4};" ::"r"(shared_address(row)),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}

// `mma.sync.m16n8kK.row.col`: a times b plus c, on the registers of a warp in
// the order of the PTX ISA.

TL_DEVICE vec<double, 4> mma_f64(const vec<double, 2> &a, double b,
                                 vec<double, 4> c) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, "
               "%3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(b));
#else
  for (int half = 0; half < 2; ++half)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, "
                 "{%2}, {%3}, {%0, %1};"
                 : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                 : "d"(a[half]), "d"(b));
#endif
  return c;
}
#if __CUDA_ARCH__ < 800
// Instructions there have half of the depth; those of bytes half of the rows,
// too.

TL_DEVICE vec<float, 4> mma_f16(const vec<int, 4> &a, const vec<int, 2> &b,
                                vec<float, 4> c) {
  for (int step = 0; step < 2; ++step)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, "
                 "%2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[2 * step]), "r"(a[2 * step + 1]), "r"(b[step]));
  return c;
}
TL_DEVICE vec<half, 4> mma_f16(const vec<int, 4> &a, const vec<int, 2> &b,
                               const vec<half, 4> &c) {
  vec<unsigned, 2> d = bit_cast<vec<unsigned, 2>>(c);
  for (int step = 0; step < 2; ++step)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, "
                 "{%2, %3}, {%4}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[2 * step]), "r"(a[2 * step + 1]), "r"(b[step]));
  return bit_cast<vec<half, 4>>(d);
}

#define TL_MMA_OF_BYTES(type)                                                  \
  TL_DEVICE vec<int, 4> mma_##type(const vec<int, 4> &a, const vec<int, 2> &b, \
                                   vec<int, 4> c) {                            \
    for (int part = 0; part < 2; ++part)                                       \
      for (int step = 0; step < 2; ++step)                                     \
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." #type "." #type   \
                     ".s32 {%0, %1}, {%2}, {%3}, {%0, %1};"                    \
                     : "+r"(c[2 * part]), "+r"(c[2 * part + 1])                \
                     : "r"(a[2 * step + part]), "r"(b[step]));                 \
    return c;                                                                  \
  }
TL_MMA_OF_BYTES(s8)
TL_MMA_OF_BYTES(u8)
#undef TL_MMA_OF_BYTES

#else

TL_DEVICE vec<float, 4> mma_f16(const vec<int, 4> &a, const vec<int, 2> &b,
                                vec<float, 4> c) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, "
               "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
  return c;
}
TL_DEVICE vec<half, 4> mma_f16(const vec<int, 4> &a, const vec<int, 2> &b,
                               const vec<half, 4> &c) {
  vec<unsigned, 2> d = bit_cast<vec<unsigned, 2>>(c);
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
               "{%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
  return bit_cast<vec<half, 4>>(d);
}
TL_DEVICE vec<float, 4> mma_bf16(const vec<int, 4> &a, const vec<int, 2> &b,
                                 vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, "
      "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
TL_DEVICE vec<float, 4> mma_tf32(const vec<int, 4> &a, const vec<int, 2> &b,
                                 vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, "
      "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
TL_DEVICE vec<int, 4> mma_s8(const vec<int, 4> &a, const vec<int, 2> &b,
                             vec<int, 4> c) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, "
               "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
  return c;
}
TL_DEVICE vec<int, 4> mma_u8(const vec<int, 4> &a, const vec<int, 2> &b,
                             vec<int, 4> c) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, "
               "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
  return c;
}
#endif
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
// These chips have no products of floats of 8 bits for one warp: ptxas takes
// them apart into halves, and ptxas 13.0 makes a 7 of the upper bytes of a
// register that it knows to be zero. So does it of one that `mov` takes apart.
namespace detail {
template <int shift>
TL_DEVICE int halves(int bits, float8_e4m3) {
  int both;
  asm("{.reg .b16 %%h; .reg .b32 %%w; shr.u32 %%w, %1, %2; cvt.u16.u32 %%h, "
      "%%w; cvt.rn.f16x2.e4m3x2 %0, %%h;}"
      : "=r"(both)
      : "r"(bits), "n"(shift));
  return both;
}
template <int shift>
TL_DEVICE int halves(int bits, float8_e5m2) {
  int both;
  asm("{.reg .b16 %%h; .reg .b32 %%w; shr.u32 %%w, %1, %2; cvt.u16.u32 %%h, "
      "%%w; cvt.rn.f16x2.e5m2x2 %0, %%h;}"
      : "=r"(both)
      : "r"(bits), "n"(shift));
  return both;
}
template <int shift, typename T, int N>
TL_DEVICE vec<int, N> halves(const vec<int, N> &x, T type) {
  vec<int, N> both;
#pragma unroll
  for (int i = 0; i < N; ++i)
    both[i] = halves<shift>(x[i], type);
  return both;
}
template <typename A, typename B>
TL_DEVICE vec<float, 4> mma_halves(const vec<int, 4> &a, const vec<int, 2> &b,
                                   const vec<float, 4> &c) {
  vec<float, 4> low = mma_f16(halves<0>(a, A()), halves<0>(b, B()), c);
  return mma_f16(halves<16>(a, A()), halves<16>(b, B()), low);
}
} // namespace detail
TL_DEVICE vec<float, 4> mma_e4m3(const vec<int, 4> &a, const vec<int, 2> &b,
                                 const vec<float, 4> &c) {
  return detail::mma_halves<float8_e4m3, float8_e4m3>(a, b, c);
}
TL_DEVICE vec<float, 4> mma_e4m3_e5m2(const vec<int, 4> &a,
                                      const vec<int, 2> &b,
                                      const vec<float, 4> &c) {
  return detail::mma_halves<float8_e4m3, float8_e5m2>(a, b, c);
}
TL_DEVICE vec<float, 4> mma_e5m2_e4m3(const vec<int, 4> &a,
                                      const vec<int, 2> &b,
                                      const vec<float, 4> &c) {
  return detail::mma_halves<float8_e5m2, float8_e4m3>(a, b, c);
}
TL_DEVICE vec<float, 4> mma_e5m2(const vec<int, 4> &a, const vec<int, 2> &b,
                                 const vec<float, 4> &c) {
  return detail::mma_halves<float8_e5m2, float8_e5m2>(a, b, c);
}
#elif __CUDA_ARCH__ >= 890
TL_DEVICE vec<float, 4> mma_e4m3(const vec<int, 4> &a, const vec<int, 2> &b,
                                 vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, "
      "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
TL_DEVICE vec<float, 4> mma_e4m3_e5m2(const vec<int, 4> &a,
                                      const vec<int, 2> &b, vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, "
      "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
TL_DEVICE vec<float, 4> mma_e5m2_e4m3(const vec<int, 4> &a,
                                      const vec<int, 2> &b, vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, "
      "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
TL_DEVICE vec<float, 4> mma_e5m2(const vec<int, 4> &a, const vec<int, 2> &b,
                                 vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, "
      "%3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  return c;
}
#endif

//===----------------------------------------------------------------------===//
// Matrix instructions of a warp group (9.0a)
//===----------------------------------------------------------------------===//

namespace detail {
/// Keeps the compiler from moving uses of registers over this point.
TL_DEVICE void pin(float &x) { asm volatile("" : "+f"(x)::"memory"); }
TL_DEVICE void pin(int &x) { asm volatile("" : "+r"(x)::"memory"); }
TL_DEVICE void pin(unsigned &x) { asm volatile("" : "+r"(x)::"memory"); }
/// Small elements share a register, which must not be taken apart.
template <typename T, int N>
TL_DEVICE void pin(vec<T, N> &x) {
  if constexpr (sizeof(T) < 4) {
    auto registers = bit_cast<vec<unsigned, N * sizeof(T) / 4>>(x);
    pin(registers);
    x = bit_cast<vec<T, N>>(registers);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      pin(x[i]);
  }
}
} // namespace detail

/// `wgmma.fence`: shared memory and the registers of accumulators and of A,
/// which are arguments, are ready to be used. Registers have their values
/// before it: one that was written after it has `ptxas` wait for the
/// instructions one by one.
template <typename... Registers>
TL_DEVICE void wgmma_fence(Registers &...registers) {
  (detail::pin(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
TL_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// `wgmma.wait_group`: waits until at most `Pending` groups are under way. The
/// accumulators and the registers of A that this completes are arguments, and
/// others whose uses are not to come before it.
template <int Pending, typename... Registers>
TL_DEVICE void wgmma_wait(Registers &...registers) {
  (detail::pin(registers), ...);
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
  (detail::pin(registers), ...);
}

/// A matrix descriptor moved by `offset` units of 16 bytes.
TL_DEVICE unsigned long long advance(unsigned long long descriptor,
                                     int offset) {
  unsigned low = static_cast<unsigned>(descriptor) + offset;
  return (descriptor >> 32 << 32) | low;
}

} // namespace tl

#endif // TL_CUDA_H
