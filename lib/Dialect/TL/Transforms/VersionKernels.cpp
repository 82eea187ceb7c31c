//===- VersionKernels.cpp - A kernel for rows that are aligned ------------===//
//
// Rows of a tensor are moved 16 bytes at a time, or by the bulk copy engine,
// if they begin and end at multiples of 16 bytes. Where extents are numbers
// this is known, and where they are symbols nobody knows before a call, though
// it is so in nearly all of them. Such a kernel is made twice: once for
// aligned rows, and once for any. The host launches one of them, and the other
// with a grid of no block, which launches nothing (docs/LaunchPlan.md).
//
// Sound because every launch runs all blocks of one of two kernels that were
// the same, and because what is added to one of them, `tl.row_align`, holds
// where the host launches it: the extents and strides that it speaks of are
// those that the condition is computed of, here, from the same list. A test
// runs both (test/python/test_versions.py), and so do random programs with
// symbols for extents (test/fuzz/programs).
//
//===----------------------------------------------------------------------===//

#include "Record.h"

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Checks.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Dialect/TL/Transforms/Prints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_VERSIONKERNELSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Which tensors
//===----------------------------------------------------------------------===//

/// How many elements of a tensor's rows are moved at once, if nothing hinders.
static int64_t getUnit(MemRefType type) {
  return std::max<int64_t>(kRowAlign / getElementBytes(type), 1);
}

/// Whether `measures`, of which some are dynamic, are multiples of `unit` where
/// they are numbers.
static bool canBeMultiples(ArrayRef<int64_t> measures, int64_t unit) {
  return llvm::all_of(measures, [&](int64_t measure) {
    return ShapedType::isDynamic(measure) || measure % unit == 0;
  });
}

/// Whether the rows of an argument may be aligned in some launches and not in
/// others.
static bool isUndecided(Value tensor) {
  auto type = dyn_cast<MemRefType>(tensor.getType());
  if (!type || type.getRank() == 0 || getAlignment(tensor) % kRowAlign != 0 ||
      getUnit(type) == 1)
    return false;
  SmallVector<int64_t> strides = getStrides(type);
  if (strides.pop_back_val() != 1)
    return false;
  SmallVector<int64_t> measures = {type.getShape().back()};
  if (!type.getLayout().isIdentity()) // others are multiples of their extent
    llvm::append_range(measures, strides);
  return llvm::any_of(measures, ShapedType::isDynamic) &&
         canBeMultiples(measures, getUnit(type));
}

/// Whether neighbouring iterations of a parallel loop touch neighbouring
/// elements at `last`.
static bool goesAlong(Value last, ParallelOp loop) {
  SetVector<Value> summands; // each once: they may be added to themselves often
  summands.insert(last);
  for (size_t i = 0; i < summands.size(); ++i)
    if (auto sum = summands[i].getDefiningOp<arith::AddIOp>())
      summands.insert_range(sum->getOperands());
  return !loop.getBody().getArguments().empty() &&
         summands.contains(loop.getBody().getArguments().back());
}

/// Whether each thread has several of so many elements.
static bool isEnough(ArrayRef<int64_t> extents, gpu::GPUFuncOp kernel) {
  int64_t threads = 1;
  for (int32_t extent :
       kernel.getKnownBlockSize().value_or(ArrayRef<int32_t>()))
    threads *= extent;
  return llvm::product_of(extents) >= 2 * threads;
}

/// Whether `op` moves rows of `tensor` which could be moved 16 bytes at a time.
static bool movesRows(Operation *op, Value tensor, gpu::GPUFuncOp kernel) {
  if (auto copy = dyn_cast<CopyOp>(op)) {
    bool isSource = copy.getSource() == tensor;
    ValueRange offsets =
        isSource ? copy.getSourceOffsets() : copy.getTargetOffsets();
    int64_t unit = getUnit(cast<MemRefType>(tensor.getType()));
    return isEnough(copy.getTile(), kernel) &&
           copy.getTile().back() % unit == 0 &&
           (offsets.empty() || getDivisor(offsets.back()) % unit == 0);
  }
  auto loop = op->getParentOfType<ParallelOp>();
  if (!loop || !isEnough(loop.getExtents(), kernel))
    return false;
  if (auto load = dyn_cast<LoadOp>(op))
    return goesAlong(load.getIndices().back(), loop);
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getTarget() == tensor &&
           goesAlong(store.getIndices().back(), loop);
  return false;
}

/// The numbers of the kernel's arguments whose rows decide how it moves them.
static SmallVector<unsigned> getUndecided(gpu::GPUFuncOp kernel) {
  SmallVector<unsigned> found;
  for (BlockArgument argument : kernel.getArguments())
    if (isUndecided(argument) &&
        llvm::any_of(argument.getUsers(), [&](Operation *user) {
          return movesRows(user, argument, kernel);
        }))
      found.push_back(argument.getArgNumber());
  return found;
}

//===----------------------------------------------------------------------===//
// The host's side
//===----------------------------------------------------------------------===//

