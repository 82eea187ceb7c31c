//===- Checkers.h - All checkers of a launch --------------------*- C++ -*-===//
//
// What a GPU would let pass, and is wrong all the same: races, missing fences,
// shared memory that nothing has written, misuse of mbarriers. The checkers are
// observers; docs/rationale/simulator-checkers.md says what they rely on.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_CHECKERS_H
#define TL_SIMULATOR_CHECKERS_CHECKERS_H

#include "tl/Simulator/Events.h"

namespace tl::sim {

class Checkers : public ObserverFactory {
public:
  std::unique_ptr<LaunchObserver>
  beginLaunch(const LaunchInfo &launch) override;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_CHECKERS_H
