//===- RowBox.cpp - Gathered rows that are a box --------------------------===//
//
// Follows the number of a row through the arithmetic of the places. Each value
// is seen as
//
//   base + sum of stride * digit
//
// where digits are those of the row's number in mixed radix, and the base is
// the value for row 0, of which a power of two is known that divides it. A
// quotient and a remainder by a constant keep that form where no digit is
// carried into what the base contributes:
//
// - All that the digits add is less than what divides both base and divisor:
//   the remainder is that of the base and the digits, the quotient the base's.
// - The divisor divides the base: base and digits are divided apart.
//
// Values are of 32 bits and may wrap around. A base is divided by its power of
// two then, too; and what the digits add is no more than that before anything
// is divided, so that the sum wraps where the base does. A place that wraps is
// outside of the tensor, and so is the one that the engine counts up to.
//
// Rows exist where they are inside of the tensor if each condition is one that
// holds for all places inside, or the same for all rows.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/RowBox.h"
#include "tl/Dialect/TL/Analysis/IndexFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace tl;

static constexpr int64_t kLargest = int64_t(1) << 31;

namespace {
/// A digit of a row's number, and what it contributes to a value.
struct Digit {
  int64_t order;  ///< how many rows further on the next value of the digit is
  int64_t extent; ///< how many values it has
  int64_t stride; ///< what each of them adds
};

struct Form {
  SmallVector<Digit, 2> digits;
  int64_t divisor = 1; ///< a power of two, or 0 of a base that is zero

  bool isUniform() const { return digits.empty(); }
  /// How many numbers lie between the base and the greatest sum, both included.
  int64_t getReach() const {
    int64_t reach = 1;
    for (const Digit &digit : digits)
      reach += digit.stride * (digit.extent - 1);
    return reach;
  }
};

/// The forms of the values in the `places` of a copy.
class RowForms {
public:
  explicit RowForms(CopyOp copy);

  /// None of a value that has no such form.
  std::optional<Form> get(Value value) const;

private:
  std::optional<Form> getOfResult(Operation &op) const;

  Block &body;
  DenseMap<Value, std::optional<Form>> known;
};
} // namespace

RowForms::RowForms(CopyOp copy) : body(copy.getPlaces().front().front()) {
  int64_t order = 1;
  ArrayRef<int64_t> rows = copy.getTile().drop_back();
  for (auto [index, extent] :
       llvm::reverse(llvm::zip_equal(body.getArguments(), rows))) {
    Form form;
    form.divisor = 0;
    if (extent > 1)
      form.digits.push_back({order, extent, 1});
    known[index] = form;
    order *= extent;
  }
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      known[result] = getOfResult(op);
}

std::optional<Form> RowForms::get(Value value) const {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Form uniform; // the same for all rows, as it is computed outside
  if (value.getType().isIntOrIndex())
    uniform.divisor = getDivisor(value);
  return uniform;
}

/// A constant factor or divisor, none if there is another one.
static std::optional<int64_t> getConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) ||
      !constant.isStrictlyPositive() || !constant.isSignedIntN(32))
    return std::nullopt;
  return constant.getSExtValue();
}

