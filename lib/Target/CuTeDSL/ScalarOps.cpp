//===- ScalarOps.cpp - Arithmetic and functions ---------------------------===//
//
// Operators of CuTe DSL work on scalars and on vectors alike. Operands have one
// type here, so that none is promoted.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cutedsl;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static Expression binary(const Expression &a, StringRef symbol,
                         const Expression &b) {
  return {(a.operand() + " " + symbol + " " + b.operand()).str(),
          /*isPrimary=*/false};
}

static bool isUnsigned(arith::CmpIPredicate predicate) {
  return predicate == arith::CmpIPredicate::ult ||
         predicate == arith::CmpIPredicate::ule ||
         predicate == arith::CmpIPredicate::ugt ||
         predicate == arith::CmpIPredicate::uge;
}

/// Python's comparisons are ordered, but for `!=`.
static std::optional<Expression> compare(arith::CmpFPredicate predicate,
                                         const Expression &a,
                                         const Expression &b) {
  auto relation = [&](StringRef symbol) { return binary(a, symbol, b); };
  auto either = [](const Expression &x, const Expression &y) {
    return binary(x, "|", y);
  };
  auto unordered = [&] {
    return either(binary(a, "!=", a), binary(b, "!=", b));
  };
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return relation("==");
  case arith::CmpFPredicate::OGT:
    return relation(">");
  case arith::CmpFPredicate::OGE:
    return relation(">=");
  case arith::CmpFPredicate::OLT:
    return relation("<");
  case arith::CmpFPredicate::OLE:
    return relation("<=");
  case arith::CmpFPredicate::UNE:
    return relation("!=");
  case arith::CmpFPredicate::ONE:
    return either(relation("<"), relation(">"));
  case arith::CmpFPredicate::ORD:
    return binary(binary(a, "==", a), "&", binary(b, "==", b));
  case arith::CmpFPredicate::UNO:
    return unordered();
  case arith::CmpFPredicate::UEQ:
    return either(relation("=="), unordered());
  case arith::CmpFPredicate::UGT:
    return either(relation(">"), unordered());
  case arith::CmpFPredicate::UGE:
    return either(relation(">="), unordered());
  case arith::CmpFPredicate::ULT:
    return either(relation("<"), unordered());
  case arith::CmpFPredicate::ULE:
    return either(relation("<="), unordered());
  default: // constants, which are folded
    return std::nullopt;
  }
}

std::optional<Expression> KernelPrinter::printArith(Operation *op) {
  if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
    return std::nullopt;
  Value first = op->getOperand(0);
  Value second = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
  Type type = first.getType(), result = op->getResult(0).getType();
  bool isBool = getElementTypeOrSelf(type).isInteger(1);

  auto operate = [&](StringRef symbol) {
    // One operand has a type, which is then the other's too.
    bool firstIsConstant = first.getDefiningOp<arith::ConstantOp>() &&
                           !second.getDefiningOp<arith::ConstantOp>();
    return binary(firstIsConstant ? getLiteral(first) : get(first), symbol,
                  firstIsConstant ? get(second) : getLiteral(second));
  };
  auto unsignedly = [&](StringRef symbol) {
    return binary(getUnsigned(first), symbol, getUnsigned(second));
  };
  auto asSigned = [&](const Expression &x) {
    return convert(x, result, getScalarType(result));
  };
  auto function = [&](StringRef name, StringRef options = "") {
    Expression text = call(name, {get(first), get(second)});
    if (!options.empty())
      text.text.insert(text.text.size() - 1, (", " + options).str());
    return text;
  };
  auto toFloat = [&](const Expression &x) {
    return convert(x, type, getScalarType(result));
  };

  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case<arith::AddFOp>([&](auto) { return operate("+"); })
      .Case<arith::SubFOp>([&](auto) { return operate("-"); })
      .Case<arith::MulFOp>([&](auto) { return operate("*"); })
      .Case([&](arith::DivFOp) {
        return isApproximate(op) ? function("cute.math.div", "fastmath=True")
                                 : operate("/");
      })
      .Case([&](arith::RemFOp) { return function("cute.math.rem"); })
      .Case([&](arith::NegFOp) {
        return Expression{"-" + get(first).operand(), false};
      })
      .Case<arith::MaxNumFOp, arith::MaxSIOp>(
          [&](auto) { return function("cute.math.max"); })
      .Case<arith::MinNumFOp, arith::MinSIOp>(
          [&](auto) { return function("cute.math.min"); })
      .Case([&](arith::MaximumFOp) {
        return function("cute.math.max", "propagate_nan=True");
      })
      .Case([&](arith::MinimumFOp) {
        return function("cute.math.min", "propagate_nan=True");
      })
      .Case([&](arith::CmpFOp compared) {
        return compare(compared.getPredicate(), get(first), getLiteral(second));
      })
      .Case([&](arith::CmpIOp compared) -> std::optional<Expression> {
        arith::CmpIPredicate predicate = compared.getPredicate();
        StringRef symbol = getSymbol(predicate);
        // In the IR a set bit of one is minus one.
        if (isBool && symbol != "==" && symbol != "!=")
          return std::nullopt;
        return isUnsigned(predicate) ? unsignedly(symbol) : operate(symbol);
      })
      .Case<arith::AndIOp>([&](auto) { return operate("&"); })
      .Case<arith::OrIOp>([&](auto) { return operate("|"); })
      .Case<arith::XOrIOp>([&](auto) { return operate(isBool ? "!=" : "^"); })
      .Case([&](arith::SelectOp select) -> std::optional<Expression> {
        Expression a = get(select.getTrueValue());
        Expression b = get(select.getFalseValue());
        Expression test = get(select.getCondition());
        if (isa<VectorType>(type))
          return call("cutlass.vector.where", {test, a, b});
        if (!getElementTypeOrSelf(result).isIntOrIndexOrFloat())
          return std::nullopt; // a pointer
        return Expression{a.operand() + " if " + test.operand() + " else " +
                              b.operand(),
                          false};
      })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return toFloat(get(first)); })
      .Case([&](arith::SIToFPOp) {
        // A bit converts to one.
        Expression x = toFloat(get(first));
        return isBool ? Expression{"-" + x.operand(), false} : x;
      })
      .Case([&](arith::UIToFPOp) {
        return toFloat(isBool ? get(first) : getUnsigned(first));
      })
      .Case([&](arith::FPToSIOp) { return asSigned(get(first)); })
      .Case([&](arith::FPToUIOp) {
        return asSigned(convert(get(first), type, getScalarType(result, true)));
      })
      .Case([&](arith::BitcastOp) {
        return Expression{get(first).operand() + ".bitcast(" +
                          getScalarType(result) + ")"};
      })
      .Default([&](Operation *) -> std::optional<Expression> {
        return isBool && !isa<arith::ExtSIOp, arith::ExtUIOp>(op)
                   ? std::nullopt
                   : printInteger(op);
      });
}

