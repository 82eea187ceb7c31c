//===- TestSupport.h - Tensors and errors for the runtime's tests -*- C++ -*-=//
//
// A tensor that owns its shape and its memory, and expectations on errors.
//
//===----------------------------------------------------------------------===//

#ifndef TL_TEST_UNIT_RUNTIME_TESTSUPPORT_H
#define TL_TEST_UNIT_RUNTIME_TESTSUPPORT_H

#include "tl/Runtime/Executable.h"
#include "tl/Runtime/RuntimeError.h"
#include "gtest/gtest.h"
#include <numeric>
#include <string>
#include <vector>

namespace tl::runtime {

inline constexpr DLDataType f16 = {kDLFloat, 16, 1};
inline constexpr DLDataType f32 = {kDLFloat, 32, 1};
inline constexpr DLDataType i32 = {kDLInt, 32, 1};
inline constexpr DLDataType u8 = {kDLUInt, 8, 1};

/// A contiguous tensor at a made-up aligned address, unless a test says
/// otherwise: the runtime never looks at the elements.
struct TestTensor : DLTensor {
  TestTensor(std::vector<int64_t> extents, DLDataType type,
             DLDevice device = {kDLCPU, 0})
      : extents(std::move(extents)) {
    data = reinterpret_cast<void *>(0x10000);
    this->device = device;
    dtype = type;
    byteOffset = 0;
    refresh();
  }
  TestTensor(const TestTensor &) = delete;

  TestTensor &withStrides(std::vector<int64_t> elements) {
    strideStorage = std::move(elements);
    refresh();
    return *this;
  }
  TestTensor &at(uintptr_t address) {
    data = reinterpret_cast<void *>(address);
    return *this;
  }

private:
  void refresh() {
    ndim = extents.size();
    shape = extents.data();
    strides = strideStorage.empty() ? nullptr : strideStorage.data();
  }

  std::vector<int64_t> extents;
  std::vector<int64_t> strideStorage;
};

/// Expects that `error` has exactly this category and message.
inline void expectError(llvm::Error error, ErrorCategory category,
                        llvm::StringRef message) {
  ASSERT_TRUE(static_cast<bool>(error))
      << "expected an error: " << message.str();
  llvm::handleAllErrors(std::move(error), [&](const RuntimeError &actual) {
    EXPECT_EQ(actual.getMessage(), message.str());
    EXPECT_EQ(static_cast<int>(actual.getCategory()),
              static_cast<int>(category));
  });
}

inline void expectSuccess(llvm::Error error) {
  if (error)
    FAIL() << llvm::toString(std::move(error));
}

/// Returns a plan with these arguments and launches, both JSON.
inline std::string makePlan(llvm::StringRef arguments,
                            llvm::StringRef launches = "") {
  return (R"({"version": 1, "name": "f", "args": [)" + arguments +
          R"(], "launches": [)" + launches + "]}")
      .str();
}

} // namespace tl::runtime

#endif // TL_TEST_UNIT_RUNTIME_TESTSUPPORT_H
