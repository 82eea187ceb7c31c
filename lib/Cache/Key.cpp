//===- Key.cpp - What an artifact is the result of ------------------------===//
//
// The digest of a key is taken over the sorted names and digests of its
// components, each name preceded by its length, so that no two lists of
// components run together to the same bytes. It can be computed again from a
// manifest, which holds the digests and not the bytes.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Key.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/HashBuilder.h"
#include "llvm/Support/JSON.h"

#include <cassert>

using namespace llvm;
using namespace tl::cache;

/// Longer values are only named by their digest.
static constexpr size_t maxValueBytes = 800;

/// Of longer texts only the parts that differ are shown.
static constexpr size_t maxWholeBytes = 80;

/// So much of what is the same is shown around them.
static constexpr size_t maxContextBytes = 32;

/// True if `bytes` can be shown in one line as it is.
static bool isShowable(StringRef bytes) {
  return bytes.size() <= maxValueBytes && all_of(bytes, isPrint);
}

/// The components that say what an entry is used for: that the host executes
/// it, or another use.
static constexpr StringLiteral hostCodeComponent = "host_code";
static constexpr StringLiteral useComponent = "use";

/// The use that a component says. Its value is for people, and anyone may have
/// written it; the key depends on the digest.
static std::optional<Use> readUse(const KeyComponent &component) {
  if (component.name == hostCodeComponent)
    return Use::RunOnHost;
  if (component.name != useComponent)
    return std::nullopt;
  using Named = std::pair<Use, Digest>;
  auto named = [](Use use) { return Named(use, Digest::of(nameOf(use))); };
  static const Named known[] = {named(Use::Read), named(Use::LoadOnDevice),
                                named(Use::ParseAsIR), named(Use::Compile)};
  for (const auto &[use, digest] : known)
    if (component.digest == digest)
      return use;
  return Use::RunOnHost;
}

Key::Key(std::vector<KeyComponent> components) : parts(std::move(components)) {
  sort(parts, [](const KeyComponent &lhs, const KeyComponent &rhs) {
    return std::tie(lhs.name, lhs.digest) < std::tie(rhs.name, rhs.digest);
  });

  HashBuilder<BLAKE3, endianness::little> hasher;
  hasher.add(StringRef("tl.cache.key"), uint64_t(parts.size()));
  for (const KeyComponent &part : parts) {
    hasher.add(StringRef(part.name));
    hasher.update(part.digest.bytes());
  }
  total = Digest(hasher.final());
  for (const KeyComponent &part : parts)
    if (std::optional<Use> use = readUse(part))
      purpose = std::max(purpose, *use);
}

KeyBuilder &KeyBuilder::addUse(Use use) {
  if (use == Use::RunOnHost)
    return add(hostCodeComponent, "true");
  return add(useComponent, nameOf(use));
}

KeyBuilder &KeyBuilder::add(StringRef name, StringRef bytes) {
  assert(json::isUTF8(name) && "component names are printed in manifests");
  assert(none_of(components,
                 [&](const KeyComponent &c) { return c.name == name; }) &&
         "a component is added once");
  components.push_back({name.str(), Digest::of(bytes),
                        isShowable(bytes) ? bytes.str() : std::string()});
  return *this;
}

/// What to show of a component.
static std::string describe(const KeyComponent &component) {
  return component.value.empty() ? component.digest.hex() : component.value;
}

/// How much of what two texts begin with alike is left out, in whole words.
static size_t measureCommonPart(StringRef first, StringRef second) {
  auto isBetweenWords = [](char c) {
    return StringRef(" ,(){}<>").contains(c);
  };
  size_t same = 0;
  while (same < std::min(first.size(), second.size()) &&
         first[same] == second[same])
    ++same;
  size_t elided = same - std::min(same, maxContextBytes);
  while (elided > 0 && elided < same && !isBetweenWords(first[elided - 1]))
    ++elided;
  // In a long word there is no better place than its beginning.
  while (elided > 0 && !isBetweenWords(first[elided - 1]))
    --elided;
  return elided;
}

void tl::cache::elideCommonParts(std::string &first, std::string &second) {
  if (std::max(first.size(), second.size()) <= maxWholeBytes)
    return;
  size_t begin = measureCommonPart(first, second);
  std::string firstRest(first.rbegin(), first.rend() - begin),
      secondRest(second.rbegin(), second.rend() - begin);
  size_t end = measureCommonPart(firstRest, secondRest);
  for (std::string *text : {&first, &second}) {
    std::string middle = text->substr(begin, text->size() - begin - end);
    *text = (begin ? "…" : "") + middle + (end ? "…" : "");
  }
}

std::vector<KeyDifference> tl::cache::explain(const Key &first,
                                              const Key &second) {
  std::vector<KeyDifference> differences;
  ArrayRef<KeyComponent> lhs = first.components(), rhs = second.components();

  // Both are sorted by name: walk them side by side.
  while (!lhs.empty() || !rhs.empty()) {
    bool takeLhs =
        !lhs.empty() && (rhs.empty() || lhs.front().name <= rhs.front().name);
    bool takeRhs =
        !rhs.empty() && (lhs.empty() || rhs.front().name <= lhs.front().name);
    bool same = takeLhs && takeRhs && lhs.front().digest == rhs.front().digest;
    if (!same) {
      KeyDifference &difference = differences.emplace_back();
      difference.name = takeLhs ? lhs.front().name : rhs.front().name;
      if (takeLhs)
        difference.first = describe(lhs.front());
      if (takeRhs)
        difference.second = describe(rhs.front());
      if (takeLhs && takeRhs && !lhs.front().value.empty() &&
          !rhs.front().value.empty())
        elideCommonParts(*difference.first, *difference.second);
    }
    if (takeLhs)
      lhs = lhs.drop_front();
    if (takeRhs)
      rhs = rhs.drop_front();
  }
  return differences;
}
