//===- cpu.h - Launches on the CPU, without a runtime -----------*- C++ -*-===//
//
// A launch is a loop over the blocks of its grid, shared among threads that
// live as long as the launch does.
//
//===----------------------------------------------------------------------===//

#ifndef TL_HOST_CPU_H
#define TL_HOST_CPU_H

#include "tl/host/call.h"

#include <atomic>
#include <system_error>
#include <thread>

namespace tl {
namespace host {

/// Runs all blocks of a grid, in as many threads as the machine has.
inline void launchOnHost(const Call &call, const char *name,
                         TlHostKernel kernel, const Grid &grid,
                         void *const *params) {
  int64_t blocks;
  if (__builtin_mul_overflow(grid.x * grid.y, grid.z, &blocks))
    call.failWith(TL_ERROR_VALUE, "kernel `", name,
                  "` has more blocks than 64 bits can count; pass smaller "
                  "tensors");
  int64_t threadCount =
      std::min<int64_t>(blocks, std::thread::hardware_concurrency());
  // A few pieces for each thread, so that uneven blocks even out.
  int64_t piece =
      std::max<int64_t>(1, blocks / (8 * std::max<int64_t>(threadCount, 1)));
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (;;) {
      int64_t begin = next.fetch_add(piece);
      if (begin >= blocks)
        return;
      kernel(params, begin, std::min(begin + piece, blocks), grid.x, grid.y);
    }
  };
  std::vector<std::thread> threads;
  try {
    while (static_cast<int64_t>(threads.size()) + 1 < threadCount)
      threads.emplace_back(work);
  } catch (const std::system_error &) {
    // Those that did start, and this one, do the work.
  }
  work();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace host
} // namespace tl

#endif // TL_HOST_CPU_H
