//===- TlError.h - An error on its way to a caller --------------*- C++ -*-===//
//
// What `TlError` of tl-c/Runtime.h is inside of the library.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_TLERROR_H
#define TL_LIB_CAPI_TLERROR_H

#include "tl-c/Runtime.h"

#include <string>

struct TlError {
  TlErrorCategory category;
  std::string message;
};

#endif // TL_LIB_CAPI_TLERROR_H
