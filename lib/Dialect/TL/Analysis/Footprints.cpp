//===- Footprints.cpp - Which elements accesses have in common ------------===//
//
// See Footprints.h. Positions are taken not to wrap around 32 bits within a
// loop that runs over a tensor.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Footprints.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

bool tl::coversBuffer(const Footprint &footprint, Value buffer) {
  ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
  if (!footprint.everyPoint || shape.size() != footprint.indices.size())
    return false;
  SmallVector<bool> used(footprint.extents.size(), false);
  for (auto [extent, index] : llvm::zip(shape, footprint.indices)) {
    if (!index || !index->terms.empty() || index->constant != 0)
      return false;
    int64_t reach = 1;
    for (auto [c, factor] : llvm::enumerate(index->coordinates)) {
      if (factor == 0)
        continue;
      // One coordinate for one dimension.
      if (factor != 1 || reach != 1 || used[c])
        return false;
      used[c] = true;
      reach = footprint.extents[c];
    }
    if (reach != extent)
      return false;
  }
  return true;
}

/// The least and the greatest sum of the coordinates' parts and the constant.
static std::pair<int64_t, int64_t> getReach(const IndexForm &index,
                                            ArrayRef<int64_t> extents) {
  int64_t low = index.constant, high = index.constant;
  for (auto [factor, extent] : llvm::zip(index.coordinates, extents))
    (factor < 0 ? low : high) += factor * (extent - 1);
  return {low, high};
}

void Trace::nextIteration(Region &region, Value index, int64_t step) {
  if (!footprint)
    return;
  for (auto [form, moved] : llvm::zip(footprint->indices, drift)) {
    if (!form)
      continue;
    int64_t grown = 0;
    bool unknown = false;
    for (auto [value, factor] : form->terms) {
      if (!region.isAncestor(value.getParentRegion()))
        continue;
      if (value == index && grown == 0)
        grown = factor * step;
      else
        unknown = true;
    }
    // Two movements can be added if they have the same direction.
    if (unknown || (moved != 0 && grown != 0 && (moved < 0) != (grown < 0)))
      form = std::nullopt;
    else if (moved == 0)
      moved = grown;
  }
}

void Trace::leave(Region &region) {
  if (!footprint)
    return;
  auto isInside = [&](std::pair<Value, int64_t> term) {
    return region.isAncestor(term.first.getParentRegion());
  };
  for (std::optional<IndexForm> &form : footprint->indices)
    if (form && llvm::any_of(form->terms, isInside))
      form = std::nullopt;
}

bool Trace::mayMeet(const Footprint &later) const {
  if (!footprint || footprint->indices.size() != later.indices.size())
    return true;
  for (auto [before, after, moved] :
       llvm::zip(footprint->indices, later.indices, drift)) {
    if (!before || !after || before->terms != after->terms)
      continue;
    auto [lowBefore, highBefore] = getReach(*before, footprint->extents);
    auto [lowAfter, highAfter] = getReach(*after, later.extents);
    bool isAbove = moved >= 0 && lowAfter + moved > highBefore;
    bool isBelow = moved <= 0 && highAfter + moved < lowBefore;
    if (isAbove || isBelow)
      return false;
  }
  return true;
}

bool Trace::isFresh() const {
  return footprint &&
         llvm::all_of(drift, [](int64_t moved) { return moved == 0; }) &&
         llvm::all_of(footprint->indices,
                      [](const auto &index) { return index.has_value(); });
}

bool Trace::hasSameOwners(const Footprint &later) const {
  return isFresh() && footprint->owners && footprint->owners == later.owners &&
         footprint->extents == later.extents &&
         footprint->indices == later.indices;
}

bool Trace::isSameElement(const Footprint &later) const {
  return isFresh() && footprint->extents.empty() && later.extents.empty() &&
         footprint->indices == later.indices;
}
