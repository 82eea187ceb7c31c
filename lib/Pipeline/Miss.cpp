//===- Miss.cpp - Why something is not in the cache -----------------------===//
//
// Puts the components of a key (Fingerprint.h) into words. What is too long for
// a key to keep, as a program is, can only be said to differ.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Miss.h"

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Support/ShowText.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace tl;
using cache::EntryInfo;
using cache::KeyComponent;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string tl::describeComponent(StringRef name) {
  auto [kind, rest] = name.split(' ');
  std::string quoted = ("`" + rest + "`").str();
  return StringSwitch<std::string>(kind)
      .Case("attribute",
            rest == kTargetAttr ? "the target" : "the option " + quoted)
      .Case("compiler", "the compiler's build")
      .Case("header", "the header " + quoted)
      .Case("host_code", "that it runs on the host")
      .Case("kernel", "the program")
      .Case("name", "the kernel's name")
      .Case("pass", "the configuration of " + quoted)
      .Case("pipeline", "the list of passes")
      .Case("source", "the source " + quoted)
      .Case("tool", "the identity of " + quoted)
      .Case("use", "what is done with it")
      .Default(("`" + name + "`").str());
}

static const KeyComponent *findComponent(const cache::Key &key,
                                         StringRef name) {
  for (const KeyComponent &component : key.components())
    if (component.name == name)
      return &component;
  return nullptr;
}

/// "`tl.chip` is `sm_80` there and `sm_90` here", or as much as is known.
static std::string describe(StringRef name, const cache::Key &here,
                            const cache::Key &there) {
  const KeyComponent *ours = findComponent(here, name);
  const KeyComponent *theirs = findComponent(there, name);
  std::string subject = describeComponent(name);
  if (!theirs)
    return subject + " is given here and not there";
  if (!ours)
    return subject + " is given there and not here";
  if (ours->value.empty() || theirs->value.empty())
    return subject + " differs";
  std::string before = theirs->value, after = ours->value;
  cache::elideCommonParts(before, after);
  return subject + " is `" + before + "` there and `" + after + "` here";
}

/// "kernel `f` of the entry 0123456789ab".
static std::string describe(const EntryInfo &entry) {
  std::string text;
  if (auto kernel = entry.manifest.metadata.getString("kernel"))
    text = ("`" + *kernel + "` of ").str();
  return text + "the entry " + entry.manifest.key.hex().substr(0, 12);
}

std::string tl::explainMiss(cache::Cache &cache, const cache::Key &key) {
  Expected<cache::DirectoryStore *> directory = cache.directory();
  if (!directory)
    return toString(directory.takeError());
  Expected<EntryInfo> nearest = (*directory)->nearest(key);
  if (!nearest)
    return toString(nearest.takeError());
  const cache::Key &other = nearest->manifest.key;
  auto isShared = [&](const KeyComponent &component) {
    return is_contained(other.components(), component);
  };
  if (none_of(key.components(), isShared))
    return "`" + (*directory)->root().str() + "` holds nothing like it";
  std::string text = "nearest to it in `" + (*directory)->root().str() +
                     "` is " + describe(*nearest) + ": ";
  raw_string_ostream os(text);
  interleaveComma(explain(key, other), os,
                  [&](const cache::KeyDifference &difference) {
                    os << describe(difference.name, key, other);
                  });
  // What is said of the other entry, whoever made that said.
  return showText(text);
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kNotCached = "tl.not-cached";

void tl::markNotCached(mlir::Diagnostic &diagnostic) {
  diagnostic.getMetadata().emplace_back(StringRef(kNotCached));
}

bool tl::isMarkedNotCached(mlir::Diagnostic &diagnostic) {
  return any_of(diagnostic.getMetadata(), [](mlir::DiagnosticArgument &mark) {
    return mark.getKind() ==
               mlir::DiagnosticArgument::DiagnosticArgumentKind::String &&
           mark.getAsString() == kNotCached;
  });
}
