//===- CheckRecord.cpp - How a kernel reports what it finds ---------------===//
//
// A report is an ordinary statement that writes to an ordinary tensor, so that
// every target and generator, CuTe DSL too, can carry it out. No atomic
// operation says who comes first. Instead each report has a tag, made of who
// reports what and where, writes it into each of its words, and chooses one of
// many slots by it: a slot whose words have one tag was written by one report,
// and others are not believed. Once a statement has reported, later ones of the
// block do not.
//
// An iteration of a parallel loop notes the first thing that it finds in
// variables, and reports it at its end: reports are long, accesses many.
//
//===----------------------------------------------------------------------===//

#include "CheckRecord.h"

#include "tl/Dialect/TL/IR/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tl;

int64_t tl::encodeFinding(CheckKind kind, int64_t dimension) {
  assert(dimension < 16 && "it has four bits");
  return static_cast<int64_t>(kind) << 4 | dimension;
}

/// A name that no parameter of `function` has.
static std::string getFreeName(func::FuncOp function) {
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr))
      taken.insert(name.getValue());
  std::string name = "tl_checks";
  while (taken.contains(name))
    name += '_';
  return name;
}

CheckRecord::CheckRecord(func::FuncOp function,
                         SmallVectorImpl<Attribute> &sites)
    : sites(sites) {
  Builder builder(function.getContext());
  std::string name = getFreeName(function);
  auto type = MemRefType::get({kRecordWords}, builder.getI64Type());
  NamedAttribute facts[] = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
      builder.getNamedAttr(kAlignAttr, builder.getI64IntegerAttr(8)),
      builder.getNamedAttr(kShapeAttr, builder.getStrArrayAttr({""}))};
  Location loc = NameLoc::get(builder.getStringAttr(name), function.getLoc());
  unsigned last = function.getNumArguments();
  [[maybe_unused]] LogicalResult inserted = function.insertArgument(
      last, type, builder.getDictionaryAttr(facts), loc);
  assert(succeeded(inserted) && "functions take arguments");
  record = function.getArgument(last);
}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

