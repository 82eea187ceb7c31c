//===- VerifyThreadLevel.cpp - Check that a kernel is at thread level -----===//

#include "tl/Dialect/TL/Transforms/Passes.h"

#include "tl/Dialect/TL/Analysis/ThreadLevel.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYTHREADLEVELPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {
struct VerifyThreadLevelPass
    : tl::impl::VerifyThreadLevelPassBase<VerifyThreadLevelPass> {
  void runOnOperation() override {
    if (failed(verifyThreadLevel(getOperation())))
      signalPassFailure();
  }
};
} // namespace
