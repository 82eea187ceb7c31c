//===- MatrixOps.cpp - Instructions of a warp and a warp group ------------===//

#include "Elementwise.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include <cstring>

using namespace mlir;
using namespace tl::sim;
using tl::LdmatrixOp, tl::StmatrixOp, tl::MmaKind, tl::MmaOp, tl::WgmmaOp,
    tl::WgmmaWaitOp;

static MmaType getType(MmaKind kind) {
  switch (kind) {
  case MmaKind::F16:
    return MmaType::F16;
  case MmaKind::BF16:
    return MmaType::BF16;
  case MmaKind::TF32:
    return MmaType::TF32;
  case MmaKind::S8:
    return MmaType::S8;
  case MmaKind::U8:
    return MmaType::U8;
  case MmaKind::E4M3:
    return MmaType::E4M3;
  case MmaKind::E5M2:
    return MmaType::E5M2;
  }
  llvm_unreachable("all kinds are handled");
}

static SumType getSumType(Type element) {
  return element.isF16()   ? SumType::F16
         : element.isF32() ? SumType::F32
                           : SumType::I32;
}

//===----------------------------------------------------------------------===//
// Matrices of a warp
//===----------------------------------------------------------------------===//

/// Rows of a matrix, and their bytes: 8 elements of 16 bits.
static constexpr unsigned kRows = 8, kRowBytes = 16;

/// The bytes of the rows that a store of `count` matrices writes, row after row
/// (PTX ISA, "stmatrix": an element for each of two halves of a register).
static SmallVector<uint8_t> getRows(Warp &warp, const Instruction &i) {
  SmallVector<uint8_t> bytes(kLanes * kRowBytes);
  for (unsigned n = 0; n < i.count * kRows; ++n)
    for (unsigned column = 0; column < kRows; ++column) {
      unsigned row = n % kRows, other = column;
      if (i.bits)
        std::swap(row, other);
      uint32_t word =
          tl::sim::row(warp.words(i.b), n / kRows)[row * 4 + other / 2];
      auto element = uint16_t(word >> other % 2 * 16);
      std::memcpy(&bytes[n * kRowBytes + 2 * column], &element, 2);
    }
  return bytes;
}

/// Tells of one row for each address that `count` matrices have, before memory
/// changes. Where a row is not, the instruction will report it.
static void tellRows(Warp &warp, const Instruction &i, bool isWrite) {
  BlockObserver *observer = warp.block.getObserver();
  if (!observer)
    return;
  uint64_t addresses[kLanes];
  std::copy_n(warp.words(i.a), kLanes, addresses);
  for (uint64_t address : llvm::ArrayRef(addresses).take_front(i.count * kRows))
    if (!warp.block.shared.contains(address, kRowBytes))
      return;
  SmallVector<uint8_t> values;
  if (isWrite)
    values = getRows(warp, i);
  auto event = makeEvent<AccessEvent>(warp.getEvent(i));
  if (i.count * kRows < kLanes)
    event.lanes &= (LaneMask(1) << i.count * kRows) - 1;
  event.kind = isWrite ? AccessEvent::Kind::Write : AccessEvent::Kind::Read;
  event.space = tl::sim::Space::Shared;
  event.addresses = addresses;
  event.bytes = kRowBytes;
  event.values = values;
  observer->onAccess(event);
}

/// `count` matrices at the addresses `a`, transposed if `bits` is 1.
static Step loadMatrices(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  tellRows(warp, i, /*isWrite=*/false);
  if (std::optional<Fault> fault =
          ldmatrix(warp.block.shared, warp.words(i.a), i.count, i.bits,
                   warp.words(i.result)))
    return warp.fail(*fault, i);
  return Step::Next;
}

/// `count` matrices `b` to the addresses `a`.
static Step storeMatrices(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  tellRows(warp, i, /*isWrite=*/true);
  ++warp.block.group.changes;
  if (std::optional<Fault> fault = stmatrix(warp.block.shared, warp.words(i.a),
                                            i.count, i.bits, warp.words(i.b)))
    return warp.fail(*fault, i);
  return Step::Next;
}

