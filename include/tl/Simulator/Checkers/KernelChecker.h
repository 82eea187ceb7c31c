//===- KernelChecker.h - Before the kernels in front are done ---*- C++ -*-===//
//
// A dependent launch begins while the kernel in front of it may still run, and
// neither that kernel's writes are there, nor are its reads done, until a
// thread has executed `griddepcontrol.wait` (PTX ISA, "griddepcontrol"). So
// whoever touches device memory must have done so, or know of a thread that
// has. And some thread of the launch must have: a kernel behind it waits for
// this one only.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_KERNELCHECKER_H
#define TL_SIMULATOR_CHECKERS_KERNELCHECKER_H

#include "tl/Simulator/Checkers/BlockOrder.h"
#include "tl/Simulator/Checkers/Findings.h"

namespace tl::sim {

class KernelChecker {
public:
  KernelChecker(const BlockOrder &order, Findings &findings)
      : order(order), findings(findings) {}

  void access(const AccessEvent &event);
  void issue(const AsyncEvent &event);

private:
  void check(const Event &event, llvm::StringRef what);

  const BlockOrder &order;
  Findings &findings;
  /// Lanes of each warp that know of a wait, as far as that was asked: they do
  /// not forget it.
  llvm::SmallVector<LaneMask, 8> known;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_KERNELCHECKER_H