/// The number by which `op` divides, rounding down; none if it does not.
static std::optional<int64_t> getQuotient(Operation &op) {
  if (isa<arith::DivUIOp, arith::FloorDivSIOp>(op) ||
      (isa<arith::DivSIOp>(op) && getGreatest(op.getOperand(0))))
    return getConstant(op.getOperand(1));
  if (!isa<arith::ShRSIOp, arith::ShRUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> bits = getConstant(op.getOperand(1));
  return bits && *bits < 31 ? std::optional(int64_t(1) << *bits) : std::nullopt;
}

/// The number of which `op` leaves the remainder that is not negative, or none.
static std::optional<int64_t> getRemainder(Operation &op) {
  if (isa<arith::RemUIOp>(op) ||
      (isa<arith::RemSIOp>(op) && getGreatest(op.getOperand(0))))
    return getConstant(op.getOperand(1));
  if (!isa<arith::AndIOp>(op))
    return std::nullopt;
  std::optional<int64_t> mask = getConstant(op.getOperand(1));
  return mask && llvm::isPowerOf2_64(*mask + 1) ? std::optional(*mask + 1)
                                                : std::nullopt;
}

/// Divides the sum of `digits` by `by`: the digits of the quotient, and those
/// of the remainder. False if they are not digits.
static bool split(ArrayRef<Digit> digits, int64_t by, Form &quotient,
                  Form &remainder) {
  for (const Digit &digit : digits) {
    if (digit.stride % by == 0) {
      quotient.digits.push_back({digit.order, digit.extent, digit.stride / by});
      continue;
    }
    int64_t low = by / digit.stride;
    if (by % digit.stride != 0 || (digit.extent > low && digit.extent % low))
      return false;
    remainder.digits.push_back(
        {digit.order, std::min(digit.extent, low), digit.stride});
    if (digit.extent > low)
      quotient.digits.push_back({digit.order * low, digit.extent / low, 1});
  }
  return remainder.getReach() <= by;
}

static std::optional<Form> divide(const Form &form, int64_t by,
                                  bool isRemainder) {
  int64_t reach = form.getReach();
  bool isZero = form.divisor == 0;
  if (reach > (isZero ? kLargest : form.divisor))
    return std::nullopt;
  int64_t common = isZero ? by : std::gcd(form.divisor, by);
  bool isExact = isZero || form.divisor % by == 0;
  Form quotient, remainder;
  quotient.divisor = isZero ? 0 : isExact ? form.divisor / by : 1;
  remainder.divisor = isExact ? 0 : common;
  if (reach <= common) {
    remainder.digits = form.digits;
  } else if (!isExact || !split(form.digits, by, quotient, remainder)) {
    return std::nullopt;
  }
  return isRemainder ? remainder : quotient;
}

static std::optional<Form> multiply(Form form, int64_t by) {
  if ((form.getReach() - 1) * by >= kLargest)
    return std::nullopt;
  for (Digit &digit : form.digits)
    digit.stride *= by;
  form.divisor = std::min(form.divisor * (by & -by), kLargest);
  return form;
}

std::optional<Form> RowForms::getOfResult(Operation &op) const {
  SmallVector<Form, 2> forms;
  for (Value operand : op.getOperands()) {
    std::optional<Form> form = get(operand);
    if (!form)
      return std::nullopt;
    forms.push_back(*form);
  }
  // The engine is told where to begin by arithmetic alone.
  if (isa<LoadOp>(op))
    return std::nullopt;
  Form result;
  if (llvm::all_of(forms, [](const Form &form) { return form.isUniform(); })) {
    if (op.getResult(0).getType().isIntOrIndex())
      result.divisor = getDivisor(op.getResult(0));
    return result;
  }
  if (isa<arith::AddIOp>(op) ||
      (isa<arith::SubIOp>(op) && forms[1].isUniform())) {
    result.divisor = std::gcd(forms[0].divisor, forms[1].divisor);
    result.digits = forms[0].digits;
    llvm::append_range(result.digits, forms[1].digits);
    return result.getReach() <= kLargest ? std::optional(result) : std::nullopt;
  }
  if (isa<arith::MulIOp>(op)) {
    bool isFirst = forms[1].isUniform();
    std::optional<int64_t> by = getConstant(op.getOperand(isFirst));
    return by ? multiply(forms[!isFirst], *by) : std::nullopt;
  }
  if (!forms.back().isUniform())
    return std::nullopt;
  if (std::optional<int64_t> by = getQuotient(op))
    return divide(forms[0], *by, /*isRemainder=*/false);
  if (std::optional<int64_t> by = getRemainder(op))
    return divide(forms[0], *by, /*isRemainder=*/true);
  return std::nullopt;
}

/// The extent of the digits of a place that counts rows one by one, the first
/// digit being of `order`; none if it counts otherwise.
static std::optional<int64_t> getExtent(Form form, int64_t order) {
  llvm::sort(form.digits,
             [](const Digit &a, const Digit &b) { return a.order < b.order; });
  int64_t extent = 1;
  for (const Digit &digit : form.digits) {
    if (digit.order != order * extent || digit.stride != extent)
      return std::nullopt;
    extent *= digit.extent;
  }
  return extent;
}

/// Whether `compare` holds for all `place`s from 0 to `extent`, exclusive.
static bool holdsInside(arith::CmpIOp compare, int64_t extent) {
  APInt constant;
  if (!matchPattern(compare.getRhs(), m_ConstantInt(&constant)) ||
      !constant.isSignedIntN(32))
    return false;
  int64_t bound = constant.getSExtValue();
  bool isBelow = bound >= extent; // also of unsigned numbers: it is positive
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sge:
    return bound <= 0;
  case arith::CmpIPredicate::sgt:
    return bound < 0;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return isBelow;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return bound >= 0 && bound + 1 >= extent;
  case arith::CmpIPredicate::uge:
    return bound == 0;
  default:
    return false;
  }
}

/// Finds the conditions that are the same for all rows. False if there is one
/// that is neither that, nor true of all rows inside of the tensor.
static bool findConditions(PlacesOp rows, ArrayRef<int64_t> shape,
                           const RowForms &forms,
                           SmallVectorImpl<Value> &conditions) {
  SmallVector<Value> worklist;
  if (rows.getExists())
    worklist.push_back(rows.getExists());
  while (!worklist.empty()) {
    Value condition = worklist.pop_back_val();
    if (std::optional<Form> form = forms.get(condition);
        form && form->isUniform()) {
      conditions.push_back(condition);
      continue;
    }
    Operation *op = condition.getDefiningOp();
    if (auto both = dyn_cast<arith::AndIOp>(op)) {
      worklist.append({both.getRhs(), both.getLhs()});
      continue;
    }
    auto compare = dyn_cast<arith::CmpIOp>(op);
    bool holds =
        compare && llvm::any_of(llvm::zip_equal(rows.getPlace(), shape),
                                [&](auto dimension) {
                                  auto [place, extent] = dimension;
                                  return place == compare.getLhs() &&
                                         !ShapedType::isDynamic(extent) &&
                                         holdsInside(compare, extent);
                                });
    if (!holds)
      return false;
  }
  return true;
}

std::optional<RowBox> tl::getRowBox(CopyOp copy) {
  PlacesOp rows = copy.getRows();
  ArrayRef<int64_t> shape =
      cast<MemRefType>(copy.getSource().getType()).getShape();
  if (shape.size() < 2 || copy.keepsRows())
    return std::nullopt;
  RowForms forms(copy);
  RowBox box;
  box.extents.assign(shape.size(), 1);
  int64_t order = 1;
  for (auto [place, extent] :
       llvm::reverse(llvm::zip_equal(rows.getPlace(), box.extents))) {
    std::optional<Form> form = forms.get(place);
    bool isLast = &extent == &box.extents.back();
    if (!form || (isLast && !form->isUniform()))
      return std::nullopt;
    std::optional<int64_t> found = getExtent(*form, order);
    if (!found)
      return std::nullopt;
    extent = *found;
    order *= extent;
  }
  if (order != llvm::product_of(copy.getTile().drop_back()) ||
      !findConditions(rows, shape, forms, box.conditions))
    return std::nullopt;
  return box;
}
