//===- Executable.h - A launch plan with its kernels ------------*- C++ -*-===//
//
// What a call goes through: check the arguments and fill the slots
// (ArgumentBinder), evaluate grids, shared memory and parameters of all
// launches (Frame), and only then launch, on a GPU or on the CPU. A call that
// succeeds allocates nothing, unless a plan is larger than usual. A library
// that was built of a plan does all that by itself.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_EXECUTABLE_H
#define TL_RUNTIME_EXECUTABLE_H

#include "tl/Runtime/DLPack.h"
#include "tl/Runtime/LaunchPlan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace tl::runtime {

class Driver;
class ThreadPool;

/// One argument of a call.
struct Argument {
  enum class Kind : int32_t { Tensor, Int, UInt, Float, Bool };

  Argument(const DLTensor *tensor) : kind(Kind::Tensor) {
    value.tensor = tensor;
  }
  static Argument makeInt(int64_t value) {
    return Argument(Kind::Int, static_cast<uint64_t>(value));
  }
  static Argument makeUInt(uint64_t value) {
    return Argument(Kind::UInt, value);
  }
  static Argument makeBool(bool value) { return Argument(Kind::Bool, value); }
  static Argument makeFloat(double real) {
    Argument argument(Kind::Float, 0);
    argument.value.real = real;
    return argument;
  }

  Kind kind;
  union {
    const DLTensor *tensor;
    int64_t integer;
    uint64_t unsignedInteger;
    double real;
    bool boolean;
  } value;

private:
  Argument(Kind kind, uint64_t bits) : kind(kind) {
    value.unsignedInteger = bits;
  }
};

/// A kernel compiled for the CPU (docs/LaunchPlan.md).
using HostKernel = void (*)(void *const *params, int64_t begin, int64_t end,
                            int64_t gridX, int64_t gridY);

/// The code of one kernel.
struct KernelImage {
  enum class Kind { Cubin, PTX, HostFunction };

  /// Cubin or PTX, whichever `bytes` look like. Kernels whose bytes are at the
  /// same address share one module.
  static KernelImage device(llvm::StringRef name, llvm::StringRef bytes);
  static KernelImage host(llvm::StringRef name, HostKernel function);

  llvm::StringRef name;
  Kind kind;
  llvm::StringRef bytes;
  HostKernel function = nullptr;
};

class Executable {
public:
  virtual ~Executable();

  /// Loads a plan whose kernels run on a GPU, through `driver`, or through the
  /// system's CUDA driver if that is null.
  static llvm::Expected<std::unique_ptr<Executable>>
  loadCUDA(llvm::StringRef plan, llvm::ArrayRef<KernelImage> kernels,
           Driver *driver = nullptr);

  /// Loads a plan whose kernels are host functions, run by the threads of
  /// `pool`, or of the process's pool if that is null.
  static llvm::Expected<std::unique_ptr<Executable>>
  loadHost(llvm::StringRef plan, llvm::ArrayRef<KernelImage> kernels,
           ThreadPool *pool = nullptr);

  /// Opens a library that was built of the plan of `function` (docs/AOT.md).
  /// It stays open until the process ends.
  static llvm::Expected<std::unique_ptr<Executable>>
  loadLibrary(const std::string &path, llvm::StringRef function);

  /// Checks `arguments` and launches the kernels, on `stream` if they run on a
  /// GPU. Thread-safe.
  virtual llvm::Error call(llvm::ArrayRef<Argument> arguments,
                           void *stream = nullptr) const = 0;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_EXECUTABLE_H
