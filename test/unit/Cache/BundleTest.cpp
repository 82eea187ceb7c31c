//===- BundleTest.cpp - Entries in one file -------------------------------===//

#include "TestSupport.h"

#include "tl/Cache/Bundle.h"

#include "llvm/Support/FormatVariadic.h"

#include <fcntl.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

namespace {

/// Reads all of a bundle that is in memory; the number of entries.
Expected<size_t> readAll(StringRef bytes) {
  BundleReader reader(
      [rest = bytes](MutableArrayRef<char> buffer) mutable -> ErrorOr<size_t> {
        StringRef taken = rest.take_front(buffer.size());
        llvm::copy(taken, buffer.begin());
        rest = rest.drop_front(taken.size());
        return taken.size();
      });
  for (size_t count = 0;; ++count) {
    Expected<std::optional<BundledEntry>> entry = reader.next();
    if (!entry)
      return entry.takeError();
    if (!*entry)
      return count;
  }
}

Manifest describe(StringRef name) {
  return Manifest::describe(makeKey(name), makeEntry(name), "test");
}

/// A bundle of entries for these names.
std::string write(ArrayRef<StringRef> names) {
  std::string text;
  raw_string_ostream os(text);
  BundleWriter writer(os);
  for (StringRef name : names)
    writer.add(describe(name), makeEntry(name));
  writer.finish();
  return text;
}

class BundleTest : public testing::Test {
protected:
  std::unique_ptr<DirectoryStore> open(StringRef name = "cache") {
    return cantFail(DirectoryStore::open(directory.path(name)));
  }
  static void put(DirectoryStore &store, StringRef name) {
    cantFail(store.insert(makeKey(name), makeEntryPtr(name)));
  }
  static bool has(DirectoryStore &store, StringRef name) {
    EntryPtr entry = cantFail(store.lookup(makeKey(name)));
    EXPECT_TRUE(!entry || isEntry(*entry, name));
    return entry != nullptr;
  }

  TemporaryDirectory directory;
  std::string path = directory.path("bundle");
  unsigned numDirectories = 0;
};

} // namespace

TEST_F(BundleTest, CarriesEntriesToAnotherDirectory) {
  auto store = open();
  for (const char *name : {"1", "2", "3"})
    put(*store, name);
  ExportResult exported =
      cantFail(exportBundle(*store, cantFail(store->names()), path));
  EXPECT_EQ(exported.entries, 3u);
  EXPECT_EQ(exported.bytes, cantFail(store->totalSize()));

  auto other = open("other");
  ImportResult imported = cantFail(importBundle(*other, path));
  EXPECT_EQ(imported.imported, 3u);
  EXPECT_EQ(imported.present, 0u);
  EXPECT_GT(imported.bytes, 0u);
  for (const char *name : {"1", "2", "3"})
    EXPECT_TRUE(has(*other, name));
}

TEST_F(BundleTest, CarriesWhatIsChosenAlone) {
  auto store = open();
  put(*store, "1");
  put(*store, "2");
  cantFail(exportBundle(*store, {makeKey("2").digest()}, path));
  auto other = open("other");
  EXPECT_EQ(cantFail(importBundle(*other, path)).imported, 1u);
  EXPECT_FALSE(has(*other, "1"));
  EXPECT_TRUE(has(*other, "2"));
}

TEST_F(BundleTest, CarriesNothing) {
  auto store = open();
  cantFail(exportBundle(*store, {}, path));
  EXPECT_EQ(cantFail(importBundle(*store, path)).imported, 0u);
}

TEST_F(BundleTest, SameEntriesSameBytes) {
  auto store = open();
  put(*store, "1");
  put(*store, "2");
  std::vector<Digest> names = cantFail(store->names());
  cantFail(exportBundle(*store, names, path));
  std::string first = readText(path);
  cantFail(exportBundle(*store, names, path));
  EXPECT_EQ(readText(path), first);
}

/// Exporting is no use of an entry.
TEST_F(BundleTest, ExportingChangesNothing) {
  auto store = open();
  put(*store, "k");
  std::string entry = store->pathOf(makeKey("k").digest());
  struct timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, entry.c_str(), times, 0), 0);
  cantFail(exportBundle(*store, cantFail(store->names()), path));
  EXPECT_EQ(sys::toTimeT(cantFail(store->info(makeKey("k").digest())).lastUse),
            1000);
}

