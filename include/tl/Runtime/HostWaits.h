//===- HostWaits.h - Kernels of the CPU that wait for blocks ----*- C++ -*-===//
//
// A loop of a kernel that waits for other blocks gives the processor away in
// each round, by `sched_yield` (Conversion/TLToCPU/LowerAtomics.cpp). In this
// process it is `waitInKernel` that is called by that name. So the runtime is
// asked just where a block may wait for ever, and can end it there.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_HOSTWAITS_H
#define TL_RUNTIME_HOSTWAITS_H

#include "tl/Runtime/Interruption.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <mutex>

namespace tl::runtime {

/// What a kernel says when it calls `sched_yield`, whose own takes nothing.
enum class WaitStep : int32_t {
  /// It comes to a loop that only waits: its rounds read, and do nothing else.
  Comes = 0,
  /// It has to wait for one more round of that loop.
  Waits = 1,
  /// It goes round a loop that waits, and may do other things there.
  Turns = 2,
};

/// The blocks of a launch that run at the same time, each in its own thread. It
/// is a deadlock when each that has not ended waits for what nobody changes any
/// more.
///
/// Times are cut into *epochs*: one begins when a block comes to a wait, or
/// ends. A block has *seen* an epoch when a whole round of its wait lay in it.
/// It had then been in that loop since before the epoch began, or began it by
/// coming there; and what others had written before is what it saw. Once all
/// have seen the same epoch, nobody has written anything since it began, nor
/// goes on to do so.
class BlocksTogether {
public:
  explicit BlocksTogether(int64_t count) : running(count) {}

  /// What one block has to do with it.
  struct Member {
    uint64_t epoch = 0;
    bool hasSeen = false;
  };

  void step(Member &member, WaitStep step);
  /// Says that a block of this number, which was not made to, has ended.
  void end(int64_t block);

  bool isDeadlock() const { return deadlock; }
  /// The blocks that have ended by themselves, in order.
  llvm::SmallVector<int64_t> getEnded();

private:
  void beginEpoch();

  std::mutex mutex;
  std::atomic<uint64_t> epoch = 1;
  std::atomic<bool> deadlock = false;
  int64_t running;
  /// How many blocks have seen the epoch.
  int64_t seen = 0;
  llvm::SmallVector<int64_t> ended;
};

/// Runs blocks of a kernel in this thread; `together` are those that run at the
/// same time, this one of them, or null. Returns false if it was made to end
/// where it waited. Then memory that `body` allocated stays so.
bool runBlocks(Interruption &interruption, BlocksTogether *together,
               llvm::function_ref<void()> body);

/// Called by kernels as `sched_yield`.
int waitInKernel(int32_t step);

} // namespace tl::runtime

#endif // TL_RUNTIME_HOSTWAITS_H
