//===- LockFile.cpp - One process at a time -------------------------------===//
//
// LLVM's LockFileManager decides by process number whether an owner is alive,
// which fails across hosts and when numbers are used again. `flock` leaves the
// question to the kernel. It cannot wait for a limited time, so we ask again
// and again, each time after a little longer.
//
// The holder removes the file before it releases the lock. Who then gets the
// lock of a removed file holds nothing, notices that the path names another
// file or none, and starts over.
//
//===----------------------------------------------------------------------===//

#include "LockFile.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace std::chrono_literals;

/// True if the directory still holds the open file under `name`.
static bool isStillNamed(const Descriptor &file, const Descriptor &directory,
                         const std::string &name) {
  struct stat opened, named;
  return ::fstat(file.get(), &opened) == 0 &&
         ::fstatat(directory.get(), name.c_str(), &named,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         isSameFile(opened, named);
}

/// Tries once. `std::errc::operation_would_block` means that somebody else
/// holds the lock, or removed the file while we asked.
static ErrorOr<Descriptor> tryLock(const Descriptor &directory,
                                   const std::string &name, mode_t mode) {
  ErrorOr<Descriptor> file = openWritable(directory, name, O_CREAT, mode);
  if (!file)
    return file;
  if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0)
    return errnoAsErrorCode();
  if (!isStillNamed(*file, directory, name))
    return make_error_code(std::errc::operation_would_block);
  return file;
}

ErrorOr<std::unique_ptr<KeyLock>>
LockFile::acquire(Descriptor &&directory, const std::string &name, mode_t mode,
                  std::chrono::milliseconds timeout,
                  function_ref<bool()> isDone) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  // Short waits notice the end of a short compilation; long ones are cheap.
  for (auto pause = 200us;; pause = std::min(pause * 2, 10'000us)) {
    ErrorOr<Descriptor> file = tryLock(directory, name, mode);
    if (file)
      return std::unique_ptr<KeyLock>(
          new LockFile(std::move(directory), name, std::move(*file)));
    if (file.getError() != std::errc::operation_would_block)
      return file.getError();
    if (isDone())
      return std::unique_ptr<KeyLock>();
    if (std::chrono::steady_clock::now() >= deadline)
      return make_error_code(std::errc::timed_out);
    std::this_thread::sleep_for(pause);
  }
}

void LockFile::removeIfFree(const Descriptor &directory,
                            const std::string &name) {
  ErrorOr<Descriptor> file = tryLock(directory, name, userModes.writable);
  // Where there are no locks nobody holds one.
  if (file.getError() != std::errc::operation_would_block)
    ::unlinkat(directory.get(), name.c_str(), 0);
}

LockFile::~LockFile() {
  // It is the parent's, who goes on.
  if (process != ::getpid())
    return;
  ::unlinkat(directory.get(), name.c_str(), 0);
  // A child that was forked meanwhile shares the lock; closing would leave it
  // held until the child exits.
  ::flock(file.get(), LOCK_UN);
}
