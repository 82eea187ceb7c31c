//===- Signature.h - Entries that others cannot forge ----------*- C++ -*-===//
//
// A shared tier is written by many and read by many. Digests show that an entry
// is what somebody stored; a signature shows that who stored it holds the key
// of the fleet. It is an HMAC-SHA256 (RFC 2104) in lower case hexadecimal.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_SIGNATURE_H
#define TL_CACHE_SIGNATURE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <string>

namespace tl::cache {

/// HMAC-SHA256 of `message` under `key`, which may have any length.
std::array<uint8_t, 32> hmacSHA256(llvm::StringRef key,
                                   llvm::StringRef message);

/// The secret of those who may sign entries.
class SigningKey {
public:
  /// A shorter secret is easier to guess than the signature.
  static constexpr size_t minBytes = 32;
  static constexpr size_t maxBytes = 4096;

  /// Reads a key file: all its bytes are the secret. Refuses a file that others
  /// than its owner may read or write, that belongs to another user, or that is
  /// too short to be a secret.
  static llvm::Expected<SigningKey> read(llvm::StringRef path);

  explicit SigningKey(std::string secret) : secret(std::move(secret)) {}

  /// The signature of `text`.
  std::string sign(llvm::StringRef text) const;

  /// True if `signature` is that of `text`. Takes the same time wherever the
  /// two differ.
  bool verifies(llvm::StringRef text, llvm::StringRef signature) const;

private:
  std::string secret;
};

} // namespace tl::cache

#endif // TL_CACHE_SIGNATURE_H
