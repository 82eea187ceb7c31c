//===- Decode.cpp - Thread-level kernels to programs ----------------------===//
//
// Walks a kernel and appends what each op means. Values get registers when they
// are defined and give them back after their last use in the block that defines
// them, so that a warp's registers stay in the processor's caches.
//
// That no two values that live at the same time share registers holds for each
// lane, although instructions write those of inactive lanes too: what is live
// in a region around is live until the end of the op that has the region, and
// the branches of an `if` do not see each other's values.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Decode.h"

#include "Accumulators.h"
#include "Decoder.h"
#include "Factors.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "tl/Dialect/TL/IR/Iterations.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/SharedNames.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/ThreadOps.h"
#include "llvm/Support/Error.h"

using namespace mlir;
using namespace tl;
using namespace tl::sim;

Shape Shape::get(Type type) {
  Shape shape;
  shape.element = getElementTypeOrSelf(type);
  if (auto vector = dyn_cast<VectorType>(type))
    shape.elements = vector.getNumElements();
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(shape.element))
    shape.bits =
        llvm::is_contained({3u, 7u}, pointer.getAddressSpace()) ? 32 : 64;
  else if (isa<IndexType>(shape.element))
    shape.bits = 32;
  else
    shape.bits = shape.element.getIntOrFloatBitWidth();
  return shape;
}

static const DecodeTable &getTable() {
  static const DecodeTable table = [] {
    DecodeTable table;
    addControl(table);
    addIntegers(table);
    addFloats(table);
    addConversions(table);
    addMath(table);
    addVectors(table);
    addMemory(table);
    addThreads(table);
    addOrder(table);
    addCopies(table);
    addMatrices(table);
    return table;
  }();
  return table;
}

bool tl::sim::isDecoded(StringRef op) { return getTable().contains(op); }

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Register Decoder::allocate(uint32_t words) {
  SmallVector<Register> &sameSize = free[words];
  if (!sameSize.empty())
    return sameSize.pop_back_val();
  Register at = program.registerWords;
  program.registerWords += words;
  return at;
}

Register Decoder::define(Value value) {
  Register at = getAccumulator(value).value_or(0);
  if (!getAccumulator(value))
    at = allocate(Shape::get(value).words());
  registers[value] = at;
  return at;
}

std::optional<Register> Decoder::getAccumulator(Value value) const {
  auto found = accumulatorOf.find(value);
  if (found == accumulatorOf.end())
    return std::nullopt;
  return accumulators[found->second];
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// What kind of instruction `op` is, for counts. What only names registers, or
/// tells who watches, is a "move": parts of vectors, and what regions hand on.
static StringRef getKind(Operation *op) {
  using Category = ThreadOp::Category;
  const ThreadOp *line = getThreadOp(op->getName().getStringRef());
  if (!line || op->hasTrait<OpTrait::IsTerminator>())
    return "move";
  switch (line->category) {
  case Category::Kernel:
  case Category::ControlFlow:
    return "control";
  case Category::Arithmetic:
    if (!isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
      return "integer";
    return line->name.starts_with("math.") ? "function" : "float";
  case Category::Iterations:
  case Category::Vector:
    return "move";
  case Category::Memory:
    return line->proxy ? "memory" : "address";
  case Category::Threads:
    return "thread";
  case Category::Order:
    return "order";
  case Category::Copy:
    return "copy";
  case Category::Matrix:
    return "matrix";
  }
  llvm_unreachable("all categories are handled");
}

/// The place that a report shows for `op`.
static Place makePlace(Operation *op) {
  Place place;
  place.op = op->getName().getStringRef().str();
  place.kind = getKind(op);
  if (StringAttr statement = getStatement(op->getLoc()))
    place.statement = statement.str();
  if (op->getNumResults())
    if (auto vector = dyn_cast<VectorType>(op->getResult(0).getType()))
      place.elements = vector.getNumElements();
  if (auto uses = op->getAttrOfType<DenseI64ArrayAttr>(kUsesAttr))
    llvm::append_range(place.tiles, uses.asArrayRef());
  op->getLoc()->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    place.file = file.getFilename().str();
    place.line = file.getLine();
    place.column = file.getColumn();
    return WalkResult::interrupt();
  });
  return place;
}

sim::Instruction &Decoder::emit(Execute execute) {
  if (placed != current) {
    placed = current;
    program.places.push_back(makePlace(current));
  }
  program.placeOf.push_back(program.places.size() - 1);
  sim::Instruction &instruction = program.code.emplace_back();
  instruction.execute = execute;
  return instruction;
}

