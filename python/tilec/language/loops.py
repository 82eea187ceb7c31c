"""Loops and branches.

Each is a frame: `with T.serial(8) as i:` in builder programs, `for i in T.serial(8):` in a `@T.prim_func` or
`@T.macro`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import reduce

from .. import _ops, dtypes
from ..buffers import alloc
from ..builder import current, unsupported
from ..errors import ArgumentError, ShapeError, TLSyntaxError
from ..expr import type_range
from ..ir import Block
from ..location import here
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import (
    Expr,
    Range,
    binary,
    cast,
    condition,
    index_value,
    known,
    simplify,
    static_int,
    to_index,
    typed_constant,
)
from .hints import ignored_options
from .nests import Body, is_idle_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, NoReturn

    from ..ir import Value
    from ..location import Location


class Indices(tuple[object, ...]):
    """Several loop variables or coordinates. They are taken apart: arithmetic with all of them has no meaning."""

    label = ""

    def _reject(self, *_: object) -> NoReturn:
        names = ", ".join(f"i{n}" for n in range(len(self)))
        raise TLSyntaxError(
            f"`{self.label}` gives {len(self)} numbers here, and one is needed: take them apart, as in "
            f"`{names} = ...`, or `for {names} in ...` and `as ({names})`",
            location=here(),
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _reject
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __neg__ = _reject
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _reject
    __lt__ = __le__ = __gt__ = __ge__ = _reject


def one_or_all(values: Sequence[Any], label: str) -> Any:
    """Returns the only value of a construct, or all of them, which the program takes apart."""
    if len(values) == 1:
        return values[0]
    out = Indices(values)
    out.label = label
    return out


class Loop(ABC):
    """A loop of the kernel. Enters with the loop's variable, or a tuple of them."""

    label = "a loop"

    @abstractmethod
    def __enter__(self) -> Any:
        """Begins the body."""

    @abstractmethod
    def __exit__(self, kind: Any, *exception: object) -> None:
        """Ends the body, and builds the loop if there was no exception."""

    def __iter__(self) -> Iterator[Any]:
        raise unsupported(
            f"a loop of the kernel is no sequence of Python's: write `for i in {self.label}(...)` by itself, in a "
            f"`@T.prim_func` or `@T.macro`; elsewhere `with {self.label}(...) as i:`"
        )


