//===- Ownership.cpp - Who can change what a path names -------------------===//
//
// Owner and mode are read from what was opened, not from what the path named
// before, and again each time something is opened: a directory that becomes
// writable for others under a running process is refused from then on.
//
//===----------------------------------------------------------------------===//

#include "Ownership.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

/// Local file systems that the kernel's headers name no number for.
static constexpr uint32_t xfsMagic = 0x58465342;
static constexpr uint32_t zfsMagic = 0x2fc12fc1;
static constexpr uint32_t bcachefsMagic = 0xca451a4e;

/// True if this process acts for `group`.
static bool isInGroup(gid_t group) {
  if (group == ::getegid())
    return true;
  int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(std::max(count, 0));
  count = ::getgroups(groups.size(), groups.data());
  return is_contained(ArrayRef(groups).take_front(std::max(count, 0)), group);
}

/// True if the owner could change anything that this user sees: the user, and
/// the superuser.
static bool isTrustedOwner(uid_t owner) {
  return owner == ::geteuid() || owner == 0;
}

std::string tl::cache::distrust(const struct stat &status, bool trustGroup) {
  if (status.st_mode & S_IWOTH)
    return "can be written by anyone; run `chmod o-w` on it";
  bool sharesGroup = trustGroup && isInGroup(status.st_gid);
  if ((status.st_mode & S_IWGRP) && !sharesGroup)
    return "can be written by group " + utostr(status.st_gid) +
           "; run `chmod g-w` on it, or allow a group that you belong to "
           "with `TL_CACHE_ALLOW_GROUP`";
  if (!isTrustedOwner(status.st_uid) && !sharesGroup)
    return "belongs to user " + utostr(status.st_uid) +
           "; choose a directory of your own";
  return "";
}

static Error cannotOpen(std::error_code error) {
  return createStringError("cannot be opened: " + error.message());
}

/// The directory that was opened, if it can be trusted.
static Expected<std::optional<Descriptor>>
checkTrust(ErrorOr<Descriptor> directory, bool trustGroup,
           struct stat *result = nullptr) {
  if (directory.getError() == errc::no_such_file_or_directory)
    return std::nullopt;
  if (directory.getError() == errc::not_a_directory)
    return createStringError("is not a directory");
  struct stat status;
  if (!directory)
    return cannotOpen(directory.getError());
  if (::fstat(directory->get(), &status) != 0)
    return cannotOpen(errnoAsErrorCode());
  std::string reason = distrust(status, trustGroup);
  if (!reason.empty())
    return createStringError(reason);
  if (result)
    *result = status;
  return std::optional(std::move(*directory));
}

Expected<std::optional<Descriptor>>
tl::cache::openTrustedDirectory(const std::string &path, bool trustGroup) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0)
    return errno == ENOENT ? Expected<std::optional<Descriptor>>(std::nullopt)
                           : cannotOpen(errnoAsErrorCode());
  if (!S_ISLNK(status.st_mode))
    return checkTrust(openDirectory(path), trustGroup);
  // Somebody else's link, in a place like `/tmp`, would have us write to a
  // directory of ours that is no cache.
  if (!isTrustedOwner(status.st_uid))
    return createStringError("is a symbolic link of user " +
                             utostr(status.st_uid));
  SmallString<128> target;
  if (std::error_code error = sys::fs::real_path(path, target))
    return cannotOpen(error);
  return checkTrust(openDirectory(target.str().str()), trustGroup);
}

Expected<std::optional<Descriptor>>
tl::cache::openTrustedDirectory(const Descriptor &parent,
                                const std::string &name, bool trustGroup,
                                struct stat *status) {
  return checkTrust(openDirectory(parent, name), trustGroup, status);
}

/// True if the file system is one that only this host writes. Those that are
/// not known are taken for shared ones.
static bool isLocal(const std::string &path) {
  struct statfs status;
  if (::statfs(path.c_str(), &status) != 0)
    return false;
  static constexpr uint32_t known[] = {
      BTRFS_SUPER_MAGIC,     EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC,
      OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC,      TMPFS_MAGIC,
      bcachefsMagic,         xfsMagic,         zfsMagic};
  return is_contained(known, uint32_t(status.f_type));
}

/// True if nobody else can replace what a directory holds. In one that is
/// sticky, as `/tmp` is, nobody replaces what is not theirs.
static bool keepsItsMembers(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !isTrustedOwner(status.st_uid))
    return false;
  return !(status.st_mode & (S_IWGRP | S_IWOTH)) || (status.st_mode & S_ISVTX);
}

bool tl::cache::isPrivateDirectory(const std::string &path) {
  SmallString<128> real;
  struct stat status;
  if (sys::fs::real_path(path, real) || ::stat(real.c_str(), &status) != 0 ||
      !distrust(status, /*trustGroup=*/false).empty() ||
      !isLocal(real.str().str()))
    return false;
  for (StringRef parent = sys::path::parent_path(real); !parent.empty();
       parent = sys::path::parent_path(parent))
    if (!keepsItsMembers(parent.str()))
      return false;
  return true;
}