TEST_F(BundleTest, NeverReplacesASoundEntry) {
  auto store = open();
  // An entry of the same key that another compiler made.
  cantFail(store->insert(makeKey("1"), makeEntryPtr("theirs")));
  put(*store, "2");
  cantFail(exportBundle(*store, cantFail(store->names()), path));
  auto other = open("other");
  put(*other, "1");
  ImportResult result = cantFail(importBundle(*other, path));
  EXPECT_EQ(result.imported, 1u);
  EXPECT_EQ(result.present, 1u);
  EXPECT_TRUE(has(*other, "1"));
}

TEST_F(BundleTest, ReplacesADamagedEntry) {
  auto store = open();
  put(*store, "k");
  cantFail(exportBundle(*store, cantFail(store->names()), path));
  writeText(store->pathOf(makeKey("k").digest()) + "/kernel.ptx", "ptx of x");
  EXPECT_EQ(cantFail(importBundle(*store, path)).imported, 1u);
  EXPECT_TRUE(has(*store, "k"));
}

TEST_F(BundleTest, ADamagedEntryIsNotExported) {
  auto store = open();
  put(*store, "k");
  std::vector<Digest> names = cantFail(store->names());
  writeText(store->pathOf(names[0]) + "/kernel.ptx", "ptx of x");
  EXPECT_TRUE(contains(messageOf(exportBundle(*store, names, path)),
                       "`kernel.ptx` does not match its digest"));
  EXPECT_FALSE(sys::fs::exists(path));
}

TEST_F(BundleTest, WhatStandsBeforeTheDamageIsImported) {
  std::string text = write({"1", "2"});
  // The last byte before the last line is of the second entry.
  text[text.rfind("end ") - 1] ^= 1;
  writeText(path, text);
  auto store = open();
  std::string message = messageOf(importBundle(*store, path));
  EXPECT_TRUE(contains(message, path)) << message;
  EXPECT_TRUE(contains(message, "does not match its digest; what stands before "
                                "was imported: 1 entries"));
  EXPECT_TRUE(has(*store, "1"));
  EXPECT_FALSE(has(*store, "2"));
}

/// It would run with the rights of who imports it.
TEST_F(BundleTest, HostCodeIsNotImported) {
  auto store = open();
  Key key = KeyBuilder().add("kernel", "k").addUse(Use::RunOnHost).build();
  cantFail(store->insert(key, makeEntryPtr("k")));
  put(*store, "1");
  cantFail(exportBundle(*store, cantFail(store->names()), path));
  auto other = open("other");
  ImportResult result = cantFail(importBundle(*other, path));
  EXPECT_EQ(result.imported, 1u);
  EXPECT_EQ(result.refused, 1u);
  EXPECT_EQ(cantFail(other->lookup(key)), nullptr);
  EXPECT_TRUE(has(*other, "1"));
}

