//===- DeviceHeader.h - The support header, from memory ---------*- C++ -*-===//
//
// `<tl/cuda.h>` is a part of the library, so that compilers find it wherever
// the library is, and the library's identity is the header's too.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TARGET_CUDACPP_DEVICEHEADER_H
#define TL_TARGET_CUDACPP_DEVICEHEADER_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// The path by which programs include the support header.
inline constexpr llvm::StringLiteral kDeviceHeader = "tl/cuda.h";

/// The text of the support header: the bytes of include/tl/cuda.h.
llvm::StringRef getDeviceHeader();

} // namespace tl

#endif // TL_TARGET_CUDACPP_DEVICEHEADER_H
