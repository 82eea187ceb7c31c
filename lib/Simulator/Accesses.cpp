//===- Accesses.cpp - Pointers, loads, stores and atomic operations -------===//
//
// A generic pointer is one to device memory, unless it is in the window where
// each thread finds its own local memory. No address of a process on the host
// is as large as those.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "FloatFormats.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mlir;
using namespace tl::sim;

/// Where local memory begins for each thread.
static constexpr uint64_t kLocalBase = uint64_t(0x7E) << 56;

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// `a` and `immediate` bytes for each of the index `b`.
template <typename Pointer, typename Index>
static Step offset(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Pointer>(warp, i.a);
  auto *b = getWords<const Index>(warp, i.b);
  auto *result = getWords<Pointer>(warp, i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = a[lane] + Pointer(int64_t(b[lane]) * i.immediate);
  return Step::Next;
}

/// `a` and `immediate` bytes.
template <typename Pointer>
static Step offsetByConstant(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Pointer>(warp, i.a);
  auto *result = getWords<Pointer>(warp, i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = a[lane] + Pointer(i.immediate);
  return Step::Next;
}

/// The same for all lanes.
template <typename Word>
static Step setImmediate(Warp &warp, const Instruction &i) {
  std::fill_n(getWords<Word>(warp, i.result), kLanes, Word(i.immediate));
  return Step::Next;
}

/// Bytes that an element of a pointer's type takes.
static std::optional<uint64_t> getByteSize(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    std::optional<uint64_t> element = getByteSize(vector.getElementType());
    if (!element)
      return std::nullopt;
    return *element * vector.getNumElements();
  }
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type)) {
    std::optional<uint64_t> element = getByteSize(array.getElementType());
    if (!element)
      return std::nullopt;
    return *element * array.getNumElements();
  }
  if (!type.isIntOrFloat())
    return std::nullopt;
  return Shape::get(type).bytes();
}

static LogicalResult decodeOffset(Decoder &decoder, Operation *op) {
  auto gep = cast<LLVM::GEPOp>(op);
  std::optional<uint64_t> bytes = getByteSize(gep.getElemType());
  if (!bytes || gep.getIndices().size() != 1)
    return op->emitError("`llvm.getelementptr` has a form that the simulator "
                         "has no meaning for");
  bool isWide = Shape::get(gep.getResult()).isWide();
  Register result = decoder.define(gep.getResult());
  Register base = decoder.get(gep.getBase());
  auto index = *gep.getIndices().begin();
  if (auto constant = dyn_cast<IntegerAttr>(index)) {
    Instruction &instruction = decoder.emit(
        isWide ? offsetByConstant<uint64_t> : offsetByConstant<uint32_t>);
    instruction.result = result;
    instruction.a = base;
    instruction.immediate = constant.getInt() * int64_t(*bytes);
    return success();
  }
  Value value = cast<Value>(index);
  bool isWideIndex = Shape::get(value).isWide();
  Instruction &instruction =
      decoder.emit(isWide ? (isWideIndex ? offset<uint64_t, int64_t>
                                         : offset<uint64_t, int32_t>)
                          : (isWideIndex ? offset<uint32_t, int64_t>
                                         : offset<uint32_t, int32_t>));
  instruction.result = result;
  instruction.a = base;
  instruction.b = decoder.get(value);
  instruction.immediate = *bytes;
  return success();
}

static LogicalResult decodeSharedBase(Decoder &decoder, Operation *op) {
  Register result = decoder.define(op->getResult(0));
  Instruction &instruction = decoder.emit(setImmediate<uint32_t>);
  instruction.result = result;
  instruction.immediate = SharedMemory::kBase;
  return success();
}

