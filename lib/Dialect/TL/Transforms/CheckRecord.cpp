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

using namespace mlir;
using namespace tl;

int64_t tl::encodeFinding(CheckKind kind, int64_t dimension) {
  assert(dimension < 16 && "it has four bits");
  return static_cast<int64_t>(kind) << 4 | dimension;
}

CheckRecord::CheckRecord(func::FuncOp function,
                         SmallVectorImpl<Attribute> &sites)
    : record(addRecord(function, "tl_checks", kRecordWords)), sites(sites) {}

//===----------------------------------------------------------------------===//
// Sites
//===----------------------------------------------------------------------===//

int64_t CheckRecord::addSite(Operation *op, Runner runner, StringRef access,
                             Value buffer) {
  Builder builder(op->getContext());
  NamedAttrList site = describeSite(op, runner);
  site.set("access", builder.getStringAttr(access));
  if (buffer) {
    StringAttr name = getGivenName(getBuffer(buffer).getLoc());
    site.set("buffer", name ? name : builder.getStringAttr(""));
    site.set("space", builder.getStringAttr(nameSpace(buffer)));
    site.set("shape", builder.getI64ArrayAttr(
                          cast<MemRefType>(buffer.getType()).getShape()));
  }
  sites.push_back(site.getDictionary(op->getContext()));
  return static_cast<int64_t>(sites.size()) - 1;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// A tag, which is odd and so never zero. The factors are odd and without
/// pattern; nothing else is asked of them.
static Value mixTag(const RecordEmitter &emit, ArrayRef<Value> parts) {
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
  RecordEmitter emit{builder, loc};
  SmallVector<Value> block = emit.block(kernel);
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
  tag = emit.apply<arith::ShLIOp>(emit.widen(tag), emit.wide(32));
  StoreOp::create(builder, loc, emit.wide(1), record, emit.index(0));
  for (auto [i, word] : llvm::enumerate(words)) {
    Value value = emit.apply<arith::OrIOp>(tag, emit.widen(word));
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
  RecordEmitter emit{builder, loc};
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
  int64_t site = addSite(op, runner, access, buffer);
  Finding whole = finding;
  whole.code = RecordEmitter{builder, loc}.apply<arith::OrIOp>(
      finding.code, RecordEmitter{builder, loc}.word(site << 8));
  if (loop)
    return note(builder, loc, getNotes(loop), whole);

  // A statement of the block stays one: its threads see the same record, which
  // other blocks write, only if one of them looks at it.
  if (runner == Runner::Block && !isInParallel(builder))
    emitParallel(builder, loc, {1});
  Value element = runner == Runner::Thread
                      ? emitThread(builder, loc, kernel)
                      : RecordEmitter{builder, loc}.word(0);
  emitReport(builder, loc, kernel, element, whole);
}

//===----------------------------------------------------------------------===//
// Notes of iterations
//===----------------------------------------------------------------------===//

/// In the place of a finding's code: nothing was found.
static constexpr int64_t kNothing = -1;

CheckRecord::Notes &CheckRecord::getNotes(ParallelOp loop) {
  auto [it, inserted] = notes.insert({loop, Notes()});
  if (inserted) {
    OpBuilder builder = OpBuilder::atBlockBegin(&loop.getBody().front());
    RecordEmitter emit{builder, loop.getLoc()};
    it->second = {emit.variable(emit.word(kNothing)),
                  emit.variable(emit.wide(0)), emit.variable(emit.wide(0))};
  }
  return it->second;
}

void CheckRecord::note(OpBuilder &builder, Location loc, const Notes &notes,
                       const Finding &finding) {
  RecordEmitter emit{builder, loc};
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
    RecordEmitter emit{builder, loc};
    auto read = [&](Value variable) -> Value {
      return LoadOp::create(builder, loc, variable, emit.index(0));
    };
    Finding finding{Value(), read(found.code), read(found.index),
                    read(found.extent)};
    finding.isBad =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                              finding.code, emit.word(kNothing));
    Value iteration =
        emit.number(loop.getBody().getArguments(), loop.getExtents());
    emitReport(builder, loc, loop->getParentOfType<KernelOp>(), iteration,
               finding);
  }
}
