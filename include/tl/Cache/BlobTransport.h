//===- BlobTransport.h - How to talk to a server ---------------*- C++ -*-===//
//
// The little that a shared tier needs of a server: bytes under names. All that
// makes these bytes a cache is in `SharedStore`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_BLOBTRANSPORT_H
#define TL_CACHE_BLOBTRANSPORT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <atomic>
#include <optional>
#include <string>

namespace tl::cache {

/// What a server keeps bytes under.
struct BlobName {
  /// Records are called by their key, contents by the SHA-256 of their bytes.
  enum class Kind { Record, Content };

  Kind kind;
  std::string hex;

  /// The server's name for the kind, which Bazel's caches gave: `ac` ("action
  /// cache") or `cas` ("content-addressed store").
  llvm::StringRef space() const { return kind == Kind::Record ? "ac" : "cas"; }
};

/// Every function may be called from any thread, returns within bounded time,
/// and fails with what went wrong, in words that do not change from one request
/// to the next and tell no secret.
class BlobTransport {
public:
  virtual ~BlobTransport() = default;

  /// The bytes called `name`, or none if there are none. More than `maxBytes`
  /// are an error, and are not kept.
  virtual llvm::Expected<std::optional<std::string>> get(const BlobName &name,
                                                         uint64_t maxBytes) = 0;

  /// True if the server has bytes called `name`.
  virtual llvm::Expected<bool> has(const BlobName &name) = 0;

  /// Has the server keep these bytes, instead of others of that name.
  virtual llvm::Error put(const BlobName &name, llvm::StringRef bytes) = 0;

  /// While this is set all requests fail soon, those under way too.
  void setCancelled(bool cancelled) { isCancelled = cancelled; }

protected:
  std::atomic<bool> isCancelled = false;
};

} // namespace tl::cache

#endif // TL_CACHE_BLOBTRANSPORT_H
