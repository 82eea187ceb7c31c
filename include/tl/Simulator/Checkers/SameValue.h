//===- SameValue.h - Writes that change nothing -----------------*- C++ -*-===//
//
// Two writes of the same value are no race: it does not matter who was last.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_SAMEVALUE_H
#define TL_SIMULATOR_CHECKERS_SAMEVALUE_H

#include "tl/Simulator/Events.h"

namespace tl::sim {

/// Whether what `lane` writes to `bytes` bytes of its access at `address` is
/// there already, in memory or by a lane before it. False if it is not known
/// what it writes. `shared` is the memory of the block.
bool writesSame(const AccessEvent &event, unsigned lane, uint64_t address,
                uint32_t bytes, const SharedMemory &shared);

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_SAMEVALUE_H
