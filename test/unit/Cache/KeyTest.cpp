//===- KeyTest.cpp - Digests and keys -------------------------------------===//

#include "TestSupport.h"

#include <map>
#include <random>
#include <set>

using namespace llvm;
using namespace tl::cache;

/// The digest of the empty string in the BLAKE3 paper's reference code.
TEST(DigestTest, IsBLAKE3) {
  EXPECT_EQ(Digest::of("").hex(), "af1349b9f5f9a1a6a0404dea36dcc949"
                                  "9bcb25c9adc112b7cc9a93cae41f3262");
}

TEST(DigestTest, TextIsReadBack) {
  Digest digest = Digest::of("tile");
  EXPECT_EQ(Digest::fromHex(digest.hex()), digest);
  EXPECT_EQ(Digest::fromHex(StringRef(digest.hex()).upper()), std::nullopt);
  EXPECT_EQ(Digest::fromHex(StringRef(digest.hex()).drop_back()), std::nullopt);
  EXPECT_EQ(Digest::fromHex(std::string(64, 'g')), std::nullopt);
  EXPECT_EQ(Digest::fromHex("../" + digest.hex().substr(3)), std::nullopt);
}

TEST(KeyTest, OrderOfComponentsDoesNotMatter) {
  Key first = KeyBuilder().add("a", "1").add("b", "2").add("c", "3").build();
  Key second = KeyBuilder().add("c", "3").add("a", "1").add("b", "2").build();
  EXPECT_EQ(first.digest(), second.digest());
}

/// All of these differ in one thing, among them those whose names and bytes
/// run together to the same text.
TEST(KeyTest, EveryComponentMatters) {
  std::vector<Key> keys = {
      KeyBuilder().build(),
      KeyBuilder().add("", "").build(),
      KeyBuilder().add("a", "").build(),
      KeyBuilder().add("a", "bc").build(),
      KeyBuilder().add("ab", "c").build(),
      KeyBuilder().add("abc", "").build(),
      KeyBuilder().add("a", "bc").add("d", "").build(),
      KeyBuilder().add("a", "bc").add("d", "e").build(),
      KeyBuilder().add("a", "e").add("d", "bc").build(),
      KeyBuilder().add("a", StringRef("bc\0", 3)).build(),
      KeyBuilder().add(StringRef("a\0", 2), "bc").build(),
  };
  std::set<Digest> digests;
  for (const Key &key : keys)
    EXPECT_TRUE(digests.insert(key.digest()).second) << key.hex();
}

TEST(KeyTest, EveryByteOfAComponentMatters) {
  std::string kernel = "gpu.module @kernel { ... }";
  std::set<Digest> digests = {
      KeyBuilder().add("kernel", kernel).build().digest()};
  for (char &c : kernel) {
    c ^= 1;
    EXPECT_TRUE(
        digests.insert(KeyBuilder().add("kernel", kernel).build().digest())
            .second);
    c ^= 1;
  }
}

/// Keys name directories that other versions of the library look for.
TEST(KeyTest, IsStable) {
  EXPECT_EQ(KeyBuilder().add("a", "b").add("c", "d").build().hex(),
            "e6f846dca7f736c5ed198743a62bf6ac"
            "dceb0176a224433482bd3669b5c14f2c");
}

TEST(KeyTest, KeepsOnlyValuesThatCanBeShown) {
  Key key = KeyBuilder()
                .add("binary", StringRef("\0\1", 2))
                .add("long", std::string(1000, 'x'))
                .add("short", "sm_90a")
                .build();
  EXPECT_EQ(key.components()[0].value, "");
  EXPECT_EQ(key.components()[1].value, "");
  EXPECT_EQ(key.components()[2].value, "sm_90a");
}