/// Bytes of a factor's row or column that one instruction multiplies.
static constexpr uint32_t kDepthBytes = 32;

/// Factors that one instruction multiplies for each element of its result.
static uint32_t getDepth(MmaType type) {
  switch (type) {
  case MmaType::F16:
  case MmaType::BF16:
    return kDepthBytes / 2;
  case MmaType::TF32:
    return kDepthBytes / 4;
  case MmaType::F64:
    return kDepthBytes / 8;
  case MmaType::S8:
  case MmaType::U8:
  case MmaType::E4M3:
  case MmaType::E5M2:
    return kDepthBytes;
  }
  llvm_unreachable("all types are handled");
}

/// Rows of a product that a warp has, by itself or in a group.
static constexpr uint32_t kRowsOfWarp = 16;

/// Tells of `count` products of `n` columns.
static void tellProducts(Warp &warp, const Instruction &i, MmaType type,
                         uint32_t n, uint32_t count, uint32_t sharedBytes) {
  BlockObserver *observer = warp.block.getObserver();
  if (!observer)
    return;
  auto event = makeEvent<ProductEvent>(warp.getEvent(i));
  event.type = type;
  event.m = kRowsOfWarp;
  event.n = n;
  event.k = getDepth(type);
  event.count = count;
  event.sharedBytes = sharedBytes;
  observer->onProduct(event);
}

/// `a` times `b` plus `c`. `bits` is the type of the factors in `a`,
/// `immediate` of those in `b`, `count` that of the sums.
static Step multiply(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  constexpr uint32_t columns = 8;
  tellProducts(warp, i, MmaType(i.bits), columns, /*count=*/1,
               /*sharedBytes=*/0);
  mma(MmaType(i.bits), SumType(i.count), warp.words(i.a), warp.words(i.b),
      warp.words(i.c), warp.words(i.result), MmaType(i.immediate));
  return Step::Next;
}

/// `a` times `b` plus `c`, of f64.
static Step multiplyF64(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  constexpr uint32_t columns = 8;
  tellProducts(warp, i, MmaType::F64, columns, /*count=*/1, /*sharedBytes=*/0);
  mmaF64(
      getWords<const uint64_t>(warp, i.a), getWords<const uint64_t>(warp, i.b),
      getWords<const uint64_t>(warp, i.c), getWords<uint64_t>(warp, i.result));
  return Step::Next;
}

static LogicalResult decodeLdmatrix(Decoder &decoder, Operation *op) {
  auto load = cast<LdmatrixOp>(op);
  Register result = decoder.define(load.getResult());
  Instruction &instruction = decoder.emit(loadMatrices);
  instruction.result = result;
  instruction.a = decoder.get(load.getAddress());
  instruction.count = Shape::get(load.getResult()).elements;
  instruction.bits = load.getTranspose();
  return success();
}

static LogicalResult decodeStmatrix(Decoder &decoder, Operation *op) {
  auto store = cast<StmatrixOp>(op);
  Instruction &instruction = decoder.emit(storeMatrices);
  instruction.a = decoder.get(store.getAddress());
  instruction.b = decoder.get(store.getValue());
  instruction.count = Shape::get(store.getValue()).elements;
  instruction.bits = store.getTranspose();
  return success();
}

static LogicalResult decodeMma(Decoder &decoder, Operation *op) {
  auto mmaOp = cast<MmaOp>(op);
  Register result = decoder.define(mmaOp.getD());
  Instruction &instruction = decoder.emit(multiply);
  instruction.result = result;
  instruction.a = decoder.get(mmaOp.getA());
  instruction.b = decoder.get(mmaOp.getB());
  instruction.c = decoder.get(mmaOp.getC());
  instruction.bits = static_cast<uint32_t>(getType(mmaOp.getKind()));
  instruction.immediate = static_cast<uint32_t>(getType(mmaOp.getKindOfB()));
  instruction.count =
      static_cast<uint32_t>(getSumType(Shape::get(mmaOp.getD()).element));
  return success();
}

