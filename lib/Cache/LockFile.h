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

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/ErrorOr.h"

#include <chrono>

#include <unistd.h>

namespace tl::cache {

class LockFile final : public KeyLock {
public:
  /// Locks the file `name` in a directory, making it if it is not there. The
  /// error is `std::errc::timed_out` if somebody else holds the lock for all of
  /// `timeout`, and another if locks do not work here. The directory is taken
  /// only with the lock. Null if `isDone` while somebody else holds it: then
  /// there is nothing left to do.
  static llvm::ErrorOr<std::unique_ptr<KeyLock>>
  acquire(Descriptor &&directory, const std::string &name, mode_t mode,
          std::chrono::milliseconds timeout, llvm::function_ref<bool()> isDone);

  /// Removes the file `name` unless somebody holds it.
  static void removeIfFree(const Descriptor &directory,
                           const std::string &name);

  ~LockFile() override;

private:
  LockFile(Descriptor directory, std::string name, Descriptor file)
      : directory(std::move(directory)), name(std::move(name)),
        file(std::move(file)) {}

  Descriptor directory;
  std::string name;
  Descriptor file;
  const pid_t process = ::getpid();
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_LOCKFILE_H
