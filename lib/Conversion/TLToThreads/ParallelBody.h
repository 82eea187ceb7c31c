//===- ParallelBody.h - What is known of a parallel loop's body -*- C++ -*-===//
//
// Facts about the body of a `tl.parallel` that decide how it is lowered: which
// values are the same in all iterations of a thread, how indices move from one
// iteration to the next, and what the body reads and writes.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CONVERSION_TLTOTHREADS_PARALLELBODY_H
#define TL_LIB_CONVERSION_TLTOTHREADS_PARALLELBODY_H

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace tl {

class ParallelBody {
public:
  ParallelBody(ParallelOp loop, const layout::FragmentLayout &layout);

  ParallelOp getLoop() const { return loop; }
  const layout::FragmentLayout &getLayout() const { return layout; }
  int64_t getLastDim() const { return getRank() - 1; }
  int64_t getRank() const { return extents.size(); }

  /// True if the layout has lanes along `dim` that run no iteration.
  bool isPadded(int64_t dim) const {
    return layout.getShape()[dim] != extents[dim];
  }
  bool isPadded() const {
    return layout.getShape() != llvm::ArrayRef<int64_t>(extents);
  }

  bool isInside(mlir::Value value) const;

  /// True if the value is computed once for all iterations of a thread.
  bool isUniform(mlir::Value value) const {
    return !isInside(value) || uniforms.contains(value);
  }

  /// How much a value moves when the last loop index moves by one; absent
  /// where that is not a constant, or where only some of the iterations have
  /// the value. Zero says of any value that neighbours have the same.
  std::optional<int64_t> getSlope(mlir::Value value) const;

  /// The constant by which an index is the quotient of the last loop index, but
  /// for what is the same in all iterations; absent for other indices.
  std::optional<int64_t> getDivisor(mlir::Value value) const;

  /// The loop indices that the value may depend on; for an access or a
  /// computation, those that it may depend on whether it is reached as well. Of
  /// a store it is what it writes that counts, not where.
  llvm::BitVector getDependence(mlir::Value value) const;
  llvm::BitVector getDependence(mlir::Operation *op) const;

  /// How many neighbours along the last loop index, from a multiple of so many
  /// on, all reach an access, or none of them; 0 where that holds for all.
  int64_t countReachedTogether(mlir::Operation *access) const {
    return together.lookup(access);
  }

  /// How many instructions an iteration takes, roughly: what is computed once
  /// for all iterations aside, and each loop in it once.
  int64_t getWork() const { return work; }

  /// The loop index that `index` is, or none.
  std::optional<unsigned> getArgument(mlir::Value index) const;

  /// The first op that has no form for the lanes of a vector, or null.
  mlir::Operation *getScalarOp() const { return scalarOp; }

  bool touchesFragments() const { return !fragments.empty(); }
  bool writesFragments() const { return !writtenFragments.empty(); }
  const llvm::SetVector<mlir::Value> &getFragments() const { return fragments; }
  const llvm::SetVector<mlir::Value> &getWrittenFragments() const {
    return writtenFragments;
  }

  /// True if the body reads `buffer`, in memory that threads share, and writes
  /// it: doing an iteration twice is then not the same as doing it once.
  bool isReadBack(mlir::Value buffer) const;
  /// True if there is such a buffer.
  bool readsBack() const;
  /// True if an iteration may change an element of `buffer`, in memory that
  /// threads share, to one value and then to another, or reads it back: threads
  /// that run copies of the iteration would meet there.
  bool isChangedTwice(mlir::Value buffer) const;
  /// True if there is such a buffer.
  bool changesTwice() const;

  /// True if there is a buffer in which iterations may meet.
  bool mayMeet() const;
  /// True if two iterations may touch one element of `buffer`, a fragment or in
  /// memory that threads share, one of them writing. False where the same
  /// indices name the element in all accesses, and tell the iterations apart.
  bool mayMeet(mlir::Value buffer) const;

private:
  /// What decides whether an iteration gets to an op.
  struct Conditions {
    llvm::BitVector dims;  ///< the loop indices that they may depend on
    bool isMasked = false; ///< they may differ in the iterations of a thread
    int64_t together = 0;  ///< as `countReachedTogether` says
  };
  void visit(mlir::Block &block, const Conditions &conditions);
  void visit(mlir::Operation *op, const Conditions &conditions);
  void visitAccess(mlir::Operation *op, mlir::Value buffer,
                   mlir::ValueRange indices, const Conditions &conditions);
  void visitIf(mlir::scf::IfOp branch, const Conditions &conditions);
  void visitFor(mlir::scf::ForOp inner, const Conditions &conditions);
  void visitElementwise(mlir::Operation *op, const Conditions &conditions);
  void findBuffers();
  /// True if `index` is the loop index `argument`, moved by what all iterations
  /// have in common.
  bool follows(mlir::Value index, mlir::Value argument) const;
  bool tellIterationsApart(mlir::ValueRange indices) const;
  int64_t countWork(mlir::Operation *op) const;
  bool mayBeWide(mlir::Operation *access) const;
  void needScalars(mlir::Operation *op) {
    if (!scalarOp)
      scalarOp = op;
  }
  void dependOnAll(mlir::Operation *op);
  llvm::BitVector getDependence(mlir::ValueRange values) const;
  bool areSteady(mlir::ValueRange values) const;
  int64_t getAlignment(mlir::Value sum) const;
  int64_t countTogether(mlir::Value condition) const;
  std::optional<int64_t> findSlope(mlir::Operation *op) const;
  std::optional<int64_t> multiplySlope(mlir::Value a, mlir::Value b) const;

  ParallelOp loop;
  llvm::SmallVector<int64_t> extents;
  layout::FragmentLayout layout;
  mlir::Operation *scalarOp = nullptr;
  int64_t work = 0;
  llvm::DenseSet<mlir::Value> uniforms;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> slopes;
  llvm::DenseMap<mlir::Value, llvm::BitVector> dependences;
  llvm::DenseMap<mlir::Operation *, llvm::BitVector> reaches;
  llvm::DenseMap<mlir::Operation *, int64_t> together;
  /// An access of what is not the iteration's own.
  struct Access {
    mlir::Value view;
    mlir::ValueRange indices;
  };
  llvm::SmallVector<Access> accesses;
  llvm::SetVector<mlir::Value> fragments, writtenFragments, read, written;
  /// Of those that are written: by several stores, or by one in a loop.
  llvm::DenseSet<mlir::Value> writtenAgain;
};

/// True for a division that is undefined for some divisors, and may see them,
/// and for a function of a user's source, which need not come back from all
/// arguments.
bool mayTrap(mlir::Operation *op);

/// The element of a private buffer that constant `indices` name, counted in
/// row-major order; none if they are not constant, or outside.
std::optional<int64_t> getConstantPosition(mlir::Value buffer,
                                           mlir::ValueRange indices);

/// For each value of the loop's layout, the register of `fragment` that holds
/// the element at `indices`, -1 for lanes that have none: those of the padding,
/// and those that read beside their indices, outside of the fragment. Fails,
/// after an error at `op`, if a thread does not hold what its iterations touch.
mlir::FailureOr<llvm::SmallVector<int64_t>>
findRegisters(mlir::Operation *op, const ParallelBody &body,
              ThreadLowering &lowering, mlir::Value fragment,
              mlir::ValueRange indices);

/// Checks that the copies which threads hold of a fragment's elements stay
/// equal: no thread may write one that another thread's iterations write too,
/// unless they write the same.
mlir::LogicalResult verifyFragmentStore(StoreOp store,
                                        const ParallelBody &body);

/// How lanes go about a thread's iterations: a few at a time, or all at once
/// where registers tell them apart. Fails as `findRegisters` does.
mlir::FailureOr<Rounds> chooseRounds(const ParallelBody &body,
                                     ThreadLowering &lowering);

/// True if a formula tells, of every access of a fragment in the body, which of
/// the thread's values it is: what a loop over elements needs. Fails as
/// `findRegisters` does.
mlir::FailureOr<bool> hasFormulas(const ParallelBody &body,
                                  ThreadLowering &lowering);

/// Say in the program, where `lowering` tells iterations and two of the loop's
/// may meet, that they begin, and at which ones the thread now is.
void beginIterations(const ParallelBody &body, ThreadLowering &lowering);
void goToIterations(const ParallelBody &body, ThreadLowering &lowering,
                    mlir::ValueRange indices);

/// Say, where `lowering` tells iterations and two may meet in the fragment,
/// that an iteration touches an element in `reg`, if `guard` (may be null)
/// holds: the one that lies at `distances` from where the thread is.
void touchFragment(mlir::Operation *access, const ParallelBody &body,
                   ThreadLowering &lowering, mlir::Value reg,
                   llvm::ArrayRef<int64_t> distances, mlir::Value guard);

/// Lower the body for all lanes of a thread at once, or one after another.
/// Where `orderCopies` is set, threads run copies of the same iterations: one
/// of them writes what is changed twice (`isChangedTwice`), and what they read
/// back of shared and device memory is kept the same for all, which only lanes
/// can do.
mlir::LogicalResult lowerByLanes(const ParallelBody &body,
                                 ThreadLowering &lowering, bool orderCopies);
mlir::LogicalResult lowerByElements(const ParallelBody &body,
                                    ThreadLowering &lowering, bool orderCopies);

} // namespace tl

#endif // TL_LIB_CONVERSION_TLTOTHREADS_PARALLELBODY_H
