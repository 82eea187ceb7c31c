//===- call.h - Calls of kernels, without a runtime -------------*- C++ -*-===//
//
// What generated `host_kernel.cpp` files are written with: checks of arguments,
// and integers that notice when they overflow. Checks, rules and messages are
// those of the runtime (docs/LaunchPlan.md), to which tests hold them.
//
// The headers of this folder need C++17 and exceptions, and nothing of CUDA to
// compile or to link. Errors are thrown within a library and leave it as
// numbers and text.
//
//===----------------------------------------------------------------------===//

#ifndef TL_HOST_CALL_H
#define TL_HOST_CALL_H

#include "tl-c/Call.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#define TL_EXPORT extern "C" __attribute__((visibility("default")))
/// For what runs only when a call fails.
#define TL_COLD __attribute__((noinline, cold))

namespace tl {
namespace host {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

struct Error {
  TlErrorCategory category;
  std::string message;
};

inline std::string text(const std::string &value) { return value; }
inline std::string text(const char *value) { return value; }
template <typename T,
          typename = typename std::enable_if<std::is_integral<T>::value>::type>
std::string text(T value) {
  return std::to_string(value);
}

/// Returns its arguments as text, one after the other.
template <typename... Parts>
TL_COLD std::string join(const Parts &...parts) {
  std::string result;
  for (const std::string &part : {text(parts)...})
    result += part;
  return result;
}

template <typename... Parts>
[[noreturn]] TL_COLD void fail(TlErrorCategory category,
                               const Parts &...parts) {
  throw Error{category, join(parts...)};
}

/// Returns `values` with commas between them.
template <typename Range, typename Function>
std::string list(const Range &values, Function describe) {
  std::string result;
  for (const auto &value : values)
    result += (result.empty() ? "" : ", ") + describe(value);
  return result;
}

inline std::string hexadecimal(uintptr_t value) {
  char digits[2 * sizeof(value) + 3];
  std::snprintf(digits, sizeof(digits), "0x%llx",
                static_cast<unsigned long long>(value));
  return digits;
}

/// Runs `function`. Returns 0, or the category of the error that it throws,
/// whose message becomes `message`.
template <typename Function>
int guard(std::string &message, Function function) noexcept {
  try {
    function();
    return 0;
  } catch (Error &error) {
    message = std::move(error.message);
    return error.category;
  } catch (const std::bad_alloc &) {
    message = "out of memory";
    return TL_ERROR_OUT_OF_MEMORY;
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Thrown by arithmetic: what went wrong.
struct ArithmeticProblem {
  const char *text;
};

/// A 64-bit integer. Arithmetic that leaves its range, or divides by zero,
/// throws; divisions round as in MLIR's affine maps.
class Integer {
public:
  Integer(int64_t value = 0) : value(value) {}
  int64_t get() const { return value; }

  friend Integer operator+(Integer lhs, Integer rhs) {
    Integer result;
    if (__builtin_add_overflow(lhs.value, rhs.value, &result.value))
      throw ArithmeticProblem{overflow};
    return result;
  }
  friend Integer operator-(Integer lhs, Integer rhs) {
    Integer result;
    if (__builtin_sub_overflow(lhs.value, rhs.value, &result.value))
      throw ArithmeticProblem{overflow};
    return result;
  }
  friend Integer operator*(Integer lhs, Integer rhs) {
    Integer result;
    if (__builtin_mul_overflow(lhs.value, rhs.value, &result.value))
      throw ArithmeticProblem{overflow};
    return result;
  }
  friend Integer floordiv(Integer lhs, Integer rhs) {
    int64_t quotient = divide(lhs, rhs);
    bool isRounded = lhs.value % rhs.value != 0;
    return quotient - (isRounded && (lhs.value < 0) != (rhs.value < 0));
  }
  friend Integer ceildiv(Integer lhs, Integer rhs) {
    int64_t quotient = divide(lhs, rhs);
    bool isRounded = lhs.value % rhs.value != 0;
    return quotient + (isRounded && (lhs.value < 0) == (rhs.value < 0));
  }
  friend Integer mod(Integer lhs, Integer rhs) {
    return lhs.value - floordiv(lhs, rhs).value * rhs.value;
  }
  friend Integer min(Integer lhs, Integer rhs) {
    return std::min(lhs.value, rhs.value);
  }
  friend Integer max(Integer lhs, Integer rhs) {
    return std::max(lhs.value, rhs.value);
  }

private:
  static constexpr const char *overflow = "64-bit overflow";

  /// Returns the quotient rounded towards zero.
  static int64_t divide(Integer lhs, Integer rhs) {
    if (rhs.value == 0)
      throw ArithmeticProblem{"division by zero"};
    if (rhs.value == -1)
      return (Integer(0) - lhs).value;
    return lhs.value / rhs.value;
  }

  int64_t value;
};

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// An element type of a launch plan and its encoding in DLPack.
struct DataType {
  const char *name;
  uint8_t code;
  uint8_t bits;

  constexpr unsigned bytes() const { return bits / 8; }
  constexpr bool isSigned() const { return code == 0; }
  constexpr bool isInteger() const {
    return code == 0 || code == 1 || code == 6;
  }
};

constexpr DataType i1 = {"i1", 6, 8}, i8 = {"i8", 0, 8}, u8 = {"u8", 1, 8},
                   i16 = {"i16", 0, 16}, u16 = {"u16", 1, 16},
                   i32 = {"i32", 0, 32}, u32 = {"u32", 1, 32},
                   i64 = {"i64", 0, 64}, u64 = {"u64", 1, 64},
                   f16 = {"f16", 2, 16}, bf16 = {"bf16", 4, 16},
                   f32 = {"f32", 2, 32}, f64 = {"f64", 2, 64},
                   tf32 = {"tf32", 2, 32}, f8e4m3 = {"f8e4m3", 10, 8},
                   f8e5m2 = {"f8e5m2", 12, 8}, f8e8m0 = {"f8e8m0", 14, 8},
                   f8e4m3fnuz = {"f8e4m3fnuz", 11, 8},
                   f8e5m2fnuz = {"f8e5m2fnuz", 13, 8}, x8 = {"x8", 0, 8};

/// Whether a tensor of `actual` can be taken for one of `expected`. Booleans
/// and bytes stand for each other; `x8` is any integer of a byte, and a pair of
/// floats of 4 bits.
inline bool isCompatible(DataType expected,
                         const decltype(TlTensor::dtype) &actual) {
  auto isByte = [](uint8_t code) { return code == 6 || code == 1; };
  bool isPacked = std::string_view(expected.name) == "x8";
  if (isPacked && actual.code == 17)
    return actual.bits * actual.lanes == 8;
  if (actual.bits != expected.bits || actual.lanes != 1)
    return false;
  if (isPacked)
    return actual.code == 0 || actual.code == 1;
  return actual.code == expected.code ||
         (expected.bits == 8 && isByte(expected.code) && isByte(actual.code));
}

inline std::string describe(const decltype(TlTensor::dtype) &type) {
  std::string lanes = type.lanes == 1 ? "" : join("x", type.lanes);
  for (DataType known :
       {i1, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, f8e4m3,
        f8e5m2, f8e8m0, f8e4m3fnuz, f8e5m2fnuz})
    if (known.code == type.code && known.bits == type.bits)
      return known.name + lanes;
  if (type.code == 5)
    return join("complex", type.bits, lanes);
  return join("a type with DLPack code ", type.code, " and ", type.bits,
              " bits", lanes);
}

/// A binary floating-point format.
struct FloatFormat {
  int exponentBits, mantissaBits;
  /// Whether the highest exponent belongs to infinities. Otherwise it belongs
  /// to numbers, and all bits set is the only NaN.
  bool hasInfinity;
};

inline FloatFormat getFormat(DataType type) {
  switch (type.code << 8 | type.bits) {
  case 2 << 8 | 16:
    return {5, 10, true};
  case 4 << 8 | 16:
    return {8, 7, true};
  case 2 << 8 | 32:
    return {8, 23, true};
  case 10 << 8 | 8:
    return {4, 3, false};
  case 12 << 8 | 8:
    return {5, 2, true};
  default:
    return {11, 52, true};
  }
}

/// Stores the bits of `value`, rounded to nearest, ties to even. Returns false
/// if it is finite and beyond the largest number of the format.
inline bool encodeFloat(DataType type, double value, uint64_t &bits) {
  FloatFormat format = getFormat(type);
  int mantissaBits = format.mantissaBits;
  uint64_t sign = uint64_t(std::signbit(value))
                  << (format.exponentBits + mantissaBits);
  uint64_t top = (uint64_t(1) << format.exponentBits) - 1;
  uint64_t infinity = top << mantissaBits;
  if (std::isnan(value)) {
    // A NaN keeps what fits of its payload, and is quiet.
    uint64_t source;
    std::memcpy(&source, &value, sizeof(source));
    uint64_t payload =
        (source & ((uint64_t(1) << 52) - 1)) >> (52 - mantissaBits);
    uint64_t quiet = uint64_t(1) << (mantissaBits - 1);
    bits = sign | infinity |
           (format.hasInfinity ? payload | quiet
                               : (uint64_t(1) << mantissaBits) - 1);
    return true;
  }
  if (std::isinf(value)) {
    // Without infinities NaN stands for them.
    bits = sign | infinity |
           (format.hasInfinity ? 0 : (uint64_t(1) << mantissaBits) - 1);
    return true;
  }

  // As a multiple of the unit in the last place of its binade.
  int bias = (1 << (format.exponentBits - 1)) - 1;
  int exponent = 1 - bias;
  if (value != 0)
    exponent = std::max(exponent, std::ilogb(value));
  double scaled = std::ldexp(std::fabs(value), mantissaBits - exponent);
  uint64_t mantissa = static_cast<uint64_t>(std::nearbyint(scaled));
  // Carries move to the exponent by themselves, as do subnormal numbers.
  uint64_t magnitude =
      mantissa + (uint64_t(exponent + bias - 1) << mantissaBits);
  uint64_t limit = format.hasInfinity
                       ? infinity - 1
                       : (infinity | ((uint64_t(1) << mantissaBits) - 1)) - 1;
  bits = sign | magnitude;
  return magnitude <= limit;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// A tensor parameter, and the tensor that is passed for it.
struct Tensor {
  const char *name;
  DataType dtype;
  /// The required shape as text: "(m, 1024)".
  const char *expected;
  uint64_t alignment;
  /// A launch reads something of it; a tensor of which none does may be null.
  bool isUsed;
  unsigned rank;
  Integer *shape;
  Integer *strides;
  const TlTensor *actual = nullptr;

  Tensor(const Tensor &) = delete;

  /// Returns the address of the first element.
  void *base() const {
    return static_cast<char *>(actual->data) + actual->byteOffset;
  }
  bool isEmpty() const {
    for (unsigned i = 0; i != rank; ++i)
      if (shape[i].get() == 0)
        return true;
    return false;
  }
  std::string describeShape() const {
    return "(" +
           list(std::vector<Integer>(shape, shape + rank),
                [](Integer extent) { return std::to_string(extent.get()); }) +
           ")";
  }

protected:
  Tensor(const char *name, DataType dtype, const char *expected,
         uint64_t alignment, bool isUsed, unsigned rank, Integer *shape,
         Integer *strides)
      : name(name), dtype(dtype), expected(expected), alignment(alignment),
        isUsed(isUsed), rank(rank), shape(shape), strides(strides) {}
};

enum Use : bool { Unused, Used };

template <unsigned Rank>
struct RankedTensor : Tensor {
  RankedTensor(const char *name, DataType dtype, const char *expected,
               uint64_t alignment, Use use)
      : Tensor(name, dtype, expected, alignment, use, Rank, slots,
               slots + Rank) {}

private:
  Integer slots[2 * Rank + 1];
};

/// A scalar parameter, and the bits that are passed for it.
struct Scalar {
  const char *name;
  DataType dtype;
  /// An expression reads it as a signed 64-bit integer.
  bool isUsedInExpression;
  uint64_t bits = 0;

  Scalar(const char *name, DataType dtype, Use inExpression)
      : name(name), dtype(dtype), isUsedInExpression(inExpression) {}
  operator Integer() const { return static_cast<int64_t>(bits); }
};

/// The place of an extent or stride, in words: "dimension 0 of `A`".
struct Place {
  const Tensor *tensor;
  unsigned index;
  bool isStride;

  int64_t get() const {
    return (isStride ? tensor->strides : tensor->shape)[index].get();
  }
  std::string describe() const {
    return join(isStride ? "stride " : "dimension ", index, " of `",
                tensor->name, "`");
  }
};

/// An extent or stride that is the same wherever its name stands. The first
/// place gives its value.
struct Symbol {
  const char *name;
  Place solver = {};

  explicit Symbol(const char *name) : name(name) {}
};

/// What must hold of an extent or stride.
struct Requirement {
  Requirement(int64_t constant) : constant(constant) {}
  Requirement(Symbol &symbol) : symbol(&symbol) {}
  /// Anything goes.
  Requirement(std::nullptr_t) : isAny(true) {}

  Symbol *symbol = nullptr;
  int64_t constant = 0;
  bool isAny = false;
};

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

enum class DeviceKind { CPU, CUDA };

/// The extents of a grid.
struct Grid {
  int64_t x, y, z;
  bool isEmpty() const { return !x || !y || !z; }
};

/// One call: its arguments, what is known of them, and its errors.
class Call {
public:
  Call(const char *function, DeviceKind kind, const TlArgument *arguments,
       size_t count)
      : function(function), kind(kind), arguments(arguments), count(count) {}

  const char *const function;
  /// The GPU that the tensors are on, or -1 without tensors.
  int device = -1;

  // First the number of arguments, then each on its own, then all shapes, then
  // all strides: the error that a user sees is the simplest one there is.

  void expectArguments(std::initializer_list<const char *> names) const {
    if (count != names.size())
      failCount(names);
  }

  void bind(unsigned position, Tensor &tensor) {
    const TlArgument &given = arguments[position];
    if (given.kind == TL_ARGUMENT_TENSOR && !given.value.tensor &&
        !tensor.isUsed)
      return;
    if (given.kind != TL_ARGUMENT_TENSOR || !given.value.tensor)
      failWith(TL_ERROR_ARGUMENT_KIND, "argument `", tensor.name, "` is ",
               describe(given), ", expected a tensor of ", tensor.dtype.name,
               " with shape ", tensor.expected);
    const TlTensor &actual = *given.value.tensor;
    if (!isCompatible(tensor.dtype, actual.dtype))
      failWith(TL_ERROR_DTYPE, "argument `", tensor.name, "` has dtype ",
               host::describe(actual.dtype), ", expected ", tensor.dtype.name,
               "; convert it or compile the kernel for its dtype");
    if (actual.rank != static_cast<int64_t>(tensor.rank))
      failWith(TL_ERROR_RANK, "argument `", tensor.name, "` has rank ",
               actual.rank, ", expected ", tensor.rank, " for shape ",
               tensor.expected, "; reshape it");
    tensor.actual = &actual;
    int64_t stride = 1;
    for (unsigned i = tensor.rank; i-- != 0;) {
      tensor.shape[i] = actual.shape[i];
      tensor.strides[i] = actual.strides ? actual.strides[i] : stride;
      // A size that overflows has no memory behind it.
      (void)__builtin_mul_overflow(stride, actual.shape[i], &stride);
    }
    checkDevice(tensor);
    checkData(tensor);
  }

  void bind(unsigned position, Scalar &scalar) const {
    const TlArgument &given = arguments[position];
    bool takesInteger = scalar.dtype.isInteger();
    switch (given.kind) {
    case TL_ARGUMENT_INT:
    case TL_ARGUMENT_UINT:
      return takesInteger ? bindInteger(scalar, given)
                          : bindFloat(scalar, given);
    case TL_ARGUMENT_BOOL:
      if (!takesInteger)
        break;
      scalar.bits = given.value.boolean;
      return;
    case TL_ARGUMENT_FLOAT:
      if (!takesInteger)
        return bindFloat(scalar, given);
      break;
    default:
      break;
    }
    failWith(TL_ERROR_ARGUMENT_KIND, "argument `", scalar.name, "` is ",
             describe(given), ", expected ",
             takesInteger ? "an integer" : "a number", " (", scalar.dtype.name,
             "); convert it");
  }

  void checkShape(const Tensor &tensor,
                  std::initializer_list<Requirement> shape) const {
    if (!tensor.actual)
      return;
    // Coordinates are 32 bits wide.
    constexpr int64_t largest = INT32_MAX;
    for (unsigned i = 0; i != tensor.rank; ++i) {
      Place place = {&tensor, i, /*isStride=*/false};
      int64_t extent = place.get();
      if (extent < 0)
        failWith(TL_ERROR_SHAPE, place.describe(), " is ", extent,
                 ", expected no negative number; the tensor is malformed");
      if (extent > largest)
        failWith(TL_ERROR_SHAPE, place.describe(), " is ", extent,
                 ", expected at most ", largest,
                 ", because kernels count in 32 bits; pass a view with more "
                 "and smaller dimensions");
      check(place, shape.begin()[i]);
    }
  }

  /// Checks that the strides are those of a row-major tensor without gaps, and
  /// makes those that do not matter so.
  void checkContiguous(const Tensor &tensor) const {
    if (!tensor.actual)
      return;
    bool isEmpty = tensor.isEmpty();
    int64_t expected = 1;
    for (unsigned i = tensor.rank; i-- != 0;) {
      int64_t extent = tensor.shape[i].get();
      Place place = {&tensor, i, /*isStride=*/true};
      if (place.get() != expected && extent != 1 && !isEmpty)
        failWith(TL_ERROR_STRIDE, place.describe(), " is ", place.get(),
                 ", expected ", expected,
                 " for a contiguous row-major tensor of shape ",
                 tensor.describeShape(), "; pass a contiguous copy");
      tensor.strides[i] = expected;
      (void)__builtin_mul_overflow(expected, std::max<int64_t>(extent, 1),
                                   &expected);
    }
  }

  /// Checks the strides that matter: those of extents other than 1, unless the
  /// tensor is empty.
  void checkStrides(const Tensor &tensor,
                    std::initializer_list<Requirement> strides) const {
    if (!tensor.actual || tensor.isEmpty())
      return;
    for (unsigned i = 0; i != tensor.rank; ++i)
      if (tensor.shape[i].get() != 1)
        check({&tensor, i, /*isStride=*/true}, strides.begin()[i]);
  }

  /// Once every symbol is solved that can be: gives strides that were not
  /// checked the value that is asked for.
  void fillStrides(const Tensor &tensor,
                   std::initializer_list<Requirement> strides) const {
    if (!tensor.actual)
      return;
    for (unsigned i = 0; i != tensor.rank; ++i) {
      const Requirement &required = strides.begin()[i];
      if (required.isAny)
        continue;
      if (!required.symbol) {
        tensor.strides[i] = required.constant;
        continue;
      }
      Place &solver = required.symbol->solver;
      if (!solver.tensor)
        solver = {&tensor, i, /*isStride=*/true};
      tensor.strides[i] = solver.get();
    }
  }

  // What to launch. `purpose` says what is computed, `source` how.

  template <typename Function>
  int64_t compute(const char *purpose, const char *source,
                  Function function) const {
    try {
      return Integer(function()).get();
    } catch (const ArithmeticProblem &problem) {
      failWith(TL_ERROR_VALUE, purpose, ": ", problem.text, " in `", source,
               "`");
    }
  }

  /// An extent of a grid.
  template <typename Function>
  int64_t extent(int64_t limit, const char *purpose, const char *source,
                 Function function) const {
    int64_t value = compute(purpose, source, function);
    if (value < 0 || value > limit)
      failWith(TL_ERROR_VALUE, purpose, " is ", value, ", expected 0 to ",
               limit, " (computed as `", source,
               "`); pass tensors of another size");
    return value;
  }

  /// A number of bytes of dynamic shared memory.
  template <typename Function>
  int64_t sharedBytes(const char *purpose, const char *source,
                      Function function) const {
    int64_t value = compute(purpose, source, function);
    if (value < 0 || value > INT32_MAX)
      failWith(TL_ERROR_VALUE, purpose, " is ", value, " bytes, expected 0 to ",
               INT32_MAX, " (computed as `", source,
               "`); pass tensors of another size");
    return value;
  }

  /// A parameter that a kernel takes as `i32`.
  template <typename Function>
  int64_t narrow(const char *purpose, const char *source,
                 Function function) const {
    int64_t value = compute(purpose, source, function);
    if (value < INT32_MIN || value > INT32_MAX)
      failWith(TL_ERROR_VALUE, purpose, " is ", value,
               ", expected a value that fits i32 (computed as `", source,
               "`); pass smaller tensors or compile the kernel with 64-bit "
               "indices");
    return value;
  }

  template <typename... Parts>
  [[noreturn]] TL_COLD void failWith(TlErrorCategory category,
                                     const Parts &...parts) const {
    fail(category, "`", function, "`: ", parts...);
  }

private:
  static const char *describe(const TlArgument &argument) {
    switch (argument.kind) {
    case TL_ARGUMENT_TENSOR:
      return argument.value.tensor ? "a tensor" : "null";
    case TL_ARGUMENT_INT:
    case TL_ARGUMENT_UINT:
      return "an integer";
    case TL_ARGUMENT_FLOAT:
      return "a float";
    case TL_ARGUMENT_BOOL:
      return "a Boolean";
    default:
      return "an argument of unknown kind";
    }
  }

  static std::string describe(const decltype(TlTensor::device) &device) {
    switch (device.type) {
    case 1:
      return "the CPU";
    case 2:
    case 13:
      return join("cuda:", device.id);
    case 3:
      return "the CPU (pinned)";
    default:
      return join("a device of DLPack type ", device.type);
    }
  }

  [[noreturn]] TL_COLD void
  failCount(std::initializer_list<const char *> names) const {
    auto quote = [](const char *name) { return join("`", name, "`"); };
    size_t expected = names.size();
    std::string counts =
        join("expected ", expected, expected == 1 ? " argument" : " arguments",
             ", got ", count);
    if (count < expected)
      failWith(
          TL_ERROR_ARGUMENT_COUNT, counts, "; pass ",
          list(std::vector<const char *>(names.begin() + count, names.end()),
               quote));
    failWith(TL_ERROR_ARGUMENT_COUNT, counts,
             expected == 0 ? "; pass none"
                           : "; the last one is " + quote(names.end()[-1]));
  }

  /// Checks that a tensor is where the kernels run, with all the others.
  void checkDevice(const Tensor &tensor) {
    const auto &actual = tensor.actual->device;
    if (kind == DeviceKind::CPU) {
      if (actual.type != 1 && actual.type != 3)
        failWith(TL_ERROR_DEVICE, "argument `", tensor.name, "` is on ",
                 describe(actual),
                 ", expected the CPU; copy it to the host or compile the "
                 "kernel for the GPU");
      return;
    }
    if (actual.type != 2 && actual.type != 13)
      failWith(TL_ERROR_DEVICE, "argument `", tensor.name, "` is on ",
               describe(actual),
               ", expected a CUDA device; copy it to the GPU or compile the "
               "kernel for the CPU");
    if (!firstTensor) {
      firstTensor = &tensor;
      device = actual.id;
    }
    if (actual.id != device)
      failWith(TL_ERROR_DEVICE, "argument `", tensor.name, "` is on ",
               describe(actual), ", expected cuda:", device, " like `",
               firstTensor->name, "`; copy it there");
  }

  /// Checks that a tensor with elements has data, aligned as required.
  void checkData(const Tensor &tensor) const {
    const TlTensor &actual = *tensor.actual;
    uintptr_t address =
        reinterpret_cast<uintptr_t>(actual.data) + actual.byteOffset;
    bool isAligned = (address & (tensor.alignment - 1)) == 0;
    if ((actual.data && isAligned) || tensor.isEmpty())
      return;
    if (!actual.data)
      failWith(TL_ERROR_NULL_POINTER, "argument `", tensor.name, "` has shape ",
               tensor.describeShape(),
               " but no data; pass a tensor that owns memory");
    failWith(TL_ERROR_ALIGNMENT, "the data of argument `", tensor.name,
             "` is at address ", hexadecimal(address),
             ", expected a multiple of ", tensor.alignment,
             " bytes; pass a copy or a slice that starts at such an address");
  }

  void check(Place place, const Requirement &required) const {
    if (required.isAny)
      return;
    int64_t value = place.get();
    TlErrorCategory category =
        place.isStride ? TL_ERROR_STRIDE : TL_ERROR_SHAPE;
    if (!required.symbol) {
      if (value == required.constant)
        return;
      const char *what = place.isStride ? "layout" : "shape";
      failWith(category, place.describe(), " is ", value, ", expected ",
               required.constant, "; ",
               place.isStride
                   ? std::string("pass a tensor with such a layout")
                   : join("pass a tensor of shape ", place.tensor->expected),
               " or compile the kernel for this ", what);
    }
    Place &solver = required.symbol->solver;
    if (!solver.tensor)
      solver = place;
    if (value != solver.get())
      failWith(category, place.describe(), " is ", value, ", expected ",
               solver.get(), ", because `", required.symbol->name, "` is ",
               solver.describe(), " and that is ", solver.get(),
               "; make the two agree");
  }

  void bindInteger(Scalar &scalar, const TlArgument &given) const {
    DataType type = scalar.dtype;
    unsigned bits = type.code == 6 ? 1 : type.bits;
    bool isBig = given.kind == TL_ARGUMENT_UINT &&
                 given.value.unsignedInteger > uint64_t(INT64_MAX);
    int64_t value = given.value.integer;
    int64_t low = type.isSigned() ? INT64_MIN >> (64 - bits) : 0;
    uint64_t high = UINT64_MAX >> (64 - bits + type.isSigned());
    bool fits = isBig ? given.value.unsignedInteger <= high
                      : value >= low && (value < 0 || uint64_t(value) <= high);
    std::string shown;
    if (!fits || isBig)
      shown = isBig ? std::to_string(given.value.unsignedInteger)
                    : std::to_string(value);
    if (!fits)
      failWith(TL_ERROR_VALUE, "argument `", scalar.name, "` is ", shown,
               ", expected ", low, " to ", high, " (", type.name,
               "); pass a value in that range");
    if (isBig && scalar.isUsedInExpression)
      failWith(TL_ERROR_VALUE, "argument `", scalar.name, "` is ", shown,
               ", expected at most ", INT64_MAX,
               ", because grids and sizes are computed from it; pass a "
               "smaller value");
    scalar.bits = given.value.unsignedInteger;
  }

  void bindFloat(Scalar &scalar, const TlArgument &given) const {
    double value = given.value.real;
    if (given.kind == TL_ARGUMENT_INT)
      value = static_cast<double>(given.value.integer);
    else if (given.kind == TL_ARGUMENT_UINT)
      value = static_cast<double>(given.value.unsignedInteger);
    if (encodeFloat(scalar.dtype, value, scalar.bits))
      return;
    char shown[32];
    std::snprintf(shown, sizeof(shown), "%g", value);
    failWith(TL_ERROR_VALUE, "argument `", scalar.name, "` is ", shown,
             ", which is beyond the largest ", scalar.dtype.name,
             "; pass a smaller value");
  }

  DeviceKind kind;
  const TlArgument *arguments;
  size_t count;
  /// The one that the others must share the device with.
  const Tensor *firstTensor = nullptr;
};

//===----------------------------------------------------------------------===//
// Passing arguments from C
//===----------------------------------------------------------------------===//

inline TlArgument toArgument(const TlTensor *tensor) {
  TlArgument argument = {TL_ARGUMENT_TENSOR, {}};
  argument.value.tensor = tensor;
  return argument;
}

template <typename T>
typename std::enable_if<std::is_arithmetic<T>::value, TlArgument>::type
toArgument(T value) {
  TlArgument argument = {};
  if (std::is_same<T, bool>::value) {
    argument.kind = TL_ARGUMENT_BOOL;
    argument.value.boolean = value != 0;
  } else if (std::is_floating_point<T>::value) {
    argument.kind = TL_ARGUMENT_FLOAT;
    argument.value.real = static_cast<double>(value);
  } else if (std::is_signed<T>::value) {
    argument.kind = TL_ARGUMENT_INT;
    argument.value.integer = static_cast<int64_t>(value);
  } else {
    argument.kind = TL_ARGUMENT_UINT;
    argument.value.unsignedInteger = static_cast<uint64_t>(value);
  }
  return argument;
}

/// Puts the low bytes of `word` into a struct that a kernel takes by value,
/// `at` bytes from its start.
inline void put(void *target, unsigned at, uint64_t word, unsigned size) {
  std::memcpy(static_cast<char *>(target) + at, &word, size);
}

} // namespace host
} // namespace tl

#endif // TL_HOST_CALL_H