/// `a` as a pointer to `b` bytes of device memory, which the launch may touch
/// from now on.
static Step pointToDevice(Warp &warp, const Instruction &i) {
  auto *addresses = getWords<const uint64_t>(warp, i.a);
  auto *counts = getWords<const uint64_t>(warp, i.b);
  auto *result = getWords<uint64_t>(warp, i.result);
  std::optional<std::pair<uint64_t, uint64_t>> last;
  for (LaneMask rest = warp.lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t address = addresses[lane], bytes = counts[lane];
    result[lane] = address;
    if (bytes == 0 || last == std::pair(address, bytes))
      continue;
    last = {address, bytes};
    const std::string &name = warp.block.program.namesOfTensors[i.immediate];
    if (!warp.block.global.add({address, address + bytes, name}))
      return warp.fail(
          {Fault::Kind::Invalid,
           {},
           lane,
           "the memory of a tensor at an address is not there: the process has "
           "none at the address, or less than the shape of the tensor says"},
          i);
  }
  return Step::Next;
}

static LogicalResult decodeDevicePointer(Decoder &decoder, Operation *op) {
  auto pointer = cast<tl::DevicePointerOp>(op);
  StringAttr given = tl::getGivenName(op->getLoc());
  std::vector<std::string> &names = decoder.program.namesOfTensors;
  names.push_back(given ? given.str() : "a tensor at an address");
  Register result = decoder.define(pointer.getPointer());
  Register address = decoder.get(pointer.getAddress());
  Register bytes = decoder.get(pointer.getBytes());
  Instruction &instruction = decoder.emit(pointToDevice);
  instruction.result = result;
  instruction.a = address;
  instruction.b = bytes;
  instruction.immediate = int64_t(names.size()) - 1;
  return success();
}

static LogicalResult decodeAlloca(Decoder &decoder, Operation *op) {
  auto alloca = cast<LLVM::AllocaOp>(op);
  APInt count;
  std::optional<uint64_t> bytes = getByteSize(alloca.getElemType());
  if (!bytes || !matchPattern(alloca.getArraySize(), m_ConstantInt(&count)))
    return op->emitError("`llvm.alloca` has a size that the simulator does not "
                         "know");
  constexpr uint32_t alignment = 16;
  Program &program = decoder.program;
  Register result = decoder.define(op->getResult(0));
  Instruction &instruction = decoder.emit(setImmediate<uint64_t>);
  instruction.result = result;
  instruction.immediate = kLocalBase + program.localBytes;
  program.localBytes += llvm::alignTo(*bytes * count.getZExtValue(), alignment);
  return success();
}

static LogicalResult decodePointerToInteger(Decoder &decoder, Operation *op) {
  if (Shape::get(op->getOperand(0)).bits != Shape::get(op->getResult(0)).bits)
    return op->emitError("`llvm.ptrtoint` has a width that the simulator has "
                         "no meaning for");
  return decodeMove(decoder, op);
}

/// Shared memory of the block lies at the same addresses in that of the
/// cluster.
static LogicalResult decodeSpaceCast(Decoder &decoder, Operation *op) {
  auto space = [](Value pointer) {
    return cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace();
  };
  if (space(op->getOperand(0)) != 3 || space(op->getResult(0)) != 7)
    return op->emitError("`llvm.addrspacecast` is of spaces that have no "
                         "meaning in the simulator");
  return decodeMove(decoder, op);
}

//===----------------------------------------------------------------------===//
// Where accesses go
//===----------------------------------------------------------------------===//

/// What the instruction is told of an access, besides registers.
struct AccessForm {
  /// Bytes of an element, and in all.
  uint32_t elementBytes;
  uint32_t alignment;
  bool isShared;
  /// Of some block of the cluster: which one is in the address.
  bool isOfCluster;

  static AccessForm get(const Instruction &i) {
    return {i.bits, uint32_t(i.immediate), bool(i.immediate >> 32 & 1),
            bool(i.immediate >> 33 & 1)};
  }
};

