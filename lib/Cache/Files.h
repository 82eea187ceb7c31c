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

/// Opens the directory at `path`; a symbolic link in its place is an error.
llvm::ErrorOr<Descriptor> openDirectory(const std::string &path);

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

/// Returns when the names in the directory at `path` are on disk.
std::error_code syncDirectory(const std::string &path);

/// The names in a directory but `.` and `..`, in no order. The descriptor's
/// position is used.
llvm::ErrorOr<std::vector<std::string>> listNames(const Descriptor &directory);

/// The same for a path. A directory that is not there has no names.
llvm::ErrorOr<std::vector<std::string>> listNames(const std::string &path);

/// True if both describe one file.
bool isSameFile(const struct stat &lhs, const struct stat &rhs);

} // namespace tl::cache

#endif // TL_LIB_CACHE_FILES_H
