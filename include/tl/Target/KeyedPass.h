//===- KeyedPass.h - What a pass's result depends on ------------*- C++ -*-===//
//
// A cached stage is keyed by its input and by the text of its passes. A pass
// whose result depends on more says so through this interface: on programs and
// libraries of the machine, or on the names that people gave to values. It also
// says what the result is; that of other passes is IR.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_KEYEDPASS_H
#define TL_TARGET_KEYEDPASS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tl {

/// What a pass leaves of a kernel, which decides what is done with a result
/// that is found, and so who may have made it.
enum class Product {
  /// Ops that later passes work on.
  IR,
  /// Compiled kernels of a GPU.
  DeviceArtifacts,
  /// Compiled kernels of the host, or programs that it runs.
  HostArtifacts,
};

/// What decides which tools a kernel is made with.
struct KernelTraits {
  /// It may come to hold `setmaxnreg`, which not every assembler takes.
  bool mayChangeRegisters = false;
  /// It calls functions that a user wrote in CUDA C++, and so is compiled as
  /// such.
  bool callsSources = false;
};

/// A second base of such passes.
class KeyedPass {
public:
  virtual ~KeyedPass() = default;

  /// Calls `add` with the name and the identity of everything outside of the
  /// IR and the options that can change the result: each tool as
  /// `Toolchain::identity` describes it, such as `ptxas` and
  /// `ptxas 13.0.88 6b1f…`. Names are unique in a pipeline, or name the same.
  virtual void forEachTool(
      const KernelTraits &traits,
      llvm::function_ref<void(llvm::StringRef name, llvm::StringRef identity)>
          add) const {}

  /// True if the result holds names of values, which the IR keeps as
  /// `NameLoc`s. Other passes do not get to see them.
  virtual bool printsNames() const { return false; }

  /// What the result is; none for passes that leave what there was.
  virtual std::optional<Product> getProduct() const { return Product::IR; }
};

} // namespace tl

#endif // TL_TARGET_KEYEDPASS_H
