//===- Prints.h - What kernels that print write -----------------*- C++ -*-===//
//
// The record to which a program prints, and the description of the places that
// do. `tl-lower-prints` makes both; who runs the program passes the record and
// reads it (docs/rationale/prints.md).
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_TRANSFORMS_PRINTS_H
#define TL_DIALECT_TL_TRANSFORMS_PRINTS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tl {

/// On the module: for each place that prints a dictionary that describes it.
inline constexpr llvm::StringLiteral kPrintsAttr = "tl.prints";

/// On a `tl.alloc`: `tl-verify-layouts` says in a remark where its elements
/// lie, and calls that by this number.
inline constexpr llvm::StringLiteral kTellLayoutAttr = "tl.tell_layout";

/// The words at the beginning of the record, which is an array of 64-bit words,
/// zero before the program runs.
enum class PrintWord : int64_t {
  /// The words of all entries, those for which there was no room too, and from
  /// bit `kPrintCountBit` on how many entries that were.
  Wanted,
  /// One once an assertion did not hold.
  Failed,
};
inline constexpr int64_t kPrintHeaderWords = 2;
inline constexpr int64_t kPrintCountBit = 36;

/// Behind them the entries follow each other. What does not fit is cut off
/// where the record ends. An entry is three words and what is printed, a word
/// for each number: the place, counted from 1, above the iteration or thread;
/// the block's first and second coordinate; its third, and how many statements
/// that print the block has executed before.
inline constexpr int64_t kPrintEntryWords = 3;

} // namespace tl

#endif // TL_DIALECT_TL_TRANSFORMS_PRINTS_H
