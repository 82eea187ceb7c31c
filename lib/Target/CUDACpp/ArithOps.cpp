//===- ArithOps.cpp - Arithmetic as C++ -----------------------------------===//
//
// C++ computes in `int` what is narrower, and leaves signed overflow undefined;
// the IR wraps at each width, unless the op says `nsw`. So narrow results are
// cast back, and what may overflow is computed unsigned: for that one operand
// has to be, which a literal's suffix often settles.
//
//===----------------------------------------------------------------------===//

#include "KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// `a op b`, for an operator that groups from the left.
static Expression binary(const Expression &a, StringRef op, const Expression &b,
                         Binding binding) {
  Expression result;
  Binding tighter = static_cast<Binding>(static_cast<int>(binding) + 1);
  result.text = (a.at(binding) + " " + op + " " + b.at(tighter)).str();
  result.binding = binding;
  result.isUnsigned = a.isUnsigned || b.isUnsigned;
  return result;
}

static bool isBool(Type type) {
  return getElementTypeOrSelf(type).isInteger(1);
}

static bool isInteger(Type type) {
  return isa<IntegerType, IndexType>(getElementTypeOrSelf(type));
}

/// A result that C++ computed in `int`, cut to the width of `type`.
static Expression narrow(const Expression &x, Type type) {
  if (getIntegerWidth(type) >= 32)
    return x;
  return cast(getScalarType(type), x);
}

namespace {
/// One elementwise op with its operands as text.
struct Elementwise {
  Operation *op;
  Expression a, b, c;
  Type type; ///< of the operands

  Expression operate(StringRef symbol, Binding binding) const {
    return binary(a, symbol, b, binding);
  }

  /// Both operands such that C++ computes without sign.
  Expression unsignedly(StringRef symbol, Binding binding) const {
    if (getIntegerWidth(type) < 32)
      return narrow(
          binary(asUnsigned(a, type), symbol, asUnsigned(b, type), binding),
          type);
    if (a.isUnsigned || b.isUnsigned)
      return operate(symbol, binding);
    if (b.isLiteral)
      return binary(a, symbol, asUnsigned(b, type), binding);
    return binary(asUnsigned(a, type), symbol, b, binding);
  }

  Expression signedly(StringRef symbol, Binding binding) const {
    return narrow(binary(asSigned(a, type), symbol, asSigned(b, type), binding),
                  type);
  }

  /// Sums and products, which wrap unless the op says otherwise.
  Expression wrap(StringRef symbol, Binding binding) const {
    auto overflow = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
    bool wraps =
        !overflow || !bitEnumContainsAll(overflow.getOverflowAttr().getValue(),
                                         arith::IntegerOverflowFlags::nsw);
    if (getIntegerWidth(type) < 32)
      return narrow(operate(symbol, binding), type);
    return wraps ? unsignedly(symbol, binding) : operate(symbol, binding);
  }

  Expression bits(StringRef symbol, Binding binding) const {
    return narrow(operate(symbol, binding), type);
  }

  /// `function<T>(a, b)` on signed or unsigned operands.
  Expression ofSign(const Twine &function, bool isUnsigned) const {
    StringRef scalar = getScalarType(type, isUnsigned);
    auto convert = [&](const Expression &x) {
      return isUnsigned ? asUnsigned(x, type) : asSigned(x, type);
    };
    Expression result =
        call(function + "<" + scalar + ">", {convert(a), convert(b)});
    result.isUnsigned = isUnsigned;
    return getIntegerWidth(type) < 32 ? narrow(result, type) : result;
  }
};
} // namespace

static Expression negate(const Expression &x) {
  Expression result;
  result.text = "!" + x.at(Binding::Unary);
  result.binding = Binding::Unary;
  return result;
}

