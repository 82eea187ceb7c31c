"""Tensors of our own, for programs that use no framework."""

from __future__ import annotations

from . import _tl, dtypes
from .assertions import tell_failures
from .errors import DTypeError
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy

    from .dtypes import DType

HOST, CUDA, PINNED = 1, 2, 3
"""DLPack's device types."""


_FOREIGN = ("bf16", "f8e4m3", "f8e5m2", "f8e8m0", "f8e4m3fnuz", "f8e5m2fnuz")
"""The types that NumPy takes from no other library."""


class Array(_tl.Array):
    """A contiguous tensor on the host or on a GPU.

    Any framework takes it without a copy, as in `torch.from_dlpack(array)`; `array.numpy()` makes a NumPy array.
    """

    _dtype: DType

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype

    @staticmethod
    def empty(shape: Sequence[int], dtype: Any, *, cuda: int | None = None) -> Array:
        """Makes an array with undefined contents, on the host or on the GPU of the number `cuda`."""
        element = dtypes.dtype(dtype)
        array = Array(list(shape), element.plan, HOST if cuda is None else CUDA, cuda or 0)
        array._dtype = element
        return array

    @staticmethod
    def shared(shape: Sequence[int], dtype: Any, *, cuda: int) -> Array:
        """Makes an array of zeros on the host that kernels of a GPU write to while the host reads."""
        element = dtypes.dtype(dtype)
        array = Array(list(shape), element.plan, PINNED, cuda)
        array._dtype = element
        array.clear(0)
        return array

    @staticmethod
    def from_numpy(source: numpy.ndarray[Any, Any], dtype: DType, *, cuda: int | None = None) -> Array:
        """Makes a copy of a NumPy array, without the gaps that may lie between its elements."""
        import numpy as np

        array = Array.empty(source.shape, dtype, cuda=cuda)
        array.copy_from(_bytes(np.ascontiguousarray(source)))
        return array

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """Returns the contents as a NumPy array: the same memory on the host, a copy from a GPU."""
        import numpy as np

        kind, number = self.__dlpack_device__()
        if kind == HOST and self.dtype.plan not in _FOREIGN:
            return np.from_dlpack(self)
        target = np.empty(self.shape, numpy_dtype(self.dtype))
        self.copy_into(_bytes(target))
        if kind == CUDA:
            tell_failures(number)
        return target

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        import numpy as np

        if copy is False and self.__dlpack_device__()[0] != HOST:
            raise ValueError("NumPy has no array of the GPU's memory without a copy")
        source = self.numpy()
        return np.asarray(source, dtype) if copy is None else np.array(source, dtype, copy=copy)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        kind, number = self.__dlpack_device__()
        device = "cpu" if kind == HOST else f"cuda:{number}"
        return f"<tilec.Array {self.shape} of {self.dtype} on {device}>"


def numpy_dtype(dtype: DType) -> Any:
    """Returns NumPy's type for an element type."""
    import numpy as np

    name = dtype.library_name
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise DTypeError(f"NumPy has no `{dtype}`: install `ml_dtypes`, or use another framework") from None
    return np.dtype(getattr(ml_dtypes, name))


def _bytes(array: numpy.ndarray[Any, Any]) -> Any:
    """Returns an array's memory, whatever the element type."""
    return array.reshape(-1).view("u1")
