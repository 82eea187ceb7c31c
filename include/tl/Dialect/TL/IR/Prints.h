//===- Prints.h - What a kernel tells its caller ----------------*- C++ -*-===//
//
// The ops of Prints.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_PRINTS_H
#define TL_DIALECT_TL_IR_PRINTS_H

#include "tl/Dialect/TL/IR/TL.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Prints.h.inc"

#endif // TL_DIALECT_TL_IR_PRINTS_H
