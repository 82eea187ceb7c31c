//===- FilesRead.cpp - Which files a compilation looked at ----------------===//
//
// See FilesRead.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/CUDA/FilesRead.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

using namespace tl;

llvm::ErrorOr<std::string> FilesRead::read(llvm::StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return buffer.getError();
  llvm::StringRef text = (*buffer)->getBuffer();
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  digests[file.str()] = llvm::toHex(digest, /*LowerCase=*/true);
  return text.str();
}

bool FilesRead::exists(const std::string &file) {
  if (llvm::sys::fs::is_regular_file(file))
    return true;
  digests.try_emplace(file);
  return false;
}
