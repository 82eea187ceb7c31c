//===- IterationChecker.h - Iterations that meet ----------------*- C++ -*-===//
//
// The iterations of a `T.Parallel` have no order, not even where one thread
// does several of them: two that touch one element, one of them writing, are a
// race (docs/language/semantics.md, P2). Threads are what `RaceChecker` knows;
// here it is iterations, by what accesses say of themselves
// (`Program::iterations`), and what is said of registers of fragments.
//
// Held against each other are the iterations that one warp does in one
// execution of a loop. Those of two warps meet as threads.
//
// What is no race: atomic operations among themselves; a write of what is there
// already; reading back what the iteration has written itself. Atomic
// operations that release or acquire, and fences, may order iterations (A4):
// what comes behind one is not held against what was before it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_ITERATIONCHECKER_H
#define TL_SIMULATOR_CHECKERS_ITERATIONCHECKER_H

#include "tl/Simulator/Checkers/Findings.h"
#include "tl/Simulator/Checkers/Shadow.h"
#include "tl/Simulator/Program.h"
#include "llvm/ADT/DenseSet.h"

namespace tl::sim {

class IterationChecker {
public:
  /// Of a block of `program`, which may be null: then nothing is known of
  /// iterations.
  IterationChecker(const Program *program, Findings &findings, uint64_t block,
                   unsigned warps, const SharedMemory &memory)
      : program(program), findings(findings), block(block), memory(memory),
        places(warps) {}

  void go(const IterationsEvent &event);
  void access(const AccessEvent &event);
  void touchFragment(const FragmentEvent &event);
  void fence(const FenceEvent &event);

private:
  using Kind = AccessEvent::Kind;

  /// What one iteration does to some bytes.
  struct Touch {
    InstructionId instruction = 0;
    /// Its number, the last index fastest; `kNone` if there is no touch.
    uint32_t iteration = kNone;
    uint8_t lane = 0;
    Kind kind = Kind::Read;

    static constexpr uint32_t kNone = ~uint32_t(0);
    bool exists() const { return iteration != kNone; }
  };

  /// Touches by two iterations, of all that there were: whatever iteration
  /// asks, one of them is another's, if there was any.
  struct Two {
    Touch first, second;

    void add(const Touch &touch);
    /// One of another iteration, or null.
    const Touch *findOther(uint32_t iteration) const;
  };

  /// Of some bytes, in one execution of a loop.
  class Cell {
  public:
    Cell() = default;
    Cell(const Cell &other) { *this = other; }
    Cell &operator=(const Cell &other);

    /// Forgets what was in another execution.
    void enter(uint32_t now) {
      if (execution == now)
        return;
      clear();
      execution = now;
    }
    /// Adds what has happened. `changesNothing` says of a write that meets
    /// others that its value is there already; another one takes the place of
    /// all before it.
    void add(const Touch &touch, bool changesNothing);
    /// What `touch` meets in no order, or null.
    const Touch *findMet(const Touch &touch) const;
    /// Parts are not made one again: elements are narrower than granules.
    bool hasSameAs(const Cell &) const { return false; }

  private:
    /// What few cells have.
    struct Rest {
      /// Of the value that is there, by another iteration than the first one.
      Touch write;
      /// The iterations that have written it.
      llvm::DenseSet<uint32_t> writers;
      /// Updates and stores, and loads.
      Two atomics, atomicReads;
    };

    void clear() {
      write = Touch();
      reads = Two();
      rest.reset();
    }
    Rest &getRest() {
      if (!rest)
        rest = std::make_unique<Rest>();
      return *rest;
    }
    void addWrite(const Touch &touch);
    const Touch *findWrite(uint32_t iteration) const;
    bool isWrittenBy(uint32_t iteration) const {
      return write.iteration == iteration ||
             (rest && rest->writers.contains(iteration));
    }

    uint32_t execution = 0;
    /// The first one of the value that is there, and reads of it.
    Touch write;
    Two reads;
    std::unique_ptr<Rest> rest;
  };

  /// Where a warp is in a loop.
  struct Place {
    /// The number of the execution; 0 before the first one.
    uint32_t execution = 0;
    llvm::SmallVector<uint32_t, 3> extents;
    /// Of each index, and each lane.
    llvm::SmallVector<std::array<uint32_t, kLanes>, 3> indices;
  };

  /// What the event says of its iterations, or null.
  const Iterations *getIterations(const Event &event) const;
  void visitLane(const AccessEvent &event, const Iterations &iterations,
                 const Place &place, unsigned lane);
  void visitCell(const AccessEvent &event, const Touch &touch, uint64_t address,
                 uint32_t bytes, Cell &cell);
  void report(const AccessEvent &event, const Touch &earlier,
              const Touch &later, uint64_t address, uint32_t bytes);
  std::string describePlace(const AccessEvent &event, uint64_t address,
                            uint32_t bytes) const;
  std::string describe(const AccessEvent &event, const Touch &touch,
                       uint64_t address, uint32_t bytes) const;

  const Program *program;
  Findings &findings;
  uint64_t block;
  const SharedMemory &memory;
  /// By the number of the warp.
  std::vector<Place> places;
  uint32_t executions = 0;
  Shadow<Cell> shared, global;
  /// Of registers, by `getRegisterAddress`.
  Shadow<Cell> registers;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_ITERATIONCHECKER_H
