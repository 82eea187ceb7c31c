//===- Target.cpp - What a chip can do ------------------------------------===//
//
// The table of chips. See Target.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Target.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

static constexpr int64_t KiB = 1024;

namespace {
struct Chip {
  int capability;
  int64_t sharedMemory;
  bool hasSpecific; // there is an `a` variant
};
} // namespace

static constexpr Chip kChips[] = {
    {75, 64 * KiB, false},  {80, 163 * KiB, false}, {86, 99 * KiB, false},
    {87, 163 * KiB, false}, {89, 99 * KiB, false},  {90, 227 * KiB, true},
    {100, 227 * KiB, true}, {103, 227 * KiB, true}, {110, 227 * KiB, true},
    {120, 99 * KiB, true},  {121, 99 * KiB, true},
};

static const Chip *findChip(int capability) {
  const Chip *chip = llvm::find_if(kChips, [&](const Chip &candidate) {
    return candidate.capability == capability;
  });
  return chip == std::end(kChips) ? nullptr : chip;
}

FailureOr<Target> Target::parse(StringRef chip,
                                function_ref<InFlightDiagnostic()> emitError) {
  Target target;
  target.chip = chip.str();
  if (chip == "cpu")
    return target;
  StringRef digits = chip;
  if (digits.consume_front("sm_")) {
    target.archSpecific = digits.consume_back("a");
    if (!digits.getAsInteger(10, target.capability))
      if (const Chip *known = findChip(target.capability))
        if (known->hasSpecific || !target.archSpecific)
          return target;
  }
  InFlightDiagnostic diag = emitError();
  diag << "unknown chip `" << chip << "`; known are `cpu`";
  for (const Chip &known : kChips) {
    diag << ", `sm_" << known.capability << "`";
    if (known.hasSpecific)
      diag << ", `sm_" << known.capability << "a`";
  }
  return failure();
}

FailureOr<Target> Target::of(Operation *op) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto attr = parent->getAttrOfType<TargetAttr>(kTargetAttr))
      return parse(attr.getChip(), [&] { return parent->emitError(); });
  op->emitError("has no target: run `tl-attach-target` first");
  return failure();
}

int64_t Target::getSharedMemoryLimit() const {
  if (isCPU())
    return INT64_MAX;
  return findChip(capability)->sharedMemory;
}
