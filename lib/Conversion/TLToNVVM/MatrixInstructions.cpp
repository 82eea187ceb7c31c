//===- MatrixInstructions.cpp - What PTX calls them -----------------------===//

#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tl;

int64_t tl::getDepth(MmaKind kind) {
  switch (kind) {
  case MmaKind::F16:
  case MmaKind::BF16:
    return 16;
  case MmaKind::TF32:
    return 8;
  case MmaKind::S8:
  case MmaKind::U8:
  case MmaKind::E4M3:
  case MmaKind::E5M2:
    return 32;
  }
  llvm_unreachable("unknown kind of mma");
}

bool tl::isInteger(MmaKind kind) {
  return kind == MmaKind::S8 || kind == MmaKind::U8;
}

WgmmaInstruction WgmmaInstruction::of(WgmmaOp op) {
  MmaKind kind = op.getKind();
  Type element = cast<VectorType>(op.getType()).getElementType();
  WgmmaInstruction instruction;
  instruction.shape = llvm::formatv("m64n{0}k{1}", op.getN(), getDepth(kind));
  instruction.accumulator = isInteger(kind)   ? "s32"
                            : element.isF16() ? "f16"
                                              : "f32";
  instruction.kindA = stringifyMmaKind(kind);
  instruction.kindB = stringifyMmaKind(op.getKindOfB());
  // Integers have no negation, and only 16-bit types in shared memory have
  // MN-major forms.
  if (!isInteger(kind))
    instruction.flags += ", 1, 1";
  if (kind == MmaKind::F16 || kind == MmaKind::BF16) {
    if (!op.hasRegisterA())
      instruction.flags += llvm::formatv(", {0}", int(op.getAMNMajor()));
    instruction.flags += llvm::formatv(", {0}", int(op.getBMNMajor()));
  }
  return instruction;
}

std::string WgmmaInstruction::print(StringRef registers, StringRef a,
                                    StringRef b, bool adds) const {
  return llvm::formatv("wgmma.mma_async.sync.aligned.{0}.{1}.{2}.{3} "
                       "{{{4}}, {5}, {6}, {7}{8};",
                       shape, accumulator, kindA, kindB, registers, a, b,
                       int(adds), flags);
}

bool tl::startsFromZero(WgmmaOp op, Value acc) {
  DenseElementsAttr value;
  if (!matchPattern(acc, m_Constant(&value)) || !value.isSplat() ||
      !value.getSplatValue<Attribute>())
    return false;
  bool isZero = isa<FloatType>(value.getElementType())
                    ? value.getSplatValue<APFloat>().bitcastToAPInt().isZero()
                    : value.getSplatValue<APInt>().isZero();
  llvm::SmallSet<int64_t, 4> parts(llvm::from_range, op.getAccOffsets());
  int64_t written = parts.size() * (op.getN() / 2);
  return isZero && written == cast<VectorType>(op.getType()).getNumElements();
}

SmallVector<bool> tl::needFences(WgmmaOp op) {
  SmallVector<bool> fences(op.getAccOffsets().size(), false);
  if (!op.hasRegisterA())
    return fences;
  llvm::SmallSet<int64_t, 4> started, begunWith;
  for (auto [fence, acc, b] :
       llvm::zip_equal(fences, op.getAccOffsets(), op.getBOffsets())) {
    if (!started.insert(acc).second)
      continue;
    fence = begunWith.contains(b);
    if (fence)
      begunWith.clear();
    begunWith.insert(b);
  }
  return fences;
}