static uint64_t getAddress(Warp &warp, Register at, bool isShared,
                           unsigned lane) {
  return isShared ? warp.words(at)[lane]
                  : getWords<const uint64_t>(warp, at)[lane];
}

/// Reports an access that is not all inside of what there is.
static Step failBounds(Warp &warp, const Instruction &i, Space space,
                       uint64_t address, uint64_t bytes, bool isWrite,
                       unsigned lane) {
  return warp.fail({Fault::Kind::OutOfBounds,
                    {space, address, uint32_t(bytes)},
                    lane,
                    isWrite ? "writes" : "reads"},
                   i);
}

/// The byte of the host that a lane accesses, or null, and then it is reported.
static uint8_t *findByte(Warp &warp, const Instruction &i, uint64_t address,
                         uint64_t bytes, AccessForm form, bool isWrite,
                         unsigned lane) {
  Space space = form.isShared           ? Space::Shared
                : address >= kLocalBase ? Space::Local
                                        : Space::Global;
  if (LLVM_UNLIKELY(address % form.alignment)) {
    (void)warp.fail({Fault::Kind::Misaligned,
                     {space, address, form.alignment},
                     lane,
                     isWrite ? "writes" : "reads"},
                    i);
    return nullptr;
  }
  if (space == Space::Shared) {
    tl::sim::Block *block = &warp.block;
    if (LLVM_UNLIKELY(form.isOfCluster)) {
      auto inBlock = uint32_t(address);
      block = warp.block.findBlock(warp, i, lane, inBlock);
      if (!block)
        return nullptr;
      address = inBlock;
    }
    if (LLVM_LIKELY(block->shared.contains(address, bytes)))
      return block->shared.at(address);
  } else if (space == Space::Global) {
    const GlobalMemory::Range *range = warp.lastRange;
    if (range && address >= range->begin && address < range->end &&
        bytes <= range->end - address)
      return GlobalMemory::at(address);
    if ((warp.lastRange = warp.block.global.find(address, bytes)))
      return GlobalMemory::at(address);
  } else {
    uint64_t size = warp.block.program.localBytes, at = address - kLocalBase;
    if (at <= size && bytes <= size - at)
      return warp.local.data() + lane * size + at;
  }
  (void)failBounds(warp, i, space, address, bytes, isWrite, lane);
  return nullptr;
}

/// Tells each block of the cluster what lanes do to its memory.
static void tellCluster(Warp &warp, const Instruction &i, AccessEvent event,
                        llvm::MutableArrayRef<uint64_t> addresses) {
  llvm::SmallDenseMap<tl::sim::Block *, LaneMask> lanesOf;
  for (LaneMask rest = event.lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    auto address = uint32_t(addresses[lane]);
    tl::sim::Block *block = warp.block.findBlock(warp, i, lane, address);
    assert(block && "the access has been checked");
    addresses[lane] = address;
    lanesOf[block] |= LaneMask(1) << lane;
  }
  for (tl::sim::Block *block : warp.block.cluster.blocks)
    if (auto it = lanesOf.find(block); it != lanesOf.end()) {
      event.lanes = it->second;
      block->getObserver()->onAccess(event);
    }
}

