//===- SimulatedExecutable.cpp - Run a launch plan in the simulator -------===//
//
// See SimulatedExecutable.h. Kernels run one after the other; the first one
// that fails ends the call, and what the ones before it wrote stays written.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/SimulatedExecutable.h"

#include "tl/Runtime/Interruption.h"
#include "tl/Runtime/PlanExecutable.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Runtime/TensorMap.h"
#include "tl/Runtime/ThreadPool.h"
#include "tl/Simulator/Checkers/Checkers.h"
#include "tl/Simulator/Counters/Counters.h"
#include "tl/Simulator/Counters/Timeline.h"
#include "tl/Simulator/Machine.h"
#include "tl/Simulator/Shrink.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <deque>

using namespace llvm;
using namespace tl;
using namespace tl::runtime;
using namespace tl::sim;

/// The options of the process, changed and read by any thread.
static std::atomic<uint64_t> seedOfProcess = 0;
static std::atomic<bool> checksOfProcess = true;
static std::atomic<bool> shrinksOfProcess = false;

static std::atomic<uint64_t> threadInstructions = 0;

uint64_t tl::sim::getThreadInstructions() { return threadInstructions; }

void tl::sim::setOptions(const SimulationOptions &options) {
  seedOfProcess = options.seed;
  checksOfProcess = options.checks;
  shrinksOfProcess = options.shrinks;
}

/// What counts launches of this thread, or null, and how many blocks of each.
static thread_local std::unique_ptr<Counters> counters;
static thread_local uint64_t mostCountedBlocks;

void tl::sim::beginCounts(uint64_t mostBlocks) {
  counters = std::make_unique<Counters>();
  mostCountedBlocks = mostBlocks;
}

json::Value tl::sim::endCounts() {
  json::Array launches;
  if (std::unique_ptr<Counters> ended = std::move(counters))
    for (const LaunchCounts &launch : ended->getLaunches())
      launches.push_back(toJSON(launch));
  return launches;
}

/// What lists the acts of launches of this thread, or null.
static thread_local std::unique_ptr<Timeline> timeline;

void tl::sim::beginTimeline(uint64_t block, unsigned line) {
  timeline = std::make_unique<Timeline>(block, line);
}

json::Value tl::sim::endTimeline() {
  std::unique_ptr<Timeline> ended = std::move(timeline);
  return ended ? ended->take() : json::Array();
}

/// What calls of this thread repeat, if they do.
static thread_local std::optional<Replay> replayed;

void tl::sim::beginReplay(Replay replay) { replayed = std::move(replay); }
void tl::sim::endReplay() { replayed.reset(); }

namespace {
class SimulatedExecutable : public PlanExecutable {
public:
  SimulatedExecutable(LaunchPlan plan,
                      std::vector<std::unique_ptr<Program>> programs)
      : PlanExecutable(std::move(plan), kDLCPU), programs(std::move(programs)) {
  }

  Error prepare();

protected:
  Error launch(Frame &frame, ArrayRef<Argument> arguments, int device,
               void *stream) const override;

private:
  GlobalMemory getMemory(Frame &frame, ArrayRef<Argument> arguments) const;
  Error launchOne(Frame &frame, ArrayRef<Argument> arguments, size_t position,
                  const GlobalMemory &memory, Interruption &interruption) const;
  Expected<sim::TensorMap> makeTensorMap(Frame &frame,
                                         ArrayRef<Argument> arguments,
                                         const Parameter &parameter) const;

