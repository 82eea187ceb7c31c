//===- SharedTiersTest.cpp - The cache as the environment has it ----------===//
//
// What the variables may say, and what is wrong with the rest.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/SharedTiers.h"

#include "TestSupport.h"
#include "tl/Cache/DirectoryStore.h"

#include <sys/stat.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

using Values = std::map<std::string, std::string>;

/// Reads `T` from these variables.
template <typename T = SharedTiers>
static Expected<T> parse(const Values &values) {
  return T::parse([&](StringRef name) -> std::optional<std::string> {
    auto found = values.find(name.str());
    if (found == values.end())
      return std::nullopt;
    return found->second;
  });
}

static std::string urlOf(StringRef text) {
  return cantFail(RemoteAddress::parse(text)).url();
}

TEST(RemoteAddressTest, URLsAreRead) {
  RemoteAddress http = cantFail(
      RemoteAddress::parse("http://cache.example:8080/some/path/?mode=ro"));
  EXPECT_EQ(http.protocol, RemoteAddress::Protocol::HTTP);
  EXPECT_FALSE(http.isEncrypted);
  EXPECT_EQ(http.host, "cache.example");
  EXPECT_EQ(http.port, 8080);
  EXPECT_EQ(http.path, "/some/path");
  EXPECT_TRUE(http.isReadOnly);

  RemoteAddress redis =
      cantFail(RemoteAddress::parse("rediss://[::1]:1/3?ttl=60&mode=rw"));
  EXPECT_EQ(redis.protocol, RemoteAddress::Protocol::Redis);
  EXPECT_TRUE(redis.isEncrypted);
  EXPECT_EQ(redis.host, "[::1]");
  EXPECT_EQ(redis.database, 3u);
  EXPECT_EQ(redis.timeToLive, std::chrono::seconds(60));
  EXPECT_FALSE(redis.isReadOnly);
}

TEST(RemoteAddressTest, MessagesCallAServerByItsURL) {
  EXPECT_EQ(urlOf("http://h"), "http://h");
  EXPECT_EQ(urlOf("https://h:443/p/?mode=ro"), "https://h/p");
  EXPECT_EQ(urlOf("https://h:444"), "https://h:444");
  EXPECT_EQ(urlOf("redis://h"), "redis://h");
  EXPECT_EQ(urlOf("rediss://h:7/2?ttl=1"), "rediss://h:7/2");
}

TEST(RemoteAddressTest, WhatMakesNoSenseIsRefused) {
  for (auto [url, reason] : std::vector<std::pair<StringRef, StringRef>>{
           {"", "is not a URL of `http`"},
           {"cache.example", "is not a URL of `http`"},
           {"ftp://h", "is not a URL of `http`"},
           {"http://", "is not a URL of `http`"},
           {"http:///path", "has no valid host"},
           {"http://a b", "has no valid host"},
           {"http://[::1", "has no valid"},
           {"http://h:0", "has no valid port"},
           {"http://h:65536", "has no valid port"},
           {"http://h:x", "has no valid port"},
           {"http://h/a\nb", "has a path"},
           {"http://h/#a", "has a path"},
           {"redis://h/x", "is not the number of a database"},
           {"redis://h?ttl=0", "has an option `ttl=0`"},
           {"http://h?ttl=1", "has an option `ttl=1`"},
           {"http://h?mode=wo", "has an option `mode=wo`"},
           {"http://h?speed=fast", "known are `mode=ro`"},
       })
    EXPECT_TRUE(contains(messageOf(RemoteAddress::parse(url)), reason))
        << url.str();
}

/// URLs are shown; secrets have variables of their own.
TEST(RemoteAddressTest, ASecretInAURLIsRefusedAndNotRepeated) {
  std::string message =
      messageOf(RemoteAddress::parse("https://me:swordfish@h/p"));
  EXPECT_TRUE(contains(message, "put them into `TL_CACHE_USER`"));
  EXPECT_FALSE(contains(message, "swordfish"));
  message = messageOf(RemoteAddress::parse("htps://me:swordfish@h/p"));
  EXPECT_FALSE(contains(message, "swordfish"));
}

