//===- DriverTest.cpp - Open and ask the CUDA driver ----------------------===//

#include "FakeDriverTest.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::runtime;
using namespace tl::runtime::cu;

namespace {

class DriverTest : public FakeDriverTest {};

TEST_F(DriverTest, MissingLibrary) {
  Error error = Driver::open("/nowhere/libcuda.so.1").takeError();
  expectError(std::move(error), ErrorCategory::NoCUDA,
              "no CUDA driver: /nowhere/libcuda.so.1: cannot open shared "
              "object file: No such file or directory; install the NVIDIA "
              "driver, or give a container access to the GPU");
}

TEST_F(DriverTest, LibraryThatIsNoDriver) {
  expectError(Driver::open("libm.so.6").takeError(), ErrorCategory::NoCUDA,
              "the CUDA driver has no function `cuInit`; reinstall the NVIDIA "
              "driver");
}

TEST_F(DriverTest, OldDriver) {
  fake->version = 11040;
  expectError(open().takeError(), ErrorCategory::NoCUDA,
              "the CUDA driver supports CUDA 11.4, expected 12.0 or newer; "
              "update the NVIDIA driver");
}

TEST_F(DriverTest, NoDeviceIsNoError) {
  fake->failures["cuInit"] = CUDA_ERROR_NO_DEVICE;
  std::unique_ptr<Driver> driver = cantFail(open());
  EXPECT_EQ(driver->getDeviceCount(), 0);
  expectError(driver->synchronize(0), ErrorCategory::NoCUDA,
              "there is no cuda:0, the number of GPUs is 0; is "
              "CUDA_VISIBLE_DEVICES set?");
}

TEST_F(DriverTest, OtherStartErrors) {
  fake->failures["cuInit"] = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  expectError(open().takeError(), ErrorCategory::NoCUDA,
              "starting the CUDA driver failed: CUDA error 803 (no "
              "description)");
}

TEST_F(DriverTest, Properties) {
  std::unique_ptr<Driver> driver = cantFail(open());
  EXPECT_EQ(driver->getVersion(), 12080);
  EXPECT_EQ(driver->getDeviceCount(), 2);
  DeviceInfo info = cantFail(driver->getDeviceInfo(1));
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.major, 9);
  EXPECT_EQ(info.minor, 0);
  EXPECT_EQ(info.memory, uint64_t(80) << 30);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.sharedMemoryPerBlock, 232448);
  EXPECT_EQ(info.l2CacheSize, 60 << 20);
  EXPECT_EQ(info.clockRate, 1980000);
  EXPECT_EQ(info.memoryClockRate, 3201000);
  expectError(driver->getDeviceInfo(2).takeError(), ErrorCategory::NoCUDA,
              "there is no cuda:2, the number of GPUs is 2; is "
              "CUDA_VISIBLE_DEVICES set?");
}

TEST_F(DriverTest, MemoryGoesThereAndBack) {
  std::unique_ptr<Driver> driver = cantFail(open());
  void *pointer = cantFail(driver->allocate(1, 16));
  EXPECT_EQ(fake->current, FakeDriver::primaryContext(1));
  int sent[4] = {1, 2, 3, 4}, back[4] = {};
  expectSuccess(driver->copyToDevice(1, pointer, sent, sizeof(sent)));
  expectSuccess(driver->copyToHost(1, back, pointer, sizeof(back)));
  EXPECT_TRUE(std::equal(sent, sent + 4, back));
  expectSuccess(driver->free(1, pointer));
  expectSuccess(driver->synchronize(1));
  EXPECT_EQ(fake->countCalls("cuMemFree_v2"), 1u);
  EXPECT_EQ(fake->countCalls("cuCtxSynchronize"), 1u);
  EXPECT_EQ(fake->countCalls("cuDevicePrimaryCtxRetain"), 1u);
}

