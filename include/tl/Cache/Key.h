//===- Key.h - What an artifact is the result of ---------------*- C++ -*-===//
//
// A key names everything that can change an artifact. It is built from named
// components: the kernel's bytes, the pipeline, the target, each tool. The key
// keeps the digest of each, so that two keys can be compared and the parts
// that differ named: "why was this compiled again?" has an answer.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_KEY_H
#define TL_CACHE_KEY_H

#include "tl/Cache/Digest.h"
#include "tl/Cache/Trust.h"

#include <optional>
#include <string>
#include <vector>

namespace tl::cache {

/// One thing that a key depends on.
struct KeyComponent {
  std::string name;
  Digest digest;
  /// The component itself when it is short and printable, else empty. It is
  /// for people alone: the key depends on `digest`.
  std::string value;

  friend bool operator==(const KeyComponent &, const KeyComponent &) = default;
};

/// The name of an artifact, and why it is called that.
class Key {
public:
  Key() = default;

  /// The key of these components; their order does not matter.
  explicit Key(std::vector<KeyComponent> components);

  const Digest &digest() const { return total; }
  std::string hex() const { return total.hex(); }

  /// Sorted by name.
  llvm::ArrayRef<KeyComponent> components() const { return parts; }

  /// What is done with what is stored under the key; without a component that
  /// says it, its data are read and no more. It is a fact of the key, which the
  /// reader makes, and not of the entry, which a forger makes.
  Use use() const { return purpose; }

private:
  std::vector<KeyComponent> parts;
  Digest total;
  Use purpose = Use::Read;
};

/// Collects the components of a key.
class KeyBuilder {
public:
  /// Adds a component. Names are unique in a key and valid UTF-8.
  KeyBuilder &add(llvm::StringRef name, llvm::StringRef bytes);

  /// Says what is done with what is stored under the key.
  KeyBuilder &addUse(Use use);

  Key build() const { return Key(components); }

private:
  std::vector<KeyComponent> components;
};

/// A component that differs between two keys. A side that lacks the component
/// is empty; the other holds the component's value, or its digest when the
/// value is too long to keep. Of two long values it is the part that differs.
struct KeyDifference {
  std::string name;
  std::optional<std::string> first;
  std::optional<std::string> second;
};

/// The components in which two keys differ, sorted by name.
std::vector<KeyDifference> explain(const Key &first, const Key &second);

/// Cuts what two long texts begin and end with alike, but for a few words.
void elideCommonParts(std::string &first, std::string &second);

} // namespace tl::cache

#endif // TL_CACHE_KEY_H
