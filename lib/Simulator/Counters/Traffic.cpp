//===- Traffic.cpp - What an access of a warp costs -----------------------===//

#include "tl/Simulator/Counters/Traffic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace llvm;
using namespace tl::sim;

static constexpr uint32_t kBanks = 32, kBankBytes = 4, kWidestAccess = 16;

/// Wavefronts of lanes that go together.
static uint32_t countTogether(ArrayRef<uint64_t> addresses, uint32_t bytes,
                              LaneMask lanes) {
  SmallVector<uint64_t, 4 * kLanes> words;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (lanes & LaneMask(1) << lane)
      for (uint64_t word = addresses[lane] / kBankBytes;
           word * kBankBytes < addresses[lane] + bytes; ++word)
        words.push_back(word);
  sort(words);
  words.erase(llvm::unique(words), words.end());
  std::array<uint32_t, kBanks> wanted = {};
  for (uint64_t word : words)
    ++wanted[word % kBanks];
  return *max_element(wanted);
}

/// As `countWavefronts`, for what one instruction accesses.
static Wavefronts countOne(ArrayRef<uint64_t> addresses, uint32_t bytes,
                           LaneMask lanes) {
  uint32_t words = std::max(PowerOf2Ceil(bytes) / kBankBytes, uint64_t(1));
  unsigned together = kLanes / words;
  LaneMask group = together == kLanes ? kAllLanes : (1u << together) - 1;
  Wavefronts wavefronts;
  for (unsigned first = 0; first < kLanes; first += together) {
    LaneMask here = lanes & group << first;
    if (!here)
      continue;
    wavefronts.count += countTogether(addresses, bytes, here);
    ++wavefronts.least;
  }
  return wavefronts;
}

Wavefronts tl::sim::countWavefronts(ArrayRef<uint64_t> addresses,
                                    uint32_t bytes, LaneMask lanes) {
  Wavefronts all;
  SmallVector<uint64_t, kLanes> at(addresses);
  // What is wider takes several instructions.
  for (uint32_t done = 0; done < bytes; done += kWidestAccess) {
    Wavefronts one = countOne(at, std::min(bytes - done, kWidestAccess), lanes);
    all.count += one.count;
    all.least += one.least;
    for (uint64_t &address : at)
      address += kWidestAccess;
  }
  return all;
}

SmallVector<uint64_t> tl::sim::findSectors(ArrayRef<Span> spans,
                                           uint64_t base) {
  SmallVector<uint64_t> sectors;
  for (const Span &span : spans) {
    uint64_t begin = span.address - base;
    for (uint64_t sector = begin / kSectorBytes;
         sector * kSectorBytes < begin + span.bytes; ++sector)
      sectors.push_back(sector);
  }
  sort(sectors);
  sectors.erase(llvm::unique(sectors), sectors.end());
  return sectors;
}
