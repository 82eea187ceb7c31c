//===- SharedRecord.h - What a server keeps under a key --------*- C++ -*-===//
//
// A shared tier keeps an entry in parts: each file under the SHA-256 of its
// bytes, where equal files of different entries are one, and under the key a
// record that names them. The record is text:
//
//     tl-cache-record 1
//     signature 5f1d...          if the entry is signed
//     blob 9c56...               one for each file, in the manifest's order
//
//     {                          the manifest, as in a directory
//       ...
//     }
//
// The signature is over all of it but the signature's line. The manifest names
// the key, so that a record cannot be moved to another, and the size and digest
// of each file; the names of the blobs only say where to look.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_SHAREDRECORD_H
#define TL_CACHE_SHAREDRECORD_H

#include "tl/Cache/Manifest.h"

namespace tl::cache {

/// The name under which a server keeps these bytes: their SHA-256, because that
/// is what a server that checks names computes.
std::string blobName(llvm::StringRef bytes);

struct SharedRecord {
  /// Longer records are refused unread.
  static constexpr uint64_t maxBytes = Manifest::maxBytes + (1 << 20);

  /// The sealed text.
  std::string manifest;
  std::vector<std::string> blobs;
  std::optional<std::string> signature;

  /// Describes `entry` as the artifact of `key`, unsigned.
  static SharedRecord describe(const Key &key, const Entry &entry,
                               llvm::StringRef creator);

  /// Reads what `print` wrote; the manifest is not looked at. The error says
  /// what is wrong with the text.
  static llvm::Expected<SharedRecord> parse(llvm::StringRef text);

  std::string print() const;

  /// What a signature is made of.
  std::string signedText() const;
};

} // namespace tl::cache

#endif // TL_CACHE_SHAREDRECORD_H
