//===- HostMachine.cpp - The processor that code is made for --------------===//
//
// See HostMachine.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Target/CPU/HostMachine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace tl;

/// Bytes of the widest vector register that arithmetic on floats can use.
static int64_t getVectorBytes(const llvm::StringMap<bool> &features) {
  if (features.lookup("avx512f"))
    return 64;
  return features.lookup("avx") ? 32 : 16;
}

static HostMachine detect() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> flags;
  for (const llvm::StringMapEntry<bool> &feature : features)
    flags.push_back((feature.second ? "+" : "-") + feature.first().str());
  // A map has no order of its own; a key must have one.
  llvm::sort(flags);
  return {llvm::sys::getHostCPUName().str(), llvm::join(flags, ","),
          getVectorBytes(features)};
}

const HostMachine &HostMachine::get() {
  static const HostMachine machine = detect();
  return machine;
}
