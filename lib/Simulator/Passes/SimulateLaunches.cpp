//===- SimulateLaunches.cpp - Run kernels of thread level -----------------===//
//
// Runs the launches of a module with buffers of its own. What a launch needs is
// read from the IR: shapes from types, grid and scalars from constants. The
// launches of a function run one after the other under each seed, and find in
// the buffers what those before them left there.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Simulator/Checkers/Checkers.h"
#include "tl/Simulator/Checkers/Findings.h"
#include "tl/Simulator/Decode.h"
#include "tl/Simulator/Machine.h"
#include "tl/Simulator/Passes.h"
#include "tl/Simulator/Shrink.h"
#include "tl/Simulator/TensorMap.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstdlib>
#include <cstring>
#include <deque>

namespace tl {
#define GEN_PASS_DEF_SIMULATELAUNCHESPASS
#include "tl/Simulator/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {

/// A tensor, beginning at a multiple of 256 bytes.
class Buffer {
public:
  explicit Buffer(MemRefType type, unsigned number) : type(type) {
    bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    size = type.getNumElements() * bytes;
    storage.resize(size + 256);
    fill(number);
  }

  uint64_t getAddress() {
    return llvm::alignTo(reinterpret_cast<uint64_t>(storage.data()), 256);
  }
  uint64_t getSize() const { return size; }
  uint64_t getElementBytes() const { return bytes; }
  uint64_t getDigest() {
    return llvm::xxh3_64bits(
        ArrayRef(reinterpret_cast<uint8_t *>(getAddress()), size));
  }

  MemRefType type;

private:
  /// Small numbers, neighbours different, of which products are exact.
  void fill(unsigned number) {
    auto *out = reinterpret_cast<uint8_t *>(getAddress());
    uint32_t state = 12345 + number;
    for (int64_t i = 0, end = type.getNumElements(); i < end; ++i) {
      state = state * 1664525 + 1013904223;
      int value = static_cast<int>(state >> 24) % 15 - 7;
      uint64_t bits = value;
      if (auto element = dyn_cast<FloatType>(type.getElementType())) {
        APFloat number(static_cast<double>(value));
        bool loses;
        number.convert(element.getFloatSemantics(),
                       APFloat::rmNearestTiesToEven, &loses);
        bits = number.bitcastToAPInt().getZExtValue();
      } else if (type.getElementTypeBitWidth() == 1) {
        bits = value & 1;
      }
      std::memcpy(out + i * bytes, &bits, bytes);
    }
  }

  std::vector<uint8_t> storage;
  uint64_t bytes = 0, size = 0;
};

/// The buffers of a function, by the values that it launches kernels with.
using Buffers = llvm::DenseMap<Value, std::unique_ptr<Buffer>>;

/// A launch with constants for all that it is given.
class StaticLaunch {
public:
  /// An error says what is not constant.
  static FailureOr<StaticLaunch> get(LaunchOp op, gpu::GPUFuncOp kernel);

  /// What came of a run.
  struct Outcome {
    std::vector<sim::Report> reports;
    /// What the shortest schedule that fails is, if that was asked for.
    std::string shortest;
  };

  /// Runs it with the function's buffers, and makes those that are new. If a
  /// schedule that fails is to be shortened it is run again and again, with the
  /// buffers as it found them.
  Outcome run(const sim::Program &program, uint64_t seed, bool shrinks,
              Buffers &ofFunction);

  LaunchOp getOp() const { return op; }
  const std::array<uint32_t, 3> &getGrid() const { return grid; }

  /// Calls `body` with the number of each argument that is a buffer.
  template <typename Body>
  void forEachBuffer(Body body) {
    for (auto [number, buffer] : buffers)
      body(number, *buffer);
  }

private:
  explicit StaticLaunch(LaunchOp op) : op(op) {}

  LogicalResult readGrid();
  LogicalResult readParameter(ParamAttr param, BlockArgument argument);
  LogicalResult readScalar(Value value);
  void findBuffers(Buffers &ofFunction);
  sim::TensorMap makeMap(ParamAttr param, Buffer &buffer) const;

  LaunchOp op;
  std::array<uint32_t, 3> grid = {1, 1, 1}, together = {1, 1, 1},
                          cluster = {1, 1, 1};
  SmallVector<ParamAttr> parameters;
  llvm::DenseMap<unsigned, uint64_t> scalars;
  std::map<unsigned, Buffer *> buffers;
};

} // namespace

FailureOr<StaticLaunch> StaticLaunch::get(LaunchOp op, gpu::GPUFuncOp kernel) {
  StaticLaunch launch(op);
  if (failed(launch.readGrid()))
    return failure();
  for (BlockArgument argument : kernel.getArguments()) {
    auto param =
        kernel.getArgAttrOfType<ParamAttr>(argument.getArgNumber(), kParamAttr);
    if (!param)
      return kernel.emitError("has a parameter without `tl.param`");
    if (failed(launch.readParameter(param, argument)))
      return failure();
  }
  return launch;
}

