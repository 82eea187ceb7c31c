//===- CAPITest.cpp - The runtime through its C interface -----------------===//

#include "TestSupport.h"
#include "tl-c/Runtime.h"
#include <cstring>

using namespace tl::runtime;

namespace {

/// Writes its second parameter to where its first one points.
void store(void *const *params, int64_t, int64_t, int64_t, int64_t) {
  **static_cast<float *const *>(params[0]) = *static_cast<float *>(params[1]);
}

const std::string plan = makePlan(
    R"({"kind": "tensor", "name": "Y", "dtype": "f32", "shape": [1]},
       {"kind": "scalar", "name": "a", "dtype": "f32"})",
    R"({"kernel": "store", "grid": [1, 1, 1], "block": [1, 1, 1],
        "params": [{"base": 0}, {"scalar": 1}]})");

TlArgument makeTensor(const TlTensor *tensor) {
  TlArgument argument;
  argument.kind = TL_ARGUMENT_TENSOR;
  argument.value.tensor = tensor;
  return argument;
}

TlArgument makeFloat(double value) {
  TlArgument argument;
  argument.kind = TL_ARGUMENT_FLOAT;
  argument.value.real = value;
  return argument;
}

TEST(CAPITest, CallsAnExecutable) {
  const char *name = "store";
  TlHostKernel function = store;
  TlError *error = nullptr;
  TlExecutable *executable = tlExecutableLoadHost(plan.data(), plan.size(), 1,
                                                  &name, &function, &error);
  ASSERT_TRUE(executable);

  float y = 0;
  int64_t extent = 1;
  TlTensor tensor = {&y,      {kDLCPU, 0}, 1, {kDLFloat, 32, 1},
                     &extent, nullptr,     0};
  TlArgument arguments[] = {makeTensor(&tensor), makeFloat(2.5)};
  EXPECT_TRUE(tlExecutableCall(executable, arguments, 2, nullptr, &error));
  EXPECT_EQ(error, nullptr);
  EXPECT_EQ(y, 2.5f);

  tensor.dtype.code = kDLInt;
  EXPECT_FALSE(tlExecutableCall(executable, arguments, 2, nullptr, &error));
  ASSERT_TRUE(error);
  EXPECT_EQ(tlErrorCategory(error), TL_ERROR_DTYPE);
  EXPECT_STREQ(tlErrorMessage(error),
               "`f`: argument `Y` has dtype i32, expected f32; convert it or "
               "compile the kernel for its dtype");
  tlErrorDestroy(error);

  // Whoever does not care about the reason need not take it.
  EXPECT_FALSE(tlExecutableCall(executable, arguments, 1, nullptr, nullptr));
  tlExecutableDestroy(executable);
}

TEST(CAPITest, ReportsMalformedPlans) {
  TlError *error = nullptr;
  EXPECT_FALSE(
      tlExecutableLoadCuda("{}", 2, 0, nullptr, nullptr, nullptr, &error));
  ASSERT_TRUE(error);
  EXPECT_EQ(tlErrorCategory(error), TL_ERROR_PLAN);
  tlErrorDestroy(error);

  error = nullptr;
  EXPECT_FALSE(tlExecutableLoadCuda(plan.data(), plan.size(), 0, nullptr,
                                    nullptr, nullptr, &error));
  ASSERT_TRUE(error);
  EXPECT_STREQ(tlErrorMessage(error),
               "`f`: kernel `store` has no cubin or PTX");
  tlErrorDestroy(error);
}

TEST(CAPITest, DestroysNothing) {
  tlExecutableDestroy(nullptr);
  tlErrorDestroy(nullptr);
  tlCudaEventDestroy(nullptr);
}

// Machines with and without a driver run this test.
TEST(CAPITest, DriverQueriesSucceedOrSayWhyNot) {
  int version = 0, count = -1;
  TlError *error = nullptr;
  if (tlCudaDriverVersion(&version, &error)) {
    EXPECT_GE(version, 12000);
    EXPECT_TRUE(tlCudaDeviceCount(&count, nullptr));
    EXPECT_GE(count, 0);
    EXPECT_FALSE(tlCudaEventCreate(count, nullptr));
    EXPECT_FALSE(tlCudaSynchronize(count, &error));
  }
  ASSERT_TRUE(error);
  EXPECT_EQ(tlErrorCategory(error), TL_ERROR_NO_CUDA);
  EXPECT_NE(std::strlen(tlErrorMessage(error)), 0u);
  tlErrorDestroy(error);
}

} // namespace