class _OneOp(Loop):
    """A loop that is one operation, whose region is the body."""

    marks: dict[str, str] | None = None
    """Attributes that say what the loop does."""

    def __enter__(self) -> Any:
        builder = current()
        builder.reach_kernel(f"`{self.label}`")
        self._location = builder.here()
        self._operands = self._evaluate()
        self._block = builder.new_block(f"`{self.label}`")
        self._block.frame = self
        self.afterwards: list[Callable[[], None]] = []
        """What is built behind the loop."""
        variables = self._variables(self._block)
        self._scope = builder.inside(self._block)
        self._scope.__enter__()
        return one_or_all(self._values(variables), self.label)

    def __exit__(self, kind: Any, *exception: object) -> None:
        if kind is None:
            self._end(self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            self._build(self._operands, self._block, self._location)
            self._go_on()

    def _go_on(self) -> None:
        """Builds what is to stand behind the loop."""
        for build in self.afterwards:
            build()
        self.afterwards = []

    def _evaluate(self) -> Sequence[Value]:
        """Returns the operands of the operation."""
        return ()

    @abstractmethod
    def _variables(self, block: Block) -> tuple[Expr, ...]:
        """Adds the block's arguments and returns them."""

    def _values(self, variables: tuple[Expr, ...]) -> tuple[Any, ...]:
        """Returns what the user's loop variables are; operations go to the loop's body."""
        return variables

    @abstractmethod
    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        """Builds the operation."""

    def _end(self, location: Location) -> None:
        """Builds what the body ends with."""
        _ops.yield_(location=location)


class Parallel(_OneOp):
    """An element-wise loop nest whose iterations are spread over the block: `for i, j in T.Parallel(128, 64):`.

    - `extents`: the extents of the nest, constants or integers of the kernel; one that is not positive runs nothing.
    - `coalesced_width`, `loop_layout`, `prefer_async`, `annotations`: hints for other compilers, without effect.

    The body is a program of scalars. Iterations must not depend on each other; variables and local arrays that they
    assign are each iteration's own, and gone after the loop. Fragments can be read and written here, at the loop's
    indices. Tile operations stand before or after the loop. A loop with another one in it, or in a branch of it, is one
    nest with it, if the extents of the inner one are constants, and what else it holds has no effect, as names for
    numbers, variables and `continue` have none.

    >>> for i, j in T.Parallel(64, 64):
    ...     C[i, j] = A[i, j] + B[i, j]
    """

    label = "T.Parallel"

    def __init__(
        self,
        *extents: Any,
        coalesced_width: int | None = None,
        loop_layout: Any = None,
        prefer_async: bool | None = None,
        annotations: dict[str, Any] | None = None,
    ) -> None:
        ignored_options(
            "T.Parallel",
            "the compiler chooses which thread gets which elements",
            coalesced_width=coalesced_width,
            loop_layout=loop_layout,
            prefer_async=prefer_async,
            annotations=annotations,
        )
        if not extents:
            raise ShapeError("`T.Parallel` needs at least one extent", location=here())
        self.extents = tuple(
            e if known(e) is None else max(0, static_int(e, "an extent of `T.Parallel`")) for e in extents
        )
        self.box = tuple(max(1, e) if isinstance(e, int) else e for e in self.extents)
        """The extents of what runs at once: all of the nest, or one of the chunks that it is cut into. Those that are
        zero are one here: no operation has them, and the loop stands in a branch that is never taken."""
        self.indices: tuple[Any, ...] = ()
        """The loop's variables, once its body has begun."""
        self._chunks: list[Loop] = []
        self._nest: Parallel | None = None
        """The loop that this one has become dimensions of."""
        self._inside: list[tuple[Parallel, Body]] = []
        """The loops that are being built of a nest, outside in, and their bodies; of the loop that is its operation."""
        self._inner: tuple[Location, Body] | None = None
        """The loop that stands in this one."""

    def _unknown(self) -> list[tuple[int, Any]]:
        """Returns the dimensions whose extents are known when the kernel runs."""
        return [(d, e) for d, e in enumerate(self.extents) if not isinstance(e, int)]

    def __enter__(self) -> Any:
        self.indices = self._begin()
        return one_or_all(self.indices, self.label)

    def _begin(self) -> tuple[Any, ...]:
        """Begins the body, and returns the loop's variables."""
        if any(block.label == "`T.Parallel`" for block in current().block.ancestors()):
            around = next(block for block in current().block.ancestors() if block.label != _BRANCH)
            nest = around.frame
            if not isinstance(nest, Parallel) or not nest.is_open_to(self):
                raise _stands_in_parallel(here())
            self._nest = nest
            return nest.join(self)
        if not self._unknown():
            values = as_tuple(super().__enter__())
            self._inside = [(self, Body(self._block))]
            return values
        current().reach_kernel(f"`{self.label}`")
        # The box must be known, to be spread over the threads: loops over chunks, whose last one runs in part.
        self.box = self._choose_box()
        extents = {d: Expr(index_value(e, "an extent of `T.Parallel`")) for d, e in self._unknown()}
        self._chunks = [serial(0, extent, self.box[d]) for d, extent in extents.items()]
        starts = [loop.__enter__() for loop in self._chunks]
        inner = as_tuple(super().__enter__())
        rest = [binary("sub", extent, start) for extent, start in zip(extents.values(), starts, strict=True)]
        # What is left of an extent cannot wrap, as an index behind its end can.
        below = [binary("lt", inner[d], left) for d, left in zip(extents, rest, strict=True)]
        self._guard = If(reduce(lambda a, b: binary("and", a, b), below))
        self._guard.__enter__()
        indices = list(inner)
        for (d, extent), start in zip(extents.items(), starts, strict=True):
            position = to_index(binary("add", start, inner[d]))
            indices[d] = Expr(position.value, bounds=Range(0, max(0, extent.range.high - 1)))
        self._inside = [(self, Body(current().block))]
        return tuple(indices)

    def is_open_to(self, inner: Parallel) -> bool:
        """Whether `inner`, which begins here, can become dimensions of this nest: it is the only one in its loop."""
        is_plain = self.marks is None and inner.marks is None and not inner._unknown()
        # What draws random numbers has counted the iterations of the loop as it was.
        return is_plain and self._inside[-1][0]._inner is None and not self.afterwards

    def join(self, inner: Parallel) -> tuple[Any, ...]:
        """Makes `inner` dimensions of this loop, and returns its variables."""
        self.extents += inner.extents
        body = Body(current().block)
        self._inside[-1][0]._inner = here(), body
        self._inside.append((inner, body))
        variables = tuple(_argument(self._block, extent) for extent in inner.box)
        self.box += inner.box
        self.indices += variables
        return variables

    def leave(self) -> None:
        """Ends the innermost loop of the nest. What stands beside the one in it is done in each iteration of it."""
        loop, body = self._inside.pop()
        body.end()
        if loop._inner is not None and not is_idle_beside(body, loop._inner[1]):
            raise _stands_in_parallel(loop._inner[0])

    def __exit__(self, kind: Any, *exception: object) -> None:
        nest = self._nest or self
        if kind is None and nest._inside:
            nest.leave()
        if self._nest is not None:
            return
        if self._chunks:
            self._guard.__exit__(kind, *exception)
        super().__exit__(kind, *exception)
        for loop in reversed(self._chunks):
            loop.__exit__(kind, *exception)
        self._chunks = []
        if kind is None:
            self._go_on()

    def _go_on(self) -> None:
        if not self._chunks:
            super()._go_on()

    def _choose_box(self) -> tuple[int, ...]:
        """Returns extents for which every thread has a few elements, most of them along the last dimension."""
        known = [e for e in self.box if isinstance(e, int)]
        room = max(1, _CHUNK // math.prod(known))
        box: list[int] = []
        unknown = len(self.box) - len(known)
        for extent in reversed(self.box):
            if isinstance(extent, int):
                box.append(extent)
                continue
            unknown -= 1
            box.append(min(room, _ROW) if unknown else room)
            room = max(1, room // box[-1])
        return tuple(reversed(box))

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        return tuple(_argument(block, extent) for extent in self.box)

    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        if all(not isinstance(e, int) or e > 0 for e in self.extents):
            _ops.parallel(extents=self.box, body=body, attributes=self.marks, location=location)
            return
        # What stands in it is checked as it is elsewhere, and has no iterations.
        with If(False):
            _ops.parallel(extents=self.box, body=body, attributes=self.marks, location=location)


def _argument(block: Block, extent: int) -> Expr:
    """Adds the variable of a dimension to the body of a loop."""
    return Expr(block.add_argument("index"), bounds=Range(0, extent - 1))


def _stands_in_parallel(location: Location) -> TLSyntaxError:
    return TLSyntaxError(
        "a `T.Parallel`, or an operation on a tile, stands in a `T.Parallel`, whose body is a program of scalars: give "
        "all extents to one loop, as in `for i, j in T.Parallel(m, n)`, use `T.serial` inside, or put the operation "
        "before or after the loop",
        location=location,
    )


_BRANCH = "a branch"
"""What stands in a side of an `if`."""
_CHUNK = 1024
"""Elements of a chunk of a `T.Parallel` whose extents are not known: a vector for each of 256 threads."""
_ROW = 128
"""Those along its last dimension, if others are not known either."""


def copying(loop: Loop, *, is_cut: bool = False) -> Loop:
    """Returns a loop, marked as one that copies a tile element by element, which may leave a tensor (semantics K2).

    - `is_cut`: it takes the running kernel to know the extents of the tile.
    """
    assert isinstance(loop, _OneOp), "it is built as one operation"
    loop.marks = {"tl.copied": "", "tl.cut": ""} if is_cut else {"tl.copied": ""}
    return loop


class Pipelined(_OneOp):
    """A loop whose copies run ahead of its arithmetic: `for k in T.Pipelined(K // 64, num_stages=3):`.

    - `start`, `stop`: the range; with one argument it begins at zero.
    - `num_stages`: how many buffers each tile that is copied to gets. 1 leaves it to the compiler, which takes two
      where that keeps no other blocks from running beside this one, and 0 is a plain loop: of those over tiles the
      ones for which at least three of four blocks still run have two as well.
    - `order`, `stage`, `sync`, `group`, `annotations`: schedules written by hand; the compiler makes its own, of as
      many stages as `stage` has if `num_stages` is not given.

    >>> for k in T.Pipelined(4, num_stages=2):
    ...     T.copy(A[0, k * 16], As[:, 0:16])
    ...     T.copy(As[:, 0:16], C[0, k * 16])
    """

    label = "T.Pipelined"

    def __init__(
        self,
        start: Any,
        stop: Any = None,
        num_stages: int = 0,
        order: Sequence[int] | None = None,
        stage: Sequence[int] | None = None,
        sync: Any = None,
        group: Any = None,
        *,
        annotations: dict[str, Any] | None = None,
    ) -> None:
        ignored_options(
            "T.Pipelined",
            "the compiler makes the schedule",
            order=order or None,
            stage=stage or None,
            sync=sync or None,
            group=group or None,
            annotations=annotations,
        )
        if stage and known(num_stages) == 0:
            num_stages = max(stage) + 1
        self.start, self.stop = (0, start) if stop is None else (start, stop)
        self.stages = static_int(num_stages, "`num_stages`")
        if self.stages < 0:
            raise ShapeError(f"`num_stages` must not be negative, and {num_stages} is", location=here())

    def _evaluate(self) -> Sequence[Value]:
        return [_bound(e) for e in (self.start, self.stop, *(() if self.stages else (1,)))]

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        return (Expr(block.add_argument("index"), bounds=_loop_range(self.start, self.stop)),)

    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        lower, upper, *step = operands
        if step:
            _ops.scf_for(lower, upper, step[0], region=body, location=location)
        else:
            _ops.pipelined(lower, upper, stages=self.stages, body=body, location=location)

    def _end(self, location: Location) -> None:
        if self.stages:
            super()._end(location)
        else:
            _ops.scf_yield(location=location)


class parallel(Parallel):
    """A loop whose iterations are spread over the block, as those of `T.Parallel`: `for i in T.parallel(4, 64):`.

    - `start`, `stop`: as for `range`, with a step of 1.
    - `annotations`: hints for other compilers, without effect.

    >>> for i in T.parallel(4, 64):
    ...     C[0, i] = A[0, i - 4]
    """

    def __init__(self, start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> None:
        self._first, end = (0, start) if stop is None else (start, stop)
        super().__init__(binary("sub", end, self._first), annotations=annotations)

    def __enter__(self) -> Any:
        return binary("add", super().__enter__(), self._first)


class serial(_OneOp):
    """A loop that runs in order: `for k in T.serial(8):`; `range` means the same in a `@T.prim_func`.

    - `start`, `stop`, `step`: as for `range`; the step is a constant.
    - `annotations`: hints for other compilers, without effect.

    >>> for k in T.serial(8):
    ...     C[0, k] = A[0, k]
    """

    label = "T.serial"

    def __init__(
        self, start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None
    ) -> None:
        ignored_options(self.label, "the loop runs in order", annotations=annotations)
        self.start, self.stop = (0, start) if stop is None else (start, stop)
        self.step = 1 if step is None else static_int(step, "the step of a loop")
        if self.step == 0:
            raise ShapeError("the step of a loop must not be zero", location=here())

    def trips(self) -> int | None:
        """Returns how often the body runs, if that is known."""
        start, stop = (known(bound) for bound in (self.start, self.stop))
        return None if start is None or stop is None else len(range(int(start), int(stop), self.step))

    def number(self) -> Any:
        """Returns the number of the iteration, inside of the body."""
        counter = Expr(self._block.arguments[0])
        if not self._counts_itself():
            return counter
        return binary("floordiv", binary("sub", counter, self.start), self.step)

    def _evaluate(self) -> Sequence[Value]:
        if self._counts_itself():
            return [_bound(e) for e in (self.start, self.stop, self.step)]
        # The distance of two indices may need more than their 32 bits.
        first, last = (nearest_index(e) for e in (self.start, self.stop))
        distance = binary("sub", *(cast(e, dtypes.int64) for e in ((first, last) if self.step < 0 else (last, first))))
        self._trips = binary("ceildiv", distance, abs(self.step))
        return [_bound(e) for e in (0, self._trips, 1)]

    def _counts_itself(self) -> bool:
        """Returns whether the loop's variable can be its counter, which goes upwards and one step beyond the end."""
        if self.step < 0:
            return False
        return to_index(nearest_index(self.stop)).range.high + self.step - 1 <= type_range(dtypes.index).high

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        bounds = (self.start, self.stop, self.step) if self._counts_itself() else (0, self._trips)
        return (Expr(block.add_argument("index"), bounds=_loop_range(*bounds)),)

    def _values(self, variables: tuple[Expr, ...]) -> tuple[Any, ...]:
        if self._counts_itself():
            return variables
        value = binary("add", to_index(nearest_index(self.start)), binary("mul", variables[0], self.step))
        if self.step > 0:
            value = value.assume(_loop_range(self.start, self.stop, self.step))
        return (value,)

    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        lower, upper, step = operands
        _ops.scf_for(lower, upper, step, region=body, attributes=self.marks, location=location)

    def _end(self, location: Location) -> None:
        _ops.scf_yield(location=location)


class WrittenOut:
    """A loop that is written out when the kernel is built; its variable is a Python number."""

    def __init__(self, label: str, start: Any, stop: Any, step: Any) -> None:
        self.label = label
        bounds = (0, start) if stop is None else (start, stop)
        steps = 1 if step is None else step
        self.range = range(*(static_int(e, f"a bound of `{label}`") for e in (*bounds, steps)))

    def __iter__(self) -> Iterator[int]:
        return iter(self.range)

    def __enter__(self) -> Any:
        raise TLSyntaxError(f"`{self.label}` is written out: use it as `for i in {self.label}(...)`", location=here())

    def __exit__(self, *_: object) -> None:
        pass


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: dict[str, Any] | None = None,
) -> WrittenOut | serial:
    """Returns a loop that is written out when the kernel is built: `for i in T.unroll(4):`.

    Its variable is a Python number. A loop whose bounds are known only when the kernel runs, or that has an
    `unroll_factor`, is one of `T.serial`, which the assembler unrolls as it sees fit.

    - `start`, `stop`, `step`: as for `range`.
    - `explicit`: whether the loop must be written out, with bounds that are known.
    - `unroll_factor`: how many iterations to write behind one another: a hint without effect.
    - `annotations`: hints for other compilers, without effect.

    >>> for k in T.unroll(4):
    ...     C[0, k] = A[0, k]
    """
    if explicit and unroll_factor is not None:
        raise ArgumentError("`T.unroll` has either `explicit` or an `unroll_factor`", location=here())
    if unroll_factor is not None and static_int(unroll_factor, "`unroll_factor`") < 1:
        raise ArgumentError(f"`unroll_factor` must be positive, and {unroll_factor} is not", location=here())
    ignored_options("T.unroll", "the loop is written out where its bounds are known", annotations=annotations)
    bounds = (0 if stop is None else start, start if stop is None else stop)
    if explicit or (unroll_factor is None and all(known(bound) is not None for bound in bounds)):
        return WrittenOut("T.unroll", start, stop, step)
    return serial(start, stop, step)


def vectorized(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> WrittenOut:
    """Returns a loop over neighbouring elements, written out so that their accesses can be joined into wide ones.

    - `start`, `stop`: as for `range`, known when the kernel is built.
    - `annotations`: hints for other compilers, without effect.

    >>> for i in T.Parallel(16):
    ...     for k in T.vectorized(4):
    ...         C[0, i * 4 + k] = A[0, i * 4 + k]
    """
    ignored_options("T.vectorized", "neighbouring accesses are joined anyway", annotations=annotations)
    return WrittenOut("T.vectorized", start, stop, None)


class grid(Loop):
    """A nest of loops that run in order, the last one fastest: `for i, j in T.grid(4, 8):`.

    - `extents`: constants or integers of the kernel; one that is not positive runs nothing.

    >>> for i, j in T.grid(4, 8):
    ...     C[i, j] = A[i, j]
    """

    label = "T.grid"

    def __init__(self, *extents: Any) -> None:
        if not extents:
            raise ShapeError("`T.grid` needs at least one extent", location=here())
        self._nest: list[Loop] = [serial(extent) for extent in extents]

    def __enter__(self) -> Any:
        return one_or_all([loop.__enter__() for loop in self._nest], self.label)

    def __exit__(self, kind: Any, *exception: object) -> None:
        for loop in reversed(self._nest):
            loop.__exit__(kind, *exception)


class Persistent(Loop):
    """The tiles that one block computes, where few blocks share many tiles: `for m, n in T.Persistent(...):`.

    Every tile of the domain is some block's, exactly once: block `index` has the tiles of the numbers `index`,
    `index + wave_size` and so on. They are numbered by groups of `group_size` neighbours along the first dimension (of
    fewer in the last group); in a group the first dimension runs fastest, and then the last, so that blocks which
    run at one time share operands.

    - `domain`: the extents of the domain, in tiles; constants or integers of the kernel.
    - `wave_size`: how many blocks share the tiles.
    - `index`: the number of this block, from 0 to `wave_size - 1`.
    - `group_size`: how many neighbours a group has.
    - `num_stages`: stages of a `T.Pipelined` loop over the tiles; 0 for one that runs in order.
    - `annotations`: hints for other compilers, without effect.

    >>> for i, j in T.Persistent([4, 4], T.get_block_extent(), bx):
    ...     T.copy(A[i * 16, j * 16], As[0:16, 0:16])
    """

    label = "T.Persistent"

    def __init__(
        self,
        domain: Any,
        wave_size: Any,
        index: Any,
        group_size: Any = 8,
        num_stages: int = 0,
        *,
        annotations: dict[str, Any] | None = None,
    ) -> None:
        ignored_options(self.label, "the order of tiles is what its documentation says", annotations=annotations)
        self.domain = as_tuple(domain)
        self.wave_size, self.index = wave_size, index
        self.group_size = 1 if group_size is None else group_size
        if not self.domain:
            raise ShapeError("`T.Persistent` needs a domain of one dimension at least", location=here())
        for what, number in (("wave_size", wave_size), ("group_size", self.group_size)):
            if (known(number) or 1) < 1:
                raise ShapeError(f"`{what}` of `T.Persistent` must be positive, and {number} is not", location=here())
        self._total = reduce(lambda a, b: binary("mul", a, b), self.domain)
        trips = binary("ceildiv", binary("sub", self._total, index), wave_size)
        self._loop: Loop = Pipelined(trips, num_stages=num_stages) if known(num_stages) else serial(trips)

    def __enter__(self) -> Any:
        wave = self._loop.__enter__()
        number = binary("add", binary("mul", wave, self.wave_size), self.index)
        if known(self._total):
            # The same number: the compiler, which knows the count of blocks coarsely, sees that tiles lie in tensors.
            number = binary("mod", number, self._total)
        return one_or_all(self._coordinates(_below(number, self._total)), self.label)

    def _coordinates(self, number: Any) -> list[Any]:
        first, *others = self.domain
        group = binary("min", self.group_size, first)
        area = reduce(lambda a, b: binary("mul", a, b), others, group)
        start = binary("mul", binary("floordiv", number, area), group)
        inside = binary("mod", number, area)
        # The last group may be smaller than the others.
        rows = binary("max", binary("min", binary("sub", first, start), group), 1)
        out = [_below(binary("add", start, binary("mod", inside, rows)), first)]
        rest = binary("floordiv", inside, rows)
        for extent in reversed(others):
            out.insert(1, _below(binary("mod", rest, extent), extent))
            rest = binary("floordiv", rest, extent)
        return out

    def __exit__(self, kind: Any, *exception: object) -> None:
        self._loop.__exit__(kind, *exception)


def _below(number: Any, extent: Any) -> Any:
    """Says of a coordinate that it is one of an extent."""
    found = simplify(number)
    if not isinstance(found, Expr) or not found.dtype.is_integer:
        return found
    limit = simplify(extent)
    high = limit.range.high if isinstance(limit, Expr) else int(limit)
    return found.assume(Range(0, max(0, high - 1)))


class _Left(Loop):
    """A `T.serial` that ends when a condition no longer holds, which is asked before each iteration."""

    label = "T.serial"

    def __init__(self, loop: serial, goes_on: Callable[[], Any]) -> None:
        self._loop = loop
        self._goes_on = goes_on

    def __enter__(self) -> Any:
        current().reach_kernel(f"`{self.label}`")
        lower, upper, self._step = (Expr(value) for value in self._loop._evaluate())
        self._counter = alloc(1, dtypes.int32, "local")
        self._counter[0] = lower
        self._frame = While(lambda: binary("and", self._goes_on(), binary("lt", to_index(self._counter[0]), upper)))
        self._frame.__enter__()
        variables = self._loop._variables(Block())
        bounds = variables[0].range
        self._place = to_index(self._counter[0]).assume(bounds)
        return one_or_all(self._loop._values((self._place,)), self.label)

    def __exit__(self, kind: Any, *exception: object) -> None:
        if kind is None:
            self._counter[0] = binary("add", self._place, self._step)
        self._frame.__exit__(kind, *exception)


def until(loop: Loop, goes_on: Callable[[], Any]) -> Loop:
    """Returns a loop that can be left, or raises if it cannot: iterations of others are not one after the other."""
    if isinstance(loop, serial):
        return _Left(loop, goes_on)
    remedy = {
        "T.Parallel": "its iterations have no order: put the work into an `if`",
        "T.Pipelined": "its copies run ahead: use `T.serial`",
    }.get(loop.label, "use `T.serial`, once for each dimension")
    raise unsupported(f"`break` cannot leave `{loop.label}`; {remedy}")


def loop_break() -> None:
    """Leaves the innermost loop, as `break` does; in a `@T.prim_func` or `@T.macro`.

    >>> for k in T.serial(64):
    ...     if A[0, k] < 0:
    ...         T.loop_break()
    ...     C[0, k] = A[0, k]
    """
    raise unsupported("`T.loop_break()` stands for `break`, in a loop of a `@T.prim_func` or `@T.macro`")


def nearest_index(bound: Any) -> Any:
    """Returns a bound of a loop as the nearest number that an index can be."""
    number = simplify(bound)
    indices = type_range(dtypes.index)
    if not isinstance(number, Expr) or not number.dtype.is_integer or number.range.within(indices):
        return number
    number = binary("min", number, indices.high)
    return binary("max", number, indices.low) if number.dtype.is_signed else number


def _bound(bound: Any) -> Value:
    return index_value(nearest_index(bound), "a loop bound")


def _loop_range(start: Any, stop: Any, step: int = 1) -> Range:
    """Returns what is known of the variable of a loop upwards."""
    first, last = (to_index(nearest_index(bound)).range for bound in (start, stop))
    return Range(first.low, max(first.low, last.high - 1), math.gcd(first.step, step))


class If:
    """A branch of a builder program: `with T.If(i < 4): ...`, which `with T.Else(): ...` may follow.

    Both sides may stand in it, too, as `with T.Then():` and `with T.Else():`.

    >>> with T.If(n[0] < 4):
    ...     C[0, 0] = 1.0
    """

    def __init__(self, chosen: Any) -> None:
        found = condition(chosen)
        self.condition = found if isinstance(found, Expr) else typed_constant(found, dtypes.bool_)
        self.sides = 0
        """How many sides were begun inside, by `T.Then` and `T.Else`."""
        self.is_beside = True
        """Whether what is written now would stand beside the sides."""

    def __enter__(self) -> None:
        builder = current()
        builder.reach_kernel("`T.If`")
        self._location = builder.here()
        self._operand = self.condition.value
        self.block = builder.new_block(_BRANCH)
        self.other = builder.new_block(_BRANCH)
        self._length = 0
        self._scope = builder.inside(self.block)
        self._scope.__enter__()
        builder.choices.append(self)

    def begin_side(self, name: str) -> Block:
        """Returns the block of a side that begins inside: first `T.Then`, then `T.Else`."""
        self.check_sides()
        if self.sides != ("T.Then", "T.Else").index(name):
            raise TLSyntaxError(f"`{name}` stands here twice, or in the wrong order", location=current().here())
        self.sides += 1
        self.is_beside = False
        return self.other if name == "T.Else" else self.block

    def end_side(self) -> None:
        """Notes what the sides have made, beside which there is nothing."""
        self.is_beside = True
        self._length = len(self.block.ops)

    def check_sides(self) -> None:
        """Raises if there are statements beside those of `T.Then` and `T.Else`."""
        if len(self.block.ops) != self._length:
            raise TLSyntaxError(
                "this `T.If` has statements beside `T.Then` and `T.Else`: put them inside of one, or in front",
                location=current().here(),
            )

    def __exit__(self, kind: Any, *_: object) -> None:
        builder = current()
        builder.choices.pop()
        if kind is None:
            if self.sides:
                self.check_sides()
            _ops.scf_yield(location=self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            _ops.scf_if(self._operand, then_region=self.block, else_region=self.other, location=self._location)


def _enclosing() -> If | None:
    """Returns the `T.If` in which a side could begin here, if there is one."""
    builder = current()
    last = builder.choices[-1] if builder.choices else None
    return last if last is not None and last.is_beside and last.block is builder.block else None


class Then:
    """The branch of a `T.If` that is taken where its condition holds, if the other one stands in it, too.

    >>> with T.If(n[0] < 4):
    ...     with T.Then():
    ...         C[0, 0] = 1.0
    ...     with T.Else():
    ...         C[0, 0] = 2.0
    """

    def __enter__(self) -> None:
        whole = _enclosing()
        if whole is None:
            raise TLSyntaxError("`T.Then` belongs directly into `with T.If(...)`", location=current().here())
        whole.begin_side("T.Then")
        self._whole = whole

    def __exit__(self, kind: Any, *_: object) -> None:
        self._whole.end_side()


class Else:
    """The other branch; belongs directly behind `with T.If(...)`, or behind the `T.Then` in it.

    >>> with T.If(n[0] < 4):
    ...     C[0, 0] = 1.0
    >>> with T.Else():
    ...     C[0, 0] = 2.0
    """

    def __enter__(self) -> None:
        builder = current()
        whole = _enclosing()
        self._whole = whole if whole is not None and whole.sides else None
        if self._whole is not None:
            block = self._whole.begin_side("T.Else")
        else:
            last = builder.block.ops[-1] if builder.block.ops else None
            if last is None or last.name != "scf.if" or last.results or last.regions[1].ops:
                raise TLSyntaxError("`T.Else` belongs directly behind `with T.If(...)`", location=builder.here())
            block = last.regions[1]
        self._scope = builder.inside(block)
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            _ops.scf_yield()
        self._scope.__exit__(None, None, None)
        if self._whole is not None:
            self._whole.end_side()


class While:
    """A loop with a condition, which is asked before each iteration: `with T.While(n < 10):`.

    - `test`: the condition, written there as a comparison, an element or what connects these; or a function without
      arguments that computes it, `lambda: n < 10`. A number that was computed before the loop is no condition.

    >>> count = T.alloc_var("int32", 0)
    >>> with T.While(count < 10):
    ...     count = count + 1
    """

    def __init__(self, test: Any) -> None:
        if not callable(test):
            raise ArgumentError(
                f"the condition of `T.While` is asked before each iteration, and `{test!r}` was computed once, before "
                f"the loop: write `with T.While(n < 10):`, or give it a function, such as `lambda: n < 10`",
                location=here(),
            )
        self.test = test

    def __enter__(self) -> None:
        builder = current()
        before = builder.new_block("the condition of a loop")
        with builder.inside(before):
            found = condition(self.test())
        if isinstance(found, bool):
            raise unsupported(
                f"the condition of this `T.While` is always {found}: it must depend on something that the loop "
                f"changes, such as a `T.alloc_var`"
            )
        self.open(before, found)

    def open(self, before: Block, found: Expr) -> None:
        """Begins the body of a loop whose condition was evaluated in the block `before`."""
        builder = current()
        builder.reach_kernel("`while`")
        self._location = builder.here()
        self._before = before
        with builder.inside(before):
            _ops.scf_condition(found.value, location=self._location)
        self._after = builder.new_block("`while`")
        self._scope = builder.inside(self._after)
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            _ops.scf_yield(location=self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            _ops.scf_while(before=self._before, after=self._after, location=self._location)
