//===- IntTuple.h - Trees of integers -------------------------------------===//
//
// The shapes, strides and coordinates of layouts: an integer or a list of
// trees, written `8` or `((4,8),2)`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LAYOUT_INTTUPLE_H
#define TL_LAYOUT_INTTUPLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tl::layout {

class IntTuple {
public:
  /// A leaf. Implicit, so that an integer can stand wherever a tree can.
  IntTuple(int64_t value = 0) : leafValue(value) {}

  /// An inner node; `list({a})` is the tuple `(a)`, which is not `a`.
  static IntTuple list(llvm::ArrayRef<IntTuple> children);

  /// Parses the notation of `print`; blanks are allowed between tokens.
  static llvm::Expected<IntTuple> parse(llvm::StringRef text);

  bool isLeaf() const { return leaf; }
  int64_t getValue() const;

  /// The children of a list; a leaf is its own single mode.
  llvm::ArrayRef<IntTuple> getModes() const;
  int64_t getRank() const { return getModes().size(); }
  const IntTuple &operator[](int64_t index) const { return getModes()[index]; }

  /// The number of list levels above the deepest leaf: 0 for a leaf.
  int64_t getDepth() const;

  /// The leaves from left to right, and their product.
  llvm::SmallVector<int64_t> getLeaves() const;
  int64_t getProduct() const;

  /// Whether both trees have the same lists in the same places.
  bool isCongruent(const IntTuple &other) const;

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  bool operator==(const IntTuple &) const = default;

private:
  bool leaf = true;
  int64_t leafValue;
  std::vector<IntTuple> children;
};

llvm::hash_code hash_value(const IntTuple &tuple);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const IntTuple &tuple);

} // namespace tl::layout

#endif // TL_LAYOUT_INTTUPLE_H
