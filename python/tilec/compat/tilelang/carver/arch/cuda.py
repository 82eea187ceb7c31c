"""`tilelang.carver.arch.cuda`: GPUs of NVIDIA."""

from __future__ import annotations

from ..... import targets
from .....errors import TargetError
from .....typed import TYPE_CHECKING
from ...contrib.nvcc import get_target_compute_version

if TYPE_CHECKING:
    from typing import Any


class CUDA:
    """A GPU of NVIDIA: `sm_version` is such as 90."""

    platform = "CUDA"

    def __init__(self, target: Any = "cuda") -> None:
        from .driver import get_num_sms, get_shared_memory_per_block

        self.target = target
        self.compute_capability = get_target_compute_version(target).replace(".", "")
        self.sm_version = int(self.compute_capability)
        self.warp_size = 32
        self.sm_partition = 4
        if targets.gpu_chip() is not None:
            self.compute_max_core = get_num_sms()
            self.smem_cap = get_shared_memory_per_block()


def get_arch(target: Any = "cuda") -> CUDA:
    """Returns what is known of a target."""
    return CUDA(target)


def auto_infer_current_arch() -> CUDA:
    """Returns what is known of the first GPU."""
    if targets.gpu_chip() is None:
        raise TargetError("there is no GPU here; `tilelang.carver` knows GPUs of NVIDIA only")
    return CUDA()


def _is(arch: Any, versions: range) -> bool:
    return isinstance(arch, CUDA) and arch.sm_version in versions


def is_volta_arch(arch: Any) -> bool:
    """Whether a chip is sm_70 to sm_79."""
    return _is(arch, range(70, 80))


def is_ampere_arch(arch: Any) -> bool:
    """Whether a chip is sm_80 to sm_88."""
    return _is(arch, range(80, 89))


def is_ada_arch(arch: Any) -> bool:
    """Whether a chip is sm_89."""
    return _is(arch, range(89, 90))


def is_hopper_arch(arch: Any) -> bool:
    """Whether a chip is sm_90."""
    return _is(arch, range(90, 91))
