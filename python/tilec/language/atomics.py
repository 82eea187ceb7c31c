"""Atomic operations: elements of tensors and of shared tiles that iterations, threads and blocks change together.

Those of arrays of `T.alloc_local`, and of variables, are reads and assignments: nobody else reaches them.

Each names an element, `C[i, j]`, and is done as a whole: nothing that others do atomically to the element comes in
between. In `T.Parallel` it is done once for each iteration; as a statement of a kernel once for each block. In which
order iterations and blocks come is not said, so that sums of floats may differ from call to call in their last bits.

All take these arguments:

- `memory_order`: which other accesses are ordered by it: "relaxed" (none), "acquire" (those that follow), "release"
  (those before it), "acq_rel" (both), "seq_cst" (both, and there is one order of all of these); "consume" is "acquire".
  `T.atomic_load` and `T.atomic_store` are "seq_cst" unless told otherwise, all others "relaxed".
- `scope`: the threads among which it is atomic: those of the "block", the "device" or the "system".
- `return_prev`: whether to return what the element was before.

Outside of a tensor nothing is changed, and what is returned is zero.
"""

from __future__ import annotations

from .. import _ops
from ..buffers import Buffer, Element, Outside, Reference, Region, Var
from ..builder import current
from ..errors import ArgumentError, DTypeError, ShapeError, TLSyntaxError
from ..typed import TYPE_CHECKING, cast
from ..types import Symbol, as_tuple
from ..values import Expr, binary, expr, index_value, select, to_index
from ..vectors import Vector
from .hints import ignored_options
from .loops import Parallel, grid
from .tile import for_each_pair

if TYPE_CHECKING:
    from typing import Any

    from .._ops import AtomicKind, MemoryOrder, MemoryScope
    from ..values import Number
    from .loops import Loop

