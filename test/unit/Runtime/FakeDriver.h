//===- FakeDriver.h - A libcuda that records calls --------------*- C++ -*-===//
//
// FakeDriver.cpp is a shared library with the entry points of libcuda.so.1. It
// owns one FakeDriver, which a test configures before and reads after; a test
// reaches it through the function `getFakeDriver` of the library.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_RUNTIME_FAKEDRIVER_H
#define TL_TEST_UNIT_RUNTIME_FAKEDRIVER_H

#include "tl/Runtime/CUDADriver.h"
#include <map>
#include <string>
#include <vector>

namespace tl::runtime {

struct FakeDriver {
  struct Launch {
    cu::CUlaunchConfig config;
    std::vector<cu::CUlaunchAttribute> attributes;
    std::string kernel;
    cu::CUcontext context;
    /// The values of the parameters, as many bytes of each as `parameterSizes`
    /// says.
    std::vector<std::vector<uint8_t>> params;
  };

  struct Encoding {
    cu::CUtensorMapDataType type;
    void *address;
    std::vector<uint64_t> dims, strides;
    std::vector<uint32_t> box, elementStrides;
    int interleave, swizzle, promotion, fill;
  };

  struct FunctionAttribute {
    std::string kernel;
    int attribute;
    int value;
    bool operator==(const FunctionAttribute &) const = default;
  };

  // What the driver answers.
  int version = 12080;
  int deviceCount = 2;
  int major = 9, minor = 0;
  /// Results of functions that shall fail, by name.
  std::map<std::string, cu::CUresult> failures;
  std::string compilerLog;
  std::vector<size_t> parameterSizes;
  /// The variables of every module, with their memory.
  std::map<std::string, std::vector<uint8_t>> variables;

  // What the driver was asked.
  std::vector<std::string> calls;
  std::vector<Launch> launches;
  std::vector<Encoding> encodings;
  std::vector<FunctionAttribute> functionAttributes;
  std::vector<std::string> images;
  int unloadedModules = 0;
  int clock = 0;

  /// The context of the test's thread.
  cu::CUcontext current = nullptr;

  static cu::CUcontext primaryContext(int device) {
    return reinterpret_cast<cu::CUcontext>(0x1000 + device);
  }
  size_t countCalls(const std::string &name) const {
    size_t count = 0;
    for (const std::string &call : calls)
      count += call == name;
    return count;
  }
};

} // namespace tl::runtime

extern "C" tl::runtime::FakeDriver *getFakeDriver();

#endif // TL_TEST_UNIT_RUNTIME_FAKEDRIVER_H
