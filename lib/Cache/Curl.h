//===- Curl.h - Connections made by libcurl --------------------*- C++ -*-===//
//
// libcurl connects, encrypts and checks certificates for all shared tiers; for
// HTTP it also speaks the protocol. It is opened when first needed, so that a
// machine without it only lacks shared tiers.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_CURL_H
#define TL_LIB_CACHE_CURL_H

#include "tl/Cache/SharedTiers.h"

#include <curl/curl.h>

namespace tl::cache {

/// The functions of libcurl that are used.
struct CurlLibrary {
  decltype(&curl_global_init) globalInit;
  decltype(&curl_easy_init) easyInit;
  decltype(&curl_easy_cleanup) easyCleanup;
  decltype(&curl_easy_reset) easyReset;
  decltype(&curl_easy_setopt) easySetOption;
  decltype(&curl_easy_getinfo) easyGetInfo;
  decltype(&curl_easy_perform) easyPerform;
  decltype(&curl_easy_strerror) easyErrorText;
  decltype(&curl_easy_send) easySend;
  decltype(&curl_easy_recv) easyReceive;
  decltype(&curl_slist_append) listAppend;
  decltype(&curl_slist_free_all) listFree;

  /// The library, or an error that names the package that has it.
  static llvm::Expected<const CurlLibrary *> get();
};

/// A transfer, and the connections that it keeps. Used by one thread at a time.
class CurlHandle {
public:
  static llvm::Expected<std::unique_ptr<CurlHandle>> open();
  ~CurlHandle();

  /// Forgets all options and sets those that all transfers have. A transfer
  /// ends soon when `isCancelled` becomes true.
  void reset(const ConnectionOptions &options,
             const std::atomic<bool> &isCancelled);

  template <typename T>
  void set(CURLoption option, T value) {
    if constexpr (std::is_integral_v<T>)
      library.easySetOption(handle, option, long(value));
    else
      library.easySetOption(handle, option, value);
  }

  /// The lines of a request's head that libcurl does not make itself.
  void setHeaders(llvm::ArrayRef<const char *> headers);

  /// Performs the transfer. The error is in words that do not change from one
  /// request to the next.
  llvm::Error perform();

  /// The status of the answer; 0 before there is one.
  long httpStatus() const;

  /// What is left of a connection that was only made: its socket, to wait for,
  /// and how to send and receive, which may move no byte.
  curl_socket_t socket() const;
  llvm::Expected<size_t> send(llvm::StringRef bytes);
  llvm::Expected<size_t> receive(llvm::MutableArrayRef<char> buffer);

private:
  CurlHandle(const CurlLibrary &library, CURL *handle)
      : library(library), handle(handle) {}

  llvm::Error failure(CURLcode code) const;

  const CurlLibrary &library;
  CURL *handle;
  curl_slist *headerList = nullptr;
  char detail[CURL_ERROR_SIZE] = {};
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_CURL_H
