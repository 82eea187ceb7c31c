//===- StoredArchive.h - Files in a ZIP archive, as they are ----*- C++ -*-===//
//
// Kernels that Python compiled are kept as a ZIP archive without compression,
// which people can open. Anyone may have made it: this reads that form and no
// other, so that nothing unpacks to more bytes than there are.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_STOREDARCHIVE_H
#define TL_SUPPORT_STOREDARCHIVE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <utility>
#include <vector>

namespace tl {

/// A file's name, and its bytes in the archive.
using StoredFile = std::pair<llvm::StringRef, llvm::StringRef>;

/// The files of an archive, in its order. Names are those of symbols, and
/// unique. The error says what is wrong.
llvm::Expected<std::vector<StoredFile>>
readStoredArchive(llvm::StringRef bytes);

} // namespace tl

#endif // TL_SUPPORT_STOREDARCHIVE_H
