//===- PlanExecutable.h - An executable that interprets a plan --*- C++ -*-===//
//
// What launches on a GPU and on the CPU have in common: everything up to the
// launch.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_PLANEXECUTABLE_H
#define TL_RUNTIME_PLANEXECUTABLE_H

#include "tl/Runtime/Executable.h"
#include "tl/Runtime/Frame.h"

namespace tl::runtime {

class PlanExecutable : public Executable {
public:
  llvm::Error call(llvm::ArrayRef<Argument> arguments,
                   void *stream) const final;

protected:
  PlanExecutable(LaunchPlan plan, DLDeviceType deviceType)
      : plan(std::move(plan)), deviceType(deviceType) {}

  /// Runs the launches of `frame` on device `device`, or on the current one if
  /// that is negative.
  virtual llvm::Error launch(Frame &frame, llvm::ArrayRef<Argument> arguments,
                             int device, void *stream) const = 0;

  LaunchPlan plan;

private:
  DLDeviceType deviceType;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_PLANEXECUTABLE_H
