"""Where benchmarks run: a GPU by way of PyTorch, or this machine's CPU."""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from cases import Case

import tilec
from tilec import targets

SHORT = 200e-6
"""Seconds below which a call is launched by a graph: what the host needs for a launch would show."""


class Device(Protocol):
    """What arguments are placed on, and what is timed."""

    name: str
    target: str
    cache: int
    """Bytes of the cache that calls may find their arguments in; 0 if that is not controlled."""
    cases: str
    """The name of the list of cases of an example that are of a size for it."""

    def place(self, arrays: Sequence[np.ndarray]) -> list[Any]: ...
    def peers(self, case: Case) -> Mapping[str, Callable[..., Any]]: ...
    def timer(self, calls: Sequence[Callable[[], Any]]) -> Callable[[], float]: ...
    def difference(self, found: Sequence[Any], expected: Sequence[Any]) -> float: ...
    def clocks(self) -> dict[str, float]: ...


def find(target: str) -> Device:
    """Returns the GPU, or the CPU where there is none or it is asked for."""
    if target == "cpu" or (target == "auto" and targets.gpu_chip() is None):
        return Host()
    if importlib.util.find_spec("torch") is None:
        raise SystemExit("measuring on a GPU takes PyTorch, which is not installed")
    return Gpu(target)


class Host:
    """The CPU, beside NumPy's reference in double precision."""

    def __init__(self) -> None:
        self.name = f"{platform.machine()}, tilec {tilec.__version__}"
        self.target, self.cache, self.cases = "cpu", 0, "CHECKED"

    def place(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        return [array.copy() for array in arrays]

    def peers(self, case: Case) -> Mapping[str, Callable[..., Any]]:
        def numpy(*arrays: np.ndarray) -> Any:
            return case.reference(*(a if a.dtype.kind in "iub" else a.astype(np.float64) for a in arrays))

        return {"numpy": numpy}

    def timer(self, calls: Sequence[Callable[[], Any]]) -> Callable[[], float]:
        calls[0]()

        def run() -> float:
            start = time.perf_counter()
            for call in calls:
                call()
            return (time.perf_counter() - start) / len(calls)

        return run

    def difference(self, found: Sequence[Any], expected: Sequence[Any]) -> float:
        pairs = [(a, b) for a, b in zip(found, expected, strict=True) if b is not None]
        return max(_largest(np.abs(a.astype(np.float64) - b), np.abs(b)) for a, b in pairs)

    def clocks(self) -> dict[str, float]:
        return {}


def _largest(error: Any, size: Any) -> float:
    """Returns the greatest error in parts of the greatest number."""
    return float(error.max() / max(float(size.max()), 1e-30))


class Gpu:
    """The current GPU of PyTorch, beside the peers that a case names."""

    def __init__(self, target: str) -> None:
        import torch

        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.name = f"{properties.name}, torch {torch.__version__}, tilec {tilec.__version__}"
        self.target, self.cache, self.cases = target, properties.L2_cache_size, "CASES"

    def place(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        return [_tensor(array).cuda() for array in arrays]

    def peers(self, case: Case) -> Mapping[str, Callable[..., Any]]:
        return case.peers

    def timer(self, calls: Sequence[Callable[[], Any]]) -> Callable[[], float]:
        """Returns a function that runs the calls between two events, and returns the seconds of each.

        Calls that cannot be captured, since they wait for the GPU, are timed as they are.
        """
        import torch

        def launch() -> None:
            for call in calls:
                call()

        launch()
        repeat, run = 1, launch
        each = self._between(launch, len(calls))
        if each < SHORT:
            repeat = max(1, round(SHORT * 5 / each / len(calls)))
            graph = torch.cuda.CUDAGraph()
            try:
                with torch.cuda.graph(graph):
                    for _ in range(repeat):
                        launch()
                run = graph.replay
            except RuntimeError:
                torch.cuda.synchronize()
                repeat = 1
        return lambda: self._between(run, repeat * len(calls))

    @staticmethod
    def _between(run: Callable[[], Any], count: int) -> float:
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / count

    def difference(self, found: Sequence[Any], expected: Sequence[Any]) -> float:
        # Outputs behind those of a peer are the program's own.
        pairs = [(a.double(), b.double()) for a, b in zip(found, expected, strict=False)]
        return max(_largest((a - b).abs(), b.abs()) for a, b in pairs)

    def clocks(self) -> dict[str, float]:
        """Returns MHz, watts and degrees as `nvidia-smi` says them, or nothing where it is not there."""
        import torch

        asked = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu"]
        command = ["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits"]
        try:
            uuid = f"--id=GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"
            text = subprocess.run([*command, uuid], capture_output=True, text=True, check=True).stdout
            return dict(zip(asked, map(float, text.split(",")), strict=True))
        except (OSError, subprocess.CalledProcessError, ValueError):
            return {}


def _tensor(array: np.ndarray) -> Any:
    """Returns a tensor of PyTorch with an array's bits; types that NumPy only borrows go by their names."""
    import torch

    if array.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return torch.from_numpy(array)
    bits = np.ascontiguousarray(array).view(f"i{array.itemsize}")
    return torch.from_numpy(bits).view(getattr(torch, array.dtype.name))
