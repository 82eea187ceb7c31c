//===- AsyncOperations.h - What is under way in a block ---------*- C++ -*-===//
//
// `cp.async`, bulk copies and `wgmma` of a block that are issued and not yet
// complete, as lists of parts that can happen one by one, and the groups that
// threads wait for.
//
// What orders parts (PTX ISA, "Asynchronous operations"): nothing, but that
//  - all parts of an operation come before the completion that its issuer waits
//    for;
//  - the parts of `wgmma` of one warp come in program order, because they add
//    to the same registers;
//  - a bulk store reads before it writes, and a wait for its read does not wait
//    for its write.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_ASYNCOPERATIONS_H
#define TL_LIB_SIMULATOR_ASYNCOPERATIONS_H

#include "tl/Simulator/Events.h"
#include "tl/Simulator/Instructions.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>

namespace tl::sim {

class Block;
class Warp;

/// One operation under way.
struct AsyncOperation {
  /// A piece of a copy, of one lane.
  struct Part {
    CopyPart copy;
    uint8_t lane = 0;
    /// Of a store that has read and not written: what it has read.
    std::unique_ptr<uint8_t[]> read;
  };
  /// An instruction of `wgmma`.
  struct Product {
    Wgmma wgmma;
    uint32_t *sums = nullptr;
    /// A as it was at the issue, if it is in registers.
    std::vector<uint32_t> registers;
  };

  AsyncId id = 0;
  AsyncKind kind = AsyncKind::CopyAsync;
  Event issue;
  /// Of a load, where it lands; else 0.
  uint32_t mbarrier = 0;
  /// Of a store that accumulates: adds `bytes` bytes of elements, each in one
  /// step. Null if it writes.
  void (*add)(uint8_t *to, const uint8_t *from, uint32_t bytes) = nullptr;
  /// Lanes that have not put it into a group yet.
  LaneMask uncommitted = 0;
  /// Of copies, those that are to happen, in no order.
  std::vector<Part> parts;
  /// Of `wgmma`, those that are to happen, the first one last.
  std::vector<Product> products;

  bool isDone() const { return parts.empty() && products.empty(); }
};

/// Operations that a commit has put together, of some lanes of a warp.
struct AsyncGroup {
  AsyncKind kind = AsyncKind::CopyAsync;
  uint32_t warp = 0;
  LaneMask lanes = 0;
  llvm::SmallVector<AsyncId, 8> operations;
  /// Lanes that know it complete.
  LaneMask waited = 0;
  InstructionId instruction = 0;
  /// Of `wgmma`: the registers that it adds to.
  const uint32_t *sums = nullptr;
  /// And the number of the factors whose registers it reads (Factors.h), or 0.
  uint32_t factor = 0;
};

class AsyncOperations {
public:
  explicit AsyncOperations(Block &block) : block(block) {}

  bool isEmpty() const { return operations.empty(); }

  /// Takes an operation over, numbers it and tells of it.
  void issue(AsyncOperation operation);

  /// Closes a group of the warp's active lanes.
  void commit(Warp &warp, AsyncKind kind, InstructionId instruction,
              const uint32_t *sums = nullptr, uint32_t factor = 0);

  /// The `wgmma` that adds to `sums` and that the warp has not waited for.
  std::optional<InstructionId> findWriter(const Warp &warp,
                                          const uint32_t *sums) const;

  /// The warp still has the registers of these factors. They were not to be
  /// used for anything else before.
  void hold(const Warp &warp, uint32_t factor);

  /// Registers that a `wgmma` read.
  struct ReadFactor {
    uint32_t warp = 0, factor = 0;
    InstructionId instruction = 0;
    /// What waited for it.
    InstructionId wait = 0;
  };
  /// What a complete `wgmma` of the warp read, and nothing has held since.
  std::optional<ReadFactor> findUnheld(const Warp &warp) const;

  /// Lets all happen that must have before the warp's active lanes go on.
  void wait(Warp &warp, AsyncKind kind, uint32_t pending, bool readsOnly,
            InstructionId instruction);

  /// Lets some part happen; there is one.
  void advance();

  /// Lets everything happen.
  void finish();

private:
  AsyncOperation *find(AsyncId id);
  void advance(AsyncOperation &operation, size_t part);
  void doProduct(AsyncOperation &operation);
  /// Lets all parts of these lanes happen, or their reads.
  void complete(AsyncOperation &operation, LaneMask lanes, bool readsOnly);
  void read(AsyncOperation &operation, AsyncOperation::Part &part);
  void write(AsyncOperation &operation, AsyncOperation::Part &part);
  void removeDone();
  /// Calls `visit` with the lanes of the warp's operations of a kind that are
  /// in no group yet.
  void forEachUncommitted(const Warp &warp, AsyncKind kind,
                          llvm::function_ref<void(AsyncId, LaneMask &)> visit);
  void tell(AsyncId id, const Span *read, const Span *write);

  Block &block;
  /// Under way, by their numbers.
  std::deque<AsyncOperation> operations;
  /// Done before they were put into a group.
  std::vector<AsyncOperation> done;
  std::deque<AsyncGroup> groups;
  llvm::SmallVector<ReadFactor> unheld;
};

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_ASYNCOPERATIONS_H
