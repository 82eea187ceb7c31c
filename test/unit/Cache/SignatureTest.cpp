//===- SignatureTest.cpp - Entries that others cannot forge ---------------===//
//
// The vectors of RFC 4231, and which key files are accepted.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Signature.h"

#include "TestSupport.h"

#include "llvm/ADT/StringExtras.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

static std::string hmacHex(StringRef key, StringRef message) {
  return toHex(hmacSHA256(key, message), /*LowerCase=*/true);
}

/// RFC 4231, sections 4.2 to 4.8, less 4.6, whose output is cut.
TEST(SignatureTest, HMACIsThatOfTheRFC) {
  EXPECT_EQ(hmacHex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b"
            "881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmacHex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c7"
            "5a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmacHex(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a7"
            "2959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char c = 1; c <= 25; ++c)
    counting += c;
  EXPECT_EQ(hmacHex(counting, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a"
            "85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(hmacHex(std::string(131, '\xaa'),
                    "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f"
            "8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hmacHex(std::string(131, '\xaa'),
                    "This is a test using a larger than block-size key and a "
                    "larger than block-size data. The key needs to be hashed "
                    "before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944"
            "bfdc63644f0713938a7f51535c3a35e2");
}

TEST(SignatureTest, OnlyTheKeyAndTheTextThatWereSignedVerify) {
  SigningKey key(std::string(32, 'k')), other(std::string(32, 'o'));
  std::string signature = key.sign("text");
  EXPECT_TRUE(key.verifies("text", signature));
  EXPECT_FALSE(other.verifies("text", signature));
  EXPECT_FALSE(key.verifies("texts", signature));
  EXPECT_FALSE(key.verifies("text", StringRef(signature).drop_back()));
  EXPECT_FALSE(key.verifies("text", ""));
  for (size_t i = 0; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] ^= 1;
    EXPECT_FALSE(key.verifies("text", changed));
  }
}

namespace {

/// A key file with a mode.
struct KeyFile {
  KeyFile(StringRef contents, mode_t mode) : path(directory.path("key")) {
    writeText(path, contents);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  }

  TemporaryDirectory directory;
  std::string path;
};

} // namespace

TEST(SigningKeyTest, AllBytesOfTheFileAreTheSecret) {
  std::string secret = std::string(31, 's') + "\n";
  KeyFile file(secret, 0400);
  EXPECT_EQ(cantFail(SigningKey::read(file.path)).sign("text"),
            SigningKey(secret).sign("text"));
}

/// Secrets are often mounted as links.
TEST(SigningKeyTest, ALinkIsFollowed) {
  KeyFile file(std::string(32, 's'), 0600);
  std::string link = file.directory.path("link");
  ASSERT_EQ(::symlink("key", link.c_str()), 0);
  EXPECT_TRUE(bool(SigningKey::read(link)));
}

TEST(SigningKeyTest, AFileThatOthersCanUseIsRefused) {
  for (mode_t mode : {0640, 0604, 0620, 0602, 0610}) {
    KeyFile file(std::string(32, 's'), mode);
    EXPECT_EQ(messageOf(SigningKey::read(file.path)),
              "key file `" + file.path +
                  "` can be used by others than its owner; run `chmod 600` on "
                  "it");
  }
}

TEST(SigningKeyTest, WhatIsNoKeyIsRefused) {
  KeyFile shortFile(std::string(31, 's'), 0600);
  EXPECT_TRUE(contains(messageOf(SigningKey::read(shortFile.path)),
                       "is shorter than 32 bytes; make one with `openssl rand "
                       "-hex 32`"));
  KeyFile longFile(std::string(4097, 's'), 0600);
  EXPECT_TRUE(contains(messageOf(SigningKey::read(longFile.path)),
                       "is longer than 4096 bytes"));
  TemporaryDirectory directory;
  EXPECT_TRUE(contains(messageOf(SigningKey::read(directory.path("none"))),
                       "cannot be read: No such file"));
  std::string pipe = directory.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(
      contains(messageOf(SigningKey::read(pipe)), "is not a plain file"));
}

TEST(SigningKeyTest, AFileOfAnotherUserIsRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only the superuser can give files away";
  KeyFile file(std::string(32, 's'), 0600);
  ASSERT_EQ(::chown(file.path.c_str(), 12345, 12345), 0);
  EXPECT_TRUE(contains(messageOf(SigningKey::read(file.path)),
                       "belongs to user 12345"));
}
