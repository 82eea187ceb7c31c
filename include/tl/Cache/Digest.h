//===- Digest.h - What bytes are called ------------------------*- C++ -*-===//
//
// A BLAKE3-256 digest. Keys, entries and files are named and checked by
// digests; their text is lower case hexadecimal, as `b3sum` prints it, so that
// a person can check a file of the cache without this library.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_DIGEST_H
#define TL_CACHE_DIGEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace tl::cache {

class Digest {
public:
  static constexpr size_t numBytes = 32;
  static constexpr size_t numHexDigits = 2 * numBytes;
  using Bytes = std::array<uint8_t, numBytes>;

  /// All zeros: the digest of nothing that we know.
  Digest() = default;
  explicit Digest(const Bytes &bytes) : value(bytes) {}

  /// The digest of `bytes`.
  static Digest of(llvm::StringRef bytes);

  /// Reads what `hex` printed. Upper case and other lengths are refused, so
  /// that a digest has one spelling.
  static std::optional<Digest> fromHex(llvm::StringRef text);

  std::string hex() const;
  llvm::ArrayRef<uint8_t> bytes() const { return value; }

  friend auto operator<=>(const Digest &, const Digest &) = default;

private:
  Bytes value = {};
};

/// Hashes a digest for unordered containers: its bytes are already uniform.
struct DigestHash {
  size_t operator()(const Digest &digest) const {
    size_t hash;
    std::memcpy(&hash, digest.bytes().data(), sizeof(hash));
    return hash;
  }
};

} // namespace tl::cache

#endif // TL_CACHE_DIGEST_H
