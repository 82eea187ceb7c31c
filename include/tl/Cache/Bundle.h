//===- Bundle.h - Entries in one file --------------------------*- C++ -*-===//
//
// A bundle carries entries from one directory to another: into a container
// image, to a machine without a network. It is a stream,
//
//     tl-cache bundle 1
//     entry <bytes of the manifest> <signature, if there is one>
//     <the manifest><the files that it names, in its order, back to back>
//     ...
//     end <number of entries> <digest of all bytes before this line>
//
// and not an archive: all names and sizes are those of the sealed manifests,
// so that there are no paths, links, owners or devices to be wary of, and no
// second place that could contradict the first. Who wants to look inside
// imports it into an empty directory.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_BUNDLE_H
#define TL_CACHE_BUNDLE_H

#include "tl/Cache/DirectoryStore.h"
#include "tl/Cache/Signature.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/raw_ostream.h"

namespace tl::cache {

/// Writes a bundle.
class BundleWriter {
public:
  explicit BundleWriter(llvm::raw_ostream &os);

  /// Adds an entry, which is the one that the manifest describes; signed if
  /// there is a key.
  void add(const Manifest &manifest, const Entry &entry,
           const SigningKey *key = nullptr);

  /// Writes the last line. A bundle without it is not read to its end.
  void finish();

private:
  void write(llvm::StringRef bytes);

  llvm::raw_ostream &os;
  llvm::BLAKE3 hash;
  uint64_t numEntries = 0;
};

/// An entry of a bundle, verified as a load from a directory is.
struct BundledEntry {
  Manifest manifest;
  EntryPtr entry;
  /// What signs it, if anything does, and what that is a signature of.
  std::string signature;
  std::string signedText;
};

/// Whom an import believes.
struct ImportPolicy {
  /// Signed entries are checked with it, and with it unsigned ones are refused.
  const SigningKey *key = nullptr;
  /// Unsigned device code is imported, and marked as such.
  bool allowUnsigned = false;
};

/// Reads a bundle that anyone may have made. Memory is taken for bytes that
/// arrived and never for sizes that were claimed.
class BundleReader {
public:
  /// Fills a buffer as far as it can; returns the number of bytes, which is
  /// zero at the end.
  using Source =
      std::function<llvm::ErrorOr<size_t>(llvm::MutableArrayRef<char> buffer)>;

  /// Larger entries are refused.
  static constexpr uint64_t maxEntryBytes = Manifest::maxEntryBytes;

  explicit BundleReader(Source source) : source(std::move(source)) {}

  /// The next entry; none at the end of the bundle. The error says what is
  /// wrong with it, and nothing after can be read.
  llvm::Expected<std::optional<BundledEntry>> next();

private:
  llvm::Expected<std::string> readBytes(uint64_t size);
  llvm::Expected<std::string> readLine();
  llvm::Error readFirstLine();
  llvm::Error readLastLine(llvm::StringRef rest, const Digest &expected);
  llvm::Expected<BundledEntry> readEntry(llvm::StringRef rest);

  Source source;
  llvm::BLAKE3 hash;
  uint64_t numEntries = 0;
  bool hasStarted = false;
};

struct ExportResult {
  uint64_t entries = 0;
  /// The bytes of their files and manifests.
  uint64_t bytes = 0;
};

struct ImportResult {
  uint64_t imported = 0;
  /// Entries that the directory had, which are left as they are.
  uint64_t present = 0;
  /// Entries whose use needs more trust than they have: nothing says who made
  /// the bundle.
  uint64_t refused = 0;
  /// The bytes of what was imported.
  uint64_t bytes = 0;
};

/// Writes entries of a directory to the file at `path`, which appears when it
/// is complete. Same entries, same bytes. With a key those are signed that are
/// the user's own, in a directory that is private.
llvm::Expected<ExportResult> exportBundle(DirectoryStore &store,
                                          llvm::ArrayRef<Digest> names,
                                          llvm::StringRef path,
                                          const SigningKey *key = nullptr);

/// Stores the entries of the bundle at `path` that a directory has not. Each is
/// verified first. The error names the entry at which the import ended; those
/// before it are stored.
llvm::Expected<ImportResult> importBundle(DirectoryStore &store,
                                          llvm::StringRef path,
                                          const ImportPolicy &policy = {});

} // namespace tl::cache

#endif // TL_CACHE_BUNDLE_H
