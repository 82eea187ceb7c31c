// What the support header offers authors of kernels, beyond what generated code
// calls.

#include <tl/cuda.h>

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    calls(int *out, const __grid_constant__ tl::TensorMap map) {
  __shared__ alignas(16) int word[4];
  __shared__ alignas(8) long long barrier[1];
  int x = threadIdx.x;

  tl::barrier_sync(0);
  tl::barrier_arrive(1, 64);
  x += tl::shfl_sync_bfly(0xffffffffu, x, 1, 31).first;
  x += tl::shfl_sync_up(0xffffffffu, x, 1, 0).first;
  x += tl::shfl_sync_down(0xffffffffu, x, 1, 31).first;
  x += tl::shfl_sync_idx(0xffffffffu, x, 0, 31).second;
  x += tl::shuffle_down(x, 1).first + tl::vote_uniform(0xffffffffu, x > 0);
  tl::setmaxnreg_dec<24>();
  tl::setmaxnreg_inc<32>();
  tl::griddep_wait();
  tl::griddep_launch_dependents();

  tl::cluster_arrive();
  tl::cluster_wait();
  tl::cluster_arrive_aligned();
  tl::cluster_wait_aligned();
  *tl::map_shared(word, tl::cluster_rank() ^ 1) = x;

  tl::prefetch_tensormap(&map);
  if (tl::elect_sync()) {
    tl::mbarrier_arrive(barrier);
    tl::mbarrier_arrive(barrier, 2);
    tl::mbarrier_arrive_relaxed_cta(barrier);
    tl::mbarrier_arrive_relaxed_cluster(barrier, 2);
    tl::mbarrier_arrive_release_cluster(barrier);
    tl::mbarrier_arrive_expect_tx_relaxed_cta(barrier, 16);
    tl::mbarrier_arrive_remote(barrier);
    tl::mbarrier_arrive_expect_tx_remote(barrier, 16);
    tl::cp_async_mbarrier_arrive(barrier);
    tl::cp_async_mbarrier_arrive_noinc(barrier);
    tl::mbarrier_inval(barrier);
  }
  out[threadIdx.x] = x + word[0];
}