static Expression conditional(const Expression &test, const Expression &a,
                              const Expression &b) {
  Expression result;
  result.text = test.at(Binding::Or) + " ? " + a.at(Binding::Or) + " : " +
                b.at(Binding::Or);
  result.binding = Binding::Conditional;
  result.isUnsigned = a.isUnsigned || b.isUnsigned;
  return result;
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

/// The lesser or the greater of two integers that are computed, of which the
/// compiler learns nothing more. NVVM 7, which NVRTC and nvcc 13.0 have,
/// rewrites an extreme of extremes by way of the bitwise complements of its
/// operands, and back, without end: `min(~a, max(b + 1, 2 - c))`. Where one of
/// the two is a constant it does not, and conversions and indices are cheaper
/// if it knows their bounds.
static Expression hide(const Expression &extreme) {
  Expression result = call("tl::opaque", extreme);
  result.isUnsigned = extreme.isUnsigned;
  return result;
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

static Expression printExtreme(const Elementwise &e, StringRef function,
                               bool isUnsigned) {
  Expression result = e.ofSign(function, isUnsigned);
  return llvm::any_of(e.op->getOperands(), isConstant) ? result : hide(result);
}

/// Whether `op` chooses between two integers by which is the greater.
static bool isExtreme(arith::SelectOp op) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || isBool(op.getType()))
    return false;
  std::pair chosen(op.getTrueValue(), op.getFalseValue());
  std::pair compared(compare.getLhs(), compare.getRhs());
  std::pair swapped(compare.getRhs(), compare.getLhs());
  return (chosen == compared || chosen == swapped) &&
         !isConstant(chosen.first) && !isConstant(chosen.second);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static Expression printCompare(const Elementwise &e, arith::CmpIOp op) {
  arith::CmpIPredicate predicate = op.getPredicate();
  StringRef symbol = getSymbol(predicate);
  bool equality = symbol == "==" || symbol == "!=";
  Binding binding = equality ? Binding::Equality : Binding::Relation;
  Expression result;
  switch (predicate) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    // A set bit of one is minus one.
    result = isBool(e.type) ? binary(e.b, symbol, e.a, binding)
                            : binary(asSigned(e.a, e.type), symbol,
                                     asSigned(e.b, e.type), binding);
    break;
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
    result = getIntegerWidth(e.type) < 32
                 ? binary(asSigned(e.a, e.type), symbol, asSigned(e.b, e.type),
                          binding)
                 : e.operate(symbol, binding);
    break;
  default:
    if (isBool(e.type))
      result = e.operate(symbol, binding);
    else if (getIntegerWidth(e.type) < 32)
      result = binary(asUnsigned(e.a, e.type), symbol, asUnsigned(e.b, e.type),
                      binding);
    else
      result = e.unsignedly(symbol, binding);
  }
  result.isUnsigned = false;
  return result;
}

