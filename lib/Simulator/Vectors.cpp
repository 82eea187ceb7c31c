//===- Vectors.cpp - Parts of vectors -------------------------------------===//
//
// An element is a row of words, so most of these ops copy rows.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

/// Copies `count` times the `bits` words at the positions that a table of the
/// program gives from the immediate on: to, from.
static Step copyRows(Warp &warp, const Instruction &i) {
  const uint32_t *pairs = warp.block.program.numbers.data() + i.immediate;
  for (uint32_t n = 0; n < i.count; ++n, pairs += 2)
    std::copy_n(warp.words(pairs[1]), i.bits, warp.words(pairs[0]));
  return Step::Next;
}

/// The element of `a` that `b` names, for each lane; zero if there is none.
template <typename Word>
static Step extractAt(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Word>(warp, i.a);
  const uint32_t *index = warp.words(i.b);
  auto *result = getWords<Word>(warp, i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] =
        index[lane] < i.count ? a[index[lane] * kLanes + lane] : Word(0);
  return Step::Next;
}

/// Puts `a` in the place of the element of the result that `b` names.
template <typename Word>
static Step insertAt(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Word>(warp, i.a);
  const uint32_t *index = warp.words(i.b);
  auto *result = getWords<Word>(warp, i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (index[lane] < i.count)
      result[index[lane] * kLanes + lane] = a[lane];
  return Step::Next;
}

/// Cuts elements into `count` parts of `bits` bits, lower ones first. The
/// immediate says how many each one has.
template <typename To, typename From>
static Step cut(Warp &warp, const Instruction &i) {
  auto *a = getWords<const From>(warp, i.a);
  auto *result = getWords<To>(warp, i.result);
  To mask = To(-1) >> (8 * sizeof(To) - i.bits);
  uint32_t parts = i.immediate;
  for (uint32_t n = 0; n < i.count; ++n, result += kLanes) {
    const From *whole = a + n / parts * kLanes;
    unsigned shift = n % parts * i.bits;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = To(whole[lane] >> shift) & mask;
  }
  return Step::Next;
}

/// Puts elements of `bits` bits together to `count` wider ones.
template <typename To, typename From>
static Step join(Warp &warp, const Instruction &i) {
  auto *a = getWords<const From>(warp, i.a);
  auto *result = getWords<To>(warp, i.result);
  uint32_t parts = i.immediate;
  for (uint32_t n = 0; n < i.count; ++n, result += kLanes) {
    std::copy_n(a, kLanes, result);
    a += kLanes;
    for (uint32_t part = 1; part < parts; ++part, a += kLanes)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        result[lane] |= To(a[lane]) << part * i.bits;
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

namespace {
/// Rows that are copied by one instruction.
class RowCopies {
public:
  RowCopies(Decoder &decoder, Shape shape)
      : decoder(decoder), rowWords(kLanes * (shape.isWide() ? 2 : 1)) {}

  /// Element `from` of what lies at `source` goes to element `to` of `target`.
  void add(Register target, uint32_t to, Register source, uint32_t from) {
    pairs.push_back(target + to * rowWords);
    pairs.push_back(source + from * rowWords);
  }

  void emit() {
    std::vector<uint32_t> &numbers = decoder.program.numbers;
    Instruction &instruction = decoder.emit(copyRows);
    instruction.count = pairs.size() / 2;
    instruction.bits = rowWords;
    instruction.immediate = numbers.size();
    numbers.insert(numbers.end(), pairs.begin(), pairs.end());
  }

private:
  Decoder &decoder;
  uint32_t rowWords;
  SmallVector<uint32_t> pairs;
};
} // namespace

static LogicalResult decodeBitcast(Decoder &decoder, Operation *op) {
  Shape from = Shape::get(op->getOperand(0)), to = Shape::get(op->getResult(0));
  if (from.bits == to.bits)
    return decodeMove(decoder, op);
  bool cuts = from.bits > to.bits;
  Execute execute =
      cuts
          ? (to.isWide()     ? nullptr
             : from.isWide() ? cut<uint32_t, uint64_t>
                             : cut<uint32_t, uint32_t>)
          : (to.isWide() ? join<uint64_t, uint32_t> : join<uint32_t, uint32_t>);
  Instruction &instruction = emitElementwise(decoder, op, execute);
  instruction.bits = std::min(from.bits, to.bits);
  instruction.immediate = cuts ? from.bits / to.bits : to.bits / from.bits;
  return success();
}

static LogicalResult decodeBroadcast(Decoder &decoder, Operation *op) {
  Shape shape = Shape::get(op->getResult(0));
  Register result = decoder.define(op->getResult(0));
  Register source = decoder.get(op->getOperand(0));
  RowCopies copies(decoder, shape);
  for (uint32_t i = 0; i < shape.elements; ++i)
    copies.add(result, i, source, 0);
  copies.emit();
  return success();
}

static LogicalResult decodeExtract(Decoder &decoder, Operation *op) {
  auto extract = cast<vector::ExtractOp>(op);
  Shape shape = Shape::get(extract.getSource());
  Register result = decoder.define(op->getResult(0));
  Register source = decoder.get(extract.getSource());
  SmallVector<OpFoldResult> positions = extract.getMixedPosition();
  if (positions.size() > 1)
    return op->emitError("`vector.extract` has more positions than the "
                         "simulator has a meaning for");
  if (positions.empty()) {
    decoder.emitMove(result, source, shape, /*isMasked=*/false);
    return success();
  }
  if (std::optional<int64_t> position = getConstantIntValue(positions[0])) {
    RowCopies copies(decoder, shape);
    copies.add(result, 0, source, *position);
    copies.emit();
    return success();
  }
  Instruction &instruction =
      decoder.emit(shape.isWide() ? extractAt<uint64_t> : extractAt<uint32_t>);
  instruction.result = result;
  instruction.a = source;
  instruction.b = decoder.get(cast<Value>(positions[0]));
  instruction.count = shape.elements;
  return success();
}

static LogicalResult decodeInsert(Decoder &decoder, Operation *op) {
  auto insert = cast<vector::InsertOp>(op);
  Shape shape = Shape::get(insert.getDest());
  Register result = decoder.define(op->getResult(0));
  decoder.emitMove(result, decoder.get(insert.getDest()), shape,
                   /*isMasked=*/false);
  Register stored = decoder.get(insert.getValueToStore());
  SmallVector<OpFoldResult> positions = insert.getMixedPosition();
  if (positions.size() != 1)
    return op->emitError("`vector.insert` has other positions than the "
                         "simulator has a meaning for");
  if (std::optional<int64_t> position = getConstantIntValue(positions[0])) {
    RowCopies copies(decoder, shape);
    copies.add(result, *position, stored, 0);
    copies.emit();
    return success();
  }
  Instruction &instruction =
      decoder.emit(shape.isWide() ? insertAt<uint64_t> : insertAt<uint32_t>);
  instruction.result = result;
  instruction.a = stored;
  instruction.b = decoder.get(cast<Value>(positions[0]));
  instruction.count = shape.elements;
  return success();
}

/// The one integer of a list of one.
static int64_t getOnly(ArrayAttr list) {
  return cast<IntegerAttr>(list[0]).getInt();
}

static LogicalResult decodeExtractSlice(Decoder &decoder, Operation *op) {
  auto extract = cast<vector::ExtractStridedSliceOp>(op);
  Shape shape = Shape::get(op->getResult(0));
  Register result = decoder.define(op->getResult(0));
  Register source = decoder.get(extract.getSource());
  RowCopies copies(decoder, shape);
  for (uint32_t i = 0; i < shape.elements; ++i)
    copies.add(result, i, source,
               getOnly(extract.getOffsets()) +
                   i * getOnly(extract.getStrides()));
  copies.emit();
  return success();
}

static LogicalResult decodeInsertSlice(Decoder &decoder, Operation *op) {
  auto insert = cast<vector::InsertStridedSliceOp>(op);
  Shape shape = Shape::get(insert.getValueToStore());
  Register result = decoder.define(op->getResult(0));
  decoder.emitMove(result, decoder.get(insert.getDest()),
                   Shape::get(insert.getDest()), /*isMasked=*/false);
  Register stored = decoder.get(insert.getValueToStore());
  RowCopies copies(decoder, shape);
  for (uint32_t i = 0; i < shape.elements; ++i)
    copies.add(result,
               getOnly(insert.getOffsets()) + i * getOnly(insert.getStrides()),
               stored, i);
  copies.emit();
  return success();
}

static LogicalResult decodeFromElements(Decoder &decoder, Operation *op) {
  Register result = decoder.define(op->getResult(0));
  RowCopies copies(decoder, Shape::get(op->getResult(0)));
  for (auto [i, element] : llvm::enumerate(op->getOperands()))
    copies.add(result, i, decoder.get(element), 0);
  copies.emit();
  return success();
}

static LogicalResult decodeToElements(Decoder &decoder, Operation *op) {
  Register source = decoder.get(op->getOperand(0));
  RowCopies copies(decoder, Shape::get(op->getOperand(0)));
  for (auto [i, element] : llvm::enumerate(op->getResults()))
    copies.add(decoder.define(element), 0, source, i);
  copies.emit();
  return success();
}

static LogicalResult decodeShuffle(Decoder &decoder, Operation *op) {
  auto shuffle = cast<vector::ShuffleOp>(op);
  Shape shape = Shape::get(op->getResult(0));
  Register result = decoder.define(op->getResult(0));
  Register first = decoder.get(shuffle.getV1());
  Register second = decoder.get(shuffle.getV2());
  int64_t length = Shape::get(shuffle.getV1()).elements;
  RowCopies copies(decoder, shape);
  for (auto [i, pick] : llvm::enumerate(shuffle.getMask())) {
    if (pick < 0) // any value will do
      continue;
    copies.add(result, i, pick < length ? first : second,
               pick < length ? pick : pick - length);
  }
  copies.emit();
  return success();
}

void tl::sim::addVectors(DecodeTable &table) {
  table["vector.bitcast"] = decodeBitcast;
  table["vector.broadcast"] = decodeBroadcast;
  table["vector.extract"] = decodeExtract;
  table["vector.extract_strided_slice"] = decodeExtractSlice;
  table["vector.from_elements"] = decodeFromElements;
  table["vector.insert"] = decodeInsert;
  table["vector.insert_strided_slice"] = decodeInsertSlice;
  table["vector.shuffle"] = decodeShuffle;
  table["vector.to_elements"] = decodeToElements;
}
