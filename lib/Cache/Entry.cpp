//===- Entry.cpp - An artifact: files and what is known of them -----------===//
//
// Files are kept sorted by name, so that the same artifact is written as the
// same bytes whatever the order in which a backend made its files.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Entry.h"

#include "tl/Cache/Manifest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cassert>

using namespace llvm;
using namespace tl::cache;

bool tl::cache::isValidFileName(StringRef name) {
  constexpr size_t maxLength = 128;
  if (name.empty() || name.size() > maxLength || name.front() == '.' ||
      name == Manifest::fileName)
    return false;
  return all_of(name, [](char c) {
    return isAlnum(c) || c == '.' || c == '_' || c == '+' || c == '-';
  });
}

static bool isBefore(const File &file, StringRef name) {
  return file.name < name;
}

void Entry::addFile(StringRef name, std::string bytes) {
  assert(isValidFileName(name) && "a file's name is one plain component");
  assert(!file(name) && "a file is added once");
  auto position = lower_bound(contents, name, isBefore);
  contents.insert(position, {name.str(), std::move(bytes)});
}

std::optional<StringRef> Entry::file(StringRef name) const {
  auto position = lower_bound(contents, name, isBefore);
  if (position == contents.end() || position->name != name)
    return std::nullopt;
  return StringRef(position->bytes);
}

static json::Value copyDeeply(const json::Value &value);

/// A copy of `object` that refers to nothing outside.
static json::Object copyDeeply(const json::Object &object) {
  json::Object copy;
  for (const auto &[key, member] : object)
    copy.try_emplace(key.str(), copyDeeply(member));
  return copy;
}

static json::Value copyDeeply(const json::Value &value) {
  if (const json::Object *object = value.getAsObject())
    return copyDeeply(*object);
  if (const json::Array *array = value.getAsArray()) {
    json::Array copy;
    for (const json::Value &member : *array)
      copy.push_back(copyDeeply(member));
    return copy;
  }
  if (std::optional<StringRef> string = value.getAsString())
    return string->str();
  return value;
}

void Entry::setMetadata(const json::Object &object) {
  data = copyDeeply(object);
}

uint64_t Entry::size() const {
  uint64_t total = 0;
  for (const File &file : contents)
    total += file.bytes.size();
  return total;
}
