//===- HostExecutable.cpp - Run a launch plan on the CPU ------------------===//
//
// A launch is a loop over the blocks of its grid, shared among the threads of a
// pool; the kernels are functions that run a range of blocks. Blocks of a
// cluster belong together: their numbers may follow each other, and no range
// cuts one in two. Blocks of a cooperative launch wait for each other, so that
// each has a thread of its own. If they wait for ever the call ends with an
// error (HostWaits.h).
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/HostWaits.h"
#include "tl/Runtime/PlanExecutable.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Runtime/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <condition_variable>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

using namespace llvm;
using namespace tl::runtime;

namespace {
class HostExecutable : public PlanExecutable {
public:
  HostExecutable(LaunchPlan plan, std::vector<HostKernel> functions,
                 ThreadPool &pool)
      : PlanExecutable(std::move(plan), kDLCPU),
        functions(std::move(functions)), pool(pool) {}

protected:
  Error launch(Frame &frame, ArrayRef<Argument> arguments, int device,
               void *stream) const override;

private:
  /// One per launch of the plan.
  std::vector<HostKernel> functions;
  ThreadPool &pool;
};
} // namespace

/// Fails if `launch` asks for what only a GPU can do.
static Error checkLaunch(const LaunchPlan &plan, const Launch &launch) {
  if (none_of(launch.params, [](const Parameter &parameter) {
        return parameter.kind == Parameter::Kind::TensorMap;
      }))
    return Error::success();
  return makeError(ErrorCategory::Plan,
                   "`" + plan.name + "`: kernel `" + launch.kernel +
                       "` needs tensor maps, which the CPU does not have; "
                       "compile for the `cpu` backend or load the kernel for a "
                       "GPU");
}

namespace {
/// The blocks of a launch that run at the same time.
class CooperativeLaunch {
public:
  /// `kernel` says whose blocks they are.
  CooperativeLaunch(const Twine &kernel, const int64_t *grid, int64_t count,
                    Interruption &interruption)
      : kernel(kernel.str()), grid(grid), count(count),
        interruption(interruption), blocks(count) {}

  /// Runs `body` for each block, each in a thread of its own. Fails, without
  /// having run any, if there are too many for that; and if they wait for ever.
  Error run(function_ref<void(int64_t)> body);

private:
  void runBlock(int64_t block, function_ref<void(int64_t)> body);
  void waitForAll();
  Error makeDeadlock();

  const std::string kernel;
  const int64_t *const grid;
  const int64_t count;
  Interruption &interruption;
  BlocksTogether blocks;
  std::mutex mutex;
  std::condition_variable done;
  int64_t returned = 0;
};
} // namespace

Error CooperativeLaunch::run(function_ref<void(int64_t)> body) {
  // As many as the blocks that a large GPU holds at once.
  constexpr int64_t most = 4096;
  if (count > most)
    return makeError(ErrorCategory::Value,
                     kernel + ": " + Twine(count) +
                         " blocks wait for each other, and the CPU runs at "
                         "most " +
                         Twine(most) + " at once; use a smaller grid");
  // No block begins before it is known that all can: it would wait for ever.
  std::promise<bool> decision;
  std::shared_future<bool> begin = decision.get_future().share();
  std::vector<std::thread> threads;
  bool canRun = true;
  try {
    for (int64_t i = 0; i != count; ++i)
      threads.emplace_back([this, begin, i, body] {
        if (begin.get())
          runBlock(i, body);
      });
  } catch (const std::system_error &) {
    canRun = false;
  }
  decision.set_value(canRun);
  if (canRun)
    waitForAll();
  for (std::thread &thread : threads)
    thread.join();
  if (!canRun)
    return makeError(ErrorCategory::OutOfMemory,
                     kernel + ": " + Twine(count) +
                         " blocks wait for each other, and the process gets no "
                         "more than " +
                         Twine(threads.size()) +
                         " threads; use a smaller grid");
  return blocks.isDeadlock() ? makeDeadlock() : Error::success();
}

void CooperativeLaunch::runBlock(int64_t block,
                                 function_ref<void(int64_t)> body) {
  if (runBlocks(interruption, &blocks, [&] { body(block); }))
    blocks.end(block);
  std::lock_guard<std::mutex> lock(mutex);
  if (++returned == count)
    done.notify_one();
}

