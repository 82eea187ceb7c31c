"""How long something takes: by events of PyTorch on a GPU, or by the time of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class HostClock:
    """Times what the CPU does."""

    def between(self, run: Callable[[], Any]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def capture(self, run: Callable[[], Any]) -> Callable[[], Any]:
        raise RuntimeError("a CPU has no graphs")


class GpuClock:
    """Times what is launched on PyTorch's current stream."""

    def between(self, run: Callable[[], Any]) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3

    def capture(self, run: Callable[[], Any]) -> Callable[[], Any]:
        import torch

        # What waits for the GPU is found before: a capture that breaks off leaves the allocator of PyTorch before 2.12
        # unfit for all further ones.
        torch.cuda.set_sync_debug_mode("error")
        try:
            run()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        graph = torch.cuda.CUDAGraph()
        try:
            # A capture that fails may leave its own stream as the current one; the outer context takes it back.
            with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph):
                run()
        except RuntimeError:
            torch.cuda.synchronize()
            raise
        return graph.replay
