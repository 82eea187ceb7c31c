//===- Support.cpp - What every part of the C API needs -------------------===//
//
// Strings cross the C API in memory of `malloc`, whoever made them, so that one
// function frees them all.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Support.h"

#include "tl/Support/BoundedJSON.h"
#include "tl/Support/ByteCount.h"
#include "tl/Support/ShowText.h"
#include "tl/Support/StoredArchive.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;

void tlFree(void *pointer) { std::free(pointer); }

/// A copy for the caller to free, of all bytes but zeros.
static char *giveText(const std::string &text) { return strdup(text.c_str()); }

char *tlShowText(const char *text, size_t size, bool keepLines) {
  StringRef given(text, size);
  return giveText(keepLines ? tl::showLines(given) : tl::showText(given));
}

char *tlCheckJSON(const char *text, size_t size, uint64_t maxBytes) {
  Error error = tl::checkLimits({text, size}, {.maxBytes = maxBytes});
  return error ? giveText(toString(std::move(error))) : nullptr;
}

bool tlParseByteCount(const char *text, uint64_t *bytes) {
  std::optional<uint64_t> parsed = tl::parseByteCount(text);
  *bytes = parsed.value_or(0);
  return parsed.has_value();
}

bool tlReadStoredArchive(const void *bytes, size_t size, TlVisitFile visit,
                         void *data, char **error) {
  Expected<std::vector<tl::StoredFile>> files =
      tl::readStoredArchive({static_cast<const char *>(bytes), size});
  if (!files) {
    *error = giveText(toString(files.takeError()));
    return false;
  }
  for (const auto &[name, contents] : *files)
    visit(name.data(), name.size(), contents.data(), contents.size(), data);
  return true;
}
