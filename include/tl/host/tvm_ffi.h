//===- tvm_ffi.h - Calls through the ABI of apache-tvm-ffi ------*- C++ -*-===//
//
// A library's function under the calling convention of tvm-ffi (its
// `tvm/ffi/c_api.h`), so that any host of tvm-ffi can load the library and call
// it. The convention is declared here, because it is an ABI, not a library; its
// two functions are taken from the libtvm_ffi.so that the host has opened, so
// that a library can be built and used without one.
//
//===----------------------------------------------------------------------===//

#ifndef TL_HOST_TVM_FFI_H
#define TL_HOST_TVM_FFI_H

#include "tl/host/call.h"

#include <dlfcn.h>

namespace tl {
namespace host {

/// A `TVMFFIAny`: a value with its type.
struct FFIValue {
  /// Those that a kernel can be passed.
  enum Type : int32_t {
    None = 0,
    Int = 1,
    Bool = 2,
    Float = 3,
    OpaquePointer = 4,
    DLTensorPointer = 7,
    TensorObject = 70,
    BigIntObject = 78,
  };

  int32_t type;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void *pointer;
  };
};
static_assert(sizeof(FFIValue) == 16, "the layout is an ABI");

/// What every object of tvm-ffi starts with.
struct FFIObject {
  uint64_t references;
  int32_t type;
  uint32_t padding;
  void *deleter;
};
static_assert(sizeof(FFIObject) == 24, "the layout is an ABI");

/// The functions of the host.
struct FFIHost {
  void (*setRaised)(const char *kind, const char *message) = nullptr;
  void *(*getStream)(int32_t deviceType, int32_t device) = nullptr;

  static const FFIHost &get() {
    static const FFIHost host;
    return host;
  }

private:
  FFIHost() {
    void *library = dlopen("libtvm_ffi.so", RTLD_NOW | RTLD_NOLOAD);
    // A host may have it linked statically.
    void *scope = library ? library : RTLD_DEFAULT;
    setRaised = reinterpret_cast<decltype(setRaised)>(
        dlsym(scope, "TVMFFIErrorSetRaisedFromCStr"));
    getStream = reinterpret_cast<decltype(getStream)>(
        dlsym(scope, "TVMFFIEnvGetStream"));
  }
};

/// Returns a value as an argument. A type that no kernel takes becomes a kind
/// that no check accepts.
inline TlArgument toArgument(const FFIValue &value) {
  switch (value.type) {
  case FFIValue::None:
    return toArgument(static_cast<const TlTensor *>(nullptr));
  case FFIValue::Int:
    return toArgument(value.integer);
  case FFIValue::Bool:
    return toArgument(value.integer != 0);
  case FFIValue::Float:
    return toArgument(value.real);
  case FFIValue::DLTensorPointer:
    return toArgument(static_cast<const TlTensor *>(value.pointer));
  case FFIValue::TensorObject:
    return toArgument(reinterpret_cast<const TlTensor *>(
        static_cast<const FFIObject *>(value.pointer) + 1));
  case FFIValue::BigIntObject: {
    // A count and that many words, the least significant one first. A second
    // one of zeros makes a number positive that fills the first.
    const auto *words = reinterpret_cast<const uint64_t *>(
        static_cast<const FFIObject *>(value.pointer) + 1);
    if (words[0] == 2 && words[2] == 0)
      return toArgument(words[1]);
    break;
  }
  default:
    break;
  }
  TlArgument argument = {};
  argument.kind = -1;
  return argument;
}

/// The exceptions that Python hosts raise, for each TlErrorCategory.
inline const char *getErrorKind(int category) {
  switch (category) {
  case TL_ERROR_ARGUMENT_COUNT:
  case TL_ERROR_ARGUMENT_KIND:
  case TL_ERROR_DTYPE:
  case TL_ERROR_NULL_POINTER:
    return "TypeError";
  case TL_ERROR_RANK:
  case TL_ERROR_SHAPE:
  case TL_ERROR_STRIDE:
  case TL_ERROR_ALIGNMENT:
  case TL_ERROR_DEVICE:
  case TL_ERROR_VALUE:
    return "ValueError";
  default:
    return "RuntimeError";
  }
}

/// Calls `run` with the values, on the stream that the host has chosen for the
/// GPU of the first tensor. Returns 0, or its category after the host has been
/// told what is wrong.
template <typename Run>
int callFromFFI(const FFIValue *values, int32_t count, std::string &message,
                Run run) {
  const FFIHost &host = FFIHost::get();
  int category = guard(message, [&] {
    std::vector<TlArgument> arguments(count);
    int device = 0;
    bool isFirst = true;
    for (int32_t i = 0; i != count; ++i) {
      arguments[i] = toArgument(values[i]);
      const TlTensor *tensor = arguments[i].value.tensor;
      if (arguments[i].kind != TL_ARGUMENT_TENSOR || !tensor || !isFirst)
        continue;
      device = tensor->device.id;
      isFirst = false;
    }
    constexpr int32_t cuda = 2;
    run(arguments.data(), arguments.size(),
        host.getStream ? host.getStream(cuda, device) : nullptr);
  });
  if (category != 0 && host.setRaised)
    host.setRaised(getErrorKind(category), message.c_str());
  return category;
}

} // namespace host
} // namespace tl

#endif // TL_HOST_TVM_FFI_H
