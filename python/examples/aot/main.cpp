//===- main.cpp - A program that calls a compiled kernel ------------------===//
//
// Links the library that make_library.py wrote for the CPU. For a GPU, `data`
// is an address of its memory and the device is {2, number}.
//
//===----------------------------------------------------------------------===//

#include "saxpy.h"

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

/// A contiguous vector of the CPU's memory, as the library takes it.
static TlTensor makeTensor(std::vector<float> &values, const int64_t &size) {
  return {values.data(),
          {/*type=*/1, /*id=*/0},
          /*rank=*/1,
          {/*code=*/2, /*bits=*/32, /*lanes=*/1},
          &size,
          nullptr,
          0};
}

int main() {
  const int64_t size = 100'000;
  std::vector<float> x(size), y(size, 1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  TlTensor X = makeTensor(x, size), Y = makeTensor(y, size);
  if (tl_saxpy(&X, &Y, 0.5f, /*stream=*/nullptr) != 0) {
    std::fprintf(stderr, "%s\n", tl_saxpy_error());
    return 1;
  }
  for (int64_t i = 0; i != size; ++i)
    if (y[i] != 0.5f * x[i] + 1.0f) {
      std::fprintf(stderr, "y[%lld] is %g\n", static_cast<long long>(i), y[i]);
      return 1;
    }

  // What is wrong is said as it is in Python.
  const int64_t fewer = size - 1;
  Y.shape = &fewer;
  if (tl_saxpy(&X, &Y, 0.5f, nullptr) != TL_ERROR_SHAPE)
    return 1;
  std::printf("y = 0.5 x + 1; and an error: %s\n", tl_saxpy_error());
  return 0;
}
