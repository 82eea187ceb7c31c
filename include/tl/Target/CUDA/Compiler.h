//===- Compiler.h - PTX from CUDA C++ ---------------------------*- C++ -*-===//
//
// The two compilers of CUDA C++: the NVRTC library and the `nvcc` program. Both
// take the same request and give the same kind of answer, in which files have
// the names that the user knows.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUDA_COMPILER_H
#define TL_TARGET_CUDA_COMPILER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tl {

enum class CudaCompiler { Auto, NVRTC, NVCC, None };

/// One translation unit and how to compile it. Every program can include
/// `<tl/cuda.h>`, the support header, unless `headers` have their own.
struct CudaProgram {
  /// What the text is called in messages; its folder is where `#include "…"`
  /// looks among `headers`.
  std::string name;
  llvm::StringRef text;
  /// Compiled before the text; has lines of its own.
  llvm::StringRef prelude;
  /// File and line that the first line of the text has in line information;
  /// `name` and 1 if the file is empty.
  std::string file;
  int64_t line = 1;
  /// The same for headers, by their path; others are called by it.
  std::map<std::string, std::string> headerFiles;

  std::vector<std::string> flags;
  /// Path and text of each.
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> headers;
  /// Folders of `headers`, or absolute paths.
  std::vector<std::string> includePaths;
  /// The text reaches headers of the toolkit, which take long to read.
  bool usesToolkit = false;

  /// Compiled after the text; names its own lines.
  std::string assertions;
  /// Names or expressions (`scale<float>`, `&ns::table`) whose symbols are
  /// wanted; what they name is compiled even if nothing else uses it.
  std::vector<std::string> expressions;

  llvm::StringRef chip; ///< such as `sm_90a`
  bool lineInfo = false;
  /// No user wrote the text: its lines are of no use, but for `#line`s in it.
  bool isGenerated = false;
  bool fastMath = false;
  /// Other units are linked to this one.
  bool isRelocatable = false;
  /// Where to leave the files that the compiler was given; nowhere if empty.
  std::string keepDirectory;
};

/// What a compiler says about one place. `text` has its own words, with the
/// line of source that it points at.
struct CudaMessage {
  enum class Severity { Error, Warning, Note };
  Severity severity;
  std::string file; ///< empty if the message is about no place
  int64_t line = 0;
  std::string text;
};

struct CudaCompilation {
  bool succeeded = false;
  std::string ptx;
  /// The symbol of each expression of the program.
  std::vector<std::string> symbols;
  std::vector<CudaMessage> messages;
};

/// Compiles with one compiler, neither `Auto` nor `None`. Fails if it is not on
/// this machine, with what to install; errors in the program are messages.
llvm::Expected<CudaCompilation> compileCUDA(CudaCompiler compiler,
                                            const CudaProgram &program);

/// The compiler that `Auto` stands for on this machine, or `None`.
CudaCompiler chooseCudaCompiler();

/// The messages in a log of NVRTC or nvcc. Paths are given without `root`.
std::vector<CudaMessage> parseCudaMessages(llvm::StringRef log,
                                           llvm::StringRef root);

} // namespace tl

#endif // TL_TARGET_CUDA_COMPILER_H
