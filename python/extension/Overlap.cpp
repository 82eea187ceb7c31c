//===- Overlap.cpp - Tensors that share memory ----------------------------===//
//
// The bytes between an element of one tensor and an element of the other are a
// constant and a sum of multiples of strides, each factor within its extent.
// They share memory if such a sum lies between two bounds. That is a knapsack,
// but strides nest: the largest is tried first, and what the others can add to
// it leaves a factor or two.
//
//===----------------------------------------------------------------------===//

#include "Overlap.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tl::python {

namespace {

/// A stride in bytes, and how often it may be taken.
struct Term {
  int64_t step, most;
  /// What this term and all behind it add at most, and what divides all that
  /// they can add.
  int64_t reach = 0, divisor = 0;
};

/// Where a tensor's elements are: the lowest address, and the terms above it.
struct Extent {
  explicit Extent(const TlTensor &tensor);

  intptr_t first;
  int64_t elementBytes;
  bool isEmpty = false;
  std::vector<Term> terms;
};

} // namespace

Extent::Extent(const TlTensor &tensor)
    : first(reinterpret_cast<intptr_t>(tensor.data) +
            static_cast<intptr_t>(tensor.byteOffset)),
      elementBytes(tensor.dtype.bits * tensor.dtype.lanes / 8) {
  int64_t contiguous = 1;
  for (int32_t i = tensor.rank - 1; i >= 0; --i) {
    int64_t count = tensor.shape[i];
    int64_t step =
        (tensor.strides ? tensor.strides[i] : contiguous) * elementBytes;
    contiguous *= count;
    isEmpty |= count == 0;
    if (step < 0)
      first += step * (count - 1);
    if (count > 1 && step)
      terms.push_back({step < 0 ? -step : step, count - 1});
  }
}

/// Sorts terms, the largest stride first, each stride once.
static void normalize(std::vector<Term> &terms) {
  std::ranges::sort(terms, std::ranges::greater(), &Term::step);
  std::vector<Term> merged;
  for (const Term &term : terms)
    if (!merged.empty() && merged.back().step == term.step)
      merged.back().most += term.most;
    else
      merged.push_back(term);
  int64_t reach = 0, divisor = 0;
  for (auto term = merged.rbegin(); term != merged.rend(); ++term) {
    term->reach = reach += term->step * term->most;
    term->divisor = divisor = std::gcd(divisor, term->step);
  }
  terms = std::move(merged);
}

/// Whether terms from number `i` on have a sum from `low` to `high`.
static bool hasSum(const std::vector<Term> &terms, size_t i, int64_t low,
                   int64_t high) {
  low = std::max<int64_t>(low, 0);
  if (high < low)
    return false;
  if (i == terms.size())
    return low == 0;
  const Term &term = terms[i];
  if (term.reach < low || high / term.divisor * term.divisor < low)
    return false;
  int64_t rest = term.reach - term.step * term.most;
  int64_t least = low > rest ? (low - rest + term.step - 1) / term.step : 0;
  int64_t most = std::min(term.most, high / term.step);
  for (int64_t n = least; n <= most; ++n)
    if (hasSum(terms, i + 1, low - n * term.step, high - n * term.step))
      return true;
  return false;
}

bool shareMemory(const TlTensor &a, const TlTensor &b) {
  Extent one(a), other(b);
  if (one.isEmpty || other.isEmpty)
    return false;
  // Counted down in `one`, all terms are positive.
  int64_t base = other.first - one.first;
  for (const Term &term : one.terms)
    base -= term.step * term.most;
  std::vector<Term> terms = std::move(one.terms);
  terms.insert(terms.end(), other.terms.begin(), other.terms.end());
  normalize(terms);
  return hasSum(terms, 0, 1 - other.elementBytes - base,
                one.elementBytes - 1 - base);
}

} // namespace tl::python
