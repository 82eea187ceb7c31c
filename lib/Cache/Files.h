//===- Files.h - Files by descriptor ---------------------------*- C++ -*-===//
//
// The few POSIX calls that the directory tier needs and llvm/Support has not:
// files named relative to an open directory, symbolic links never followed,
// data forced to disk before it is relied on.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_FILES_H
#define TL_LIB_CACHE_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace tl::cache {

/// Owns an open file descriptor.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(Descriptor &&other) : fd(std::exchange(other.fd, -1)) {}
  Descriptor &operator=(Descriptor &&other) {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd; }

private:
  int fd = -1;
};

/// What is made is for this user alone, or for a group too.
struct Modes {
  mode_t directory;
  mode_t writable;
  /// Of files that never change: an editor is told that it may not.
  mode_t readOnly;
};
inline constexpr Modes userModes = {0700, 0600, 0400};
/// Members own what they make, and the directory's group goes to all of it.
inline constexpr Modes groupModes = {02770, 0660, 0440};

/// Opens the directory at `path`; a symbolic link in its place is an error.
llvm::ErrorOr<Descriptor> openDirectory(const std::string &path);

/// The same for a directory in another.
llvm::ErrorOr<Descriptor> openDirectory(const Descriptor &parent,
                                        const std::string &name);

/// Makes a directory in another; false if the name is there already.
llvm::ErrorOr<bool> makeDirectory(const Descriptor &parent,
                                  const std::string &name, mode_t mode);

/// Opens a file in a directory to read, write and lock it, with further flags
/// of `open`; a symbolic link in its place is an error.
llvm::ErrorOr<Descriptor> openWritable(const Descriptor &directory,
                                       const std::string &name, int flags,
                                       mode_t mode);

/// Opens `name` in a directory. Nothing but a regular file is opened, and
/// nothing blocks on a pipe in its place.
llvm::ErrorOr<Descriptor> openRegularFile(const Descriptor &directory,
                                          const std::string &name,
                                          struct stat &status);

/// Reads all of a file whose size is `size`. A file of another length is an
/// error.
llvm::ErrorOr<std::string> readFile(const Descriptor &file, uint64_t size);

/// Makes the file `name` in a directory, and returns when it is on disk.
std::error_code writeNewFile(const Descriptor &directory,
                             const std::string &name, llvm::StringRef bytes,
                             mode_t mode);

/// A name that no other thread, process or host chooses.
std::string uniqueName();

/// Returns when the names in a directory are on disk.
std::error_code syncDirectory(const Descriptor &directory);

/// Removes what a directory holds under a name, a directory with all that is
/// in it. No symbolic link is followed, so that nothing else is removed. An
/// error if it is deeper than anything of the cache, or takes longer.
std::error_code removeTree(const Descriptor &parent, const std::string &name,
                           std::chrono::steady_clock::time_point deadline =
                               std::chrono::steady_clock::time_point::max());

/// The names in a directory but `.` and `..`, in no order, or so many of them.
/// The descriptor's position is used.
llvm::ErrorOr<std::vector<std::string>> listNames(const Descriptor &directory,
                                                  size_t atMost = SIZE_MAX);

/// The same for a directory in another. One that is not there has no names.
llvm::ErrorOr<std::vector<std::string>> listNames(const Descriptor &parent,
                                                  const std::string &name);

/// True if both describe one file.
bool isSameFile(const struct stat &lhs, const struct stat &rhs);

} // namespace tl::cache

#endif // TL_LIB_CACHE_FILES_H
