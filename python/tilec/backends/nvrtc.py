"""`nvrtc`: CUDA C++ that people can read, compiled by NVIDIA's run-time compiler."""

from __future__ import annotations

from ..typed import TYPE_CHECKING
from . import register
from .base import Backend, Tool
from .kernel_cache import KernelCache
from .nvptx import require_gpu

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel


class NVRTCKernelCache(KernelCache):
    """A function is its launch plan and its kernels' CUDA C++, PTX and cubins, which the compiler stores."""


@register
class NVRTCBackend(Backend):
    """Generates CUDA C++, compiles it in the process, and launches kernels through the driver."""

    name = "nvrtc"
    targets = ("cuda",)
    generator = "cuda"
    pipeline = "nvrtc"
    source_file = "device_kernel.cu"
    loader = "the CUDA driver"
    needs = (Tool("nvrtc", "`pip install nvidia-cuda-nvrtc`"),)
    options = frozenset({"assembler", "postproc"})
    kernel_cache = NVRTCKernelCache

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        require_gpu(kernel)
        return super().load(kernel)
