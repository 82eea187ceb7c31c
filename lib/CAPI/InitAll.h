//===- InitAll.h - What the compiler knows by name --------------*- C++ -*-===//
//
// Registration of the dialects, passes and pipelines that texts may name: the
// IR that tools and the C API parse, and the pipelines given to tools.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_INITALL_H
#define TL_LIB_CAPI_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tl {

/// Adds the dialects that may occur before, between and after our passes.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers our passes and pipelines, and the upstream passes that go with
/// them, in MLIR's global registry. Only the first call does anything.
void registerPasses();

} // namespace tl

#endif // TL_LIB_CAPI_INITALL_H
