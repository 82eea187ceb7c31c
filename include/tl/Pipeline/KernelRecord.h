//===- KernelRecord.h - Compiled kernels as a cache keeps them --*- C++ -*-===//
//
// The record of a compiled kernel is text in MLIR's syntax, for people; it is
// not read as MLIR. Anyone may have written it, and a parser that knows every
// op would make all of them reachable: this reader knows one form, a
// `gpu.module` with `tl.compiled_kernel`s, and yields plain data within bounds.
// Free of MLIR, so that it can be fuzzed by itself.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_KERNELRECORD_H
#define TL_PIPELINE_KERNELRECORD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tl {

/// How the host makes one parameter: `#tl.param`.
struct RecordedParam {
  std::string kind;
  int64_t operand = 0;
  int64_t index = 0;
  std::vector<int64_t> box;
  int64_t swizzle = 0;
  /// The name of a type of numbers, or empty.
  std::string type;
  std::vector<RecordedParam> members;
};

/// One `tl.compiled_kernel`.
struct RecordedKernel {
  std::string name;
  /// The symbol in the files, if it is not the name.
  std::optional<std::string> entry;
  std::vector<RecordedParam> params;
  std::vector<int64_t> block;
  int64_t shared = 0;
  std::optional<std::vector<std::string>> symbols;
  /// The names of files, and what they are called in the entry.
  std::vector<std::pair<std::string, std::string>> files;
  /// What an assembler says of it: registers, spills.
  std::vector<std::pair<std::string, int64_t>> resources;
};

struct KernelRecord {
  static constexpr size_t maxBytes = size_t(4) << 20;
  static constexpr size_t maxKernels = 1024;
  static constexpr size_t maxParams = 4096;
  static constexpr int64_t maxOperand = 4095;
  static constexpr int64_t maxRank = 64;
  static constexpr int64_t maxThreads = 1024;
  /// Of all parameters of a kernel: CUDA C++ Programming Guide, "Function
  /// Parameters".
  static constexpr size_t maxParamBytes = 32764;

  std::vector<RecordedKernel> kernels;

  /// Reads the text of a record. The error says what is wrong, and where.
  static llvm::Expected<KernelRecord> parse(llvm::StringRef text);
};

/// The bytes of an element of a tensor map of this type; 0 if there is no such
/// map.
unsigned getMapElementBytes(llvm::StringRef type);

/// True for what a symbol of a device or host program can be called.
bool isSymbolName(llvm::StringRef name);

} // namespace tl

#endif // TL_PIPELINE_KERNELRECORD_H
