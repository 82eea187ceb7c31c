//===- DeviceHeader.cpp - The support header, from memory -----------------===//

#include "tl/Target/CUDACpp/DeviceHeader.h"

static constexpr unsigned char kBytes[] = {
#include "DeviceHeader.inc"
};

llvm::StringRef tl::getDeviceHeader() {
  return llvm::StringRef(reinterpret_cast<const char *>(kBytes),
                         sizeof(kBytes));
}