/// More than zero if `measure` is no multiple of `unit`, or none that rows
/// have: no tensor map describes rows of no elements, nor strides that go back.
static Value isOff(Value measure, int64_t unit, Location loc, OpBuilder &b) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value over = arith::RemUIOp::create(b, loc, measure, constant(unit));
  Value size = arith::MaxSIOp::create(b, loc, measure, constant(0));
  Value isThere = arith::MinSIOp::create(b, loc, size, constant(1));
  Value isNone = arith::SubIOp::create(b, loc, constant(1), isThere);
  return arith::AddIOp::create(b, loc, over, isNone);
}

/// One if a row of a tensor in `tensors` is not aligned, or a stride between
/// them; zero if all are.
static Value isUnaligned(ArrayRef<Value> tensors, Location loc, OpBuilder &b) {
  Value rest;
  auto add = [&](Value measure, int64_t unit) {
    Value off = isOff(measure, unit, loc, b);
    rest = rest ? arith::AddIOp::create(b, loc, rest, off).getResult() : off;
  };
  for (Value tensor : tensors) {
    auto type = cast<MemRefType>(tensor.getType());
    int64_t last = type.getRank() - 1, unit = getUnit(type);
    if (type.isDynamicDim(last))
      add(memref::DimOp::create(b, loc, tensor, last), unit);
    if (type.getLayout().isIdentity())
      continue;
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, tensor);
    for (auto [stride, value] : llvm::zip(
             ArrayRef(getStrides(type)).drop_back(), metadata.getStrides()))
      if (ShapedType::isDynamic(stride))
        add(value, unit);
  }
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  return arith::MinSIOp::create(b, loc, rest, one);
}

/// Lets `launch` launch nothing where `factor` is zero.
static void multiplyGrid(LaunchOp launch, Value factor) {
  OpBuilder b(launch);
  OpOperand &first = launch.getGridMutable()[0];
  first.set(arith::MulIOp::create(b, launch.getLoc(), first.get(), factor));
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

/// Makes the kernel for any rows; `kernel` is for aligned ones from now on.
static gpu::GPUFuncOp makeVersions(gpu::GPUFuncOp kernel,
                                   ArrayRef<unsigned> undecided,
                                   SymbolTable &symbols) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  auto other = cast<gpu::GPUModuleOp>(module->clone());
  other.setName((module.getName() + "_unaligned").str());
  StringAttr name = symbols.insert(other, std::next(Block::iterator(module)));
  auto found = *other.getOps<gpu::GPUFuncOp>().begin();
  found.setName(name);
  OpBuilder b(kernel.getContext());
  for (unsigned index : undecided)
    kernel.setArgAttr(index, kRowAlignAttr, b.getI64IntegerAttr(kRowAlign));
  return found;
}

/// Counts one more launch in front of those behind number `launch`, where
/// places that print or check are said to be in one.
static void shiftSites(Operation *module, int64_t launch) {
  Builder b(module->getContext());
  for (StringRef name : {kPrintsAttr, kChecksAttr}) {
    auto sites = module->getAttrOfType<ArrayAttr>(name);
    if (!sites)
      continue;
    auto shifted = llvm::map_to_vector(
        sites.getAsRange<DictionaryAttr>(),
        [&](DictionaryAttr site) -> Attribute {
          NamedAttrList entries(site);
          auto number = cast<IntegerAttr>(entries.get(kSiteLaunch)).getInt();
          if (number > launch)
            entries.set(kSiteLaunch, b.getI64IntegerAttr(number + 1));
          return entries.getDictionary(b.getContext());
        });
    module->setAttr(name, b.getArrayAttr(shifted));
  }
}

/// How many launches of a function come before `launch`.
static int64_t getNumber(LaunchOp launch) {
  int64_t number = 0;
  for (Operation *at = launch->getPrevNode(); at; at = at->getPrevNode())
    number += isa<LaunchOp>(at);
  return number;
}

static void version(LaunchOp launch, SymbolTable &symbols) {
  auto kernel = dyn_cast_or_null<gpu::GPUFuncOp>(
      symbols.lookupSymbolIn(symbols.getOp(), launch.getKernel()));
  if (!kernel)
    return;
  SmallVector<unsigned> undecided = getUndecided(kernel);
  if (undecided.empty())
    return;
  SmallVector<Value> tensors;
  for (unsigned index : undecided)
    tensors.push_back(launch.getArgs()[index]);

  shiftSites(symbols.getOp(), getNumber(launch));
  OpBuilder b(launch);
  Location loc = launch.getLoc();
  Value unaligned = isUnaligned(tensors, loc, b);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value aligned = arith::SubIOp::create(b, loc, one, unaligned);
  b.setInsertionPointAfter(launch);
  auto second = cast<LaunchOp>(b.clone(*launch));
  StringAttr name = makeVersions(kernel, undecided, symbols).getNameAttr();
  second.setKernelAttr(
      SymbolRefAttr::get(name, {FlatSymbolRefAttr::get(name)}));
  multiplyGrid(launch, aligned);
  multiplyGrid(second, unaligned);
}

namespace {
struct VersionKernelsPass
    : tl::impl::VersionKernelsPassBase<VersionKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<LaunchOp> launches;
    llvm::DenseMap<Attribute, unsigned> counts;
    getOperation().walk([&](LaunchOp launch) {
      launches.push_back(launch);
      ++counts[launch.getKernel()];
    });
    for (LaunchOp launch : launches)
      // What holds in one launch need not hold in another.
      if (counts[launch.getKernel()] == 1)
        version(launch, symbols);
  }
};
} // namespace
