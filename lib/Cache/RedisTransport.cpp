//===- RedisTransport.cpp - Bytes in a Redis server -----------------------===//
//
// GET, SET and EXISTS of `tl:ac:<key>` and `tl:cas:<sha256>`, in Redis's
// protocol (RESP2,
// https://redis.io/docs/latest/develop/reference/protocol-spec) over a
// connection that libcurl made. The protocol's own library, hiredis, has no TLS
// in Debian 12, gives no bound on the length of an answer or on the time of a
// whole request, and is a second library to look for at run time; of the
// protocol we need a page.
//
//===----------------------------------------------------------------------===//

#include "Curl.h"
#include "IdlePool.h"
#include "RemoteTransports.h"
#include "tl/Cache/Budget.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <poll.h>

using namespace llvm;
using namespace tl::cache;

namespace {

using Clock = std::chrono::steady_clock;

/// What a server answers to our commands.
struct Reply {
  /// `+`, `-`, `:` and `$` of the protocol; a bulk string may be absent.
  enum class Kind { Status, Error, Integer, Bulk, Absent };

  Kind kind;
  std::string text;
};

/// One connection, on which a command is followed by its reply.
class RedisConnection {
public:
  static Expected<std::unique_ptr<RedisConnection>>
  open(const RemoteAddress &server, const ConnectionOptions &options,
       const std::atomic<bool> &isCancelled);

  /// A reply that is longer than `maxBytes` is an error. After an error the
  /// connection is of no more use.
  Expected<Reply> command(ArrayRef<StringRef> words, uint64_t maxBytes);

  /// True if the last command failed before any of its reply came: the server
  /// may have closed the connection while it was idle.
  bool wasSilent() const { return !hasHeard; }

private:
  RedisConnection(const ConnectionOptions &options,
                  const std::atomic<bool> &isCancelled,
                  std::unique_ptr<CurlHandle> handle)
      : options(options), isCancelled(isCancelled), handle(std::move(handle)) {}

  Error greet(const RemoteAddress &server);
  Error waitFor(short event);
  Error send(StringRef bytes);
  Error receive();
  Expected<std::string> takeLine();
  Expected<std::string> takeBytes(uint64_t size);

  const ConnectionOptions &options;
  const std::atomic<bool> &isCancelled;
  std::unique_ptr<CurlHandle> handle;
  Clock::time_point deadline;
  bool hasHeard = false;
  /// Received, not yet taken.
  std::string buffer;
};

class RedisTransport final : public BlobTransport {
public:
  RedisTransport(const RemoteAddress &server, const ConnectionOptions &options)
      : server(server), options(options) {}

  Expected<std::optional<std::string>> get(const BlobName &name,
                                           uint64_t maxBytes) override;
  Expected<bool> has(const BlobName &name) override;
  Error put(const BlobName &name, StringRef bytes) override;

private:
  Expected<Reply> command(ArrayRef<StringRef> words, uint64_t maxBytes = 0);

  const RemoteAddress server;
  const ConnectionOptions options;
  IdlePool<RedisConnection> idle;
};

} // namespace

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

/// The error that a server's own words say. They are shown to people, so they
/// are cut and made harmless.
static Error refusal(StringRef words) {
  for (StringRef code : {"NOAUTH", "WRONGPASS", "NOPERM"})
    if (words.starts_with(code))
      return createStringError("refuses these credentials (" + code +
                               "); check `TL_CACHE_USER` and "
                               "`TL_CACHE_PASSWORD`");
  constexpr size_t maxShown = 120;
  std::string shown;
  raw_string_ostream os(shown);
  printEscapedString(words.take_front(maxShown), os);
  return createStringError("refuses a command: " + shown);
}

static Error nonsense() {
  return createStringError("does not speak Redis's protocol");
}

