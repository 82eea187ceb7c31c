//===- LowerGemms.cpp - Products of tiles in registers --------------------===//
//
// The accumulator is cut into blocks that fit into the vector registers. For
// each block a loop over k multiplies a column of A, one broadcast element per
// row, with a row of B, a few vectors wide. The tiles are in the caches already
// (that is what a tile is for), so A is read in place; B is, too, if its rows
// run along n. Tiles of another element type than the one that is computed in
// are converted to it first, and a transposed B is turned, once per product.
//
// f16 accumulators are kept in f32 for the length of one product.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "tl/Dialect/TL/IR/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;
using namespace tl::cpu;

/// The side of the squares in which tiles are transposed, a power of two: eight
/// lines fit into any machine's registers.
static constexpr int64_t kSquare = 8;

namespace {
/// A tile as the kernel reads it, from `place` on.
struct Operand {
  View view;
  bool transposed = false;
  std::array<int64_t, 2> place = {0, 0};
};

class GemmLowering {
public:
  GemmLowering(GemmOp gemm, const Machine &machine);
  void emit();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value index, int64_t offset) {
    return builder.createOrFold<arith::AddIOp>(loc, index, constant(offset));
  }
  VectorType vectorOf(int64_t width, Type element) {
    return VectorType::get(width, element);
  }

  Value makeScratch(int64_t rows, int64_t columns);
  void forEach(int64_t end, int64_t step, function_ref<void(Value)> body);
  Operand prepareA();
  Operand prepareB();
  /// The indices of an element of an operand.
  SmallVector<Value> at(const Operand &operand, Value row, Value column) {
    auto [firstRow, firstColumn] = operand.place;
    return {firstRow == 0 ? row : add(row, firstRow),
            firstColumn == 0 ? column : add(column, firstColumn)};
  }
  Value load(const Operand &operand, Value row, Value column) {
    return operand.view.load(builder, loc, at(operand, row, column));
  }
  void convertTile(const Operand &from, Value to, ArrayRef<int64_t> shape);
  void transposeTile(const Operand &from, Value to, ArrayRef<int64_t> shape);
  void transposeSquare(const Operand &from, Value to, Value row, Value column);

  SmallVector<int64_t> splitColumns(int64_t columns) const;
  void emitColumns(Value n, ArrayRef<int64_t> widths);
  void emitBlock(Value m, Value n, int64_t rows, ArrayRef<int64_t> widths);
  SmallVector<Value> emitStep(Value k, Value m, Value n, int64_t rows,
                              ArrayRef<int64_t> widths, ValueRange sums);
  Value multiplyAdd(Value a, Value b, Value sum);

  GemmOp gemm;
  OpBuilder builder;
  Location loc;
  View acc;
  Type type; // that is computed in
  int64_t m, n, k;
  int64_t width; // elements in a vector register
  int64_t blockRows, blockColumns;
  Operand a, b;
};
} // namespace

/// The type in which products with this accumulator are computed.
static Type getComputeType(Type accumulator) {
  if (accumulator.isF16() || accumulator.isBF16())
    return Float32Type::get(accumulator.getContext());
  return accumulator;
}

GemmLowering::GemmLowering(GemmOp gemm, const Machine &machine)
    : gemm(gemm), builder(gemm), loc(gemm.getLoc()), acc(gemm.getAcc()),
      type(getComputeType(acc.getType().getElementType())), m(gemm.getM()),
      n(gemm.getN()), k(gemm.getK()), a{View(gemm.getA())},
      b{View(gemm.getB())} {
  width = machine.vectorBytes * 8 / type.getIntOrFloatBitWidth();
  // Three vectors to a row make the squarest block; two are better where they
  // divide the tile. A quarter of the registers is left for the operands.
  int64_t vectors = n % (3 * width) != 0 && n % (2 * width) == 0 ? 2 : 3;
  blockColumns = vectors * width;
  int64_t mostRows = machine.getNumRegisters() * 3 / 4 / vectors;
  // Fewer rows that divide the tile spare the code for a rest.
  blockRows = mostRows;
  for (int64_t rows = mostRows; rows >= mostRows * 2 / 3; --rows)
    if (m % rows == 0) {
      blockRows = rows;
      break;
    }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// A tile of the computed type that lives as long as the kernel.
Value GemmLowering::makeScratch(int64_t rows, int64_t columns) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Private);
  auto scratch = MemRefType::get({rows, columns}, type, AffineMap(), space);
  OpBuilder::InsertionGuard guard(builder);
  auto kernel = gemm->getParentOfType<gpu::GPUFuncOp>();
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return AllocOp::create(builder, loc, scratch, /*layout=*/Attribute(),
                         /*offset=*/IntegerAttr());
}

