//===- DirectoryLayout.h - Where things are in a directory -----*- C++ -*-===//
//
// The names that docs/cache.md shows.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_DIRECTORYLAYOUT_H
#define TL_LIB_CACHE_DIRECTORYLAYOUT_H

#include "tl/Cache/Manifest.h"

namespace tl::cache {

/// The length of the first part of an entry's path.
inline constexpr size_t fanOutDigits = 2;

/// The directory of this format, in the root.
inline std::string versionName() {
  return "v" + std::to_string(Manifest::formatVersion);
}

/// The directory of an entry's directory.
inline std::string fanOutOf(const Digest &name) {
  return name.hex().substr(0, fanOutDigits);
}

} // namespace tl::cache

#endif // TL_LIB_CACHE_DIRECTORYLAYOUT_H
