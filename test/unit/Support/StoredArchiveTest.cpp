//===- StoredArchiveTest.cpp - Files in a ZIP archive, as they are --------===//

#include "tl/Support/StoredArchive.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

namespace {

/// An archive that is made as it is described.
class Writer {
public:
  uint16_t method = 0;
  uint16_t flags = 0;
  uint32_t sizeChange = 0;

  Writer &add(StringRef name, StringRef bytes) {
    uint32_t offset = archive.size();
    uint32_t size = bytes.size();
    auto common = [&](std::string &to) {
      put(to, flags, 2);
      put(to, method, 2);
      put(to, 0, 4);
      put(to, crc32(arrayRefFromStringRef(bytes)), 4);
      put(to, size, 4);
      put(to, size + sizeChange, 4);
      put(to, name.size(), 2);
      put(to, 0, 2);
    };
    archive += std::string("PK\3\4\x14\0", 6);
    common(archive);
    archive += (name + bytes).str();
    directory += std::string("PK\1\2\x14\3\x14\0", 8);
    common(directory);
    put(directory, 0, 10);
    put(directory, offset, 4);
    directory += name.str();
    ++count;
    return *this;
  }

  std::string finish() const {
    std::string whole = archive + directory + std::string("PK\5\6\0\0\0\0", 8);
    put(whole, count, 2);
    put(whole, count, 2);
    put(whole, directory.size(), 4);
    put(whole, archive.size(), 4);
    put(whole, 0, 2);
    return whole;
  }

private:
  static void put(std::string &to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      to += char(i < 8 ? value >> (8 * i) : 0);
  }

  std::string archive, directory;
  unsigned count = 0;
};

std::string whyNot(StringRef bytes) {
  auto files = readStoredArchive(bytes);
  return files ? "" : toString(files.takeError());
}

} // namespace

TEST(StoredArchiveTest, FilesAreRead) {
  std::string bytes = Writer().add("a", "1").add("k_1", "22").finish();
  auto files = cantFail(readStoredArchive(bytes));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1], StoredFile("k_1", "22"));
  EXPECT_TRUE(cantFail(readStoredArchive(Writer().finish())).empty());
}

TEST(StoredArchiveTest, NothingIsUnpacked) {
  Writer deflated, encrypted, longer;
  deflated.method = 8;
  encrypted.flags = 1;
  longer.sizeChange = 1 << 30;
  for (Writer *writer : {&deflated, &encrypted, &longer})
    EXPECT_EQ(whyNot(writer->add("a", "1").finish()),
              "`a` is compressed or encrypted");
}

TEST(StoredArchiveTest, NamesAreThoseOfSymbols) {
  for (StringRef name : {"", "../a", "/a", "a/b", ".a", "a b", "a\n"})
    EXPECT_EQ(whyNot(Writer().add(name, "1").finish()),
              "has a file without a name of its own");
  EXPECT_EQ(whyNot(Writer().add("a", "1").add("a", "2").finish()),
            "has a file without a name of its own");
}

TEST(StoredArchiveTest, EveryChangeAndEveryCutIsWithstood) {
  std::string sound = Writer().add("a", "1").add("b", "22").finish();
  for (size_t i = 0; i < sound.size(); ++i) {
    EXPECT_NE(whyNot(StringRef(sound).take_front(i)), "");
    for (char c : {char(0), char(0xff), char(sound[i] ^ 1)}) {
      std::string changed = sound;
      changed[i] = c;
      (void)whyNot(changed);
    }
  }
}
