// Inclusive prefix sums of rows of 1024, by shuffles within and across warps.
__device__ int scan_warp(int value) {
  for (int offset = 1; offset < 32; offset *= 2) {
    int other = __shfl_up_sync(0xffffffff, value, offset);
    if ((threadIdx.x & 31) >= offset)
      value += other;
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(1024)
    scan_rows(const int *x, int *y) {
  __shared__ int sums[32];
  size_t at = (size_t)blockIdx.x * 1024 + threadIdx.x;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int value = scan_warp(x[at]);
  if (lane == 31)
    sums[warp] = value;
  __syncthreads();
  if (warp == 0)
    sums[lane] = scan_warp(sums[lane]);
  __syncthreads();
  y[at] = value + (warp > 0 ? sums[warp - 1] : 0);
}