/// Emits a loop from zero to `end`, which is a multiple of `step`.
void GemmLowering::forEach(int64_t end, int64_t step,
                           function_ref<void(Value)> body) {
  if (end == 0)
    return;
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(end),
                                 constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void GemmLowering::convertTile(const Operand &from, Value to,
                               ArrayRef<int64_t> shape) {
  View target(to);
  forEach(shape[0], 1, [&](Value row) {
    forEach(shape[1], 1, [&](Value column) {
      Value element = load(from, row, column);
      element = convertElement(builder, loc, element, type);
      target.store(builder, loc, element, {row, column});
    });
  });
}

/// Writes the transpose of the square of `from` at `row` and `column`, of
/// `kSquare` elements a side, to `to`.
void GemmLowering::transposeSquare(const Operand &from, Value to, Value row,
                                   Value column) {
  Type element = from.view.getType().getElementType();
  SmallVector<Value> lines;
  for (int64_t i = 0; i < kSquare; ++i) {
    Value line = vector::LoadOp::create(
        builder, loc, vectorOf(kSquare, element), from.view.buffer,
        from.view.at(at(from, add(row, i), column)));
    lines.push_back(convertElement(builder, loc, line, type));
  }
  // Interleaving each line with the one half a square below moves one bit of
  // the row's number into the column's. Once for each bit, and they have
  // changed places.
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < kSquare / 2; ++i) {
    low.append({i, i + kSquare});
    high.append({i + kSquare / 2, i + kSquare / 2 + kSquare});
  }
  for (int64_t bit = 1; bit < kSquare; bit *= 2) {
    SmallVector<Value> interleaved;
    for (int64_t i = 0; i < kSquare / 2; ++i)
      for (ArrayRef<int64_t> mask : {low, high})
        interleaved.push_back(vector::ShuffleOp::create(
            builder, loc, lines[i], lines[i + kSquare / 2], mask));
    lines = std::move(interleaved);
  }
  for (int64_t i = 0; i < kSquare; ++i)
    vector::StoreOp::create(builder, loc, lines[i], to,
                            ValueRange{add(column, i), row});
}

/// Writes the transpose of `from`, of shape `shape`, to `to`: in squares, and
/// what is left element by element.
void GemmLowering::transposeTile(const Operand &from, Value to,
                                 ArrayRef<int64_t> shape) {
  int64_t rows = shape[0] - shape[0] % kSquare;
  int64_t columns = shape[1] - shape[1] % kSquare;
  auto transposeElement = [&](Value row, Value column) {
    Value element = load(from, row, column);
    element = convertElement(builder, loc, element, type);
    View(to).store(builder, loc, element, {column, row});
  };
  forEach(rows, kSquare, [&](Value row) {
    forEach(columns, kSquare,
            [&](Value column) { transposeSquare(from, to, row, column); });
  });
  forEach(shape[0], 1, [&](Value row) {
    forEach(shape[1] - columns, 1,
            [&](Value column) { transposeElement(row, add(column, columns)); });
  });
  forEach(shape[0] - rows, 1, [&](Value row) {
    forEach(columns, 1,
            [&](Value column) { transposeElement(add(row, rows), column); });
  });
}

/// A's elements are read one by one: either order will do.
Operand GemmLowering::prepareA() {
  Operand operand{View(gemm.getA()), gemm.getTransposeA(),
                  gemm.getPlace(/*ofB=*/false)};
  if (operand.view.getType().getElementType() == type)
    return operand;
  std::array<int64_t, 2> shape = gemm.getOperandShape(/*ofB=*/false);
  Value scratch = makeScratch(shape[0], shape[1]);
  convertTile(operand, scratch, shape);
  return {View(scratch), operand.transposed};
}

