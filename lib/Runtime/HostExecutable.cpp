//===- HostExecutable.cpp - Run a launch plan on the CPU ------------------===//
//
// A launch is a loop over the blocks of its grid, shared among the threads of a
// pool; the kernels are functions that run a range of blocks. Blocks of a
// cluster belong together: their numbers may follow each other, and no range
// cuts one in two. Blocks of a cooperative launch wait for each other, so that
// each has a thread of its own.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/PlanExecutable.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Runtime/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
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

/// Runs `body` for each of `count` blocks at once, each in a thread of its own.
/// Fails, without having run any, if there are too many for that; `kernel` says
/// whose they are.
static Error runTogether(const Twine &kernel, int64_t count,
                         function_ref<void(int64_t)> body) {
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
      threads.emplace_back([begin, i, body] {
        if (begin.get())
          body(i);
      });
  } catch (const std::system_error &) {
    canRun = false;
  }
  decision.set_value(canRun);
  for (std::thread &thread : threads)
    thread.join();
  if (canRun)
    return Error::success();
  return makeError(ErrorCategory::OutOfMemory,
                   kernel + ": " + Twine(count) +
                       " blocks wait for each other, and the process gets no "
                       "more than " +
                       Twine(threads.size()) + " threads; use a smaller grid");
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
      Error error =
          runTogether("`" + plan.name + "`: kernel `" + launch.kernel + "`",
                      blocks, [&, function = function](int64_t i) {
                        function(values.params, i, i + 1, grid[0], grid[1]);
                      });
      if (error)
        return error;
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
    pool.parallelFor(blocks / together,
                     [&, function = function](int64_t begin, int64_t end) {
                       function(values.params, begin * together, end * together,
                                grid[0], grid[1]);
                     });
  }
  return Error::success();
}
