"""Buffers: tensors, tiles in shared memory, fragments, and what indexing them gives."""

from __future__ import annotations

from . import _ops, dtypes
from .builder import current
from .errors import (
    DTypeError,
    RangeError,
    RankError,
    ShapeError,
    TLSyntaxError,
    UnsupportedError,
    quoted,
    suggestion,
)
from .operators import Operators
from .typed import TYPE_CHECKING
from .types import Symbol, as_tuple
from .values import (
    Expr,
    Lost,
    Scalar,
    binary,
    bounded_index,
    difference,
    expr,
    index_value,
    known,
    select,
    simplify,
    static_int,
)
from .vectors import Vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, NoReturn

    from .builder import Parameter
    from .dtypes import DType
    from .ir import Op, Value
    from .types import Extent
    from .values import Number

    Space = Literal["global", "shared", "fragment", "local"]

_SPACES: dict[Space, str] = {
    "global": "",
    "shared": ", #gpu.address_space<workgroup>",
    "fragment": ", #tl.fragment",
    "local": ", #gpu.address_space<private>",
}


_LONGEST_VECTOR = 16
"""How many numbers a slice has at most that is assigned or read as a vector, each by operations of its own."""


class BufferType(str):
    """The MLIR type of an on-chip buffer, which knows what it was made of."""

    __slots__ = ("shape", "space")

    shape: tuple[int, ...]
    space: Space


def buffer_type(shape: Sequence[int], dtype: DType, space: Space) -> BufferType:
    """Returns the MLIR type of an on-chip buffer."""
    extents = "".join(f"{e}x" for e in shape)
    made = BufferType(f"memref<{extents}{dtype.mlir}{_SPACES[space]}>")
    made.shape, made.space = tuple(shape), space
    return made


_INSTEAD = {
    "astype": "copy it to a tile of the other type with `T.copy`, or convert elements with `T.cast(A[i, j], dtype)`",
    "to": "copy it to a tile of the other type with `T.copy`, or convert elements with `T.cast(A[i, j], dtype)`",
    "T": "use `T.transpose(source, target)`, or `transpose_A=True` and `transpose_B=True` of `T.gemm`",
    "reshape": "use `T.reshape(A, shape)`",
    "view": "use `T.view(A, shape, dtype)`",
    "max": "use `T.reduce_max(A, out)`",
    "min": "use `T.reduce_min(A, out)`",
    "sum": "use `T.reduce_sum(A, out)`",
}
"""What to write in place of methods that arrays of other libraries have."""


