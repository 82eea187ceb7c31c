"""`tilelang.contrib.nvcc`: what programs ask of nvcc and of GPUs."""

from __future__ import annotations

from .... import targets
from ....errors import TargetError
from ....toolkit import find_tool
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def find_cuda_path() -> str:
    """Returns the folder of the CUDA toolkit."""
    nvcc = find_tool("nvcc")
    if nvcc is None:
        raise RuntimeError("Cannot find nvcc: there is no CUDA toolkit here")
    return nvcc.rpartition("/bin/")[0]


def get_cuda_version(cuda_path: str | None = None) -> tuple[int, ...]:
    """Returns the toolkit's version, such as `(12, 8)`."""
    from ....backends.base import toolchain

    version = toolchain()["nvcc"].get("version")
    if not version:
        raise RuntimeError("Cannot read the version of CUDA: there is no nvcc here")
    return tuple(int(part) for part in str(version).split(".")[:2])


def get_target_compute_version(target: Any = None) -> str:
    """Returns the compute capability of a target, or of the first GPU, such as "9.0"."""
    from ..options import target as meant

    chip = meant(target)
    chip = (targets.gpu_chip() or "") if chip in ("auto", "cuda") else chip
    digits = "".join(c for c in chip if c.isdigit())
    if not digits:
        raise ValueError("No CUDA architecture was specified or GPU detected.")
    return f"{digits[:-1]}.{digits[-1]}"


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """Returns a compute capability such as "9.0" as two numbers."""
    major, _, minor = compute_version.partition(".")
    try:
        return int(major), int(minor or 0)
    except ValueError:
        raise RuntimeError(f"Compute version parsing error: {compute_version}") from None


def _has(chip_from: tuple[int, int], target: Any) -> bool:
    try:
        return parse_compute_version(get_target_compute_version(target)) >= chip_from
    except (ValueError, TargetError):
        return False


def have_tma(target: Any = None) -> bool:
    """Whether a target has bulk copies by descriptor."""
    return _has((9, 0), target)


def have_pdl(target: Any = None) -> bool:
    """Whether a target can begin a kernel before the one in front ends."""
    return _has((9, 0), target)


def is_hopper(target: Any = None) -> bool:
    """Whether a target is sm_90."""
    return _has((9, 0), target) and not _has((9, 1), target)


def have_bf16(compute_version: str) -> bool:
    """Whether a compute capability has bfloat16."""
    return parse_compute_version(compute_version) >= (8, 0)


def have_fp16(compute_version: str) -> bool:
    """Whether a compute capability has float16."""
    return parse_compute_version(compute_version) >= (5, 3)


def have_int8(compute_version: str) -> bool:
    """Whether a compute capability has products of 8-bit integers."""
    return parse_compute_version(compute_version) >= (6, 1)


def have_fp8(compute_version: str) -> bool:
    """Whether a compute capability has 8-bit floats."""
    return parse_compute_version(compute_version) >= (8, 9)
