//===- SourceFolder.cpp - What a compiler reads, in a folder --------------===//

#include "tl/Support/SourceFolder.h"

#include "tl/Support/Environment.h"
#include "tl/Support/ShowText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl;

static Error makeError(std::error_code error, const Twine &what) {
  return createStringError(error, what + ": " + error.message());
}

bool tl::isPlainPath(StringRef path) {
  constexpr size_t maxLength = 4096;
  auto isObeyed = [](unsigned char c) {
    return c < 0x20 || c == 0x7f || StringRef("$`\"\\").contains(c);
  };
  return !path.empty() && path.size() <= maxLength &&
         !sys::path::is_absolute(path) && none_of(path, isObeyed) &&
         none_of(split(path, '/'), [](StringRef part) { return part == ".."; });
}

/// The error for a name that could lead elsewhere.
static Error checkName(StringRef name) {
  if (isPlainPath(name))
    return Error::success();
  return createStringError("`" + showText(name) +
                           "` is no name for a file of a program: it must lead "
                           "below the program's folder, without `..`, and "
                           "without `$`, quotes, backslashes and control "
                           "characters");
}

Expected<SourceFolder> SourceFolder::make(StringRef prefix,
                                          StringRef keepDirectory) {
  SmallString<128> root;
  if (keepDirectory.empty()) {
    if (std::error_code error = makeTemporaryFolder("tl-" + prefix, root))
      return makeError(error, "cannot make a temporary folder");
    return SourceFolder(root, /*keeps=*/false);
  }
  SmallString<128> model(keepDirectory);
  sys::path::append(model, prefix + "-%%%%%%%%");
  if (std::error_code error = sys::fs::create_directories(keepDirectory))
    return makeError(error, "cannot make `" + keepDirectory + "`");
  sys::fs::createUniquePath(model, root, /*MakeAbsolute=*/true);
  if (std::error_code error =
          sys::fs::create_directory(root, /*IgnoreExisting=*/false))
    return makeError(error, "cannot make `" + root + "`");
  return SourceFolder(root, /*keeps=*/true);
}

static std::string joinPath(StringRef directory, StringRef name) {
  SmallString<128> path(directory);
  sys::path::append(path, name);
  return path.str().str();
}

std::string SourceFolder::getPath(StringRef name) const {
  return joinPath(root, name);
}

/// Makes the folder that the file `path` is in.
static Error makeParent(const std::string &path) {
  if (std::error_code error =
          sys::fs::create_directories(sys::path::parent_path(path)))
    return makeError(error, "cannot make the folder of `" + path + "`");
  return Error::success();
}

Error SourceFolder::makeFolderOf(StringRef name) const {
  if (Error error = checkName(name))
    return error;
  return makeParent(getPath(name));
}

Error SourceFolder::write(StringRef name, StringRef contents) const {
  if (Error error = checkName(name))
    return error;
  return writeFile(root, name, contents);
}

Error tl::writeFile(StringRef directory, StringRef name, StringRef contents) {
  std::string path = joinPath(directory, name);
  if (Error error = makeParent(path))
    return error;
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return makeError(error, "cannot write `" + path + "`");
  stream << contents;
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    return makeError(error, "cannot write `" + path + "`");
  }
  return Error::success();
}

std::string SourceFolder::remove() {
  if (root.empty() || keeps)
    return "";
  std::error_code error =
      sys::fs::remove_directories(root, /*IgnoreErrors=*/false);
  std::string folder = root.str().str();
  root.clear();
  if (!error)
    return "";
  return "the temporary folder `" + folder +
         "` cannot be removed: " + error.message();
}
