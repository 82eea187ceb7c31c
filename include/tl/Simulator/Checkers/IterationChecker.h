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
// What is no race: atomic operations among themselves; an update of a byte of
// two numbers of 4 bits and a read of it, perhaps for the other number; a write
// of what is there already; reading back what the iteration has written itself.
// Atomic operations that release or acquire, and fences, may order iterations
// (A4): what comes behind one is not held against what was before it.
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

  /// What several iterations have done to some bytes.
  struct Several {
    /// The first one of the value that is there.
    Touch write;
    /// Of the same value, by another iteration.
    Touch again;
    /// The iterations that have written it.
    llvm::DenseSet<uint32_t> writers;
    /// Of the value that is there; updates and stores; and loads.
    Two reads, atomics, atomicReads;

    /// Adds what has happened. `changesNothing` says of a write that meets
    /// others that its value is there already; another one takes the place of
    /// all before it.
    void add(const Touch &touch, bool changesNothing);
    /// What `touch` meets in no order, or null.
    const Touch *findMet(const Touch &touch) const;

  private:
    void addWrite(const Touch &touch);
    const Touch *findWrite(uint32_t iteration) const;
    bool isWrittenBy(uint32_t iteration) const {
      return write.iteration == iteration || writers.contains(iteration);
    }
  };

  /// Of some bytes, in one execution of a loop. Most are touched by one
  /// iteration in it, which meets nobody: of that each kind of access is kept
  /// once, and no more is allocated.
  class Cell {
  public:
    Cell() = default;
    Cell(const Cell &other) { *this = other; }
    Cell &operator=(const Cell &other);

    /// Adds what the instruction `by`, packed, does in an iteration of an
    /// execution, if no other iteration was here in it. Returns false, and does
    /// nothing, if one was.
    bool addOwn(uint32_t execution, uint32_t iteration, Kind kind,
                uint32_t by) {
      uint64_t now = pack(execution, iteration);
      if (owner != now) {
        if (owner >> 32 == execution)
          return false;
        owner = now;
        touches = {};
      } else if (kind == Kind::Write) {
        touches = {};
      } else if (touches[unsigned(kind)]) {
        return true;
      }
      touches[unsigned(kind)] = by;
      return true;
    }
    /// What several iterations of the present execution have done.
    Several &getSeveral();

    /// Never 0.
    static uint32_t packTouch(InstructionId instruction, unsigned lane) {
      assert(instruction < kAllLanes / kLanes && "programs are shorter");
      return (instruction + 1) * kLanes + lane;
    }

    /// Parts are not made one again: elements are narrower than granules.
    bool hasSameAs(const Cell &) const { return false; }

  private:
    static uint64_t pack(uint32_t execution, uint32_t iteration) {
      return uint64_t(execution) << 32 | iteration;
    }
    Touch unpackTouch(Kind kind) const;

    /// The execution, 0 before the first one, and the iteration; `kNone` if
    /// there are several.
    uint64_t owner = 0;
    /// What the one iteration has done, by its kind: none are 0.
    std::array<uint32_t, 4> touches = {};
    /// What several have, which is kept for other executions to use.
    std::unique_ptr<Several> several;
  };

  /// Where a warp is in a loop.
  struct Place {
    /// The number of the execution; 0 before the first one.
    uint32_t execution = 0;
    llvm::SmallVector<uint32_t, 3> extents;
    /// Of each lane, the number of the iteration that it is at.
    std::array<uint32_t, kLanes> iterations = {};
  };

  /// What the event says of its iterations, or null.
  const Iterations *getIterations(const Event &event) const;
  void visit(const AccessEvent &event, const Iterations &iterations);
  /// Whether one updates a byte of two numbers of 4 bits that the other reads:
  /// the other number of it, perhaps.
  bool mayBeNeighbours(const Touch &one, const Touch &other) const;
  void meet(const AccessEvent &event, const Touch &touch, uint64_t address,
            uint32_t bytes, Several &several);
  void report(const AccessEvent &event, const Touch &earlier,
              const Touch &later, uint64_t address, uint32_t bytes);
  std::string describePlace(const AccessEvent &event, InstructionId instruction,
                            uint64_t address, uint32_t bytes) const;
  std::string describe(const AccessEvent &event, const Touch &touch,
                       uint64_t address, uint32_t bytes) const;

  const Program *program;
  Findings &findings;
  uint64_t block;
  const SharedMemory &memory;
  /// By the number of the warp.
  std::vector<Place> places;
  uint32_t executions = 0;
  llvm::DenseSet<InstructionId> updatesOfBytes;
  Shadow<Cell> shared, global;
  /// Of registers, by `getRegisterAddress`.
  Shadow<Cell> registers;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_ITERATIONCHECKER_H
