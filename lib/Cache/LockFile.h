//===- LockFile.h - One process at a time ----------------------*- C++ -*-===//
//
// A lock between processes that the kernel releases when its holder dies, on a
// file that is removed when it is no longer needed.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_LOCKFILE_H
#define TL_LIB_CACHE_LOCKFILE_H

#include "Files.h"
#include "tl/Cache/Store.h"

#include "llvm/Support/ErrorOr.h"

#include <chrono>

namespace tl::cache {

class LockFile final : public KeyLock {
public:
  /// Locks the file at `path`, making it if it is not there. The error is
  /// `std::errc::timed_out` if somebody else holds the lock for all of
  /// `timeout`, and another if locks do not work here.
  static llvm::ErrorOr<std::unique_ptr<LockFile>>
  acquire(const std::string &path, std::chrono::milliseconds timeout);

  /// Removes the file at `path` unless somebody holds it.
  static void removeIfFree(const std::string &path);

  ~LockFile() override;

private:
  LockFile(std::string path, Descriptor file)
      : path(std::move(path)), file(std::move(file)) {}

  std::string path;
  Descriptor file;
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_LOCKFILE_H