_INTEGERS = ("int32", "uint32", "int64", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_BITWISE: tuple[AtomicKind, ...] = ("and", "or", "xor", "compare_exchange")

_ORDERS: dict[Any, MemoryOrder] = {
    None: "relaxed",
    "relaxed": "relaxed",
    "consume": "acquire",
    "acquire": "acquire",
    "release": "release",
    "acq_rel": "acq_rel",
    "seq_cst": "seq_cst",
}
_IMPOSSIBLE: dict[str, tuple[tuple[MemoryOrder, ...], str]] = {
    "atomic_load": (("release", "acq_rel"), "writes nothing that could be released"),
    "atomic_store": (("acquire", "acq_rel"), "reads nothing that others have released"),
}
"""The orders that an operation cannot have, and why, as in C++."""
_SCOPES: dict[Any, MemoryScope] = {"block": "block", "device": "device", "system": "system"}


# Checks ---------------------------------------------------------------------------------------------------------------


def _order(name: str, memory_order: Any) -> MemoryOrder:
    if isinstance(memory_order, str | None) and memory_order in _ORDERS:
        order = _ORDERS[memory_order]
        impossible, why = _IMPOSSIBLE.get(name, ((), ""))
        if order not in impossible:
            return order
        possible = [o for o in ("relaxed", "acquire", "release", "seq_cst") if o not in impossible]
        names = '"{}", "{}" or "{}": it {}'.format(*possible, why)
    else:
        names = ", ".join(f'"{order}"' for order in _ORDERS if order)
    raise ArgumentError(f"`memory_order` of `T.{name}` is {names}, not `{memory_order!r}`", location=current().here())


def _scope(name: str, scope: Any) -> MemoryScope:
    if isinstance(scope, str) and scope in _SCOPES:
        return _SCOPES[scope]
    raise ArgumentError(
        f'`scope` of `T.{name}` is "block", "device" or "system", not `{scope!r}`', location=current().here()
    )


class _Operation:
    """One kind of operation, as a function of the language asks for it."""

    def __init__(self, name: str, kind: AtomicKind, memory_order: Any, scope: Any) -> None:
        current().reach_kernel(f"`T.{name}`")
        self.name = name
        self.kind: AtomicKind = kind
        self._order: MemoryOrder = _order(name, memory_order)
        self._scope: MemoryScope = _scope(name, scope)

    def check(self, target: Buffer) -> None:
        """Raises unless elements of the buffer can be changed so."""
        name = target.name or "buffer"
        if target.space == "fragment":
            raise DTypeError(
                f"`T.{self.name}` is for elements of tensors, of tiles of `T.alloc_shared` and of arrays of "
                f"`T.alloc_local`, and `{name}` is in fragment memory, which no other thread reaches: assign to it",
                location=current().here(),
            )
        types = _INTEGERS if self.kind in _BITWISE else (*_INTEGERS, *_FLOATS)
        if target.dtype.name not in types:
            raise DTypeError(
                f"`T.{self.name}` works on {', '.join(types[:-1])} and {types[-1]}, and `{name}` holds "
                f"`{target.dtype}`",
                location=current().here(),
            )

    def emit(
        self,
        target: Buffer,
        indices: list[Number | Expr],
        value: Any = None,
        expected: Any = None,
        *,
        marks: dict[str, str] | None = None,
    ) -> Expr:
        """Emits the operation on an element, and returns what that was before."""
        found, place = target.locate(indices)
        if found.dtype.mlir != target.dtype.mlir:
            raise DTypeError(
                f"`T.{self.name}` changes elements as what they are: `{found.name}` holds `{found.dtype}`, and this is "
                f"a view of it as `{target.dtype}`",
                location=current().here(),
            )
        if self.kind != "load":
            target.mark_written()
        if found.space == "local":
            return self._alone(found, place, value, expected)
        kind: AtomicKind = self.kind
        if kind in ("min", "max") and target.dtype.kind == "uint":
            kind = "umin" if kind == "min" else "umax"
        op = _ops.atomic(
            None if value is None else expr(value, target.dtype).value,
            found.value,
            [index_value(i) for i in place],
            None if expected is None else expr(expected, target.dtype).value,
            kind=kind,
            order=None if self._order == "relaxed" else self._order,
            scope=None if self._scope == "device" else self._scope,
            old_type=target.dtype.mlir,
            attributes=marks,
        )
        return Expr(op.results[0], target.dtype)

    def _alone(self, array: Buffer, place: list[Number | Expr], value: Any, expected: Any) -> Expr:
        """Does it to an element that nobody else reaches, where a read and an assignment are one step."""
        old = Expr(array.load_element(place).results[0], array.dtype)
        if self.kind == "load":
            return old
        new = expr(value, array.dtype)
        if self.kind == "compare_exchange":
            new = select(binary("eq", old, expr(expected, array.dtype)), new, old)
        elif self.kind != "exchange":
            new = binary(self.kind, old, new)
        array.store_element(expr(new, array.dtype), place)
        return old

    def element(self, place: Any, value: Any = None, expected: Any = None) -> Expr:
        """Does it to the element that `place`, such as `C[i]`, names."""
        if isinstance(place, Reference):
            place = place.load()
        if isinstance(place, Outside):
            place.fail()
        if isinstance(place, Var):
            place = place.load()
        if not isinstance(place, Element):
            raise TLSyntaxError(
                f"`T.{self.name}` needs an element, such as `C[i, j]`, not `{place!r}`", location=current().here()
            )
        self.check(place.buffer)
        return self.emit(place.buffer, place.as_place(), value, expected)

    def tile(self, target: Any, value: Any) -> None:
        """Does it to each element of a tile, with the element of another one or with a number."""
        if not isinstance(target, Buffer | Region):
            raise TLSyntaxError(
                f"`T.{self.name}` needs an element or a tile, not `{target!r}`", location=current().here()
            )
        buffer = target if isinstance(target, Buffer) else target.buffer
        self.check(buffer)
        if isinstance(value, Buffer | Region | Element | Outside):

            def change(source: tuple[Any, ...], there: tuple[Any, ...]) -> None:
                read = value if isinstance(value, Buffer) else value.buffer
                self.emit(buffer, [*there], read[source])

            for_each_pair(value, target, self.name, change, _loop_over(buffer))
            return
        offsets = (0,) * buffer.rank if isinstance(target, Buffer) else target.offsets
        shape = buffer.shape if isinstance(target, Buffer) else target.extents
        if any(isinstance(extent, Symbol) or extent is None for extent in shape):
            raise ShapeError(
                f"`T.{self.name}` of a number and a tile needs the tile's extents, such as `C[0:64]`: those of "
                f"`{buffer.name}` are not known when the kernel is built",
                location=current().here(),
            )
        extents = [cast("int", extent) for extent in shape]
        with _loop_over(buffer)(*([extent for extent in extents if extent > 1] or [1])) as loop:
            variables = iter(as_tuple(loop))
            place = [
                to_index(offset) if extent <= 1 else binary("add", to_index(offset), next(variables))
                for offset, extent in zip(offsets, extents, strict=True)
            ]
            self.emit(buffer, place, value)


def _loop_over(buffer: Buffer) -> type[Loop]:
    """Returns the loop over a tile's elements: an array that a `T.Parallel` changes would be each iteration's own."""
    return grid if buffer.space == "local" else Parallel


def _is_tile(target: Any, value: Any) -> bool:
    """Whether the operation is on a tile: one of the two names more than an element."""
    return any(isinstance(side, Buffer | Region) for side in (target, value))


def _change(operation: _Operation, target: Any, value: Any, return_prev: bool) -> Expr | None:
    if not _is_tile(target, value):
        old = operation.element(target, value)
        return old if return_prev else None
    if return_prev:
        raise ArgumentError(
            f"`T.{operation.name}` of a tile returns nothing: write a `T.Parallel` over its elements, each of which "
            f"can ask for `return_prev`",
            location=current().here(),
        )
    operation.tile(target.as_region() if isinstance(target, Element | Outside) else target, value)
    return None


def elementwise(
    name: str,
    kind: AtomicKind,
    target: Buffer,
    place: list[Number | Expr],
    value: Any,
    *,
    in_any_order: bool = False,
) -> None:
    """Changes an element, for other functions of the language; threads of the block may do so together.

    With `in_any_order` what several of them have may be combined first.
    """
    operation = _Operation(name, kind, None, "block")
    operation.check(target)
    operation.emit(target, place, value, marks={"tl.contribution": ""} if in_any_order else None)


# Operations -----------------------------------------------------------------------------------------------------------


def atomic_add(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: dict[str, Any] | None = None,
    *,
    scope: str = "device",
) -> Expr | None:
    """Adds `value` to an element, or the elements of a tile to those of another.

    - `dst`: an element `C[i, j]`; or a tile: a buffer, a region, or the position where the tile `value` goes.
    - `value`: a number; for a tile a tile of the same extents, or a number.
    - `memory_order`: which other accesses are ordered by it: "relaxed" (none, the default), "acquire" (those that
      follow), "release" (those before it), "acq_rel" (both), "seq_cst" (both, and there is one order of all of these).
      Who adds to a counter and then reads what those before it wrote needs "acq_rel".
    - `return_prev`: whether to return what the element was before; a tile returns nothing.
    - `scope`: the threads among which it is atomic: those of the "block", the "device" (the default) or the "system".
    - `use_tma`, `annotations`: hints, which change nothing here.

    Types: int32, uint32, int64, uint64, float16, bfloat16, float32, float64. The sum is rounded to the element's type.
    On sm_90a the bulk copy engine adds whole tiles of `T.alloc_shared` to tensors of int32, uint32, float16, bfloat16
    and float32, while the block goes on.

    >>> T.atomic_add(n[0], 1)
    >>> T.atomic_add(C[by * 64, bx * 64], acc)
    """
    return _change(_Operation("atomic_add", "add", memory_order, scope), dst, value, return_prev)


def atomic_max(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    annotations: Any = None,
    *,
    scope: str = "device",
) -> Expr | None:
    """Makes an element the greater of itself and `value`; arguments and types are those of `atomic_add`.

    A NaN is what is left if one of the two is one, and +0 is greater than -0.

    >>> T.atomic_max(n[0], n[1])
    """
    ignored_options("T.atomic_max", "the compiler chooses the instruction", annotations=annotations or None)
    return _change(_Operation("atomic_max", "max", memory_order, scope), dst, value, return_prev)


def atomic_min(
    dst: Any,
    value: Any,
    memory_order: str | None = None,
    return_prev: bool = False,
    annotations: Any = None,
    *,
    scope: str = "device",
) -> Expr | None:
    """Makes an element the lesser of itself and `value`; arguments and types are those of `atomic_add`.

    >>> before = T.atomic_min(n[0], n[1], return_prev=True)
    """
    ignored_options("T.atomic_min", "the compiler chooses the instruction", annotations=annotations or None)
    return _change(_Operation("atomic_min", "min", memory_order, scope), dst, value, return_prev)


def atomic_and(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False, *, scope: str = "device"
) -> Expr | None:
    """Clears the bits of an element that `value` has not; arguments are those of `atomic_add`, types its integers.

    >>> T.atomic_and(n[0], 7)
    """
    return _change(_Operation("atomic_and", "and", memory_order, scope), dst, value, return_prev)


def atomic_or(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False, *, scope: str = "device"
) -> Expr | None:
    """Sets the bits of an element that `value` has; arguments are those of `atomic_add`, types its integers.

    >>> T.atomic_or(n[0], 1)
    """
    return _change(_Operation("atomic_or", "or", memory_order, scope), dst, value, return_prev)


def atomic_xor(
    dst: Any, value: Any, memory_order: str | None = None, return_prev: bool = False, *, scope: str = "device"
) -> Expr | None:
    """Flips the bits of an element that `value` has; arguments are those of `atomic_add`, types its integers.

    >>> T.atomic_xor(n[0], 1)
    """
    return _change(_Operation("atomic_xor", "xor", memory_order, scope), dst, value, return_prev)


def atomic_exchange(dst: Any, value: Any, memory_order: str | None = None, *, scope: str = "device") -> Expr:
    """Writes `value` to an element and returns what it was before; types are those of `atomic_add`.

    >>> before = T.atomic_exchange(n[0], 1)
    """
    return _Operation("atomic_exchange", "exchange", memory_order, scope).element(dst, value)


def atomic_cas(dst: Any, expected: Any, value: Any, memory_order: str | None = None, *, scope: str = "device") -> Expr:
    """Writes `value` to an element that is `expected`, and returns what it was before.

    Types: int32, uint32, int64, uint64.

    >>> is_mine = T.atomic_cas(n[0], 0, 1, "acquire") == 0
    """
    return _Operation("atomic_cas", "compare_exchange", memory_order, scope).element(dst, value, expected)


def atomic_load(src: Any, memory_order: str | None = "seq_cst", *, scope: str = "device") -> Expr:
    """Reads an element that others write atomically; types are those of `atomic_add`.

    - `memory_order`: "relaxed", "acquire" or "seq_cst", the default, which acquires as well.

    >>> value = T.atomic_load(n[0], "acquire")
    """
    return _Operation("atomic_load", "load", memory_order, scope).element(src)


def atomic_store(dst: Any, src: Any, memory_order: str | None = "seq_cst", *, scope: str = "device") -> None:
    """Writes `src` to an element that others read atomically; types are those of `atomic_add`.

    - `memory_order`: "relaxed", "release" or "seq_cst", the default, which releases as well.

    >>> T.atomic_store(n[0], 1, "release")
    """
    _Operation("atomic_store", "exchange", memory_order, scope).element(dst, src)


# Several elements -----------------------------------------------------------------------------------------------------


def _add_neighbours(name: str, count: int, target: Any, value: Any, order: Any, return_prev: bool) -> Vector | None:
    operation = _Operation(name, "add", order, "device")
    places = _places(target, name, count)
    operation.check(places[0][0])
    numbers = value.numbers if _is_vector(value, count) else None
    sources = _places(value, name, count) if numbers is None else ()
    old: list[Expr] = []
    for i, (to, there) in enumerate(places):
        if numbers is None:
            from_, here = sources[i]
            number = Expr(from_.load_element(here).results[0], from_.dtype)
        else:
            number = numbers[i]
        old.append(operation.emit(to, there, number))
    return Vector(old) if return_prev else None


def _is_vector(side: Any, count: int) -> bool:
    return isinstance(side, Vector) and len(side) == count


def _places(side: Any, name: str, count: int) -> list[tuple[Buffer, list[Number | Expr]]]:
    """Returns where neighbours are: each of a vector that was read, or as many as are needed from a position on."""
    if _is_vector(side, count) and all(isinstance(number, Element) for number in side):
        return [(element.buffer, element.as_place()) for element in side]
    buffer, place = _beginning(side, name, count)
    return [(buffer, [*place[:-1], binary("add", to_index(place[-1]), i)]) for i in range(count)]


def _beginning(side: Any, name: str, count: int) -> tuple[Buffer, list[Number | Expr]]:
    """Returns where neighbours begin: at an element, or as all of a row or a slice of so many."""
    if isinstance(side, Element):
        return side.buffer, side.as_place()
    if isinstance(side, Buffer) and tuple(side.shape) == (*(1,) * (side.rank - 1), count):
        return side, [0] * side.rank
    if isinstance(side, Region) and [e for e in side.extents if e not in (0, 1)] == [count] == [side.extents[-1]]:
        return side.buffer, [*side.offsets]
    raise TLSyntaxError(
        f"`T.{name}` adds {count} elements from a position on to as many from another, such as "
        f"`T.{name}(C[i, j], A[i, j])`, and this is `{side!r}`",
        location=current().here(),
    )


def atomic_addx2(dst: Any, value: Any, return_prev: bool = False, *, memory_order: str | None = None) -> Any:
    """Adds two elements of the last dimension, from `value` on, to two from `dst` on; each is atomic by itself.

    With `return_prev` it returns a vector of what the two were before. Types are those of `atomic_add`. Either side may
    be a slice or a vector that was read, as `C[0, T.Ramp(0, 1, 2)]` is, and `value` any vector.

    >>> T.atomic_addx2(C[0, 0], A[0, 0])
    >>> C[1, 0:2] = T.atomic_addx2(C[0, 0:2], A[0, 0:2], return_prev=True)
    """
    return _add_neighbours("atomic_addx2", 2, dst, value, memory_order, return_prev)


def atomic_addx4(dst: Any, value: Any, return_prev: bool = False, *, memory_order: str | None = None) -> Any:
    """Adds four elements of the last dimension, as `atomic_addx2` does two.

    >>> T.atomic_addx4(C[0, 0], A[0, 0])
    """
    return _add_neighbours("atomic_addx4", 4, dst, value, memory_order, return_prev)


__all__ = [
    "atomic_add", "atomic_addx2", "atomic_addx4", "atomic_and", "atomic_cas", "atomic_exchange", "atomic_load",
    "atomic_max", "atomic_min", "atomic_or", "atomic_store", "atomic_xor",
]  # fmt: skip
