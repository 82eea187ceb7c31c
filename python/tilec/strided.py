"""Tensors whose elements do not lie one after the other: how far they reach, and how kernels are given them."""

from __future__ import annotations

import ctypes

from .typed import TYPE_CHECKING
from .types import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy

    from .array import Array
    from .builder import Parameter
    from .supply import Storage
    from .types import Extent, TensorType


def is_dense(shape: Sequence[Extent], strides: Sequence[Extent]) -> bool:
    """Whether a tensor is known to be contiguous."""
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if isinstance(extent, Symbol) or isinstance(stride, Symbol):
            return False
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True


def strides_of(kind: TensorType, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Returns strides for a tensor that is made up: those of its type, and where that leaves them open, no gaps.

    None if they are those of a contiguous tensor.
    """
    if kind.strides is None:
        return None
    found: list[int] = []
    step = 1
    for extent, stride in zip(reversed(shape), reversed(kind.strides), strict=True):
        step = step if isinstance(stride, Symbol) else stride
        found.append(step)
        step *= extent
    steps = tuple(reversed(found))
    return None if is_dense(shape, steps) else steps


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Returns from how many elements of memory the tensor's are picked."""
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))


def view(memory: Storage, shape: Sequence[int], strides: Sequence[int]) -> Storage:
    """Returns the tensor that lies in a row of elements."""
    from numpy.lib.stride_tricks import as_strided

    return as_strided(memory, shape, [stride * memory.itemsize for stride in strides])


class _Tensor(ctypes.Structure):
    """`DLTensor` (https://dmlc.github.io/dlpack/latest/c_api.html)."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class Strided:
    """A tensor in the memory of an array, for who takes DLPack.

    - `offset`: at which byte its first element is; with negative strides others are before it.
    """

    def __init__(self, array: Array, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> None:
        self.array = array
        self._offset = offset
        self.dtype = array.dtype
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        self._extents = (ctypes.c_int64 * len(shape))(*shape)
        self._steps = (ctypes.c_int64 * len(shape))(*strides)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **_: Any) -> Any:
        capsule: Any = self.array.__dlpack__()
        tensor = _Tensor.from_address(_contents(capsule, b"dltensor"))
        tensor.rank = len(self.shape)
        tensor.shape = ctypes.addressof(self._extents)
        tensor.strides = ctypes.addressof(self._steps)
        if self._offset:
            tensor.data += self._offset
        return capsule


_ALIGNMENT = 256
"""How memory of a GPU is aligned, and with it the first element of every copy."""


class HostCopy:
    """A NumPy array's memory on a GPU, from the first byte to the last, for the time of a call.

    Strides stay as they are, negative ones and those of 0 too, so that a GPU accepts and refuses what the CPU does: a
    tensor's annotation may ask for gaps. What lies between the elements is not the kernel's. It goes there and is not
    written back: someone else may have changed it meanwhile.

    - `parameter`: what it is passed for.
    - `cuda`: the number of the GPU; None leaves it on the host.
    """

    def __init__(self, source: numpy.ndarray[Any, Any], parameter: Parameter, *, cuda: int | None) -> None:
        import numpy as np

        from . import dtypes
        from .array import Array

        source = np.asarray(source)
        dtype = dtypes.dtype(source.dtype.name)
        strides = _buffer_strides(source)
        _require_readable(source, strides, parameter)
        self._source = source
        if source.flags.c_contiguous:
            self.memory = self.tensor = Array.from_numpy(source, dtype, cuda=cuda)
            self._first = 0
            return
        before, size = _reach(source)
        space = -before % _ALIGNMENT
        self._first = space + before
        self.memory = Array.empty(((space + size) // source.itemsize,), dtype, cuda=cuda)
        self.memory.copy_from(_behind(space, _memory(source, size)))
        steps = [stride // source.itemsize for stride in strides]
        self.tensor = Strided(self.memory, source.shape, steps, self._first)

    def copy_back(self) -> None:
        """Copies the elements, and nothing else, to where they came from."""
        import numpy as np

        source = self._source
        if source.size == 0:
            return
        found = np.empty(self.memory.nbytes, "u1")
        self.memory.copy_into(found)
        np.copyto(source, np.ndarray(source.shape, source.dtype, found, self._first, source.strides))


def _buffer_strides(source: numpy.ndarray[Any, Any]) -> Sequence[int]:
    """Returns the strides in bytes that kernels of the CPU are told, and symbols get their values from.

    For arrays that are contiguous NumPy tells those of one, which are others where an extent is 0 or 1.
    """
    memory: Any = source.view(f"u{source.itemsize}")
    return memoryview(memory).strides or ()


def _require_readable(source: numpy.ndarray[Any, Any], strides: Sequence[int], parameter: Parameter) -> None:
    """Refuses what kernels of the CPU refuse of an array before they look at a tensor, in the same words."""
    from .errors import ArgumentError, DTypeError, StrideError

    name = parameter.name
    if parameter.is_written and not source.flags.writeable:
        raise ArgumentError(f"`{name}` is written to by the kernel, and the array is read-only")
    if not source.dtype.isnative:
        raise DTypeError(
            f"`{name}` has elements of the format `{source.dtype.str}`, which kernels cannot take: convert it, as by "
            f'`.astype("{source.dtype.name}")`'
        )
    if any(stride % source.itemsize for stride in strides):
        raise StrideError(f"`{name}` has a stride that is not a multiple of its elements")


def _reach(source: numpy.ndarray[Any, Any]) -> tuple[int, int]:
    """Returns how many bytes lie before an array's first element, and how many from its first byte to its last."""
    if source.size == 0:
        return 0, 0
    ends = [(extent - 1) * step for extent, step in zip(source.shape, source.strides, strict=True)]
    before = -sum(end for end in ends if end < 0)
    return before, before + sum(end for end in ends if end > 0) + source.itemsize


def _memory(source: numpy.ndarray[Any, Any], size: int) -> Storage:
    """Returns the bytes from an array's first to its last, itself and what lies between its elements."""
    import numpy as np
    from numpy.lib.stride_tricks import as_strided

    if size == 0:
        return np.empty(0, "u1")
    lowest = source[tuple(slice(-1, None) if step < 0 else slice(0, 1) for step in source.strides)]
    return as_strided(lowest.reshape(1).view("u1"), (size,), (1,), writeable=False)


def _behind(space: int, data: Storage) -> Storage:
    """Returns bytes with zeros in front of them."""
    import numpy as np

    return np.concatenate([np.zeros(space, "u1"), data]) if space else data


_contents = ctypes.pythonapi["PyCapsule_GetPointer"]  # an object of its own: its types are nobody else's
_contents.restype = ctypes.c_void_p
_contents.argtypes = [ctypes.py_object, ctypes.c_char_p]
