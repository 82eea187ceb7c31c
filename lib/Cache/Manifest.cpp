//===- Manifest.cpp - The record that vouches for an entry ----------------===//
//
// The seal is checked on the bytes, before anything is parsed: what passes is
// what `print` wrote, or was made by someone who meant to. The parser trusts
// neither: sizes, names and nesting are checked before they are used.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Manifest.h"

#include "tl/Support/BoundedJSON.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <ctime>

using namespace llvm;
using namespace tl::cache;

static constexpr StringLiteral beforeSeal = ",\n  \"seal\": \"";
static constexpr StringLiteral afterSeal = "\"\n}\n";
static constexpr size_t sealSize =
    beforeSeal.size() + Digest::numHexDigits + afterSeal.size();

/// The last lines of a manifest whose other text is `body`.
static std::string sealOf(StringRef body) {
  return (beforeSeal + Digest::of(body).hex() + afterSeal).str();
}

static std::optional<Digest> readDigest(const json::Object &object) {
  return Digest::fromHex(object.getString("digest").value_or(""));
}

static std::optional<KeyComponent> readComponent(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return std::nullopt;
  std::optional<StringRef> name = object->getString("name");
  std::optional<Digest> digest = readDigest(*object);
  if (!name || !digest)
    return std::nullopt;
  return KeyComponent{name->str(), *digest,
                      object->getString("value").value_or("").str()};
}

static std::optional<FileRecord> readFileRecord(const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return std::nullopt;
  std::optional<StringRef> name = object->getString("name");
  std::optional<int64_t> size = object->getInteger("size");
  std::optional<Digest> digest = readDigest(*object);
  if (!name || !isValidFileName(*name) || !size || *size < 0 || !digest)
    return std::nullopt;
  return FileRecord{name->str(), uint64_t(*size), *digest};
}

/// An error that says what is wrong with a manifest.
static Error invalid(const Twine &reason) {
  return createStringError("`" + Manifest::fileName + "` " + reason);
}

/// Reads the components, and checks that the key is made of them.
static Expected<Key> readKey(const json::Array &components,
                             std::optional<StringRef> hex) {
  std::vector<KeyComponent> parts;
  if (components.size() > Manifest::maxComponents)
    return invalid("has too many components");
  for (const json::Value &item : components) {
    std::optional<KeyComponent> component = readComponent(item);
    if (!component)
      return invalid("has a component without name or digest");
    // Sorted and unique, as written: of two of one name, which comes first
    // would not be defined, and the key depends on it.
    if (!parts.empty() && parts.back().name >= component->name)
      return invalid("has components out of order");
    parts.push_back(std::move(*component));
  }
  Key key(std::move(parts));
  if (hex != StringRef(key.hex()))
    return invalid("has a key that is not made of its components");
  return key;
}

static Expected<std::vector<FileRecord>>
readFileRecords(const json::Array &records) {
  std::vector<FileRecord> files;
  uint64_t total = 0;
  if (records.size() > Manifest::maxFiles)
    return invalid("has too many files");
  for (const json::Value &item : records) {
    std::optional<FileRecord> file = readFileRecord(item);
    if (!file)
      return invalid("has a file without a valid name, size or digest");
    // Sorted and unique, as written: a name twice would make one file of two.
    if (!files.empty() && files.back().name >= file->name)
      return invalid("has files out of order");
    // Memory is taken for what is announced.
    if (file->size > Manifest::maxEntryBytes - total)
      return invalid("has files of more than " +
                     Twine(Manifest::maxEntryBytes) + " bytes");
    total += file->size;
    files.push_back(std::move(*file));
  }
  return files;
}

/// The time as `2026-01-31T12:00:00.123456Z`: who clears what was made before a
/// process began has to tell what was made just before.
static std::string printNow() {
  using namespace std::chrono;
  auto now = time_point_cast<microseconds>(system_clock::now());
  auto whole = floor<seconds>(now);
  return formatv("{0:%Y-%m-%dT%H:%M:%S}.{1:6}Z",
                 sys::toUtcTime(sys::toTimeT(whole)), (now - whole).count());
}

Manifest Manifest::describe(const Key &key, const Entry &entry,
                            StringRef creator) {
  Manifest manifest;
  manifest.key = key;
  manifest.metadata = entry.metadata();
  manifest.isUnsigned = entry.trust < Trust::Signed;
  for (const File &file : entry.files())
    manifest.files.push_back(
        {file.name, file.bytes.size(), Digest::of(file.bytes)});
  manifest.creator = creator;
  manifest.created = printNow();
  return manifest;
}

json::Object Manifest::toJSON() const {
  json::Array components, records;
  for (const KeyComponent &component : key.components()) {
    json::Object object{{"name", component.name},
                        {"digest", component.digest.hex()}};
    if (!component.value.empty())
      object["value"] = component.value;
    components.push_back(std::move(object));
  }
  for (const FileRecord &file : files)
    records.push_back(json::Object{{"name", file.name},
                                   {"size", int64_t(file.size)},
                                   {"digest", file.digest.hex()}});
  json::Object object{{"format", formatVersion},
                      {"key", key.hex()},
                      {"components", std::move(components)},
                      {"files", std::move(records)},
                      {"metadata", json::Object(metadata)},
                      {"creator", creator},
                      {"created", created}};
  if (isUnsigned)
    object["unsigned"] = true;
  return object;
}

std::string Manifest::print() const {
  std::string text = formatv("{0:2}", json::Value(toJSON()));
  StringRef body = StringRef(text).drop_back(strlen("\n}"));
  return body.str() + sealOf(body);
}

Expected<Manifest> Manifest::parse(StringRef text) {
  if (text.size() <= sealSize ||
      text.take_back(sealSize) != sealOf(text.drop_back(sealSize)))
    return invalid("does not match its seal");
  Expected<json::Value> value = parseBounded(text, {.maxBytes = maxBytes});
  if (!value)
    return invalid(toString(value.takeError()));

  json::Object *object = value->getAsObject();
  if (!object || object->getInteger("format") != formatVersion)
    return invalid("has another format");
  const json::Array *components = object->getArray("components");
  const json::Array *records = object->getArray("files");
  json::Object *metadata = object->getObject("metadata");
  if (!components || !records || !metadata)
    return invalid("lacks `components`, `files` or `metadata`");

  Expected<Key> key = readKey(*components, object->getString("key"));
  if (!key)
    return key.takeError();
  Expected<std::vector<FileRecord>> files = readFileRecords(*records);
  if (!files)
    return files.takeError();
  Manifest manifest;
  manifest.key = std::move(*key);
  manifest.files = std::move(*files);
  manifest.metadata = std::move(*metadata);
  manifest.isUnsigned = object->get("unsigned") != nullptr;
  manifest.creator = object->getString("creator").value_or("").str();
  manifest.created = object->getString("created").value_or("").str();
  return manifest;
}
