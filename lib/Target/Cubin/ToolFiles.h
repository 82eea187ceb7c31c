//===- ToolFiles.h - What NVIDIA's tools are given and leave ----*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUBIN_TOOLFILES_H
#define TL_LIB_TARGET_CUBIN_TOOLFILES_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tl {

llvm::Error makeError(const llvm::Twine &message);

/// The file of `tool`. Fails with what to install.
llvm::Expected<std::string> findTool(llvm::StringRef tool);

/// A temporary file that holds `contents`, for the caller to remove.
llvm::Expected<llvm::SmallString<128>> writeTemporary(llvm::StringRef extension,
                                                      llvm::StringRef contents);

/// What a file holds; "" if it cannot be read.
std::string readFile(llvm::StringRef path);

} // namespace tl

#endif // TL_LIB_TARGET_CUBIN_TOOLFILES_H
