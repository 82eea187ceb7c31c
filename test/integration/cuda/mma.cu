// C = A B^T by mma.sync.m16n8k16: a tile of 16 x 8 for each warp. M is a
// multiple of 16, N of 8, and K of 16.
#include <cuda_fp16.h>
#include <stdint.h>

__device__ uint32_t load_pair(const half *p) { return *(const uint32_t *)p; }

extern "C" __global__ void mma_gemm(const half *a, const half *b, float *c,
                                    int m, int n, int k) {
  int group = threadIdx.x / 4, lane = threadIdx.x % 4 * 2;
  int row = blockIdx.y * 16 + group, col = blockIdx.x * 8;
  const half *top = a + (size_t)row * k + lane;
  const half *bottom = top + (size_t)8 * k;
  const half *right = b + (size_t)(col + group) * k + lane;
  float d[4] = {};
  for (int i = 0; i < k; i += 16) {
    uint32_t a0 = load_pair(top + i), a1 = load_pair(bottom + i);
    uint32_t a2 = load_pair(top + i + 8), a3 = load_pair(bottom + i + 8);
    uint32_t b0 = load_pair(right + i), b1 = load_pair(right + i + 8);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  float *out = c + (size_t)row * n + col + lane;
  out[0] = d[0];
  out[1] = d[1];
  out[(size_t)8 * n] = d[2];
  out[(size_t)8 * n + 1] = d[3];
}
