//===- Record.cpp - What a kernel writes for its caller -------------------===//
//
// What a program writes to a record is written by ordinary statements to an
// ordinary tensor, so that every target and generator can carry it out. No
// later pass or generator knows of records; the launch plan says which tensors
// are some, since the simulator would take their races for mistakes.
//
//===----------------------------------------------------------------------===//

#include "Record.h"

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// The parameter
//===----------------------------------------------------------------------===//

/// `name`, with underscores until no parameter of `function` has it.
static std::string getFreeName(func::FuncOp function, StringRef name) {
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto given = function.getArgAttrOfType<StringAttr>(i, kNameAttr))
      taken.insert(given.getValue());
  std::string free = name.str();
  while (taken.contains(free))
    free += '_';
  return free;
}

Value tl::addRecord(func::FuncOp function, StringRef name, int64_t words) {
  Builder builder(function.getContext());
  std::string free = getFreeName(function, name);
  bool isFixed = words >= 0;
  auto type = MemRefType::get({isFixed ? words : ShapedType::kDynamic},
                              builder.getI64Type());
  NamedAttribute facts[] = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(free)),
      builder.getNamedAttr(kAlignAttr, builder.getI64IntegerAttr(8)),
      builder.getNamedAttr(kRecordAttr, builder.getUnitAttr()),
      builder.getNamedAttr(
          kShapeAttr, builder.getStrArrayAttr({isFixed ? "" : free.c_str()}))};
  Location loc = NameLoc::get(builder.getStringAttr(free), function.getLoc());
  unsigned last = function.getNumArguments();
  [[maybe_unused]] LogicalResult inserted = function.insertArgument(
      last, type, builder.getDictionaryAttr(facts), loc);
  assert(succeeded(inserted) && "functions take arguments");
  return function.getArgument(last);
}

bool tl::isRecord(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument)
    return false;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function &&
         function.getArgAttr(argument.getArgNumber(), kRecordAttr) != nullptr;
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

Runner tl::getRunner(Operation *op, KernelOp kernel,
                     const ThreadDependence &dependence) {
  if (op->getParentOfType<ParallelOp>())
    return Runner::Iteration;
  // What is in a statement of each thread is executed with it, as
  // `tl-normalize-statements` has it, also where it is the same for all: a
  // choice of the block between values of threads is such a statement.
  for (Operation *at = op; at != kernel; at = at->getParentOp())
    if (dependence.isPerThread(at))
      return Runner::Thread;
  return Runner::Block;
}

StringRef tl::nameSpace(Value buffer) {
  switch (*getSpace(cast<MemRefType>(buffer.getType()))) {
  case Space::Global:
    return "tensor";
  case Space::Shared:
    return "shared";
  case Space::Fragment:
    return "fragment";
  case Space::Private:
    return "local";
  }
  llvm_unreachable("all spaces are handled");
}

static StringRef nameRunner(Runner runner) {
  switch (runner) {
  case Runner::Block:
    return "block";
  case Runner::Thread:
    return "thread";
  case Runner::Iteration:
    return "iteration";
  }
  llvm_unreachable("all runners are handled");
}

/// The first place in a file that `location` speaks of, or null.
static FileLineColLoc getPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

NamedAttrList tl::describeSite(Operation *op, Runner runner) {
  Builder builder(op->getContext());
  auto kernel = op->getParentOfType<KernelOp>();
  auto loop = op->getParentOfType<ParallelOp>();
  int64_t launch = 0;
  for (Operation *at = kernel->getPrevNode(); at; at = at->getPrevNode())
    launch += isa<KernelOp, SourceKernelOp>(at);
  NamedAttrList site;
  site.set(kSiteLaunch, builder.getI64IntegerAttr(launch));
  site.set("runner", builder.getStringAttr(nameRunner(runner)));
  site.set("box", builder.getI64ArrayAttr(loop ? loop.getExtents()
                                               : ArrayRef<int64_t>()));
  site.set("grid",
           builder.getI64IntegerAttr(kernel.getBody().getNumArguments()));
  if (FileLineColLoc place = getPlace(op->getLoc())) {
    site.set("file", place.getFilename());
    site.set("line", builder.getI64IntegerAttr(place.getLine()));
    site.set("column", builder.getI64IntegerAttr(place.getColumn()));
  }
  return site;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Value RecordEmitter::number(ValueRange coordinates,
                            ArrayRef<int64_t> extents) const {
  Value number = word(0);
  for (auto [coordinate, extent] : llvm::zip(coordinates, extents)) {
    number = apply<arith::MulIOp>(number, word(extent));
    number = apply<arith::AddIOp>(number, toWord(coordinate));
  }
  return number;
}

SmallVector<Value> RecordEmitter::block(KernelOp kernel) const {
  SmallVector<Value> block;
  for (Value coordinate : kernel.getBody().getArguments())
    block.push_back(toWord(coordinate));
  block.resize(3, word(0));
  return block;
}

Value RecordEmitter::variable(Value value) const {
  auto space = gpu::AddressSpaceAttr::get(
      value.getContext(), gpu::GPUDialect::getPrivateAddressSpace());
  auto type =
      MemRefType::get({1}, value.getType(), MemRefLayoutAttrInterface(), space);
  Value variable = AllocOp::create(builder, loc, type,
                                   /*layout=*/Attribute(),
                                   /*offset=*/IntegerAttr());
  StoreOp::create(builder, loc, value, variable, index(0));
  return variable;
}

Value tl::emitThread(OpBuilder builder, Location loc, KernelOp kernel) {
  builder.setInsertionPointToStart(&kernel.getBody().front());
  RecordEmitter emit{builder, loc};
  SmallVector<int64_t> extents(kernel.getThreads());
  extents.resize(3, 1);
  SmallVector<Value> coordinates;
  for (gpu::Dimension dimension :
       {gpu::Dimension::z, gpu::Dimension::y, gpu::Dimension::x})
    coordinates.push_back(gpu::ThreadIdOp::create(builder, loc, dimension));
  return emit.number(coordinates, {extents[2], extents[1], extents[0]});
}

ParallelOp tl::emitParallel(OpBuilder &builder, Location loc,
                            ArrayRef<int64_t> extents) {
  auto loop = ParallelOp::create(builder, loc, extents);
  builder.setInsertionPointToStart(&loop.getBody().front());
  return loop;
}
