//===- Manifest.h - The record that vouches for an entry -------*- C++ -*-===//
//
// `manifest.json` says which key an entry belongs to, of which components that
// key was made, and the size and digest of every file. It ends with a seal,
// the digest of all text before it, so that a change to any byte of it is
// seen. Key and seal are computed again on every load.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_MANIFEST_H
#define TL_CACHE_MANIFEST_H

#include "tl/Cache/Entry.h"
#include "tl/Cache/Key.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace tl::cache {

struct FileRecord {
  std::string name;
  uint64_t size = 0;
  Digest digest;
};

struct Manifest {
  static constexpr llvm::StringLiteral fileName = "manifest.json";

  /// Written into every manifest; others are not read. The layout of the
  /// directory carries the same number.
  static constexpr int64_t formatVersion = 1;

  /// Longer manifests are refused unread, and so are those that announce more
  /// or larger files than an entry can have.
  static constexpr uint64_t maxBytes = 16 << 20;
  static constexpr size_t maxFiles = 256;
  static constexpr size_t maxComponents = 4096;
  static constexpr uint64_t maxEntryBytes = uint64_t(256) << 20;

  Key key;
  llvm::json::Object metadata;
  std::vector<FileRecord> files;
  /// Nobody is known who made the entry. A directory keeps that with it, so
  /// that it is not taken for one of the user's later. What another says of its
  /// own entries counts for nothing.
  bool isUnsigned = false;
  std::string creator;
  /// UTC, as `2026-01-31T12:00:00Z`.
  std::string created;

  /// Describes `entry` as the artifact of `key`, made now.
  static Manifest describe(const Key &key, const Entry &entry,
                           llvm::StringRef creator);

  /// Reads what `print` wrote. The error says what is wrong with the text.
  static llvm::Expected<Manifest> parse(llvm::StringRef text);

  /// The sealed text.
  std::string print() const;

  /// The unsealed record.
  llvm::json::Object toJSON() const;
};

} // namespace tl::cache

#endif // TL_CACHE_MANIFEST_H
