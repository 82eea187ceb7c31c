//===- SharedTiers.cpp - Which servers share the cache --------------------===//
//
// What is written is taken at its word or refused: an option that is not known,
// or a password in a URL, which would end up in logs, is an error and not a
// tier that works otherwise than was meant.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/SharedTiers.h"

#include "Curl.h"
#include "RemoteTransports.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace tl::cache;

using Protocol = RemoteAddress::Protocol;

namespace {

/// What a scheme stands for.
struct Scheme {
  StringLiteral name;
  Protocol protocol;
  bool isEncrypted;
  uint16_t port;
};

} // namespace

static constexpr Scheme schemes[] = {
    {"http", Protocol::HTTP, false, 80},
    {"https", Protocol::HTTP, true, 443},
    {"redis", Protocol::Redis, false, 6379},
    {"rediss", Protocol::Redis, true, 6379},
};

static bool isHost(StringRef text) {
  if (text.consume_front("["))
    return text.consume_back("]") && !text.empty() && all_of(text, [](char c) {
             return isHexDigit(c) || c == ':' || c == '.';
           });
  return !text.empty() && all_of(text, [](char c) {
    return isAlnum(c) || c == '.' || c == '-' || c == '_';
  });
}

/// Reads `host`, `host:port`, `[address]` or `[address]:port`.
static Error readAuthority(StringRef text, RemoteAddress &address) {
  if (text.contains('@'))
    return createStringError("holds a user or a password; put them into "
                             "`TL_CACHE_USER` and `TL_CACHE_PASSWORD`");
  size_t colon = text.rfind(':');
  // The colons of an address in brackets are not that of a port.
  if (colon != StringRef::npos && !text.ends_with("]")) {
    if (text.drop_front(colon + 1).getAsInteger(10, address.port) ||
        address.port == 0)
      return createStringError("has no valid port");
    text = text.take_front(colon);
  }
  if (!isHost(text))
    return createStringError("has no valid host");
  address.host = text.str();
  return Error::success();
}

static Error readPath(StringRef text, RemoteAddress &address) {
  text = text.rtrim('/');
  if (address.protocol == Protocol::Redis) {
    text.consume_front("/");
    if (!text.empty() && text.getAsInteger(10, address.database))
      return createStringError("has a path that is not the number of a "
                               "database");
    return Error::success();
  }
  if (!all_of(text, [](char c) {
        return isPrint(c) && !isSpace(c) && c != '#' && c != '"' && c != '`';
      }))
    return createStringError("has a path that is not one of a URL");
  address.path = text.str();
  return Error::success();
}

static Error readOption(StringRef option, RemoteAddress &address) {
  auto [name, value] = option.split('=');
  if (name == "mode" && (value == "ro" || value == "rw")) {
    address.isReadOnly = value == "ro";
    return Error::success();
  }
  unsigned seconds;
  if (name == "ttl" && address.protocol == Protocol::Redis &&
      !value.getAsInteger(10, seconds) && seconds != 0) {
    address.timeToLive = std::chrono::seconds(seconds);
    return Error::success();
  }
  return createStringError("has an option `" + option +
                           "`; known are `mode=ro`, `mode=rw` and, for Redis, "
                           "`ttl=seconds`");
}

Expected<RemoteAddress> RemoteAddress::parse(StringRef url) {
  auto invalid = [&](const Twine &reason) {
    // Not what follows `@`'s left side: it could be a password.
    size_t at = url.rfind('@');
    std::string shown =
        at == StringRef::npos ? url.str() : "..." + url.drop_front(at).str();
    return createStringError("`" + shown + "` " + reason);
  };
  auto [schemeName, rest] = url.split("://");
  const Scheme *scheme =
      find_if(schemes, [&](const Scheme &s) { return s.name == schemeName; });
  if (scheme == std::end(schemes) || rest.empty())
    return invalid("is not a URL of `http`, `https`, `redis` or `rediss`");

  RemoteAddress address;
  address.protocol = scheme->protocol;
  address.isEncrypted = scheme->isEncrypted;
  address.port = scheme->port;
  auto [place, query] = rest.split('?');
  size_t slash = std::min(place.find('/'), place.size());
  if (Error error = readAuthority(place.take_front(slash), address))
    return invalid(toString(std::move(error)));
  if (Error error = readPath(place.drop_front(slash), address))
    return invalid(toString(std::move(error)));
  SmallVector<StringRef> options;
  query.split(options, '&', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef option : options)
    if (Error error = readOption(option, address))
      return invalid(toString(std::move(error)));
  return address;
}

std::string RemoteAddress::url() const {
  const Scheme *scheme = find_if(schemes, [&](const Scheme &s) {
    return s.protocol == protocol && s.isEncrypted == isEncrypted;
  });
  std::string result = (scheme->name + "://").str() + host;
  if (port != scheme->port)
    result += ":" + utostr(port);
  if (database)
    result += "/" + utostr(database);
  return result + path;
}

/// A variable that is not set is empty.
static std::string get(Variables variables, StringRef name) {
  return variables(name).value_or("");
}

static Error invalid(StringRef name, const Twine &reason) {
  return createStringError("`" + name + "`: " + reason);
}

static Error readServers(Variables variables,
                         std::vector<RemoteAddress> &servers) {
  std::string remotes = get(variables, "TL_CACHE_REMOTE");
  SmallVector<StringRef> urls;
  StringRef(remotes).split(urls, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef url : urls) {
    Expected<RemoteAddress> server = RemoteAddress::parse(url.trim());
    if (!server)
      return invalid("TL_CACHE_REMOTE", toString(server.takeError()));
    servers.push_back(std::move(*server));
  }
  return Error::success();
}

