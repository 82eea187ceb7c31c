"""`nvptx`: PTX made by LLVM, assembled to a cubin, and run by the CUDA driver. It needs no compiler of CUDA's."""

from __future__ import annotations

from ..errors import LaunchError
from ..typed import TYPE_CHECKING
from . import register
from .base import Backend
from .kernel_cache import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel


class NVPTXKernelCache(KernelCache):
    """A function is its launch plan and its kernels' cubins, which the compiler stores."""


@register
class NVPTXBackend(Backend):
    """Compiles kernels with LLVM and an assembler, and launches them through the driver."""

    name = "nvptx"
    targets = ("cuda",)
    generator = "ptx"
    pipeline = "nvptx"
    source_file = "kernel.ptx"
    loader = "the CUDA driver"
    options = frozenset({"assembler", "postproc"})
    kernel_cache = NVPTXKernelCache

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        require_gpu(kernel)
        return super().load(kernel)


def require_gpu(kernel: Kernel) -> None:
    """Raises an error that says why a function for a GPU cannot run here, if it cannot."""
    from .. import _tl

    here = f"`{kernel.name}` is compiled for {kernel.target} and cannot run here"
    try:
        count = _tl.cuda_device_count()
    except LaunchError as error:
        raise LaunchError(f"{here}: {error.message}") from None
    if count == 0:
        raise LaunchError(f"{here}: there is no GPU")
