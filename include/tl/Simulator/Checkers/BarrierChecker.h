//===- BarrierChecker.h - Misuse of barriers --------------------*- C++ -*-===//
//
// What may not be done to an mbarrier (PTX ISA, "mbarrier"), as far as it is no
// error of an instruction by itself: to use it before it is known to be set up,
// to set it up while it is in use, to complete a phase while bytes of it are
// still to come, to miss a phase and take the one after it for it, or to touch
// its bytes otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_BARRIERCHECKER_H
#define TL_SIMULATOR_CHECKERS_BARRIERCHECKER_H

#include "tl/Simulator/Checkers/BlockOrder.h"
#include "tl/Simulator/Checkers/Findings.h"
#include <map>

namespace tl::sim {

class BarrierChecker {
public:
  /// Of the block at `place` of `order`.
  BarrierChecker(const BlockOrder &order, Findings &findings, unsigned place)
      : order(order), findings(findings), place(place) {}

  /// Each before `order` is told.
  void access(const AccessEvent &event);
  void issue(const AsyncEvent &event);
  void useMbarrier(const MbarrierEvent &event);
  /// Other blocks must be done with the block's mbarriers when it ends.
  void end();

private:
  struct Object {
    Event init;
    /// Of the phase that is not complete yet.
    uint64_t expected = 0, issued = 0, landed = 0;
    Event expectation, copy;
  };

  std::string nameBarrier(InstructionId instruction, uint64_t address) const;
  void checkInit(const Event &event, uint64_t address, bool isAsync);
  void checkBytes(const MbarrierEvent &event, const Object &object);
  void checkPhase(const MbarrierEvent &event);
  void checkOverlap(const Event &event, uint64_t address, uint32_t bytes,
                    bool writes);
  void report(const Event &event, std::string text, std::string message,
              const Event *other = nullptr, std::string otherText = "",
              Report::Kind kind = Report::Kind::Barrier);

  const BlockOrder &order;
  Findings &findings;
  unsigned place;
  /// The last arrival of each warp of other blocks.
  std::map<unsigned, std::pair<Record, MbarrierEvent>> fromOthers;
  /// Those that are set up, by address.
  std::map<uint64_t, Object> objects;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_BARRIERCHECKER_H
