"""`nvcc`: CUDA C++ compiled by nvcc, and a library of the whole function, `kernel_lib.so`, that needs no runtime."""

from __future__ import annotations

from .. import _tl
from ..typed import TYPE_CHECKING
from . import register
from .base import Backend, Tool, toolchain
from .library import SOURCE, LibraryFile, LibraryKernelCache
from .nvptx import require_gpu

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel


class NVCCKernelCache(LibraryKernelCache):
    """Libraries that nvcc builds."""

    library = "kernel_lib.so"
    files = (SOURCE, library)

    def compiler(self) -> str:
        return toolchain()["nvcc"]["path"] or ""

    def compilers(self) -> list[str]:
        host = _host_compiler()
        return [self.compiler(), *([host] if host else [])]


def _host_compiler() -> str | None:
    """Returns what compiles for nvcc what is not for a GPU, as `lib/Support/RunProgram.cpp` finds it."""
    import os
    import shutil

    named = os.environ.get("NVCC_CCBIN", "")
    if os.path.isdir(named):
        named = os.path.join(named, "g++")
    return shutil.which(named) or shutil.which("g++")


@register
class NVCCBackend(Backend):
    """Builds a library with a C entry point, and calls that."""

    name = "nvcc"
    aliases = ("cython", "ctypes")
    targets = ("cuda",)
    generator = "cuda"
    pipeline = "nvcc"
    source_file = "device_kernel.cu"
    loader = "the dynamic linker: `kernel_lib.so` speaks to the CUDA driver"
    needs = (Tool("nvcc", "install the CUDA toolkit, or `pip install nvidia-cuda-nvcc`"),)
    options = frozenset({"assembler", "postproc"})
    kernel_cache = NVCCKernelCache

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        require_gpu(kernel)
        with LibraryFile(kernel, NVCCKernelCache.library) as path:
            return self.launcher(kernel, _tl.open_library(str(path), kernel.name))