/// B's rows are read as vectors.
Operand GemmLowering::prepareB() {
  Operand operand{View(gemm.getB()), gemm.getTransposeB(),
                  gemm.getPlace(/*ofB=*/true)};
  if (operand.view.getType().getElementType() == type && !operand.transposed)
    return operand;
  Value scratch = makeScratch(k, n);
  if (operand.transposed)
    transposeTile(operand, scratch, {n, k});
  else
    convertTile(operand, scratch, {k, n});
  return {View(scratch)};
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

Value GemmLowering::multiplyAdd(Value a, Value b, Value sum) {
  if (isa<FloatType>(type))
    return vector::FMAOp::create(builder, loc, a, b, sum);
  return arith::AddIOp::create(builder, loc, sum,
                               arith::MulIOp::create(builder, loc, a, b));
}

/// The widths of the vectors that cover `columns` columns.
SmallVector<int64_t> GemmLowering::splitColumns(int64_t columns) const {
  SmallVector<int64_t> widths(columns / width, width);
  if (columns % width != 0)
    widths.push_back(columns % width);
  return widths;
}

/// Adds the products of column `k` of A and row `k` of B to `sums`, the rows of
/// a block one after another.
SmallVector<Value> GemmLowering::emitStep(Value k, Value m, Value n,
                                          int64_t rows,
                                          ArrayRef<int64_t> widths,
                                          ValueRange sums) {
  SmallVector<Value> line;
  int64_t offset = 0;
  for (int64_t part : widths) {
    line.push_back(vector::LoadOp::create(builder, loc, vectorOf(part, type),
                                          b.view.buffer,
                                          b.view.at(at(b, k, add(n, offset)))));
    offset += part;
  }
  SmallVector<Value> results;
  for (int64_t i = 0; i < rows; ++i) {
    Value row = add(m, i);
    Value element = a.transposed ? load(a, k, row) : load(a, row, k);
    for (Value part : line) {
      Value factor =
          vector::BroadcastOp::create(builder, loc, part.getType(), element);
      results.push_back(multiplyAdd(factor, part, sums[results.size()]));
    }
  }
  return results;
}

/// Computes the block of the accumulator at row `m` and column `n`.
void GemmLowering::emitBlock(Value m, Value n, int64_t rows,
                             ArrayRef<int64_t> widths) {
  Type stored = acc.getType().getElementType();
  auto forEachPart = [&](function_ref<void(SmallVector<Value>, int64_t)> body) {
    for (int64_t i = 0; i < rows; ++i) {
      int64_t offset = 0;
      for (int64_t part : widths) {
        body(acc.at({add(m, i), add(n, offset)}), part);
        offset += part;
      }
    }
  };

  SmallVector<Value> sums;
  forEachPart([&](SmallVector<Value> position, int64_t part) {
    Value value = vector::LoadOp::create(builder, loc, vectorOf(part, stored),
                                         acc.buffer, position);
    sums.push_back(convertElement(builder, loc, value, type));
  });
  auto loop = scf::ForOp::create(
      builder, loc, constant(0), constant(k), constant(1), sums,
      [&](OpBuilder &inside, Location, Value step, ValueRange carried) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(inside.getInsertionBlock());
        SmallVector<Value> next = emitStep(step, m, n, rows, widths, carried);
        scf::YieldOp::create(builder, loc, next);
      });
  size_t next = 0;
  forEachPart([&](SmallVector<Value> position, int64_t) {
    Value value = convertElement(builder, loc, loop.getResult(next++), stored);
    vector::StoreOp::create(builder, loc, value, acc.buffer, position);
  });
}

/// Computes all blocks that start at column `n`.
void GemmLowering::emitColumns(Value n, ArrayRef<int64_t> widths) {
  int64_t whole = m - m % blockRows;
  forEach(whole, blockRows,
          [&](Value row) { emitBlock(row, n, blockRows, widths); });
  if (whole != m)
    emitBlock(constant(whole), n, m - whole, widths);
}

void GemmLowering::emit() {
  a = prepareA();
  b = prepareB();
  int64_t whole = n - n % blockColumns;
  forEach(whole, blockColumns, [&](Value column) {
    emitColumns(column, splitColumns(blockColumns));
  });
  if (whole != n)
    emitColumns(constant(whole), splitColumns(n - whole));
}

void cpu::lowerGemm(GemmOp gemm, const Machine &machine) {
  GemmLowering(gemm, machine).emit();
}
