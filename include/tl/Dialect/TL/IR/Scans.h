//===- Scans.h - Running sums and extremes ----------------------*- C++ -*-===//
//
// The ops of Scans.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_SCANS_H
#define TL_DIALECT_TL_IR_SCANS_H

#include "tl/Dialect/TL/IR/TL.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Scans.h.inc"

#endif // TL_DIALECT_TL_IR_SCANS_H
