//===- SameValue.cpp - Writes that change nothing -------------------------===//

#include "tl/Simulator/Checkers/SameValue.h"

#include "llvm/ADT/bit.h"
#include <cstring>

using namespace tl::sim;

/// What `lane` writes at `address`, which is in its access.
static const uint8_t *getValue(const AccessEvent &event, unsigned lane,
                               uint64_t address) {
  return event.values.data() + lane * event.bytes +
         (address - event.addresses[lane]);
}

bool tl::sim::writesSame(const AccessEvent &event, unsigned lane,
                         uint64_t address, uint32_t bytes,
                         const SharedMemory &shared) {
  if (event.values.empty())
    return false;
  // Memory holds what was there before the instruction. Lanes before this one
  // count as having written, though they write at the same time.
  uint64_t end = address + bytes;
  const uint8_t *old = event.space == Space::Shared ? shared.at(address)
                                                    : GlobalMemory::at(address);
  for (LaneMask rest = event.lanes & ((LaneMask(1) << lane) - 1); rest;
       rest &= rest - 1) {
    unsigned other = llvm::countr_zero(rest);
    uint64_t begin = event.addresses[other];
    if (end <= begin || begin + event.bytes <= address)
      continue;
    // The bytes are within both, which are equally wide and aligned.
    old = getValue(event, other, address);
    break;
  }
  return !std::memcmp(old, getValue(event, lane, address), bytes);
}
