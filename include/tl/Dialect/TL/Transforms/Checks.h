//===- Checks.h - What checked programs report ------------------*- C++ -*-===//
//
// The record through which a checked program says what went wrong, and the
// description of the places that may say so. `tl-add-checks` makes both; who
// runs the program passes the record and reads it
// (docs/rationale/checked-mode.md).
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_TRANSFORMS_CHECKS_H
#define TL_DIALECT_TL_TRANSFORMS_CHECKS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tl {

/// On the module: for each site of a check a dictionary that describes it.
inline constexpr llvm::StringLiteral kChecksAttr = "tl.checks";

/// What a check finds.
enum class CheckKind : int64_t {
  Bounds = 0,
  Division = 1,
  Uninitialized = 2,
  Extents = 3
};

/// The record is an array of 64-bit words, zero before the program runs: a word
/// that is 1 once something was reported, and then `kRecordSlots` slots of
/// `kSlotWords` words. The upper half of a slot's words is a tag, the same in
/// all words that were written by one report, and never zero; the lower halves
/// are, in order: the site and what was found there (`site << 8 | kind << 4 |
/// dimension`), the iteration or thread, the block's three coordinates, the two
/// halves of the index, the extent.
inline constexpr int64_t kRecordSlots = 4096;
inline constexpr int64_t kSlotWords = 8;
inline constexpr int64_t kRecordWords = 1 + kRecordSlots * kSlotWords;

} // namespace tl

#endif // TL_DIALECT_TL_TRANSFORMS_CHECKS_H