/// What reads the sign of integers, or changes their width.
std::optional<Expression> KernelPrinter::printInteger(Operation *op) {
  Value first = op->getOperand(0);
  Value second = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
  Type type = first.getType(), result = op->getResult(0).getType();
  bool isBool = getElementTypeOrSelf(type).isInteger(1);

  auto operate = [&](StringRef symbol) {
    bool firstIsConstant = bool(first.getDefiningOp<arith::ConstantOp>());
    return binary(firstIsConstant ? getLiteral(first) : get(first), symbol,
                  firstIsConstant ? get(second) : getLiteral(second));
  };
  auto asSigned = [&](const Expression &x) {
    return convert(x, result, getScalarType(result));
  };
  auto unsignedly = [&](StringRef symbol) {
    return asSigned(binary(getUnsigned(first), symbol, getUnsigned(second)));
  };
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case<arith::AddIOp>([&](auto) { return operate("+"); })
      .Case<arith::SubIOp>([&](auto) { return operate("-"); })
      .Case<arith::MulIOp>([&](auto) { return operate("*"); })
      .Case([&](arith::DivUIOp) { return unsignedly("//"); })
      .Case([&](arith::RemUIOp) { return unsignedly("%"); })
      .Case([&](arith::DivSIOp) {
        return help("_div", {get(first), get(second)});
      })
      // Python's `%`, but with the sign of the dividend.
      .Case([&](arith::RemSIOp) { return operate("%"); })
      .Case([&](arith::FloorDivSIOp) { return operate("//"); })
      .Case([&](arith::CeilDivSIOp) {
        return help("_ceildiv", {get(first), get(second)});
      })
      .Case([&](arith::CeilDivUIOp) {
        return asSigned(
            help("_ceildiv", {getUnsigned(first), getUnsigned(second)}));
      })
      .Case([&](arith::MaxUIOp) {
        return asSigned(
            call("cute.math.max", {getUnsigned(first), getUnsigned(second)}));
      })
      .Case([&](arith::MinUIOp) {
        return asSigned(
            call("cute.math.min", {getUnsigned(first), getUnsigned(second)}));
      })
      .Case([&](arith::ShLIOp) { return operate("<<"); })
      .Case([&](arith::ShRSIOp) { return operate(">>"); })
      .Case([&](arith::ShRUIOp) { return unsignedly(">>"); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto) {
        Expression x = asSigned(get(first));
        if (!isBool)
          return x;
        // CuTe DSL negates no vector of integers.
        StringRef minus = isa<VectorType>(type) ? "0 - " : "-";
        return Expression{minus.str() + x.operand(), false};
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) {
        if (isBool)
          return asSigned(get(first));
        return asSigned(convert(getUnsigned(first), type,
                                getScalarType(result, /*isUnsigned=*/true)));
      })
      .Case([&](arith::TruncIOp) {
        if (!getElementTypeOrSelf(result).isInteger(1))
          return asSigned(get(first));
        Expression bit = binary(get(first), "&", {"1"});
        return binary(bit, "!=", {"0"});
      })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::optional<Expression> KernelPrinter::printMath(Operation *op) {
  if (!isa<math::MathDialect>(op->getDialect()))
    return std::nullopt;
  bool isF32 = getElementTypeOrSelf(op->getOperand(0).getType()).isF32();
  // Functions of the `math` dialect that `cute.math` has under the same name.
  StringRef name = op->getName().stripDialect();
  if (isa<math::AbsFOp, math::AbsIOp>(op))
    name = "abs";
  else if (isa<math::PowFOp>(op))
    name = "pow";
  else if (isa<math::CtPopOp, math::CountLeadingZerosOp,
               math::CountTrailingZerosOp, math::IPowIOp, math::FPowIOp>(op))
    return std::nullopt;
  SmallVector<Expression> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return get(operand); });
  if (isF32 && isApproximate(op))
    operands.push_back({"fastmath=True"});
  Expression result = call("cute.math." + name, operands);
  if (op->getResult(0).getType().isInteger(1))
    return call("Boolean", result);
  return result;
}
