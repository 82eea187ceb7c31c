//===- PlanFuzzer.cpp - Launch plans that anyone may have written ---------===//
//
// The input is a plan. One that is read fits its bounds, has launches that a
// chip may know, and lays out a frame in which no parameter reaches into
// another.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Runtime/LaunchPlan.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tl::runtime;
using namespace tl::cache::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  Expected<LaunchPlan> plan = LaunchPlan::parse(input);
  if (!plan) {
    require(!toString(plan.takeError()).empty());
    return 0;
  }
  require(plan->frameWords <= LaunchPlan::maxFrameWords);
  require(plan->requirements.size() <= LaunchPlan::maxSlots);
  uint64_t maps = uint64_t(plan->tensorMapCount) * Parameter::tensorMapWords;
  uint64_t next = maps, nextMap = 0;
  std::vector<int64_t> slots(plan->requirements.size(), 1);
  for (const Launch &launch : plan->launches) {
    require(product_of(launch.block) >= 1 && product_of(launch.block) <= 1024);
    require(product_of(launch.cluster) >= 1 &&
            product_of(launch.cluster) <= 16);
    for (const Expression &extent : launch.grid)
      consumeError(extent.evaluate(slots).takeError());
    consumeError(launch.shared.evaluate(slots).takeError());
    for (const SymbolCopy &symbol : launch.symbols)
      require(symbol.argument < plan->arguments.size());
    for (const Parameter &parameter : launch.params) {
      bool isMap = parameter.kind == Parameter::Kind::TensorMap;
      uint64_t &place = isMap ? nextMap : next;
      require(parameter.firstWord == place);
      place += isMap ? Parameter::tensorMapWords : parameter.wordCount();
      for (const Parameter::Member &member : parameter.members)
        require(member.offset + member.size <= parameter.size);
      if (parameter.kind == Parameter::Kind::Value)
        consumeError(parameter.value.evaluate(slots).takeError());
      else if (parameter.kind != Parameter::Kind::Struct)
        require(parameter.argument < plan->arguments.size());
    }
  }
  require(next == plan->frameWords && nextMap == maps);
  return 0;
}
