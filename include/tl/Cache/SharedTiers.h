//===- SharedTiers.h - Which servers share the cache -----------*- C++ -*-===//
//
// What a user says of shared tiers, in variables that the program reads for
// them (the library reads no environment):
//
//   TL_CACHE_REMOTE             servers, nearest first, separated by commas:
//                               `http://host/path`, `https://...`,
//                               `redis://host/database`, `rediss://...`; with
//                               `?mode=ro` only read, with `?ttl=seconds` have
//                               Redis forget what was stored so long ago
//   TL_CACHE_TOKEN              a bearer token for HTTP; if there are several
//                               hosts, `host=token` for each, separated by
//                               spaces
//   TL_CACHE_USER,
//   TL_CACHE_PASSWORD           a user of HTTP or Redis, or a password of Redis
//   TL_CACHE_ALLOW_PLAINTEXT    not empty and not `0`: send these over
//   `http://`
//                               and `redis://` too
//   TL_CACHE_CA_FILE            certificates of whom to trust, instead of the
//                               system's
//   TL_CACHE_KEY_FILE           the secret that signs entries; those without a
//                               signature are then misses
//   TL_CACHE_ALLOW_UNSIGNED     not empty and not `0`: use device code of
//                               entries without a signature, with or without
//                               a key
//   TL_CACHE_REQUIRE_SIGNATURE  not empty and not `0`: it is an error if there
//                               is no key, or if unsigned entries are allowed
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_SHAREDTIERS_H
#define TL_CACHE_SHAREDTIERS_H

#include "tl/Cache/BlobTransport.h"
#include "tl/Cache/Signature.h"
#include "tl/Cache/Store.h"

#include <map>
#include <vector>

namespace tl::cache {

/// One server.
struct RemoteAddress {
  enum class Protocol { HTTP, Redis };

  Protocol protocol = Protocol::HTTP;
  bool isEncrypted = false;
  std::string host;
  uint16_t port = 0;
  /// HTTP: what precedes `/ac/...`; empty or with a slash in front alone.
  std::string path;
  /// Redis: the number of the database.
  unsigned database = 0;
  bool isReadOnly = false;
  /// Redis: how long an entry is kept after it was stored; for ever without.
  std::optional<std::chrono::seconds> timeToLive;

  static llvm::Expected<RemoteAddress> parse(llvm::StringRef url);

  /// What messages call the server; the URL without its options.
  std::string url() const;
};

/// How to reach servers. Secrets go to the servers that the user names, and
/// into no message, key or file.
struct ConnectionOptions {
  std::string token;
  std::string user;
  std::string password;
  std::string caFile;

  /// How long to wait for a connection, for the next byte, for all of them.
  std::chrono::milliseconds connectAtMost = std::chrono::seconds(2);
  std::chrono::milliseconds stallAtMost = std::chrono::seconds(5);
  std::chrono::milliseconds requestAtMost = std::chrono::seconds(30);
};

/// What all shared tiers of a process have in common, and which there are.
struct SharedTiers {
  std::vector<RemoteAddress> servers;
  /// What all connections have in common; the token is that of the server.
  ConnectionOptions connection;
  /// By host.
  std::map<std::string, std::string> tokens;
  std::shared_ptr<const SigningKey> key;
  bool allowUnsigned = false;
  /// What the user allows and had better know of; empty if there is nothing.
  std::string warning;

  /// How to reach one of the servers.
  ConnectionOptions connectionTo(const RemoteAddress &server) const;

  /// Reads the variables above. The error names the one that makes no sense.
  static llvm::Expected<SharedTiers> parse(Variables variables);
};

/// A transport to `server`, with libcurl loaded. It connects when it is first
/// used.
std::unique_ptr<BlobTransport>
openTransport(const RemoteAddress &server, const ConnectionOptions &connection);

} // namespace tl::cache

#endif // TL_CACHE_SHAREDTIERS_H
