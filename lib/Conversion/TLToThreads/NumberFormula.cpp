//===- NumberFormula.cpp - Tables of numbers as formulas ------------------===//
//
// A digit of a layout need not move by one step: that of a loop over 6 columns
// may be one of pairs in a fragment. So digits are taken apart as far as they
// go, and joined again where they move alike.
//
//===----------------------------------------------------------------------===//

#include "NumberFormula.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::ThreadStep;

SmallVector<ThreadStep> tl::joinSteps(ArrayRef<ThreadStep> steps) {
  SmallVector<ThreadStep> joined;
  for (ThreadStep step : steps) {
    if (step.extent == 1)
      continue;
    if (!joined.empty()) {
      ThreadStep &last = joined.back();
      if (step.divisor == last.divisor * last.extent &&
          step.step == last.step * last.extent) {
        last.extent *= step.extent;
        continue;
      }
    }
    joined.push_back(step);
  }
  return joined;
}

std::optional<NumberFormula> NumberFormula::find(ArrayRef<int64_t> numbers,
                                                 ArrayRef<int64_t> extents) {
  assert(numbers.size() == size_t(llvm::product_of(extents)) &&
         "digits say positions");
  NumberFormula formula;
  formula.count = numbers.size();
  formula.first = numbers.front();
  int64_t divisor = 1;
  for (int64_t extent : extents)
    for (int64_t rest = extent, factor = 2; rest > 1;) {
      if (rest % factor != 0) {
        ++factor;
        continue;
      }
      int64_t moved = std::max(numbers[divisor], numbers.front());
      formula.steps.push_back({divisor, factor, moved - numbers.front()});
      divisor *= factor;
      rest /= factor;
    }
  formula.steps = joinSteps(formula.steps);
  for (auto [position, number] : llvm::enumerate(numbers)) {
    int64_t sum = formula.first;
    for (ThreadStep step : formula.steps)
      sum += int64_t(position) / step.divisor % step.extent * step.step;
    if (number >= 0 && number != sum)
      return std::nullopt;
  }
  return formula;
}

Value NumberFormula::emit(ThreadLowering &lowering, Value position) const {
  Value number = lowering.index(first);
  for (ThreadStep step : steps) {
    Value digit = lowering.div(position, step.divisor);
    if (step.divisor * step.extent < count)
      digit = lowering.rem(digit, step.extent);
    number = lowering.add(number, lowering.mul(digit, step.step));
  }
  return number;
}