TEST_F(DriverTest, MemoryOfTheHostIsShared) {
  std::unique_ptr<Driver> driver = cantFail(open());
  void *pointer = cantFail(driver->allocateShared(1, 16));
  EXPECT_EQ(fake->current, FakeDriver::primaryContext(1));
  EXPECT_NE(pointer, nullptr);
  expectSuccess(driver->freeShared(1, pointer));
  EXPECT_EQ(fake->countCalls("cuMemFreeHost"), 1u);
  fake->failures["cuMemHostAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  expectError(driver->allocateShared(1, 16).takeError(),
              ErrorCategory::OutOfMemory,
              "allocating 16 bytes of the host for cuda:1 failed: "
              "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}

TEST_F(DriverTest, FillsAndCopiesOnADevice) {
  std::unique_ptr<Driver> driver = cantFail(open());
  char first[4] = {}, second[4] = {1, 2, 3, 4};
  expectSuccess(driver->fill(1, first, 7, sizeof(first), nullptr));
  EXPECT_EQ(StringRef(first, 4), "\7\7\7\7");
  EXPECT_EQ(fake->current, FakeDriver::primaryContext(1));
  expectSuccess(driver->copyOnDevice(1, first, second, sizeof(first), nullptr));
  EXPECT_EQ(StringRef(first, 4), "\1\2\3\4");
  fake->failures["cuMemsetD8Async"] = CUDA_ERROR_INVALID_VALUE;
  expectError(driver->fill(1, first, 7, 4, nullptr), ErrorCategory::CUDA,
              "filling 4 bytes on cuda:1 failed: CUDA error 1 (no "
              "description)");
  fake->failures["cuMemcpyDtoDAsync_v2"] = CUDA_ERROR_INVALID_VALUE;
  expectError(driver->copyOnDevice(0, first, second, 4, nullptr),
              ErrorCategory::CUDA,
              "copying 4 bytes within cuda:0 failed: CUDA error 1 (no "
              "description)");
}

TEST_F(DriverTest, EventsMeasureTime) {
  std::unique_ptr<Driver> driver = cantFail(open());
  CUevent start = cantFail(driver->createEvent(0));
  CUevent end = cantFail(driver->createEvent(0));
  for (CUevent event : {start, end, end})
    expectSuccess(driver->recordEvent(0, event, nullptr));
  EXPECT_EQ(cantFail(driver->getElapsedTime(0, start, end)), 2.0f);

  fake->failures["cuEventSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  expectError(driver->getElapsedTime(0, start, end).takeError(),
              ErrorCategory::CUDA,
              "timing on cuda:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS (no "
              "description); an earlier kernel may be the cause, run it under "
              "`compute-sanitizer`");
  expectSuccess(driver->destroyEvent(0, start));
  expectSuccess(driver->destroyEvent(0, end));
  EXPECT_EQ(fake->countCalls("cuEventDestroy_v2"), 2u);

  fake->failures["cuEventCreate"] = CUDA_ERROR_OUT_OF_MEMORY;
  expectError(driver->createEvent(1).takeError(), ErrorCategory::OutOfMemory,
              "creating an event on cuda:1 failed: CUDA_ERROR_OUT_OF_MEMORY "
              "(out of memory)");
}

TEST_F(DriverTest, NothingNeedsNoDriver) {
  std::unique_ptr<Driver> driver = cantFail(open());
  fake->calls.clear();
  EXPECT_EQ(cantFail(driver->allocate(0, 0)), nullptr);
  expectSuccess(driver->free(0, nullptr));
  EXPECT_EQ(cantFail(driver->allocateShared(0, 0)), nullptr);
  expectSuccess(driver->freeShared(0, nullptr));
  expectSuccess(driver->copyToDevice(0, nullptr, nullptr, 0));
  expectSuccess(driver->copyToHost(0, nullptr, nullptr, 0));
  expectSuccess(driver->fill(0, nullptr, 0, 0, nullptr));
  expectSuccess(driver->copyOnDevice(0, nullptr, nullptr, 0, nullptr));
  EXPECT_TRUE(fake->calls.empty());
}

TEST_F(DriverTest, ErrorsSayWhatWasDone) {
  std::unique_ptr<Driver> driver = cantFail(open());
  fake->failures["cuMemAlloc_v2"] = CUDA_ERROR_OUT_OF_MEMORY;
  expectError(driver->allocate(0, 1024).takeError(), ErrorCategory::OutOfMemory,
              "allocating 1024 bytes on cuda:0 failed: "
              "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  fake->failures["cuCtxSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  expectError(driver->synchronize(0), ErrorCategory::CUDA,
              "waiting for cuda:0 failed: CUDA_ERROR_ILLEGAL_ADDRESS (no "
              "description); an earlier kernel may be the cause, run it under "
              "`compute-sanitizer`");
  fake->failures["cuDevicePrimaryCtxRetain"] = CUDA_ERROR_NOT_INITIALIZED;
  expectError(driver->synchronize(1), ErrorCategory::CUDA,
              "creating a context on cuda:1 failed: CUDA error 3 (no "
              "description); a process forked after CUDA was used cannot use "
              "it, start it with `spawn`");
}

TEST_F(DriverTest, ContextsOfCallersAreKept) {
  std::unique_ptr<Driver> driver = cantFail(open());

  // A thread without a context keeps the primary one.
  expectSuccess(driver->synchronize(0));
  EXPECT_EQ(fake->current, FakeDriver::primaryContext(0));

  // The primary context is not set again.
  fake->calls.clear();
  expectSuccess(driver->synchronize(0));
  EXPECT_EQ(fake->calls,
            (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxSynchronize"}));

  // Any other is restored.
  expectSuccess(driver->synchronize(1));
  EXPECT_EQ(fake->current, FakeDriver::primaryContext(0));
  EXPECT_EQ(fake->countCalls("cuCtxSetCurrent"), 2u);
}

TEST_F(DriverTest, IsOfNoUseAfterAFork) {
  std::unique_ptr<Driver> driver = cantFail(open());
  cantFail(driver->synchronize(0));
  pid_t child = fork();
  if (child == 0) {
    bool refuses = toString(driver->synchronize(0))
                       .find("forked after CUDA had been initialised") !=
                   std::string::npos;
    // What starts CUDA itself may use it.
    bool works = !cantFail(open())->synchronize(0);
    _exit(refuses && works ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  cantFail(driver->synchronize(0));
}

TEST_F(DriverTest, CurrentDevice) {
  std::unique_ptr<Driver> driver = cantFail(open());
  EXPECT_EQ(driver->getCurrentDevice(), 0);
  fake->current = FakeDriver::primaryContext(1);
  EXPECT_EQ(driver->getCurrentDevice(), 1);
}

} // namespace
