//===- Timeline.h - What the warps of a block do, and wait for --*- C++ -*-===//
//
// Lists the copies, products, waits and arrivals of one block, each with the
// steps from and to which it lasts. Steps are no time, and say what depends on
// what: each thing that a warp does takes it one step, a copy or a product
// lasts one, or until its issuer waits for it, and who waits goes on when all
// that it waits for has happened. They follow from the order that the program
// asks for, and not from that of an execution: a program that is right has the
// same list under all seeds.
//
// It also lists the states of mbarriers each time that a warp comes to a line.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_COUNTERS_TIMELINE_H
#define TL_SIMULATOR_COUNTERS_TIMELINE_H

#include "tl/Simulator/Events.h"
#include "tl/Simulator/Program.h"
#include "llvm/Support/JSON.h"

namespace tl::sim {

/// Lists what one block of each launch does.
class Timeline : public ObserverFactory {
public:
  /// Mbarriers are looked at where a warp comes to `line`; nowhere if it is 0.
  Timeline(uint64_t block, unsigned line) : block(block), line(line) {}

  std::unique_ptr<LaunchObserver>
  beginLaunch(const LaunchInfo &launch) override;

  /// One object for each launch that has ended, as `tlSimulatorEndTimeline`
  /// describes it (tl-c/Compiler.h).
  llvm::json::Array take() { return std::move(launches); }

  const uint64_t block;
  const unsigned line;

private:
  llvm::json::Array launches;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_COUNTERS_TIMELINE_H
