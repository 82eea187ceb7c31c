//===- Trust.h - What may be done with what was found ----------*- C++ -*-===//
//
// Digests tell that an entry is what somebody stored, not who that was. How
// much is known of its maker is the entry's trust, which the tier that found it
// sets; what is done with its contents is the use, which the key says and so
// the one who asks. `checkTrust` compares the two, and is the only place that
// does.
//
// docs/security.md has the rule as a table.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_TRUST_H
#define TL_CACHE_TRUST_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace tl::cache {

/// What is known of who made an entry. What comes later is worth more.
enum class Trust : uint8_t {
  /// Nothing: whoever can write a server or a bundle.
  None,
  /// Nothing, and the user has allowed that by name: unsigned entries, or
  /// directories that others can write.
  Allowed,
  /// Somebody who holds the key of the fleet.
  Signed,
  /// The user: it lay where nobody else can write.
  Private,
  /// This process.
  Made,
};

/// What is done with an entry's contents; an entry of several uses has the last
/// of them.
enum class Use : uint8_t {
  /// Its data are read, each checked as if a stranger had written it.
  Read,
  /// A GPU executes it.
  LoadOnDevice,
  /// It is parsed as IR.
  ParseAsIR,
  /// It is the input of passes and compilers.
  Compile,
  /// The host executes it.
  RunOnHost,
};

/// True for what is between the stages of a compilation: without it more is
/// compiled, and nobody need be told.
inline bool isIntermediate(Use use) {
  return use == Use::ParseAsIR || use == Use::Compile;
}

/// The trust that a use needs.
Trust neededFor(Use use);

/// The word by which keys name a use.
llvm::StringRef nameOf(Use use);

/// Why an entry of this trust must not be put to this use, as the end of a
/// sentence that begins with its place; success if it may.
llvm::Error checkTrust(Trust trust, Use use);

} // namespace tl::cache

#endif // TL_CACHE_TRUST_H
