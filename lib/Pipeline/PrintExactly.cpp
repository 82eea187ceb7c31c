//===- PrintExactly.cpp - Text that reads back as the same ----------------===//
//
// See PrintExactly.h.
//
//===----------------------------------------------------------------------===//

#include "PrintExactly.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Operation.h"

#include <limits>

using namespace mlir;

static OpPrintingFlags getFlags(bool locations) {
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  OpPrintingFlags flags;
  flags.enableDebugInfo(locations)
      .elideLargeElementsAttrs(unlimited)
      .elideLargeResourceString(unlimited)
      .skipRegions(false);
  return flags;
}

std::string tl::printExactly(Operation *op, bool locations) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, getFlags(locations));
  return text;
}

std::string tl::printExactly(Attribute attribute) {
  AsmState state(attribute.getContext(), getFlags(/*locations=*/false));
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os, state);
  return text;
}
