//===- SourceTree.h - A program's files in a folder of their own *- C++ -*-===//
//
// Headers come with the program, so that what is compiled is what was keyed.
// Compilers want them in files: this is a temporary folder that holds them, and
// nothing else, under the names that `#include` resolves to.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CUDA_SOURCETREE_H
#define TL_LIB_TARGET_CUDA_SOURCETREE_H

#include "tl/Target/CUDA/Compiler.h"
#include "llvm/ADT/SmallString.h"

namespace tl {

class SourceTree {
public:
  /// Makes the folder, below `keepDirectory` of the program if it has one, and
  /// writes the headers. Fails if a file cannot be written.
  static llvm::Expected<SourceTree> make(const CudaProgram &program);

  SourceTree(SourceTree &&other)
      : root(std::move(other.root)), keeps(other.keeps) {
    other.root.clear();
  }
  ~SourceTree() { (void)remove(); }

  /// The folder.
  llvm::StringRef getRoot() const { return root; }

  /// The full path of a file of the tree.
  std::string getPath(llvm::StringRef name) const;

  /// Writes a file and the folders that it is in.
  llvm::Error write(llvm::StringRef name, llvm::StringRef contents) const;

  /// Removes the folder, unless it is to be kept. Returns what went wrong, or
  /// nothing.
  std::string remove();

private:
  SourceTree(llvm::SmallString<128> root, bool keeps)
      : root(std::move(root)), keeps(keeps) {}

  llvm::SmallString<128> root;
  bool keeps;
};

} // namespace tl

#endif // TL_LIB_TARGET_CUDA_SOURCETREE_H