LogicalResult StaticLaunch::readGrid() {
  for (auto [extent, value] : llvm::zip(grid, op.getGrid())) {
    std::optional<int64_t> constant = getConstantIntValue(value);
    if (!constant)
      return op.emitError("needs a grid of constants to be simulated");
    extent = *constant;
  }
  if (std::optional<ArrayRef<int64_t>> extents = op.getCluster())
    llvm::copy(*extents, cluster.begin());
  together = cluster;
  if (op.getCooperative())
    together = grid;
  for (auto [blocks, extent] : llvm::zip_equal(grid, together))
    if (blocks % extent != 0)
      return op.emitError("has ")
             << blocks << " blocks, which are no clusters of " << extent;
  return success();
}

LogicalResult StaticLaunch::readParameter(ParamAttr param,
                                          BlockArgument argument) {
  parameters.push_back(param);
  if (param.getKind() == ParamKind::Struct)
    return op.emitError("has a parameter that is a struct, which only a "
                        "program can be simulated with");
  Value operand = op.getArgs()[param.getOperand()];
  if (param.getKind() == ParamKind::Scalar)
    return readScalar(operand);
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
    return op.emitError("needs buffers of constant shapes to be simulated");
  return success();
}

LogicalResult StaticLaunch::readScalar(Value value) {
  unsigned number = parameters.back().getOperand();
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return op.emitError("needs constants for scalars to be simulated");
  if (auto integer = dyn_cast<IntegerAttr>(constant))
    scalars[number] = integer.getValue().getZExtValue();
  else
    scalars[number] =
        cast<FloatAttr>(constant).getValue().bitcastToAPInt().getZExtValue();
  return success();
}

void StaticLaunch::findBuffers(Buffers &ofFunction) {
  buffers.clear();
  for (ParamAttr param : parameters) {
    if (param.getKind() == ParamKind::Scalar)
      continue;
    unsigned number = param.getOperand();
    Value operand = op.getArgs()[number];
    std::unique_ptr<Buffer> &buffer = ofFunction[operand];
    if (!buffer)
      buffer =
          std::make_unique<Buffer>(cast<MemRefType>(operand.getType()), number);
    buffers[number] = buffer.get();
  }
}

/// In elements.
static uint64_t getStride(MemRefType type, unsigned dim) {
  uint64_t stride = 1;
  for (int64_t extent : type.getShape().drop_front(dim + 1))
    stride *= extent;
  return stride;
}

/// What the engine adds to elements as, if it does.
static sim::TensorMap::Addend getAddend(Type type) {
  using Addend = sim::TensorMap::Addend;
  if (type.isInteger(32))
    return Addend::I32;
  return type.isF16()    ? Addend::F16
         : type.isBF16() ? Addend::BF16
         : type.isF32()  ? Addend::F32
                         : Addend::None;
}

sim::TensorMap StaticLaunch::makeMap(ParamAttr param, Buffer &buffer) const {
  sim::TensorMap map;
  map.address = buffer.getAddress();
  map.rank = buffer.type.getRank();
  map.elementBytes = buffer.getElementBytes();
  map.swizzle = param.getSwizzle();
  map.addend = getAddend(buffer.type.getElementType());
  map.roundsToTF32 = isa_and_nonnull<mlir::FloatTF32Type>(param.getType());
  for (unsigned i = 0; i < map.rank; ++i) {
    unsigned dim = map.rank - 1 - i;
    map.extents[i] = buffer.type.getDimSize(dim);
    map.strides[i] = getStride(buffer.type, dim) * map.elementBytes;
    map.box[i] = param.getBox()[i];
  }
  return map;
}

