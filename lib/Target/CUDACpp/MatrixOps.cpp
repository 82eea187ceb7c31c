//===- MatrixOps.cpp - Matrix instructions as C++ -------------------------===//

#include "KernelPrinter.h"

#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Dialect/TL/IR/Warps.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cuda;

std::optional<Expression> KernelPrinter::printMatrix(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Expression>>(op)
      .Case([&](LdmatrixOp load) {
        int64_t count = cast<VectorType>(load.getType()).getNumElements();
        StringRef suffix = load.getTranspose() ? "_trans" : "";
        return call("tl::ldmatrix" + suffix + "<" + Twine(count) + ">",
                    get(load.getAddress()));
      })
      .Case([&](MmaOp mma) {
        std::string kinds = stringifyMmaKind(mma.getKind()).str();
        if (mma.getBy())
          kinds += "_" + stringifyMmaKind(*mma.getBy()).str();
        return call("tl::mma_" + kinds,
                    {get(mma.getA()), get(mma.getB()), get(mma.getC())});
      })
      .Case([&](MmaF64Op mma) {
        return call("tl::mma_f64",
                    {get(mma.getA()), get(mma.getB()), get(mma.getC())});
      })
      .Default([](Operation *) { return std::nullopt; });
}

void KernelPrinter::printWgmma(WgmmaOp op) {
  bool fromZero = startsFromZero(op, op.getAcc());
  std::string acc = fromZero ? declare(op, op.getResult())
                             : takeOver(op, op.getAcc(), op.getResult());
  // The instruction takes registers: numbers that are written where they are
  // used get a name.
  std::string a;
  if (op.hasRegisterA()) {
    Value registers = lookThroughAliases(op.getA());
    if (!variables.contains(registers))
      define(registers, get(registers));
    a = variables.lookup(registers);
  }
  NameAllocator::Scope scope(names);
  auto descriptor = [&](Value value, StringRef wish) {
    value = lookThroughAliases(value);
    if (variables.contains(value))
      return variables.lookup(value);
    std::string name = names.take(wish);
    statement(op, "long long " + name + " = " + get(value).text);
    return name;
  };
  bool hasRegisterA = op.hasRegisterA();
  if (!hasRegisterA)
    a = descriptor(op.getA(), "a_tile");
  std::string b = descriptor(op.getB(), "b_tile");
  auto advance = [](const std::string &tile, int64_t offset) {
    return offset == 0
               ? tile
               : "tl::advance(" + tile + ", " + std::to_string(offset) + ")";
  };
  SmallVector<std::string> written;
  if (!fromZero)
    written.push_back(acc);
  if (hasRegisterA)
    written.push_back(a);
  statement(op, "tl::wgmma_fence(" + llvm::join(written, ", ") + ")");
  SmallVector<bool> fences(op.getAccOffsets().size(), false);
  if (fromZero)
    fences = needFences(op);
  llvm::SmallSet<int64_t, 4> started;
  for (auto [accOffset, aOffset, bOffset, needsFence] : llvm::zip_equal(
           op.getAccOffsets(), op.getAOffsets(), op.getBOffsets(), fences)) {
    // Of no registers: what is under way stays where it is.
    if (needsFence)
      statement(op, "tl::wgmma_fence()");
    bool adds = !fromZero || !started.insert(accOffset).second;
    std::string function = preamble.getWgmma(op, adds);
    std::string places = std::to_string(accOffset);
    if (hasRegisterA)
      places += ", " + std::to_string(aOffset);
    statement(op, function + "<" + places + ">(" + acc + ", " +
                      (hasRegisterA ? a : advance(a, aOffset)) + ", " +
                      advance(b, bOffset) + ")");
  }
  statement(op, "tl::wgmma_commit()");
}

bool KernelPrinter::printMatrixStatement(Operation *op) {
  if (auto store = dyn_cast<StmatrixOp>(op)) {
    int64_t count =
        cast<VectorType>(store.getValue().getType()).getNumElements();
    StringRef suffix = store.getTranspose() ? "_trans" : "";
    statement(op, call("tl::stmatrix" + suffix + "<" + Twine(count) + ">",
                       {get(store.getAddress()), get(store.getValue())})
                      .text);
    return true;
  }
  if (isa<MmaOp, MmaF64Op>(op)) {
    // In place, where nobody else reads the sum so far.
    Value before = op->getOperand(2);
    if (variables.contains(before) && diesAt(op, before)) {
      std::string sum = variables.lookup(before);
      variables[op->getResult(0)] = sum;
      statement(op, sum + " = " + print(op, 0, "").text);
      return true;
    }
    return false;
  }
  if (auto wgmma = dyn_cast<WgmmaOp>(op))
    return printWgmma(wgmma), true;
  if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
    SmallVector<Expression> accumulators;
    for (auto [value, result] :
         llvm::zip_equal(wait.getValues(), wait.getResults()))
      accumulators.push_back({takeOver(op, value, result)});
    statement(op, call("tl::wgmma_wait<" + Twine(wait.getPending()) + ">",
                       accumulators)
                      .text);
    return true;
  }
  return false;
}
