//===- Findings.cpp - Each mistake once -----------------------------------===//

#include "tl/Simulator/Checkers/Findings.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tl::sim;
using llvm::formatv;

bool Findings::isNew(Report::Kind kind, InstructionId first,
                     InstructionId second) {
  std::lock_guard<std::mutex> lock(mutex);
  return known.insert({kind, first, second}).second;
}

std::string Findings::describe(Space space, uint64_t address,
                               uint32_t bytes) const {
  std::string name = "device memory";
  if (space == Space::Shared) {
    name = "shared memory";
    address -= SharedMemory::kBase;
  } else if (const GlobalMemory::Range *range =
                 memory ? memory->find(address, bytes) : nullptr) {
    name = "`" + range->name + "`";
    address -= range->begin;
  }
  if (bytes == 1)
    return formatv("byte {0} of {1}", address, name);
  return formatv("bytes {0} to {1} of {2}", address, address + bytes - 1, name);
}

llvm::StringRef tl::sim::getName(Report::Kind kind) {
  using Kind = Report::Kind;
  switch (kind) {
  case Kind::OutOfBounds:
    return "out of bounds";
  case Kind::Misaligned:
    return "misaligned";
  case Kind::Deadlock:
    return "deadlock";
  case Kind::Divergence:
    return "divergence";
  case Kind::Race:
    return "race";
  case Kind::MissingFence:
    return "missing fence";
  case Kind::Uninitialized:
    return "uninitialized";
  case Kind::Barrier:
    return "barrier";
  case Kind::InFlight:
    return "in flight";
  case Kind::Unsupported:
    return "unsupported";
  }
  llvm_unreachable("all kinds are named");
}

std::string tl::sim::describeThreads(unsigned warp, LaneMask lanes) {
  unsigned first = warp * kLanes + llvm::countr_zero(lanes);
  unsigned last = warp * kLanes + kLanes - 1 - llvm::countl_zero(lanes);
  if (first == last)
    return formatv("thread {0}", first);
  return formatv("threads {0} to {1}", first, last);
}
