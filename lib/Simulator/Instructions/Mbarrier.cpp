//===- Mbarrier.cpp - The barrier in shared memory ------------------------===//
//
// PTX ISA, "mbarrier: contents", "… phase completion" and "Tracking of
// asynchronous operations": a phase is complete once no arrival and no byte is
// pending, and the next one begins at once, with all arrivals pending again.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions.h"

using namespace tl::sim;

const char *Mbarrier::checkArrivals(uint32_t arrivals) {
  if (arrivals == 0 || arrivals > kMostArrivals)
    return "a phase of an mbarrier is of 1 to 1048575 arrivals";
  return nullptr;
}

const char *Mbarrier::arrive(uint32_t count) {
  if (count == 0)
    return "an arrival at an mbarrier counts at least once";
  if (count > pendingArrivals)
    return "more arrivals at an mbarrier than its phase has pending";
  pendingArrivals -= count;
  completeIfDone();
  return nullptr;
}

const char *Mbarrier::expect(uint32_t bytes) {
  if (pendingBytes + bytes > kMostBytes)
    return "an mbarrier expects at most 1048575 bytes at a time";
  pendingBytes += bytes;
  completeIfDone();
  return nullptr;
}

const char *Mbarrier::land(uint32_t bytes) {
  if (pendingBytes - int64_t(bytes) < -kMostBytes)
    return "more than 1048575 bytes landed at an mbarrier that does not expect "
           "them";
  pendingBytes -= bytes;
  completeIfDone();
  return nullptr;
}

void Mbarrier::completeIfDone() {
  if (pendingArrivals != 0 || pendingBytes != 0)
    return;
  pendingArrivals = arrivals;
  ++phase;
}
