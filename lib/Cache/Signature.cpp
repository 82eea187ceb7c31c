//===- Signature.cpp - Entries that others cannot forge -------------------===//
//
// HMAC over LLVM's SHA-256, so that signing needs no library that the rest of
// the cache does not. The tests hold the vectors of RFC 4231.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Signature.h"

#include "Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

std::array<uint8_t, 32> tl::cache::hmacSHA256(StringRef key,
                                              StringRef message) {
  // RFC 2104, section 2: H(K ^ opad, H(K ^ ipad, text)); B is the hash's block.
  constexpr size_t blockBytes = 64;
  std::array<uint8_t, blockBytes> inner = {}, outer;
  if (key.size() > blockBytes) {
    std::array<uint8_t, 32> hashed = SHA256::hash(arrayRefFromStringRef(key));
    std::ranges::copy(hashed, inner.begin());
  } else {
    std::ranges::copy(key.bytes(), inner.begin());
  }
  outer = inner;
  for (size_t i = 0; i < blockBytes; ++i) {
    inner[i] ^= 0x36;
    outer[i] ^= 0x5c;
  }
  SHA256 hash;
  hash.update(inner);
  hash.update(message);
  std::array<uint8_t, 32> digest = hash.final();
  hash.init();
  hash.update(outer);
  hash.update(digest);
  return hash.final();
}

/// Why a file of this status cannot hold a secret of this user; empty if it
/// can.
static std::string distrust(const struct stat &status) {
  if (!S_ISREG(status.st_mode))
    return "is not a plain file";
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return "belongs to user " + utostr(status.st_uid) +
           "; use a copy of your own";
  if (status.st_mode & (S_IRWXG | S_IRWXO))
    return "can be used by others than its owner; run `chmod 600` on it";
  if (uint64_t(status.st_size) < SigningKey::minBytes)
    return "is shorter than " + utostr(SigningKey::minBytes) +
           " bytes; make one with `openssl rand -hex 32`";
  if (uint64_t(status.st_size) > SigningKey::maxBytes)
    return "is longer than " + utostr(SigningKey::maxBytes) +
           " bytes, which is no key";
  return "";
}

Expected<SigningKey> SigningKey::read(StringRef path) {
  auto failure = [&](const Twine &reason) {
    return createStringError("key file `" + path + "` " + reason);
  };
  // A symbolic link is followed: secrets are often mounted as links.
  Descriptor file(
      ::open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
    return failure("cannot be read: " + errnoAsErrorCode().message());
  std::string reason = distrust(status);
  if (!reason.empty())
    return failure(reason);
  ErrorOr<std::string> secret = readFile(file, status.st_size);
  if (!secret)
    return failure("cannot be read: " + secret.getError().message());
  return SigningKey(std::move(*secret));
}

std::string SigningKey::sign(StringRef text) const {
  return toHex(hmacSHA256(secret, text), /*LowerCase=*/true);
}

bool SigningKey::verifies(StringRef text, StringRef signature) const {
  std::string expected = sign(text);
  if (signature.size() != expected.size())
    return false;
  unsigned difference = 0;
  for (auto [lhs, rhs] : zip_equal(expected, signature))
    difference |= lhs ^ rhs;
  return difference == 0;
}