Expected<std::unique_ptr<RedisConnection>>
RedisConnection::open(const RemoteAddress &server,
                      const ConnectionOptions &options,
                      const std::atomic<bool> &isCancelled) {
  Expected<std::unique_ptr<CurlHandle>> handle = CurlHandle::open();
  if (!handle)
    return handle.takeError();
  // libcurl connects, with TLS for `https`, and leaves the rest to us.
  std::string url = (server.isEncrypted ? "https://" : "http://") +
                    server.host + ":" + std::to_string(server.port);
  (*handle)->reset(options, isCancelled);
  (*handle)->set(CURLOPT_URL, url.c_str());
  (*handle)->set(CURLOPT_CONNECT_ONLY, 1);
  (*handle)->set(CURLOPT_SSL_ENABLE_ALPN, 0);
  // A proxy for HTTP is none for Redis.
  (*handle)->set(CURLOPT_PROXY, "");
  if (Error error = (*handle)->perform())
    return error;
  std::unique_ptr<RedisConnection> connection(
      new RedisConnection(options, isCancelled, std::move(*handle)));
  if (Error error = connection->greet(server))
    return error;
  return connection;
}

/// Says who we are, and which database we mean.
Error RedisConnection::greet(const RemoteAddress &server) {
  auto order = [&](ArrayRef<StringRef> words) -> Error {
    Expected<Reply> reply = command(words, 0);
    if (!reply)
      return reply.takeError();
    if (reply->kind == Reply::Kind::Error)
      return refusal(reply->text);
    return Error::success();
  };
  SmallVector<StringRef> authenticate = {"AUTH"};
  if (!options.user.empty())
    authenticate.push_back(options.user);
  authenticate.push_back(options.password);
  if (!options.password.empty())
    if (Error error = order(authenticate))
      return error;
  if (server.database == 0)
    return Error::success();
  return order({"SELECT", utostr(server.database)});
}

/// Waits until the socket is ready, or the time is up.
Error RedisConnection::waitFor(short event) {
  // Short waits, because nothing wakes us when we are cancelled.
  constexpr std::chrono::milliseconds slice(100);
  Clock::time_point stalled =
      std::min(deadline, Clock::now() + options.stallAtMost);
  struct pollfd socket = {handle->socket(), event, 0};
  while (!isCancelled && Clock::now() < stalled)
    if (::poll(&socket, 1, slice.count()) > 0)
      return Error::success();
  return createStringError("cannot be reached: Timeout was reached");
}

Error RedisConnection::send(StringRef bytes) {
  while (!bytes.empty()) {
    Expected<size_t> count = handle->send(bytes);
    if (!count)
      return count.takeError();
    bytes = bytes.drop_front(*count);
    if (*count == 0)
      if (Error error = waitFor(POLLOUT))
        return error;
  }
  return Error::success();
}

/// Adds some bytes to the buffer.
Error RedisConnection::receive() {
  std::array<char, 16 << 10> bytes;
  while (true) {
    if (isCancelled || Clock::now() > deadline)
      return createStringError("cannot be reached: Timeout was reached");
    // Bytes may wait in the TLS library, where `poll` does not see them.
    Expected<size_t> count = handle->receive(bytes);
    if (!count)
      return count.takeError();
    if (*count) {
      hasHeard = true;
      buffer.append(bytes.data(), *count);
      return Error::success();
    }
    if (Error error = waitFor(POLLIN))
      return error;
  }
}

Expected<std::string> RedisConnection::takeBytes(uint64_t size) {
  while (buffer.size() < size)
    if (Error error = receive())
      return error;
  std::string bytes = buffer.substr(0, size);
  buffer.erase(0, size);
  return bytes;
}

/// Takes a line, without its end.
Expected<std::string> RedisConnection::takeLine() {
  constexpr size_t maxLength = 4096;
  constexpr StringLiteral end = "\r\n";
  size_t length;
  while ((length = StringRef(buffer).find(end)) == StringRef::npos) {
    if (buffer.size() > maxLength)
      return nonsense();
    if (Error error = receive())
      return error;
  }
  std::string line = buffer.substr(0, length);
  buffer.erase(0, length + end.size());
  return line;
}

