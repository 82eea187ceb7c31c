//===- ByteCount.h - Sizes as people write them -----------------*- C++ -*-===//
//
// What options and variables take wherever they ask for a number of bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_BYTECOUNT_H
#define TL_SUPPORT_BYTECOUNT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace tl {

/// The number of bytes that a text says: `1000`, `100K`, `4GiB`, `1.5 MB`. The
/// units are powers of 1024, in either case, with or without `B` or `iB`. Part
/// of a byte is dropped. None if the text is something else, or too much for 64
/// bits.
std::optional<uint64_t> parseByteCount(llvm::StringRef text);

} // namespace tl

#endif // TL_SUPPORT_BYTECOUNT_H
