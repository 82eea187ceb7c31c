"""What users give to measure with, and whether it fits."""

from __future__ import annotations

import threading

from .. import dtypes
from ..errors import ConfigError, quoted
from ..extents import Relations
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType, as_tuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..builder import PrimFunc

_local = threading.local()


class set_autotune_inputs:
    """Says what tensors and scalars kernels are measured with: `with set_autotune_inputs(a, b): ...`.

    They are those of the kernel's parameters that are not results, in order. Inside another `with`, the inner one
    holds; every thread has its own.
    """

    def __init__(self, *tensors: Any) -> None:
        is_list = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
        self._tensors = as_tuple(tensors[0]) if is_list else tensors

    def __enter__(self) -> tuple[Any, ...]:
        _stack().append(self._tensors)
        return self._tensors

    def __exit__(self, *_: object) -> None:
        _stack().pop()


def _stack() -> list[tuple[Any, ...]]:
    return _local.__dict__.setdefault("stack", [])


def get_autotune_inputs() -> tuple[Any, ...] | None:
    """Returns what the innermost `set_autotune_inputs` of this thread gave, or None."""
    stack: list[tuple[Any, ...]] | None = _local.__dict__.get("stack")
    return stack[-1] if stack else None


class Given:
    """Arguments that the user supplies: by position, of the parameters that are not results, or by name."""

    def __init__(self, values: Sequence[Any] | Mapping[str, Any]) -> None:
        self.values = values

    def by_name(self, function: PrimFunc, outputs: Sequence[int] | None) -> dict[str, Any]:
        """Returns the value of each parameter that has one."""
        if isinstance(self.values, dict):
            return {p.name: self.values[p.name] for p in function.parameters if p.name in self.values}
        values = tuple(self.values)
        taken = function.taken(outputs)
        if len(values) == len(function.declared) != len(taken):
            values = tuple(v for i, v in enumerate(values) if i not in (outputs or ()))
        if len(values) != len(taken):
            expected = quoted(p.name for p in taken)
            raise ConfigError(f"`{function.name}` is measured with {len(values)} inputs, expected {expected}")
        return {p.name: value for p, value in zip(taken, values, strict=True)}


def extents_of(function: PrimFunc, named: Mapping[str, Any]) -> dict[str, int]:
    """Returns the symbols that given tensors tell. Raises if one does not fit its parameter, which is no
    configuration's fault."""
    from ..tensors import is_tensor

    found: dict[str, int] = {}
    for parameter in function.parameters:
        value = named.get(parameter.name)
        if value is None:  # it is made up, or a tensor that is not used
            continue
        what = f"`{parameter.name}` of `{function.name}`"
        if not isinstance(parameter.type, TensorType):
            if is_tensor(value) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
                raise ConfigError(f"{what} is a scalar, and cannot be measured with `{type(value).__name__}`")
            continue
        if not is_tensor(value):
            raise ConfigError(f"{what} is a tensor, and cannot be measured with `{type(value).__name__}`")
        _check_tensor(what, parameter.type, value, found)
    if wrong := Relations(function.parameters).wrong(found):
        raise ConfigError(f"{wrong}, of the tensors to measure `{function.name}` with")
    return found


def _check_tensor(what: str, expected: TensorType, tensor: Any, symbols: dict[str, int]) -> None:
    """Adds the symbols that a tensor tells; raises if it is not what its parameter expects."""
    dtype, shape = dtypes.dtype(tensor.dtype), tuple(int(e) for e in tensor.shape)
    if dtype is not expected.dtype and (expected.dtype.name, dtype.name) != ("tfloat32", "float32"):
        raise ConfigError(f"{what} is of {expected.dtype}, and the tensor to measure it with of {dtype}")
    if len(shape) != expected.rank:
        raise ConfigError(f"{what} has {expected.rank} dimensions, and the tensor to measure it with {len(shape)}")
    for dimension, (extent, actual) in enumerate(zip(expected.shape, shape, strict=True)):
        wanted = symbols.setdefault(extent.name, actual) if isinstance(extent, Symbol) else extent
        if wanted != actual:
            raise ConfigError(
                f"dimension {dimension} of {what} is {wanted}, and that of the tensor to measure it with {actual}"
            )
