//===- DirectoryListing.cpp - What is in a directory ----------------------===//
//
// Entries are found by listing, so that no index can be wrong or out of date.
//
//===----------------------------------------------------------------------===//

#include "DirectoryLayout.h"
#include "EntryFiles.h"
#include "ManifestSummary.h"
#include "Ownership.h"
#include "tl/Cache/DirectoryStore.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"

#include <fcntl.h>

using namespace llvm;
using namespace tl::cache;

/// How long entries are compared with a key that missed.
static constexpr std::chrono::seconds nearestAtMost(2);

/// Goes through the entries of one directory of the fan-out, in order.
static Error forEachName(const Descriptor &fanOut, StringRef prefix,
                         function_ref<bool(const Digest &)> visit,
                         bool &goesOn) {
  ErrorOr<std::vector<std::string>> members = listNames(fanOut);
  if (!members)
    return errorCodeToError(members.getError());
  std::vector<Digest> names;
  for (const std::string &member : *members)
    if (std::optional<Digest> name = Digest::fromHex(member);
        name && fanOutOf(*name) == prefix)
      names.push_back(*name);
  sort(names);
  for (const Digest &name : names)
    if (goesOn)
      goesOn = visit(name);
  return Error::success();
}

/// Calls `visit` with the name of each entry and the open directory that it is
/// in, in order, until it returns false.
Error DirectoryStore::walk(
    function_ref<bool(const Descriptor &, const Digest &)> visit) const {
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return Error::success();
  ErrorOr<std::vector<std::string>> fanOuts = listNames(**version);
  if (!fanOuts)
    return failure(fanOuts.getError(), "cannot be listed");
  sort(*fanOuts);
  bool goesOn = true;
  for (const std::string &prefix : *fanOuts) {
    if (!goesOn)
      break;
    if (prefix.size() != fanOutDigits || !all_of(prefix, isHexDigit))
      continue;
    Expected<std::optional<Descriptor>> fanOut =
        openTrustedDirectory(**version, prefix, options.allowGroupWritable);
    if (!fanOut)
      return make_error<StoreError>(pathOf(prefix),
                                    toString(fanOut.takeError()));
    if (!*fanOut)
      continue;
    if (Error error = forEachName(
            **fanOut, prefix,
            [&](const Digest &name) { return visit(**fanOut, name); }, goesOn))
      return make_error<StoreError>(rootPath, "cannot be listed: " +
                                                  toString(std::move(error)));
  }
  return Error::success();
}

Expected<std::vector<Digest>> DirectoryStore::names() const {
  std::vector<Digest> result;
  if (Error error = walk([&](const Descriptor &, const Digest &name) {
        result.push_back(name);
        return true;
      }))
    return error;
  return result;
}

/// Reads what a list shows of an entry; false if that cannot be read.
static bool readSummary(const Descriptor &fanOut, const Digest &name,
                        bool trustGroup, EntrySummary &summary) {
  struct stat status;
  Expected<std::optional<Descriptor>> directory =
      openTrustedDirectory(fanOut, name.hex(), trustGroup, &status);
  if (!directory) {
    consumeError(directory.takeError());
    return false;
  }
  if (!*directory)
    return false;
  summary.name = name;
  summary.lastUse = lastUseOf(status);
  ErrorOr<Descriptor> file =
      openRegularFile(**directory, Manifest::fileName.str(), status);
  if (!file || !distrust(status, trustGroup).empty() ||
      uint64_t(status.st_size) > Manifest::maxBytes)
    return false;
  ErrorOr<std::string> text = readFile(*file, status.st_size);
  summary.size = status.st_size;
  return text && summarize(*text, summary);
}

Error DirectoryStore::forEach(
    function_ref<bool(const EntrySummary &)> visit) const {
  return walk([&](const Descriptor &fanOut, const Digest &name) {
    EntrySummary summary;
    if (!readSummary(fanOut, name, options.allowGroupWritable, summary))
      return true;
    return visit(summary);
  });
}

std::string tl::cache::formatTime(sys::TimePoint<> time) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return formatv("{0:%Y-%m-%dT%H:%M:%SZ}",
                 sys::toUtcTime(sys::toTimeT(seconds)));
}

Expected<DirectoryTotals> DirectoryStore::totals() const {
  DirectoryTotals totals;
  if (Error error = forEach([&](const EntrySummary &entry) {
        if (totals.entries++ == 0)
          totals.oldestUse = totals.newestUse = entry.lastUse;
        totals.bytes += entry.size;
        totals.oldestUse = std::min(totals.oldestUse, entry.lastUse);
        totals.newestUse = std::max(totals.newestUse, entry.lastUse);
        return true;
      }))
    return error;
  return totals;
}

Expected<EntryInfo> DirectoryStore::info(const Digest &name) const {
  return readInfo(openEntry(name), name);
}

Expected<EntryInfo>
DirectoryStore::readInfo(Expected<std::optional<EntryReader>> reader,
                         const Digest &name) const {
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

Error DirectoryStore::forEachInfo(function_ref<bool(EntryInfo)> visit) const {
  return walk([&](const Descriptor &fanOut, const Digest &name) {
    Descriptor own(::fcntl(fanOut.get(), F_DUPFD_CLOEXEC, 0));
    Expected<EntryInfo> entry =
        readInfo(EntryReader::open(std::move(own), name, pathOf(name),
                                   options.allowGroupWritable),
                 name);
    if (entry)
      return visit(std::move(*entry));
    consumeError(entry.takeError()); // `verify` tells.
    return true;
  });
}

Expected<std::vector<EntryInfo>> DirectoryStore::list() const {
  std::vector<EntryInfo> result;
  if (Error error = forEachInfo([&](EntryInfo entry) {
        result.push_back(std::move(entry));
        return true;
      }))
    return error;
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
  std::optional<EntryInfo> best;
  auto rank = [&](const EntryInfo &entry) {
    return std::pair(explain(key, entry.manifest.key).size(),
                     -entry.lastUse.time_since_epoch());
  };
  decltype(rank(*best)) bestRank;
  // A miss is to be explained soon, and not at the price of a compilation.
  auto deadline = std::chrono::steady_clock::now() + nearestAtMost;
  if (Error error = forEachInfo([&](EntryInfo entry) {
        if (entry.manifest.key.digest() != key.digest()) {
          auto entryRank = rank(entry);
          if (!best || entryRank < bestRank) {
            bestRank = entryRank;
            best = std::move(entry);
          }
        }
        return std::chrono::steady_clock::now() < deadline;
      }))
    return error;
  if (!best)
    return make_error<StoreError>(rootPath, "holds no entry to compare with");
  return std::move(*best);
}

Expected<EntryPtr> DirectoryStore::read(const Digest &name) {
  Expected<EntryPtr> entry =
      loadOrQuarantine(name, /*use=*/false, {Trust::Private, Trust::None});
  if (entry && !*entry)
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + name.hex() + "`");
  return entry;
}

Error DirectoryStore::verify(const Digest &name) {
  return read(name).takeError();
}
