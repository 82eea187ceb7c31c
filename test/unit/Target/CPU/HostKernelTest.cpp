//===- HostKernelTest.cpp - Kernels, compiled and run on the CPU ----------===//
//
// Each test writes a kernel, runs it on random data and compares with the same
// computation written in C++, in double precision where rounding matters.
//
//===----------------------------------------------------------------------===//

#include "HostKernel.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace tl;
using namespace tl::test;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Element types that C++ has no name for are stored by their bits.
struct Half {
  static const llvm::fltSemantics &semantics() {
    return llvm::APFloat::IEEEhalf();
  }
  uint16_t bits;
};
struct BFloat {
  static const llvm::fltSemantics &semantics() {
    return llvm::APFloat::BFloat();
  }
  uint16_t bits;
};

template <typename T>
static T fromDouble(double value) {
  if constexpr (requires { T::semantics(); }) {
    llvm::APFloat number(value);
    bool lossy;
    number.convert(T::semantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    return {static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue())};
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
static double toDouble(T value) {
  if constexpr (requires { T::semantics(); }) {
    llvm::APFloat number(T::semantics(), llvm::APInt(16, value.bits));
    bool lossy;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &lossy);
    return number.convertToDouble();
  } else {
    return static_cast<double>(value);
  }
}

/// A row-major matrix with a guard after every row: what a kernel must not
/// write keeps its value.
template <typename T>
class Matrix {
public:
  Matrix(int64_t rows, int64_t columns, int64_t guard = 0)
      : rows(rows), columns(columns), stride(columns + guard),
        data(rows * stride + 16, fromDouble<T>(kGuard)) {}

  double get(int64_t row, int64_t column) const {
    return toDouble(data[row * stride + column]);
  }
  void set(int64_t row, int64_t column, double value) {
    data[row * stride + column] = fromDouble<T>(value);
  }

  void fillRandomly(unsigned seed, double range = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> values(-range, range);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        set(row, column, values(generator));
  }

  void expectGuardsIntact() const {
    for (int64_t i = 0; i < static_cast<int64_t>(data.size()); ++i)
      if (i >= rows * stride || i % stride >= columns)
        ASSERT_EQ(toDouble(data[i]), kGuard) << "element " << i;
  }

  Argument argument() {
    return Argument(data.data(), {rows, columns}, {stride, 1});
  }

  int64_t rows, columns, stride;

private:
  static constexpr double kGuard = 77;
  std::vector<T> data;
};

/// A module with one kernel `k`.
static std::string makeKernel(llvm::StringRef arguments, llvm::StringRef body) {
  return llvm::formatv(R"(
gpu.module @k attributes {{tl.target = #tl.target<chip = "cpu">} {{
  gpu.func @k({0}) kernel
      attributes {{known_block_size = array<i32: 128, 1, 1>} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    {1}
    gpu.return
  }
})",
                       arguments, body);
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies tiles of 32 x 16 through scratch, and converts on the way.
template <typename From, typename To>
static void testCopy(llvm::StringRef from, llvm::StringRef to, int64_t rows,
                     int64_t columns, double range = 1) {
  HostKernel kernel(
      makeKernel(llvm::formatv("%A: memref<?x?x{0}, strided<[?, 1]>>, "
                               "%B: memref<?x?x{1}, strided<[?, 1]>>",
                               from, to)
                     .str(),
                 llvm::formatv(R"(
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %r = arith.muli %by, %c32 : index
    %c = arith.muli %bx, %c16 : index
    %s = tl.alloc : memref<32x16x{0}, #gpu.address_space<workgroup>>
    tl.copy %A[%r, %c] to %s tile(32, 16)
      : memref<?x?x{0}, strided<[?, 1]>> to memref<32x16x{0}, #gpu.address_space<workgroup>>
    tl.copy %s to %B[%r, %c] tile(32, 16)
      : memref<32x16x{0}, #gpu.address_space<workgroup>> to memref<?x?x{1}, strided<[?, 1]>>
)",
                               from, to)
                     .str()));
  Matrix<From> a(rows, columns, 3);
  Matrix<To> b(rows, columns, 5);
  a.fillRandomly(1, range);
  kernel.run({a.argument(), b.argument()},
             {ceilDiv(columns, 16), ceilDiv(rows, 32), 1});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(b.get(i, j), toDouble(fromDouble<To>(a.get(i, j))))
          << i << ", " << j;
  b.expectGuardsIntact();
}

TEST(HostCopy, CopiesWholeTiles) {
  testCopy<float, float>("f32", "f32", 64, 48);
}
TEST(HostCopy, ClipsRaggedEdges) {
  testCopy<float, float>("f32", "f32", 45, 19);
}
TEST(HostCopy, CopiesNothingOfNothing) {
  testCopy<float, float>("f32", "f32", 0, 19);
}
TEST(HostCopy, ConvertsFloats) {
  testCopy<Half, float>("f16", "f32", 45, 19);
  testCopy<float, Half>("f32", "f16", 45, 19);
  testCopy<BFloat, float>("bf16", "f32", 45, 19);
  testCopy<float, BFloat>("f32", "bf16", 45, 19);
  testCopy<Half, BFloat>("f16", "bf16", 45, 19);
}
TEST(HostCopy, ConvertsIntegers) {
  testCopy<int8_t, int32_t>("i8", "i32", 45, 19, 100);
  testCopy<int8_t, float>("i8", "f32", 45, 19, 100);
  testCopy<float, int32_t>("f32", "i32", 45, 19, 100);
}

// A tile that starts before its buffer and ends behind it, copied from device
// memory to device memory: what is outside of the source reads as zero.
TEST(HostCopy, ReadsZeroOutside) {
  HostKernel kernel(makeKernel("%A: memref<?x?xf32>, %B: memref<?x?xf32>", R"(
    %m2 = arith.constant -2 : index
    %m3 = arith.constant -3 : index
    tl.copy %A[%m2, %m3] to %B[%c0, %c0] tile(8, 16) : memref<?x?xf32> to memref<?x?xf32>
)"));
  Matrix<float> a(5, 9), b(8, 15);
  a.fillRandomly(1);
  b.fillRandomly(2);
  kernel.run({a.argument(), b.argument()}, {1, 1, 1});
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j < 15; ++j) {
      bool inside = i >= 2 && i < 7 && j >= 3 && j < 12;
      ASSERT_EQ(b.get(i, j), inside ? a.get(i - 2, j - 3) : 0)
          << i << ", " << j;
    }
  b.expectGuardsIntact();
}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

// The last block hangs over the buffers and runs the checked version.
TEST(HostParallel, ScalesAndClamps) {
  HostKernel kernel(
      makeKernel("%A: memref<?xf32>, %B: memref<?xf32>, %alpha: f32", R"(
    %c256 = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %r = arith.muli %bx, %c256 : index
    tl.parallel (%i) in (256) {
      %p = arith.addi %r, %i : index
      %x = tl.load %A[%p] : memref<?xf32>
      %y = arith.mulf %x, %alpha : f32
      %z = arith.maximumf %y, %zero : f32
      tl.store %z, %B[%p] : memref<?xf32>
    }
)"));
  for (int64_t size : {0, 1, 255, 256, 1000}) {
    Matrix<float> a(1, size), b(1, size);
    a.fillRandomly(1);
    float alpha = 0.5;
    Argument from(a.argument().data, {size}), to(b.argument().data, {size});
    kernel.run({from, to, &alpha}, {ceilDiv(size, 256), 1, 1});
    for (int64_t i = 0; i < size; ++i)
      ASSERT_EQ(b.get(0, i), std::max(0.0, a.get(0, i) * alpha)) << i;
    b.expectGuardsIntact();
  }
}

// Loads around the edge of a stencil read zero; the remainder and quotient of
// the loop's index are known to the bounds analysis.
TEST(HostParallel, ReadsZeroAroundStencils) {
  HostKernel kernel(makeKernel("%A: memref<?x?xf32>, %B: memref<?x?xf32>", R"(
    %c8 = arith.constant 8 : index
    tl.parallel (%l) in (64) {
      %i = arith.divsi %l, %c8 : index
      %j = arith.remsi %l, %c8 : index
      %left = arith.subi %j, %c1 : index
      %right = arith.addi %j, %c1 : index
      %x = tl.load %A[%i, %left] : memref<?x?xf32>
      %y = tl.load %A[%i, %right] : memref<?x?xf32>
      %z = arith.addf %x, %y : f32
      tl.store %z, %B[%i, %j] : memref<?x?xf32>
    }
)"));
  Matrix<float> a(8, 8), b(8, 8);
  a.fillRandomly(1);
  kernel.run({a.argument(), b.argument()}, {1, 1, 1});
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 0; j < 8; ++j) {
      float left = j > 0 ? a.get(i, j - 1) : 0;
      float right = j < 7 ? a.get(i, j + 1) : 0;
      ASSERT_EQ(b.get(i, j), left + right) << i << ", " << j;
    }
}

// An index that is read from memory is checked where it is used.
TEST(HostParallel, ChecksIndirectAccesses) {
  HostKernel kernel(
      makeKernel("%A: memref<?xf32>, %I: memref<?xi32>, %B: memref<?xf32>", R"(
    tl.parallel (%i) in (16) {
      %p = tl.load %I[%i] : memref<?xi32>
      %q = arith.index_cast %p : i32 to index
      %x = tl.load %A[%q] : memref<?xf32>
      tl.store %x, %B[%i] : memref<?xf32>
    }
)"));
  Matrix<float> a(1, 10), b(1, 16);
  Matrix<int32_t> positions(1, 16);
  a.fillRandomly(1);
  for (int64_t i = 0; i < 16; ++i)
    positions.set(0, i, i * 3 - 8);
  auto vector = [](auto &matrix) {
    return Argument(matrix.argument().data, {matrix.columns});
  };
  kernel.run({vector(a), vector(positions), vector(b)}, {1, 1, 1});
  for (int64_t i = 0; i < 16; ++i) {
    int64_t p = i * 3 - 8;
    ASSERT_EQ(b.get(0, i), p >= 0 && p < 10 ? a.get(0, p) : 0) << i;
  }
}

/// Applies `op` to 4096 numbers from `low` to `high`; the result may be `ulps`
/// units in the last place of f32 away from `expected`.
static void testFunction(llvm::StringRef op, double (*expected)(double),
                         double low, double high, double ulps) {
  HostKernel kernel(
      makeKernel("%A: memref<4096xf32>, %B: memref<4096xf32>", llvm::formatv(R"(
    tl.parallel (%i) in (4096) {{
      %x = tl.load %A[%i] : memref<4096xf32>
      %y = {0} %x : f32
      tl.store %y, %B[%i] : memref<4096xf32>
    })",
                                                                             op)
                                                                   .str()));
  Matrix<float> a(1, 4096), b(1, 4096);
  for (int64_t i = 0; i < 4096; ++i)
    a.set(0, i, low + (high - low) * i / 4095);
  kernel.run({a.argument(), b.argument()}, {1, 1, 1});
  for (int64_t i = 0; i < 4096; ++i) {
    double reference = expected(a.get(0, i));
    double unit = std::max(std::fabs(reference) * 0x1p-23, 0x1p-126);
    ASSERT_NEAR(b.get(0, i), reference, ulps * unit)
        << op.str() << " of " << a.get(0, i);
  }
}

TEST(HostMath, IsAccurate) {
  testFunction("math.exp", std::exp, -87, 88, 3);
  testFunction("math.exp2", std::exp2, -125, 127, 3);
  testFunction("math.exp2", std::exp2, -149, -126, 3);
  testFunction("math.log", std::log, 1e-6, 1e3, 3);
  testFunction("math.log2", std::log2, 1e-6, 1e3, 4);
  testFunction("math.tanh", std::tanh, -10, 10, 6);
  testFunction("math.erf", std::erf, -5, 5, 6);
  testFunction("math.sqrt", std::sqrt, 0, 1e4, 1);
  testFunction(
      "math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-4, 1e4, 2);
  testFunction("math.sin", std::sin, -1000, 1000, 2);
  testFunction("math.cbrt", std::cbrt, -1000, 1000, 2);
}

/// Computes with each number of 16 bits, in a branch and after it, on
/// `machine`. Denormals count, and each result is rounded once.
template <typename T>
static void testNarrowFloat(llvm::StringRef type, const HostMachine &machine) {
  HostKernel kernel(makeKernel(llvm::formatv("%A: memref<65536x{0}>, "
                                             "%B: memref<65536x{0}>, %s: {0}",
                                             type)
                                   .str(),
                               llvm::formatv(R"(
    %c65536 = arith.constant 65536 : index
    %one = arith.constant 1.0 : {0}
    scf.for %i = %c0 to %c65536 step %c1 {{
      %x = tl.load %A[%i] : memref<65536x{0}>
      %below = arith.cmpf olt, %x, %one : {0}
      %y = scf.if %below -> ({0}) {{
        %sum = arith.addf %x, %x : {0}
        scf.yield %sum : {0}
      } else {{
        %wide = arith.extf %x : {0} to f64
        %square = arith.mulf %wide, %wide : f64
        %rounded = arith.truncf %square : f64 to {0}
        scf.yield %rounded : {0}
      }
      %z = arith.mulf %y, %s : {0}
      tl.store %z, %B[%i] : memref<65536x{0}>
    })",
                                             type)
                                   .str()),
                    machine);
  std::vector<T> from(65536), to(65536);
  for (int i = 0; i < 65536; ++i)
    from[i].bits = i;
  T scale = fromDouble<T>(1.25);
  kernel.run({Argument(from.data(), {65536}), Argument(to.data(), {65536}),
              Argument(&scale)},
             {1, 1, 1});
  for (int i = 0; i < 65536; ++i) {
    double x = toDouble(from[i]);
    double y = toDouble(fromDouble<T>(x < 1 ? x + x : x * x));
    double z = toDouble(fromDouble<T>(y * 1.25));
    if (std::isnan(z))
      ASSERT_TRUE(std::isnan(toDouble(to[i]))) << machine.cpu << ": " << i;
    else
      ASSERT_EQ(to[i].bits, fromDouble<T>(z).bits) << machine.cpu << ": " << i;
  }
}

// Also where the processor has no instructions for them, or ones that make zero
// of denormals.
TEST(HostMath, ComputesWithNarrowFloats) {
  const HostMachine &host = HostMachine::get();
  std::vector<HostMachine> machines = {host};
#ifdef __x86_64__
  machines.push_back({"x86-64", "", 16});
  if (host.vectorBytes >= 32)
    machines.push_back({"x86-64-v3", "", 32});
#endif
  for (const HostMachine &machine : machines) {
    testNarrowFloat<Half>("f16", machine);
    testNarrowFloat<BFloat>("bf16", machine);
  }
}

TEST(HostMath, KnowsSpecialNumbers) {
  HostKernel kernel(makeKernel("%A: memref<4xf32>, %B: memref<2x4xf32>", R"(
    tl.parallel (%i) in (4) {
      %x = tl.load %A[%i] : memref<4xf32>
      %e = math.exp %x : f32
      %f = math.exp2 %x : f32
      tl.store %e, %B[%c0, %i] : memref<2x4xf32>
      tl.store %f, %B[%c1, %i] : memref<2x4xf32>
    }
)"));
  Matrix<float> a(1, 4), b(2, 4);
  double numbers[] = {-INFINITY, INFINITY, NAN, 0};
  for (int64_t i = 0; i < 4; ++i)
    a.set(0, i, numbers[i]);
  kernel.run({a.argument(), b.argument()}, {1, 1, 1});
  for (int64_t row : {0, 1}) {
    EXPECT_EQ(b.get(row, 0), 0) << row;
    EXPECT_EQ(b.get(row, 1), INFINITY) << row;
    EXPECT_TRUE(std::isnan(b.get(row, 2))) << row;
    EXPECT_EQ(b.get(row, 3), 1) << row;
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
struct Tile {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false;
};
} // namespace

static std::string makeGemm(const Tile &tile, llvm::StringRef type,
                            llvm::StringRef accumulator) {
  auto shape = [](int64_t rows, int64_t columns, bool transposed) {
    if (transposed)
      std::swap(rows, columns);
    return llvm::formatv("{0}x{1}", rows, columns).str();
  };
  std::string a = shape(tile.m, tile.k, tile.transposeA);
  std::string b = shape(tile.k, tile.n, tile.transposeB);
  bool isInteger = accumulator.starts_with("i");
  std::string text = R"(
    %bm = arith.constant $M : index
    %bn = arith.constant $N : index
    %bk = arith.constant $K : index
    %zero = arith.constant $0 : $C
    %row = arith.muli %by, %bm : index
    %column = arith.muli %bx, %bn : index
    %depth = memref.dim %A, %c$D : memref<?x?x$T>
    %steps = arith.ceildivsi %depth, %bk : index
    %As = tl.alloc : memref<$Ax$T, #gpu.address_space<workgroup>>
    %Bs = tl.alloc : memref<$Bx$T, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<$Mx$Nx$C, #tl.fragment>
    tl.fill %acc, %zero : memref<$Mx$Nx$C, #tl.fragment>
    tl.pipelined %s = %c0 to %steps stages(3) {
      %k = arith.muli %s, %bk : index
      tl.copy %A[$a] to %As tile($At) : memref<?x?x$T> to memref<$Ax$T, #gpu.address_space<workgroup>>
      tl.copy %B[$b] to %Bs tile($Bt) : memref<?x?x$T> to memref<$Bx$T, #gpu.address_space<workgroup>>
      tl.gemm %As, %Bs, %acc $X : memref<$Ax$T, #gpu.address_space<workgroup>>, memref<$Bx$T, #gpu.address_space<workgroup>>, memref<$Mx$Nx$C, #tl.fragment>
    }
    tl.copy %acc to %C[%row, %column] tile($M, $N) : memref<$Mx$Nx$C, #tl.fragment> to memref<?x?x$C>
)";
  auto comma = [](std::string extents) {
    return llvm::join(llvm::split(extents, 'x'), ", ");
  };
  std::pair<std::string, std::string> substitutions[] = {
      {"$At", comma(a)},
      {"$Bt", comma(b)},
      {"$A", a},
      {"$B", b},
      {"$M", std::to_string(tile.m)},
      {"$N", std::to_string(tile.n)},
      {"$K", std::to_string(tile.k)},
      {"$0", isInteger ? "0" : "0.0"},
      {"$D", tile.transposeA ? "0" : "1"},
      {"$T", type.str()},
      {"$C", accumulator.str()},
      {"$a", tile.transposeA ? "%k, %row" : "%row, %k"},
      {"$b", tile.transposeB ? "%column, %k" : "%k, %column"},
      {"$X", std::string(tile.transposeA ? "transpose_a " : "") +
                 (tile.transposeB ? "transpose_b" : "")}};
  for (const auto &[from, to] : substitutions)
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  return makeKernel(llvm::formatv("%A: memref<?x?x{0}>, %B: memref<?x?x{0}>, "
                                  "%C: memref<?x?x{1}>",
                                  type, accumulator)
                        .str(),
                    text);
}

/// Multiplies an m x k by a k x n matrix. Each element of the result may be off
/// by `k` roundings of unit roundoff `unit`, each of at most the sum of the
/// absolute products.
template <typename T, typename Acc>
static void testGemm(const Tile &tile, llvm::StringRef type,
                     llvm::StringRef accumulator, int64_t m, int64_t n,
                     int64_t k, double unit, double range = 1) {
  HostKernel kernel(makeGemm(tile, type, accumulator));
  Matrix<T> a(tile.transposeA ? k : m, tile.transposeA ? m : k);
  Matrix<T> b(tile.transposeB ? n : k, tile.transposeB ? k : n);
  Matrix<Acc> c(m, n);
  a.fillRandomly(1, range);
  b.fillRandomly(2, range);
  kernel.run({a.argument(), b.argument(), c.argument()},
             {ceilDiv(n, tile.n), ceilDiv(m, tile.m), 1});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        double product = (tile.transposeA ? a.get(p, i) : a.get(i, p)) *
                         (tile.transposeB ? b.get(j, p) : b.get(p, j));
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(c.get(i, j), sum, k * unit * magnitude) << i << ", " << j;
    }
  c.expectGuardsIntact();
}

/// Every combination of transposed operands.
template <typename T, typename Acc>
static void testTransposes(Tile tile, llvm::StringRef type,
                           llvm::StringRef accumulator, int64_t m, int64_t n,
                           int64_t k, double unit, double range = 1) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      tile.transposeA = transposeA;
      tile.transposeB = transposeB;
      testGemm<T, Acc>(tile, type, accumulator, m, n, k, unit, range);
    }
}

TEST(HostGemm, MultipliesF32) {
  testTransposes<float, float>({64, 64, 32}, "f32", "f32", 128, 128, 96,
                               0x1p-24);
}
TEST(HostGemm, MultipliesRaggedSizes) {
  testTransposes<float, float>({64, 64, 32}, "f32", "f32", 100, 77, 45,
                               0x1p-24);
}
// Tiles that are no multiples of blocks or vectors.
TEST(HostGemm, MultipliesOddTiles) {
  testTransposes<float, float>({19, 53, 11}, "f32", "f32", 40, 60, 30, 0x1p-24);
  testTransposes<float, float>({1, 3, 1}, "f32", "f32", 4, 5, 3, 0x1p-24);
}
TEST(HostGemm, MultipliesNothing) {
  testGemm<float, float>({64, 64, 32}, "f32", "f32", 10, 10, 0, 0);
  testGemm<float, float>({64, 64, 32}, "f32", "f32", 0, 10, 10, 0);
}
TEST(HostGemm, MultipliesOtherTypes) {
  testTransposes<BFloat, float>({48, 32, 24}, "bf16", "f32", 70, 50, 60,
                                0x1p-24);
  testTransposes<Half, float>({48, 32, 24}, "f16", "f32", 70, 50, 60, 0x1p-24);
  testTransposes<double, double>({48, 32, 24}, "f64", "f64", 70, 50, 60,
                                 0x1p-53);
  testTransposes<int8_t, int32_t>({48, 32, 24}, "i8", "i32", 70, 50, 60, 0,
                                  128);
}
// The accumulator is rounded to f16 after each of the three products of tiles,
// not after each of the sixty products of numbers.
TEST(HostGemm, AccumulatesInF16) {
  testGemm<Half, Half>({48, 32, 24}, "f16", "f16", 70, 50, 60,
                       4 * 0x1p-11 / 60);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static double reduce(llvm::StringRef kind, double value, double element) {
  if (kind == "sum")
    return value + element;
  if (kind == "abssum")
    return value + std::fabs(element);
  if (kind == "max")
    return std::max(value, element);
  if (kind == "min")
    return std::min(value, element);
  return std::max(value, std::fabs(element));
}

/// Reduces a 48 x 40 tile along `dim`, on top of the number 0.25 if
/// `accumulate`.
static void testReduce(llvm::StringRef kind, int64_t dim, bool accumulate) {
  int64_t kept = dim == 0 ? 40 : 48;
  HostKernel kernel(makeKernel(
      llvm::formatv("%A: memref<48x40xf32>, %B: memref<{0}xf32>", kept).str(),
      llvm::formatv(R"(
    %quarter = arith.constant 0.25 : f32
    %s = tl.alloc : memref<48x40xf32, #tl.fragment>
    %t = tl.alloc : memref<{0}xf32, #tl.fragment>
    tl.copy %A to %s tile(48, 40) : memref<48x40xf32> to memref<48x40xf32, #tl.fragment>
    tl.fill %t, %quarter : memref<{0}xf32, #tl.fragment>
    tl.reduce {1} %s to %t dim({2}) {3} : memref<48x40xf32, #tl.fragment> to memref<{0}xf32, #tl.fragment>
    tl.copy %t to %B tile({0}) : memref<{0}xf32, #tl.fragment> to memref<{0}xf32>
)",
                    kept, kind, dim, accumulate ? "accumulate" : "")
          .str()));
  Matrix<float> a(48, 40), b(1, kept);
  a.fillRandomly(1);
  kernel.run({a.argument(), b.argument()}, {1, 1, 1});
  for (int64_t i = 0; i < kept; ++i) {
    double expected = kind == "max" ? -INFINITY : kind == "min" ? INFINITY : 0;
    if (accumulate)
      expected = 0.25;
    for (int64_t j = 0; j < (dim == 0 ? 48 : 40); ++j)
      expected = reduce(kind, expected, dim == 0 ? a.get(j, i) : a.get(i, j));
    ASSERT_NEAR(b.get(0, i), expected, 1e-5)
        << kind.str() << " along " << dim << ", element " << i;
  }
}

TEST(HostReduce, CombinesAlongEachDimension) {
  for (llvm::StringRef kind : {"sum", "max", "min", "abssum", "absmax"})
    for (int64_t dim : {0, 1})
      for (bool accumulate : {false, true})
        testReduce(kind, dim, accumulate);
}

//===----------------------------------------------------------------------===//
// Buffers and blocks
//===----------------------------------------------------------------------===//

// Two slots of a ring are two buffers.
TEST(HostBuffers, SelectsSlots) {
  HostKernel kernel(makeKernel("%A: memref<2x8xf32>, %B: memref<2x8xf32>", R"(
    %ring = tl.alloc : memref<2x8xf32, #gpu.address_space<workgroup>>
    %zeroth = tl.slot %ring[%c0] : memref<2x8xf32, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
    %first = tl.slot %ring[%c1] : memref<2x8xf32, #gpu.address_space<workgroup>> to memref<8xf32, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %zeroth tile(8) : memref<2x8xf32> to memref<8xf32, #gpu.address_space<workgroup>>
    tl.copy %A[%c1, %c0] to %first tile(8) : memref<2x8xf32> to memref<8xf32, #gpu.address_space<workgroup>>
    tl.copy %zeroth to %B[%c1, %c0] tile(8) : memref<8xf32, #gpu.address_space<workgroup>> to memref<2x8xf32>
    tl.copy %first to %B[%c0, %c0] tile(8) : memref<8xf32, #gpu.address_space<workgroup>> to memref<2x8xf32>
)"));
  Matrix<float> a(2, 8), b(2, 8);
  a.fillRandomly(1);
  kernel.run({a.argument(), b.argument()}, {1, 1, 1});
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 8; ++j)
      ASSERT_EQ(b.get(i, j), a.get(1 - i, j));
}

// 4 MiB of scratch do not fit on a stack.
TEST(HostBuffers, PutsLargeScratchOnTheHeap) {
  HostKernel kernel(makeKernel("%A: memref<1024x1024xf32>", R"(
    %two = arith.constant 2.0 : f32
    %s = tl.alloc : memref<1024x1024xf32, #gpu.address_space<workgroup>>
    tl.fill %s, %two : memref<1024x1024xf32, #gpu.address_space<workgroup>>
    tl.copy %s to %A tile(1024, 1024) : memref<1024x1024xf32, #gpu.address_space<workgroup>> to memref<1024x1024xf32>
)"));
  Matrix<float> a(1024, 1024);
  kernel.run({a.argument()}, {1, 1, 1});
  ASSERT_EQ(a.get(0, 0), 2);
  ASSERT_EQ(a.get(1023, 1023), 2);
  a.expectGuardsIntact();
}

// Each block writes its coordinates; a part of the grid leaves the rest alone.
TEST(HostBlocks, NumbersBlocksAsTheLaunchPlanSays) {
  HostKernel kernel(makeKernel("%A: memref<?x?xi64>", R"(
    %bz = gpu.block_id z
    %gx = gpu.grid_dim x
    %gy = gpu.grid_dim y
    %c3 = arith.constant 3 : index
    %zy = arith.muli %bz, %gy : index
    %plane = arith.addi %zy, %by : index
    %rows = arith.muli %plane, %gx : index
    %linear = arith.addi %rows, %bx : index
    %c2 = arith.constant 2 : index
    %x = arith.index_cast %bx : index to i64
    %y = arith.index_cast %by : index to i64
    %z = arith.index_cast %bz : index to i64
    tl.store %x, %A[%linear, %c0] : memref<?x?xi64>
    tl.store %y, %A[%linear, %c1] : memref<?x?xi64>
    tl.store %z, %A[%linear, %c2] : memref<?x?xi64>
)"));
  Matrix<int64_t> a(24, 3);
  for (int64_t i = 0; i < 24; ++i)
    for (int64_t j = 0; j < 3; ++j)
      a.set(i, j, -1);
  kernel.run({a.argument()}, {2, 3, 4}, 5, 23);
  for (int64_t i = 0; i < 24; ++i) {
    bool runs = i >= 5 && i < 23;
    ASSERT_EQ(a.get(i, 0), runs ? i % 2 : -1) << i;
    ASSERT_EQ(a.get(i, 1), runs ? i / 2 % 3 : -1) << i;
    ASSERT_EQ(a.get(i, 2), runs ? i / 6 : -1) << i;
  }
  a.expectGuardsIntact();
}

//===----------------------------------------------------------------------===//
// The loader
//===----------------------------------------------------------------------===//

static void expectLoadError(llvm::Error error, llvm::StringRef part) {
  ASSERT_TRUE(static_cast<bool>(error));
  std::string message = toString(std::move(error));
  EXPECT_TRUE(llvm::StringRef(message).contains(part)) << message;
}

TEST(HostLoader, RejectsWhatIsNoObject) {
  auto object = HostObject::load("not an object", "k");
  expectLoadError(object.takeError(),
                  "cannot load the host code of kernel `k`");
}

TEST(HostLoader, NamesAMissingKernel) {
  HostKernel kernel(makeKernel("%A: memref<8xf32>", ""));
  auto object = HostObject::load(kernel.getFile("kernel.o"), "other");
  expectLoadError(object.takeError(), "other");
}

TEST(HostLoader, NamesAMissingSymbol) {
  HostKernel kernel(R"(
gpu.module @k attributes {tl.target = #tl.target<chip = "cpu">} {
  func.func private @nowhere()
  gpu.func @k() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    func.call @nowhere() : () -> ()
    gpu.return
  }
})");
  expectLoadError(kernel.load(), "nowhere");
}

TEST(HostLoader, CompilesToTheSameBytesEveryTime) {
  std::string text = makeGemm({32, 32, 16}, "f32", "f32");
  EXPECT_EQ(HostKernel(text).getFile("kernel.o"),
            HostKernel(text).getFile("kernel.o"));
}
