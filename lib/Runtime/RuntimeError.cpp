//===- RuntimeError.cpp - Errors with a category --------------------------===//

#include "tl/Runtime/RuntimeError.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl::runtime;

char RuntimeError::ID;

void RuntimeError::log(raw_ostream &os) const { os << text; }

std::error_code RuntimeError::convertToErrorCode() const {
  return inconvertibleErrorCode();
}

Error tl::runtime::makeError(ErrorCategory category, const Twine &message) {
  return make_error<RuntimeError>(category, message);
}

Error tl::runtime::appendToMessage(Error error, const Twine &text) {
  return handleErrors(std::move(error), [&](const RuntimeError &original) {
    return makeError(original.getCategory(), original.getMessage() + text);
  });
}
