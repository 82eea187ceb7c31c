//===- Digest.cpp - What bytes are called ---------------------------------===//
//
// BLAKE3 is LLVM's own: a few gigabytes a second on one core, so that checking
// a cubin costs less than opening its file.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Digest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace llvm;
using namespace tl::cache;

Digest Digest::of(StringRef bytes) {
  return Digest(BLAKE3::hash<numBytes>(arrayRefFromStringRef(bytes)));
}

std::optional<Digest> Digest::fromHex(StringRef text) {
  if (text.size() != numHexDigits)
    return std::nullopt;
  Bytes bytes;
  for (size_t i = 0; i < numBytes; ++i) {
    char high = text[2 * i], low = text[2 * i + 1];
    if (isUpper(high) || isUpper(low) || !isHexDigit(high) || !isHexDigit(low))
      return std::nullopt;
    bytes[i] = hexFromNibbles(high, low);
  }
  return Digest(bytes);
}

std::string Digest::hex() const { return toHex(value, /*LowerCase=*/true); }
