//===- FilesRead.h - Which files a compilation looked at --------*- C++ -*-===//
//
// Files are read when a program is compiled, and a process that keeps what it
// compiled must know when to look again. Contents are named by their SHA-256,
// not by a time stamp: a file may change right after it was read.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUDA_FILESREAD_H
#define TL_TARGET_CUDA_FILESREAD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"
#include <map>
#include <string>

namespace tl {

class FilesRead {
public:
  /// Reads a file, and notes its contents.
  llvm::ErrorOr<std::string> read(llvm::StringRef file);

  /// Whether there is such a file; one that is not is noted as looked for in
  /// vain, because it would be taken if it were there.
  bool exists(const std::string &file);

  /// The SHA-256 in hexadecimal by absolute path; empty for a file that was not
  /// there.
  const std::map<std::string, std::string> &getDigests() const {
    return digests;
  }

  /// Notes that some file is read that nobody knows the name of.
  void setIncomplete() { complete = false; }
  bool isComplete() const { return complete; }

private:
  std::map<std::string, std::string> digests;
  bool complete = true;
};

} // namespace tl

#endif // TL_TARGET_CUDA_FILESREAD_H