/// Tells the observer of an access by the active lanes, before memory changes.
static void tellAccess(Warp &warp, const Instruction &i, AccessForm form,
                       Register pointer, AccessEvent::Kind kind,
                       llvm::ArrayRef<uint8_t> values = {},
                       Scope scope = Scope::Device,
                       Ordering ordering = Ordering::Relaxed,
                       bool usesOld = true) {
  uint64_t addresses[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    addresses[lane] = getAddress(warp, pointer, form.isShared, lane);
  auto event = makeEvent<AccessEvent>(warp.getEvent(i));
  event.kind = kind;
  event.space = form.isShared ? Space::Shared
                : addresses[llvm::countr_zero(warp.lanes)] >= kLocalBase
                    ? Space::Local
                    : Space::Global;
  event.addresses = addresses;
  event.bytes = form.elementBytes * i.count;
  event.values = values;
  event.scope = scope;
  event.ordering = ordering;
  event.usesOld = usesOld;
  if (form.isOfCluster)
    tellCluster(warp, i, event, addresses);
  else
    warp.block.getObserver()->onAccess(event);
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Finds the bytes that each active lane accesses. Returns false once an access
/// is reported.
static bool findBytes(Warp &warp, const Instruction &i, Register pointer,
                      AccessForm form, bool isWrite,
                      std::array<uint8_t *, kLanes> &bytes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    uint64_t address = getAddress(warp, pointer, form.isShared, lane);
    bytes[lane] = findByte(warp, i, address, form.elementBytes * i.count, form,
                           isWrite, lane);
    if (LLVM_UNLIKELY(!bytes[lane]))
      return false;
  }
  return true;
}

/// Loads `count` elements for each active lane from `a`, one after the other in
/// memory, as words of a register.
template <typename Element, typename Word, bool IsBool>
static Step load(Warp &warp, const Instruction &i) {
  AccessForm form = AccessForm::get(i);
  std::array<uint8_t *, kLanes> from;
  if (!findBytes(warp, i, i.a, form, /*isWrite=*/false, from))
    return Step::Failed;
  if (LLVM_UNLIKELY(warp.block.getObserver()) && warp.lanes)
    tellAccess(warp, i, form, i.a, AccessEvent::Kind::Read);
  auto *result = getWords<Word>(warp, i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    for (uint32_t n = 0; n < i.count; ++n) {
      Element element;
      std::memcpy(&element, from[lane] + n * sizeof(Element), sizeof(Element));
      result[n * kLanes + lane] = IsBool ? element & 1 : element;
    }
  }
  return Step::Next;
}

/// Tells of a store and of the bytes that it is going to write.
template <typename Element, typename Word>
static void tellStore(Warp &warp, const Instruction &i, AccessForm form) {
  auto *a = getWords<const Word>(warp, i.a);
  SmallVector<uint8_t, 16 * kLanes> values(kLanes * i.count * sizeof(Element));
  uint8_t *to = values.data();
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (uint32_t n = 0; n < i.count; ++n, to += sizeof(Element)) {
      auto element = Element(a[n * kLanes + lane]);
      std::memcpy(to, &element, sizeof(Element));
    }
  tellAccess(warp, i, form, i.b, AccessEvent::Kind::Write, values);
}

/// Stores `count` elements of `a` for each active lane at `b`. Nothing is
/// stored if one of them cannot be.
template <typename Element, typename Word>
static Step store(Warp &warp, const Instruction &i) {
  AccessForm form = AccessForm::get(i);
  std::array<uint8_t *, kLanes> to;
  if (!findBytes(warp, i, i.b, form, /*isWrite=*/true, to))
    return Step::Failed;
  if (LLVM_UNLIKELY(warp.block.getObserver()) && warp.lanes)
    tellStore<Element, Word>(warp, i, form);
  auto *a = getWords<const Word>(warp, i.a);
  bool counts = warp.block.program.openLoops;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    for (uint32_t n = 0; n < i.count; ++n) {
      auto element = Element(a[n * kLanes + lane]);
      if (LLVM_UNLIKELY(counts))
        warp.block.group.changes += std::memcmp(to[lane] + n * sizeof(Element),
                                                &element, sizeof(Element)) != 0;
      std::memcpy(to[lane] + n * sizeof(Element), &element, sizeof(Element));
    }
  }
  return Step::Next;
}

static Execute getLoad(const Shape &shape) {
  if (shape.bits == 1)
    return load<uint8_t, uint32_t, true>;
  switch (shape.bytes()) {
  case 1:
    return load<uint8_t, uint32_t, false>;
  case 2:
    return load<uint16_t, uint32_t, false>;
  case 4:
    return load<uint32_t, uint32_t, false>;
  default:
    return load<uint64_t, uint64_t, false>;
  }
}