TEST(SharedTiersTest, WithoutVariablesThereAreNone) {
  SharedTiers tiers = cantFail(parse({}));
  EXPECT_TRUE(tiers.servers.empty());
  EXPECT_EQ(tiers.key, nullptr);
  EXPECT_FALSE(tiers.allowUnsigned);
  EXPECT_TRUE(cantFail(parse({{"TL_CACHE_REMOTE", ""}})).servers.empty());
}

TEST(SharedTiersTest, ServersKeepTheirOrder) {
  SharedTiers tiers =
      cantFail(parse({{"TL_CACHE_REMOTE", "redis://near, https://far?mode=ro"},
                      {"TL_CACHE_TOKEN", "t"},
                      {"TL_CACHE_USER", "u"},
                      {"TL_CACHE_PASSWORD", "p"},
                      {"TL_CACHE_ALLOW_PLAINTEXT", "1"}}));
  ASSERT_EQ(tiers.servers.size(), 2u);
  EXPECT_EQ(tiers.servers[0].url(), "redis://near");
  EXPECT_EQ(tiers.servers[1].url(), "https://far");
  EXPECT_TRUE(tiers.servers[1].isReadOnly);
  EXPECT_EQ(tiers.connectionTo(tiers.servers[0]).token, "");
  EXPECT_EQ(tiers.connectionTo(tiers.servers[1]).token, "t");
  EXPECT_EQ(tiers.connection.user, "u");
  EXPECT_EQ(tiers.connection.password, "p");
}

TEST(SharedTiersTest, TheVariableThatIsWrongIsNamed) {
  EXPECT_EQ(messageOf(parse({{"TL_CACHE_REMOTE", "http://h,nonsense"}})),
            "`TL_CACHE_REMOTE`: `nonsense` is not a URL of `http`, `https`, "
            "`redis` or `rediss`");
  EXPECT_EQ(messageOf(parse({{"TL_CACHE_TOKEN", "a\r\nX: b"}})),
            "`TL_CACHE_TOKEN`: holds a line break");
  EXPECT_TRUE(contains(messageOf(parse({{"TL_CACHE_CA_FILE", "/not/there"}})),
                       "`TL_CACHE_CA_FILE`: `/not/there` cannot be read"));
  EXPECT_TRUE(contains(messageOf(parse({{"TL_CACHE_KEY_FILE", "/not/there"}})),
                       "`TL_CACHE_KEY_FILE`: key file `/not/there` cannot"));
  EXPECT_EQ(messageOf(parse({{"TL_CACHE_REQUIRE_SIGNATURE", "1"}})),
            "`TL_CACHE_REQUIRE_SIGNATURE`: needs the key that signed, in "
            "`TL_CACHE_KEY_FILE`");
  EXPECT_TRUE(bool(parse({{"TL_CACHE_REQUIRE_SIGNATURE", "0"}})));
}

TEST(SharedTiersTest, EachHostHasATokenOfItsOwn) {
  std::string both = "https://a/x,https://b/y,https://a/z";
  EXPECT_TRUE(contains(messageOf(parse({{"TL_CACHE_REMOTE", both},
                                        {"TL_CACHE_TOKEN", "secret"}})),
                       "is one token for several hosts; write `host=token`"));
  SharedTiers tiers = cantFail(
      parse({{"TL_CACHE_REMOTE", both}, {"TL_CACHE_TOKEN", "a=one b=two=="}}));
  EXPECT_EQ(tiers.connectionTo(tiers.servers[0]).token, "one");
  EXPECT_EQ(tiers.connectionTo(tiers.servers[1]).token, "two==");
  EXPECT_EQ(tiers.connectionTo(tiers.servers[2]).token, "one");
}

TEST(SharedTiersTest, SecretsAreNotSentInTheOpen) {
  EXPECT_EQ(messageOf(parse({{"TL_CACHE_REMOTE", "https://a,http://a:81"},
                             {"TL_CACHE_TOKEN", "secret"}})),
            "`TL_CACHE_TOKEN`: would be readable on its way to `http://a:81`; "
            "use `https` or `rediss`, or allow it with "
            "`TL_CACHE_ALLOW_PLAINTEXT`");
  EXPECT_TRUE(contains(messageOf(parse({{"TL_CACHE_REMOTE", "redis://a"},
                                        {"TL_CACHE_PASSWORD", "secret"}})),
                       "`TL_CACHE_PASSWORD`: would be readable"));
  SharedTiers tiers = cantFail(parse({{"TL_CACHE_REMOTE", "http://a"},
                                      {"TL_CACHE_TOKEN", "secret"},
                                      {"TL_CACHE_ALLOW_PLAINTEXT", "1"}}));
  EXPECT_EQ(tiers.connectionTo(tiers.servers[0]).token, "secret");
}

