//===- TLInterfaces.td - Interfaces of tile ops ------------*- tablegen -*-===//

#ifndef TL_DIALECT_TL_IR_TLINTERFACES_TD
#define TL_DIALECT_TL_IR_TLINTERFACES_TD

include "mlir/IR/OpBase.td"

def TL_TileOpInterface : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::tl";
  let description = [{
    An op that a whole thread block executes together on tiles. What it reads
    and writes is in its memory effects.
  }];
  let methods = [
    InterfaceMethod<[{
        Replaces nothing: emits, before the op, scalar loops over `tl.load` and
        `tl.store` that compute what the op means. This is the op's
        specification, and how backends without an own lowering execute it.
      }], "::llvm::LogicalResult", "emitScalarLoops", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def TL_EventOpInterface : OpInterface<"EventOpInterface"> {
  let cppNamespace = "::tl";
  let description = [{
    An op that touches buffers, or that orders the accesses of others. What it
    does is a list of events (`Events.h`): accesses, each with the proxy it goes
    through, the moment it is complete and the threads that take part; and
    barriers, fences, commits and waits. Planning memory, placing barriers and
    verifying them see nothing else of an op, so that a new op, or a new way to
    carry one out, is described in this one place.

    An op without this interface touches what its memory effects say, by
    ordinary instructions, and orders nothing.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds the op's events, in their order. Accesses that follow each other
        directly happen in any order.
      }], "void", "getEvents", (ins "::llvm::SmallVectorImpl<::tl::Event> &":$events)>
  ];
}

#endif // TL_DIALECT_TL_IR_TLINTERFACES_TD
