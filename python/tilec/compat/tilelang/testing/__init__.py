"""`tilelang.testing`: for tests of kernels. pytest is imported with it, and PyTorch only if a test uses it."""

from __future__ import annotations

import inspect
import random
import sys
from importlib import util

import pytest  # pyright: ignore[reportMissingImports]

from .... import targets
from ....typed import TYPE_CHECKING
from ..utils.tensor import torch_assert_close as torch_assert_close

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = [
    "main",
    "process_func",
    "regression",
    "requires_cdna",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_cuda_compute_version_eq",
    "requires_cuda_compute_version_ge",
    "requires_cuda_compute_version_gt",
    "requires_cuda_compute_version_le",
    "requires_cuda_compute_version_lt",
    "requires_cuda_or_cdna",
    "requires_gfx950",
    "requires_llvm",
    "requires_metal",
    "requires_package",
    "requires_rocm",
    "set_random_seed",
    "torch_assert_close",
]


class Requirement:
    """Skips tests where something is not: a decorator, with or without brackets.

    - `is_met`: whether it is here; asked when a test is collected.
    - `reason`: what skipped tests say.
    """

    def __init__(self, is_met: Callable[[], bool], reason: str) -> None:
        self._is_met = is_met
        self.reason = reason

    def marks(self) -> list[Any]:
        """Returns pytest's marks, for `pytestmark` and the like."""
        return [pytest.mark.skipif(not self._is_met(), reason=self.reason)]

    def __call__(self, func: Any = None) -> Any:
        if func is None:
            return self
        for mark in self.marks():
            func = mark(func)
        return func


def _gpu() -> tuple[int, int] | None:
    """Returns the compute capability of the first GPU, or None."""
    chip = targets.gpu_chip()
    if chip is None:
        return None
    number = int("".join(c for c in chip if c.isdigit()))
    return divmod(number, 10)


requires_cuda = Requirement(lambda: _gpu() is not None, "needs a GPU of NVIDIA")
requires_rocm = Requirement(lambda: False, "needs a GPU of AMD, for which there is no code here")
requires_metal = Requirement(lambda: False, "needs a GPU of Apple, for which there is no code here")
requires_cdna = requires_rocm
requires_gfx950 = requires_rocm
requires_cuda_or_cdna = requires_cuda
requires_llvm = Requirement(lambda: True, "needs LLVM")


def requires_package(*packages: str) -> Callable[[Any], Any]:
    """Skips a test where a Python package is missing."""
    lacks = [p for p in packages if util.find_spec(p) is None]
    return Requirement(lambda: not lacks, f"needs {', '.join(lacks)}")


_MODES: Mapping[str, Callable[[tuple[int, int], tuple[int, int]], bool]] = {
    "ge": lambda found, wanted: found >= wanted,
    "gt": lambda found, wanted: found > wanted,
    "le": lambda found, wanted: found <= wanted,
    "lt": lambda found, wanted: found < wanted,
    "eq": lambda found, wanted: found == wanted,
}


def requires_cuda_compute_version(major_version: int, minor_version: int = 0, mode: str = "ge") -> Callable[[Any], Any]:
    """Skips a test where the GPU is of another generation.

    - `major_version`, `minor_version`: such as 9 and 0 for sm_90.
    - `mode`: "ge", "gt", "le", "lt" or "eq": how the GPU's version must compare to it.
    """
    if mode not in _MODES:
        raise ValueError(f"Unsupported mode: {mode}")
    wanted = (major_version, minor_version)

    def is_met() -> bool:
        found = _gpu()
        return found is not None and _MODES[mode](found, wanted)

    return Requirement(is_met, f"needs compute capability {mode} {major_version}.{minor_version}")


def _of_mode(mode: str) -> Callable[..., Callable[[Any], Any]]:
    def requires(major_version: int, minor_version: int = 0) -> Callable[[Any], Any]:
        return requires_cuda_compute_version(major_version, minor_version, mode)

    requires.__doc__ = f"The same as `requires_cuda_compute_version` with the mode {mode!r}."
    return requires


requires_cuda_compute_version_ge = _of_mode("ge")
requires_cuda_compute_version_gt = _of_mode("gt")
requires_cuda_compute_version_eq = _of_mode("eq")
requires_cuda_compute_version_lt = _of_mode("lt")
requires_cuda_compute_version_le = _of_mode("le")


def set_random_seed(seed: int = 42) -> None:
    """Seeds Python's random numbers, and those of NumPy and PyTorch where they are imported."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        torch: Any = sys.modules["torch"]
        torch.manual_seed(seed)


def main() -> None:
    """Runs the tests of the file that calls it, and ends the process as pytest does."""
    sys.exit(pytest.main([inspect.getsourcefile(sys._getframe(1)) or "", *sys.argv[1:]]))


_latencies: dict[str, float] = {}


def process_func(func: Callable[..., Any], name: str | None = None, /, *args: Any, **kwargs: Any) -> Any:
    """Calls a function that returns a latency in milliseconds, and notes it under a name."""
    given = (name, *args) if name is not None and not isinstance(name, str) else args
    called = name if isinstance(name, str) else getattr(func, "__name__", repr(func))
    latency = func(*given, **kwargs)
    if latency is not None:
        _latencies[called] = float(latency)
        print(f"{called}: {float(latency):.4f} ms")
    return latency


def regression(prefixes: Any = (), verbose: bool = True) -> dict[str, float]:
    """Calls every function of the caller's file whose name begins with `regression_`, and returns what they noted."""
    scope = sys._getframe(1).f_globals
    for name, value in list(scope.items()):
        if name.startswith("regression_") and callable(value):
            value()
    return dict(_latencies)
