//===- ToolFiles.cpp - What NVIDIA's tools are given and leave ------------===//
//
// Tools are programs and libraries that may not be there. Programs take and
// leave files, which are temporary.
//
//===----------------------------------------------------------------------===//

#include "ToolFiles.h"

#include "tl/Support/Environment.h"
#include "tl/Target/Cubin/Toolchain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl;

Error tl::makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<std::string> tl::findTool(StringRef tool) {
  std::string path = Toolchain::get().find(tool);
  if (path.empty())
    return makeError("`" + tool + "` is not on this machine; " +
                     Toolchain::getRemedy(tool));
  return path;
}

Expected<SmallString<128>> tl::writeTemporary(StringRef extension,
                                              StringRef contents) {
  SmallString<128> path;
  std::error_code error = makeTemporaryFile("tl-kernel", extension, path);
  if (error)
    return createStringError(error, "cannot write a temporary file: " +
                                        error.message());
  raw_fd_ostream stream(path, error);
  stream << contents;
  stream.close();
  if (stream.has_error()) {
    error = stream.error();
    stream.clear_error();
    sys::fs::remove(path);
    return createStringError(error,
                             "cannot write `" + path + "`: " + error.message());
  }
  return path;
}

std::string tl::readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  return file ? (*file)->getBuffer().str() : "";
}
