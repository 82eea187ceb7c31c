"""`cpu`: vectorised host code, made by LLVM."""

from __future__ import annotations

from . import register
from .base import Backend
from .kernel_cache import KernelCache


class CPUKernelCache(KernelCache):
    """A function is its launch plan and its kernels' objects, which the compiler stores."""


@register
class CPUBackend(Backend):
    """Compiles kernels to objects of the host, and runs their blocks in threads."""

    name = "cpu"
    targets = ("cpu",)
    generator = "llvm"
    pipeline = "cpu"
    source_file = "kernel.s"
    loader = "LLVM's linker in the process; blocks run in threads"
    kernel_cache = CPUKernelCache
