//===- Store.cpp - Where artifacts are kept -------------------------------===//
//
// What all tiers share: their errors, and warnings that are given once.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Store.h"

#include "tl/Support/ShowText.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl::cache;

char StoreError::ID = 0;

void StoreError::log(raw_ostream &os) const {
  os << "cache `" << place << "`: " << reason;
}

std::error_code StoreError::convertToErrorCode() const {
  return make_error_code(errc::io_error);
}

Expected<std::unique_ptr<KeyLock>>
ArtifactStore::lock(const Key &, std::chrono::milliseconds) {
  return std::unique_ptr<KeyLock>();
}

static void printWarning(StringRef message) {
  errs() << "warning: " << message << "\n";
}

Warnings::Warnings(WarningHandler handler)
    : handler(handler ? std::move(handler) : printWarning) {}

void Warnings::report(Error error) {
  // An error's text is its place and its reason; a server may have had a part
  // in either.
  std::string message = showText(toString(std::move(error)));
  {
    std::lock_guard<std::mutex> guard(mutex);
    if (!seen.insert(message).second)
      return;
  }
  handler(message);
}
