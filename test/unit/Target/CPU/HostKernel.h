//===- HostKernel.h - Compile and run kernels in tests ----------*- C++ -*-===//
//
// Takes the text of a tile-level kernel through the whole CPU backend, down to
// a function in this process, and calls it as the runtime would: the parameters
// are made from `tl.params` of the compiled kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_TARGET_CPU_HOSTKERNEL_H
#define TL_TEST_UNIT_TARGET_CPU_HOSTKERNEL_H

#include "mlir/IR/MLIRContext.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/CPU/HostLoader.h"
#include "tl/Target/CPU/HostMachine.h"
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tl::test {

/// A buffer or a scalar, as a kernel's argument.
struct Argument {
  Argument(void *data, std::vector<int64_t> shape,
           std::vector<int64_t> strides = {})
      : data(data), shape(std::move(shape)), strides(std::move(strides)) {}

  /// A scalar; `value` outlives the argument.
  template <typename T>
  Argument(T *value) : data(value) {}

  void *data;
  std::vector<int64_t> shape, strides;
};

class HostKernel {
public:
  /// Compiles the one kernel of `text`, a module of a `gpu.module`, for
  /// `machine`. Aborts with the diagnostics if that fails.
  explicit HostKernel(const std::string &text,
                      const HostMachine &machine = HostMachine::get());

  /// Links the kernel into the process; the first `run` does so by itself.
  llvm::Error load();

  /// Runs all blocks of `grid`.
  void run(const std::vector<Argument> &arguments, std::array<int64_t, 3> grid);

  /// Runs the blocks with linear indices from `begin` to `end`, exclusive.
  void run(const std::vector<Argument> &arguments, std::array<int64_t, 3> grid,
           int64_t begin, int64_t end);

  llvm::ArrayRef<ParamAttr> getParams() const { return params; }
  const std::string &getFile(const std::string &name) const;

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::string name, object, assembly;
  std::vector<ParamAttr> params;
  std::unique_ptr<HostObject> code;
};

} // namespace tl::test

#endif // TL_TEST_UNIT_TARGET_CPU_HOSTKERNEL_H
