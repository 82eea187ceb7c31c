"""Tensors that are passed to kernels, of whatever library: which arguments are some, and how they lie in memory."""

from __future__ import annotations

import functools

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@functools.cache
def _is_tensor_type(kind: type[Any]) -> bool:
    return all(hasattr(kind, name) for name in ("__dlpack__", "shape", "dtype"))


def is_tensor(value: Any) -> bool:
    """Whether an argument is a tensor, of whatever library."""
    return _is_tensor_type(value.__class__)


def alignment(tensor: Any) -> int:
    """Returns the alignment of a tensor's first element, in bytes; at most 16, which is all that kernels use."""
    if hasattr(tensor, "data_ptr"):
        address = tensor.data_ptr()
    elif hasattr(tensor, "__array_interface__"):
        address = tensor.__array_interface__["data"][0]
    elif hasattr(tensor, "__cuda_array_interface__"):
        address = tensor.__cuda_array_interface__["data"][0]
    else:
        return 16  # a call checks it anyway
    return min(16, address & -address) if address else 16


def strides(tensor: Any) -> tuple[int, ...]:
    """Returns a tensor's strides in elements, of whatever library."""
    if hasattr(tensor, "stride"):
        return tuple(tensor.stride())
    if getattr(tensor, "strides", None) is not None:
        return tuple(s // tensor.itemsize for s in tensor.strides)
    return dense_strides(tensor.shape)


def dense_strides(shape: Sequence[Any]) -> tuple[int, ...]:
    """Returns the strides of a contiguous tensor."""
    out = [1]
    for extent in reversed(shape[1:]):
        out.append(out[-1] * int(extent))
    return tuple(reversed(out))
