//===- IntTuple.cpp - Trees of integers -----------------------------------===//
//
// Structure and printing of integer trees; parsing is in Parser.cpp.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/IntTuple.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace llvm;
using namespace tl::layout;

IntTuple IntTuple::list(ArrayRef<IntTuple> children) {
  IntTuple tuple;
  tuple.leaf = false;
  tuple.children.assign(children.begin(), children.end());
  return tuple;
}

int64_t IntTuple::getValue() const {
  assert(leaf && "a list has no value");
  return leafValue;
}

ArrayRef<IntTuple> IntTuple::getModes() const {
  return leaf ? ArrayRef(*this) : ArrayRef(children);
}

int64_t IntTuple::getDepth() const {
  if (leaf)
    return 0;
  int64_t deepest = 0;
  for (const IntTuple &child : children)
    deepest = std::max(deepest, child.getDepth());
  return deepest + 1;
}

static void appendLeaves(const IntTuple &tuple,
                         SmallVectorImpl<int64_t> &leaves) {
  if (tuple.isLeaf()) {
    leaves.push_back(tuple.getValue());
    return;
  }
  for (const IntTuple &child : tuple.getModes())
    appendLeaves(child, leaves);
}

SmallVector<int64_t> IntTuple::getLeaves() const {
  SmallVector<int64_t> leaves;
  appendLeaves(*this, leaves);
  return leaves;
}

int64_t IntTuple::getProduct() const {
  return product_of(getLeaves(), int64_t(1));
}

bool IntTuple::isCongruent(const IntTuple &other) const {
  if (leaf || other.leaf)
    return leaf == other.leaf;
  return all_of_zip(
      children, other.children,
      [](const IntTuple &a, const IntTuple &b) { return a.isCongruent(b); });
}

void IntTuple::print(raw_ostream &os) const {
  if (leaf) {
    os << leafValue;
    return;
  }
  os << "(";
  interleave(children, os, ",");
  os << ")";
}

std::string IntTuple::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

hash_code tl::layout::hash_value(const IntTuple &tuple) {
  if (tuple.isLeaf())
    return hash_combine(true, tuple.getValue());
  return hash_combine(false, hash_combine_range(tuple.getModes()));
}

raw_ostream &tl::layout::operator<<(raw_ostream &os, const IntTuple &tuple) {
  tuple.print(os);
  return os;
}