/// Waits, and asks meanwhile whether the call is to end.
void CooperativeLaunch::waitForAll() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!done.wait_for(lock, Interruption::kInterval,
                        [&] { return returned == count; })) {
    lock.unlock();
    (void)interruption.isWanted();
    lock.lock();
  }
}

Error CooperativeLaunch::makeDeadlock() {
  constexpr size_t most = 8;
  std::string text = kernel + ": deadlock: each block that has not ended waits "
                              "for what no block changes any more";
  SmallVector<int64_t> ended = blocks.getEnded();
  if (!ended.empty()) {
    text += formatv("; {0} of {1} blocks have ended, and come to no barrier of "
                    "the grid any more:",
                    ended.size(), count);
    for (int64_t block : ArrayRef(ended).take_front(most))
      text += formatv(" ({0}, {1}, {2})", block % grid[0],
                      block / grid[0] % grid[1], block / grid[0] / grid[1]);
    if (ended.size() > most)
      text += formatv(" and {0} more", ended.size() - most);
  }
  return makeError(ErrorCategory::Deadlock,
                   text + "; the simulator, `backend=\"sim\"`, says where they "
                          "wait");
}

Expected<std::unique_ptr<Executable>>
Executable::loadHost(StringRef json, ArrayRef<KernelImage> kernels,
                     ThreadPool *pool) {
  Expected<LaunchPlan> plan = LaunchPlan::parse(json);
  if (!plan)
    return plan.takeError();
  std::vector<HostKernel> functions;
  for (const Launch &launch : plan->launches) {
    if (Error error = checkLaunch(*plan, launch))
      return error;
    const KernelImage *kernel = find_if(kernels, [&](const KernelImage &image) {
      return image.name == launch.kernel;
    });
    if (kernel == kernels.end() || !kernel->function)
      return makeError(ErrorCategory::Plan,
                       "`" + plan->name + "`: no host function for kernel `" +
                           launch.kernel + "`");
    functions.push_back(kernel->function);
  }
  return std::make_unique<HostExecutable>(std::move(*plan),
                                          std::move(functions),
                                          pool ? *pool : ThreadPool::global());
}

Error HostExecutable::launch(Frame &frame, ArrayRef<Argument>, int,
                             void *) const {
  Interruption interruption;
  for (auto [launch, values, function] :
       zip_equal(plan.launches, frame.getLaunches(), functions)) {
    const int64_t *grid = values.grid;
    int64_t blocks;
    if (MulOverflow(grid[0] * grid[1], grid[2], blocks))
      return makeError(ErrorCategory::Value,
                       "`" + plan.name + "`: kernel `" + launch.kernel +
                           "` has more blocks than 64 bits can count; pass "
                           "smaller tensors");
    if (launch.isCooperative) {
      CooperativeLaunch together("`" + plan.name + "`: kernel `" +
                                     launch.kernel + "`",
                                 grid, blocks, interruption);
      Error error = together.run([&, function = function](int64_t i) {
        function(values.params, i, i + 1, grid[0], grid[1]);
      });
      if (error)
        return error;
      if (interruption.wasWanted())
        return interruption.makeError();
      continue;
    }
    for (auto [extent, ofCluster] : zip(ArrayRef(grid, 3), launch.cluster))
      if (extent % ofCluster != 0)
        return makeError(
            ErrorCategory::Value,
            "`" + plan.name + "`: kernel `" + launch.kernel +
                "` has a grid of " + Twine(extent) +
                " blocks along a dimension in which clusters have " +
                Twine(ofCluster) + "; the grid must be made of whole clusters");
    int64_t together = launch.clusterSize();
    pool.parallelFor(
        blocks / together,
        [&, function = function](int64_t begin, int64_t end) {
          (void)runBlocks(interruption, /*together=*/nullptr, [&] {
            function(values.params, begin * together, end * together, grid[0],
                     grid[1]);
          });
        },
        &interruption);
    if (interruption.wasWanted())
      return interruption.makeError();
  }
  return Error::success();
}
