//===- HostExecutable.cpp - Run a launch plan on the CPU ------------------===//
//
// A launch is a loop over the blocks of its grid, shared among the threads of a
// pool; the kernels are functions that run a range of blocks.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/PlanExecutable.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Runtime/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

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

/// Fails if `launch` asks for what only a GPU can do. Clusters are no such
/// thing: they say which blocks are neighbours, and kernels that are compiled
/// for the CPU do not look at those.
static Error checkLaunch(const LaunchPlan &plan, const Launch &launch) {
  StringRef feature;
  if (launch.isCooperative)
    feature = "a cooperative launch";
  else if (any_of(launch.params, [](const Parameter &parameter) {
             return parameter.kind == Parameter::Kind::TensorMap;
           }))
    feature = "tensor maps";
  else
    return Error::success();
  return makeError(ErrorCategory::Plan,
                   "`" + plan.name + "`: kernel `" + launch.kernel +
                       "` needs " + feature +
                       ", which the CPU does not have; compile for the `cpu` "
                       "backend or load the kernel for a GPU");
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
    pool.parallelFor(blocks,
                     [&, function = function](int64_t begin, int64_t end) {
                       function(values.params, begin, end, grid[0], grid[1]);
                     });
  }
  return Error::success();
}
