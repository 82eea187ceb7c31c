// A histogram of 1024 bins whose parts lie in the shared memory of the blocks
// of a cluster.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

constexpr int BINS = 1024;

extern "C" __global__ void cluster_histogram(const int *x, int *counts, int n) {
  extern __shared__ int bins[];
  cg::cluster_group cluster = cg::this_cluster();
  int mine = BINS / cluster.num_blocks();
  for (int i = threadIdx.x; i < mine; i += blockDim.x)
    bins[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    int bin = x[i] & (BINS - 1);
    int *owner = cluster.map_shared_rank(bins, bin / mine);
    atomicAdd(owner + bin % mine, 1);
  }
  cluster.sync();
  int first = cluster.block_rank() * mine;
  for (int i = threadIdx.x; i < mine; i += blockDim.x)
    atomicAdd(&counts[first + i], bins[i]);
}