static LogicalResult decodeMmaF64(Decoder &decoder, Operation *op) {
  auto mmaOp = cast<tl::MmaF64Op>(op);
  Register result = decoder.define(mmaOp.getD());
  Instruction &instruction = decoder.emit(multiplyF64);
  instruction.result = result;
  instruction.a = decoder.get(mmaOp.getA());
  instruction.b = decoder.get(mmaOp.getB());
  instruction.c = decoder.get(mmaOp.getC());
  return success();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// A series from fence to commit, on the accumulator `result`, of the factors
/// at the descriptors `a` (or in the registers `a`) and `b`. A warp has its own
/// rows of it, so that each is an operation by itself. The forms are a table of
/// the program.
static Step startWgmma(Warp &warp, const Instruction &i) {
  if (!warp.isWhole() || warp.exists != kAllLanes)
    return warp.failDivergent(i);
  AsyncOperation operation;
  operation.kind = AsyncKind::Wgmma;
  operation.issue = warp.getEvent(i);
  operation.uncommitted = warp.lanes;
  auto [form, factor] = warp.block.program.wgmmas[i.immediate];
  uint64_t a = form.hasRegisterA ? 0 : getWords<const uint64_t>(warp, i.a)[0];
  uint64_t b = getWords<const uint64_t>(warp, i.b)[0];
  if (auto instead = warp.block.warpGroups.arrive(warp.getEvent(i), {a, b}))
    return warp.failApart(i, *instead);
  const WgmmaStep *steps = warp.block.program.wgmmaSteps.data() + i.bits;
  SmallVector<Span> reads;
  for (uint32_t n = 0; n < i.count; ++n) {
    form.a = a + steps[n].a;
    form.b = b + steps[n].b;
    std::vector<uint32_t> registers;
    if (form.hasRegisterA) {
      const uint32_t *first = warp.words(i.a) + steps[n].a * kLanes;
      registers.assign(first, first + kFactorRegisters * kLanes);
    }
    if (std::optional<Fault> fault =
            wgmmaReads(warp.block.shared, form, warp.number % 4, reads))
      return warp.fail(*fault, i);
    operation.products.push_back({form,
                                  warp.words(i.result) + steps[n].sums * kLanes,
                                  std::move(registers)});
  }
  // The next one to happen is the last of the list.
  std::reverse(operation.products.begin(), operation.products.end());
  if (BlockObserver *observer = warp.block.getObserver()) {
    auto event = makeEvent<FenceEvent>(warp.getEvent(i));
    event.kind = FenceEvent::Kind::Wgmma;
    observer->onFence(event);
  }
  // Rows of A are a warp's own, columns of B are all four warps'.
  uint32_t factorBytes = (form.hasRegisterA ? 0 : kRowsOfWarp) * kDepthBytes +
                         form.n * kDepthBytes / 4;
  tellProducts(warp, i, form.type, form.n, i.count, i.count * factorBytes);
  warp.block.async.issue(std::move(operation));
  warp.block.async.commit(warp, AsyncKind::Wgmma, warp.getEvent(i).instruction,
                          warp.words(i.result), factor);
  return Step::Next;
}

/// Until at most `count` groups are under way. `bits` values are carried, from
/// position `immediate` of the program's table on: first their registers, of
/// which accumulators are complete by it, then the numbers of their factors.
static Step waitForWgmma(Warp &warp, const Instruction &i) {
  if (!warp.isWhole())
    return warp.failDivergent(i);
  if (auto instead = warp.block.warpGroups.arrive(warp.getEvent(i), {}))
    return warp.failApart(i, *instead);
  warp.block.async.wait(warp, AsyncKind::Wgmma, i.count, /*readsOnly=*/false,
                        warp.getEvent(i).instruction);
  llvm::ArrayRef<uint32_t> numbers(warp.block.program.numbers);
  for (uint32_t factor : numbers.slice(i.immediate + i.bits, i.bits))
    warp.block.async.hold(warp, factor);
  for (uint32_t at : numbers.slice(i.immediate, i.bits))
    if (std::optional<InstructionId> writer =
            warp.block.async.findWriter(warp, warp.words(at)))
      return warp.failInFlight(i, *writer);
  return Step::Next;
}

Step tl::sim::executeGuarded(Warp &warp, const Instruction &i) {
  const Guarded &guarded =
      warp.block.program.guarded.at(warp.getEvent(i).instruction);
  for (const Guarded::Use &use : guarded.uses) {
    // By that name it is the result before the wait, also behind one: whoever
    // assigns registers may copy it in between.
    std::optional<InstructionId> writer = use.writer;
    if (!writer)
      writer = warp.block.async.findWriter(warp, warp.words(use.at));
    if (writer)
      return warp.failInFlight(i, *writer, "uses the registers of a `wgmma`");
  }
  return guarded.execute(warp, i);
}

static LogicalResult decodeWgmma(Decoder &decoder, Operation *op) {
  auto wgmma = cast<WgmmaOp>(op);
  Program &program = decoder.program;
  Shape shape = Shape::get(wgmma.getResult());
  Register result = decoder.define(wgmma.getResult());
  // An accumulator that is under way lies there already.
  decoder.emitMove(result, decoder.get(wgmma.getAcc()), shape,
                   /*isMasked=*/false);
  Wgmma form;
  form.type = getType(wgmma.getKind());
  form.typeOfB = getType(wgmma.getKindOfB());
  form.sum = getSumType(shape.element);
  form.n = wgmma.getN();
  form.hasRegisterA = wgmma.hasRegisterA();
  form.aMNMajor = wgmma.getAMNMajor();
  form.bMNMajor = wgmma.getBMNMajor();

  Instruction &instruction = decoder.emit(startWgmma);
  instruction.result = result;
  instruction.a = decoder.get(wgmma.getA());
  instruction.b = decoder.get(wgmma.getB());
  instruction.count = wgmma.getAccOffsets().size();
  instruction.bits = program.wgmmaSteps.size();
  instruction.immediate = program.wgmmas.size();
  program.wgmmas.push_back({form, decoder.getFactor(wgmma.getA())});
  for (auto [sums, a, b] : llvm::zip_equal(
           wgmma.getAccOffsets(), wgmma.getAOffsets(), wgmma.getBOffsets()))
    program.wgmmaSteps.push_back({uint32_t(sums), uint32_t(a), uint32_t(b)});
  return success();
}

static LogicalResult decodeWgmmaWait(Decoder &decoder, Operation *op) {
  auto wait = cast<WgmmaWaitOp>(op);
  Instruction &instruction = decoder.emit(waitForWgmma);
  instruction.count = wait.getPending();
  instruction.immediate = decoder.program.numbers.size();
  instruction.bits = wait.getValues().size();
  for (Value value : wait.getValues())
    decoder.program.numbers.push_back(decoder.get(value));
  for (Value value : wait.getValues())
    decoder.program.numbers.push_back(decoder.getFactor(value));
  for (auto [value, result] :
       llvm::zip_equal(wait.getValues(), wait.getResults())) {
    Register at = decoder.define(result);
    decoder.emitMove(at, decoder.get(value), Shape::get(value),
                     /*isMasked=*/false);
  }
  return success();
}

void tl::sim::addMatrices(DecodeTable &table) {
  table["tl.ldmatrix"] = decodeLdmatrix;
  table["tl.mma"] = decodeMma;
  table["tl.mma_f64"] = decodeMmaF64;
  table["tl.stmatrix"] = decodeStmatrix;
  table["tl.wgmma"] = decodeWgmma;
  table["tl.wgmma_wait"] = decodeWgmmaWait;
}