static StringRef nameSpace(Value buffer) {
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

/// The first place in a file that `location` speaks of, or null.
static FileLineColLoc getPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location part) {
    place = dyn_cast<FileLineColLoc>(part);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
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

int64_t CheckRecord::addSite(Operation *op, Runner runner, StringRef access,
                             Value buffer, ArrayRef<int64_t> box) {
  Builder builder(op->getContext());
  auto kernel = op->getParentOfType<KernelOp>();
  std::string kernelName =
      kernel.getName()
          ? kernel.getName()->str()
          : (op->getParentOfType<func::FuncOp>().getName() + "_kernel").str();
  NamedAttrList site;
  site.set("kernel", builder.getStringAttr(kernelName));
  site.set("access", builder.getStringAttr(access));
  site.set("runner", builder.getStringAttr(nameRunner(runner)));
  site.set("box", builder.getI64ArrayAttr(box));
  site.set("grid",
           builder.getI64IntegerAttr(kernel.getBody().getNumArguments()));
  if (buffer) {
    StringAttr name = getGivenName(getBuffer(buffer).getLoc());
    site.set("buffer", name ? name : builder.getStringAttr(""));
    site.set("space", builder.getStringAttr(nameSpace(buffer)));
    site.set("shape", builder.getI64ArrayAttr(
                          cast<MemRefType>(buffer.getType()).getShape()));
  }
  if (FileLineColLoc place = getPlace(op->getLoc())) {
    site.set("file", place.getFilename());
    site.set("line", builder.getI64IntegerAttr(place.getLine()));
    site.set("column", builder.getI64IntegerAttr(place.getColumn()));
  }
  sites.push_back(site.getDictionary(op->getContext()));
  return static_cast<int64_t>(sites.size()) - 1;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

namespace {
/// Arithmetic of reports: on `i32` and `i64`, all of it wraps.
struct Emitter {
  OpBuilder &builder;
  Location loc;

  Value word(int64_t value) const {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value wide(int64_t value) const {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  Value index(int64_t value) const {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value toWord(Value index) const {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      index);
  }
  template <typename Op>
  Value apply(Value a, Value b) const {
    return builder.createOrFold<Op>(loc, a, b);
  }
};
} // namespace

/// The number of the iteration of `loop` with these coordinates, in row-major
/// order.
static Value getIteration(const Emitter &emit, ValueRange coordinates,
                          ArrayRef<int64_t> extents) {
  Value number = emit.word(0);
  for (auto [coordinate, extent] : llvm::zip(coordinates, extents)) {
    number = emit.apply<arith::MulIOp>(number, emit.word(extent));
    number = emit.apply<arith::AddIOp>(number, emit.toWord(coordinate));
  }
  return number;
}

/// The number of the thread. It is asked for where the kernel begins, since no
/// statement may ask for it inside.
static Value getThread(OpBuilder builder, Location loc, KernelOp kernel) {
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Emitter emit{builder, loc};
  SmallVector<int64_t> extents(kernel.getThreads());
  extents.resize(3, 1);
  SmallVector<Value> coordinates;
  for (gpu::Dimension dimension :
       {gpu::Dimension::z, gpu::Dimension::y, gpu::Dimension::x})
    coordinates.push_back(gpu::ThreadIdOp::create(builder, loc, dimension));
  return getIteration(emit, coordinates, {extents[2], extents[1], extents[0]});
}

/// A tag, which is odd and so never zero. The factors are odd and without
/// pattern; nothing else is asked of them.
static Value mixTag(const Emitter &emit, ArrayRef<Value> parts) {
  Value tag = emit.word(0x2545f491);
  for (Value part : parts) {
    tag = emit.apply<arith::XOrIOp>(tag, part);
    tag = emit.apply<arith::MulIOp>(tag, emit.word(0x5bd1e995));
  }
  Value upper = emit.apply<arith::ShRUIOp>(tag, emit.word(15));
  tag = emit.apply<arith::XOrIOp>(tag, upper);
  return emit.apply<arith::OrIOp>(tag, emit.word(1));
}

void CheckRecord::fill(OpBuilder &builder, Location loc, KernelOp kernel,
                       Value element, const Finding &finding) {
  Emitter emit{builder, loc};
  SmallVector<Value> block;
  for (Value coordinate : kernel.getBody().getArguments())
    block.push_back(emit.toWord(coordinate));
  block.resize(3, emit.word(0));
  auto toWord = [&](Value wide) -> Value {
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), wide);
  };
  Value upper = emit.apply<arith::ShRUIOp>(finding.index, emit.wide(32));
  SmallVector<Value> words = {finding.code,  element,
                              block[0],      block[1],
                              block[2],      toWord(finding.index),
                              toWord(upper), toWord(finding.extent)};
  Value tag = mixTag(emit, words);
  Value slot =
      emit.apply<arith::AndIOp>(emit.apply<arith::ShRUIOp>(tag, emit.word(8)),
                                emit.word(kRecordSlots - 1));
  Value first =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), slot);
  first = emit.apply<arith::MulIOp>(first, emit.index(kSlotWords));
  auto widen = [&](Value word) -> Value {
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), word);
  };
  tag = emit.apply<arith::ShLIOp>(widen(tag), emit.wide(32));
  StoreOp::create(builder, loc, emit.wide(1), record, emit.index(0));
  for (auto [i, word] : llvm::enumerate(words)) {
    Value value = emit.apply<arith::OrIOp>(tag, widen(word));
    Value place = emit.apply<arith::AddIOp>(first, emit.index(1 + i));
    StoreOp::create(builder, loc, value, record, place);
  }
}

static bool isInParallel(OpBuilder &builder) {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  return isa<ParallelOp>(parent) || parent->getParentOfType<ParallelOp>();
}

/// Emits the report if there is anything to report, and nobody did before.
void CheckRecord::emitReport(OpBuilder &builder, Location loc, KernelOp kernel,
                             Value element, const Finding &finding) {
  Emitter emit{builder, loc};
  auto found = scf::IfOp::create(builder, loc, finding.isBad,
                                 /*withElseRegion=*/false);
  builder.setInsertionPointToStart(found.thenBlock());
  Value told = LoadOp::create(builder, loc, record, emit.index(0));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        told, emit.wide(0));
  auto first = scf::IfOp::create(builder, loc, isFirst,
                                 /*withElseRegion=*/false);
  builder.setInsertionPointToStart(first.thenBlock());
  fill(builder, loc, kernel, element, finding);
}

