//===- Names.h - Names of a program in C and C++ ----------------*- C++ -*-===//

#ifndef TL_LIB_TARGET_HOSTCPP_NAMES_H
#define TL_LIB_TARGET_HOSTCPP_NAMES_H

#include "tl/Runtime/LaunchPlan.h"
#include <string>
#include <vector>

namespace tl {

/// Whether `name` is an identifier of C.
bool isIdentifier(llvm::StringRef name);

/// Returns what the arguments of `plan` are called in C++: their own names as
/// far as possible, without those that are taken. Symbols, which are variables
/// too, follow the arguments.
std::vector<std::string> getVariableNames(const runtime::LaunchPlan &plan);

/// Returns the C parameters that stand for the arguments, and the stream.
std::vector<std::string> getCParameters(const runtime::LaunchPlan &plan);

/// Returns `head`, the items with commas between them, and `tail`, broken into
/// lines that align with the first item.
std::string fill(llvm::StringRef head, llvm::ArrayRef<std::string> items,
                 llvm::StringRef tail);

/// Returns an argument in words: "f16 (m, 1024), contiguous, aligned to 16
/// bytes".
std::string describeArgument(const runtime::LaunchPlan &plan,
                             const runtime::PlanArgument &argument);

} // namespace tl

#endif // TL_LIB_TARGET_HOSTCPP_NAMES_H
