//===- ArgumentBinder.h - Check arguments and fill slots --------*- C++ -*-===//
//
// Compares the arguments of a call with what a launch plan says of them and
// writes extents, strides and scalars into the call's slots.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_RUNTIME_ARGUMENTBINDER_H
#define TL_LIB_RUNTIME_ARGUMENTBINDER_H

#include "tl/Runtime/Executable.h"
#include "tl/Runtime/RuntimeError.h"
#include "llvm/ADT/SmallVector.h"

namespace tl::runtime {

class ArgumentBinder {
public:
  ArgumentBinder(const LaunchPlan &plan, llvm::ArrayRef<Argument> arguments,
                 DLDeviceType deviceType, llvm::MutableArrayRef<int64_t> slots)
      : plan(plan), arguments(arguments), deviceType(deviceType), slots(slots),
        solvedBy(plan.symbols.size(), unsolved) {}

  /// Checks everything. On success all slots are filled; the stride of an
  /// extent that is not checked holds what the plan asks for, so that every
  /// place of a symbol has the symbol's value.
  llvm::Error bind();

  /// Does the same without the shortcut for ordinary arguments.
  llvm::Error bindWithCare();

  /// After `bind`: the device that the tensors are on, or -1 without tensors.
  int getDevice() const { return device; }

private:
  bool bindOrdinary();
  bool bindOrdinaryTensor(const PlanArgument &argument, const Argument &actual);
  bool agrees(unsigned slot);

  /// Coordinates are 32 bits wide; offsets, and so the number of elements, are
  /// not.
  static constexpr int64_t kLargestExtent = INT32_MAX;

  llvm::Error checkCount() const;
  llvm::Error bindTensor(unsigned position);
  llvm::Error checkDevice(unsigned position);
  llvm::Error checkData(unsigned position) const;
  llvm::Error bindScalar(unsigned position);
  llvm::Error bindInteger(const PlanArgument &argument, const Argument &actual);
  llvm::Error bindFloat(const PlanArgument &argument, const Argument &actual);

  llvm::Error checkShape(const PlanArgument &argument);
  llvm::Error checkStrides(const PlanArgument &argument);
  llvm::Error checkContiguous(const PlanArgument &argument, bool isEmpty);
  llvm::Error checkSlot(const PlanArgument &argument, unsigned slot);
  void fillUncheckedStrides(const PlanArgument &argument);

  llvm::Error fail(ErrorCategory category, const llvm::Twine &message) const;
  std::string describeSlot(unsigned slot) const;
  std::string describeActualShape(const PlanArgument &argument) const;
  bool isEmpty(const PlanArgument &argument) const;

  static constexpr int unsolved = -1;

  const LaunchPlan &plan;
  llvm::ArrayRef<Argument> arguments;
  DLDeviceType deviceType;
  llvm::MutableArrayRef<int64_t> slots;
  /// For each symbol the slot that gave it its value.
  llvm::SmallVector<int, 16> solvedBy;
  /// The first tensor argument, which the others must share the device with.
  int firstTensor = -1;
  int device = -1;
};

} // namespace tl::runtime

#endif // TL_LIB_RUNTIME_ARGUMENTBINDER_H