LogicalResult Decoder::decodeOp(Operation *op) {
  current = op;
  DecodeOp decode = getTable().lookup(op->getName().getStringRef());
  if (!decode)
    return op->emitError("`")
           << op->getName() << "` has no meaning in the simulator";
  InstructionId first = next();
  if (failed(decode(*this, op)))
    return failure();
  if (isa<WgmmaOp>(op))
    products[op] = next() - 1;
  guardAccumulators(op, first);
  return noteIterations(op, first);
}

LogicalResult Decoder::noteIterations(Operation *op, InstructionId first) {
  Attribute attribute = op->getDiscardableAttr(kIterationsAttr);
  if (!attribute)
    return success();
  Iterations iterations;
  iterations.loop = loops;
  if (isa<LLVM::StoreOp>(op))
    iterations.elements = Shape::get(op->getOperand(0)).elements;
  else if (isa<LLVM::LoadOp, AtomOp>(op))
    iterations.elements = Shape::get(op->getResult(0)).elements;
  else if (!isa<TouchFragmentOp>(op))
    return op->emitError("`") << kIterationsAttr << "` is of loads, stores and "
                              << "atomic operations";
  auto distances = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (!distances || distances.empty() ||
      distances.size() % iterations.elements != 0)
    return op->emitError("`")
           << kIterationsAttr << "` is no list of distances for each of the "
           << iterations.elements << " elements";
  // An atomic operation of several elements is as many instructions, or twice
  // as many: each is of its own element.
  ArrayRef<int64_t> all = distances.asArrayRef();
  uint32_t parts = isa<AtomOp>(op) ? iterations.elements : 1;
  size_t instructions = next() - first;
  iterations.elements /= parts;
  for (size_t i = 0; i < instructions; ++i) {
    Iterations own = iterations;
    size_t length = all.size() / parts, part = i * parts / instructions;
    llvm::append_range(own.distances, all.slice(part * length, length));
    program.iterations[first + i] = std::move(own);
  }
  return success();
}

void Decoder::guardAccumulators(Operation *op, InstructionId first) {
  // What regions and waits hand on stays where it is.
  if (op->getNumRegions() || isa<WgmmaWaitOp>(op))
    return;
  Guarded guarded;
  for (Value operand : op->getOperands()) {
    std::optional<Register> at = getAccumulator(operand);
    // A further product adds to it, in order.
    auto product = dyn_cast<WgmmaOp>(op);
    if (!at || (product && operand == product.getAcc() &&
                at == getAccumulator(product.getResult())))
      continue;
    Guarded::Use use{*at, std::nullopt};
    if (auto writer = products.find(operand.getDefiningOp());
        writer != products.end())
      use.writer = writer->second;
    guarded.uses.push_back(use);
  }
  if (guarded.uses.empty())
    return;
  Instruction &instruction = program.code[first];
  guarded.execute = instruction.execute;
  instruction.execute = executeGuarded;
  program.guarded[first] = std::move(guarded);
}

/// For each op of a block, the values of the block whose last use it has.
static llvm::DenseMap<Operation *, SmallVector<Value, 2>>
findLastUses(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<Value, 2>> ended;
  auto add = [&](Value value, Operation *definer) {
    Operation *last = definer;
    for (Operation *user : value.getUsers()) {
      Operation *here = block.findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(here))
        last = here;
    }
    if (last)
      ended[last].push_back(value);
  };
  for (BlockArgument argument : block.getArguments())
    add(argument, nullptr);
  for (Operation &op : block)
    for (Value result : op.getResults())
      add(result, &op);
  return ended;
}

void Decoder::releaseEnded(ArrayRef<Value> values) {
  for (Value value : values)
    if (!kept.contains(value) && !getAccumulator(value))
      release(get(value), Shape::get(value).words());
}

LogicalResult Decoder::decodeRegion(Region &region, ArrayRef<Register> to,
                                    llvm::function_ref<void()> beforeMoves) {
  Block &block = region.front();
  auto ended = findLastUses(block);
  for (Operation &op : block.without_terminator()) {
    if (failed(decodeOp(&op)))
      return failure();
    releaseEnded(ended.lookup(&op));
  }
  Operation *terminator = block.getTerminator();
  current = terminator;
  if (beforeMoves)
    beforeMoves();
  emitMoves(to, terminator->getOperands().take_back(to.size()));
  releaseEnded(ended.lookup(terminator));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void Decoder::addParameters(gpu::GPUFuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments()) {
    Shape shape = Shape::get(argument);
    ProgramParameter parameter;
    parameter.at = define(argument);
    kept.insert(argument);
    parameter.isWide = shape.isWide();
    parameter.bits = shape.bits;
    auto kind =
        kernel.getArgAttrOfType<ParamAttr>(argument.getArgNumber(), kParamAttr);
    parameter.isTensorMap = kind && kind.getKind() == ParamKind::TensorMap;
    program.parameters.push_back(parameter);
  }
}

