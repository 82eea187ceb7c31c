"""Loops and branches.

Each is a frame: `with T.serial(8) as i:` in builder programs, `for i in T.serial(8):` in a `@T.prim_func` or
`@T.macro`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import reduce

from .. import _ops, dtypes
from ..builder import current, unsupported
from ..errors import ShapeError, TLSyntaxError
from ..expr import type_range
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..ir import Block, Value
    from ..location import Location


class Loop(ABC):
    """A loop of the kernel. Enters with the loop's variable, or a tuple of them."""

    label = "a loop"

    def __enter__(self) -> Any:
        builder = current()
        builder.require_kernel(f"`{self.label}`")
        self._location = builder.here()
        self._operands = self._evaluate()
        self._block = builder.new_block(f"`{self.label}`")
        variables = self._variables(self._block)
        self._scope = builder.inside(self._block)
        self._scope.__enter__()
        values = self._values(variables)
        return values[0] if len(values) == 1 else values

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self._end(self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            self._build(self._operands, self._block, self._location)

    def __iter__(self) -> Iterator[Any]:
        raise unsupported(
            f"`for ... in {self.label}` works in a `@T.prim_func` or `@T.macro` only; "
            f"here write `with {self.label}(...) as i:`"
        )

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


class Parallel(Loop):
    """An element-wise loop nest whose iterations are spread over the block: `for i, j in T.Parallel(128, 64):`.

    - `extents`: the extents of the nest, constants or integers of the kernel; one that is not positive runs nothing.

    The body is a program of scalars. Iterations must not depend on each other; variables and local arrays that they
    assign are each iteration's own, and gone after the loop. Fragments can be read and written here, at the loop's
    indices. Tile operations stand before or after the loop.
    """

    label = "T.Parallel"

    def __init__(self, *extents: Any) -> None:
        if not extents:
            raise ShapeError("`T.Parallel` needs at least one extent", location=here())
        self.extents = tuple(e if known(e) is None else static_int(e, "an extent of `T.Parallel`") for e in extents)
        if any(isinstance(e, int) and e <= 0 for e in self.extents):
            raise ShapeError(f"`T.Parallel` needs positive extents, not {self.extents}", location=here())
        self.box = self.extents
        """The extents of what runs at once: all of the nest, or one of the chunks that it is cut into."""
        self._chunks: list[Loop] = []

    def _unknown(self) -> list[tuple[int, Any]]:
        """Returns the dimensions whose extents are known when the kernel runs."""
        return [(d, e) for d, e in enumerate(self.extents) if not isinstance(e, int)]

    def __enter__(self) -> Any:
        if not self._unknown():
            return super().__enter__()
        current().require_kernel(f"`{self.label}`")
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
        return indices[0] if len(indices) == 1 else tuple(indices)

    def __exit__(self, kind: Any, *exception: object) -> None:
        if self._chunks:
            self._guard.__exit__(kind, *exception)
        super().__exit__(kind, *exception)
        for loop in reversed(self._chunks):
            loop.__exit__(kind, *exception)
        self._chunks = []

    def _choose_box(self) -> tuple[int, ...]:
        """Returns extents for which every thread has a few elements, most of them along the last dimension."""
        known = [e for e in self.extents if isinstance(e, int)]
        room = max(1, _CHUNK // math.prod(known))
        box: list[int] = []
        unknown = len(self.extents) - len(known)
        for extent in reversed(self.extents):
            if isinstance(extent, int):
                box.append(extent)
                continue
            unknown -= 1
            box.append(min(room, _ROW) if unknown else room)
            room = max(1, room // box[-1])
        return tuple(reversed(box))

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        return tuple(Expr(block.add_argument("index"), bounds=Range(0, extent - 1)) for extent in self.box)

    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        _ops.parallel(extents=self.box, body=body, location=location)


_CHUNK = 1024
"""Elements of a chunk of a `T.Parallel` whose extents are not known: a vector for each of 256 threads."""
_ROW = 128
"""Those along its last dimension, if others are not known either."""


class Pipelined(Loop):
    """A loop whose copies run ahead of its arithmetic: `for k in T.Pipelined(K // 64, num_stages=3):`.

    - `start`, `stop`: the range; with one argument it begins at zero.
    - `num_stages`: how many buffers each tile that is copied to gets; 0 and 1 do not pipeline.
    """

    label = "T.Pipelined"

    def __init__(self, start: Any, stop: Any = None, num_stages: int = 0) -> None:
        self.start, self.stop = (0, start) if stop is None else (start, stop)
        self.stages = max(1, static_int(num_stages, "`num_stages`"))
        if known(num_stages) is not None and static_int(num_stages, "`num_stages`") < 0:
            raise ShapeError(f"`num_stages` must not be negative, and {num_stages} is", location=here())

    def _evaluate(self) -> Sequence[Value]:
        return [_bound(self.start), _bound(self.stop)]

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        return (Expr(block.add_argument("index"), bounds=_loop_range(self.start, self.stop)),)

    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        lower, upper = operands
        _ops.pipelined(lower, upper, stages=self.stages, body=body, location=location)


class serial(Loop):
    """A loop that runs in order: `for k in T.serial(8):`; `range` means the same in a `@T.prim_func`.

    - `start`, `stop`, `step`: as for `range`; the step is a constant.
    """

    label = "T.serial"

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        self.start, self.stop = (0, start) if stop is None else (start, stop)
        self.step = static_int(step, "the step of a loop")
        if self.step == 0:
            raise ShapeError("the step of a loop must not be zero", location=here())

    def _evaluate(self) -> Sequence[Value]:
        if self._counts_itself():
            return [_bound(e) for e in (self.start, self.stop, self.step)]
        # The distance of two indices may need more than their 32 bits.
        first, last = (_saturated(e) for e in (self.start, self.stop))
        distance = binary("sub", *(cast(e, dtypes.int64) for e in ((first, last) if self.step < 0 else (last, first))))
        self._trips = binary("ceildiv", distance, abs(self.step))
        return [_bound(e) for e in (0, self._trips, 1)]

    def _counts_itself(self) -> bool:
        """Returns whether the loop's variable can be its counter, which goes upwards and one step beyond the end."""
        if self.step < 0:
            return False
        return to_index(_saturated(self.stop)).range.high + self.step - 1 <= type_range(dtypes.index).high

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        bounds = (self.start, self.stop, self.step) if self._counts_itself() else (0, self._trips)
        return (Expr(block.add_argument("index"), bounds=_loop_range(*bounds)),)

    def _values(self, variables: tuple[Expr, ...]) -> tuple[Any, ...]:
        if self._counts_itself():
            return variables
        value = binary("add", to_index(_saturated(self.start)), binary("mul", variables[0], self.step))
        if self.step > 0:
            value = value.assume(_loop_range(self.start, self.stop, self.step))
        return (value,)

    def _build(self, operands: Sequence[Value], body: Block, location: Location) -> None:
        lower, upper, step = operands
        _ops.scf_for(lower, upper, step, region=body, location=location)

    def _end(self, location: Location) -> None:
        _ops.scf_yield(location=location)


class unroll:
    """A loop that is written out when the kernel is built: `for i in T.unroll(4):`; its variable is a Python number."""

    label = "T.unroll"

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        bounds = (0, start) if stop is None else (start, stop)
        self.range = range(*(static_int(e, f"a bound of `{self.label}`") for e in (*bounds, step)))

    def __iter__(self) -> Iterator[int]:
        return iter(self.range)

    def __enter__(self) -> Any:
        raise TLSyntaxError(f"`{self.label}` is written out: use it as `for i in {self.label}(...)`", location=here())

    def __exit__(self, *_: object) -> None:
        pass


class vectorized(unroll):
    """A loop over neighbouring elements, written out so that their accesses can be joined into wide ones."""

    label = "T.vectorized"


def _saturated(bound: Any) -> Any:
    """Returns a bound of a loop as the nearest number that an index can be."""
    number = simplify(bound)
    indices = type_range(dtypes.index)
    if not isinstance(number, Expr) or not number.dtype.is_integer or number.range.within(indices):
        return number
    number = binary("min", number, indices.high)
    return binary("max", number, indices.low) if number.dtype.is_signed else number


def _bound(bound: Any) -> Value:
    return index_value(_saturated(bound), "a loop bound")


def _loop_range(start: Any, stop: Any, step: int = 1) -> Range:
    """Returns what is known of the variable of a loop upwards."""
    first, last = (to_index(_saturated(bound)).range for bound in (start, stop))
    return Range(first.low, max(first.low, last.high - 1), math.gcd(first.step, step))


class If:
    """A branch of a builder program: `with T.If(i < 4): ...`, which `with T.Else(): ...` may follow."""

    def __init__(self, chosen: Any) -> None:
        found = condition(chosen)
        self.condition = found if isinstance(found, Expr) else typed_constant(found, dtypes.bool_)

    def __enter__(self) -> None:
        builder = current()
        builder.require_kernel("`T.If`")
        self._location = builder.here()
        self._operand = self.condition.value
        self.block = builder.new_block("a branch")
        self._scope = builder.inside(self.block)
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            _ops.scf_yield(location=self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            other = current().new_block("a branch")
            _ops.scf_if(self._operand, then_region=self.block, else_region=other, location=self._location)


class Else:
    """The other branch; belongs directly behind `with T.If(...)`."""

    def __enter__(self) -> None:
        builder = current()
        last = builder.block.ops[-1] if builder.block.ops else None
        if last is None or last.name != "scf.if" or last.results or last.regions[1].ops:
            raise TLSyntaxError("`T.Else` belongs directly behind `with T.If(...)`", location=builder.here())
        self._scope = builder.inside(last.regions[1])
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            _ops.scf_yield()
        self._scope.__exit__(None, None, None)


class While:
    """A loop with a condition, which is a function: `with T.While(lambda: n < 10):`."""

    def __init__(self, test: Any) -> None:
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
        builder.require_kernel("`while`")
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
