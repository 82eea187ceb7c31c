//===- KernelChecker.cpp - Before the kernels in front are done -----------===//

#include "tl/Simulator/Checkers/KernelChecker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace tl::sim;

void KernelChecker::access(const AccessEvent &event) {
  if (event.space == Space::Global)
    check(event,
          event.writes() ? "writes device memory" : "reads device memory");
}

void KernelChecker::issue(const AsyncEvent &event) {
  auto touches = [](llvm::ArrayRef<Span> spans) {
    return llvm::any_of(spans, [](const Span &span) {
      return span.space == Space::Global && span.bytes;
    });
  };
  if (touches(event.writes))
    check(event, "begins to write device memory");
  else if (touches(event.reads))
    check(event, "begins to read device memory");
}

void KernelChecker::check(const Event &event, llvm::StringRef what) {
  unsigned warp = order.getIndex(event.warp);
  if (warp >= known.size())
    known.resize(warp + 1);
  LaneMask lanes = event.lanes & ~known[warp];
  if (!lanes)
    return;
  if (order.knowKernels(warp, lanes)) {
    known[warp] |= lanes;
    return;
  }
  if (!findings.isNew(Report::Kind::Race, event.instruction, event.instruction))
    return;
  Report report;
  report.kind = Report::Kind::Race;
  report.message =
      "the kernel launched before may still run; `griddepcontrol.wait` by this "
      "thread, or a barrier behind that of another one, would order them";
  report.sides.push_back(
      {event.instruction, event.warp, llvm::countr_zero(lanes), what.str()});
  findings.add(std::move(report));
}
