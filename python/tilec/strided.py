"""Tensors whose elements do not lie one after the other: how far they reach, and how kernels are given them."""

from __future__ import annotations

import ctypes

from .typed import TYPE_CHECKING
from .types import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .array import Array
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
    """A tensor in the memory of an array, for who takes DLPack."""

    def __init__(self, array: Array, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.array = array
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
        return capsule


_contents = ctypes.pythonapi["PyCapsule_GetPointer"]  # an object of its own: its types are nobody else's
_contents.restype = ctypes.c_void_p
_contents.argtypes = [ctypes.py_object, ctypes.c_char_p]
