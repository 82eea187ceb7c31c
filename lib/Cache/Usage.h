//===- Usage.h - How much a directory holds --------------------*- C++ -*-===//
//
// A running total, so that an insertion need not look at all entries to know
// whether the directory is over its limit.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_USAGE_H
#define TL_LIB_CACHE_USAGE_H

#include "Files.h"

#include <cstdint>
#include <optional>

namespace tl::cache {

class Usage {
public:
  /// The total of the store whose files are in `directory`, which outlives
  /// this object.
  Usage(const Descriptor &directory, const Modes &modes)
      : directory(directory), modes(modes) {}

  /// Adds to the total and returns it. None if the total is not known and has
  /// to be measured.
  std::optional<uint64_t> add(uint64_t bytes) const;

  /// Replaces the total by a measured one.
  void set(uint64_t total) const;

  /// Has the total measured again.
  void forget() const;

private:
  const Descriptor &directory;
  const Modes &modes;
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_USAGE_H
