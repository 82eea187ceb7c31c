"""Loops and branches.

Each is a frame: `with T.serial(8) as i:` in builder programs, `for i in T.serial(8):` in a `@T.prim_func` or
`@T.macro`.
"""

from __future__ import annotations

import math

from .. import dtypes
from ..builder import current, unsupported
from ..errors import ShapeError, TLSyntaxError
from ..ir import integers
from ..location import here
from ..typed import TYPE_CHECKING
from ..values import Expr, Range, binary, condition, index_value, known, static_int, to_index, typed_constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..ir import Block


class Loop:
    """A loop of the kernel. Enters with the loop's variable, or a tuple of them."""

    label = "a loop"

    def __enter__(self) -> Any:
        self._builder = builder = current()
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
            self._builder.emit(self._terminator, location=self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            name, properties = self._operation()
            self._builder.emit(name, self._operands, (), properties, regions=[self._block], location=self._location)

    def __iter__(self) -> Iterator[Any]:
        raise unsupported(
            f"`for ... in {self.label}` works in a `@T.prim_func` or `@T.macro` only; "
            f"here write `with {self.label}(...) as i:`"
        )

    _terminator = "tl.yield"

    def _evaluate(self) -> Sequence[Any]:
        """Returns the operands of the operation."""
        return ()

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        """Adds the block's arguments and returns them."""
        raise NotImplementedError

    def _values(self, variables: tuple[Expr, ...]) -> tuple[Any, ...]:
        """Returns what the user's loop variables are; operations go to the loop's body."""
        return variables

    def _operation(self) -> tuple[str, dict[str, str]]:
        raise NotImplementedError


class Parallel(Loop):
    """An element-wise loop nest whose iterations are spread over the block: `for i, j in T.Parallel(128, 64):`.

    - `extents`: constants, the extents of the nest.

    The body is a program of scalars. Iterations must not depend on each other; variables and local arrays that they
    assign are each iteration's own, and gone after the loop. Fragments can be read and written here, at the loop's
    indices. Tile operations stand before or after the loop.
    """

    label = "T.Parallel"

    def __init__(self, *extents: Any) -> None:
        self.extents = tuple(static_int(e, "an extent of `T.Parallel`") for e in extents)
        if not extents or any(e <= 0 for e in self.extents):
            raise ShapeError(f"`T.Parallel` needs positive extents, not {self.extents}", location=here())

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        return tuple(Expr(block.add_argument("index"), bounds=Range(0, extent - 1)) for extent in self.extents)

    def _operation(self) -> tuple[str, dict[str, str]]:
        return "tl.parallel", {"extents": integers(self.extents)}


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

    def _evaluate(self) -> Sequence[Any]:
        return [index_value(self.start, "a loop bound"), index_value(self.stop, "a loop bound")]

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        return (Expr(block.add_argument("index"), bounds=_loop_range(self.start, self.stop)),)

    def _operation(self) -> tuple[str, dict[str, str]]:
        return "tl.pipelined", {"stages": f"{self.stages} : i64"}


class serial(Loop):
    """A loop that runs in order: `for k in T.serial(8):`; `range` means the same in a `@T.prim_func`.

    - `start`, `stop`, `step`: as for `range`; the step is a constant.
    """

    label = "T.serial"
    _terminator = "scf.yield"

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        self.start, self.stop = (0, start) if stop is None else (start, stop)
        self.step = static_int(step, "the step of a loop")
        if self.step == 0:
            raise ShapeError("the step of a loop must not be zero", location=here())

    def _evaluate(self) -> Sequence[Any]:
        if self.step > 0:
            return [index_value(e, "a loop bound") for e in (self.start, self.stop, self.step)]
        # Loops count upwards: run over the number of the iteration.
        self._trips = binary("ceildiv", binary("sub", self.start, self.stop), -self.step)
        return [index_value(e, "a loop bound") for e in (0, self._trips, 1)]

    def _variables(self, block: Block) -> tuple[Expr, ...]:
        bounds = (self.start, self.stop, self.step) if self.step > 0 else (0, self._trips)
        return (Expr(block.add_argument("index"), bounds=_loop_range(*bounds)),)

    def _values(self, variables: tuple[Expr, ...]) -> tuple[Any, ...]:
        if self.step > 0:
            return variables
        return (binary("add", self.start, binary("mul", variables[0], self.step)),)

    def _operation(self) -> tuple[str, dict[str, str]]:
        return "scf.for", {}


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


def _loop_range(start: Any, stop: Any, step: int = 1) -> Range:
    """Returns what is known of the variable of a loop upwards."""
    first, last = (to_index(bound).range for bound in (start, stop))
    return Range(first.low, max(first.low, last.high - 1), math.gcd(first.step, step))


class If:
    """A branch of a builder program: `with T.If(i < 4): ...`, which `with T.Else(): ...` may follow."""

    def __init__(self, chosen: Any) -> None:
        found = condition(chosen)
        self.condition = found if isinstance(found, Expr) else typed_constant(found, dtypes.bool_)

    def __enter__(self) -> None:
        self._builder = builder = current()
        builder.require_kernel("`T.If`")
        self._location = builder.here()
        self._operand = self.condition.value
        self.block = builder.new_block("a branch")
        self._scope = builder.inside(self.block)
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        builder = self._builder
        if kind is None:
            builder.emit("scf.yield", location=self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            other = builder.new_block("a branch")
            builder.emit("scf.if", [self._operand], (), regions=[self.block, other], location=self._location)


class Else:
    """The other branch; belongs directly behind `with T.If(...)`."""

    def __enter__(self) -> None:
        self._builder = builder = current()
        last = builder.block.ops[-1] if builder.block.ops else None
        if last is None or last.name != "scf.if" or last.results or last.regions[1].ops:
            raise TLSyntaxError("`T.Else` belongs directly behind `with T.If(...)`", location=builder.here())
        self._scope = builder.inside(last.regions[1])
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self._builder.emit("scf.yield")
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
        self._builder = builder = current()
        builder.require_kernel("`while`")
        self._location = builder.here()
        self._before = before
        with builder.inside(before):
            builder.emit("scf.condition", [found.value], location=self._location)
        self._after = builder.new_block("`while`")
        self._scope = builder.inside(self._after)
        self._scope.__enter__()

    def __exit__(self, kind: Any, *_: object) -> None:
        builder = self._builder
        if kind is None:
            builder.emit("scf.yield", location=self._location)
        self._scope.__exit__(None, None, None)
        if kind is None:
            builder.emit("scf.while", (), (), regions=[self._before, self._after], location=self._location)
