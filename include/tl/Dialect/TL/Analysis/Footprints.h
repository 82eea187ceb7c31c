//===- Footprints.h - Which elements accesses have in common ----*- C++ -*-===//
//
// What can be said of two accesses from their footprints (`Events.h`) alone,
// where and when they happen.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_FOOTPRINTS_H
#define TL_DIALECT_TL_ANALYSIS_FOOTPRINTS_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// True if every element of `buffer` is touched.
bool coversBuffer(const Footprint &footprint, mlir::Value buffer);

/// A footprint as it is seen from later on: values that it speaks of may have
/// changed since.
class Trace {
public:
  explicit Trace(std::optional<Footprint> footprint)
      : footprint(std::move(footprint)) {
    if (this->footprint)
      drift.resize(this->footprint->indices.size(), 0);
  }

  /// The next iteration of a loop over `region` begins. `index` is the loop's
  /// index, which grows by `step` or more with each iteration (null if there is
  /// none); other values of the region are new ones.
  void nextIteration(mlir::Region &region, mlir::Value index, int64_t step);

  /// `region` is left: its values are not known any more.
  void leave(mlir::Region &region);

  /// False if no element is touched by both. Both are of one buffer.
  bool mayMeet(const Footprint &later) const;

  /// True if each element that both touch is touched by one thread only, the
  /// same one.
  bool hasSameOwners(const Footprint &later) const;

  /// True if both touch one element, the same one.
  bool isSameElement(const Footprint &later) const;

  const std::optional<Footprint> &get() const { return footprint; }
  bool operator==(const Trace &) const = default;

private:
  bool isFresh() const;

  std::optional<Footprint> footprint;
  /// For each dimension: the least by which the sum of the terms has grown
  /// since (shrunk, if negative); 0 if it is the same.
  llvm::SmallVector<int64_t, 2> drift;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_FOOTPRINTS_H