TEST(KeyTest, ExplainNamesWhatDiffers) {
  std::string longText(1000, 'x');
  Key first = KeyBuilder()
                  .add("kernel", longText)
                  .add("only first", "1")
                  .add("ptxas", "13.0")
                  .add("target", "sm_90a")
                  .build();
  Key second = KeyBuilder()
                   .add("kernel", longText + "y")
                   .add("only second", "2")
                   .add("ptxas", "13.1")
                   .add("target", "sm_90a")
                   .build();
  std::vector<KeyDifference> differences = explain(first, second);
  ASSERT_EQ(differences.size(), 4u);
  EXPECT_EQ(differences[0].name, "kernel");
  EXPECT_EQ(differences[0].first, Digest::of(longText).hex());
  EXPECT_EQ(differences[0].second, Digest::of(longText + "y").hex());
  EXPECT_EQ(differences[1].name, "only first");
  EXPECT_EQ(differences[1].first, "1");
  EXPECT_EQ(differences[1].second, std::nullopt);
  EXPECT_EQ(differences[2].name, "only second");
  EXPECT_EQ(differences[2].first, std::nullopt);
  EXPECT_EQ(differences[2].second, "2");
  EXPECT_EQ(differences[3].name, "ptxas");
  EXPECT_EQ(differences[3].first, "13.0");
  EXPECT_EQ(differences[3].second, "13.1");
  EXPECT_TRUE(explain(first, first).empty());
}

/// Keys of random components of which one is changed, added or left out: that
/// one is named, and no other.
TEST(KeyTest, ExplainNamesEveryComponentThatIsChanged) {
  std::mt19937 random(1);
  auto pick = [&](int bound) { return int(random() % bound); };
  for (int round = 0; round < 1000; ++round) {
    std::map<std::string, std::string> first;
    for (int i = 0, count = 1 + pick(12); i < count; ++i)
      first["part " + std::to_string(i)] = std::string(pick(300), 'x');
    auto second = first;
    std::string changed = "part " + std::to_string(pick(first.size()));
    switch (pick(3)) {
    case 0:
      second[changed] += char(' ' + pick(90));
      break;
    case 1:
      second.erase(changed);
      break;
    default:
      second[changed = "another part"] = "";
    }
    auto keyOf = [](const std::map<std::string, std::string> &parts) {
      KeyBuilder builder;
      for (const auto &[name, value] : parts)
        builder.add(name, value);
      return builder.build();
    };
    std::vector<KeyDifference> differences =
        explain(keyOf(first), keyOf(second));
    ASSERT_EQ(differences.size(), 1u) << round;
    EXPECT_EQ(differences[0].name, changed);
    EXPECT_NE(differences[0].first, differences[0].second);
  }
}

/// Two lists of options, of which one differs.
TEST(KeyTest, ExplainShowsTheWordsThatDiffer) {
  auto explainValues = [](StringRef first, StringRef second) {
    return explain(KeyBuilder().add("pass", first).build(),
                   KeyBuilder().add("pass", second).build())
        .front();
  };
  std::string before = "{" + std::string(60, 'a') + "=1 max-iterations=",
              after = " top-down=true " + std::string(60, 'z') + "=2}";
  KeyDifference options =
      explainValues(before + "10" + after, before + "100" + after);
  EXPECT_EQ(options.first, "…max-iterations=10 top-down=true…");
  EXPECT_EQ(options.second, "…max-iterations=100 top-down=true…");

  // What is added at an end, and what has nothing in common.
  std::string longText = std::string(90, 'x') + " ";
  KeyDifference added = explainValues(longText, longText + "cse");
  EXPECT_EQ(added.first, "…");
  EXPECT_EQ(added.second, "…cse");
  KeyDifference other =
      explainValues(std::string(100, 'a'), std::string(100, 'b'));
  EXPECT_EQ(other.first, std::string(100, 'a'));
  EXPECT_EQ(other.second, std::string(100, 'b'));

  // Short ones are shown whole.
  EXPECT_EQ(explainValues("ptxas 13.0", "ptxas 13.1").first, "ptxas 13.0");
}
