//===- Fingerprint.h - What a kernel's artifact depends on ------*- C++ -*-===//
//
// A kernel in the form that is keyed and compiled, the stages of a pipeline,
// and the key of a kernel's way through some of them. What a compilation sees
// is made from exactly the bytes that are keyed, so that nothing else can reach
// its result.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_FINGERPRINT_H
#define TL_PIPELINE_FINGERPRINT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "tl/Cache/Key.h"
#include "tl/Target/KeyedPass.h"
#include <memory>
#include <optional>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace tl {

/// A kernel without what its artifact does not depend on: names of values,
/// comments, and, if it has no `tl.line_info`, locations. In place of its
/// location an op has its number in a walk, `<op>:n:0`, so that messages find
/// back to it.
struct CanonicalKernel {
  /// The symbol of the kernel's `gpu.module`.
  std::string name;
  /// Bytecode of a module that holds the `gpu.module` alone, without its
  /// discardable attributes, and without its name.
  std::string bytes;
  /// These attributes, by name, as text: the target and its options.
  std::vector<std::pair<std::string, std::string>> attributes;
  /// In the order of the `tl.cuda_unit`s, of each its text and those of its
  /// headers, by what they are called in a key. The bytes lack them.
  std::vector<std::pair<std::string, std::string>> texts;
  /// True unless it is for a GPU: then what is made of it, at whatever stage,
  /// comes to run on the host.
  bool leadsToHostCode = true;
  /// What decides the tools that it is made with.
  KernelTraits traits;
};

/// The canonical form of `kernel`; `keepNames` is for passes that print the
/// names of values, and the statements that ops come from.
CanonicalKernel canonicalize(mlir::gpu::GPUModuleOp kernel, bool keepNames);

/// The module that holds the kernel again. Null after an error, for bytes that
/// another version has written.
mlir::OwningOpRef<mlir::ModuleOp> parse(const CanonicalKernel &kernel,
                                        mlir::MLIRContext &context);

/// A part of a kernel's pipeline, whose result has a record of its own.
class Stage {
public:
  /// The groups of `gpu.module(a,b),gpu.module(c)`, each a stage. Fails with
  /// the reason in `error`.
  static mlir::FailureOr<std::vector<Stage>> parse(llvm::StringRef pipeline,
                                                   std::string &error);

  /// The name of the last pass, by which people know the stage.
  llvm::StringRef getName() const;

  /// The passes and all of their options. This is what runs: what does not show
  /// in the text is not there to change a result.
  llvm::StringRef getText() const { return text; }

  /// True if the result holds names of values.
  bool printsNames() const;

  /// What its passes leave together; none if they leave what there was.
  std::optional<Product> getProduct() const { return product; }

private:
  friend cache::Key makeKey(const CanonicalKernel &, llvm::ArrayRef<Stage>);

  struct PassText {
    std::string name;
    std::string options;
  };

  mlir::LogicalResult add(mlir::OpPassManager manager, std::string &error);
  void addKeyed(const mlir::OpPassManager &manager);

  std::string text;
  /// The names of the passes and their nesting, without options.
  std::string order;
  std::vector<PassText> passes;
  /// The stage's pass manager and those nested in it; copies share them.
  std::vector<std::shared_ptr<const mlir::OpPassManager>> managers;
  /// Those of their passes that say more than their text does, found once: each
  /// lookup asks them.
  std::vector<const KeyedPass *> keyedPasses;
  std::optional<Product> product;
};

/// The key of what `stages` make of `kernel`. Its components:
///
/// - `kernel`: the bytes, and `name`: the kernel's name, which they lack;
/// - `attribute A`: each attribute of its module;
/// - `source S` and `header H`: the texts of its `tl.cuda_unit`s; of a second
///   `S` it is `source S 2`;
/// - `pipeline`: which passes run in which order, and `pass P`: the options of
///   each that has some; of a second `P` it is `pass P 2`;
/// - `compiler`: the build id of this library;
/// - `tool T`: the identity of each tool that one of the passes runs.
///
/// - `use`: what is done with the result: compiled kernels are executed, others
///   compiled further;
/// - `host_code`: there if the host executes it, or what is made of it.
cache::Key makeKey(const CanonicalKernel &kernel, llvm::ArrayRef<Stage> stages);

/// What the last of several stages leaves.
Product getProduct(llvm::ArrayRef<Stage> stages);

} // namespace tl

#endif // TL_PIPELINE_FINGERPRINT_H
