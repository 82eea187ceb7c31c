//===- SourceTree.cpp - A program's files in a folder of their own --------===//

#include "SourceTree.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl;

static Error makeError(std::error_code error, const Twine &what) {
  return createStringError(error, what + ": " + error.message());
}

Expected<SourceTree> SourceTree::make(const CudaProgram &program) {
  bool keeps = !program.keepDirectory.empty();
  SmallString<128> root;
  if (keeps) {
    SmallString<128> model(program.keepDirectory);
    sys::path::append(model, "cuda-%%%%%%%%");
    if (std::error_code error =
            sys::fs::create_directories(program.keepDirectory))
      return makeError(error, "cannot make `" + program.keepDirectory + "`");
    sys::fs::createUniquePath(model, root, /*MakeAbsolute=*/true);
    if (std::error_code error =
            sys::fs::create_directory(root, /*IgnoreExisting=*/false))
      return makeError(error, "cannot make `" + root + "`");
  } else if (std::error_code error =
                 sys::fs::createUniqueDirectory("tl-cuda", root)) {
    return makeError(error, "cannot make a temporary folder");
  }
  SourceTree tree(root, keeps);
  // `#include "../a.h"` goes through the folder of the program's own file.
  std::string path = tree.getPath(program.name);
  if (std::error_code error =
          sys::fs::create_directories(sys::path::parent_path(path)))
    return makeError(error, "cannot make the folder of `" + path + "`");
  for (auto [path, text] : program.headers)
    if (Error error = tree.write(path, text))
      return std::move(error);
  return std::move(tree);
}

std::string SourceTree::getPath(StringRef name) const {
  SmallString<128> path(root);
  sys::path::append(path, name);
  return path.str().str();
}

Error SourceTree::write(StringRef name, StringRef contents) const {
  std::string path = getPath(name);
  if (std::error_code error =
          sys::fs::create_directories(sys::path::parent_path(path)))
    return makeError(error, "cannot make the folder of `" + path + "`");
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

std::string SourceTree::remove() {
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
