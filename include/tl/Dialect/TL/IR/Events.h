//===- Events.h - What ops do to memory, and what orders it -----*- C++ -*-===//
//
// An op is, to whatever plans or checks memory, a list of events: accesses of
// buffers, and what orders accesses. Ops declare theirs by `EventOpInterface`;
// `getEvents` is how passes ask. Nothing here decides anything: these are the
// facts that the analyses share.
//
// The rules that the events are made of (PTX ISA, "Memory Consistency Model",
// "Async proxy", "mbarrier", "wgmma", "Data movement instructions"):
//
// - An access is *under way* from its op on, and *complete* when its
//   `Completion` says so. What is complete is known to the threads that waited;
//   a barrier makes it known to all.
// - Bulk copies and `wgmma` reach memory through the async proxy. What ordinary
//   stores wrote is there for it only after each thread that stored has
//   executed a fence and passed a barrier after that. The other way round no
//   fence is needed: the completion of an asynchronous access includes it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_EVENTS_H
#define TL_DIALECT_TL_IR_EVENTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <variant>

namespace tl {

/// How an access reaches memory.
enum class Proxy {
  Generic, ///< loads and stores, `cp.async`
  Async    ///< `wgmma`, the bulk copy engine
};

/// When an access is complete.
enum class Completion {
  AtOp,       ///< for each thread when it has executed the op
  Phase,      ///< when a phase of `Access::barrier` is
  CopyGroup,  ///< when its group of `cp.async` is
  StoreGroup, ///< when its group of bulk stores is
  GemmGroup   ///< when its group of `wgmma` is
};

/// Which threads of the scope that executes an op take part in an access.
enum class Participants {
  Shared, ///< all of them, each having a part of it
  Each,   ///< all of them, each for itself the whole of it
  One     ///< the first one alone
};

/// The index of one dimension: the sum of a factor for each coordinate of the
/// op's own iterations, one for each of `terms`, and a constant.
struct IndexForm {
  llvm::SmallVector<int64_t, 2> coordinates = {};
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms = {};
  int64_t constant = 0;

  bool operator==(const IndexForm &) const = default;
};

/// Which elements of a buffer (or of a slot of one) an access touches: one for
/// each point of a box, at most.
struct Footprint {
  /// Of the box of the op's iterations.
  llvm::SmallVector<int64_t, 2> extents = {};
  /// One for each dimension of the buffer; none where it may be any index.
  llvm::SmallVector<std::optional<IndexForm>, 2> indices = {};
  /// Touches all points of the box for sure.
  bool everyPoint = false;
  /// A `#tl.fragment_layout`, which says that each point belongs to exactly one
  /// thread, and to which one; null if that is not known.
  mlir::Attribute owners = {};

  bool operator==(const Footprint &) const = default;
};

/// One access of one buffer.
struct Access {
  /// As the op names it: a `tl.alloc`, a `tl.slot` or a kernel's argument.
  mlir::Value buffer = {};
  bool writes = false;
  Proxy proxy = Proxy::Generic;
  Completion completion = Completion::AtOp;
  Participants participants = Participants::Shared;
  /// None if it may be anything.
  std::optional<Footprint> footprint = std::nullopt;
  /// For `Completion::Phase`.
  mlir::Value barrier = {}, barrierIndex = {};
  /// Of an atomic operation that leaves the same in whatever order it comes
  /// among others of its kind: that kind and the elements' type. Null of all
  /// other accesses.
  mlir::Attribute combines = {};
};

/// True if both are atomic operations of one kind on one buffer, of which
/// nobody sees in which order they come.
bool commute(const Access &a, const Access &b);

/// What orders accesses.
struct Sync {
  enum class Kind {
    Barrier,   ///< all threads of the scope meet
    Fence,     ///< each thread's complete writes are there for the async proxy
    Arrive,    ///< one arrival on the current phase of a barrier
    WaitPhase, ///< until the phase of a parity is complete
    Commit,    ///< closes a group of the accesses with a completion
    WaitGroups ///< until at most `pending` groups are under way
  };
  Kind kind = Kind::Barrier;
  /// For `Fence`: device memory too.
  bool device = false;
  /// For `Arrive`: whose earlier accesses it speaks for.
  Participants participants = Participants::Shared;
  /// For `Arrive` and `WaitPhase`.
  mlir::Value barrier = {}, index = {}, parity = {};
  /// For `Commit` and `WaitGroups`: whose groups.
  Completion group = Completion::AtOp;
  int64_t pending = 0;
  /// For `WaitGroups` of stores: what they read is complete, not what they
  /// write.
  bool readsOnly = false;
  /// For `WaitGroups` of gemms: the fragments that are complete. A fragment is
  /// in registers, which a wait must name.
  llvm::SmallVector<mlir::Value, 1> fragments = {};
};

using Event = std::variant<Access, Sync>;

} // namespace tl

#endif // TL_DIALECT_TL_IR_EVENTS_H
