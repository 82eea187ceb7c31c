//===- Servers.h - Servers to test shared tiers with -----------*- C++ -*-===//
//
// Real ones, started with the configurations that the documentation shows, and
// one that does everything wrong.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_CACHE_SERVERS_H
#define TL_TEST_UNIT_CACHE_SERVERS_H

#include "TestSupport.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Program.h"

#include <atomic>
#include <functional>
#include <thread>

namespace tl::cache::test {

/// A port of this machine that nobody listens at.
uint16_t freePort();

/// A program that runs while this lives.
class Process {
public:
  /// Starts `program`, and returns when somebody listens at `port`.
  Process(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
          uint16_t port);
  ~Process();

private:
  llvm::sys::ProcessInfo process;
};

/// Where a program is, or empty; servers are where only the superuser looks.
std::string findServer(llvm::StringRef name);

/// A directory with a certificate of `localhost` that vouches for itself:
/// `server.pem` and `server.key`.
class Certificate {
public:
  Certificate();
  std::string file() const { return directory.path("server.pem"); }
  std::string folder() const { return directory.path(""); }

private:
  TemporaryDirectory directory;
};

/// nginx with docs/examples/nginx.conf, where the password of `writer` is
/// "secret".
class Nginx {
public:
  explicit Nginx(const Certificate &certificate);

  std::string plainURL() const;
  std::string encryptedURL() const;

  /// The file that holds `path` of a URL.
  std::string file(llvm::StringRef path) const {
    return directory.path("data/") + path.str();
  }

private:
  TemporaryDirectory directory;
  uint16_t plainPort, encryptedPort;
  std::unique_ptr<Process> process;
};

/// Redis with docs/examples/redis.conf, and a port that is not encrypted.
class Redis {
public:
  explicit Redis(const Certificate &certificate);

  std::string plainURL() const;
  std::string encryptedURL() const;

private:
  TemporaryDirectory directory;
  uint16_t plainPort, encryptedPort;
  std::unique_ptr<Process> process;
};

/// A server of this process. For each connection it waits for the beginning of
/// a request and then does as it is told with it and the socket.
class RawServer {
public:
  using Behaviour = std::function<void(int socket, const std::string &request)>;

  explicit RawServer(Behaviour behave);
  ~RawServer();

  uint16_t port() const { return number; }
  unsigned connections() const { return count; }

private:
  void accept();

  Behaviour behave;
  int listener;
  uint16_t number;
  std::atomic<bool> isStopping = false;
  std::atomic<unsigned> count = 0;
  std::vector<std::thread> workers;
  std::thread acceptor;
};

/// Sends what it can of `bytes`; false if the other side has gone.
bool sendAll(int socket, llvm::StringRef bytes);

/// Receives what comes first; empty if the other side has gone.
std::string receiveSome(int socket);

} // namespace tl::cache::test

#endif // TL_TEST_UNIT_CACHE_SERVERS_H
