"""Reducers: results that iterations of a `T.Parallel` combine what they have into, element by element.

A reducer is a tile in shared memory whose elements are changed atomically, so that any iteration may contribute to any
of them, any number of times, in loops around the `T.Parallel` too. In which order is not said: sums of floats may
differ from call to call in their last bits. Where every element comes from one dimension of a fragment `T.reduce_sum`
and its kin are faster.
"""

from __future__ import annotations

from .. import dtypes
from ..buffers import Buffer, Element, alloc
from ..builder import current
from ..errors import ArgumentError, DTypeError, TLSyntaxError, quoted
from ..typed import TYPE_CHECKING
from ..values import Expr
from . import tile
from .atomics import elementwise
from .scalar import max_value, min_value

if TYPE_CHECKING:
    from typing import Any, Literal

    from .._ops import AtomicKind
    from ..ir import Op, Value
    from ..values import Number

    Combination = Literal["sum", "max", "min", "bitand", "bitor", "bitxor"]

__all__ = ["alloc_reducer", "finalize_reducer", "reducer_init", "reducer_update"]

_ATOMICS: dict[str, AtomicKind] = {
    "sum": "add",
    "max": "max",
    "min": "min",
    "bitand": "and",
    "bitor": "or",
    "bitxor": "xor",
}
_COMBINATIONS: dict[str, tuple[str, ...]] = {
    "sum": ("arith.addf", "arith.addi"),
    "max": ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "min": ("arith.minimumf", "arith.minsi", "arith.minui"),
    "bitand": ("arith.andi",),
    "bitor": ("arith.ori",),
    "bitxor": ("arith.xori",),
}
"""The operations that combine an element with a contribution, as `r[i] = T.max(r[i], value)` does."""


class Reducer(Buffer):
    """A tile whose elements are combined into. What is assigned to one is its value, combined with a contribution."""

    combination: Combination

    def combine(self, value: Any, indices: list[Number | Expr]) -> None:
        """Combines a contribution into an element."""
        elementwise("reducer_update", _ATOMICS[self.combination], self, indices, value, in_any_order=True)

    def store_element(self, value: Expr, indices: list[Number | Expr]) -> None:
        ops = current().block.ops
        made = next((op for op in reversed(ops) if value.value in op.results), None)
        reads = [] if made is None else [read for v in made.operands if (read := self._read(v)) is not None]
        if made is None or not reads or made.name not in _COMBINATIONS[self.combination]:
            raise TLSyntaxError(
                f"`{self.name}` is a reducer that combines by `{self.combination}`: contributions go into it by "
                f"`T.reducer_update({self.name}[i], value)`",
                location=current().here(),
            )
        read = reads[0]
        (contribution,) = [v for v in made.operands if v is not read.results[0]] or [read.results[0]]
        _drop(ops, made)
        _drop(ops, read)
        self.combine(Expr(contribution, self.dtype), indices)

    def _read(self, value: Value) -> Op | None:
        """Returns the read of an element of this buffer that a value is the result of, if it is one."""
        for op in current().block.ops:
            if value in op.results and op.name == "tl.load" and op.operands[0] is self.value:
                return op
        return None


def _drop(ops: list[Op], op: Op) -> None:
    """Removes an operation whose results nobody uses."""
    if all(result.uses == 0 for result in op.results):
        ops.remove(op)
        for operand in op.operands:
            operand.uses -= 1