static Execute getStore(const Shape &shape) {
  switch (shape.bytes()) {
  case 1:
    return store<uint8_t, uint32_t>;
  case 2:
    return store<uint16_t, uint32_t>;
  case 4:
    return store<uint32_t, uint32_t>;
  default:
    return store<uint64_t, uint64_t>;
  }
}

/// What an access through `pointer` must be a multiple of: what the op says,
/// else the size of what is accessed, as LLVM has it.
static uint64_t packForm(Value pointer, std::optional<uint64_t> alignment,
                         const Shape &shape) {
  auto type = cast<LLVM::LLVMPointerType>(pointer.getType());
  uint64_t natural = llvm::PowerOf2Ceil(shape.bytes() * shape.elements);
  bool isOfCluster = type.getAddressSpace() == 7;
  return uint64_t(type.getAddressSpace() == 3 || isOfCluster) << 32 |
         uint64_t(isOfCluster) << 33 | alignment.value_or(natural);
}

static LogicalResult decodeLoad(Decoder &decoder, Operation *op) {
  auto loadOp = cast<LLVM::LoadOp>(op);
  Shape shape = Shape::get(loadOp.getResult());
  Register result = decoder.define(loadOp.getResult());
  Instruction &instruction = decoder.emit(getLoad(shape));
  instruction.result = result;
  instruction.a = decoder.get(loadOp.getAddr());
  instruction.count = shape.elements;
  instruction.bits = shape.bytes();
  instruction.immediate =
      packForm(loadOp.getAddr(), loadOp.getAlignment(), shape);
  return success();
}

static LogicalResult decodeStore(Decoder &decoder, Operation *op) {
  auto storeOp = cast<LLVM::StoreOp>(op);
  Shape shape = Shape::get(storeOp.getValue());
  Instruction &instruction = decoder.emit(getStore(shape));
  instruction.a = decoder.get(storeOp.getValue());
  instruction.b = decoder.get(storeOp.getAddr());
  instruction.count = shape.elements;
  instruction.bits = shape.bytes();
  instruction.immediate =
      packForm(storeOp.getAddr(), storeOp.getAlignment(), shape);
  return success();
}

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

/// Where the immediate operand has the scope, the ordering, and whether what
/// was there matters.
static constexpr unsigned kScopeShift = 40, kOrderingShift = 44,
                          kUsesOldShift = 48;

/// What a kind makes of a word that is `old`.
template <tl::AtomicKind Kind, typename Word>
static Word updateInteger(Word old, Word value, Word expected) {
  using Signed = std::make_signed_t<Word>;
  switch (Kind) {
  case tl::AtomicKind::Add:
    return old + value;
  case tl::AtomicKind::Min:
    return Word(std::min(Signed(old), Signed(value)));
  case tl::AtomicKind::Max:
    return Word(std::max(Signed(old), Signed(value)));
  case tl::AtomicKind::UMin:
    return std::min(old, value);
  case tl::AtomicKind::UMax:
    return std::max(old, value);
  case tl::AtomicKind::And:
    return old & value;
  case tl::AtomicKind::Or:
    return old | value;
  case tl::AtomicKind::Xor:
    return old ^ value;
  case tl::AtomicKind::Exchange:
    return value;
  case tl::AtomicKind::CompareExchange:
    return old == expected ? value : old;
  case tl::AtomicKind::Load:
    return old;
  }
  llvm_unreachable("all kinds are handled");
}

template <typename Format, typename Word>
static Word updateFloat(Word old, Word value, Word) {
  return Word(Format::encode(Format::decode(old) + Format::decode(value)));
}