/// Who exported it signs it; who imports it without the key has it as a
/// stranger's.
TEST_F(BundleTest, DeviceCodeNeedsASignatureOrTheUsersWord) {
  SigningKey key(std::string(32, 'k')), other(std::string(32, 'o'));
  Key device =
      KeyBuilder().add("kernel", "d").addUse(Use::LoadOnDevice).build();
  Key host = KeyBuilder().add("kernel", "h").addUse(Use::RunOnHost).build();
  auto store = open();
  cantFail(store->insert(device, makeEntryPtr("d")));
  cantFail(store->insert(host, makeEntryPtr("h")));
  cantFail(exportBundle(*store, cantFail(store->names()), path));
  std::string signedPath = path + ".signed";
  cantFail(exportBundle(*store, cantFail(store->names()), signedPath, &key));
  auto imported = [&](StringRef from, ImportPolicy policy) {
    ImportResult result = cantFail(importBundle(
        *open("into-" + std::to_string(++numDirectories)), from, policy));
    return std::pair(result.imported, result.refused);
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(imported(path, {}), Pair(0, 2));
  EXPECT_EQ(imported(path, {.allowUnsigned = true}), Pair(1, 1));
  EXPECT_EQ(imported(path, {.key = &key}), Pair(0, 2));
  EXPECT_EQ(imported(signedPath, {}), Pair(0, 2));
  EXPECT_EQ(imported(signedPath, {.key = &other}), Pair(0, 2));
  EXPECT_EQ(imported(signedPath, {.key = &other, .allowUnsigned = true}),
            Pair(0, 2));
  EXPECT_EQ(imported(signedPath, {.key = &key}), Pair(2, 0));
  // An unsigned one is marked, and not used by who does not allow it.
  auto into = open("into-2");
  EXPECT_FALSE(bool(into->lookup(device)));
}

TEST_F(BundleTest, AFileThatIsNotThereIsSaid) {
  auto store = open();
  EXPECT_TRUE(contains(messageOf(importBundle(*store, path)),
                       "cannot be read: No such file"));
  EXPECT_TRUE(contains(messageOf(importBundle(*store, directory.path("."))),
                       "cannot be read: Is a directory"));
  EXPECT_FALSE(messageOf(exportBundle(*store, {}, path + "/below")).empty());
}

//===----------------------------------------------------------------------===//
// Bundles that anyone may have made
//===----------------------------------------------------------------------===//

TEST_F(BundleTest, EveryChangedByteIsFound) {
  std::string text = write({"1", "2"});
  ASSERT_EQ(cantFail(readAll(text)), 2u);
  for (size_t i = 0; i < text.size(); ++i)
    for (int bit : {0, 7}) {
      std::string changed = text;
      changed[i] ^= char(1 << bit);
      EXPECT_FALSE(messageOf(readAll(changed)).empty()) << i;
    }
}

TEST_F(BundleTest, EveryOtherLengthIsFound) {
  std::string text = write({"1", "2"});
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_TRUE(contains(messageOf(readAll(StringRef(text).take_front(length))),
                         "is cut short"));
  EXPECT_TRUE(
      contains(messageOf(readAll(text + "x")), "goes on after its last line"));
}

/// Each entry vouches for itself alone; the last line for all of them.
TEST_F(BundleTest, EntriesThatWereTakenOutOrInAreFound) {
  std::string one = write({"1"}), two = write({"1", "2"});
  std::string end = one.substr(one.rfind("end "));
  EXPECT_TRUE(
      contains(messageOf(readAll(two.substr(0, two.rfind("end ")) + end)),
               "does not match its last line"));
}

/// The bytes before the last line, and a last line that fits them.
static std::string finish(StringRef body, size_t numEntries) {
  return body.str() + "end " + std::to_string(numEntries) + " " +
         Digest::of(body).hex() + "\n";
}

static std::string entryOf(StringRef manifest, StringRef files = "") {
  return "entry " + std::to_string(manifest.size()) + "\n" + manifest.str() +
         files.str();
}

/// A manifest of one file with this name and size, rightly sealed.
static std::string manifestOf(StringRef name, int64_t size) {
  Entry entry;
  entry.addFile("x", "");
  json::Object record =
      Manifest::describe(makeKey("k"), entry, "test").toJSON();
  json::Object &file = *(*record.getArray("files"))[0].getAsObject();
  file["name"] = name;
  file["size"] = size;
  std::string text = formatv("{0:2}", json::Value(std::move(record)));
  text.resize(text.size() - 2);
  return text + ",\n  \"seal\": \"" + Digest::of(text).hex() + "\"\n}\n";
}

TEST_F(BundleTest, HostileBundlesAreRefused) {
  std::string first = "tl-cache bundle 1\n";
  auto why = [&](StringRef body, size_t numEntries) {
    return messageOf(readAll(finish(first + body.str(), numEntries)));
  };
  // What is refused below is refused for what it says.
  EXPECT_EQ(cantFail(readAll(finish(first + entryOf(manifestOf("x", 0)), 1))),
            1u);

  for (StringRef name : {"../x", "/etc/passwd", ".", "a/b", "manifest.json"})
    EXPECT_TRUE(contains(why(entryOf(manifestOf(name, 0)), 1),
                         "a valid name, size or digest"))
        << name.str();
  // Memory is not taken for what is only claimed.
  EXPECT_TRUE(contains(why(entryOf(manifestOf("x", 1 << 27)), 1), "cut short"));
  EXPECT_TRUE(contains(why(entryOf(manifestOf("x", INT64_MAX)), 1),
                       "has files of more than"));
  EXPECT_TRUE(contains(why("entry 99999999999\n", 1), "`99999999999` bytes"));
  EXPECT_TRUE(contains(why("entry -1\n", 1), "`-1` bytes"));
  EXPECT_TRUE(contains(why("entry \n", 1), "`` bytes"));
  EXPECT_TRUE(contains(why("file x\n", 0), "neither `entry` nor `end`"));
  EXPECT_TRUE(
      contains(why(std::string(1000, 'x'), 0), "a line that is too long"));
  EXPECT_TRUE(contains(why(entryOf("{}"), 1), "does not match its seal"));
  EXPECT_TRUE(contains(why("", 1), "does not match its last line"));
  for (StringRef other : {"tl-cache bundle 2\n", "PK\3\4\n", "\n"})
    EXPECT_TRUE(contains(messageOf(readAll(finish(other, 0))),
                         "is not a bundle of this version"));
}
