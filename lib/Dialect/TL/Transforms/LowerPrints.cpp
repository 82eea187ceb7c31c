//===- LowerPrints.cpp - Let kernels tell their caller --------------------===//
//
// Makes statements that write to a record of `tl.print` and `tl.assert`
// (docs/rationale/prints.md): statements that a user could have written, so
// that all targets and generators carry them out. A kernel that prints nothing
// is left as it is.
//
// Each entry takes its place in the record by one atomic addition, and then is
// its writer's own: nothing is overwritten. What finds no room is counted by
// the same addition, and dropped as all that is written outside of a tensor
// (M1): an entry is as short as it can be, because iterations print in bodies
// that are unrolled.
//
// Entries come in any order. So each says who wrote it, which block and which
// iteration or thread, and how many statements that print the block had
// executed before: a variable of the block counts them. Where threads go
// different ways, and in the iterations of a `tl.parallel`, all is one such
// statement. In it an iteration, or thread, takes places in the order of its
// own program, because its additions to one word do not overtake each other.
//
// Requires what `tl-verify-kernels` and `tl-verify-statements` check. Sound
// because the statements that are added read what is printed where it is
// printed, and write the record and a variable of their own, which nobody else
// does. It comes before anything is simplified, so that `t - t` is still known
// to depend on the thread (MarkThreadStatements.cpp); test/fuzz/programs prints
// in random programs.
//
//===----------------------------------------------------------------------===//

#include "Record.h"

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/Prints.h"
#include "tl/Dialect/TL/IR/ScalarLoops.h"
#include "tl/Dialect/TL/Transforms/Passes.h"
#include "tl/Dialect/TL/Transforms/Prints.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_LOWERPRINTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Elements of an array of a thread's own up to which they are written without
/// a loop, so that they can be registers.
static constexpr int64_t kMaxUnrolled = 32;

/// The largest number of words before an entry that is told from others. All of
/// the entry behind it has indices of 32 bits, and no record is so long.
static constexpr int64_t kLargestPlace = INT32_MAX - (1 << 20);

/// Elements of a tile in memory that one parallel loop writes; others are in
/// loops around it, so that code does not grow with the tile.
static constexpr int64_t kMaxAtOnce = 1024;

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

namespace {
/// An op that prints, and what has to be known before anything changes.
struct Statement {
  Operation *op;
  Runner runner;
  /// The statement of the block that it is, or is a part of.
  Operation *whole;
};

/// Where an entry goes.
struct Place {
  int64_t site;
  /// An `i32`: the iteration or thread.
  Value element;
  /// An `i32`: the statements before.
  Value order;
  Runner runner;
};

class KernelPrints {
public:
  KernelPrints(KernelOp kernel, Value record, SmallVectorImpl<Attribute> &sites)
      : kernel(kernel), record(record), sites(sites) {}

  void run();

private:
  SmallVector<Statement> findStatements();
  Value emitOrder(Operation *whole);
  int64_t addSite(const Statement &statement);
  Place getPlace(OpBuilder &builder, const Statement &statement);

  void lower(PrintOp print, const Statement &statement);
  void lower(AssertOp assertion, const Statement &statement);
  void lowerTile(PrintOp print, const Place &place);

  Value emitAtomic(const RecordEmitter &emit, AtomicKind kind, PrintWord word,
                   int64_t amount, Runner runner);
  Value reserve(const RecordEmitter &emit, int64_t words, Runner runner);
  void emitHead(const RecordEmitter &emit, const Place &place, Value first);
  void storeWord(const RecordEmitter &emit, Value word, Value first,
                 ValueRange indices, ArrayRef<int64_t> extents);

  KernelOp kernel;
  Value record;
  SmallVectorImpl<Attribute> &sites;
  /// A variable: how many statements have printed; null if none is in a loop.
  Value printed;
  DenseMap<Operation *, Value> orders;
};
} // namespace

/// The elements that `op` prints.
static int64_t countElements(Operation *op) {
  auto print = dyn_cast<PrintOp>(op);
  if (!print || !print.getValue())
    return 0;
  return print.getTile() ? llvm::product_of(*print.getTile()) : 1;
}

SmallVector<Statement> KernelPrints::findStatements() {
  ThreadDependence dependence(kernel.getBody());
  SmallVector<Statement> statements;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<PrintOp, AssertOp>(op))
      return;
    Operation *whole = op;
    for (Operation *at = op->getParentOp(); at != kernel;
         at = at->getParentOp())
      if (isa<ParallelOp>(at) || dependence.isDivergent(at))
        whole = at;
    statements.push_back({op, getRunner(op, kernel, dependence), whole});
  });
  return statements;
}

