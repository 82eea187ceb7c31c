//===- Expression.h - C++ expressions and types -----------------*- C++ -*-===//
//
// Text with what one must know to put it into a larger expression: how tightly
// it binds, and whether C++ takes it for unsigned. Integers of the IR have no
// sign; in C++ each operation must see the one that it means.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CUDACPP_EXPRESSION_H
#define TL_LIB_TARGET_CUDACPP_EXPRESSION_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <string>

namespace tl::cuda {

/// How tightly an expression binds: the levels of C++, from the loosest.
enum class Binding {
  Conditional,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Unary,
  Primary
};

struct Expression {
  std::string text;
  Binding binding = Binding::Primary;
  bool isUnsigned = false;
  /// An integer literal, which takes the sign that is asked for.
  bool isLiteral = false;

  /// The text, in parentheses if it binds less than `least`.
  std::string at(Binding least) const {
    return binding < least ? "(" + text + ")" : text;
  }
};

/// The width of integers of `type`; an index has 32 bits.
unsigned getIntegerWidth(mlir::Type type);

/// The C++ type of a scalar, or of an element of `type`.
llvm::StringRef getScalarType(mlir::Type type, bool isUnsigned = false);

/// The C++ type of a value that is not a pointer.
std::string getValueType(mlir::Type type);

/// `x` of the IR's type `type`, in the sign that an operation means.
Expression asSigned(const Expression &x, mlir::Type type);
Expression asUnsigned(const Expression &x, mlir::Type type);

/// A literal.
Expression getLiteral(mlir::Attribute value, mlir::Type type);
Expression getLiteral(const llvm::APInt &value, mlir::Type type);
Expression getHexLiteral(const llvm::APInt &value, mlir::Type type);

/// `function(arguments)`.
Expression call(const llvm::Twine &function,
                llvm::ArrayRef<Expression> arguments);

/// `(type)x`.
Expression cast(llvm::StringRef type, const Expression &x);

} // namespace tl::cuda

#endif // TL_LIB_TARGET_CUDACPP_EXPRESSION_H
