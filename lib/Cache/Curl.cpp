//===- Curl.cpp - Connections made by libcurl -----------------------------===//
//
// libcurl's own handling of signals is turned off, because it changes the whole
// process. What remains is that writing to a connection that was closed, which
// some TLS libraries do with `write`, raises SIGPIPE: it is blocked for the
// thread around every call that may write.
//
//===----------------------------------------------------------------------===//

#include "Curl.h"

#include "tl/Cache/Budget.h"
#include "tl/Support/PerProcess.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

using namespace llvm;
using namespace tl::cache;

namespace {

/// While it lives, this thread gets no SIGPIPE.
class PipeSignalBlocker {
public:
  PipeSignalBlocker() {
    sigset_t pending;
    sigpending(&pending);
    wasPending = sigismember(&pending, SIGPIPE);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
  }
  ~PipeSignalBlocker() {
    // One that was waiting already is not ours to take.
    struct timespec now = {};
    if (!wasPending)
      (void)sigtimedwait(&pipe, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  bool wasPending;
  sigset_t pipe;
  sigset_t before;
};

} // namespace

/// Opens the library; what it has not is null.
static CurlLibrary open(std::string &error) {
  CurlLibrary library = {};
  // The second is Debian's, which its own tools are linked with.
  void *handle = nullptr;
  for (const char *name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (!handle)
      handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    error = "needs libcurl, which is not there; install the package `libcurl4` "
            "(Debian, Ubuntu) or `libcurl` (Fedora, Alpine)";
    return library;
  }
  auto find = [&](auto &function, const char *name) {
    function =
        reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function)
      error =
          "needs a newer libcurl: this one has no `" + std::string(name) + "`";
  };
  find(library.globalInit, "curl_global_init");
  find(library.easyInit, "curl_easy_init");
  find(library.easyCleanup, "curl_easy_cleanup");
  find(library.easyReset, "curl_easy_reset");
  find(library.easySetOption, "curl_easy_setopt");
  find(library.easyGetInfo, "curl_easy_getinfo");
  find(library.easyPerform, "curl_easy_perform");
  find(library.easyErrorText, "curl_easy_strerror");
  find(library.easySend, "curl_easy_send");
  find(library.easyReceive, "curl_easy_recv");
  find(library.listAppend, "curl_slist_append");
  find(library.listFree, "curl_slist_free_all");
  if (error.empty() && library.globalInit(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    error = "needs libcurl, which cannot be initialised";
  return library;
}

Expected<const CurlLibrary *> CurlLibrary::get() {
  struct Opened {
    std::string error;
    CurlLibrary library = ::open(error);
  };
  static tl::PerProcess<Opened> processes;
  const Opened &opened = processes.get();
  if (!opened.error.empty())
    return createStringError(opened.error);
  return &opened.library;
}

Expected<std::unique_ptr<CurlHandle>> CurlHandle::open() {
  Expected<const CurlLibrary *> library = CurlLibrary::get();
  if (!library)
    return library.takeError();
  CURL *handle = (*library)->easyInit();
  if (!handle)
    return createStringError("libcurl has no memory");
  return std::unique_ptr<CurlHandle>(new CurlHandle(**library, handle));
}

CurlHandle::~CurlHandle() {
  PipeSignalBlocker blocker;
  library.easyCleanup(handle);
  library.listFree(headerList);
}

/// Called by libcurl at least once a second.
static int stopIfCancelled(void *isCancelled, curl_off_t, curl_off_t,
                           curl_off_t, curl_off_t) {
  return *static_cast<const std::atomic<bool> *>(isCancelled);
}

void CurlHandle::reset(const ConnectionOptions &options,
                       const std::atomic<bool> &isCancelled) {
  library.easyReset(handle);
  setHeaders({});
  detail[0] = '\0';
  set(CURLOPT_ERRORBUFFER, detail);
  set(CURLOPT_NOSIGNAL, 1);
  set(CURLOPT_NOPROGRESS, 0);
  set(CURLOPT_XFERINFOFUNCTION, stopIfCancelled);
  set(CURLOPT_XFERINFODATA, &isCancelled);
  // Of a lookup, no more than is left of what all its requests may take; zero
  // would be for ever.
  std::chrono::milliseconds atMost = options.requestAtMost;
  if (const Budget *budget = Budget::current())
    atMost = std::clamp(budget->timeLeft(), std::chrono::milliseconds(1),
                        options.requestAtMost);
  set(CURLOPT_CONNECTTIMEOUT_MS,
      std::min(atMost, options.connectAtMost).count());
  set(CURLOPT_TIMEOUT_MS, atMost.count());
  // Else the end of a thread that looks up a name is waited for, however long
  // name servers are silent. Before libcurl 7.87 there was no such option.
  set(CURLOPT_QUICK_EXIT, 1);
  // Less than this many bytes a second are none.
  set(CURLOPT_LOW_SPEED_LIMIT, 100);
  set(CURLOPT_LOW_SPEED_TIME,
      std::chrono::ceil<std::chrono::seconds>(options.stallAtMost).count());
  if (!options.caFile.empty())
    set(CURLOPT_CAINFO, options.caFile.c_str());
}

void CurlHandle::setHeaders(ArrayRef<const char *> headers) {
  set(CURLOPT_HTTPHEADER, static_cast<curl_slist *>(nullptr));
  library.listFree(headerList);
  headerList = nullptr;
  for (const char *header : headers)
    headerList = library.listAppend(headerList, header);
  set(CURLOPT_HTTPHEADER, headerList);
}

/// True if libcurl's details are about a certificate: worth reading, and the
/// same each time. Others hold times and counts.
static bool isAboutEncryption(CURLcode code) {
  return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SSL_CERTPROBLEM ||
         code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CACERT_BADFILE;
}

Error CurlHandle::failure(CURLcode code) const {
  std::string text = library.easyErrorText(code);
  long error = 0;
  library.easyGetInfo(handle, CURLINFO_OS_ERRNO, &error);
  if (isAboutEncryption(code) && detail[0])
    text += std::string(" (") + detail + ")";
  else if (code == CURLE_COULDNT_CONNECT && error)
    text += " (" + std::generic_category().message(error) + ")";
  return createStringError("cannot be reached: " + text);
}

Error CurlHandle::perform() {
  PipeSignalBlocker blocker;
  CURLcode code = library.easyPerform(handle);
  return code == CURLE_OK ? Error::success() : failure(code);
}

long CurlHandle::httpStatus() const {
  long status = 0;
  library.easyGetInfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

curl_socket_t CurlHandle::socket() const {
  curl_socket_t result = CURL_SOCKET_BAD;
  library.easyGetInfo(handle, CURLINFO_ACTIVESOCKET, &result);
  return result;
}

Expected<size_t> CurlHandle::send(StringRef bytes) {
  PipeSignalBlocker blocker;
  size_t count = 0;
  CURLcode code = library.easySend(handle, bytes.data(), bytes.size(), &count);
  if (code != CURLE_OK && code != CURLE_AGAIN)
    return failure(code);
  return count;
}

Expected<size_t> CurlHandle::receive(MutableArrayRef<char> buffer) {
  PipeSignalBlocker blocker;
  size_t count = 0;
  CURLcode code =
      library.easyReceive(handle, buffer.data(), buffer.size(), &count);
  if (code == CURLE_AGAIN)
    return size_t(0);
  // An orderly end is a success without a byte.
  if (code == CURLE_OK && count == 0)
    code = CURLE_GOT_NOTHING;
  if (code != CURLE_OK)
    return failure(code);
  return count;
}