/// Changes the word at `a` by `b`, or by `c` and `b`, lane by lane. Other
/// blocks may be on other threads of the host.
template <typename Word, Word (*Update)(Word, Word, Word), bool IsLoad = false>
static Step atomic(Warp &warp, const Instruction &i) {
  using Lane = std::conditional_t<sizeof(Word) == 8, uint64_t, uint32_t>;
  AccessForm form = AccessForm::get(i);
  std::array<uint8_t *, kLanes> bytes;
  if (!findBytes(warp, i, i.a, form, /*isWrite=*/!IsLoad, bytes))
    return Step::Failed;
  if (LLVM_UNLIKELY(warp.block.getObserver()) && warp.lanes)
    tellAccess(warp, i, form, i.a,
               IsLoad ? AccessEvent::Kind::AtomicRead
                      : AccessEvent::Kind::Atomic,
               /*values=*/{}, Scope(i.immediate >> kScopeShift & 15),
               Ordering(i.immediate >> kOrderingShift & 15),
               bool(i.immediate >> kUsesOldShift & 1));
  auto *values = getWords<const Lane>(warp, i.b);
  auto *expected = getWords<const Lane>(warp, i.c);
  auto *result = getWords<Lane>(warp, i.result);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.lanes & LaneMask(1) << lane))
      continue;
    auto *word = reinterpret_cast<Word *>(bytes[lane]);
    Word value = Word(values[lane]), wanted = Word(expected[lane]);
    Word old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    while (!IsLoad && !__atomic_compare_exchange_n(
                          word, &old, Update(old, value, wanted),
                          /*weak=*/false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    result[lane] = old;
    warp.block.group.changes += old != Update(old, value, wanted);
  }
  if (warp.lanes) {
    unsigned first = llvm::countr_zero(warp.lanes);
    warp.look = {&i,
                 {form.isShared ? Space::Shared : Space::Global,
                  getAddress(warp, i.a, form.isShared, first),
                  uint32_t(sizeof(Word))},
                 first,
                 warp.block.group.turns};
  }
  return Step::Next;
}

template <typename Word>
static Execute getIntegerAtomic(tl::AtomicKind kind) {
  using tl::AtomicKind;
  switch (kind) {
  case AtomicKind::Add:
    return atomic<Word, updateInteger<AtomicKind::Add, Word>>;
  case AtomicKind::Min:
    return atomic<Word, updateInteger<AtomicKind::Min, Word>>;
  case AtomicKind::Max:
    return atomic<Word, updateInteger<AtomicKind::Max, Word>>;
  case AtomicKind::UMin:
    return atomic<Word, updateInteger<AtomicKind::UMin, Word>>;
  case AtomicKind::UMax:
    return atomic<Word, updateInteger<AtomicKind::UMax, Word>>;
  case AtomicKind::And:
    return atomic<Word, updateInteger<AtomicKind::And, Word>>;
  case AtomicKind::Or:
    return atomic<Word, updateInteger<AtomicKind::Or, Word>>;
  case AtomicKind::Xor:
    return atomic<Word, updateInteger<AtomicKind::Xor, Word>>;
  case AtomicKind::Exchange:
    return atomic<Word, updateInteger<AtomicKind::Exchange, Word>>;
  case AtomicKind::CompareExchange:
    return atomic<Word, updateInteger<AtomicKind::CompareExchange, Word>>;
  case AtomicKind::Load:
    return atomic<Word, updateInteger<AtomicKind::Load, Word>, /*IsLoad=*/true>;
  }
  llvm_unreachable("all kinds are handled");
}

static Execute getAtomic(tl::AtomicKind kind, Type type) {
  if (kind == tl::AtomicKind::Add) {
    if (type.isF16())
      return atomic<uint16_t, updateFloat<F16Format, uint16_t>>;
    if (type.isBF16())
      return atomic<uint16_t, updateFloat<BF16Format, uint16_t>>;
    if (type.isF32())
      return atomic<uint32_t, updateFloat<F32Format, uint32_t>>;
    if (type.isF64())
      return atomic<uint64_t, updateFloat<F64Format, uint64_t>>;
  }
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return getIntegerAtomic<uint8_t>(kind);
  case 16:
    return getIntegerAtomic<uint16_t>(kind);
  case 32:
    return getIntegerAtomic<uint32_t>(kind);
  default:
    return getIntegerAtomic<uint64_t>(kind);
  }
}

