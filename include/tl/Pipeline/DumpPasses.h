//===- DumpPasses.h - The IR after every pass, as files ---------*- C++ -*-===//
//
// What `dump_dir` of `tilec.compile` leaves.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_DUMPPASSES_H
#define TL_PIPELINE_DUMPPASSES_H

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace tl {

/// Writes the whole module after every pass to `directory`, which is made: that
/// of a pass on the module to `03-tl-lower-prints.mlir`, that of a pass on
/// kernel `k` to `k/03-tl-stage-stores.mlir`. Names sort in the order of the
/// passes. The context must not run passes in parallel. What cannot be written
/// is a warning at the module.
std::unique_ptr<mlir::PassInstrumentation>
createPassDump(std::string directory, mlir::OpPrintingFlags flags);

} // namespace tl

#endif // TL_PIPELINE_DUMPPASSES_H
