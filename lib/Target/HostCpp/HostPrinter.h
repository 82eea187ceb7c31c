//===- HostPrinter.h - Prints a launch plan for one chip --------*- C++ -*-===//

#ifndef TL_LIB_TARGET_HOSTCPP_HOSTPRINTER_H
#define TL_LIB_TARGET_HOSTCPP_HOSTPRINTER_H

#include "tl/Target/HostCpp/HostProgram.h"
#include "llvm/ADT/MapVector.h"

namespace tl {

/// The code for GPUs, each piece once.
class DeviceImages {
public:
  /// Returns the number of `code` in the names `tl_image_0`, `tl_image_1` …
  unsigned getNumber(llvm::StringRef code) {
    return numbers.insert({code, numbers.size()}).first->second;
  }

  /// Pairs of code and number, in the order of the numbers.
  auto begin() const { return numbers.begin(); }
  auto end() const { return numbers.end(); }
  bool empty() const { return numbers.empty(); }

private:
  llvm::MapVector<llvm::StringRef, unsigned> numbers;
};

/// Returns the kernels that a plan launches, each once.
std::vector<llvm::StringRef> getKernelNames(const runtime::LaunchPlan &plan);

/// Returns the header of the types of a call, which users of a library include.
HostFile getCallHeader();

/// Prints what is of one chip: a namespace with its name, in which the function
/// `run` takes a call.
class HostPrinter {
public:
  HostPrinter(const HostProgram &program, DeviceImages &images,
              llvm::raw_ostream &os);

  void print();

private:
  unsigned argumentCount() const { return plan.arguments.size(); }
  const std::string &getSymbol(unsigned number) const {
    return names[argumentCount() + number];
  }
  /// Returns the number of a launch's kernel.
  unsigned getKernel(const runtime::Launch &launch) const;

  std::string printSlot(unsigned slot) const;
  std::string printExpression(const runtime::Expression &expression) const;
  std::string printComputation(llvm::StringRef method, llvm::StringRef limit,
                               const runtime::Expression &expression,
                               unsigned indent) const;
  std::string printRequirement(const runtime::Requirement &required) const;
  std::string printWord(const runtime::Parameter &parameter) const;

  void printProgram();
  void printParameters();
  void printChecks();
  void printCheck(llvm::StringRef method, llvm::StringRef tensor,
                  unsigned first, unsigned count);
  void printGrid(const runtime::Launch &launch, unsigned number);
  void printValues(const runtime::Launch &launch, unsigned number);
  std::string printParams(const runtime::Launch &launch, unsigned number);
  void printScope();
  void printDeviceLaunch(const runtime::Launch &launch, unsigned number);
  void printHostLaunch(const runtime::Launch &launch, unsigned number);

  const HostProgram &program;
  const runtime::LaunchPlan &plan;
  DeviceImages &images;
  llvm::raw_ostream &os;
  /// Of the arguments, then of the symbols.
  std::vector<std::string> names;
  std::vector<llvm::StringRef> kernels;
};

} // namespace tl

#endif // TL_LIB_TARGET_HOSTCPP_HOSTPRINTER_H