static Scope getScope(tl::MemoryScope scope) {
  switch (scope) {
  case tl::MemoryScope::Block:
    return Scope::Block;
  case tl::MemoryScope::Device:
    return Scope::Device;
  case tl::MemoryScope::System:
    return Scope::System;
  }
  llvm_unreachable("all scopes are handled");
}

static Ordering getOrdering(tl::MemoryOrder order) {
  switch (order) {
  case tl::MemoryOrder::Relaxed:
    return Ordering::Relaxed;
  case tl::MemoryOrder::Acquire:
    return Ordering::Acquire;
  case tl::MemoryOrder::Release:
    return Ordering::Release;
  case tl::MemoryOrder::AcqRel:
  case tl::MemoryOrder::SeqCst:
    return Ordering::AcquireRelease;
  }
  llvm_unreachable("all orders are handled");
}

static LogicalResult decodeAtom(Decoder &decoder, Operation *op) {
  auto atom = cast<tl::AtomOp>(op);
  Shape shape = Shape::get(atom.getOld());
  Register address = decoder.get(atom.getAddress());
  Register result = decoder.define(atom.getOld());
  // A load ignores what it finds in the place of a value.
  Register value = atom.getValue() ? decoder.get(atom.getValue()) : result;
  Register expected =
      atom.getExpected() ? decoder.get(atom.getExpected()) : value;
  // An exchange whose result nobody needs is a store.
  bool usesOld =
      atom.getKind() != tl::AtomicKind::Exchange || !atom.getOld().use_empty();
  uint64_t form = uint64_t(getScope(atom.getScope())) << kScopeShift |
                  uint64_t(getOrdering(atom.getOrder())) << kOrderingShift |
                  uint64_t(usesOld) << kUsesOldShift;
  // Neighbours one after another, each in a step of its own.
  uint32_t words = shape.words() / shape.elements;
  Register moved = shape.elements > 1 ? decoder.allocate(2 * kLanes) : address;
  for (uint32_t element = 0; element < shape.elements; ++element) {
    if (shape.elements > 1) {
      Instruction &move = decoder.emit(offsetByConstant<uint64_t>);
      move.result = moved;
      move.a = address;
      move.immediate = element * shape.bytes();
    }
    Instruction &instruction =
        decoder.emit(getAtomic(atom.getKind(), shape.element));
    instruction.result = result + element * words;
    instruction.a = moved;
    instruction.b = value + element * words;
    instruction.c = expected + element * words;
    instruction.bits = shape.bytes();
    // They begin where a vector may.
    Shape aligned = shape;
    aligned.elements = element == 0 ? shape.elements : 1;
    instruction.immediate =
        form | packForm(atom.getAddress(), std::nullopt, aligned);
  }
  if (shape.elements > 1)
    decoder.release(moved, 2 * kLanes);
  if (atom.getOrder() != tl::MemoryOrder::Relaxed &&
      atom.getScope() != tl::MemoryScope::Block)
    decoder.program.ordersBlocks = true;
  return success();
}

void tl::sim::addMemory(DecodeTable &table) {
  table["llvm.addrspacecast"] = decodeSpaceCast;
  table["llvm.alloca"] = decodeAlloca;
  table["llvm.getelementptr"] = decodeOffset;
  table["llvm.load"] = decodeLoad;
  table["llvm.ptrtoint"] = decodePointerToInteger;
  table["llvm.store"] = decodeStore;
  table["tl.atom"] = decodeAtom;
  table["tl.device_pointer"] = decodeDevicePointer;
  table["tl.shared_base"] = decodeSharedBase;
}
