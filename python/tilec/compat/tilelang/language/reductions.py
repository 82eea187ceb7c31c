"""`T.reduce` and the greatest and least elements, which leave NaNs of 16-bit floats out unless told otherwise.

`nan_propagate` is of 16-bit floats alone there. For others it has no effect here: NaN is the result (rule F1), because
to leave it out takes two instructions for each element.
"""

from __future__ import annotations

from ....language import reductions as _reductions
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ....language.reductions import ReduceType


def _keeps_nan(buffer: Any, nan_propagate: bool) -> bool:
    dtype = getattr(buffer, "dtype", None)
    return nan_propagate or not (dtype is not None and dtype.is_float and dtype.bits == 16)


def reduce(
    buffer: Any,
    out: Any,
    reduce_type: ReduceType,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Combines the elements of a tile along one dimension; see `tilec.language.reduce`."""
    _reductions.reduce(buffer, out, reduce_type, dim, clear, batch, _keeps_nan(buffer, nan_propagate), annotations)


def reduce_max(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Finds the greatest elements of a tile along one dimension; see `tilec.language.reduce`."""
    _reductions.reduce(buffer, out, "max", dim, clear, batch, _keeps_nan(buffer, nan_propagate), annotations)


def reduce_min(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Finds the least elements of a tile along one dimension; see `tilec.language.reduce`."""
    _reductions.reduce(buffer, out, "min", dim, clear, batch, _keeps_nan(buffer, nan_propagate), annotations)


def reduce_absmax(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Finds the greatest absolute values of a tile along one dimension; see `tilec.language.reduce`."""
    _reductions.reduce(buffer, out, "absmax", dim, clear, batch, _keeps_nan(buffer, nan_propagate), annotations)
