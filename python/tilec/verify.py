"""Whether a kernel computes what a reference does."""

from __future__ import annotations

from .errors import ArgumentError
from .supply import decode, to_storage
from .typed import TYPE_CHECKING
from .types import as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .builder import PrimFunc
    from .dtypes import DType
    from .supply import Storage

CHUNK = 1 << 20
"""Elements that are compared at a time, so that they stay in the processor's caches."""


def written(function: PrimFunc, outputs: Sequence[int] | None) -> tuple[int, ...]:
    """Returns the numbers of the parameters that hold what a kernel computes: its results, else all it writes."""
    if outputs:
        return tuple(outputs)
    return tuple(i for i, p in enumerate(function.declared) if p.is_tensor and p.is_written)


def expected(
    function: PrimFunc, outputs: Sequence[int] | None, reference: Callable[..., Any], inputs: list[Any]
) -> list[tuple[Storage, DType]]:
    """Runs a reference on the parameters that are not results; returns what should be in `written` ones."""
    found = reference(*inputs)
    wanted = written(function, outputs)
    if found is None:
        if outputs:
            raise ArgumentError(f"the reference of `{function.name}` returns nothing, and the kernel has results")
        found = tuple(inputs[i] for i in wanted)
    results = as_tuple(found)
    if len(results) != len(wanted):
        names = ", ".join(f"`{function.parameters[i].name}`" for i in wanted)
        raise ArgumentError(f"the reference of `{function.name}` returns {len(results)} tensors, expected {names}")
    return [to_storage(result) for result in results]


def compare(
    name: str,
    actual: tuple[Storage, DType],
    wanted: tuple[Storage, DType],
    rtol: float,
    atol: float,
    max_mismatched_ratio: float,
) -> str | None:
    """Returns what is wrong, or None if |actual - wanted| <= atol + rtol |wanted| for all elements.

    Up to `max_mismatched_ratio` of the elements may differ more. NaN equals NaN alone.
    """
    import numpy as np

    if actual[0].shape != wanted[0].shape:
        return f"`{name}` has shape {actual[0].shape}, and the reference {wanted[0].shape}"
    if actual[1] == wanted[1] and np.array_equal(
        actual[0].view(_unsigned(actual[0])), wanted[0].view(_unsigned(wanted[0]))
    ):
        return None
    left, right = actual[0].reshape(-1), wanted[0].reshape(-1)
    bad, worst, where = 0, -1.0, 0
    for start in range(0, left.size, CHUNK):
        a = _numbers(left[start : start + CHUNK], actual[1])
        b = _numbers(right[start : start + CHUNK], wanted[1])
        with np.errstate(invalid="ignore", over="ignore"):
            excess = np.abs(a - b) - (atol + rtol * np.abs(b))
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        excess = np.where(equal, -1.0, np.where(np.isnan(excess), np.inf, excess))
        bad += int(np.count_nonzero(excess > 0))
        if excess.size and float(excess.max()) > worst:
            worst, where = float(excess.max()), start + int(excess.argmax())
    if bad <= max_mismatched_ratio * left.size:
        return None
    at = tuple(int(i) for i in np.unravel_index(where, actual[0].shape))
    got, should = (decode(x[where : where + 1], t)[0] for x, t in ((left, actual[1]), (right, wanted[1])))
    return f"{bad} of {left.size} elements of `{name}` are wrong, worst at {at}: {got}, expected {should}"


def _unsigned(array: Storage) -> str:
    return f"u{array.dtype.itemsize}"


def _numbers(storage: Storage, dtype: DType) -> Storage:
    """Returns numbers wide enough that subtracting them is exact, or as good as."""
    import numpy as np

    values = decode(storage, dtype)
    return values if values.dtype == np.float32 and dtype.bits <= 16 else values.astype(np.float64)
