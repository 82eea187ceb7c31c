//===- Warps.h - What threads of a warp give each other ---------*- C++ -*-===//
//
// The ops of Warps.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_WARPS_H
#define TL_DIALECT_TL_IR_WARPS_H

#include "tl/Dialect/TL/IR/TL.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Warps.h.inc"

#endif // TL_DIALECT_TL_IR_WARPS_H
