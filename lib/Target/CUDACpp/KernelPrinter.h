//===- KernelPrinter.h - Thread-level functions as C++ ----------*- C++ -*-===//
//
// Values are variables, or expressions that are written where they are used
// (FoldPlan.h). An op that updates a vector which nobody else reads writes into
// that vector's variable, so that accumulators stay one array from their first
// value to their last.
//
// A vector op is a loop over its elements, with the ops folded into it in the
// loop's body; `element` is then the text of the index. It is empty where a
// scalar is meant.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CUDACPP_KERNELPRINTER_H
#define TL_LIB_TARGET_CUDACPP_KERNELPRINTER_H

#include "Expression.h"
#include "FoldPlan.h"
#include "NameAllocator.h"
#include "Preamble.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Target/Source/ThreadLevel.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::LLVM {
class AllocaOp;
class GEPOp;
class LoadOp;
class StoreOp;
} // namespace mlir::LLVM

namespace tl {
class CallSourceOp;
} // namespace tl

namespace tl::cuda {

class KernelPrinter {
public:
  /// Prints `function`, with what it needs ahead of it put into `preamble`.
  KernelPrinter(mlir::gpu::GPUFuncOp function, Preamble &preamble,
                llvm::raw_ostream &os);

  /// A kernel, under `name`.
  mlir::LogicalResult printKernel(llvm::StringRef name);
  /// A function that returns a value, under `name`.
  mlir::LogicalResult printFunction(llvm::StringRef name);

private:
  using Value = mlir::Value;
  using Operation = mlir::Operation;
  using StringRef = llvm::StringRef;
  using Twine = llvm::Twine;

  //===--------------------------------------------------------------------===//
  // Lines (KernelPrinter.cpp)
  //===--------------------------------------------------------------------===//

  void line(const Twine &text);
  void open(const Twine &text);
  void close(const Twine &text = "}");
  /// `text;` after a comment with the user's statement, if that is another one.
  void statement(Operation *op, const Twine &text);
  /// Tells readers, or debuggers, where the lines that follow come from.
  void noteSource(Operation *op);
  mlir::InFlightDiagnostic fail(Operation *op);

  //===--------------------------------------------------------------------===//
  // Signatures (KernelPrinter.cpp)
  //===--------------------------------------------------------------------===//

  void nameParameters();
  std::string getParameter(mlir::BlockArgument argument);
  void printLaunchBounds();
  void printTiles();

  //===--------------------------------------------------------------------===//
  // Regions (ControlFlow.cpp)
  //===--------------------------------------------------------------------===//

  void printBlock(mlir::Block &block);
  void printOp(Operation *op);
  bool printControlFlow(Operation *op);
  void printFor(mlir::scf::ForOp loop);
  void printWhile(mlir::scf::WhileOp loop);
  void printIf(mlir::scf::IfOp branch);
  void printUnrollHint(Operation *loop);
  std::string bindCarried(Value init, Value argument, Operation *loop);
  void assignAll(Operation *at, mlir::ArrayRef<std::string> targets,
                 mlir::ValueRange values);
  void collectReads(Value value, llvm::StringSet<> &reads);

  //===--------------------------------------------------------------------===//
  // Variables (Variables.cpp)
  //===--------------------------------------------------------------------===//

  std::string getWish(Value value);
  std::string getDeclaredType(Value value);
  /// Names a new variable for `value`.
  std::string bind(Value value);
  /// Declares a variable for `value`, a result of `op` that gives it a value.
  std::string declare(Operation *op, Value value);
  /// Declares a variable for `value` with `text` as its value.
  void define(Value value, const Expression &text);
  /// `value` as the initialiser of a variable of its type.
  std::string getInitialiser(Value value);
  /// Writes `value` into `variable`.
  void assign(Operation *at, StringRef variable, Value value);
  /// A variable that holds `value`, for an op that overwrites it: that of
  /// `value` if this is its last use, else a copy.
  std::string takeOver(Operation *op, Value value, Value result);
  bool diesAt(Operation *op, Value value);
  void printLanes(Operation *op, StringRef variable);

  //===--------------------------------------------------------------------===//
  // Expressions (Expressions.cpp and one file for each kind of op)
  //===--------------------------------------------------------------------===//

  /// Element `element` of `value`, or all of it if `element` is empty.
  Expression get(Value value, StringRef element = "");
  Expression getSigned(Value value) {
    return asSigned(get(value), value.getType());
  }
  /// Adds `value` to the arguments of a function of the support header, unless
  /// it is the parameter's default there.
  void addUnlessDefault(llvm::SmallVectorImpl<Expression> &arguments,
                        Value value, int64_t byDefault);
  Expression print(Operation *op, unsigned result, StringRef element);
  std::optional<Expression> printArith(Operation *op, unsigned result,
                                       StringRef element);
  /// A call of the function of `op` in the preamble.
  Expression callFormula(Operation *op, llvm::ArrayRef<Expression> operands);
  std::optional<Expression> printMath(Operation *op, StringRef element);
  std::optional<Expression> printVector(Operation *op, unsigned result,
                                        StringRef element);
  std::optional<Expression> printMemory(Operation *op);
  std::optional<Expression> printThread(Operation *op);
  std::optional<Expression> printMatrix(Operation *op);
  /// Calls a function of a source, unless an op before has for another number.
  void callSource(CallSourceOp op);
  Expression printSourceCall(CallSourceOp op, StringRef element);

  bool printVectorStatement(Operation *op);
  bool printMemoryStatement(Operation *op);
  bool printThreadStatement(Operation *op);
  bool printCopyStatement(Operation *op);
  bool printMatrixStatement(Operation *op);
  void printWgmma(WgmmaOp op);

  /// The type of what a pointer points to, in C++.
  std::string getPointee(Value pointer);
  std::string getSteppedElement(mlir::LLVM::GEPOp address);
  Expression printAddress(mlir::LLVM::GEPOp address);
  Expression printLoad(mlir::LLVM::LoadOp load);
  Expression printAtom(AtomOp atom);
  void printAlloca(mlir::LLVM::AllocaOp memory);
  void printStore(mlir::LLVM::StoreOp store);

  mlir::gpu::GPUFuncOp function;
  Preamble &preamble;
  llvm::raw_ostream &os;
  FoldPlan plan;
  /// Conditions of guards are joined by `&`.
  bool joinsConditions;
  NameAllocator names;
  /// The variable, or the primary expression, that holds a value.
  llvm::DenseMap<Value, std::string> variables;
  /// The variable that holds all that a function of a source leaves, or an
  /// array of those of vectors.
  llvm::DenseMap<Operation *, std::string> leftBy;
  unsigned depth = 0;
  mlir::StringAttr lastStatement;
  /// The `#line` ahead of each line; empty if lines are not kept.
  std::string lineDirective;
  bool failed = false;
};

} // namespace tl::cuda

#endif // TL_LIB_TARGET_CUDACPP_KERNELPRINTER_H