Expected<Reply> RedisConnection::command(ArrayRef<StringRef> words,
                                         uint64_t maxBytes) {
  deadline = Clock::now() + options.requestAtMost;
  if (const Budget *budget = Budget::current())
    deadline = std::min(deadline, Clock::now() + budget->timeLeft());
  hasHeard = false;
  std::string text = "*" + utostr(words.size()) + "\r\n";
  for (StringRef word : words)
    text += ("$" + Twine(word.size()) + "\r\n" + word + "\r\n").str();
  if (Error error = send(text))
    return error;

  Expected<std::string> line = takeLine();
  if (!line)
    return line.takeError();
  StringRef rest = *line;
  if (rest.consume_front("+"))
    return Reply{Reply::Kind::Status, rest.str()};
  if (rest.consume_front("-"))
    return Reply{Reply::Kind::Error, rest.str()};
  if (rest.consume_front(":"))
    return Reply{Reply::Kind::Integer, rest.str()};
  if (rest == "$-1")
    return Reply{Reply::Kind::Absent, ""};
  uint64_t size;
  if (!rest.consume_front("$") || rest.getAsInteger(10, size))
    return nonsense();
  if (size > maxBytes)
    return createStringError("sends more bytes than it should have");
  Expected<std::string> bytes = takeBytes(size);
  if (!bytes)
    return bytes.takeError();
  Expected<std::string> end = takeBytes(2);
  if (!end)
    return end.takeError();
  if (*end != "\r\n")
    return nonsense();
  return Reply{Reply::Kind::Bulk, std::move(*bytes)};
}

//===----------------------------------------------------------------------===//
// The transport
//===----------------------------------------------------------------------===//

/// Runs a command on an idle connection, or on a new one.
Expected<Reply> RedisTransport::command(ArrayRef<StringRef> words,
                                        uint64_t maxBytes) {
  std::unique_ptr<RedisConnection> connection = idle.take();
  std::optional<Expected<Reply>> reply;
  if (connection) {
    reply.emplace(connection->command(words, maxBytes));
    if (!*reply && connection->wasSilent()) {
      consumeError(reply->takeError());
      reply.reset();
    }
  }
  if (!reply) {
    Expected<std::unique_ptr<RedisConnection>> opened =
        RedisConnection::open(server, options, isCancelled);
    if (!opened)
      return opened.takeError();
    connection = std::move(*opened);
    reply.emplace(connection->command(words, maxBytes));
  }
  if (!*reply)
    return std::move(*reply);
  idle.give(std::move(connection));
  if ((*reply)->kind == Reply::Kind::Error)
    return refusal((*reply)->text);
  return std::move(*reply);
}

static std::string keyOf(const BlobName &name) {
  return ("tl:" + name.space() + ":" + name.hex).str();
}

Expected<std::optional<std::string>> RedisTransport::get(const BlobName &name,
                                                         uint64_t maxBytes) {
  Expected<Reply> reply = command({"GET", keyOf(name)}, maxBytes);
  if (!reply)
    return reply.takeError();
  if (reply->kind == Reply::Kind::Absent)
    return std::nullopt;
  if (reply->kind != Reply::Kind::Bulk)
    return nonsense();
  return std::move(reply->text);
}

Expected<bool> RedisTransport::has(const BlobName &name) {
  Expected<Reply> reply = command({"EXISTS", keyOf(name)});
  if (!reply)
    return reply.takeError();
  if (reply->kind != Reply::Kind::Integer)
    return nonsense();
  return reply->text != "0";
}

Error RedisTransport::put(const BlobName &name, StringRef bytes) {
  std::string key = keyOf(name), seconds;
  SmallVector<StringRef> words = {"SET", key, bytes};
  if (server.timeToLive) {
    seconds = std::to_string(server.timeToLive->count());
    words.append({"EX", seconds});
  }
  Expected<Reply> reply = command(words);
  if (!reply)
    return reply.takeError();
  if (reply->kind != Reply::Kind::Status)
    return nonsense();
  return Error::success();
}

std::unique_ptr<BlobTransport>
tl::cache::openRedis(const RemoteAddress &server,
                     const ConnectionOptions &options) {
  return std::make_unique<RedisTransport>(server, options);
}
