//===- RemoteTest.cpp - Shared tiers on servers ---------------------------===//
//
// The protocols, with nginx and Redis as Debian packages them, and with a
// server that does everything wrong.
//
//===----------------------------------------------------------------------===//

#include "Servers.h"
#include "tl/Cache/Cache.h"
#include "tl/Cache/SharedRecord.h"
#include "tl/Cache/SharedStore.h"

#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;

namespace {

using Environment = std::map<std::string, std::string>;

/// A machine with an empty directory, set up by variables.
class Machine {
public:
  /// `patience` bounds each request.
  explicit Machine(Environment variables,
                   std::chrono::milliseconds patience = 30s) {
    CacheOptions options;
    options.directory = directory.path();
    options.shared = cantFail(
        SharedTiers::parse([&](StringRef name) -> std::optional<std::string> {
          // These servers are on this machine.
          if (name == "TL_CACHE_ALLOW_PLAINTEXT")
            return "1";
          auto found = variables.find(name.str());
          if (found == variables.end())
            return std::nullopt;
          return found->second;
        }));
    options.shared.connection.connectAtMost = patience;
    options.shared.connection.stallAtMost = patience;
    options.shared.connection.requestAtMost = patience;
    options.warn = [this](StringRef message) {
      std::lock_guard<std::mutex> guard(mutex);
      warnings.push_back(message.str());
    };
    cache.emplace(std::move(options));
  }

  /// Fetches the artifact of `name`, and says where it came from.
  Origin fetch(StringRef name) {
    Fetched fetched = cantFail(cache->withKey(
        makeKey(name), [&]() -> Expected<Entry> { return makeEntry(name); }));
    EXPECT_TRUE(isEntry(*fetched.entry, name));
    return fetched.origin;
  }

  /// The same; what was made is on the server when this returns.
  Origin fetchAndUpload(StringRef name) {
    Origin origin = fetch(name);
    EXPECT_TRUE(cache->finish(20s));
    return origin;
  }

  /// Completes the uploads; false if some were given up.
  bool finish(std::chrono::milliseconds atMost) {
    return cache->finish(atMost);
  }

  const StoreStats &shared() const { return cache->tiers().back()->stats(); }

  std::vector<std::string> heard() {
    std::lock_guard<std::mutex> guard(mutex);
    return warnings;
  }

private:
  TemporaryDirectory directory;
  std::mutex mutex;
  std::vector<std::string> warnings;
  std::optional<Cache> cache;
};

/// Skips a test where a server, or what makes its certificate, is not there.
#define REQUIRE_SERVER(name)                                                   \
  for (StringRef program : {name, "openssl"})                                  \
    if (findServer(program).empty())                                           \
  GTEST_SKIP() << program.str() << " is not installed; scripts/setup.sh does it"

/// What all servers have to do: keep an entry for another machine.
void expectShared(const Environment &writer, const Environment &reader) {
  Machine first(writer);
  EXPECT_EQ(first.fetchAndUpload("k"), Origin::Made);
  EXPECT_EQ(first.shared().inserted.get(), 1u);
  Machine second(reader);
  EXPECT_EQ(second.fetch("k"), Origin::Stored);
  EXPECT_EQ(second.fetchAndUpload("absent"), Origin::Made);
  EXPECT_EQ(first.heard(), std::vector<std::string>());
  EXPECT_EQ(second.heard(), std::vector<std::string>());
}

/// What they do to who may not use them: one warning, and work goes on.
void expectRefused(const Environment &variables, StringRef reason) {
  Machine machine(variables);
  for (StringRef name : {"a", "b", "c", "d", "e"})
    EXPECT_EQ(machine.fetchAndUpload(name), Origin::Made);
  std::vector<std::string> heard = machine.heard();
  ASSERT_EQ(heard.size(), 1u) << heard.back();
  EXPECT_TRUE(contains(heard[0], reason)) << heard[0];
  EXPECT_FALSE(contains(heard[0], "swordfish"));
  EXPECT_EQ(machine.shared().inserted.get(), 0u);
}

} // namespace

//===----------------------------------------------------------------------===//
// nginx
//===----------------------------------------------------------------------===//

