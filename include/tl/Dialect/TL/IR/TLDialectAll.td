//===- TLDialectAll.td - All files of the dialect ----------*- tablegen -*-===//
//
// For what is made of the dialect as a whole: the parser of its types, and the
// reference.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_TLDIALECTALL_TD
#define TL_DIALECT_TL_IR_TLDIALECTALL_TD

include "tl/Dialect/TL/IR/Addresses.td"
include "tl/Dialect/TL/IR/Calls.td"
include "tl/Dialect/TL/IR/Iterations.td"
include "tl/Dialect/TL/IR/Pipes.td"
include "tl/Dialect/TL/IR/Prints.td"
include "tl/Dialect/TL/IR/Roles.td"
include "tl/Dialect/TL/IR/Scans.td"
include "tl/Dialect/TL/IR/TLOps.td"
include "tl/Dialect/TL/IR/Warps.td"

#endif // TL_DIALECT_TL_IR_TLDIALECTALL_TD
