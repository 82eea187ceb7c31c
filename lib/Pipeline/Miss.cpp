//===- Miss.cpp - Why something is not in the cache -----------------------===//
//
// Puts the components of a key (Fingerprint.h) into words. What is too long for
// a key to keep, as a program is, can only be said to differ.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Miss.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace tl;
using cache::EntryInfo;
using cache::KeyComponent;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// What a component of a key is of a kernel.
static std::string getSubject(StringRef name) {
  StringRef rest = name;
  if (rest.consume_front("attribute "))
    return ("`" + rest + "`").str();
  if (rest.consume_front("pass "))
    return ("the configuration of `" + rest + "`").str();
  if (rest.consume_front("tool "))
    return ("the identity of `" + rest + "`").str();
  return StringSwitch<std::string>(name)
      .Case("compiler", "the compiler's build")
      .Case("kernel", "the program")
      .Case("name", "the kernel's name")
      .Case("pipeline", "the list of passes")
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
  std::string subject = getSubject(name);
  if (!theirs)
    return subject + " is given here and not there";
  if (!ours)
    return subject + " is given there and not here";
  if (ours->value.empty() || theirs->value.empty())
    return subject + " differs";
  return subject + " is `" + theirs->value + "` there and `" + ours->value +
         "` here";
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
  return text;
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