TEST(SharedTiersTest, UnsignedEntriesAreAllowedByName) {
  EXPECT_TRUE(
      cantFail(parse({{"TL_CACHE_ALLOW_UNSIGNED", "1"}})).allowUnsigned);
  TemporaryDirectory directory;
  std::string path = directory.path("key");
  writeText(path, std::string(32, 'k'));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(contains(cantFail(parse({{"TL_CACHE_KEY_FILE", path},
                                       {"TL_CACHE_ALLOW_UNSIGNED", "1"}}))
                           .warning,
                       "are used although there is a key"));
  EXPECT_TRUE(contains(messageOf(parse({{"TL_CACHE_KEY_FILE", path},
                                        {"TL_CACHE_ALLOW_UNSIGNED", "1"},
                                        {"TL_CACHE_REQUIRE_SIGNATURE", "1"}})),
                       "contradicts `TL_CACHE_REQUIRE_SIGNATURE`"));
}

TEST(SharedTiersTest, AKeyIsRead) {
  TemporaryDirectory directory;
  std::string path = directory.path("key");
  writeText(path, std::string(32, 'k'));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  SharedTiers tiers = cantFail(parse(
      {{"TL_CACHE_KEY_FILE", path}, {"TL_CACHE_REQUIRE_SIGNATURE", "1"}}));
  ASSERT_NE(tiers.key, nullptr);
  EXPECT_FALSE(tiers.allowUnsigned);
}

//===----------------------------------------------------------------------===//
// Bounds of the directory
//===----------------------------------------------------------------------===//

static DirectoryOptions optionsOf(const Values &values) {
  return cantFail(parse<DirectoryOptions>(values));
}

TEST(DirectoryOptionsTest, AreReadFromVariables) {
  DirectoryOptions options =
      optionsOf({{"TL_CACHE_MAX_BYTES", "1000"}, {"TL_CACHE_MAX_AGE", "3600"}});
  EXPECT_EQ(options.limits.maxBytes, 1000u);
  EXPECT_EQ(options.limits.maxAge, std::chrono::hours(1));
  EXPECT_EQ(optionsOf({{"TL_CACHE_MAX_BYTES", "1.5MiB"}}).limits.maxBytes,
            1536u << 10);
  EXPECT_FALSE(options.allowGroupWritable);
  EXPECT_TRUE(optionsOf({{"TL_CACHE_ALLOW_GROUP", "1"}}).allowGroupWritable);
  for (const char *off : {"0", "false", "No", " off "})
    EXPECT_FALSE(optionsOf({{"TL_CACHE_ALLOW_GROUP", off}}).allowGroupWritable)
        << off;
}

TEST(DirectoryOptionsTest, WithoutVariablesTheyAreTheDefaults) {
  for (const Values &values :
       {Values(), Values{{"TL_CACHE_MAX_BYTES", ""},
                         {"TL_CACHE_MAX_AGE", ""},
                         {"TL_CACHE_ALLOW_GROUP", ""}}}) {
    DirectoryOptions options = optionsOf(values);
    EXPECT_EQ(options.limits.maxBytes, uint64_t(4) << 30);
    EXPECT_EQ(options.limits.maxAge, std::nullopt);
    EXPECT_FALSE(options.allowGroupWritable);
  }
}

TEST(DirectoryOptionsTest, TheVariableThatIsWrongIsNamed) {
  for (StringRef text : {"many", "-1", "0", "4Gi"})
    EXPECT_EQ(messageOf(parse<DirectoryOptions>(
                  {{"TL_CACHE_MAX_BYTES", text.str()}})),
              "`TL_CACHE_MAX_BYTES`: `" + text.str() +
                  "` is not a number of bytes such as `4GiB`");
  EXPECT_EQ(messageOf(parse<DirectoryOptions>({{"TL_CACHE_MAX_AGE", "a day"}})),
            "`TL_CACHE_MAX_AGE`: `a day` is not a number of seconds");
}
