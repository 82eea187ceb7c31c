//===- SourceFolder.h - What a compiler reads, in a folder ------*- C++ -*-===//
//
// Compilers of other programs want files. This is a folder that holds those of
// one compilation and nothing else: a temporary one, or one to look at later.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_SOURCEFOLDER_H
#define TL_SUPPORT_SOURCEFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace tl {

/// True for a path that leads below where it begins, and that a shell takes as
/// it is between double quotes: `nvcc` has one run what it is given.
bool isPlainPath(llvm::StringRef path);

class SourceFolder {
public:
  /// Makes a folder whose name starts with `prefix`: below `keepDirectory`,
  /// where it stays, or, if that is empty, a temporary one.
  static llvm::Expected<SourceFolder> make(llvm::StringRef prefix,
                                           llvm::StringRef keepDirectory);

  SourceFolder(SourceFolder &&other)
      : root(std::move(other.root)), keeps(other.keeps) {
    other.root.clear();
  }
  ~SourceFolder() { (void)remove(); }

  /// The folder.
  llvm::StringRef getRoot() const { return root; }

  /// The full path of a file in it.
  std::string getPath(llvm::StringRef name) const;

  /// Makes the folder that a file of this name would be in.
  llvm::Error makeFolderOf(llvm::StringRef name) const;

  /// Writes a file and the folders that it is in. Fails for a name that is no
  /// plain path.
  llvm::Error write(llvm::StringRef name, llvm::StringRef contents) const;

  /// Removes the folder, unless it is to be kept. Returns what went wrong, or
  /// nothing.
  std::string remove();

private:
  SourceFolder(llvm::SmallString<128> root, bool keeps)
      : root(std::move(root)), keeps(keeps) {}

  llvm::SmallString<128> root;
  bool keeps;
};

/// Writes the file `name` below `directory`, and the folders that it is in.
llvm::Error writeFile(llvm::StringRef directory, llvm::StringRef name,
                      llvm::StringRef contents);

} // namespace tl

#endif // TL_SUPPORT_SOURCEFOLDER_H
