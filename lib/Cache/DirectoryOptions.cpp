//===- DirectoryOptions.cpp - A directory as the environment has it -------===//
//
// What tools read for their users. A value that makes no sense is an error and
// not a directory that is used otherwise than was meant.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/DirectoryStore.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace llvm;
using namespace tl::cache;

Expected<std::string> tl::cache::defaultDirectory() {
  if (const char *directory = std::getenv("TL_CACHE_DIR");
      directory && *directory)
    return std::string(directory);
  SmallString<128> path;
  // The XDG specification has relative paths ignored.
  const char *base = std::getenv("XDG_CACHE_HOME");
  if (base && sys::path::is_absolute(base)) {
    path = base;
  } else {
    if (!sys::path::home_directory(path))
      return createStringError("there is no home directory to hold the cache; "
                               "set `TL_CACHE_DIR`");
    sys::path::append(path, ".cache");
  }
  sys::path::append(path, "tilec");
  return path.str().str();
}

/// Reads a number, of what is counted in `unit`, if the variable has a value.
static Error readNumber(Variables variables, StringRef name, StringRef unit,
                        function_ref<void(uint64_t)> use) {
  std::string text = variables(name).value_or("");
  if (text.empty())
    return Error::success();
  uint64_t number;
  if (StringRef(text).getAsInteger(10, number) || number == 0)
    return createStringError("`" + name + "`: `" + text +
                             "` is not a number of " + unit);
  use(number);
  return Error::success();
}

Expected<DirectoryOptions> DirectoryOptions::parse(Variables variables) {
  DirectoryOptions options;
  std::string allow = variables("TL_CACHE_ALLOW_GROUP").value_or("");
  options.allowGroupWritable = !allow.empty() && allow != "0";
  if (Error error =
          readNumber(variables, "TL_CACHE_MAX_BYTES", "bytes",
                     [&](uint64_t bytes) { options.limits.maxBytes = bytes; }))
    return error;
  if (Error error = readNumber(
          variables, "TL_CACHE_MAX_AGE", "seconds", [&](uint64_t seconds) {
            options.limits.maxAge = std::chrono::seconds(seconds);
          }))
    return error;
  return options;
}
