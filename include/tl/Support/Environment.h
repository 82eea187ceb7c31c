//===- Environment.h - What the process was started with -------*- C++ -*-===//
//
// The one place that reads environment variables, and what stands for them: the
// search path, the home directory, the folder for temporary files. A program
// that has more rights than its user (set-uid, set-gid, file capabilities) was
// given its environment by somebody who must not decide what it runs, reads or
// writes: there all of it counts as not set.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_ENVIRONMENT_H
#define TL_SUPPORT_ENVIRONMENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <system_error>

namespace tl {

/// The value of an environment variable, or none if it is not set.
std::optional<std::string> readVariable(llvm::StringRef name);

/// The full path of a program that is looked for in `folders`, or in `PATH` if
/// there are none; empty if it is in none of them. A name with a slash is a
/// path already.
std::string findProgram(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> folders = {});

/// Sets `path` to the user's home directory; false if it is not known.
bool findHome(llvm::SmallVectorImpl<char> &path);

/// Makes a file or a folder that has a name of its own, begins with `prefix`,
/// and only this user can read, in the folder for temporary files.
std::error_code makeTemporaryFile(const llvm::Twine &prefix,
                                  llvm::StringRef extension,
                                  llvm::SmallVectorImpl<char> &path);
std::error_code makeTemporaryFolder(const llvm::Twine &prefix,
                                    llvm::SmallVectorImpl<char> &path);

} // namespace tl

#endif // TL_SUPPORT_ENVIRONMENT_H