TEST(NginxTest, SharesAnEntry) {
  REQUIRE_SERVER("nginx");
  Certificate certificate;
  Nginx nginx(certificate);
  Environment writer = {{"TL_CACHE_REMOTE", nginx.plainURL()},
                        {"TL_CACHE_USER", "writer"},
                        {"TL_CACHE_PASSWORD", "secret"}};
  expectShared(writer, {{"TL_CACHE_REMOTE", nginx.plainURL() + "?mode=ro"}});
  // A person can look at it.
  EXPECT_TRUE(contains(readText(nginx.file("ac/" + makeKey("k").hex())),
                       "\"made_for\": \"k\""));

  // A record that the server's disk changed.
  writeText(nginx.file("ac/" + makeKey("k").hex()), "tl-cache-record 1\n!");
  Machine machine(writer);
  EXPECT_EQ(machine.fetchAndUpload("k"), Origin::Made);
  ASSERT_EQ(machine.heard().size(), 1u);
  EXPECT_EQ(Machine(writer).fetch("k"), Origin::Stored);
}

TEST(NginxTest, SharesAnEntryOverTLS) {
  REQUIRE_SERVER("nginx");
  Certificate certificate;
  Nginx nginx(certificate);
  Environment variables = {{"TL_CACHE_REMOTE", nginx.encryptedURL()},
                           {"TL_CACHE_CA_FILE", certificate.file()},
                           {"TL_CACHE_TOKEN", "change-me"}};
  expectShared(variables, variables);
}

/// Contents of several megabytes, which do not fit into one packet or buffer.
TEST(NginxTest, SharesLargeFiles) {
  REQUIRE_SERVER("nginx");
  Certificate certificate;
  Nginx nginx(certificate);
  Environment variables = {{"TL_CACHE_REMOTE", nginx.encryptedURL()},
                           {"TL_CACHE_CA_FILE", certificate.file()},
                           {"TL_CACHE_TOKEN", "change-me"}};
  std::string name(5 << 20, 'x');
  EXPECT_EQ(Machine(variables).fetchAndUpload(name), Origin::Made);
  EXPECT_EQ(Machine(variables).fetch(name), Origin::Stored);
}

TEST(NginxTest, WrongCredentialsAreOneWarning) {
  REQUIRE_SERVER("nginx");
  Certificate certificate;
  Nginx nginx(certificate);
  StringRef reason = "refuses these credentials (HTTP 401); check "
                     "`TL_CACHE_TOKEN`";
  expectRefused({{"TL_CACHE_REMOTE", nginx.encryptedURL()},
                 {"TL_CACHE_CA_FILE", certificate.file()},
                 {"TL_CACHE_TOKEN", "swordfish"}},
                reason);
  // Here reading is free, and only uploads are refused.
  expectRefused({{"TL_CACHE_REMOTE", nginx.plainURL()},
                 {"TL_CACHE_USER", "writer"},
                 {"TL_CACHE_PASSWORD", "swordfish"}},
                reason);
}

TEST(NginxTest, AnUnknownCertificateIsRefused) {
  REQUIRE_SERVER("nginx");
  Certificate certificate, other;
  Nginx nginx(certificate);
  for (const std::string &file : {std::string(), other.file()})
    expectRefused({{"TL_CACHE_REMOTE", nginx.encryptedURL()},
                   {"TL_CACHE_CA_FILE", file},
                   {"TL_CACHE_TOKEN", "change-me"}},
                  "cannot be reached: SSL peer certificate");
}

//===----------------------------------------------------------------------===//
// Redis
//===----------------------------------------------------------------------===//

TEST(RedisTest, SharesAnEntry) {
  REQUIRE_SERVER("redis-server");
  Certificate certificate;
  Redis redis(certificate);
  Environment variables = {{"TL_CACHE_REMOTE", redis.plainURL() + "/1?ttl=100"},
                           {"TL_CACHE_USER", "writer"},
                           {"TL_CACHE_PASSWORD", "change-me"}};
  expectShared(variables, variables);
  // Another database holds another cache.
  variables["TL_CACHE_REMOTE"] = redis.plainURL();
  EXPECT_EQ(Machine(variables).fetchAndUpload("k"), Origin::Made);
}

TEST(RedisTest, SharesAnEntryOverTLS) {
  REQUIRE_SERVER("redis-server");
  Certificate certificate;
  Redis redis(certificate);
  expectShared({{"TL_CACHE_REMOTE", redis.encryptedURL()},
                {"TL_CACHE_CA_FILE", certificate.file()},
                {"TL_CACHE_USER", "writer"},
                {"TL_CACHE_PASSWORD", "change-me"}},
               {{"TL_CACHE_REMOTE", redis.encryptedURL() + "?mode=ro"},
                {"TL_CACHE_CA_FILE", certificate.file()},
                {"TL_CACHE_USER", "reader"},
                {"TL_CACHE_PASSWORD", "read-me"}});
}