static Expression printCompare(const Elementwise &e, arith::CmpFPredicate p) {
  auto relation = [&](StringRef symbol) {
    return e.operate(symbol, symbol == "==" || symbol == "!="
                                 ? Binding::Equality
                                 : Binding::Relation);
  };
  auto both = [&](StringRef symbol, StringRef joint) {
    return binary(binary(e.a, symbol, e.a, Binding::Equality), joint,
                  binary(e.b, symbol, e.b, Binding::Equality),
                  joint == "&&" ? Binding::And : Binding::Or);
  };
  auto differ = [&] {
    return binary(relation("<"), "||", relation(">"), Binding::Or);
  };
  switch (p) {
  case arith::CmpFPredicate::AlwaysFalse:
    return {"false"};
  case arith::CmpFPredicate::AlwaysTrue:
    return {"true"};
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
  case arith::CmpFPredicate::ONE:
    return differ();
  case arith::CmpFPredicate::ORD:
    return both("==", "&&");
  case arith::CmpFPredicate::UEQ:
    return negate(differ());
  case arith::CmpFPredicate::UGT:
    return negate(relation("<="));
  case arith::CmpFPredicate::UGE:
    return negate(relation("<"));
  case arith::CmpFPredicate::ULT:
    return negate(relation(">="));
  case arith::CmpFPredicate::ULE:
    return negate(relation(">"));
  case arith::CmpFPredicate::UNE:
    return relation("!=");
  case arith::CmpFPredicate::UNO:
    return both("!=", "||");
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// An integer of another width.
static Expression resize(const Expression &x, Type from, Type to,
                         bool isUnsigned) {
  if (isBool(to))
    return binary(binary(x, "&", {"1"}, Binding::BitAnd), "!=", {"0"},
                  Binding::Equality);
  if (isBool(from)) {
    if (isUnsigned)
      return cast(getScalarType(to), x);
    return conditional(x, {"-1"}, {"0"});
  }
  if (getIntegerWidth(from) > getIntegerWidth(to))
    return cast(getScalarType(to), x);
  if (!isUnsigned)
    return cast(getScalarType(to), asSigned(x, from));
  return cast(getScalarType(to, /*isUnsigned=*/getIntegerWidth(to) >= 32),
              asUnsigned(x, from));
}

/// A conversion to or between floats.
static Expression toFloat(const Expression &x, Type to) {
  StringRef type = getScalarType(to);
  return call(type, x);
}

static Expression intToFloat(const Expression &x, Type from, Type to,
                             bool isUnsigned) {
  if (isBool(from)) {
    Expression one = toFloat({isUnsigned ? "1.0f" : "-1.0f"}, to);
    return conditional(x, one, toFloat({"0.0f"}, to));
  }
  return toFloat(isUnsigned ? asUnsigned(x, from) : asSigned(x, from), to);
}

static Expression floatToInt(Expression x, Type from, Type to,
                             bool isUnsigned) {
  from = getElementTypeOrSelf(from);
  if (from.getIntOrFloatBitWidth() < 32)
    x = call("float", x);
  if (isBool(to))
    return binary(x, "!=", {"0.0f"}, Binding::Equality);
  if (getIntegerWidth(to) < 32)
    return cast(getScalarType(to), cast("int", x));
  return cast(getScalarType(to, isUnsigned), x);
}

static Expression printBitcast(const Expression &x, Type from, Type to) {
  from = getElementTypeOrSelf(from);
  to = getElementTypeOrSelf(to);
  if (from == to)
    return x;
  if (from.isF32() && to.isInteger(32))
    return call("__float_as_int", x);
  if (from.isInteger(32) && to.isF32())
    return call("__int_as_float", x);
  return call("tl::bit_cast<" + getScalarType(to) + ">",
              isInteger(from) ? cast(getScalarType(from), x) : x);
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static std::optional<Expression> printFloatOp(const Elementwise &e) {
  bool isF32 = getElementTypeOrSelf(e.type).isF32();
  return TypeSwitch<Operation *, std::optional<Expression>>(e.op)
      .Case([&](arith::AddFOp) { return e.operate("+", Binding::Sum); })
      .Case([&](arith::SubFOp) { return e.operate("-", Binding::Sum); })
      .Case([&](arith::MulFOp) { return e.operate("*", Binding::Product); })
      .Case([&](arith::DivFOp) {
        if (isF32 && isApproximate(e.op))
          return call("__fdividef", {e.a, e.b});
        return e.operate("/", Binding::Product);
      })
      .Case([&](arith::NegFOp) {
        Expression result{"-" + e.a.at(Binding::Primary)};
        result.binding = Binding::Unary;
        return result;
      })
      .Case([&](arith::RemFOp) { return call("tl::rem", {e.a, e.b}); })
      .Case([&](arith::MaximumFOp) { return call("tl::maximum", {e.a, e.b}); })
      .Case([&](arith::MinimumFOp) { return call("tl::minimum", {e.a, e.b}); })
      .Case([&](arith::MaxNumFOp) { return call("tl::maxnum", {e.a, e.b}); })
      .Case([&](arith::MinNumFOp) { return call("tl::minnum", {e.a, e.b}); })
      .Case(
          [&](arith::CmpFOp op) { return printCompare(e, op.getPredicate()); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Operations on truth values.
static std::optional<Expression> printBoolOp(const Elementwise &e) {
  return TypeSwitch<Operation *, std::optional<Expression>>(e.op)
      .Case<arith::AndIOp, arith::MulIOp>(
          [&](auto) { return e.operate("&&", Binding::And); })
      .Case([&](arith::OrIOp) { return e.operate("||", Binding::Or); })
      .Case<arith::XOrIOp, arith::AddIOp, arith::SubIOp>([&](auto) {
        if (e.b.text == "true")
          return negate(e.a);
        return e.operate("!=", Binding::Equality);
      })
      .Case<arith::MaxSIOp, arith::MinUIOp>(
          [&](auto) { return e.operate("&&", Binding::And); })
      .Case<arith::MinSIOp, arith::MaxUIOp>(
          [&](auto) { return e.operate("||", Binding::Or); })
      .Default([](Operation *) { return std::nullopt; });
}

/// True for `-x` of which ptxas could lose the sign: of a short integer, and
/// where there is a `max` or `min` of signed integers, to which it may get by
/// way of vectors and selects.
static bool isNegatedAtRisk(arith::SubIOp op) {
  unsigned width = getIntegerWidth(op.getType());
  if (width > 32 || !matchPattern(op.getLhs(), m_Zero()))
    return false;
  return width < 32 || op->getParentOfType<FunctionOpInterface>()
                           ->walk([](Operation *other) {
                             return isa<arith::MaxSIOp, arith::MinSIOp>(other)
                                        ? WalkResult::interrupt()
                                        : WalkResult::advance();
                           })
                           .wasInterrupted();
}

/// The factor of a product of short integers that the compiler of CUDA makes a
/// negation of; none for other products.
static std::optional<int64_t> getNegatedPowerOf2(arith::MulIOp op) {
  APInt factor;
  if (getIntegerWidth(op.getType()) < 32 &&
      matchPattern(op.getRhs(), m_ConstantInt(&factor)) &&
      factor.isNegatedPowerOf2())
    return factor.getSExtValue();
  return std::nullopt;
}

static std::optional<Expression> printIntegerOp(const Elementwise &e) {
  if (isBool(e.type))
    if (std::optional<Expression> text = printBoolOp(e))
      return text;
  return TypeSwitch<Operation *, std::optional<Expression>>(e.op)
      .Case([&](arith::AddIOp) { return e.wrap("+", Binding::Sum); })
      .Case([&](arith::SubIOp op) {
        if (isNegatedAtRisk(op))
          return narrow(call("tl::negate", asSigned(e.b, e.type)), e.type);
        return e.wrap("-", Binding::Sum);
      })
      .Case([&](arith::MulIOp op) {
        std::optional<int64_t> factor = getNegatedPowerOf2(op);
        if (!factor)
          return e.wrap("*", Binding::Product);
        Expression power{std::to_string(-*factor)};
        return narrow(call("tl::negate", binary(asSigned(e.a, e.type), "*",
                                                power, Binding::Product)),
                      e.type);
      })
      .Case([&](arith::DivSIOp) { return e.signedly("/", Binding::Product); })
      .Case([&](arith::RemSIOp) { return e.signedly("%", Binding::Product); })
      .Case([&](arith::DivUIOp) { return e.unsignedly("/", Binding::Product); })
      .Case([&](arith::RemUIOp) { return e.unsignedly("%", Binding::Product); })
      .Case([&](arith::CeilDivSIOp) { return e.ofSign("tl::ceildiv", false); })
      .Case([&](arith::CeilDivUIOp) { return e.ofSign("tl::ceildiv", true); })
      .Case(
          [&](arith::FloorDivSIOp) { return e.ofSign("tl::floordiv", false); })
      .Case([&](arith::MaxSIOp) { return printExtreme(e, "tl::max", false); })
      .Case([&](arith::MaxUIOp) { return printExtreme(e, "tl::max", true); })
      .Case([&](arith::MinSIOp) { return printExtreme(e, "tl::min", false); })
      .Case([&](arith::MinUIOp) { return printExtreme(e, "tl::min", true); })
      .Case([&](arith::AndIOp) { return e.bits("&", Binding::BitAnd); })
      .Case([&](arith::OrIOp) { return e.bits("|", Binding::BitOr); })
      .Case([&](arith::XOrIOp) { return e.bits("^", Binding::BitXor); })
      .Case([&](arith::ShLIOp) {
        Expression left = asUnsigned(e.a, e.type);
        return narrow(binary(left, "<<", e.b, Binding::Shift), e.type);
      })
      .Case([&](arith::ShRUIOp) {
        Expression left = asUnsigned(e.a, e.type);
        return narrow(binary(left, ">>", e.b, Binding::Shift), e.type);
      })
      .Case([&](arith::ShRSIOp) {
        Expression result =
            binary(asSigned(e.a, e.type), ">>", e.b, Binding::Shift);
        result.isUnsigned = false;
        return narrow(result, e.type);
      })
      .Case([&](arith::CmpIOp op) { return printCompare(e, op); })
      .Default([](Operation *) { return std::nullopt; });
}

static std::optional<Expression> printConversion(const Elementwise &e) {
  Type to = e.op->getResult(0).getType();
  return TypeSwitch<Operation *, std::optional<Expression>>(e.op)
      .Case<arith::ExtSIOp, arith::IndexCastOp, arith::TruncIOp>(
          [&](auto) { return resize(e.a, e.type, to, false); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [&](auto) { return resize(e.a, e.type, to, true); })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return toFloat(e.a, to); })
      .Case([&](arith::SIToFPOp) { return intToFloat(e.a, e.type, to, false); })
      .Case([&](arith::UIToFPOp) { return intToFloat(e.a, e.type, to, true); })
      .Case([&](arith::FPToSIOp) { return floatToInt(e.a, e.type, to, false); })
      .Case([&](arith::FPToUIOp) { return floatToInt(e.a, e.type, to, true); })
      .Case([&](arith::BitcastOp) { return printBitcast(e.a, e.type, to); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The halves of a product twice as wide, and a sum with its carry.
static std::optional<Expression> printWideOp(const Elementwise &e,
                                             unsigned result) {
  unsigned width = getIntegerWidth(e.type);
  bool isSigned = isa<arith::MulSIExtendedOp>(e.op);
  if (isa<arith::AddUIExtendedOp>(e.op)) {
    Expression sum = e.unsignedly("+", Binding::Sum);
    if (result == 0)
      return sum;
    return binary(asUnsigned(sum, e.type), "<", asUnsigned(e.a, e.type),
                  Binding::Relation);
  }
  if (!isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp>(e.op))
    return std::nullopt;
  if (result == 0)
    return e.unsignedly("*", Binding::Product);
  Expression a = isSigned ? asSigned(e.a, e.type) : asUnsigned(e.a, e.type);
  Expression b = isSigned ? asSigned(e.b, e.type) : asUnsigned(e.b, e.type);
  if (width >= 32)
    return call("tl::mulhi", {a, b});
  Expression product =
      binary(cast(isSigned ? "int" : "unsigned", a), "*", b, Binding::Product);
  return narrow(binary(product, ">>", {std::to_string(width)}, Binding::Shift),
                e.type);
}

/// Whether branches and conjunctions alone read the truth value of `op`, so
/// that it may be an `int`.
static bool isCondition(Operation *op) {
  return op->getResult(0).getType().isInteger(1) &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<scf::IfOp, arith::AndIOp>);
}

std::optional<Expression>
KernelPrinter::printArith(Operation *op, unsigned result, StringRef element) {
  if (!isa<arith::ArithDialect>(op->getDialect()) || op->getNumOperands() == 0)
    return std::nullopt;
  Elementwise e{
      op, get(op->getOperand(0), element), {}, {}, op->getOperand(0).getType()};
  if (op->getNumOperands() > 1)
    e.b = get(op->getOperand(1), element);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Expression chosen = conditional(e.a, e.b, get(op->getOperand(2), element));
    return isExtreme(select) ? hide(chosen) : chosen;
  }
  // Masks are read bit by bit.
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) && e.b.isLiteral &&
      !isBool(e.type)) {
    APInt mask;
    if (matchPattern(op->getOperand(1), m_ConstantInt(&mask)))
      e.b = getHexLiteral(mask, e.type);
  }
  if (isa<arith::TruncFOp>(op) && isa<VectorType>(e.type) && element.empty())
    return call(
        "tl::convert<" + getScalarType(op->getResult(0).getType()) + ">", e.a);
  if (std::optional<Expression> text = printConversion(e))
    return text;
  if (std::optional<Expression> text = printWideOp(e, result))
    return text;
  // The assembler would make a call of it.
  if (isExpandedDivision(op)) {
    if (isInteger(e.type)) {
      e.a = asSigned(e.a, e.type);
      e.b = asSigned(e.b, e.type);
    }
    return callFormula(op, {e.a, e.b});
  }
  // Both sides of a conjunction of the IR are computed in any case.
  if (joinsConditions && isa<arith::AndIOp>(op) && isCondition(op))
    return e.operate("&", Binding::BitAnd);
  if (isInteger(e.type))
    return printIntegerOp(e);
  return printFloatOp(e);
}