void CheckRecord::report(OpBuilder &builder, Operation *op, Runner runner,
                         StringRef access, Value buffer,
                         const Finding &finding) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op->getLoc();
  auto kernel = op->getParentOfType<KernelOp>();
  auto loop = op->getParentOfType<ParallelOp>();
  int64_t site = addSite(op, runner, access, buffer,
                         loop ? loop.getExtents() : ArrayRef<int64_t>());
  Finding whole = finding;
  whole.code = Emitter{builder, loc}.apply<arith::OrIOp>(
      finding.code, Emitter{builder, loc}.word(site << 8));
  if (loop)
    return note(builder, loc, getNotes(loop), whole);

  // A statement of the block stays one: its threads see the same record, which
  // other blocks write, only if one of them looks at it.
  if (runner == Runner::Block && !isInParallel(builder)) {
    auto once =
        ParallelOp::create(builder, loc, builder.getDenseI64ArrayAttr({1}),
                           /*layout=*/FragmentLayoutAttr());
    Block &body = once.getBody().emplaceBlock();
    body.addArgument(builder.getIndexType(), loc);
    builder.setInsertionPointToEnd(&body);
    YieldOp::create(builder, loc);
    builder.setInsertionPointToStart(&body);
  }
  Value element = runner == Runner::Thread ? getThread(builder, loc, kernel)
                                           : Emitter{builder, loc}.word(0);
  emitReport(builder, loc, kernel, element, whole);
}

//===----------------------------------------------------------------------===//
// Notes of iterations
//===----------------------------------------------------------------------===//

/// In the place of a finding's code: nothing was found.
static constexpr int64_t kNothing = -1;

/// A variable of an iteration that begins with `value`.
static Value createVariable(const Emitter &emit, Value value) {
  auto space = gpu::AddressSpaceAttr::get(
      value.getContext(), gpu::GPUDialect::getPrivateAddressSpace());
  auto type =
      MemRefType::get({1}, value.getType(), MemRefLayoutAttrInterface(), space);
  Value variable = AllocOp::create(emit.builder, emit.loc, type,
                                   /*layout=*/Attribute(),
                                   /*offset=*/IntegerAttr());
  StoreOp::create(emit.builder, emit.loc, value, variable, emit.index(0));
  return variable;
}

CheckRecord::Notes &CheckRecord::getNotes(ParallelOp loop) {
  auto [it, inserted] = notes.insert({loop, Notes()});
  if (inserted) {
    OpBuilder builder = OpBuilder::atBlockBegin(&loop.getBody().front());
    Emitter emit{builder, loop.getLoc()};
    it->second = {createVariable(emit, emit.word(kNothing)),
                  createVariable(emit, emit.wide(0)),
                  createVariable(emit, emit.wide(0))};
  }
  return it->second;
}

void CheckRecord::note(OpBuilder &builder, Location loc, const Notes &notes,
                       const Finding &finding) {
  Emitter emit{builder, loc};
  Value zero = emit.index(0);
  Value before = LoadOp::create(builder, loc, notes.code, zero);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        before, emit.word(kNothing));
  Value isNew = emit.apply<arith::AndIOp>(finding.isBad, isFirst);
  auto update = [&](Value variable, Value found, Value old) {
    Value value = arith::SelectOp::create(builder, loc, isNew, found, old);
    StoreOp::create(builder, loc, value, variable, zero);
  };
  update(notes.code, finding.code, before);
  for (auto [variable, found] : {std::pair(notes.index, finding.index),
                                 std::pair(notes.extent, finding.extent)})
    update(variable, found, LoadOp::create(builder, loc, variable, zero));
}

void CheckRecord::reportNotes() {
  for (auto &[op, found] : notes) {
    auto loop = cast<ParallelOp>(op);
    Location loc = loop.getLoc();
    OpBuilder builder(loop.getBody().front().getTerminator());
    Emitter emit{builder, loc};
    auto read = [&](Value variable) -> Value {
      return LoadOp::create(builder, loc, variable, emit.index(0));
    };
    Finding finding{Value(), read(found.code), read(found.index),
                    read(found.extent)};
    finding.isBad =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                              finding.code, emit.word(kNothing));
    Value iteration =
        getIteration(emit, loop.getBody().getArguments(), loop.getExtents());
    emitReport(builder, loc, loop->getParentOfType<KernelOp>(), iteration,
               finding);
  }
}
