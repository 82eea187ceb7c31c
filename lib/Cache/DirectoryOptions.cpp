//===- DirectoryOptions.cpp - A directory as the environment has it -------===//
//
// What tools read for their users. A value that makes no sense is an error and
// not a directory that is used otherwise than was meant.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/DirectoryStore.h"

#include "tl/Support/ByteCount.h"
#include "tl/Support/Environment.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tl::cache;

Expected<std::string> tl::cache::defaultDirectory() {
  std::string directory = tl::readVariable("TL_CACHE_DIR").value_or("");
  if (!directory.empty())
    return directory;
  SmallString<128> path;
  // The XDG specification has relative paths ignored.
  std::string base = tl::readVariable("XDG_CACHE_HOME").value_or("");
  if (sys::path::is_absolute(base)) {
    path = base;
  } else {
    if (!tl::findHome(path))
      return createStringError("there is no home directory to hold the cache; "
                               "set `TL_CACHE_DIR`");
    sys::path::append(path, ".cache");
  }
  sys::path::append(path, "tilec");
  return path.str().str();
}

bool tl::cache::readFlag(Variables variables, StringRef name) {
  std::string value = variables(name).value_or("");
  std::string word = StringRef(value).trim().lower();
  // As in `python/tilec/env.py`.
  return !StringSwitch<bool>(word)
              .Cases({"", "0", "false", "no", "off"}, true)
              .Default(false);
}

static std::optional<uint64_t> parseSeconds(StringRef text) {
  uint64_t seconds;
  if (text.getAsInteger(10, seconds))
    return std::nullopt;
  return seconds;
}

/// Reads a variable that has a value, which is to be `what`, and not zero.
static Error readNumber(Variables variables, StringRef name, StringRef what,
                        std::optional<uint64_t> (*parse)(StringRef),
                        function_ref<void(uint64_t)> use) {
  std::string text = variables(name).value_or("");
  if (text.empty())
    return Error::success();
  std::optional<uint64_t> number = parse(text);
  if (!number || *number == 0)
    return createStringError("`" + name + "`: `" + text + "` is not " + what);
  use(*number);
  return Error::success();
}

Expected<DirectoryOptions> DirectoryOptions::parse(Variables variables) {
  DirectoryOptions options;
  options.allowGroupWritable = readFlag(variables, "TL_CACHE_ALLOW_GROUP");
  options.allowUnsigned = readFlag(variables, "TL_CACHE_ALLOW_UNSIGNED");
  if (Error error =
          readNumber(variables, "TL_CACHE_MAX_BYTES",
                     "a number of bytes such as `4GiB`", tl::parseByteCount,
                     [&](uint64_t bytes) { options.limits.maxBytes = bytes; }))
    return error;
  if (Error error =
          readNumber(variables, "TL_CACHE_MAX_AGE", "a number of seconds",
                     parseSeconds, [&](uint64_t seconds) {
                       options.limits.maxAge = std::chrono::seconds(seconds);
                     }))
    return error;
  return options;
}
