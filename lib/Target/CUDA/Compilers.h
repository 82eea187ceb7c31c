//===- Compilers.h - Each compiler of CUDA C++ ------------------*- C++ -*-===//

#ifndef TL_LIB_TARGET_CUDA_COMPILERS_H
#define TL_LIB_TARGET_CUDA_COMPILERS_H

#include "tl/Support/SourceFolder.h"
#include "tl/Target/CUDA/Compiler.h"

namespace tl {

llvm::Expected<CudaCompilation> compileByNVRTC(const CudaProgram &program);
llvm::Expected<CudaCompilation> compileByNVCC(const CudaProgram &program);

/// The files in which compilers see expressions again that the assertions name.
inline constexpr llvm::StringLiteral kNVRTCNamesFile = "__nv_name_map";
inline constexpr llvm::StringLiteral kNVCCNamesFile =
    "the name of a kernel or variable";

/// Where `makeSourceTree` puts the support header: no folder of a program's
/// headers has this name.
inline constexpr llvm::StringLiteral kDeviceHeaderFolder = "include";
inline constexpr llvm::StringLiteral kDeviceHeaderFile = "include/tl/cuda.h";

/// Makes a folder with the program's headers, under the names that `#include`
/// resolves to. They come with the program, so that what is compiled is what
/// was keyed.
llvm::Expected<SourceFolder> makeSourceTree(const CudaProgram &program);

/// What the compiler sees: prelude, text and assertions, each with its own
/// lines. A byte order mark at the start of the text is left out.
std::string composeText(const CudaProgram &program);

/// True if the first line of the text is not the first line of the file that
/// compilers are given, or is to have another name.
bool needsLineDirectives(const CudaProgram &program);

/// True if `<tl/cuda.h>` is the support header: no other is found before it.
bool usesDeviceHeader(const CudaProgram &program);

/// The options that both compilers know, in their long form: language, chip and
/// what the program asks for. Include paths of the program's headers are those
/// of `root`, followed by the toolkit's.
std::vector<std::string> getCommonOptions(const CudaProgram &program,
                                          llvm::StringRef root);

/// `ptx` with line information that speaks of the user's files alone
/// (LineInfo.cpp).
std::string cleanLineInfo(llvm::StringRef ptx, const CudaProgram &program);

/// Removes `root` from paths in `text`: the folder is another one each time.
void eraseRoot(std::string &text, llvm::StringRef root);

} // namespace tl

#endif // TL_LIB_TARGET_CUDA_COMPILERS_H
