//===- Compilers.h - Each compiler of CUDA C++ ------------------*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUDA_COMPILERS_H
#define TL_LIB_TARGET_CUDA_COMPILERS_H

#include "tl/Support/SourceFolder.h"
#include "tl/Target/CUDA/Compiler.h"

namespace tl {

llvm::Expected<CudaCompilation> compileByNVRTC(const CudaProgram &program);
llvm::Expected<CudaCompilation> compileByNVCC(const CudaProgram &program);

/// Makes a folder with the program's headers, under the names that `#include`
/// resolves to. They come with the program, so that what is compiled is what
/// was keyed.
llvm::Expected<SourceFolder> makeSourceTree(const CudaProgram &program);

/// What the compiler sees: prelude and text, each with its own lines. A byte
/// order mark at the start of the text is left out.
std::string composeText(const CudaProgram &program);

/// The options that both compilers know, in their long form: language, chip and
/// what the program asks for. Include paths of the program's headers are those
/// of `root`, followed by the toolkit's.
std::vector<std::string> getCommonOptions(const CudaProgram &program,
                                          llvm::StringRef root);

/// Removes `root` from paths in `text`: the folder is another one each time.
void eraseRoot(std::string &text, llvm::StringRef root);

} // namespace tl

#endif // TL_LIB_TARGET_CUDA_COMPILERS_H
