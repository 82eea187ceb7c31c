//===- HostWaits.cpp - Kernels of the CPU that wait for blocks ------------===//
//
// A block is made to end by a jump out of its kernel: kernels have nothing to
// clean up, but for tiles that are too large for the stack.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/HostWaits.h"

#include "llvm/ADT/STLExtras.h"
#include <csetjmp>
#include <sched.h>

using namespace tl::runtime;

//===----------------------------------------------------------------------===//
// BlocksTogether
//===----------------------------------------------------------------------===//

void BlocksTogether::beginEpoch() {
  ++epoch;
  seen = 0;
}

void BlocksTogether::step(Member &member, WaitStep step) {
  if (step == WaitStep::Turns)
    return;
  if (step == WaitStep::Comes) {
    std::lock_guard<std::mutex> lock(mutex);
    beginEpoch();
    member = {epoch, /*hasSeen=*/false};
    return;
  }
  // The round that has ended began in an earlier epoch.
  uint64_t now = epoch;
  if (member.epoch != now) {
    member = {now, /*hasSeen=*/false};
    return;
  }
  if (member.hasSeen)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (epoch != now)
    return;
  member.hasSeen = true;
  if (++seen == running)
    deadlock = true;
}

void BlocksTogether::end(int64_t block) {
  std::lock_guard<std::mutex> lock(mutex);
  beginEpoch();
  --running;
  ended.push_back(block);
}

llvm::SmallVector<int64_t> BlocksTogether::getEnded() {
  std::lock_guard<std::mutex> lock(mutex);
  llvm::sort(ended);
  return ended;
}

//===----------------------------------------------------------------------===//
// One thread
//===----------------------------------------------------------------------===//

namespace {
/// What a thread runs.
struct Running {
  Interruption &interruption;
  BlocksTogether *together;
  /// What it ran before: what asks for an interruption may call a kernel.
  Running *outer;
  BlocksTogether::Member member;
  std::jmp_buf end;
};
} // namespace

static thread_local Running *running = nullptr;

bool tl::runtime::runBlocks(Interruption &interruption,
                            BlocksTogether *together,
                            llvm::function_ref<void()> body) {
  Running own{interruption, together, running, {}, {}};
  running = &own;
  // Nothing that is local changes between here and a jump.
  if (setjmp(own.end) == 0) {
    body();
    running = running->outer;
    return true;
  }
  running = running->outer;
  return false;
}

int tl::runtime::waitInKernel(int32_t step) {
  if (!running)
    return sched_yield();
  BlocksTogether *together = running->together;
  if (together)
    together->step(running->member, WaitStep(step));
  if (running->interruption.isWanted() || (together && together->isDeadlock()))
    std::longjmp(running->end, 1);
  return step == int32_t(WaitStep::Comes) ? 0 : sched_yield();
}