/// True if `servers` has one of this host.
static bool hasHost(ArrayRef<RemoteAddress> servers, StringRef host) {
  return any_of(servers, [&](const RemoteAddress &server) {
    return server.protocol == Protocol::HTTP && server.host == host;
  });
}

/// Reads the tokens: one if there is one host, else each with its host, so that
/// no server gets that of another.
static Error readTokens(Variables variables, SharedTiers &tiers) {
  constexpr StringLiteral name = "TL_CACHE_TOKEN";
  std::string value = get(variables, name);
  if (value.empty())
    return Error::success();
  std::map<std::string, std::string> named;
  SmallVector<StringRef> words;
  SplitString(value, words, " ");
  for (StringRef word : words) {
    auto [host, token] = word.split('=');
    if (hasHost(tiers.servers, host))
      named[host.str()] = token.str();
  }
  if (!words.empty() && named.size() == words.size()) {
    tiers.tokens = std::move(named);
    return Error::success();
  }
  for (const RemoteAddress &server : tiers.servers)
    if (server.protocol == Protocol::HTTP)
      tiers.tokens[server.host] = value;
  if (tiers.tokens.size() > 1)
    return invalid(name, "is one token for several hosts; write `host=token` "
                         "for each, separated by spaces");
  return Error::success();
}

/// Fails if a secret would be readable on its way.
static Error checkEncryption(Variables variables, const SharedTiers &tiers) {
  if (readFlag(variables, "TL_CACHE_ALLOW_PLAINTEXT"))
    return Error::success();
  for (const RemoteAddress &server : tiers.servers) {
    ConnectionOptions connection = tiers.connectionTo(server);
    bool hasSecret = !connection.token.empty() || !connection.password.empty();
    if (!server.isEncrypted && hasSecret)
      return invalid(connection.token.empty() ? "TL_CACHE_PASSWORD"
                                              : "TL_CACHE_TOKEN",
                     "would be readable on its way to `" + server.url() +
                         "`; use `https` or `rediss`, or allow it with "
                         "`TL_CACHE_ALLOW_PLAINTEXT`");
  }
  return Error::success();
}

static Error readConnection(Variables variables, SharedTiers &tiers) {
  ConnectionOptions &connection = tiers.connection;
  for (StringRef name :
       {"TL_CACHE_TOKEN", "TL_CACHE_USER", "TL_CACHE_PASSWORD"})
    // They are sent in lines.
    if (StringRef(get(variables, name)).find_first_of(StringRef("\r\n\0", 3)) !=
        StringRef::npos)
      return invalid(name, "holds a line break");
  connection.user = get(variables, "TL_CACHE_USER");
  connection.password = get(variables, "TL_CACHE_PASSWORD");
  connection.caFile = get(variables, "TL_CACHE_CA_FILE");
  if (!connection.caFile.empty())
    if (std::error_code error =
            sys::fs::access(connection.caFile, sys::fs::AccessMode::Exist))
      return invalid("TL_CACHE_CA_FILE",
                     "`" + connection.caFile +
                         "` cannot be read: " + error.message());
  if (Error error = readTokens(variables, tiers))
    return error;
  return checkEncryption(variables, tiers);
}

static Error readSigning(Variables variables, SharedTiers &tiers) {
  if (std::string path = get(variables, "TL_CACHE_KEY_FILE"); !path.empty()) {
    Expected<SigningKey> key = SigningKey::read(path);
    if (!key)
      return invalid("TL_CACHE_KEY_FILE", toString(key.takeError()));
    tiers.key = std::make_shared<const SigningKey>(std::move(*key));
  }
  bool isRequired = readFlag(variables, "TL_CACHE_REQUIRE_SIGNATURE");
  if (isRequired && !tiers.key)
    return invalid("TL_CACHE_REQUIRE_SIGNATURE",
                   "needs the key that signed, in `TL_CACHE_KEY_FILE`");
  tiers.allowUnsigned = readFlag(variables, "TL_CACHE_ALLOW_UNSIGNED");
  if (isRequired && tiers.allowUnsigned)
    return invalid("TL_CACHE_ALLOW_UNSIGNED",
                   "contradicts `TL_CACHE_REQUIRE_SIGNATURE`");
  if (tiers.key && tiers.allowUnsigned)
    tiers.warning = "`TL_CACHE_ALLOW_UNSIGNED`: entries without a signature "
                    "are used although there is a key; who can write a server "
                    "can run code on the GPU";
  return Error::success();
}

ConnectionOptions SharedTiers::connectionTo(const RemoteAddress &server) const {
  ConnectionOptions result = connection;
  auto token = tokens.find(server.host);
  if (server.protocol == Protocol::HTTP && token != tokens.end())
    result.token = token->second;
  return result;
}

Expected<SharedTiers> SharedTiers::parse(Variables variables) {
  SharedTiers tiers;
  if (Error error = readServers(variables, tiers.servers))
    return error;
  if (Error error = readConnection(variables, tiers))
    return error;
  if (Error error = readSigning(variables, tiers))
    return error;
  return tiers;
}

std::unique_ptr<BlobTransport>
tl::cache::openTransport(const RemoteAddress &server,
                         const ConnectionOptions &connection) {
  // Without the library every request says so.
  if (Expected<const CurlLibrary *> library = CurlLibrary::get(); !library)
    consumeError(library.takeError());
  return server.protocol == Protocol::HTTP ? openHTTP(server, connection)
                                           : openRedis(server, connection);
}
