"""Where benchmarks run: a GPU by way of PyTorch, or this machine's CPU."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import platform
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from cases import Case
from clocks import GpuClock, HostClock

import tilec
from tilec import targets


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
    def between(self, run: Callable[[], Any]) -> float:
        """Returns the seconds that what `run` launches takes."""
        ...

    def capture(self, run: Callable[[], Any]) -> Callable[[], Any]:
        """Returns a function that does the same without the host; raises RuntimeError where that cannot be."""
        ...

    def difference(self, found: Sequence[Any], expected: Sequence[Any]) -> float:
        """Returns the greatest error in parts of the greatest number; NaN where something was not written."""
        ...

    def is_close(self, found: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float) -> bool: ...
    def watch(self) -> Watch: ...
    def free(self) -> None:
        """Gives back memory that nothing uses; raises RuntimeError if the device is lost."""
        ...


def find(target: str) -> Device:
    """Returns the GPU, or the CPU where there is none or it is asked for."""
    if target == "cpu" or (target == "auto" and targets.gpu_chip() is None):
        return Host()
    if importlib.util.find_spec("torch") is None:
        raise SystemExit("measuring on a GPU takes PyTorch, which is not installed")
    return Gpu(target)


class Host(HostClock):
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

    def difference(self, found: Sequence[Any], expected: Sequence[Any]) -> float:
        return max(_largest(np.abs(a.astype(np.float64) - b), np.abs(b)) for a, b in _pairs(found, expected))

    def is_close(self, found: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float) -> bool:
        return all(np.allclose(a.astype(np.float64), b, rtol, atol) for a, b in _pairs(found, expected))

    def watch(self) -> Watch:
        return Watch([], [])

    def free(self) -> None:
        gc.collect()


def _pairs(found: Sequence[Any], expected: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Returns the outputs that are to be compared; what only the program itself reads is None, or behind the others."""
    return [(a, b.reshape(a.shape)) for a, b in zip(found, expected, strict=False) if b is not None]


def _largest(error: Any, size: Any) -> float:
    return float(error.max() / max(float(size.max()), 1e-30))


class Gpu(GpuClock):
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

    def difference(self, found: Sequence[Any], expected: Sequence[Any]) -> float:
        pairs = [(a.double(), b.double()) for a, b in _pairs(found, expected)]
        return max(_largest((a - b).abs(), b.abs()) for a, b in pairs)

    def is_close(self, found: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float) -> bool:
        import torch

        return all(torch.allclose(a.double(), b.double(), rtol, atol) for a, b in _pairs(found, expected))

    def watch(self) -> Watch:
        """Returns a watch of MHz, watts and degrees as `nvidia-smi` says them each 100 ms."""
        import torch

        asked = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu"]
        uuid = torch.cuda.get_device_properties(torch.cuda.current_device()).uuid
        command = ["nvidia-smi", f"--id=GPU-{uuid}", f"--query-gpu={','.join(asked)}"]
        return Watch([*command, "--format=csv,noheader,nounits", "--loop-ms=100"], asked)

    def free(self) -> None:
        import torch

        gc.collect()
        torch.cuda.synchronize()
        # After a capture that failed the allocator may refuse, which costs memory and nothing else.
        with contextlib.suppress(RuntimeError):
            torch.cuda.empty_cache()


class Watch:
    """Reads the lines of numbers that a command prints while the watch is entered.

    - `command`: prints a line of numbers with commas between them each time; none for a watch that sees nothing.
    - `names`: what the numbers are.

    A command that is not there, and lines of anything else, leave nothing to see.
    """

    def __init__(self, command: Sequence[str], names: Sequence[str]) -> None:
        self.command, self.names = command, names
        self.samples: list[tuple[float, list[float]]] = []
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Watch:
        if self.command:
            with contextlib.suppress(OSError):
                self.process = subprocess.Popen(
                    self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
                threading.Thread(target=self._read, args=[self.process.stdout], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()

    def _read(self, lines: Any) -> None:
        for line in lines:
            with contextlib.suppress(ValueError):
                self.samples.append((time.perf_counter(), [float(number) for number in line.split(",")]))

    def medians(self, begin: float, end: float) -> dict[str, float]:
        """Returns the median of each number between two times of `time.perf_counter`; nothing if none was seen."""
        seen = [numbers for at, numbers in self.samples if begin <= at <= end and len(numbers) == len(self.names)]
        return dict(zip(self.names, np.median(seen, axis=0).tolist(), strict=True)) if seen else {}


def _tensor(array: np.ndarray) -> Any:
    """Returns a tensor of PyTorch with an array's bits; types that NumPy only borrows go by their names."""
    import torch

    if array.dtype.name not in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return torch.from_numpy(array)
    bits = np.ascontiguousarray(array).view(f"i{array.itemsize}")
    return torch.from_numpy(bits).view(getattr(torch, array.dtype.name))
