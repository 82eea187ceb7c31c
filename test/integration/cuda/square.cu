#include "square.cuh"

namespace math {
// y = x^2, WIDTH elements for each thread.
template <typename T, int WIDTH>
__global__ void square(const T *x, T *y, int n) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * WIDTH;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i)
    if (first + i < n)
      y[first + i] = squared(x[first + i]);
}
} // namespace math
