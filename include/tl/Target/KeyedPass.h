//===- KeyedPass.h - What a pass's result depends on ------------*- C++ -*-===//
//
// A cached stage is keyed by its input and by the text of its passes. A pass
// whose result depends on more says so through this interface: on programs and
// libraries of the machine, or on the names that people gave to values.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_KEYEDPASS_H
#define TL_TARGET_KEYEDPASS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tl {

/// A second base of such passes.
class KeyedPass {
public:
  virtual ~KeyedPass() = default;

  /// Calls `add` with the name and the identity of everything outside of the
  /// IR and the options that can change the result: each tool as
  /// `Toolchain::identity` describes it, such as `ptxas` and
  /// `ptxas 13.0.88 6b1f…`. Names are unique in a pipeline, or name the same.
  virtual void forEachTool(
      llvm::function_ref<void(llvm::StringRef name, llvm::StringRef identity)>
          add) const {}

  /// True if the result holds names of values, which the IR keeps as
  /// `NameLoc`s. Other passes do not get to see them.
  virtual bool printsNames() const { return false; }
};

} // namespace tl

#endif // TL_TARGET_KEYEDPASS_H