  std::vector<std::unique_ptr<Program>> programs;
  /// One for each launch of the plan.
  std::vector<const Program *> launched;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// What `launch` needs that the simulator does not have, or nothing.
static StringRef findMissing(const runtime::Launch &launch) {
  if (any_of(launch.params, [](const Parameter &parameter) {
        return parameter.kind == Parameter::Kind::Struct;
      }))
    return "parameters that are structs";
  return "";
}

/// Finds the program of each launch.
Error SimulatedExecutable::prepare() {
  for (const runtime::Launch &launch : plan.launches) {
    auto fail = [&](const Twine &message) {
      return makeError(ErrorCategory::Plan, "`" + plan.name + "`: kernel `" +
                                                launch.kernel + "` " + message);
    };
    if (StringRef missing = findMissing(launch); !missing.empty())
      return fail("needs " + missing + ", which the simulator does not have");
    auto found =
        find_if(programs, [&](const std::unique_ptr<Program> &program) {
          return program->kernel == launch.kernel;
        });
    if (found == programs.end())
      return fail("is not among the programs");
    if ((*found)->parameters.size() != launch.params.size())
      return fail("takes other parameters than its launch passes");
    launched.push_back(found->get());
  }
  return Error::success();
}

Expected<std::unique_ptr<Executable>>
tl::sim::loadSimulated(StringRef json,
                       std::vector<std::unique_ptr<Program>> programs) {
  Expected<LaunchPlan> plan = LaunchPlan::parse(json);
  if (!plan)
    return plan.takeError();
  auto executable = std::make_unique<SimulatedExecutable>(std::move(*plan),
                                                          std::move(programs));
  if (Error error = executable->prepare())
    return error;
  return std::move(executable);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The bytes between the first and the last element of each tensor.
GlobalMemory
SimulatedExecutable::getMemory(Frame &frame,
                               ArrayRef<Argument> arguments) const {
  std::vector<GlobalMemory::Range> ranges;
  ArrayRef<int64_t> slots = frame.getSlots();
  for (auto [argument, actual] : zip_equal(plan.arguments, arguments)) {
    if (!argument.isTensor)
      continue;
    int64_t bytes = getByteSize(argument.dtype), first = 0, last = 0;
    bool isEmpty = false;
    std::vector<GlobalMemory::Dim> dims;
    for (unsigned dim = 0; dim < argument.rank; ++dim) {
      int64_t extent = slots[argument.extentSlot(dim)];
      int64_t stride = slots[argument.strideSlot(dim)] * bytes;
      int64_t reach = (extent - 1) * stride;
      dims.push_back({extent, stride});
      isEmpty |= extent == 0;
      (reach < 0 ? first : last) += reach;
    }
    if (isEmpty)
      continue;
    auto base = reinterpret_cast<uint64_t>(Frame::getBase(actual));
    ranges.push_back({base + first, base + last + bytes, argument.name,
                      argument.isRecord, static_cast<uint32_t>(bytes),
                      std::move(dims)});
  }
  return GlobalMemory(std::move(ranges));
}

static sim::TensorMap::Addend getAddend(DataType type) {
  using Addend = sim::TensorMap::Addend;
  switch (type) {
  case DataType::I32:
  case DataType::U32:
    return Addend::I32;
  case DataType::F16:
    return Addend::F16;
  case DataType::BF16:
    return Addend::BF16;
  case DataType::F32:
    return Addend::F32;
  default:
    return Addend::None;
  }
}

Expected<sim::TensorMap>
SimulatedExecutable::makeTensorMap(Frame &frame, ArrayRef<Argument> arguments,
                                   const Parameter &parameter) const {
  const PlanArgument &argument = plan.arguments[parameter.argument];
  const TensorMapLayout &layout = parameter.map;
  TensorMapKey key =
      TensorMapKey::get(argument, layout, frame.getSlots(),
                        Frame::getBase(arguments[parameter.argument]));
  if (Error error = checkTensorMap(plan, argument, layout, key))
    return error;
  sim::TensorMap map;
  map.address = reinterpret_cast<uint64_t>(key.address);
  map.rank = argument.rank;
  map.elementBytes = getByteSize(layout.dtype);
  for (unsigned i = 0; i != argument.rank; ++i) {
    map.extents[i] = key.extents[i];
    map.strides[i] = key.strides[i];
    map.box[i] = layout.box[i];
  }
  map.swizzle = layout.swizzle;
  map.roundsToTF32 = layout.dtype == DataType::TF32;
  map.addend = getAddend(layout.dtype);
  return map;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static InstructionId getInstruction(const Report::Side &side) {
  return side.instruction;
}

/// Without those that only say again, of another block, what one before says.
static std::vector<Report> dropRepeated(ArrayRef<Report> reports) {
  std::vector<Report> kept;
  for (const Report &report : reports)
    if (none_of(kept, [&](const Report &other) {
          return other.kind == report.kind && other.message == report.message &&
                 equal(map_range(other.sides, getInstruction),
                       map_range(report.sides, getInstruction));
        }))
      kept.push_back(report);
  return kept;
}

/// What was found, as one message.
static std::string makeReport(ArrayRef<Report> found, const sim::Launch &launch,
                              uint64_t seed) {
  constexpr size_t most = 8;
  std::vector<Report> reports = dropRepeated(found);
  std::string text;
  for (const Report &report : ArrayRef(reports).take_front(most))
    text += (text.empty() ? "" : "\n") + describe(report, launch);
  if (reports.size() > most)
    text += formatv("\nand {0} more", reports.size() - most);
  text += formatv("\nfound with seed {0}; TL_SIM_SEED={0} gives the same "
                  "execution again",
                  seed);
  return text;
}

Error SimulatedExecutable::launchOne(Frame &frame, ArrayRef<Argument> arguments,
                                     size_t position,
                                     const GlobalMemory &memory,
                                     Interruption &interruption) const {
  const runtime::Launch &planned = plan.launches[position];
  const Frame::Values &values = frame.getLaunches()[position];
  if (values.isEmpty())
    return Error::success();

  const Program &program = *launched[position];
  std::deque<sim::TensorMap> maps;
  SmallVector<uint64_t> parameters;
  for (auto [i, parameter] : enumerate(planned.params)) {
    if (parameter.kind == Parameter::Kind::TensorMap) {
      Expected<sim::TensorMap> map = makeTensorMap(frame, arguments, parameter);
      if (!map)
        return map.takeError();
      maps.push_back(*map);
      parameters.push_back(reinterpret_cast<uint64_t>(&maps.back()));
      continue;
    }
    parameters.push_back(
        *static_cast<uint64_t *>(values.params[i]) &
        maskTrailingOnes<uint64_t>(program.parameters[i].bits));
  }

  Checkers checkers;
  sim::Launch launch;
  launch.program = &program;
  for (unsigned i = 0; i != 3; ++i)
    launch.grid[i] = values.grid[i];
  launch.together = planned.isCooperative ? launch.grid : planned.cluster;
  launch.cluster = planned.cluster;
  for (unsigned i = 0; i != 3; ++i)
    if (launch.grid[i] % launch.together[i] != 0)
      return makeError(
          ErrorCategory::Value,
          formatv("`{0}`: kernel `{1}` has {2} blocks along {3}, which are "
                  "no clusters of {4}; a GPU does not launch it either",
                  plan.name, planned.kernel, launch.grid[i], "xyz"[i],
                  launch.together[i]));
  launch.sharedBytes = values.shared;
  launch.isDependent = planned.isDependent;
  launch.parameters = parameters;
  launch.global = &memory;
  uint64_t seed = replayed ? replayed->seed : seedOfProcess.load();
  launch.seed = seed + position;
  if (counters) {
    launch.observers = counters.get();
    launch.mostBlocks = mostCountedBlocks;
  } else if (timeline) {
    launch.observers = timeline.get();
    launch.only = timeline->block;
  } else if (checksOfProcess) {
    launch.observers = &checkers;
  }
  if (replayed && replayed->launch == position) {
    launch.only = replayed->block;
    launch.schedule = &replayed->schedule;
  }
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (launch.only && *launch.only >= blocks)
    return makeError(ErrorCategory::Value,
                     formatv("`{0}`: kernel `{1}` has {2} blocks, and none "
                             "with the number {3}",
                             plan.name, planned.kernel, blocks, *launch.only));
  launch.pool = &ThreadPool::global();
  launch.interruption = &interruption;
  bool shrinks = shrinksOfProcess && !launch.only && !counters;
  std::vector<std::vector<uint8_t>> before;
  if (shrinks)
    before = memory.save();
  LaunchResult result = run(launch);
  threadInstructions += result.threadInstructions;
  if (interruption.isWanted())
    return interruption.makeError();
  if (result.reports.empty())
    return Error::success();
  std::string text = makeReport(result.reports, launch, seed);
  if (shrinks) {
    auto schedule =
        shrink(launch, result.reports, [&] { memory.restore(before); });
    if (schedule)
      text += formatv("\n{0}\nschedule: {1}", describe(*schedule, launch),
                      print({seed, position, schedule->block,
                             std::move(schedule->decisions)}));
    else
      text += "\nno schedule: one is of a single block, and this block alone "
              "does not fail, since it takes what other blocks do";
  }
  // What was shortened until then is not the shortest.
  if (interruption.isWanted())
    return interruption.makeError();
  return makeError(ErrorCategory::Simulation, text);
}

Error SimulatedExecutable::launch(Frame &frame, ArrayRef<Argument> arguments,
                                  int, void *) const {
  GlobalMemory memory = getMemory(frame, arguments);
  Interruption interruption;
  for (size_t i = 0; i != plan.launches.size(); ++i)
    if (Error error = launchOne(frame, arguments, i, memory, interruption))
      return error;
    else if (replayed && replayed->launch == i)
      break;
  return Error::success();
}
