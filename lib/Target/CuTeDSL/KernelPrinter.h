//===- KernelPrinter.h - Thread-level kernels as CuTe DSL -------*- C++ -*-===//
//
// Every value is a Python variable, or an expression that is written where it
// is used if that is one place. CuTe DSL traces Python, so that a variable is a
// value of its own IR, `if` and `for` on such values are its `scf` ops, and
// what they assign to variables from before them is what they yield. Names are
// therefore unique in the whole kernel: no assignment inside may meet a name
// from outside by accident.
//
// Integers of the IR have no sign; here they are signed, and an op that means
// unsigned numbers converts its operands and its result.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CUTEDSL_KERNELPRINTER_H
#define TL_LIB_TARGET_CUTEDSL_KERNELPRINTER_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tl/Target/Source/ThreadLevel.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

namespace mlir::LLVM {
class GEPOp;
} // namespace mlir::LLVM

namespace tl::cutedsl {

/// Text of Python, and whether it is an operand as it is.
struct Expression {
  std::string text;
  bool isPrimary = true;

  /// The text as an operand.
  std::string operand() const { return isPrimary ? text : "(" + text + ")"; }
};

/// CuTe DSL's name of a scalar type, or of the elements of a vector type.
std::string getScalarType(mlir::Type type, bool isUnsigned = false);

/// `function(arguments)`.
Expression call(const llvm::Twine &function,
                llvm::ArrayRef<Expression> arguments);

/// `x` converted to the DSL's type `scalar`; vectors have a method for it.
Expression convert(const Expression &x, mlir::Type type,
                   llvm::StringRef scalar);

class KernelPrinter {
public:
  KernelPrinter(mlir::gpu::GPUFuncOp kernel, llvm::raw_ostream &os)
      : kernel(kernel), os(os) {}

  /// Prints the kernel, its launch and its compilation.
  mlir::LogicalResult print();

  /// The helpers of the module that the kernel calls, by name.
  const std::set<std::string> &getHelpers() const { return helpers; }

private:
  using Value = mlir::Value;
  using Operation = mlir::Operation;
  using StringRef = llvm::StringRef;
  using Twine = llvm::Twine;

  //===--------------------------------------------------------------------===//
  // Lines, names and signatures (KernelPrinter.cpp)
  //===--------------------------------------------------------------------===//

  void line(const Twine &text);
  /// A line after a comment with the source statement, if that is another one.
  void statement(Operation *op, const Twine &text);
  mlir::InFlightDiagnostic fail(Operation *op);
  /// The error for an op that is not expressed.
  void failFor(Operation *op);
  std::string takeName(StringRef wish);
  std::string bind(Value value, StringRef wish = "");
  void define(Value value, const Expression &text);
  mlir::LogicalResult nameParameters();
  std::string getSignature();
  void printLaunch(StringRef name);
  void printCompilation();
  /// Calls the function of the module that `name` is.
  Expression help(StringRef name, llvm::ArrayRef<Expression> arguments);

  //===--------------------------------------------------------------------===//
  // Values (KernelPrinter.cpp)
  //===--------------------------------------------------------------------===//

  /// Decides which ops are parts of their users' expressions.
  void planFolding();
  /// True if `op` is printed where it stands.
  bool isWritten(Operation *op) const;
  /// The text of a value, of its own type in the DSL.
  Expression get(Value value);
  /// The text of an operand next to one that has its type: numbers are
  /// literals.
  Expression getLiteral(Value value);
  Expression getUnsigned(Value value);
  Expression print(Operation *op);
  /// The element type of the DSL's pointer that `pointer` is.
  static std::string getPointee(Value pointer);

  //===--------------------------------------------------------------------===//
  // Regions (ControlFlow.cpp)
  //===--------------------------------------------------------------------===//

  void printBlock(mlir::Block &block);
  void printOp(Operation *op);
  void printFor(mlir::scf::ForOp loop);
  void printWhile(mlir::scf::WhileOp loop);
  void printIf(mlir::scf::IfOp branch);
  void assignAll(Operation *at, llvm::ArrayRef<std::string> targets,
                 mlir::ValueRange values);
  std::string declare(Operation *at, Value value, const Expression &init);
  bool checkCarried(Operation *op, mlir::TypeRange types);

  //===--------------------------------------------------------------------===//
  // Ops (one file for each kind)
  //===--------------------------------------------------------------------===//

  std::optional<Expression> printArith(Operation *op);
  std::optional<Expression> printInteger(Operation *op);
  std::optional<Expression> printMath(Operation *op);
  std::optional<Expression> printVector(Operation *op);
  std::optional<Expression> printMemory(Operation *op);
  std::optional<Expression> printThread(Operation *op);
  bool printStatement(Operation *op);
  Expression getTyped(Value address, mlir::Type type);
  Expression printAddress(mlir::LLVM::GEPOp op);
  Expression printShuffle(mlir::gpu::ShuffleOp shuffle);

  mlir::gpu::GPUFuncOp kernel;
  llvm::raw_ostream &os;
  llvm::DenseMap<Value, std::string> variables;
  /// Ops that are parts of expressions, and of how many ops.
  llvm::DenseMap<Operation *, unsigned> folded;
  llvm::StringSet<> names;
  std::set<std::string> helpers;
  mlir::StringAttr lastSource;
  unsigned depth = 0;
  bool failed = false;
};

} // namespace tl::cutedsl

#endif // TL_LIB_TARGET_CUTEDSL_KERNELPRINTER_H
