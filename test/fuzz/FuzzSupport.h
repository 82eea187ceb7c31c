//===- FuzzSupport.h - What the fuzzers share ------------------*- C++ -*-===//

#ifndef TL_TEST_FUZZ_FUZZSUPPORT_H
#define TL_TEST_FUZZ_FUZZSUPPORT_H

#include "tl/Cache/Digest.h"

#include <cstdlib>
#include <string>

namespace tl::cache::fuzz {

/// Seals the text of a manifest, as someone who means harm would: without, no
/// mutation would get past the seal.
inline std::string seal(llvm::StringRef body) {
  return body.str() + ",\n  \"seal\": \"" + Digest::of(body).hex() + "\"\n}\n";
}

/// Ends the run with a report if something does not hold.
inline void require(bool condition) {
  if (!condition)
    std::abort();
}

} // namespace tl::cache::fuzz

#endif // TL_TEST_FUZZ_FUZZSUPPORT_H