class Buffer:
    """A tensor parameter or an on-chip buffer.

    - `buffer[i, j]` is one element; assigning to it writes it. As an argument of `T.copy` it is where a tile begins.
    - `buffer[i0:i1, j]` is a region, for `T.copy` and other tile operations.
    """

    is_view = False
    """Whether its elements are those of another buffer, under other indices."""

    def __init__(
        self, value: Value, shape: Sequence[Extent], dtype: DType, space: Space, *, parameter: Parameter | None = None
    ) -> None:
        self.value = value
        self.shape = tuple(shape)
        self.dtype = dtype
        self.space: Space = space
        self.parameter = parameter

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        return self.value.hint

    @property
    def data(self) -> Buffer:
        """Where its elements are, for `T.Tensor(shape, dtype, buffer.data)`, which is `T.view`."""
        return self

    def static_shape(self) -> tuple[int, ...] | None:
        """Returns the extents, or None if one of them is a symbol."""
        out = [e for e in self.shape if not isinstance(e, Symbol)]
        return tuple(out) if len(out) == self.rank else None

    def mark_written(self) -> None:
        if self.parameter is not None:
            self.parameter.is_written = True

    def __repr__(self) -> str:
        extents = ", ".join(map(repr, self.shape))
        return f"<{self.space} buffer {self.name or '?'} ({extents}) of {self.dtype}>"

    def __bool__(self) -> bool:
        raise TLSyntaxError(
            f"{self!r} is not a truth value: look at elements, or use `T.any_of` or `T.all_of`",
            location=current().here(),
        )

    def __len__(self) -> int:
        return static_int(self.shape[0], f"`len({self.name or 'buffer'})`")

    def __iter__(self) -> NoReturn:
        raise TLSyntaxError(
            f"`{self.name or 'buffer'}` cannot be iterated over: write `for i in T.serial({self.shape[0]})`, and take "
            f"elements",
            location=current().here(),
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TLSyntaxError(
            f"`{self.name or 'buffer'}` is no array of NumPy's: what it holds is known only when the kernel runs",
            location=current().here(),
        )

    def __matmul__(self, other: Any) -> NoReturn:
        raise UnsupportedError(
            f"`@` makes no matrix product of `{self.name or 'a tile'}`: use `T.gemm(A, B, C)`, which adds to `C`",
            location=current().here(),
        )

    __rmatmul__ = __matmul__

    def __getattr__(self, name: str) -> NoReturn:
        if name in _INSTEAD:
            raise AttributeError(f"a tensor or tile has no `{name}`: {_INSTEAD[name]}")
        known = ("shape", "dtype", "rank", "name", "space")
        raise AttributeError(
            f"a tensor or tile has no `{name}`{suggestion(name, known) or f'; it has {quoted(known)}'}"
        )

    @property
    def number_instead(self) -> str:
        """What to write where a number is needed."""
        return f": give the element, such as `{self.name or 'buffer'}[{', '.join('ijkl'[: self.rank])}]`"

    @property
    def _dimensions(self) -> str:
        return f"{self.rank} dimension{'s' * (self.rank != 1)}"

    def __getitem__(self, item: Any) -> Element | Outside | Region | Vector:
        items = as_tuple(item)
        if len(items) > self.rank:
            raise RankError(
                f"`{self.name or 'buffer'}` has {self._dimensions}, and {len(items)} indices are given",
                location=current().here(),
            )
        if any(isinstance(i, Vector) for i in items):
            return Vector([expr(self[place]) for place in self._places(items)])
        if len(items) < self.rank or any(isinstance(i, slice) for i in items):
            return Region.of(self, items)
        position = tuple(simplify(i) for i in items)
        try:
            indices = [self._index(d, i) for d, i in enumerate(position)]
        except RangeError as error:
            if self.space != "global":
                raise
            return Outside(self, position, error)
        return self._element(position, indices)

    def _element(self, position: tuple[Number | Expr, ...], indices: list[Number | Expr]) -> Element:
        """Emits the read of an element, and what to take for one that is outside, where that is not zero."""
        load = self.load_element(indices)
        instead = current().outside.get(self.value)
        is_inside: Any = True
        if instead is not None:
            for index, extent in zip(indices, self.shape, strict=True):
                is_inside = and_inside(is_inside, index, extent)
        if is_inside is True:
            return Element(self, position, load)
        chosen = select(is_inside, Expr(load.results[0], self.dtype), expr(instead, self.dtype))
        return Element(self, position, load, chosen.value)

    def load_element(self, indices: list[Number | Expr]) -> Op:
        """Emits the read of an element."""
        builder = current()
        if builder.kernel_block is None and not builder.for_tilelang:
            raise TLSyntaxError(
                f"an element of `{self.name or 'a tensor'}` is known only when a kernel runs, and this stands outside "
                f"of `with T.Kernel(...)`: pass a number to the program, as `n: T.int32`, or read it in the kernel",
                location=builder.here(),
            )
        return _ops.load(self.value, [_value(i) for i in indices], result_type=self.dtype.mlir)

    def locate(self, indices: list[Number | Expr]) -> tuple[Buffer, list[Number | Expr]]:
        """Returns the buffer that an element lies in, which is no view, and where in it."""
        return self, indices

    def store_element(self, value: Expr, indices: list[Number | Expr]) -> None:
        """Emits the write of an element."""
        places = [_value(i) for i in indices]
        _ops.store(value.value, self.value, places)

    def __setitem__(self, item: Any, value: Any) -> None:
        items = as_tuple(item)
        if len(items) != self.rank and not any(isinstance(i, slice) for i in items):
            raise RankError(
                f"`{self.name or 'buffer'}` has {self._dimensions}, and {len(items)} "
                f"{'indices are' if len(items) != 1 else 'index is'} given; for tiles use `T.copy` or `T.fill`",
                location=current().here(),
            )
        current().reach_kernel("an assignment to an element")
        if any(isinstance(i, Vector) for i in items):
            self._scatter(self._places(items), value)
            return
        if any(isinstance(i, slice) for i in items):
            self._assign_vector(items, value)
            return
        # Python evaluates the value before the index, and so is the order here.
        stored = expr(value, self.dtype)
        indices = [self._index(d, i) for d, i in enumerate(items)]
        self._refuse_outside(indices)
        self.mark_written()
        self.store_element(stored, indices)

    def _refuse_outside(self, indices: Sequence[Number | Expr]) -> None:
        """Refuses an assignment to a tile by a variable of the innermost loop, a `T.Parallel` that goes beyond it.

        No condition is in between, so that the last iterations would write outside (semantics M2).
        """
        block = current().block
        if self.space == "global" or block.label != "`T.Parallel`":
            return
        for dimension, (index, extent) in enumerate(zip(indices, self.shape, strict=True)):
            if not isinstance(index, Expr) or index.const is not None or not isinstance(extent, int):
                continue
            if index.value in block.arguments and index.range.high >= extent:
                if self._grow(dimension, index.range.high + 1):
                    continue
                raise RangeError(
                    f"`T.Parallel` has {index.range.high + 1} iterations that assign to `{self.name or 'buffer'}`, "
                    f"whose extent in dimension {dimension} is {extent}: make one of them the other, or put the "
                    f"assignment behind a condition",
                    location=current().here(),
                )

    def _grow(self, dimension: int, extent: int) -> bool:
        """Gives a fragment that nothing has used yet, of a program for TileLang, as many elements as a loop assigns to.

        A thread has a register there for what it assigns, whatever the extent says, and a loop over as many elements
        reads it. Returns whether it was done.
        """
        if not current().for_tilelang or self.space != "fragment" or self.value.uses:
            return False
        shape = [extent if d == dimension else int(e) for d, e in enumerate(self.shape)]
        self.shape = tuple(shape)
        self.value.type = buffer_type(shape, self.dtype, self.space)
        return True

    def _scatter(self, places: list[tuple[Any, ...]], value: Any) -> None:
        """Writes the numbers of a vector, or one number, to elements."""
        numbers = value if isinstance(value, Vector) else [value] * len(places)
        if len(numbers) != len(places):
            raise ShapeError(
                f"{value!r} is assigned to {len(places)} elements of `{self.name or 'buffer'}`",
                location=current().here(),
            )
        for place, number in zip(places, numbers, strict=True):
            self[place] = number

    def _places(self, items: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Returns the indices of each element that indices with vectors among them are of."""
        lengths = {len(item) for item in items if isinstance(item, Vector)}
        if len(lengths) > 1 or any(isinstance(item, slice) for item in items):
            raise ShapeError(
                "indices that are vectors have one length, and no slice is beside them", location=current().here()
            )
        return [
            tuple(
                _counted(item[k], extent) if isinstance(item, Vector) else item
                for item, extent in zip(items, self.shape, strict=True)
            )
            for k in range(lengths.pop())
        ]

    def _assign_vector(self, items: tuple[Any, ...], value: Any) -> None:
        """Writes the numbers of a vector to as many elements side by side; of a short slice those are read, too."""
        region = Region.of(self, items)
        if isinstance(value, Region) and value.is_short_row():
            value = value.read()
        elif isinstance(value, Operators | int | float) and region.is_short_row():
            value = Vector([expr(value, self.dtype)] * region.short_length())
        if not isinstance(value, Vector):
            raise TLSyntaxError(
                "only single elements can be assigned to; use `T.copy` or `T.fill` for tiles", location=current().here()
            )
        *outer, last = region.extents
        if last != len(value) or any(e not in (0, 1) for e in outer):
            raise ShapeError(
                f"{value!r} is assigned to as many elements along the last dimension of `{self.name}`, and these are "
                f"others",
                location=current().here(),
            )
        *fixed, first = region.offsets
        for i, number in enumerate(value):
            self[(*fixed, _further(first, i))] = number

    def _index(self, dimension: int, index: Any) -> Number | Expr:
        """Returns a checked index; negative numbers count from the end, as in Python.

        What is computed of values of the kernel is never a number, even where its value is known: the index of a loop
        means the same whether the loop is unrolled or not.
        """
        constant = simplify(index)
        extent = self.shape[dimension]
        if not isinstance(constant, int):
            return constant
        if isinstance(extent, Symbol):
            return _from_end(constant, extent)
        if not -extent <= constant < extent:
            raise RangeError(
                f"index {constant} is out of bounds of dimension {dimension} of `{self.name or 'buffer'}`, "
                f"whose extent is {extent}",
                location=current().here(),
            )
        return int(constant) + (extent if constant < 0 else 0)


def and_inside(others: Any, index: Number | Expr, extent: Extent) -> Any:
    """Returns a condition, and that an index of a tensor is none of an element outside; True for what is known."""
    if not isinstance(index, Expr):
        return others
    index = bounded_index(index)  # no type of an index is too narrow for the extent then
    if not isinstance(extent, Symbol) and 0 <= index.range.low <= index.range.high < extent:
        return others
    inside = binary("and", binary("ge", index, 0), binary("lt", index, extent))
    return inside if others is True else binary("and", others, inside)


class Handle:
    """A parameter whose type the body of the function has yet to say."""

    def __init__(self, name: str, dtype: DType | None) -> None:
        self.name = name
        self.dtype = dtype
        self.tensor: Buffer | None = None

    def __repr__(self) -> str:
        return f"{self.name}, a pointer"

    def __setitem__(self, item: Any, value: Any) -> None:
        self[item]

    def __getitem__(self, item: Any) -> NoReturn:
        raise TLSyntaxError(
            f"`{self.name}` is a pointer: make a tensor of it, `T.make_tensor({self.name}, shape, dtype)`, and index "
            f"that",
            location=current().here(),
        )


def _further(index: Number | Expr, count: int) -> Number | Expr:
    """Returns the index so many elements behind one."""
    return index + count if isinstance(index, int) else binary("add", bounded_index(index), count)


def _counted(index: Expr, extent: Extent) -> Number | Expr:
    """Returns the index that a number of a vector is; in a program for TileLang a negative one counts from the end."""
    if not current().for_tilelang or index.range.low >= 0:
        return index
    return select(binary("lt", index, 0), binary("add", index, extent), index)


def _value(index: Number | Expr) -> Value:
    return index_value(index)


class Element(Expr):
    """One element of a buffer: the value that was read, and the position as it was given: tiles may begin there."""

    __slots__ = ("_load", "buffer", "position")

    def __init__(
        self, buffer: Buffer, position: tuple[Number | Expr, ...], load: Op, chosen: Value | None = None
    ) -> None:
        super().__init__(load.results[0] if chosen is None else chosen, buffer.dtype)
        self.buffer = buffer
        self.position = position
        self._load = load

    def as_place(self) -> list[Number | Expr]:
        """Returns the indices of the element; drops the read if nobody used it."""
        self._drop()
        return [self.buffer._index(d, i) for d, i in enumerate(self.position)]

    def _drop(self) -> None:
        ops = self.value.block.ops
        if self.value.uses or self._load not in ops:
            return
        # A position that is known to be outside gives a constant, which others share.
        read = self._load.results[0]
        made = [
            op
            for op in ops[ops.index(self._load) :]
            if op is self._load or (self.value in op.results and read in op.operands)
        ]
        for op in reversed(made):
            ops.remove(op)
            for operand in op.operands:
                operand.uses -= 1

    def as_region(self) -> Region:
        """Returns the position as the origin of a tile of unknown extents; drops the read if nobody used it."""
        self._drop()
        if self.buffer.space != "global" and any((known(i) or 0) < 0 for i in self.position):
            raise RangeError(
                f"a tile of `{self.buffer.name or 'buffer'}` cannot begin at a negative index: where a tile begins, "
                f"indices do not count from the end",
                location=current().here(),
            )
        return Region.at(self.buffer, self.position)


class Outside(Lost):
    """A position outside of a tensor: a tile can begin there, but it has no element."""

    def __init__(self, buffer: Buffer, position: tuple[Number | Expr, ...], error: RangeError) -> None:
        self.buffer = buffer
        self.position = position
        self._error = error

    def __repr__(self) -> str:
        return f"an element outside of `{self.buffer.name or 'buffer'}`"

    def fail(self) -> NoReturn:
        """Raises the error that any use but as the origin of a tile is."""
        raise self._error

    def as_region(self) -> Region:
        """Returns the position as the origin of a tile of unknown extents."""
        return Region.at(self.buffer, self.position)


class Region:
    """A box of a buffer: where it begins, and its extents; None for one that is to be found, 0 for a plain index.

    - `ends`: where slices end whose extents only the running kernel knows, by their dimensions.
    """

    def __init__(
        self,
        buffer: Buffer,
        offsets: tuple[Number | Expr, ...],
        extents: tuple[int | None, ...],
        ends: dict[int, Number | Expr] | None = None,
    ) -> None:
        self.buffer = buffer
        self.offsets = offsets
        self.static_extents = extents
        """The extents, with None also for those of `ends`."""
        self.ends = ends or {}
        self.is_position = False
        """Whether only the place is given: the last dimensions have the other side's extents, and others one."""
        self._location = current().here() if ends else None

    def is_short_row(self) -> bool:
        """Whether it is so few elements along the last dimension that they are numbers of a vector."""
        *outer, last = self.static_extents
        return last is not None and 0 < last <= _LONGEST_VECTOR and all(extent in (0, 1) for extent in outer)

    def short_length(self) -> int:
        """How many elements a short row has."""
        return self.static_extents[-1] or 0

    def read(self) -> Vector:
        """Returns the elements of a short row."""
        *fixed, first = self.offsets
        return Vector([expr(self.buffer[(*fixed, _further(first, i))]) for i in range(self.short_length())])

    @staticmethod
    def at(buffer: Buffer, position: tuple[Number | Expr, ...]) -> Region:
        """Returns a tile of unknown extents that begins at an element."""
        region = Region(buffer, position, (None,) * buffer.rank)
        region.is_position = True
        return region

    @staticmethod
    def of(buffer: Buffer, items: tuple[Any, ...]) -> Region:
        offsets: list[Number | Expr] = []
        extents: list[int | None] = []
        ends: dict[int, Number | Expr] = {}
        missing: list[Any] = [slice(None)] * (buffer.rank - len(items))
        for d, item in enumerate((*items, *missing)):
            if not isinstance(item, slice):
                offsets.append(buffer._index(d, item))
                extents.append(0)
                continue
            offset, extent, end = _slice_bounds(buffer, d, item)
            offsets.append(offset)
            extents.append(extent)
            if end is not None:
                ends[d] = end
        return Region(buffer, tuple(offsets), tuple(extents), ends)

    @property
    def extents(self) -> tuple[int | None, ...]:
        """The extents, for who needs to know them when the kernel is built; an error if `ends` has one."""
        if self.ends:
            raise ShapeError(
                f"the extent of this slice of `{self.name}` must be positive and known when the kernel is built: give "
                f"the place where a tile of a fixed size begins; {self._who_takes_any_slice()}",
                location=self._location,
            )
        return self.static_extents

    def _who_takes_any_slice(self) -> str:
        if isinstance(self.buffer.dtype, dtypes.Format) and self.buffer.space == "global":
            return "two numbers of 4 bits share a byte, and are written together"
        return "`T.copy`, `T.fill` and `T.clear` alone take any slice"

    @property
    def name(self) -> str:
        return self.buffer.name

    def __getitem__(self, item: Any) -> Any:
        raise TLSyntaxError(
            f"`{self.name}` is sliced twice: give all indices in one pair of brackets", location=current().here()
        )

    def __setitem__(self, item: Any, value: Any) -> None:
        self[item]

    def __bool__(self) -> bool:
        raise TLSyntaxError(
            "a region of a buffer is not a truth value: look at elements, or use `T.any_of` or `T.all_of`",
            location=current().here(),
        )

    def __iter__(self) -> NoReturn:
        raise TLSyntaxError(
            f"a region of `{self.name}` cannot be iterated over: write `for i in T.serial(...)`, and take elements",
            location=current().here(),
        )

    def __repr__(self) -> str:
        return f"a region of {self.buffer!r}"

    @property
    def number_instead(self) -> str:
        """What to write where a number is needed."""
        return f": an element of `{self.name}` has {self.buffer.rank} indices"


def _no_arithmetic(tile: Buffer | Region, *_: Any) -> NoReturn:
    name = tile.name or "buffer"
    if isinstance(tile, Region):
        message = (
            f"this is a region of `{name}`, not an element, which has {tile.buffer.rank} indices: write a loop over "
            f"its elements, such as `for i in T.Parallel(...)`"
        )
    else:
        message = (
            f"`{name}` is a tile, and arithmetic is on elements: write a loop, such as "
            f"`for i, j in T.Parallel(...): C[i, j] = A[i, j] * 2`"
        )
    raise TLSyntaxError(message, location=current().here())


def _no_numpy(tile: Buffer | Region, function: Any, *_: Any, **__: Any) -> NoReturn:
    raise TLSyntaxError(
        f"NumPy's `{function.__name__}` cannot compute with `{tile.name or 'buffer'}`, which is known only when the "
        f"kernel runs: use functions of the language, such as `T.exp`, on each element in a `T.Parallel`",
        location=current().here(),
    )


def _is_same(tile: Buffer | Region, other: object) -> bool:
    """Whether two tiles are the same one; comparisons with numbers are of elements."""
    if other is None or isinstance(other, Buffer | Region):
        return tile is other
    _no_arithmetic(tile)


for _operator in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    for _class in (Buffer, Region):
        setattr(_class, f"__{_operator}__", _no_arithmetic)
        setattr(_class, f"__r{_operator}__", _no_arithmetic)
for _operator in ("neg", "invert", "abs", "lt", "le", "gt", "ge"):
    for _class in (Buffer, Region):
        setattr(_class, f"__{_operator}__", _no_arithmetic)
for _class in (Buffer, Region):
    _class.__array_ufunc__ = _no_numpy  # pyright: ignore[reportAttributeAccessIssue]
    _class.__eq__ = _is_same  # pyright: ignore[reportAttributeAccessIssue]
    _class.__hash__ = object.__hash__  # pyright: ignore[reportAttributeAccessIssue]


def _slice_bounds(buffer: Buffer, dimension: int, item: Any) -> tuple[Number | Expr, int | None, Number | Expr | None]:
    """Returns where a slice begins, its extent, and its end if only the running kernel knows the extent.

    The extent is None there, and where the slice is all of a symbol's extent.
    """
    if item.step is not None and known(item.step) != 1:
        raise TLSyntaxError(
            f"a region has no step: write a loop over elements, such as "
            f"`for i in T.Parallel(n): S[i] = {buffer.name}[2 * i]`",
            location=current().here(),
        )
    extent = buffer.shape[dimension]
    start = simplify(0 if item.start is None else item.start)
    stop = simplify(extent if item.stop is None else item.stop)
    if isinstance(extent, Symbol) and known(start) == 0 and difference(stop, extent) == 0:
        return start, None, None
    first, last = (_from_end(bound, extent) for bound in (start, stop))
    size = difference(last, first)
    if buffer.space != "global":
        _reject_outside(buffer, dimension, first, size)
    if size is None:
        if _begins_behind_its_end(start, stop):
            raise ShapeError(
                f"this slice of `{buffer.name}` has elements only if the extent `{extent}` is small"
                f"{_why_empty(start, stop)}",
                location=current().here(),
            )
        for bound in (first, last):
            index_value(bound, f"a bound of a slice of `{buffer.name}`")
        return first, None, last
    if size <= 0:
        raise ShapeError(
            f"the extent of this slice of `{buffer.name}` must be positive, and it is {size}{_why_empty(start, stop)}",
            location=current().here(),
        )
    return first, size, None


def _reject_outside(buffer: Buffer, dimension: int, first: Number | Expr, size: int | None) -> None:
    """Raises if a slice of a tile on the chip begins outside of it, or is seen to end there."""
    extent = buffer.shape[dimension]
    if not isinstance(first, int) or not isinstance(extent, int) or 0 <= first <= extent - max(size or 1, 1):
        return
    where = f"begins at {first}" if size is None else f"is {first} to {first + size}"
    raise RangeError(
        f"this slice of `{buffer.name or 'buffer'}` {where} along dimension {dimension}, whose extent is {extent}: "
        f"only what is outside of a tensor is left out, and a tile on the chip has to have all of it",
        location=current().here(),
    )


def _begins_behind_its_end(start: Number | Expr, stop: Number | Expr) -> bool:
    """Returns whether only a small extent lets the slice begin before its end."""
    return isinstance(start, int) and start < 0 and isinstance(stop, int) and stop >= 0


def _why_empty(start: Number | Expr, stop: Number | Expr) -> str:
    """Says what is wrong with a slice without elements, and what to write instead."""
    if _begins_behind_its_end(start, stop):
        return (
            f", because {start} counts from the end: a tile that begins before the tensor does is "
            f"given by the place where it begins, {start}, without an end"
        )
    return ": let it end behind the place where it begins"


def _from_end(bound: Number | Expr, extent: Extent) -> Number | Expr:
    if not isinstance(bound, int) or bound >= 0:
        return bound
    return binary("add", extent, bound) if isinstance(extent, Symbol) else bound + extent


class Var(Scalar):
    """A scalar that can be assigned to, made by `T.alloc_var`. Reading it gives its present value."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.is_bound = False

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    def load(self) -> Expr:
        value = self.buffer[0]
        assert isinstance(value, Expr), "a variable has one element"
        return value

    def set(self, value: Any) -> None:
        """Assigns to the variable; in a `@T.prim_func` plain `name = value` does so."""
        self.buffer[0] = value

    def __getitem__(self, item: Any) -> Any:
        return self.buffer[item]

    def __setitem__(self, item: Any, value: Any) -> None:
        self.buffer[item] = value

    def __repr__(self) -> str:
        return f"<variable {self.buffer.name or '?'} of {self.dtype}>"


class VectorVar(Vector):
    """A vector that can be assigned to, made by `T.alloc_var("float16x2")`. Reading it gives its present numbers."""

    def __init__(self, variables: Sequence[Var]) -> None:
        self.variables = tuple(variables)
        self.dtype = self.variables[0].dtype
        self.is_bound = False

    @property
    def numbers(self) -> tuple[Expr, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(variable.load() for variable in self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, number: Any) -> Expr:
        return self.variables[self._checked(number)].load()  # the others may have no value here

    def __setitem__(self, number: Any, value: Any) -> None:
        self.variables[self._checked(number)].set(value)

    def load(self) -> Vector:
        """Returns the vector that it is now."""
        return Vector(self.numbers)

    def set(self, value: Any) -> None:
        """Assigns to the variable: a vector of as many numbers, or a number that is put everywhere."""
        if isinstance(value, tuple | list):
            kind = "tuple" if isinstance(value, tuple) else "list"
            raise TLSyntaxError(
                f"{self!r} is assigned a {kind} of Python: make a vector of it, `T.{self.dtype}x{len(self)}(...)`",
                location=current().here(),
            )
        numbers = value.numbers if isinstance(value, Vector) else (value,) * len(self)
        if len(numbers) != len(self):
            raise ShapeError(f"{self!r} is assigned {value!r}", location=current().here())
        for variable, number in zip(self.variables, numbers, strict=True):
            variable.set(number)

    def __repr__(self) -> str:
        return f"a variable of {len(self)} numbers of `{self.dtype}`"


def vector_instead(given: object) -> str:
    """Returns what to write where a vector is given for a buffer, or ""."""
    if not isinstance(given, Vector):
        return ""
    kind = f"T.{given.dtype}x{len(given)}"
    return f": assign to a variable, `vector = {kind}(...)`, and to elements, `A[i, 0:{len(given)}] = vector`"


class Reference(Scalar):
    """An element that a macro reads and writes under the name of a parameter."""

    def __init__(self, element: Element) -> None:
        self.buffer = element.buffer
        self.position = element.position
        element.as_place()  # it is not read

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    def load(self) -> Expr:
        value = self.buffer[self.position]
        if isinstance(value, Outside):
            value.fail()
        assert isinstance(value, Expr), "the position was that of an element"
        return value

    def set(self, value: Any) -> None:
        """Assigns to the element; in a macro plain `name = value` does so."""
        self.buffer[self.position] = value

    def __repr__(self) -> str:
        return f"<element of {self.buffer!r}>"


def alloc(shape: Any, dtype: Any, space: Space) -> Buffer:
    """Allocates an on-chip buffer in the kernel being built."""
    builder = current()
    function = {"shared": "alloc_shared", "fragment": "alloc_fragment"}.get(space, "alloc_local")
    builder.reach_kernel(f"`T.{function}`")
    extents = [static_int(e, f"an extent of `T.{function}`") for e in as_tuple(shape)]
    if any(e <= 0 for e in extents):
        raise ShapeError(
            f"`T.{function}` needs positive extents, not ({', '.join(map(str, extents))})", location=builder.here()
        )
    element = dtypes.dtype(dtype)
    op = _ops.alloc(buffer_type=buffer_type(extents, element, space))
    return Buffer(op.results[0], extents, element, space)


def require_same_space(buffer: Buffer, *spaces: Space) -> None:
    """Raises unless the buffer is in one of the given memory spaces."""
    if buffer.space not in spaces:
        raise DTypeError(f"{buffer!r} must be in {' or '.join(spaces)} memory", location=current().here())


def whole(target: Buffer | Region | Var) -> Buffer:
    """Returns a tile operand as a buffer: a buffer itself, or one slot of a multi-buffered tile, `buffer[i]`."""
    if isinstance(target, Var):
        return target.buffer
    if isinstance(target, Buffer):
        return target
    if not isinstance(target, Region):
        raise TLSyntaxError(
            f"a buffer is needed here, not `{target!r}`{vector_instead(target)}", location=current().here()
        )
    buffer = target.buffer
    result = buffer
    for d, (offset, extent) in enumerate(zip(target.offsets, target.extents, strict=True)):
        if extent == 0 and result.rank == buffer.rank - d:
            result = _slot(result, offset)
        elif extent != buffer.shape[d] or known(offset) != 0:
            raise ShapeError(
                f"a tile operand is a whole buffer, or a whole slot of one such as `{buffer.name}[i]`, "
                f"and this is another part of `{buffer.name}`",
                location=current().here(),
            )
    return result


def _slot(buffer: Buffer, index: Number | Expr) -> Buffer:
    require_same_space(buffer, "shared", "local")
    shape = buffer.static_shape()
    assert shape is not None, "on-chip buffers have static shapes"
    type = buffer_type(shape[1:], buffer.dtype, buffer.space)
    op = _ops.slot(buffer.value, index_value(index), view_type=type)
    return Buffer(op.results[0], shape[1:], buffer.dtype, buffer.space)