/// True if `op`, in `kernel`, may be executed several times.
static bool isInLoop(Operation *op, KernelOp kernel) {
  for (op = op->getParentOp(); op != kernel; op = op->getParentOp())
    if (!isa<scf::IfOp>(op))
      return true;
  return false;
}

void KernelPrints::run() {
  SmallVector<Statement> statements = findStatements();
  if (statements.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  RecordEmitter emit{builder, kernel.getLoc()};
  if (llvm::any_of(statements, [&](const Statement &statement) {
        return isInLoop(statement.whole, kernel);
      }))
    printed = emit.variable(emit.word(0));
  for (const Statement &statement : statements) {
    if (auto print = dyn_cast<PrintOp>(statement.op))
      lower(print, statement);
    else
      lower(cast<AssertOp>(statement.op), statement);
    statement.op->erase();
  }
}

/// Counts a statement of the block, before it; gives what was counted so far.
/// Without loops that is known now.
Value KernelPrints::emitOrder(Operation *whole) {
  Value &order = orders[whole];
  if (order)
    return order;
  OpBuilder builder(whole);
  RecordEmitter emit{builder, whole->getLoc()};
  if (!printed)
    return order = emit.word(orders.size());
  Value zero = emit.index(0);
  order = LoadOp::create(builder, emit.loc, printed, zero);
  StoreOp::create(builder, emit.loc,
                  emit.apply<arith::AddIOp>(order, emit.word(1)), printed,
                  zero);
  return order;
}

/// Lets `tl-verify-layouts` say where the elements of a buffer lie; gives the
/// number by which it calls the layout. Tensors have none.
static std::optional<int64_t> askForLayout(PrintOp print) {
  if (!print.getLayout())
    return std::nullopt;
  auto alloc = getBuffer(print.getValue()).getDefiningOp<AllocOp>();
  if (!alloc)
    return std::nullopt;
  auto asked = alloc->getAttrOfType<IntegerAttr>(kTellLayoutAttr);
  if (!asked) {
    int64_t before = 0;
    print->getParentOfType<func::FuncOp>().walk(
        [&](AllocOp other) { before += other->hasAttr(kTellLayoutAttr); });
    asked = Builder(print.getContext()).getI64IntegerAttr(before);
    alloc->setAttr(kTellLayoutAttr, asked);
  }
  return asked.getInt();
}

int64_t KernelPrints::addSite(const Statement &statement) {
  Builder builder(kernel.getContext());
  NamedAttrList site = describeSite(statement.op, statement.runner);
  if (auto assertion = dyn_cast<AssertOp>(statement.op)) {
    site.set("kind", builder.getStringAttr("assert"));
    site.set("name", assertion.getTextAttr());
    site.set("message", assertion.getMessageAttr());
  } else {
    auto print = cast<PrintOp>(statement.op);
    StringRef kind = !print.getStop()  ? "print"
                     : print.getLast() ? "last stop"
                                       : "stop";
    site.set("kind", builder.getStringAttr(kind));
    site.set("message", print.getMessageAttr());
    if (print.getNameAttr())
      site.set("name", print.getNameAttr());
    if (print.getDtypeAttr())
      site.set("dtype", print.getDtypeAttr());
    if (print.getTile()) {
      site.set("shape", builder.getI64ArrayAttr(
                            print.getShown().value_or(*print.getTile())));
      if (std::optional<int64_t> layout = askForLayout(print))
        site.set("layout", builder.getI64IntegerAttr(*layout));
      site.set("space", builder.getStringAttr(nameSpace(print.getValue())));
    }
  }
  site.set("elements", builder.getI64IntegerAttr(countElements(statement.op)));
  sites.push_back(site.getDictionary(kernel.getContext()));
  return static_cast<int64_t>(sites.size());
}

/// What an entry says, computed where `builder` stands.
Place KernelPrints::getPlace(OpBuilder &builder, const Statement &statement) {
  Operation *op = statement.op;
  Value order = emitOrder(statement.whole);
  RecordEmitter emit{builder, op->getLoc()};
  auto loop = op->getParentOfType<ParallelOp>();
  Value element =
      statement.runner == Runner::Thread
          ? emitThread(builder, op->getLoc(), kernel)
      : loop ? emit.number(loop.getBody().getArguments(), loop.getExtents())
             : emit.word(0);
  return {addSite(statement), element, order, statement.runner};
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Changes a word of the head in one step; gives what it was before.
Value KernelPrints::emitAtomic(const RecordEmitter &emit, AtomicKind kind,
                               PrintWord word, int64_t amount, Runner runner) {
  auto change = AtomicOp::create(
      emit.builder, emit.loc, emit.builder.getI64Type(), kind,
      emit.wide(amount), record, emit.index(static_cast<int64_t>(word)),
      /*expected=*/Value(), MemoryOrder::Relaxed, MemoryScope::Device);
  if (runner == Runner::Thread)
    change.setEachThread(true);
  return change.getOld();
}

/// Takes the words of an entry that prints `words` numbers; gives the index of
/// the first. What is beyond all that a record can be stays so as an index.
Value KernelPrints::reserve(const RecordEmitter &emit, int64_t words,
                            Runner runner) {
  int64_t size = kPrintEntryWords + words;
  Value before = emitAtomic(emit, AtomicKind::Add, PrintWord::Wanted,
                            (int64_t(1) << kPrintCountBit) | size, runner);
  before = emit.apply<arith::AndIOp>(
      before, emit.wide((int64_t(1) << kPrintCountBit) - 1));
  before = emit.apply<arith::MinUIOp>(before, emit.wide(kLargestPlace));
  before = arith::TruncIOp::create(emit.builder, emit.loc,
                                   emit.builder.getI32Type(), before);
  Value first = arith::IndexCastOp::create(emit.builder, emit.loc,
                                           emit.builder.getIndexType(), before);
  return emit.apply<arith::AddIOp>(first, emit.index(kPrintHeaderWords));
}

/// Writes `word` behind `first`, at the place of an element of a tile.
void KernelPrints::storeWord(const RecordEmitter &emit, Value word, Value first,
                             ValueRange indices, ArrayRef<int64_t> extents) {
  Value at = emit.index(0);
  for (auto [index, extent] : llvm::zip(indices, extents)) {
    at = emit.apply<arith::MulIOp>(at, emit.index(extent));
    at = emit.apply<arith::AddIOp>(at, index);
  }
  at = emit.apply<arith::AddIOp>(at, first);
  StoreOp::create(emit.builder, emit.loc, word, record, at);
}

/// Writes what an entry begins with to the words from `first` on.
void KernelPrints::emitHead(const RecordEmitter &emit, const Place &place,
                            Value first) {
  SmallVector<Value> block = emit.block(kernel);
  std::pair<Value, Value> words[kPrintEntryWords] = {
      {emit.word(place.site), place.element},
      {block[0], block[1]},
      {block[2], place.order}};
  for (auto [i, halves] : llvm::enumerate(words)) {
    Value upper =
        emit.apply<arith::ShLIOp>(emit.widen(halves.first), emit.wide(32));
    Value word = emit.apply<arith::OrIOp>(upper, emit.widen(halves.second));
    StoreOp::create(emit.builder, emit.loc, word, record,
                    emit.apply<arith::AddIOp>(first, emit.index(i)));
  }
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// A number as a word of a record: an integer's bits, a float's as `f32`, or as
/// `f64` if it is one.
static Value toBits(const RecordEmitter &emit, Value value) {
  OpBuilder &builder = emit.builder;
  Type type = value.getType();
  if (type.isIndex())
    value = emit.toWord(value);
  if (isa<FloatType>(type)) {
    if (type.getIntOrFloatBitWidth() < 32)
      value =
          convertHeldElement(builder, emit.loc, value, builder.getF32Type());
    unsigned width = value.getType().getIntOrFloatBitWidth();
    value = arith::BitcastOp::create(builder, emit.loc,
                                     builder.getIntegerType(width), value);
  }
  return value.getType().isInteger(64) ? value : emit.widen(value);
}

/// Emits `body` for each element of an array: without loops if it is small.
static void emitElements(OpBuilder &builder, Location loc,
                         ArrayRef<int64_t> extents,
                         function_ref<void(OpBuilder &, ValueRange)> body) {
  int64_t count = llvm::product_of(extents);
  if (count > kMaxUnrolled)
    return emitNest(builder, loc, extents, body);
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> indices(extents.size());
    int64_t rest = i;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
      indices[d] =
          arith::ConstantIndexOp::create(builder, loc, rest % extents[d]);
    body(builder, indices);
  }
}

void KernelPrints::lower(PrintOp print, const Statement &statement) {
  OpBuilder builder(print);
  Location loc = print.getLoc();
  Place place = getPlace(builder, statement);
  if (print.isOfBlock())
    return lowerTile(print, place);
  if (statement.runner == Runner::Block)
    emitParallel(builder, loc, {1});
  RecordEmitter emit{builder, loc};
  Value first = reserve(emit, countElements(print), statement.runner);
  emitHead(emit, place, first);
  Value value = print.getValue();
  if (!value)
    return;
  first = emit.apply<arith::AddIOp>(first, emit.index(kPrintEntryWords));
  if (!print.getTile())
    return storeWord(emit, toBits(emit, value), first, {}, {});
  ArrayRef<int64_t> tile = *print.getTile();
  emitElements(builder, loc, tile, [&](OpBuilder &b, ValueRange indices) {
    Value element = LoadOp::create(
        b, loc, value, shift(b, loc, tile.size(), print.getOffsets(), indices));
    storeWord({b, loc}, toBits({b, loc}, element), first, indices, tile);
  });
}

/// The dimensions of a tile that loops around a parallel one go through.
static size_t countOuter(PrintOp print) {
  ArrayRef<int64_t> tile = *print.getTile();
  if (isInSpace(print.getValue(), Space::Fragment))
    return 0;
  size_t outer = 0;
  while (outer + 1 < tile.size() &&
         llvm::product_of(tile.drop_front(outer)) > kMaxAtOnce)
    ++outer;
  return outer;
}

/// A tile is one entry. All of the block has to know where it is, and writes
/// its elements.
void KernelPrints::lowerTile(PrintOp print, const Place &place) {
  OpBuilder builder(print);
  Location loc = print.getLoc();
  RecordEmitter emit{builder, loc};
  ArrayRef<int64_t> tile = *print.getTile();
  Value first = reserve(emit, countElements(print), Runner::Block);
  {
    OpBuilder::InsertionGuard guard(builder);
    emitParallel(builder, loc, {1});
    emitHead(emit, place, first);
  }
  first = emit.apply<arith::AddIOp>(first, emit.index(kPrintEntryWords));
  size_t outer = countOuter(print);
  auto emitInner = [&](OpBuilder &b, ValueRange around) {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<int64_t> extents(tile.drop_front(outer));
    if (extents.empty())
      extents.push_back(1);
    ParallelOp loop = emitParallel(b, loc, extents);
    SmallVector<Value> indices(around);
    llvm::append_range(indices, loop.getBody().getArguments());
    indices.truncate(tile.size());
    Value element =
        LoadOp::create(b, loc, print.getValue(),
                       shift(b, loc, tile.size(), print.getOffsets(), indices));
    storeWord({b, loc}, toBits({b, loc}, element), first, indices, tile);
  };
  if (outer == 0)
    emitInner(builder, {});
  else
    emitNest(builder, loc, tile.take_front(outer), emitInner);
}

void KernelPrints::lower(AssertOp assertion, const Statement &statement) {
  OpBuilder builder(assertion);
  Location loc = assertion.getLoc();
  RecordEmitter emit{builder, loc};
  Place place = getPlace(builder, statement);
  if (statement.runner == Runner::Block)
    emitParallel(builder, loc, {1});
  Value isWrong =
      arith::XOrIOp::create(builder, loc, assertion.getCondition(),
                            arith::ConstantIntOp::create(builder, loc, 1, 1));
  auto branch = scf::IfOp::create(builder, loc, isWrong,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitAtomic(emit, AtomicKind::Or, PrintWord::Failed, 1, statement.runner);
  emitHead(emit, place, reserve(emit, 0, statement.runner));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static bool prints(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<PrintOp, AssertOp>(inner) ? WalkResult::interrupt()
                                             : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct LowerPrintsPass : tl::impl::LowerPrintsPassBase<LowerPrintsPass> {
  void runOnOperation() override {
    SmallVector<Attribute> sites;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!prints(function))
        continue;
      Value record = addRecord(function, "tl_prints", /*words=*/-1);
      for (auto kernel : function.getOps<KernelOp>())
        KernelPrints(kernel, record, sites).run();
    }
    if (!sites.empty())
      getOperation()->setAttr(kPrintsAttr,
                              ArrayAttr::get(&getContext(), sites));
  }
};
} // namespace