TEST(RedisTest, SharesLargeFiles) {
  REQUIRE_SERVER("redis-server");
  Certificate certificate;
  Redis redis(certificate);
  Environment variables = {{"TL_CACHE_REMOTE", redis.encryptedURL()},
                           {"TL_CACHE_CA_FILE", certificate.file()},
                           {"TL_CACHE_USER", "writer"},
                           {"TL_CACHE_PASSWORD", "change-me"}};
  std::string name(5 << 20, 'x');
  EXPECT_EQ(Machine(variables).fetchAndUpload(name), Origin::Made);
  EXPECT_EQ(Machine(variables).fetch(name), Origin::Stored);
}

/// What was stored with a time to live is gone after it.
TEST(RedisTest, EntriesExpire) {
  REQUIRE_SERVER("redis-server");
  Certificate certificate;
  Redis redis(certificate);
  Environment variables = {{"TL_CACHE_REMOTE", redis.plainURL() + "?ttl=1"},
                           {"TL_CACHE_USER", "writer"},
                           {"TL_CACHE_PASSWORD", "change-me"}};
  EXPECT_EQ(Machine(variables).fetchAndUpload("k"), Origin::Made);
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(Machine(variables).fetchAndUpload("k"), Origin::Made);
}

TEST(RedisTest, WrongCredentialsAreOneWarning) {
  REQUIRE_SERVER("redis-server");
  Certificate certificate;
  Redis redis(certificate);
  expectRefused({{"TL_CACHE_REMOTE", redis.plainURL()},
                 {"TL_CACHE_USER", "writer"},
                 {"TL_CACHE_PASSWORD", "swordfish"}},
                "refuses these credentials (WRONGPASS); check `TL_CACHE_USER`");
  expectRefused({{"TL_CACHE_REMOTE", redis.plainURL()}},
                "refuses these credentials (NOAUTH)");
  // Who may only read cannot write.
  expectRefused({{"TL_CACHE_REMOTE", redis.plainURL()},
                 {"TL_CACHE_USER", "reader"},
                 {"TL_CACHE_PASSWORD", "read-me"}},
                "refuses these credentials (NOPERM)");
}

TEST(RedisTest, AnUnknownCertificateIsRefused) {
  REQUIRE_SERVER("redis-server");
  Certificate certificate;
  Redis redis(certificate);
  expectRefused({{"TL_CACHE_REMOTE", redis.encryptedURL()},
                 {"TL_CACHE_USER", "writer"},
                 {"TL_CACHE_PASSWORD", "change-me"}},
                "cannot be reached: SSL peer certificate");
}

//===----------------------------------------------------------------------===//
// Servers that do not work
//===----------------------------------------------------------------------===//

static constexpr int numOutageFetches = 20;

/// Each kernel is right, the whole takes bounded time, one warning says what is
/// wrong, and the server is soon left alone.
static void expectOutage(const std::string &url, StringRef reason) {
  // Only who never answers is not waited for; the others have the time that a
  // busy machine takes to hear them.
  bool isSilent =
      StringRef("cannot be reached: Timeout was reached").starts_with(reason);
  Machine machine({{"TL_CACHE_REMOTE", url}}, isSilent ? 400ms : 8000ms);
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < numOutageFetches; ++i)
    EXPECT_EQ(machine.fetch(std::to_string(i)), Origin::Made);
  // Three requests of 0.4 or 8 seconds at most, and time for a slow machine.
  EXPECT_LT(std::chrono::steady_clock::now() - start, isSilent ? 10s : 30s)
      << url;
  std::vector<std::string> heard = machine.heard();
  ASSERT_GE(heard.size(), 1u) << url;
  EXPECT_TRUE(contains(heard[0], reason)) << heard[0];
  EXPECT_EQ(machine.shared().misses.get(), uint64_t(numOutageFetches));
  EXPECT_EQ(machine.shared().hits.get(), 0u);
}

static void expectOutage(StringRef scheme, RawServer::Behaviour behave,
                         StringRef reason) {
  RawServer server(std::move(behave));
  // Nothing is uploaded, so that all requests are for a record.
  expectOutage(
      (scheme + "://127.0.0.1:" + Twine(server.port()) + "?mode=ro").str(),
      reason);
  EXPECT_EQ(server.connections(), 3u) << reason.str();
}

/// Says nothing until the other side goes.
static void hang(int socket, const std::string &) {
  while (!receiveSome(socket).empty())
    ;
}

static RawServer::Behaviour say(std::string text) {
  return [text](int socket, const std::string &) { sendAll(socket, text); };
}

