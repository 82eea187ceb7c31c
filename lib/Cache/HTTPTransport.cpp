//===- HTTPTransport.cpp - Bytes on a web server --------------------------===//
//
// GET, PUT and HEAD of `<path>/ac/<key>` and `<path>/cas/<sha256>`: the layout
// of Bazel's HTTP caches, which a web server's plain directory has too.
//
// Redirections are not followed. Whoever can answer a request could otherwise
// send our credentials, or have us ask, elsewhere.
//
//===----------------------------------------------------------------------===//

#include "Curl.h"
#include "IdlePool.h"
#include "RemoteTransports.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace tl::cache;

namespace {

enum class Method { Get, Head, Put };

/// What comes back of an answer.
struct Answer {
  CurlHandle *transfer;
  uint64_t maxBytes;
  bool isTooLong = false;
  std::string bytes = "";
  /// The bytes of all lines before and after the contents.
  size_t headerBytes = 0;
};

class HTTPTransport final : public BlobTransport {
public:
  HTTPTransport(const RemoteAddress &server, const ConnectionOptions &options)
      : base(server.url()), options(options) {}

  Expected<std::optional<std::string>> get(const BlobName &name,
                                           uint64_t maxBytes) override;
  Expected<bool> has(const BlobName &name) override;
  Error put(const BlobName &name, StringRef bytes) override;

private:
  struct Result {
    long status;
    std::string bytes;
  };

  Expected<Result> request(Method method, const BlobName &name,
                           StringRef upload, uint64_t maxBytes);
  void authenticate(CurlHandle &transfer) const;

  const std::string base;
  const ConnectionOptions options;
  IdlePool<CurlHandle> idle;
};

} // namespace

/// Keeps what was received, of an answer that is a success.
static size_t receive(char *bytes, size_t, size_t count, void *data) {
  Answer &answer = *static_cast<Answer *>(data);
  if (answer.transfer->httpStatus() != 200)
    return count;
  // A shorter count than was given ends the transfer.
  answer.isTooLong = count > answer.maxBytes - answer.bytes.size();
  if (answer.isTooLong)
    return 0;
  answer.bytes.append(bytes, count);
  return count;
}

/// Nothing of a header is needed; libcurl keeps all of it, trailers included,
/// and some versions keep as much as comes.
static size_t receiveHeader(char *, size_t, size_t count, void *data) {
  constexpr size_t maxHeaderBytes = 256 << 10;
  Answer &answer = *static_cast<Answer *>(data);
  answer.headerBytes += count;
  answer.isTooLong |= answer.headerBytes > maxHeaderBytes;
  return answer.isTooLong ? 0 : count;
}

void HTTPTransport::authenticate(CurlHandle &transfer) const {
  if (!options.token.empty()) {
    transfer.set(CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    transfer.set(CURLOPT_XOAUTH2_BEARER, options.token.c_str());
  } else if (!options.user.empty()) {
    transfer.set(CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    transfer.set(CURLOPT_USERNAME, options.user.c_str());
    transfer.set(CURLOPT_PASSWORD, options.password.c_str());
  }
}

Expected<HTTPTransport::Result> HTTPTransport::request(Method method,
                                                       const BlobName &name,
                                                       StringRef upload,
                                                       uint64_t maxBytes) {
  std::unique_ptr<CurlHandle> transfer = idle.take();
  if (!transfer) {
    Expected<std::unique_ptr<CurlHandle>> opened = CurlHandle::open();
    if (!opened)
      return opened.takeError();
    transfer = std::move(*opened);
  }
  transfer->reset(options, isCancelled);
  std::string url = (base + "/" + name.space() + "/" + name.hex).str();
  transfer->set(CURLOPT_URL, url.c_str());
  authenticate(*transfer);
  Answer answer{.transfer = transfer.get(), .maxBytes = maxBytes};
  transfer->set(CURLOPT_WRITEFUNCTION, receive);
  transfer->set(CURLOPT_WRITEDATA, &answer);
  transfer->set(CURLOPT_HEADERFUNCTION, receiveHeader);
  transfer->set(CURLOPT_HEADERDATA, &answer);
  if (method == Method::Head)
    transfer->set(CURLOPT_NOBODY, 1);
  if (method == Method::Put) {
    transfer->set(CURLOPT_CUSTOMREQUEST, "PUT");
    transfer->set(CURLOPT_POSTFIELDSIZE_LARGE, upload.size());
    transfer->set(CURLOPT_POSTFIELDS, upload.data());
    // Without the second, libcurl waits a second for a server's permission.
    transfer->setHeaders({"Content-Type: application/octet-stream", "Expect:"});
  }
  Error error = transfer->perform();
  if (answer.isTooLong) {
    consumeError(std::move(error));
    return createStringError("sends more bytes than it should have");
  }
  if (error)
    return error;
  Result result{transfer->httpStatus(), std::move(answer.bytes)};
  idle.give(std::move(transfer));
  return result;
}

/// The error of an answer that is neither yes nor no.
static Error refusal(long status) {
  std::string code = " (HTTP " + std::to_string(status) + ")";
  if (status == 401 || status == 403)
    return createStringError("refuses these credentials" + code +
                             "; check `TL_CACHE_TOKEN`, or `TL_CACHE_USER` and "
                             "`TL_CACHE_PASSWORD`");
  if (status >= 300 && status < 400)
    return createStringError("redirects to another place" + code +
                             "; name that in `TL_CACHE_REMOTE`");
  if (status == 405)
    return createStringError("takes no uploads" + code +
                             "; add `?mode=ro` to its URL");
  if (status == 413)
    return createStringError("takes no uploads of this size" + code);
  return createStringError("does not work" + code);
}

static bool isAbsent(long status) { return status == 404 || status == 410; }

Expected<std::optional<std::string>> HTTPTransport::get(const BlobName &name,
                                                        uint64_t maxBytes) {
  Expected<Result> result = request(Method::Get, name, "", maxBytes);
  if (!result)
    return result.takeError();
  if (isAbsent(result->status))
    return std::nullopt;
  if (result->status != 200)
    return refusal(result->status);
  return std::move(result->bytes);
}

Expected<bool> HTTPTransport::has(const BlobName &name) {
  Expected<Result> result = request(Method::Head, name, "", 0);
  if (!result)
    return result.takeError();
  if (isAbsent(result->status))
    return false;
  if (result->status != 200)
    return refusal(result->status);
  return true;
}

Error HTTPTransport::put(const BlobName &name, StringRef bytes) {
  Expected<Result> result = request(Method::Put, name, bytes, 0);
  if (!result)
    return result.takeError();
  if (result->status < 200 || result->status > 299)
    return refusal(result->status);
  return Error::success();
}

std::unique_ptr<BlobTransport>
tl::cache::openHTTP(const RemoteAddress &server,
                    const ConnectionOptions &options) {
  return std::make_unique<HTTPTransport>(server, options);
}
