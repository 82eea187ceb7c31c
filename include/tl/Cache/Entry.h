//===- Entry.h - An artifact: files and what is known of them --*- C++ -*-===//
//
// What the cache keeps under a key: named files and a JSON object. Backends
// choose the names (`kernel.ptx`, `kernel.cubin`, ...); the cache knows none.
// Entries are shared between threads and never change once they are stored.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_ENTRY_H
#define TL_CACHE_ENTRY_H

#include "tl/Cache/Trust.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tl::cache {

/// True if an entry may hold a file of this name: 1 to 128 of the characters
/// `A-Z a-z 0-9 . _ + -`, no dot in front, and not `manifest.json`. Such a name
/// is one path component on every system and can point nowhere else.
bool isValidFileName(llvm::StringRef name);

/// The file that says what an entry was made of, line by line, for people to
/// compare; an entry may have none.
inline constexpr llvm::StringLiteral inputFile = "input.mlir";

struct File {
  std::string name;
  std::string bytes;
};

class Entry {
public:
  /// Adds a file; its name is valid and new.
  void addFile(llvm::StringRef name, std::string bytes);

  /// The bytes of the file called `name`, if there is one.
  std::optional<llvm::StringRef> file(llvm::StringRef name) const;

  /// Sorted by name.
  llvm::ArrayRef<File> files() const { return contents; }

  /// The bytes of all files.
  uint64_t size() const;

  /// What the maker of the entry wants to know when it comes back. Strings are
  /// copied: `llvm::json` may only refer to those that it is given.
  void setMetadata(const llvm::json::Object &object);
  const llvm::json::Object &metadata() const { return data; }

  /// What is known of who made it. Who finds an entry sets it.
  Trust trust = Trust::Made;

  /// False for what a reader of entries would refuse: who made it uses it, and
  /// no tier gets it.
  bool mayBeKept = true;

  /// The directory that held the files when the entry was loaded, for people
  /// and for loaders that need a path; empty for an entry that is in memory
  /// alone. The directory may be pruned at any time.
  std::string directory;

private:
  std::vector<File> contents;
  llvm::json::Object data;
};

using EntryPtr = std::shared_ptr<const Entry>;

} // namespace tl::cache

#endif // TL_CACHE_ENTRY_H
