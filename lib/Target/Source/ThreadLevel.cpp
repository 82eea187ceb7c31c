//===- ThreadLevel.cpp - Thread level as people read it -------------------===//

#include "tl/Target/Source/ThreadLevel.h"
#include "tl/Dialect/TL/IR/Warps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

ArrayAttr tl::getParams(gpu::GPUFuncOp kernel) {
  SmallVector<Attribute> params;
  for (unsigned i = 0, e = kernel.getNumArguments(); i < e; ++i)
    params.push_back(kernel.getArgAttr(i, kParamAttr));
  return ArrayAttr::get(kernel.getContext(), params);
}

std::string tl::getSourceArgument(ParamAttr param, StringRef name) {
  return name.empty() ? "arg" + std::to_string(param.getOperand()) : name.str();
}

std::string tl::describeParameter(ParamAttr param, StringRef name) {
  std::string argument = getSourceArgument(param, name);
  switch (param.getKind()) {
  case ParamKind::Base:
  case ParamKind::Scalar:
    return argument;
  case ParamKind::Dim:
    return llvm::formatv("{0}_dim{1}", argument, param.getIndex());
  case ParamKind::Stride:
    return llvm::formatv("{0}_stride{1}", argument, param.getIndex());
  case ParamKind::TensorMap:
    return argument + "_map";
  case ParamKind::Struct:
    break;
  }
  llvm_unreachable("thread-level kernels take no structs");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What to call a value of `type`.
static std::string describeType(Type type) {
  if (getElementTypeOrSelf(type).isInteger(1))
    return "test";
  if (isa<VectorType>(type))
    return "values";
  return isa<FloatType>(type) ? "x" : "n";
}

std::string tl::describeResult(OpResult result) {
  return TypeSwitch<Operation *, std::string>(result.getOwner())
      .Case([](gpu::ThreadIdOp id) {
        return id.getDimension() == gpu::Dimension::x
                   ? "tid"
                   : ("tid_" + gpu::stringifyDimension(id.getDimension()))
                         .str();
      })
      .Case([](gpu::BlockIdOp id) {
        return ("b" + gpu::stringifyDimension(id.getDimension())).str();
      })
      .Case([](SharedBaseOp) { return "smem"; })
      .Case([](gpu::ShuffleOp) { return "shuffled"; })
      .Case([](LLVM::GEPOp) { return "address"; })
      .Case([](LLVM::LoadOp) { return "loaded"; })
      .Case([](LdmatrixOp) { return "matrix"; })
      .Case<MmaOp, MmaF64Op>([](auto) { return "sum"; })
      .Case<WgmmaOp, WgmmaWaitOp>([](auto) { return "acc"; })
      .Default([&](Operation *) { return describeType(result.getType()); });
}

/// True if a cast from `from` to `to` is one between `index` and `i32`.
static bool isIndexAlias(Type from, Type to) {
  from = getElementTypeOrSelf(from);
  to = getElementTypeOrSelf(to);
  return (from.isIndex() || from.isInteger(32)) &&
         (to.isIndex() || to.isInteger(32));
}

bool tl::isAlias(Operation *op) {
  return isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) &&
         isIndexAlias(op->getOperand(0).getType(), op->getResult(0).getType());
}

Value tl::lookThroughAliases(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isAlias(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

StringRef tl::getSymbol(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "==";
  case arith::CmpIPredicate::ne:
    return "!=";
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return "<";
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return "<=";
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return ">";
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return ">=";
  }
  llvm_unreachable("unknown predicate");
}

bool tl::isApproximate(Operation *op) {
  auto interface = dyn_cast<arith::ArithFastMathInterface>(op);
  return interface &&
         bitEnumContainsAll(interface.getFastMathFlagsAttr().getValue(),
                            arith::FastMathFlags::afn);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

bool tl::onlyYields(Block *block) {
  return block && block->without_terminator().empty();
}

std::optional<unsigned> tl::getUnrolling(Operation *loop) {
  auto annotation =
      loop->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation");
  LLVM::LoopUnrollAttr unroll = annotation ? annotation.getUnroll() : nullptr;
  if (!unroll)
    return std::nullopt;
  if (unroll.getDisable() && unroll.getDisable().getValue())
    return 1;
  if (unroll.getCount())
    return unroll.getCount().getInt();
  if (unroll.getFull() && unroll.getFull().getValue())
    return 0;
  return std::nullopt;
}