/// Sends a head, and bytes without end.
static RawServer::Behaviour flood(std::string head) {
  return [head](int socket, const std::string &) {
    std::string bytes(1 << 16, 'x');
    bool goesOn = sendAll(socket, head);
    while (goesOn)
      goesOn = sendAll(socket, bytes);
  };
}

/// Sends a byte now and then: never silent, never done.
static RawServer::Behaviour drip(std::string head) {
  return [head](int socket, const std::string &) {
    bool goesOn = sendAll(socket, head);
    while (goesOn) {
      std::this_thread::sleep_for(5ms);
      goesOn = sendAll(socket, "x");
    }
  };
}

TEST(FaultyServerTest, AClosedPort) {
  std::string port = std::to_string(freePort());
  for (StringRef scheme : {"http", "https", "redis", "rediss"})
    expectOutage(scheme.str() + "://127.0.0.1:" + port,
                 "cannot be reached: Couldn't connect to server (Connection "
                 "refused); work goes on without it");
}

TEST(FaultyServerTest, AHostThatIsNotThere) {
  expectOutage("http://no-such-host.invalid",
               "cannot be reached: Couldn't resolve host name");
}

TEST(FaultyServerTest, AServerThatHangs) {
  for (StringRef scheme : {"http", "https", "redis", "rediss"})
    expectOutage(scheme, hang, "cannot be reached: ");
}

TEST(FaultyServerTest, AServerThatSendsGarbage) {
  std::string garbage;
  for (int i = 0; i < 1000; ++i)
    garbage += char(i * 37 + 1);
  expectOutage("http", say(garbage), "cannot be reached: ");
  expectOutage("https", say(garbage), "cannot be reached: ");
  expectOutage("redis", say(garbage + "\r\n"),
               "does not speak Redis's protocol");
  expectOutage("rediss", say(garbage), "cannot be reached: ");
  expectOutage("http",
               say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
                   "Connection: close\r\n\r\nhuh?"),
               "is not a record of this format");
  expectOutage("redis", say("$4\r\nhuh?\r\n"),
               "is not a record of this format");
}

TEST(FaultyServerTest, AServerThatDropsTheConnection) {
  expectOutage("http", say(""), "cannot be reached: Server returned nothing");
  expectOutage("http",
               say("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nhalf"),
               "cannot be reached: Transferred a partial file");
  expectOutage("redis", say(""), "cannot be reached: ");
  expectOutage("redis", say("$999\r\nhalf"), "cannot be reached: ");
}

/// A length that is longer than the truth is a hanging server; one that is
/// shorter cuts the record.
TEST(FaultyServerTest, AServerThatLiesAboutALength) {
  expectOutage(
      "http",
      [](int socket, const std::string &) {
        sendAll(socket, "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n"
                        "\r\nhalf");
        hang(socket, "");
      },
      "cannot be reached: Timeout was reached");
  std::string record =
      SharedRecord::describe(makeKey("0"), makeEntry("0"), "tl").print();
  expectOutage("http",
               say("HTTP/1.1 200 OK\r\nContent-Length: 300\r\nConnection: "
                   "close\r\n\r\n" +
                   record),
               "does not match its seal");
  expectOutage("redis", say("$300\r\n" + record),
               "does not speak Redis's protocol");
  expectOutage("redis", say("$-7\r\n"), "does not speak Redis's protocol");
}

TEST(FaultyServerTest, AServerThatSendsTooMuch) {
  StringRef reason = "sends more bytes than it should have";
  expectOutage("http",
               flood("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n"),
               reason);
  expectOutage("http", flood("HTTP/1.1 200 OK\r\n\r\n"), reason);
  expectOutage("redis", flood("$999999999999\r\n"), reason);
  expectOutage("redis", flood("+"), "does not speak Redis's protocol");
}

TEST(FaultyServerTest, AServerThatNeverEnds) {
  expectOutage("http", drip("HTTP/1.1 200 OK\r\n\r\n"), "cannot be reached: ");
  expectOutage("redis", drip("$100000\r\n"), "cannot be reached: ");
}

TEST(FaultyServerTest, AServerThatFails) {
  auto answer = [](StringRef status, StringRef more = "") {
    return say(("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n" + more +
                "Connection: close\r\n\r\n")
                   .str());
  };
  expectOutage("http", answer("500 Oops"), "does not work (HTTP 500)");
  expectOutage("http", answer("503 Busy"), "does not work (HTTP 503)");
  expectOutage("redis", say("-ERR \x1b[31mred\r\n"),
               "refuses a command: ERR \\1B[31mred");
}

