//===- ManifestTest.cpp - The record that vouches for an entry ------------===//

#include "TestSupport.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

/// The text of a record, sealed as a writer that means harm could.
static std::string seal(json::Object record) {
  std::string text = formatv("{0:2}", json::Value(std::move(record)));
  text.resize(text.size() - 2);
  return text + ",\n  \"seal\": \"" + Digest::of(text).hex() + "\"\n}\n";
}

static json::Object makeRecord() {
  return Manifest::describe(makeKey("k"), makeEntry("k"), "test").toJSON();
}

TEST(ManifestTest, IsReadBack) {
  Manifest written = Manifest::describe(makeKey("k"), makeEntry("k"), "test");
  Manifest read = cantFail(Manifest::parse(written.print()));
  EXPECT_EQ(read.key.digest(), written.key.digest());
  EXPECT_EQ(read.key.components(), written.key.components());
  EXPECT_EQ(read.metadata, written.metadata);
  EXPECT_EQ(read.creator, "test");
  EXPECT_EQ(read.created, written.created);
  ASSERT_EQ(read.files.size(), 2u);
  EXPECT_EQ(read.files[0].name, "kernel.cubin");
  EXPECT_EQ(read.files[0].size, 4u);
  EXPECT_EQ(read.files[1].digest, Digest::of("ptx of k"));
}

/// The sealing of this test is that of the library, so that what is refused
/// below is refused for what it says.
TEST(ManifestTest, SealedRecordIsRead) {
  EXPECT_FALSE(bool(Manifest::parse(seal(makeRecord())).takeError()));
}

TEST(ManifestTest, EveryChangedByteBreaksTheSeal) {
  std::string text =
      Manifest::describe(makeKey("k"), makeEntry("k"), "test").print();
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    EXPECT_TRUE(contains(messageOf(Manifest::parse(changed)), "seal"));
    EXPECT_TRUE(
        contains(messageOf(Manifest::parse(text.substr(0, i))), "seal"));
  }
  EXPECT_TRUE(contains(messageOf(Manifest::parse(text + "\n")), "seal"));
}

TEST(ManifestTest, FileNamesStayInTheDirectory) {
  for (StringRef name : {"", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden",
                         "a b", "a\\b", "manifest.json", "a\n"}) {
    json::Object record = makeRecord();
    (*(*record.getArray("files"))[0].getAsObject())["name"] = name;
    EXPECT_TRUE(contains(messageOf(Manifest::parse(seal(std::move(record)))),
                         "valid name"))
        << name.str();
    EXPECT_FALSE(isValidFileName(name)) << name.str();
  }
  EXPECT_FALSE(isValidFileName(StringRef("a\0b", 3)));
  EXPECT_FALSE(isValidFileName(std::string(129, 'a')));
  EXPECT_TRUE(isValidFileName("libkernel-1_2+3.so"));
}

TEST(ManifestTest, KeyIsMadeOfTheComponents) {
  json::Object record = makeRecord();
  record["key"] = makeKey("another").hex();
  EXPECT_TRUE(contains(messageOf(Manifest::parse(seal(std::move(record)))),
                       "not made of its components"));
}

TEST(ManifestTest, ComponentsAreNamedOnce) {
  json::Object record = makeRecord();
  json::Array &components = *record.getArray("components");
  components.push_back(json::Value(components[1]));
  EXPECT_TRUE(contains(messageOf(Manifest::parse(seal(std::move(record)))),
                       "components out of order"));
}

TEST(ManifestTest, FilesAreNamedOnce) {
  json::Object record = makeRecord();
  json::Array &files = *record.getArray("files");
  files.push_back(json::Value(files[1]));
  EXPECT_TRUE(contains(messageOf(Manifest::parse(seal(std::move(record)))),
                       "out of order"));
}

TEST(ManifestTest, OtherShapesAreRefused) {
  for (StringRef field : {"format", "key", "components", "files", "metadata"}) {
    for (json::Value value : {json::Value(nullptr), json::Value(2),
                              json::Value(json::Array{7}), json::Value("x")}) {
      json::Object record = makeRecord();
      record[field] = value;
      EXPECT_FALSE(messageOf(Manifest::parse(seal(std::move(record)))).empty());
    }
  }
  for (StringRef field : {"size", "digest"}) {
    json::Object record = makeRecord();
    (*(*record.getArray("files"))[0].getAsObject())[field] = -1;
    EXPECT_FALSE(messageOf(Manifest::parse(seal(std::move(record)))).empty());
  }
}

/// A parser that recurses would need more stack than there is.
TEST(ManifestTest, DeepNestingIsRefused) {
  std::string text = "{\n  \"metadata\": " + std::string(1 << 20, '[');
  text += ",\n  \"seal\": \"" + Digest::of(text).hex() + "\"\n}\n";
  EXPECT_TRUE(contains(messageOf(Manifest::parse(text)), "too deeply"));
}
