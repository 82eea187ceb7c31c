//===- Shrink.h - The shortest schedule that still fails --------*- C++ -*-===//
//
// A seed that finds something decides thousands of things, of which few matter.
// The block that failed is run again, alone, with fewer and fewer of its
// decisions, as long as the same is reported at the same place: first the
// beginning that suffices, then without ever smaller pieces of it (delta
// debugging). What is left says on which order the mistake depends.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_SHRINK_H
#define TL_SIMULATOR_SHRINK_H

#include "tl/Simulator/Machine.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tl::sim {

struct ShortSchedule {
  uint64_t block = 0;
  Schedule decisions;
  /// How many the seed took.
  size_t drawn = 0;
};

/// Shortens what `launch` decided when it gave `reports`. `restore` gives
/// device memory back what it held before the launch, where it holds what the
/// last run wrote in the end. Returns nothing where the mistake takes other
/// blocks, so that the one which reported it does not fail alone.
std::optional<ShortSchedule> shrink(Launch launch,
                                    llvm::ArrayRef<Report> reports,
                                    llvm::function_ref<void()> restore);

/// In words, of several lines.
std::string describe(const ShortSchedule &schedule, const Launch &launch);

} // namespace tl::sim

#endif // TL_SIMULATOR_SHRINK_H
