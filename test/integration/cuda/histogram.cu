// Counts bytes: in shared memory for each block, then in device memory.
extern "C" __global__ void histogram(const unsigned char *x, int *counts,
                                     long long n) {
  __shared__ int local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += step)
    atomicAdd(&local[x[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&counts[i], local[i]);
}