StaticLaunch::Outcome StaticLaunch::run(const sim::Program &program,
                                        uint64_t seed, bool shrinks,
                                        Buffers &ofFunction) {
  findBuffers(ofFunction);
  std::vector<sim::GlobalMemory::Range> ranges;
  forEachBuffer([&](unsigned number, Buffer &buffer) {
    std::string name = "argument " + std::to_string(number);
    ranges.push_back(
        {buffer.getAddress(), buffer.getAddress() + buffer.getSize(), name});
  });
  sim::GlobalMemory memory(ranges);
  std::deque<sim::TensorMap> maps;
  SmallVector<uint64_t> values;
  for (ParamAttr param : parameters) {
    unsigned number = param.getOperand();
    auto found = buffers.find(number);
    Buffer *buffer = found == buffers.end() ? nullptr : found->second;
    switch (param.getKind()) {
    case ParamKind::Base:
      values.push_back(buffer->getAddress());
      break;
    case ParamKind::Dim:
      values.push_back(buffer->type.getDimSize(param.getIndex()));
      break;
    case ParamKind::Stride:
      values.push_back(getStride(buffer->type, param.getIndex()));
      break;
    case ParamKind::Scalar:
      values.push_back(scalars.lookup(number));
      break;
    case ParamKind::TensorMap:
      maps.push_back(makeMap(param, *buffer));
      values.push_back(reinterpret_cast<uint64_t>(&maps.back()));
      break;
    case ParamKind::Struct:
      llvm_unreachable("refused before");
    }
  }
  sim::Checkers checkers;
  sim::Launch launch;
  launch.program = &program;
  launch.grid = grid;
  launch.together = together;
  launch.cluster = cluster;
  launch.sharedBytes = program.sharedBytes;
  launch.isDependent = op.getDependent();
  launch.parameters = values;
  launch.global = &memory;
  launch.seed = seed;
  launch.observers = &checkers;
  std::vector<std::vector<uint8_t>> before = memory.save();
  Outcome outcome;
  outcome.reports = sim::run(launch).reports;
  if (!shrinks || outcome.reports.empty())
    return outcome;
  if (auto schedule =
          sim::shrink(launch, outcome.reports, [&] { memory.restore(before); }))
    outcome.shortest = sim::describe(*schedule, launch);
  return outcome;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static Location getLocation(MLIRContext *context, const sim::Place &place) {
  return FileLineColLoc::get(context, place.file, place.line, place.column);
}

static InFlightDiagnostic emit(const sim::Report &report,
                               const sim::Program &program,
                               const std::array<uint32_t, 3> &grid,
                               Location launch) {
  auto getPlace = [&](const sim::Report::Side &side) {
    return getLocation(launch.getContext(), program.getPlace(side.instruction));
  };
  auto getText = [&](const sim::Report::Side &side) {
    return sim::describeWho(side, grid, program.block) + " " + side.text;
  };
  InFlightDiagnostic diag = mlir::emitError(
      report.sides.empty() ? launch : getPlace(report.sides.front()));
  diag << sim::getName(report.kind) << ": ";
  if (!report.sides.empty())
    diag << getText(report.sides.front()) << "; ";
  diag << report.message;
  // What is wrong with a launch as a whole has none.
  for (const sim::Report::Side &side :
       ArrayRef(report.sides).drop_front(!report.sides.empty()))
    diag.attachNote(getPlace(side)) << getText(side);
  return diag;
}

namespace {
struct SimulateLaunchesPass
    : tl::impl::SimulateLaunchesPassBase<SimulateLaunchesPass> {
  using SimulateLaunchesPassBase::SimulateLaunchesPassBase;

  void runOnOperation() override {
    // By the function, or whatever holds them.
    llvm::MapVector<Operation *, SmallVector<Prepared>> launches;
    bool failed = false;
    getOperation().walk([&](LaunchOp op) {
      auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
          op, op.getKernel());
      if (!kernel)
        return;
      FailureOr<Prepared> prepared = prepare(op, kernel);
      if (mlir::failed(prepared))
        failed = true;
      else
        launches[op->getParentOp()].push_back(std::move(*prepared));
    });
    for (auto &[function, ofFunction] : launches)
      failed |= mlir::failed(simulate(ofFunction));
    if (failed)
      signalPassFailure();
  }

private:
  struct Prepared {
    std::unique_ptr<sim::Program> program;
    StaticLaunch launch;
  };

  static FailureOr<Prepared> prepare(LaunchOp op, gpu::GPUFuncOp kernel) {
    FailureOr<std::unique_ptr<sim::Program>> program = sim::decode(kernel);
    if (mlir::failed(program))
      return failure();
    FailureOr<StaticLaunch> launch = StaticLaunch::get(op, kernel);
    if (mlir::failed(launch))
      return failure();
    return Prepared{std::move(*program), std::move(*launch)};
  }

  LogicalResult simulate(MutableArrayRef<Prepared> launches) {
    for (unsigned seed = firstSeed; seed < firstSeed + seeds; ++seed) {
      Buffers buffers;
      for (auto &[program, launch] : launches)
        if (mlir::failed(simulate(*program, launch, seed, buffers)))
          return failure();
    }
    return success();
  }

  LogicalResult simulate(const sim::Program &program, StaticLaunch &launch,
                         unsigned seed, Buffers &buffers) {
    LaunchOp op = launch.getOp();
    StaticLaunch::Outcome outcome = launch.run(program, seed, shrink, buffers);
    for (const sim::Report &report : outcome.reports) {
      InFlightDiagnostic diag =
          emit(report, program, launch.getGrid(), op.getLoc());
      if (&report == &outcome.reports.front() && !outcome.shortest.empty())
        diag.attachNote(op.getLoc()) << outcome.shortest;
    }
    if (digests)
      launch.forEachBuffer([&](unsigned number, Buffer &buffer) {
        op.emitRemark() << "`" << op.getKernel().getLeafReference().getValue()
                        << "`, seed " << seed << ", argument " << number << ": "
                        << llvm::utohexstr(buffer.getDigest());
      });
    return success(outcome.reports.empty());
  }
};
} // namespace
