//===- FakeDriverTest.h - Fixture with a fake CUDA driver -------*- C++ -*-===//

#ifndef TL_TEST_UNIT_RUNTIME_FAKEDRIVERTEST_H
#define TL_TEST_UNIT_RUNTIME_FAKEDRIVERTEST_H

#include "FakeDriver.h"
#include "TestSupport.h"
#include "tl/Runtime/Driver.h"
#include <dlfcn.h>

namespace tl::runtime {

/// Each test starts with a fake driver that has forgotten the last test's.
class FakeDriverTest : public testing::Test {
protected:
  FakeDriverTest() {
    void *library = dlopen(TL_FAKE_DRIVER_PATH, RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(library) << dlerror();
    auto get = reinterpret_cast<decltype(&getFakeDriver)>(
        dlsym(library, "getFakeDriver"));
    fake = get();
    *fake = {};
  }

  llvm::Expected<std::unique_ptr<Driver>> open() {
    return Driver::open(TL_FAKE_DRIVER_PATH);
  }

  FakeDriver *fake;
};

} // namespace tl::runtime

#endif // TL_TEST_UNIT_RUNTIME_FAKEDRIVERTEST_H
