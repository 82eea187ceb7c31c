//===- Mutator.h - Kernels that differ in one thing -------------*- C++ -*-===//
//
// Changes one attribute, type, operand, op or order of a kernel at random. The
// result need not verify: what matters is that it is another kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_PIPELINE_MUTATOR_H
#define TL_TEST_UNIT_PIPELINE_MUTATOR_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <random>

namespace tl::test {

class Mutator {
public:
  /// Takes types and values of attributes from the kernels of `corpus`.
  Mutator(mlir::ModuleOp corpus, uint64_t seed);

  /// Changes one thing, and returns what. Empty if nothing was changed, because
  /// the kernel has nothing that what was drawn applies to.
  llvm::StringRef mutate(mlir::gpu::GPUModuleOp kernel);

  unsigned draw(unsigned bound) { return random() % bound; }

private:
  using Ops = llvm::SmallVector<mlir::Operation *>;

  bool changeAttribute(const Ops &ops);
  bool addAttribute(const Ops &ops);
  bool changeType(const Ops &ops);
  bool swapOperands(const Ops &ops);
  bool changeOperand(const Ops &ops);
  bool changeOpName(const Ops &ops);
  bool eraseOp(const Ops &ops);
  bool repeatOp(const Ops &ops);
  bool moveOp(const Ops &ops);

  mlir::Attribute drawAnother(mlir::Operation *op, mlir::NamedAttribute given);

  template <typename Range>
  auto pick(const Range &range) {
    return range[draw(std::size(range))];
  }

  std::mt19937_64 random;
  llvm::SetVector<mlir::Type> types;
  /// The values that an attribute of an op has somewhere.
  llvm::MapVector<std::pair<mlir::StringAttr, mlir::StringAttr>,
                  llvm::SetVector<mlir::Attribute>>
      attributes;
};

} // namespace tl::test

#endif // TL_TEST_UNIT_PIPELINE_MUTATOR_H
