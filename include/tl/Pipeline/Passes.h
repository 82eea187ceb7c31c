//===- Passes.h - The caching pass ------------------------------*- C++ -*-===//
//
// Declaration and registration of the pass in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_PASSES_H
#define TL_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

#define GEN_PASS_DECL
#include "tl/Pipeline/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tl/Pipeline/Passes.h.inc"

} // namespace tl

#endif // TL_PIPELINE_PASSES_H
