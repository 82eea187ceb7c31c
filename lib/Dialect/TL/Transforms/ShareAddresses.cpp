//===- ShareAddresses.cpp - Compute what addresses have in common once ----===//
//
// A thread that copies rows one by one has an address for each, which differs
// from the others by a number. A load or a store adds a number to its address
// for nothing, but LLVM finds these only where they are left: not where a row
// is also compared with a bound, as `(row + 16) * 783` stays a product then,
// nor across the guards of rows, each of which is a block of its own. So each
// row has two registers for its address, which are hoisted out of loops.
//
// Here addresses that differ by numbers are one sum, computed where all of them
// see it, and what each adds to that:
//
//     if (row < m) load p[row * 783 + j]          q = p + row * 783 + j
//     if (row + 4 < m) load p[(row + 4) * 783 + j]  ->  if (row < m) load q[0]
//                                                 if (row + 4 < m) load q[3132]
//
// Sound because `getPlace` takes only exact sums apart and addresses wrap at 64
// bits, so that each address is what it was; because the terms that addresses
// have in common stand where the first of them sees them; and because nothing
// that is moved out of a guard reads memory or traps. A loop's body and what
// stands before it share nothing: an address would be kept through the loop.
//
//===----------------------------------------------------------------------===//

#include "ScalarAccesses.h"

#include "tl/Dialect/TL/Analysis/Places.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <map>

namespace tl {
#define GEN_PASS_DEF_SHAREADDRESSESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {
struct Address {
  LLVM::GEPOp op;
  int64_t offset; // in bytes
};

/// Addresses that differ by their offsets alone, in order.
struct Group {
  Place place;
  SmallVector<Address> addresses;
};

class Groups {
public:
  void add(LLVM::GEPOp op);
  ArrayRef<Group> get() const { return groups; }

private:
  /// What stands around addresses, their base, and the terms.
  using Key = std::pair<std::pair<Block *, void *>, std::map<void *, int64_t>>;

  SmallVector<Group> groups;
  std::map<Key, size_t> numbers;
};
} // namespace

/// The block that `op` stands in, behind guards or not.
static Block *getGuardedBlock(Operation *op) {
  while (isa<scf::IfOp>(op->getParentOp()))
    op = op->getParentOp();
  return op->getBlock();
}

void Groups::add(LLVM::GEPOp op) {
  if (!isa<LLVM::LLVMPointerType>(op.getType()) ||
      getAddressSpace(op.getResult()) != kDeviceSpace ||
      getMemoryBytes(op.getElemType()) == 0)
    return;
  Place place = getPlace(op.getResult());
  Key key = {{getGuardedBlock(op), place.base.getAsOpaquePointer()}, {}};
  for (auto [value, factor] : place.terms)
    if (factor != 0)
      key.second[value.getAsOpaquePointer()] = factor;
  if (key.second.empty())
    return;
  auto [at, isNew] = numbers.try_emplace(std::move(key), groups.size());
  if (isNew)
    groups.push_back({place, {}});
  groups[at->second].addresses.push_back({op, place.offset});
}

/// The op before which all of `addresses` see what is computed there.
static Operation *findPoint(ArrayRef<Address> addresses) {
  Operation *first = addresses.front().op;
  for (Address address : addresses.drop_front())
    while (!first->getBlock()->findAncestorOpInBlock(*address.op))
      first = first->getParentOp();
  return first;
}

/// `value` as a signed number of 64 bits.
static Value extend(OpBuilder &builder, Location loc, Value value) {
  Type type = builder.getI64Type();
  if (value.getType() == type)
    return value;
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}

/// Base and terms of `place`. Those with a factor in common are added first.
static Value computeCommon(OpBuilder &builder, LLVM::GEPOp like,
                           const Place &place) {
  Location loc = like.getLoc();
  auto add = [&](Value sum, Value more) -> Value {
    return sum ? arith::AddIOp::create(builder, loc, sum, more).getResult()
               : more;
  };
  llvm::MapVector<int64_t, Value> sums;
  Type element = like.getElemType();
  int64_t bytes = getMemoryBytes(element);
  for (auto [value, factor] : place.terms) {
    sums[factor] = add(sums[factor], extend(builder, loc, value));
    if (factor % bytes != 0)
      element = builder.getI8Type();
  }
  bytes = getMemoryBytes(element);
  Value index;
  for (auto [factor, sum] : sums) {
    if (factor == 0)
      continue;
    if (factor != bytes)
      sum = arith::MulIOp::create(
          builder, loc, sum,
          arith::ConstantIntOp::create(builder, loc, factor / bytes, 64));
    index = add(index, sum);
  }
  return LLVM::GEPOp::create(builder, loc, like.getType(), element, place.base,
                             ArrayRef<LLVM::GEPArg>{index});
}

/// Erases `op` and the arithmetic that nothing else needs: in CUDA C++ these
/// are variables, and the compiler warns of those that nothing names.
static void eraseUnused(Operation *op) {
  SmallVector<Operation *> unused = {op};
  while (!unused.empty()) {
    Operation *next = unused.pop_back_val();
    SmallVector<Value> operands(next->getOperands());
    next->erase();
    for (Value operand : operands) {
      Operation *source = operand.getDefiningOp();
      if (source && isa<arith::ArithDialect>(source->getDialect()) &&
          isOpTriviallyDead(source) && !llvm::is_contained(unused, source))
        unused.push_back(source);
    }
  }
}

static void share(const Group &group) {
  auto [least, most] = std::minmax_element(
      group.addresses.begin(), group.addresses.end(),
      [](Address a, Address b) { return a.offset < b.offset; });
  if (least->offset == most->offset)
    return;
  OpBuilder builder(findPoint(group.addresses));
  Value common =
      computeCommon(builder, group.addresses.front().op, group.place);
  for (Address address : group.addresses) {
    LLVM::GEPOp op = address.op;
    int64_t bytes = getMemoryBytes(op.getElemType());
    Type element = op.getElemType();
    int64_t index = address.offset / bytes;
    if (index * bytes != address.offset || !llvm::isInt<32>(index))
      continue;
    OpBuilder here(op);
    op.replaceAllUsesWith(
        LLVM::GEPOp::create(here, op.getLoc(), op.getType(), element, common,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)})
            .getResult());
    eraseUnused(op);
  }
}

namespace {
struct ShareAddressesPass
    : tl::impl::ShareAddressesPassBase<ShareAddressesPass> {
  void runOnOperation() override {
    Groups groups;
    getOperation().walk([&](LLVM::GEPOp op) { groups.add(op); });
    for (const Group &group : groups.get())
      share(group);
  }
};
} // namespace
