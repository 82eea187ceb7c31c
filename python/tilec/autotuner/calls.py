"""Calls of a tuned function: what they are made with, and what of it decides which configuration is best."""

from __future__ import annotations

import functools

from .. import dtypes
from ..strided import is_dense
from ..tensors import alignment, is_tensor, strides
from ..typed import TYPE_CHECKING, cast
from ..types import Symbol
from .identity import canonical, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..types import Extent, TensorType
    from .configs import Config


class Call:
    """The arguments of a call, and the configurations to tune it over."""

    def __init__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        bound: dict[str, Any],
        expand: Callable[[tuple[Any, ...], dict[str, Any]], list[Config]],
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.bound = bound
        """Those that were given, by name."""
        self._expand = expand

    @functools.cached_property
    def candidates(self) -> list[Config]:
        """The configurations; who lists them is asked once for each call, and for new ones alone."""
        return self._expand(self.args, self.kwargs)

    @property
    def has_tensors(self) -> bool:
        return any(map(is_tensor, self.bound.values()))


def form(call: Call, scalars: frozenset[str]) -> Any:
    """Returns what decides which of an eager function's extents and strides are dynamic."""
    return tuple(
        (n, (len(v.shape), str(v.dtype)) if is_tensor(v) else frozen(v))
        for n, v in call.bound.items()
        if n not in scalars
    )


_ATOMS = frozenset((int, bool, str, type(None)))
"""Types that need not be looked at to know that a value is no tensor, and what it is."""


def quick_form(value: Any) -> Any:
    """Returns what is at hand of an argument that tells it from others."""
    kind = cast("type[Any]", type(value))
    if kind in _ATOMS:
        return kind, value
    if not is_tensor(value):
        return frozen(value)
    steps = value.stride() if hasattr(value, "stride") else getattr(value, "strides", None)
    return value.shape, value.dtype, steps


def described(value: Any, kind: TensorType | None) -> Any:
    """Returns what a choice depends on of an argument: of tensors the layout, others as they are.

    Dynamic extents and strides, those that are symbols in the program's `kind`, count by the next power of two.
    """
    if not is_tensor(value):
        return value
    shape, steps = [int(e) for e in value.shape], list(strides(value))
    dense = is_dense(shape, steps)
    if kind is not None and kind.rank == len(shape):
        shape = _bucketed(shape, kind.shape)
        steps = _bucketed(steps, kind.strides or kind.shape)
    aligned = alignment(value)
    return {
        "dtype": dtypes.dtype(value.dtype).name,
        "shape": shape,
        **({} if dense else {"strides": steps}),
        **({} if aligned >= 16 else {"alignment": aligned}),
    }


def described_type(kind: TensorType) -> dict[str, Any]:
    """Returns the same of a tensor that is not there yet."""
    found = {"dtype": kind.dtype.name, "shape": canonical(kind.shape)}
    dense = kind.strides is None or is_dense(kind.shape, kind.strides)
    return found if dense else {**found, "strides": canonical(kind.strides)}


def _bucketed(values: Sequence[int], of_program: Sequence[Extent]) -> list[Any]:
    return [_bucket(v) if isinstance(e, Symbol) else v for v, e in zip(values, of_program, strict=True)]


def _bucket(extent: int) -> str:
    top = 1 << max(0, extent - 1).bit_length()
    return f"{top // 2 + 1}..{top}"


def frozen_items(values: Mapping[str, Any]) -> Any:
    """Returns a hashable stand-in for arguments by name, in whatever order."""
    return tuple((n, frozen(v)) for n, v in sorted(values.items()))
