//===- Standstill.cpp - Warps that go round in loops for ever -------------===//
//
// A warp may wait by looking at memory again and again, and nothing stops it.
// It is seen that this has no end when
//
// - a round of a loop begins as the one before did: with the same lanes, the
//   same values carried, and no byte of memory, nor anything else that warps
//   wait for, changed meanwhile. The warp is *idle*: it does the same again
//   unless somebody else changes something.
// - since the last turn of a warp that was not idle each warp of all blocks
//   that run at the same time has ended, or has been stopped at a wait, or has
//   come round once more, so that the barriers inside of the loops are no
//   reason for anybody else to go on;
// - no asynchronous operation is under way: those happen first.
//
// Only then is it a deadlock. Whoever waits for a block that does not run at
// the same time is told so: no GPU promises that it ever runs beside.
//
//===----------------------------------------------------------------------===//

#include "Warp.h"
#include "tl/Simulator/Checkers/Findings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tl::sim;

bool Block::standsStill(const Warp &warp) const {
  auto isRoundAgain = [&](const Warp &each) {
    return group.isIdle(each) && each.idleSince > group.lastActive;
  };
  return isRoundAgain(warp) && all_of(group.blocks, [&](const Block *block) {
           return all_of(block->warps, [&](const Warp &each) {
             return each.hasEnded || isRoundAgain(each) ||
                    (!group.isIdle(each) &&
                     each.waiting.kind != Waiting::Kind::Nothing);
           });
         });
}

void Block::leaveStandstill() {
  for (Block *block : group.blocks)
    if (!block->async.isEmpty())
      return block->async.advance();
  reportStandstill();
}

void Block::reportStandstill() {
  Report report;
  report.kind = Report::Kind::Deadlock;
  report.message = "whoever has not ended waits, or goes round a loop that "
                   "nothing lets end any more";
  SmallVector<const Block *> ended;
  // Those that look say more than those that wait for them.
  SmallVector<Report::Side> looking, others;
  for (const Block *block : group.blocks) {
    if (all_of(block->warps, [](const Warp &warp) { return warp.hasEnded; }))
      ended.push_back(block);
    for (const Warp &warp : block->warps) {
      if (warp.hasEnded)
        continue;
      if (!group.isIdle(warp))
        others.push_back({warp.waiting.instruction, warp.getId(), std::nullopt,
                          block->describe(warp.waiting)});
      else if (warp.look.instruction && warp.look.turn >= warp.idleSince) {
        InstructionId look = warp.getEvent(*warp.look.instruction).instruction;
        looking.push_back(
            {look, warp.getId(), warp.look.lane,
             "looks again and again at " +
                 block->getElements().describe(look, warp.look.bytes) +
                 ", which nobody changes any more"});
      }
    }
  }
  if (looking.empty() && others.empty())
    for (const Block *block : group.blocks)
      for (const Warp &warp : block->warps)
        if (!warp.hasEnded)
          others.push_back({warp.position, warp.getId(), std::nullopt,
                            "goes round a loop again and again"});
  if (!ended.empty()) {
    report.message += formatv("; {0} of {1} blocks have ended, and come to no "
                              "barrier of the grid any more:",
                              ended.size(), group.blocks.size());
    for (const Block *block : ended)
      report.message += formatv(" ({0}, {1}, {2})", block->position[0],
                                block->position[1], block->position[2]);
  }
  uint64_t count = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (uint64_t rest = count - group.blocks.size())
    report.message += formatv(
        "; nor will the other {0} blocks let them go on: those in "
        "front have ended, and those behind begin only once these have, "
        "as they may on a GPU",
        rest);
  report.sides.append(looking);
  report.sides.append(others);
  this->report(std::move(report));
}
