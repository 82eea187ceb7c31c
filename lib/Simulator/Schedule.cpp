//===- Schedule.cpp - Schedules as text -----------------------------------===//
//
// See Schedule.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tl::sim;

/// By `Decision::Kind`.
static constexpr StringLiteral kNames[Decision::kKinds] = {
    "pace", "order", "warp", "length", "amount", "operation", "part"};

std::string tl::sim::print(const Replay &replay) {
  std::string text = formatv("seed {0}, launch {1}, block {2}:", replay.seed,
                             replay.launch, replay.block);
  for (const Decision &decision : replay.schedule)
    text += formatv(" {0}[{1}]={2}", kNames[unsigned(decision.kind)],
                    decision.at, decision.choice);
  return text;
}

static std::optional<Decision> parseDecision(StringRef text) {
  auto [name, rest] = text.split('[');
  auto [at, choice] = rest.split("]=");
  const auto *found = find(kNames, name);
  Decision decision;
  if (found == std::end(kNames) || at.getAsInteger(10, decision.at) ||
      choice.getAsInteger(10, decision.choice))
    return std::nullopt;
  decision.kind = Decision::Kind(found - std::begin(kNames));
  return decision;
}

std::optional<Replay> tl::sim::parseReplay(StringRef text) {
  Replay replay;
  auto read = [&](StringRef name, uint64_t &number) {
    return text.consume_front(name) && !text.consumeInteger(10, number);
  };
  if (!read("seed ", replay.seed) || !read(", launch ", replay.launch) ||
      !read(", block ", replay.block) || !text.consume_front(":"))
    return std::nullopt;
  SmallVector<StringRef> decisions;
  text.split(decisions, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : decisions) {
    std::optional<Decision> decision = parseDecision(part);
    if (!decision)
      return std::nullopt;
    replay.schedule.push_back(*decision);
  }
  return replay;
}