def alloc_reducer(shape: Any, dtype: Any, op: Combination = "sum", replication: str | None = None) -> Buffer:
    """Allocates a reducer, which `T.reducer_init` fills first.

    - `shape`: its extents.
    - `dtype`: int32, uint32, int64, uint64, float16, bfloat16, float32 or float64; integers for bit operations.
    - `op`: how contributions are combined: "sum", "max", "min", "bitand", "bitor" or "bitxor".
    - `replication`: a hint for other compilers, without effect.

    >>> total = T.alloc_reducer((64,), "float32")
    >>> T.reducer_init(total)
    >>> for i, j in T.Parallel(64, 64):
    ...     T.reducer_update(total[i], A[i, j] * B[i, j])
    >>> T.finalize_reducer(total, row)
    """
    if op not in _ATOMICS:
        raise ArgumentError(f"`op` of `T.alloc_reducer` is {quoted(_ATOMICS)}, not `{op!r}`", location=current().here())
    if replication not in (None, "all", "none"):
        raise ArgumentError(
            f'`replication` of `T.alloc_reducer` is "all" or "none", not `{replication!r}`', location=current().here()
        )
    element = dtypes.dtype(dtype)
    if op.startswith("bit") and not element.is_integer:
        raise DTypeError(
            f"a reducer that combines by `{op}` holds integers, not `{element}`", location=current().here()
        )
    made = alloc(shape, element, "shared")
    reducer = Reducer(made.value, made.shape, element, "shared")
    reducer.combination = op
    return reducer


def reducer_init(reducer: Any, init: Any = None) -> None:
    """Fills a reducer with `init`; by default with what changes nothing: 0, the least or greatest number, all bits.

    >>> total = T.alloc_reducer((64,), "float32")
    >>> T.reducer_init(total)
    >>> for i, j in T.Parallel(64, 64):
    ...     T.reducer_update(total[i], A[i, j])
    >>> T.finalize_reducer(total, row)
    """
    made = _checked(reducer, "T.reducer_init")
    tile.fill(made, _identity(made) if init is None else init)


def _identity(reducer: Reducer) -> Any:
    if reducer.combination == "bitand":
        return -1 if reducer.dtype.is_signed else reducer.dtype.range[1]
    if reducer.combination in ("max", "min") and reducer.dtype.is_float:
        return float("-inf" if reducer.combination == "max" else "inf")
    if reducer.combination == "max":
        return min_value(reducer.dtype)
    return max_value(reducer.dtype) if reducer.combination == "min" else 0


def reducer_update(target: Any, value: Any) -> None:
    """Combines a value into an element of a reducer: `T.reducer_update(total[i], x[i, j])`.

    In a `T.Parallel` each iteration contributes once, elsewhere the block does. For sums `total[i] += x[i, j]` means
    the same, and `top[i] = T.max(top[i], x[i, j])` for the greatest.

    >>> total = T.alloc_reducer((64,), "float32")
    >>> T.reducer_init(total)
    >>> for i, j in T.Parallel(64, 64):
    ...     T.reducer_update(total[i], A[i, j])
    >>> T.finalize_reducer(total, row)
    """
    if not isinstance(target, Element) or not isinstance(target.buffer, Reducer):
        raise TLSyntaxError(
            f"`T.reducer_update` needs an element of a reducer, such as `total[i]`, not `{target!r}`",
            location=current().here(),
        )
    target.buffer.combine(value, target.as_place())


def finalize_reducer(reducer: Any, dst: Any = None, batch: int = 1, annotations: Any = None) -> None:
    """Ends combining: from here on the elements are read; with `dst` they are copied there.

    - `dst`: a tile of the reducer's shape.
    - `batch`, `annotations`: hints for other compilers, without effect.

    >>> total = T.alloc_reducer((64,), "float32")
    >>> T.reducer_init(total)
    >>> for i, j in T.Parallel(64, 64):
    ...     T.reducer_update(total[i], A[i, j])
    >>> T.finalize_reducer(total, row)
    """
    made = _checked(reducer, "T.finalize_reducer")
    if batch < 1:
        raise ArgumentError(
            f"`batch` of `T.finalize_reducer` must be positive, and {batch} is not", location=current().here()
        )
    if dst is not None:
        tile.copy(made, dst)


def _checked(reducer: Any, function: str) -> Reducer:
    if not isinstance(reducer, Reducer):
        raise TLSyntaxError(
            f"`{function}` needs what `T.alloc_reducer` returns, not `{reducer!r}`", location=current().here()
        )
    return reducer
