//===- Files.cpp - Files by descriptor ------------------------------------===//
//
// Every call is retried when a signal interrupts it.
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Process.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using TimePoint = std::chrono::steady_clock::time_point;

/// Gives what is for a group the mode that it has to have, whatever the
/// process's mask says. A file that has another name elsewhere, or another
/// owner, stays as it is: it was not made here.
static std::error_code openToGroup(int fd, mode_t mode) {
  struct stat status;
  if (::fstat(fd, &status) != 0)
    return errnoAsErrorCode();
  bool isOurs = status.st_uid == ::geteuid() &&
                (S_ISDIR(status.st_mode) || status.st_nlink == 1);
  if (isOurs && (status.st_mode & ALLPERMS) != mode && ::fchmod(fd, mode) != 0)
    return errnoAsErrorCode();
  return {};
}

static ErrorOr<Descriptor> openAt(int directory, const std::string &name,
                                  int flags, mode_t mode = 0) {
  flags |= O_CLOEXEC | O_NOFOLLOW;
  int fd =
      sys::RetryAfterSignal(-1, ::openat, directory, name.c_str(), flags, mode);
  if (fd < 0)
    return errnoAsErrorCode();
  Descriptor file(fd);
  if ((flags & O_CREAT) && (mode & S_IRWXG))
    if (std::error_code error = openToGroup(fd, mode))
      return error;
  return file;
}

Descriptor::~Descriptor() {
  if (fd >= 0)
    ::close(fd);
}

ErrorOr<Descriptor> tl::cache::openDirectory(const std::string &path) {
  return openAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
}

ErrorOr<Descriptor> tl::cache::openDirectory(const Descriptor &parent,
                                             const std::string &name) {
  return openAt(parent.get(), name, O_RDONLY | O_DIRECTORY);
}

ErrorOr<bool> tl::cache::makeDirectory(const Descriptor &parent,
                                       const std::string &name, mode_t mode) {
  if (::mkdirat(parent.get(), name.c_str(), mode) != 0) {
    if (errno == EEXIST)
      return false;
    return errnoAsErrorCode();
  }
  if (!(mode & S_IRWXG))
    return true;
  // By what was opened: somebody of the group may have put a link in its place.
  ErrorOr<Descriptor> directory = openDirectory(parent, name);
  if (!directory)
    return directory.getError();
  if (std::error_code error = openToGroup(directory->get(), mode))
    return error;
  return true;
}

ErrorOr<Descriptor> tl::cache::openWritable(const Descriptor &directory,
                                            const std::string &name, int flags,
                                            mode_t mode) {
  return openAt(directory.get(), name, O_RDWR | flags, mode);
}

ErrorOr<Descriptor> tl::cache::openRegularFile(const Descriptor &directory,
                                               const std::string &name,
                                               struct stat &status) {
  ErrorOr<Descriptor> file =
      openAt(directory.get(), name, O_RDONLY | O_NONBLOCK);
  if (!file)
    return file;
  if (::fstat(file->get(), &status) != 0)
    return errnoAsErrorCode();
  if (!S_ISREG(status.st_mode))
    return make_error_code(errc::invalid_argument);
  return file;
}

ErrorOr<std::string> tl::cache::readFile(const Descriptor &file,
                                         uint64_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    ssize_t count = sys::RetryAfterSignal(-1, ::read, file.get(),
                                          bytes.data() + done, size - done);
    if (count < 0)
      return errnoAsErrorCode();
    if (count == 0)
      return make_error_code(errc::invalid_argument);
    done += count;
  }
  return bytes;
}

std::error_code tl::cache::writeNewFile(const Descriptor &directory,
                                        const std::string &name,
                                        StringRef bytes, mode_t mode) {
  ErrorOr<Descriptor> file =
      openAt(directory.get(), name, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (!file)
    return file.getError();
  while (!bytes.empty()) {
    ssize_t count = sys::RetryAfterSignal(-1, ::write, file->get(),
                                          bytes.data(), bytes.size());
    if (count < 0)
      return errnoAsErrorCode();
    bytes = bytes.drop_front(count);
  }
  if (sys::RetryAfterSignal(-1, ::fsync, file->get()) != 0)
    return errnoAsErrorCode();
  return {};
}

std::string tl::cache::uniqueName() {
  std::string name = utostr(::getpid());
  for (int i = 0; i < 2; ++i)
    name += "-" + utohexstr(sys::Process::GetRandomNumber());
  return name;
}

std::error_code tl::cache::syncDirectory(const Descriptor &directory) {
  // Some file systems cannot synchronise a directory and need not.
  if (sys::RetryAfterSignal(-1, ::fsync, directory.get()) != 0 &&
      errno != EINVAL && errno != ENOTSUP)
    return errnoAsErrorCode();
  return {};
}

static std::error_code removeTree(const Descriptor &parent,
                                  const std::string &name, TimePoint deadline,
                                  unsigned depth) {
  // Of what is made here nothing is deep; the rest stays where it is.
  constexpr unsigned maxDepth = 64;
  if (depth == maxDepth)
    return make_error_code(errc::directory_not_empty);
  if (std::chrono::steady_clock::now() > deadline)
    return make_error_code(std::errc::timed_out);
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT)
    return {};
  // POSIX has EPERM for a directory, Linux EISDIR.
  if (errno != EISDIR && errno != EPERM)
    return errnoAsErrorCode();
  ErrorOr<Descriptor> directory = openDirectory(parent, name);
  if (!directory)
    return directory.getError();
  ErrorOr<std::vector<std::string>> members = listNames(*directory);
  if (!members)
    return members.getError();
  for (const std::string &member : *members)
    if (std::error_code error =
            removeTree(*directory, member, deadline, depth + 1))
      return error;
  if (::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0)
    return errnoAsErrorCode();
  return {};
}

std::error_code tl::cache::removeTree(const Descriptor &parent,
                                      const std::string &name,
                                      TimePoint deadline) {
  return ::removeTree(parent, name, deadline, /*depth=*/0);
}

ErrorOr<std::vector<std::string>>
tl::cache::listNames(const Descriptor &directory, size_t atMost) {
  // A stream would take a descriptor of its own, and five system calls more;
  // each lookup lists a directory.
  if (::lseek(directory.get(), 0, SEEK_SET) < 0)
    return errnoAsErrorCode();
  alignas(struct dirent64) char items[8192];
  std::vector<std::string> names;
  while (names.size() < atMost) {
    ssize_t size = ::getdents64(directory.get(), items, sizeof(items));
    if (size < 0)
      return errnoAsErrorCode();
    if (size == 0)
      break;
    for (ssize_t at = 0; at < size && names.size() < atMost;) {
      auto *item = reinterpret_cast<const struct dirent64 *>(items + at);
      at += item->d_reclen;
      StringRef name(item->d_name);
      if (name != "." && name != "..")
        names.push_back(name.str());
    }
  }
  return names;
}

ErrorOr<std::vector<std::string>>
tl::cache::listNames(const Descriptor &parent, const std::string &name) {
  ErrorOr<Descriptor> directory = openDirectory(parent, name);
  if (directory.getError() == errc::no_such_file_or_directory)
    return std::vector<std::string>();
  if (!directory)
    return directory.getError();
  return listNames(*directory);
}

bool tl::cache::isSameFile(const struct stat &lhs, const struct stat &rhs) {
  return lhs.st_dev == rhs.st_dev && lhs.st_ino == rhs.st_ino;
}
