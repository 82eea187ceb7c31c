//===- Findings.cpp - Each mistake once -----------------------------------===//

#include "tl/Simulator/Checkers/Findings.h"

#include "tl/Simulator/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <map>

using namespace tl::sim;
using llvm::formatv;

bool Findings::isNew(Report::Kind kind, InstructionId first,
                     InstructionId second) {
  std::lock_guard<std::mutex> lock(mutex);
  return known.insert({kind, getNumber(first), getNumber(second)}).second;
}

bool Findings::isNewInAnyOrder(Report::Kind kind, InstructionId one,
                               InstructionId other) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [low, high] = std::minmax({getNumber(one), getNumber(other)});
  return known.insert({kind, low, high}).second;
}

bool Findings::areOfOneLoop(InstructionId first, InstructionId second) const {
  if (!program)
    return false;
  auto one = program->iterations.find(first),
       other = program->iterations.find(second);
  return one != program->iterations.end() &&
         other != program->iterations.end() &&
         one->second.loop == other->second.loop;
}

bool Findings::isNewInLoop(InstructionId first, InstructionId second) {
  std::lock_guard<std::mutex> lock(mutex);
  auto low = getLine(first), high = getLine(second);
  if (high < low)
    std::swap(low, high);
  uint32_t loop = program->iterations.find(first)->second.loop;
  return knownInLoops.insert({loop, low, high}).second;
}

std::pair<llvm::StringRef, unsigned>
Findings::getLine(InstructionId instruction) const {
  const Place &place = program->getPlace(instruction);
  // What has no place in a file has one of its own.
  return {place.file,
          place.file.empty() ? program->placeOf[instruction] : place.line};
}

bool Findings::areOfOneLine(InstructionId first, InstructionId second) const {
  return program && getLine(first) == getLine(second) &&
         !getLine(first).first.empty();
}

uint32_t Findings::getNumber(InstructionId instruction) {
  if (!program)
    return instruction;
  // Unrolled ops stand at one place of the file, and each has one of its own.
  if (numbers.empty()) {
    std::map<std::tuple<std::string, unsigned, unsigned, std::string>, uint32_t>
        known;
    for (auto [i, place] : llvm::enumerate(program->places))
      numbers.push_back(
          place.file.empty()
              ? i
              : known
                    .try_emplace(
                        {place.file, place.line, place.column, place.op}, i)
                    .first->second);
  }
  return numbers[program->placeOf[instruction]];
}

bool Findings::mayRace(Space space, uint64_t address, uint32_t bytes) const {
  if (space != Space::Global || !memory)
    return false;
  const GlobalMemory::Range *range = memory->find(address, bytes);
  return range && range->isRecord;
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

/// The coordinates of number `linear` in a box, as text.
static std::string formatPosition(uint64_t linear,
                                  const std::array<uint32_t, 3> &extents) {
  return formatv("({0}, {1}, {2})", linear % extents[0],
                 linear / extents[0] % extents[1],
                 linear / extents[0] / extents[1])
      .str();
}

std::string tl::sim::describeWho(const Report::Side &side,
                                 const std::array<uint32_t, 3> &grid,
                                 const std::array<uint32_t, 3> &block) {
  std::string who = "block " + formatPosition(side.warp.block, grid);
  if (!side.lane)
    return who + ", warp " + std::to_string(side.warp.warp);
  uint64_t thread = uint64_t(side.warp.warp) * kLanes + *side.lane;
  return who + ", thread " + formatPosition(thread, block);
}
