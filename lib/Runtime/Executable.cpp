//===- Executable.cpp - A launch plan with its kernels --------------------===//

#include "tl/Runtime/Executable.h"
#include "ArgumentBinder.h"
#include "tl/Runtime/PlanExecutable.h"

using namespace llvm;
using namespace tl::runtime;

KernelImage KernelImage::device(StringRef name, StringRef bytes) {
  return {name,
          bytes.starts_with("\x7f"
                            "ELF")
              ? Kind::Cubin
              : Kind::PTX,
          bytes};
}

KernelImage KernelImage::host(StringRef name, HostKernel function) {
  return {name, Kind::HostFunction, {}, function};
}

Executable::~Executable() = default;

Error PlanExecutable::call(ArrayRef<Argument> arguments, void *stream) const {
  Frame frame(plan);
  ArgumentBinder binder(plan, arguments, deviceType, frame.getSlots());
  if (Error error = binder.bind())
    return error;
  if (Error error = frame.evaluate(arguments))
    return error;
  return launch(frame, arguments, binder.getDevice(), stream);
}
