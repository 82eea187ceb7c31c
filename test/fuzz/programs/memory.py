"""Tensors with guard bands: what kernels are called with, on the host and on a GPU.

A tensor lies inside of a larger allocation whose bytes around it are a pattern, and begins where it is told, so that
writes outside of it and reliance on alignment show. Nothing but `tilec` and NumPy is needed, whatever the element type.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilec import Array, dtypes

GUARD = 256
"""Bytes in front of a tensor and behind it."""

PATTERN = 0xA5

_CODES = {
    "bool": 6,
    "bfloat16": 4,
    "float8_e4m3": 10,
    "float8_e5m2": 12,
    "float8_e4m3fnuz": 11,
    "float8_e5m2fnuz": 13,
}


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

_NAME = b"dltensor"  # capsules keep its address


def _code(dtype: str) -> int:
    if dtype in _CODES:
        return _CODES[dtype]
    return 2 if dtype.startswith("float") else 1 if dtype.startswith("uint") else 0


class Guarded:
    """A tensor, as kernels take it by DLPack."""

    def __init__(
        self, contents: NDArray[np.uint8], shape: tuple[int, ...], dtype: str, shift: int, gpu: bool, gap: int = 0
    ) -> None:
        """`shift`: how many bytes behind an aligned address it begins. `gap`: how many lie behind each row."""
        size = dtypes.dtype(dtype).bytes
        self._row, self._gap = shape[-1] * size, gap
        if gap:
            rows = contents.reshape(-1, self._row)
            contents = np.pad(rows, ((0, 0), (0, gap)), constant_values=PATTERN).reshape(-1)
        self._size = contents.size
        self._begin = GUARD + shift
        whole = np.full(self._begin + self._size + GUARD, PATTERN, np.uint8)
        whole[self._begin : self._begin + self._size] = contents
        self._memory = Array.from_numpy(whole, dtypes.uint8, cuda=0 if gpu else None)
        self.shape = shape
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        row = shape[-1] + gap // size
        strides = [math.prod(shape[d + 1 : -1]) * row for d in range(len(shape) - 1)] + [1]
        self._strides = (ctypes.c_int64 * len(shape))(*strides)
        kind = _DLDataType(_code(dtype), dtypes.dtype(dtype).bytes * 8, 1)
        device, number = self._memory.__dlpack_device__()
        self.address = self._memory.address + self._begin
        tensor = _DLTensor(self.address, device, number, len(shape), kind, self._shape, self._strides, 0)
        self._managed = _DLManagedTensor(tensor, None, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()

    def __dlpack__(self, **_: Any) -> Any:
        return _new_capsule(ctypes.addressof(self._managed), _NAME, None)

    def read(self) -> tuple[NDArray[np.uint8], int | None]:
        """Returns the contents, and the offset of the first byte around the tensor that has changed, or None."""
        whole = np.empty(self._begin + self._size + GUARD, np.uint8)
        self._memory.copy_into(whole)
        own = whole[self._begin : self._begin + self._size]
        if self._gap:
            own = own.reshape(-1, self._row + self._gap)[:, : self._row]
        contents = own.flatten()
        own[:] = PATTERN
        changed = np.flatnonzero(whole != PATTERN)
        return contents, int(changed[0]) - self._begin if changed.size else None
