"""`tvm_ffi`: a library whose function any host of apache-tvm-ffi can load and call, `executable.so`.

What it exports as `__tvm_ffi_<function>` takes every parameter, and returns nothing. Here it is called through the
package, which finds the stream; errors are those of other backends.
"""

from __future__ import annotations

from .. import _tl, errors
from ..results import is_numpy_array
from ..typed import TYPE_CHECKING
from . import find, register
from .base import Backend, HostCompiler, Package
from .library import SOURCE, LibraryFile, LibraryKernelCache
from .nvptx import require_gpu

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel


class TVMFFIKernelCache(LibraryKernelCache):
    """Libraries that the machine's compiler builds."""

    library = "executable.so"
    files = (library, SOURCE)


@register
class TVMFFIBackend(Backend):
    """Compiles kernels as `nvptx` or `cpu` does, and calls them through apache-tvm-ffi."""

    name = "tvm_ffi"
    targets = ("cuda", "cpu")
    loader = "apache-tvm-ffi: `executable.so` exports `__tvm_ffi_<function>`"
    needs = (Package("tvm_ffi", "apache-tvm-ffi"), HostCompiler())
    kernel_cache = TVMFFIKernelCache

    def compiler(self, target: str) -> Backend:
        return find("cpu" if target == "cpu" else "nvptx")

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        import ctypes
        from importlib import import_module

        if kernel.is_cuda:
            require_gpu(kernel)
        tvm_ffi: Any = import_module("tvm_ffi")
        with LibraryFile(kernel, TVMFFIKernelCache.library) as path:
            function = tvm_ffi.load_module(path).get_function(kernel.name)
            return _Call(kernel, function, ctypes.CDLL(str(path)))


class _Call:
    """Calls a function of tvm-ffi's. What the library finds wrong is raised as by other backends."""

    def __init__(self, kernel: Kernel, function: Callable[..., None], library: ctypes.CDLL) -> None:
        import ctypes

        self._function = function
        self._names = [parameter.name for parameter in kernel.function.parameters]
        self._is_cuda = kernel.is_cuda
        self._category = library[f"tl_{kernel.name}_category"]
        self._message = library[f"tl_{kernel.name}_error"]
        self._message.restype = ctypes.c_char_p

    def __call__(self, *arguments: Any) -> Any:
        if (negated := _tl.find_negated(arguments)) >= 0:
            raise errors.ArgumentError(
                f"`{self._names[negated]}` cannot be read: it is a lazy negation, as the imaginary part of a conjugate "
                "is; pass `.resolve_neg()` of it"
            )
        try:
            return self._function(*arguments)
        except (TypeError, ValueError, RuntimeError) as error:
            raised = self._translated(error)
            if self._is_cuda and isinstance(raised, errors.DeviceError) and any(map(is_numpy_array, arguments)):
                return NotImplemented
            raise raised from None

    def _translated(self, error: Exception) -> Exception:
        """Returns the error that the library has set, or one that came about before it was called."""
        message: str = self._message().decode()
        if message != str(error):
            return errors.ArgumentError(str(error))
        return _ERRORS.get(self._category(), errors.LaunchError)(message)


_ERRORS: dict[int, type[errors.TLError]] = {
    2: errors.ArgumentError,
    3: errors.ArgumentError,
    4: errors.RankError,
    5: errors.DTypeError,
    6: errors.ShapeError,
    7: errors.StrideError,
    8: errors.AlignmentError,
    9: errors.DeviceError,
    10: errors.ArgumentError,
    11: errors.RangeError,
}
"""The exceptions of the numbers of a TlErrorCategory (tl-c/Call.h)."""
