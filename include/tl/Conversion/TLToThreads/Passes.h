//===- Passes.h - From tiles to threads -------------------------*- C++ -*-===//
//
// Declaration and registration of the pass in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_PASSES_H
#define TL_CONVERSION_TLTOTHREADS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tl {

#define GEN_PASS_DECL
#include "tl/Conversion/TLToThreads/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tl/Conversion/TLToThreads/Passes.h.inc"

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_PASSES_H
