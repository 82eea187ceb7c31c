//===- TestSupport.h - What the tests of the cache share -------*- C++ -*-===//
//
// Directories that go away, entries to store, and files to damage.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_CACHE_TESTSUPPORT_H
#define TL_TEST_UNIT_CACHE_TESTSUPPORT_H

#include "tl/Cache/Cache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <map>

#include <sys/stat.h>
#include <unistd.h>

namespace tl::cache::test {

/// Under a sanitizer, which makes everything slow.
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool isInstrumented = true;
#else
inline constexpr bool isInstrumented = false;
#endif

/// A new directory, removed with all that it holds. It is in memory where that
/// is possible: a disk takes ten milliseconds to synchronise a file, and these
/// tests store thousands.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    llvm::SmallString<128> result;
    std::error_code error = llvm::sys::fs::createUniqueFile(
        base() + "/tl-cache-test-%%%%%%%%", result);
    EXPECT_FALSE(error) << error.message();
    root = result.str().str();
    EXPECT_FALSE(llvm::sys::fs::remove(root));
    EXPECT_EQ(::mkdir(root.c_str(), 0755), 0);
  }
  ~TemporaryDirectory() { (void)llvm::sys::fs::remove_directories(root); }

  std::string path(llvm::StringRef part = "cache") const {
    return root + "/" + part.str();
  }

private:
  static std::string base() {
    const char *given = std::getenv("TMPDIR");
    if (given && *given)
      return given;
    return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
  }

  std::string root;
};

inline Key makeKey(llvm::StringRef kernel, llvm::StringRef target = "sm_90a") {
  return KeyBuilder().add("kernel", kernel).add("target", target).build();
}

/// An entry of two files that tells by its contents what it was made for.
inline Entry makeEntry(llvm::StringRef contents) {
  Entry entry;
  entry.addFile("kernel.ptx", "ptx of " + contents.str());
  entry.addFile("kernel.cubin", contents.str() + std::string("\0\xff\n", 3));
  entry.setMetadata(llvm::json::Object{{"made_for", contents}});
  return entry;
}

inline EntryPtr makeEntryPtr(llvm::StringRef contents) {
  return std::make_shared<const Entry>(makeEntry(contents));
}

/// True if `entry` is what `makeEntry(contents)` made.
inline bool isEntry(const Entry &entry, llvm::StringRef contents) {
  Entry expected = makeEntry(contents);
  if (entry.metadata() != expected.metadata() ||
      entry.files().size() != expected.files().size())
    return false;
  for (const File &file : expected.files())
    if (entry.file(file.name) != llvm::StringRef(file.bytes))
      return false;
  return true;
}

inline std::string readText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Writes a file, replacing the one that is there.
inline void writeText(const std::string &path, llvm::StringRef bytes) {
  (void)llvm::sys::fs::remove(path);
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  ASSERT_FALSE(error) << path << ": " << error.message();
  os << bytes;
}

/// All files of a directory by name.
using Files = std::map<std::string, std::string>;

inline Files readDirectory(const std::string &path) {
  Files files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(path, error), end;
       it != end && !error; it.increment(error))
    files[llvm::sys::path::filename(it->path()).str()] = readText(it->path());
  EXPECT_FALSE(error) << error.message();
  return files;
}

inline void writeDirectory(const std::string &path, const Files &files) {
  (void)llvm::sys::fs::remove_directories(path);
  ASSERT_FALSE(llvm::sys::fs::create_directories(path));
  for (const auto &[name, bytes] : files)
    writeText(path + "/" + name, bytes);
}

/// How many names a directory holds.
inline size_t countNames(const std::string &path) {
  size_t count = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(path, error), end;
       it != end && !error; it.increment(error))
    ++count;
  return count;
}

/// The text of an error that must be there.
template <typename T>
std::string messageOf(llvm::Expected<T> result) {
  EXPECT_FALSE(bool(result)) << "succeeded";
  return result ? "" : llvm::toString(result.takeError());
}

inline std::string messageOf(llvm::Error error) {
  EXPECT_TRUE(bool(error)) << "succeeded";
  return llvm::toString(std::move(error));
}

inline bool contains(llvm::StringRef text, llvm::StringRef part) {
  return text.contains(part);
}

} // namespace tl::cache::test

#endif // TL_TEST_UNIT_CACHE_TESTSUPPORT_H
