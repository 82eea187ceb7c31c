//===- Servers.cpp - Servers to test shared tiers with --------------------===//
//
// Everything is below temporary directories and on ports that were free.
//
//===----------------------------------------------------------------------===//

#include "Servers.h"

#include "llvm/ADT/StringExtras.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache::test;
using namespace std::chrono_literals;

/// The address of a port of this machine.
static sockaddr_in addressOf(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// A socket that is bound to a free port.
static int bindFreePort(uint16_t &port) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = addressOf(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr *>(&address), size), 0);
  EXPECT_EQ(
      ::getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return socket;
}

uint16_t tl::cache::test::freePort() {
  uint16_t port;
  ::close(bindFreePort(port));
  return port;
}

static bool isListening(uint16_t port) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = addressOf(port);
  bool connects = ::connect(socket, reinterpret_cast<sockaddr *>(&address),
                            sizeof(address)) == 0;
  ::close(socket);
  return connects;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::string tl::cache::test::findServer(StringRef name) {
  if (ErrorOr<std::string> path = sys::findProgramByName(name))
    return *path;
  ErrorOr<std::string> path =
      sys::findProgramByName(name, {"/usr/sbin", "/usr/local/sbin"});
  return path ? *path : "";
}

Process::Process(StringRef program, ArrayRef<StringRef> arguments,
                 uint16_t port) {
  SmallVector<StringRef> line = {program};
  append_range(line, arguments);
  std::string error;
  process = sys::ExecuteNoWait(program, line, /*Env=*/std::nullopt,
                               {StringRef(""), StringRef(""), std::nullopt},
                               /*MemoryLimit=*/0, &error);
  EXPECT_TRUE(error.empty()) << error;
  for (int i = 0; i < 1000 && !isListening(port); ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(isListening(port)) << program.str() << " does not listen";
}

Process::~Process() {
  ::kill(process.Pid, SIGTERM);
  std::string error;
  (void)sys::Wait(process, /*SecondsToWait=*/10u, &error);
}

Certificate::Certificate() {
  EXPECT_FALSE(sys::fs::create_directories(directory.path("")));
  std::string openssl = findServer("openssl"), error;
  std::string key = folder() + "server.key", certificate = file();
  std::vector<StringRef> line = {
      openssl,    "req",
      "-x509",    "-nodes",
      "-newkey",  "ec",
      "-subj",    "/CN=tl",
      "-days",    "2",
      "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-addext",  "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-keyout",  key,
      "-out",     certificate};
  int status = sys::ExecuteAndWait(
      openssl, line, std::nullopt,
      {StringRef(""), StringRef(""), StringRef("")}, 0, 0, &error);
  EXPECT_EQ(status, 0) << error;
}

/// A configuration of the documentation, with some of its text replaced.
static std::string
adapt(StringRef example,
      ArrayRef<std::pair<StringRef, std::string>> replacements) {
  std::string text = readText(TL_SOURCE_DIR "/docs/examples/" + example.str());
  for (const auto &[from, to] : replacements) {
    EXPECT_TRUE(contains(text, from)) << from.str();
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

Nginx::Nginx(const Certificate &certificate)
    : plainPort(freePort()), encryptedPort(freePort()) {
  std::string root = directory.path("");
  std::string site =
      adapt("nginx.conf",
            {{"/etc/tl-cache/server", certificate.folder() + "server"},
             {"/etc/tl-cache/users", root + "users"},
             {"/srv/tl-cache/", root},
             {"listen 8080", "listen 127.0.0.1:" + utostr(plainPort)},
             {"listen 8443", "listen 127.0.0.1:" + utostr(encryptedPort)}});
  for (StringRef folder : {"data", "tmp"})
    EXPECT_FALSE(sys::fs::create_directories(root + folder));
  writeText(root + "users", "writer:{PLAIN}secret\n");
  writeText(root + "site.conf", site);
  // What a distribution's main file has, below our directory.
  std::string main = "daemon off;\nmaster_process off;\npid " + root +
                     "pid;\nerror_log " + root +
                     "error.log;\nevents {}\nhttp {\naccess_log off;\n";
  for (StringRef part : {"proxy", "fastcgi", "uwsgi", "scgi"})
    main += part.str() + "_temp_path " + root + "tmp;\n";
  writeText(root + "nginx.conf", main + "include " + root + "site.conf;\n}\n");
  std::string path = root + "nginx.conf", log = root + "error.log";
  process = std::make_unique<Process>(
      findServer("nginx"),
      ArrayRef<StringRef>{"-p", root, "-c", path, "-e", log}, encryptedPort);
}

std::string Nginx::plainURL() const {
  return "http://localhost:" + utostr(plainPort);
}

std::string Nginx::encryptedURL() const {
  return "https://localhost:" + utostr(encryptedPort);
}

Redis::Redis(const Certificate &certificate)
    : plainPort(freePort()), encryptedPort(freePort()) {
  std::string root = directory.path("");
  EXPECT_FALSE(sys::fs::create_directories(root));
  std::string path = root + "redis.conf";
  writeText(path, adapt("redis.conf",
                        {{"/etc/tl-cache/", certificate.folder()},
                         {"port 0\n", "port " + utostr(plainPort) + "\n"},
                         {"tls-port 6380", "tls-port " + utostr(encryptedPort)},
                         {"8gb", "64mb"}}) +
                      "\nbind 127.0.0.1\ndir " + root + "\n");
  process = std::make_unique<Process>(findServer("redis-server"),
                                      ArrayRef<StringRef>{path}, encryptedPort);
}

std::string Redis::plainURL() const {
  return "redis://localhost:" + utostr(plainPort);
}

std::string Redis::encryptedURL() const {
  return "rediss://localhost:" + utostr(encryptedPort);
}

//===----------------------------------------------------------------------===//
// The server that does everything wrong
//===----------------------------------------------------------------------===//

bool tl::cache::test::sendAll(int socket, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0)
      return false;
    bytes = bytes.drop_front(count);
  }
  return true;
}

std::string tl::cache::test::receiveSome(int socket) {
  std::string bytes(4096, '\0');
  ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
  bytes.resize(std::max<ssize_t>(count, 0));
  return bytes;
}

RawServer::RawServer(Behaviour behave) : behave(std::move(behave)) {
  listener = bindFreePort(number);
  EXPECT_EQ(::listen(listener, 16), 0);
  acceptor = std::thread([this] { accept(); });
}

RawServer::~RawServer() {
  isStopping = true;
  acceptor.join();
  for (std::thread &worker : workers)
    worker.join();
  ::close(listener);
}

void RawServer::accept() {
  while (!isStopping) {
    struct pollfd waiting = {listener, POLLIN, 0};
    if (::poll(&waiting, 1, 10) <= 0)
      continue;
    int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0)
      continue;
    ++count;
    workers.emplace_back([this, socket] {
      std::string request = receiveSome(socket);
      if (!request.empty())
        behave(socket, request);
      ::close(socket);
    });
  }
}
