//===- RuntimeError.h - Errors with a category ------------------*- C++ -*-===//
//
// Every error of the runtime says what kind of mistake it is, so that a
// language binding can raise the exception class its users expect.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_RUNTIMEERROR_H
#define TL_RUNTIME_RUNTIMEERROR_H

#include "llvm/Support/Error.h"
#include <string>

namespace tl::runtime {

/// What kind of mistake an error is. The numbers are those of TlErrorCategory
/// in tl-c/Runtime.h, which describes them.
enum class ErrorCategory {
  Plan = 1,
  ArgumentCount = 2,
  ArgumentKind = 3,
  Rank = 4,
  DType = 5,
  Shape = 6,
  Stride = 7,
  Alignment = 8,
  Device = 9,
  NullPointer = 10,
  Value = 11,
  Architecture = 12,
  NoCUDA = 13,
  OutOfMemory = 14,
  CUDA = 15,
  Simulation = 16,
  Interrupted = 17,
  Deadlock = 18,
};

class RuntimeError : public llvm::ErrorInfo<RuntimeError> {
public:
  static char ID;

  RuntimeError(ErrorCategory category, const llvm::Twine &message)
      : category(category), text(message.str()) {}

  ErrorCategory getCategory() const { return category; }
  const std::string &getMessage() const { return text; }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  ErrorCategory category;
  std::string text;
};

/// Returns a RuntimeError. Kept out of line: call sites are cold.
llvm::Error makeError(ErrorCategory category, const llvm::Twine &message);

/// Returns `error`, which must be a RuntimeError, with `text` at the end of its
/// message.
llvm::Error appendToMessage(llvm::Error error, const llvm::Twine &text);

} // namespace tl::runtime

#endif // TL_RUNTIME_RUNTIMEERROR_H
