// Transposes through a tile in shared memory, padded against bank conflicts.
constexpr int TILE = 32, ROWS = 8;

__global__ void __launch_bounds__(TILE * ROWS)
    transpose(const float *__restrict__ in, float *__restrict__ out, int m,
              int n) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < n && y + j < m)
      tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < m && y + j < n)
      out[(size_t)(y + j) * m + x] = tile[threadIdx.x][threadIdx.y + j];
}
