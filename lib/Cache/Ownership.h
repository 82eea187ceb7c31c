//===- Ownership.h - Who can change what a path names ----------*- C++ -*-===//
//
// What is read from the cache is verified against a manifest that lies beside
// it, so that whoever may write the directory can forge an entry. These checks
// decide whose word is taken.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_OWNERSHIP_H
#define TL_LIB_CACHE_OWNERSHIP_H

#include "Files.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace tl::cache {

/// Why the file or directory of this status cannot be trusted to be as it was
/// left; empty if it can. With `trustGroup` the members of a group that this
/// process belongs to may own and write it.
std::string distrust(const struct stat &status, bool trustGroup);

/// Opens the directory at `path`, which a symbolic link of this user may
/// stand for; none if there is nothing. The error is the reason why it is not
/// trusted or cannot be opened.
llvm::Expected<std::optional<Descriptor>>
openTrustedDirectory(const std::string &path, bool trustGroup);

/// The same for a directory in another, with its status; a symbolic link is an
/// error.
llvm::Expected<std::optional<Descriptor>>
openTrustedDirectory(const Descriptor &parent, const std::string &name,
                     bool trustGroup, struct stat *status = nullptr);

/// True if nobody but this user and the superuser can change what `path` names:
/// neither the directory nor what leads to it can be written or replaced by
/// others, and it is on a file system of this host, where no server answers for
/// who wrote what.
bool isPrivateDirectory(const std::string &path);

} // namespace tl::cache

#endif // TL_LIB_CACHE_OWNERSHIP_H