/// Nobody else gets our credentials, or our request.
TEST(FaultyServerTest, RedirectionsAreNotFollowed) {
  RawServer other(say(""));
  expectOutage("http",
               say("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:" +
                   std::to_string(other.port()) +
                   "/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
               "redirects to another place (HTTP 302)");
  EXPECT_EQ(other.connections(), 0u);
}

/// Answers with the record of each entry that is asked for, and behaves as told
/// when it is asked for a file.
static RawServer::Behaviour failAtFiles(StringRef scheme,
                                        RawServer::Behaviour behave) {
  bool isHTTP = scheme == "http";
  return [=](int socket, std::string request) {
    while (contains(request, isHTTP ? "/ac/" : "tl:ac:")) {
      std::string record;
      for (int i = 0; i < numOutageFetches; ++i)
        if (contains(request, makeKey(std::to_string(i)).hex()))
          record = SharedRecord::describe(makeKey(std::to_string(i)),
                                          makeEntry(std::to_string(i)), "tl")
                       .print();
      std::string size = std::to_string(record.size());
      sendAll(socket, isHTTP ? "HTTP/1.1 200 OK\r\nContent-Length: " + size +
                                   "\r\n\r\n" + record
                             : "$" + size + "\r\n" + record + "\r\n");
      request = receiveSome(socket);
    }
    if (!request.empty())
      behave(socket, request);
  };
}

/// The record is right, and then everything goes wrong. All files of the first
/// entries that are asked for are four bytes long.
TEST(FaultyServerTest, AServerThatFailsInTheMiddleOfAnEntry) {
  StringRef http = "HTTP/1.1 200 OK\r\nContent-Length: ";
  struct {
    StringRef scheme;
    RawServer::Behaviour behave;
    StringRef reason;
  } faults[] = {
      {"http", hang, "cannot be reached: Timeout was reached"},
      {"redis", hang, "cannot be reached: Timeout was reached"},
      {"http", say(""), "cannot be reached: "},
      {"redis", say(""), "cannot be reached: "},
      {"http", say(http.str() + "4\r\n\r\n0"),
       "cannot be reached: Transferred a partial file"},
      {"redis", say("$4\r\n0"), "cannot be reached: "},
      {"http", say(http.str() + "4\r\n\r\nhuh?"), "does not match its digest"},
      {"redis", say("$4\r\nhuh?\r\n"), "does not match its digest"},
      {"http", say(http.str() + "3\r\n\r\nhuh"), "does not match its digest"},
      {"redis", say("$3\r\nhuh\r\n"), "does not match its digest"},
      {"http", flood(http.str() + "999999999999\r\n\r\n"),
       "sends more bytes than it should have"},
      {"redis", flood("$999999999999\r\n"),
       "sends more bytes than it should have"},
      {"http", drip("HTTP/1.1 200 OK\r\n\r\n"), ""},
      {"http", say("\1\2\3"), "cannot be reached: "},
      {"redis", say("\1\2\3\r\n"), "does not speak Redis's protocol"},
  };
  for (auto &[scheme, behave, reason] : faults) {
    RawServer server(failAtFiles(scheme, behave));
    expectOutage(
        (scheme + "://127.0.0.1:" + Twine(server.port()) + "?mode=ro").str(),
        reason);
  }
}

/// Neither who compiles nor who ends waits for a server that takes nothing.
TEST(FaultyServerTest, UploadsThatHangAreNotWaitedFor) {
  RawServer server([](int socket, const std::string &request) {
    if (StringRef(request).starts_with("PUT"))
      return hang(socket, request);
    sendAll(socket, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                    "Connection: close\r\n\r\n");
  });
  Machine machine({{"TL_CACHE_REMOTE",
                    "http://127.0.0.1:" + std::to_string(server.port())}});
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(machine.fetch(std::to_string(i)), Origin::Made);
  EXPECT_FALSE(machine.finish(200ms));
  // A request alone would take 30 seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  EXPECT_EQ(machine.shared().inserted.get(), 0u);
  EXPECT_EQ(machine.shared().dropped.get(), 10u);
}

/// Uploads fail without being waited for, and with one warning.
TEST(FaultyServerTest, UploadsThatFailAreOneWarning) {
  RawServer server([](int socket, const std::string &) {
    sendAll(socket, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                    "Connection: close\r\n\r\n");
  });
  Machine machine({{"TL_CACHE_REMOTE",
                    "http://127.0.0.1:" + std::to_string(server.port())}});
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(machine.fetchAndUpload(std::to_string(i)), Origin::Made);
  EXPECT_EQ(machine.heard().size(), 1u);
  EXPECT_EQ(machine.shared().dropped.get(), 10u);
}
