//===- DirectoryListing.cpp - What is in a directory ----------------------===//
//
// Entries are found by listing, so that no index can be wrong or out of date.
//
//===----------------------------------------------------------------------===//

#include "DirectoryLayout.h"
#include "EntryFiles.h"
#include "tl/Cache/DirectoryStore.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tl::cache;

Expected<std::vector<Digest>> DirectoryStore::names() const {
  std::vector<Digest> result;
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return result;
  ErrorOr<std::vector<std::string>> fanOuts = listNames(**version);
  if (!fanOuts)
    return failure(fanOuts.getError(), "cannot be listed");
  for (const std::string &fanOut : *fanOuts) {
    if (fanOut.size() != fanOutDigits || !all_of(fanOut, isHexDigit))
      continue;
    ErrorOr<std::vector<std::string>> members = listNames(**version, fanOut);
    if (!members)
      return failure(members.getError(), "cannot be listed");
    for (const std::string &member : *members)
      if (std::optional<Digest> name = Digest::fromHex(member);
          name && fanOutOf(*name) == fanOut)
        result.push_back(*name);
  }
  sort(result);
  return result;
}

Expected<EntryInfo> DirectoryStore::info(const Digest &name) const {
  Expected<std::optional<EntryReader>> reader = openEntry(name);
  if (!reader)
    return reader.takeError();
  if (!*reader)
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + name.hex() + "`");
  Expected<Manifest> manifest = (*reader)->readManifest();
  if (!manifest)
    return manifest.takeError();
  uint64_t size = (*reader)->bytesRead();
  for (const FileRecord &file : manifest->files)
    size += file.size;
  return EntryInfo{std::move(*manifest), size, (*reader)->lastUse()};
}

Expected<std::vector<EntryInfo>> DirectoryStore::list() const {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  std::vector<EntryInfo> result;
  for (const Digest &name : *all) {
    Expected<EntryInfo> entry = info(name);
    if (entry)
      result.push_back(std::move(*entry));
    else
      consumeError(entry.takeError()); // `verify` tells.
  }
  return result;
}

Expected<Digest> DirectoryStore::find(StringRef prefix) const {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  erase_if(*all, [&](const Digest &name) {
    return !StringRef(name.hex()).starts_with(prefix);
  });
  if (all->empty())
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + prefix.str() + "`");
  if (all->size() > 1)
    return make_error<StoreError>(
        rootPath, "holds " + utostr(all->size()) +
                      " entries whose names begin with `" + prefix.str() +
                      "`; give more of the name");
  return all->front();
}

Expected<EntryInfo> DirectoryStore::nearest(const Key &key) const {
  Expected<std::vector<EntryInfo>> entries = list();
  if (!entries)
    return entries.takeError();
  erase_if(*entries, [&](const EntryInfo &entry) {
    return entry.manifest.key.digest() == key.digest();
  });
  if (entries->empty())
    return make_error<StoreError>(rootPath, "holds no entry to compare with");
  auto rank = [&](const EntryInfo &entry) {
    return std::pair(explain(key, entry.manifest.key).size(),
                     -entry.lastUse.time_since_epoch());
  };
  return std::move(*min_element(
      *entries, [&](auto &lhs, auto &rhs) { return rank(lhs) < rank(rhs); }));
}

Expected<EntryPtr> DirectoryStore::read(const Digest &name) {
  Expected<EntryPtr> entry = loadOrQuarantine(name, /*use=*/false);
  if (entry && !*entry)
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + name.hex() + "`");
  return entry;
}

Error DirectoryStore::verify(const Digest &name) {
  return read(name).takeError();
}