/// The tile that an entry of `kTilesAttr` says, or nothing if it is none.
static std::optional<Tile> readTile(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  auto shape =
      entry ? entry.getAs<DenseI64ArrayAttr>("shape") : DenseI64ArrayAttr();
  if (!shape)
    return std::nullopt;
  auto number = [&](StringRef key) {
    auto value = entry.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  };
  int64_t bytes = number("element_bytes");
  if (bytes <= 0 || number("chunk") <= 0)
    return std::nullopt;
  auto name = entry.getAs<StringAttr>("name");
  return Tile{name ? name.str() : "",
              number("offset"),
              llvm::to_vector(shape.asArrayRef()),
              bytes,
              layout::SharedLayout(shape.asArrayRef(), bytes, number("swizzle"),
                                   number("chunk"), number("slot_dims")),
              entry.contains("ring")};
}

LogicalResult Decoder::readTiles(gpu::GPUFuncOp kernel) {
  auto tiles = kernel->getAttrOfType<ArrayAttr>(kTilesAttr);
  for (Attribute attribute : tiles ? tiles.getValue() : ArrayRef<Attribute>()) {
    std::optional<Tile> tile = readTile(attribute);
    if (!tile)
      return kernel.emitError("`") << kTilesAttr << "` has an entry that is no "
                                   << "tile in shared memory";
    program.tiles.push_back(std::move(*tile));
  }
  auto isKnown = [&](Operation *op) {
    auto uses = op->getAttrOfType<DenseI64ArrayAttr>(kUsesAttr);
    return !uses || llvm::all_of(uses.asArrayRef(), [&](int64_t number) {
      return number >= 0 && number < int64_t(program.tiles.size());
    });
  };
  WalkResult walked = kernel.walk([&](Operation *op) {
    if (isKnown(op))
      return WalkResult::advance();
    op->emitError("`") << kUsesAttr << "` has a number that is of no tile";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult Decoder::decode(gpu::GPUFuncOp kernel) {
  program.kernel = kernel.getName().str();
  if (DenseI32ArrayAttr block = kernel.getKnownBlockSizeAttr())
    for (auto [extent, given] : llvm::zip(program.block, block.asArrayRef()))
      extent = given;
  if (auto shared = kernel->getAttrOfType<IntegerAttr>(kSharedAttr))
    program.sharedBytes = shared.getInt();
  if (failed(readTiles(kernel)))
    return failure();

  FailureOr<llvm::DenseMap<Value, unsigned>> found = findAccumulators(kernel);
  if (failed(found))
    return failure();
  accumulatorOf = std::move(*found);
  factorOf = findFactors(kernel);
  llvm::DenseMap<unsigned, Register> made;
  for (auto [value, number] : accumulatorOf)
    if (auto [place, isNew] = made.try_emplace(number); isNew)
      place->second = allocate(Shape::get(value).words());
  accumulators.resize(made.size());
  for (auto [number, at] : made)
    accumulators[number] = at;
  current = kernel;
  addParameters(kernel);
  if (failed(decodeRegion(kernel.getBody(), {})))
    return failure();
  return decodeOp(kernel.getBody().front().getTerminator());
}

FailureOr<std::unique_ptr<Program>> tl::sim::decode(gpu::GPUFuncOp kernel) {
  auto program = std::make_unique<Program>();
  if (failed(Decoder(*program).decode(kernel)))
    return failure();
  return program;
}

llvm::Expected<std::unique_ptr<Program>>
tl::sim::decodeText(llvm::StringRef text, llvm::StringRef kernel,
                    const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    if (said.empty())
      said = diag.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  gpu::GPUFuncOp found;
  if (module)
    module->walk([&](gpu::GPUFuncOp function) {
      if (function.getName() == kernel)
        found = function;
    });
  if (found)
    if (FailureOr<std::unique_ptr<Program>> program = decode(found);
        succeeded(program))
      return std::move(*program);
  return llvm::createStringError("`" + kernel +
                                 "` is no kernel of the simulator: " + said);
}
