// y = x / sum(x): partial sums, a barrier of the whole grid, then the division.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void normalize(const float *x, float *y, float *partial, int n) {
  __shared__ float warps[32];
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  float sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size())
    sum += x[i];
  for (int offset = 16; offset > 0; offset /= 2)
    sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = sum;
  block.sync();
  if (threadIdx.x == 0) {
    float all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
      all += warps[w];
    partial[blockIdx.x] = all;
  }
  grid.sync();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b)
    total += partial[b];
  for (int i = grid.thread_rank(); i < n; i += grid.size())
    y[i] = x[i] / total;
}
