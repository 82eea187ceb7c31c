"""Looking into a kernel where a line of its program is reached (docs/Printing.md)."""

from __future__ import annotations

from . import prints
from .errors import ArgumentError, SimulationError
from .tracebacks import ends_in_program
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .builder import FunctionBuilder, PrimFunc
    from .ir import Block
    from .kernel import Kernel
    from .location import Location
    from .prints import Stop


def run_until(kernel: Kernel, line: int | str, *arguments: Any, block: int | Sequence[int] | None = None) -> list[Stop]:
    """Runs a kernel again, with copies of its arguments, and returns what it held each time that it reached a line.

    - `line`: the number of a line of the function's file, or a part of its text; what is held is that before the line.
    - `block`: the coordinates of one block; those of all blocks come otherwise.

    A stop has block, iteration or thread, and `values`: the numbers, variables and tiles on the chip that have names at
    the line, tiles as NumPy arrays; `print(stop)` shows all. They come in the order in which `T.print` prints. In
    `T.Parallel` there are only numbers. Assertions and what the kernel prints are left to its own calls.

    The line is not a place in the machine's code: the function is compiled once more with a `T.breakpoint()` before it,
    by the same backend for the same target, so that this works on the CPU, in the simulator and on a GPU.
    """
    with ends_in_program:
        return _run_until(kernel, line, arguments, block)


def _run_until(
    kernel: Kernel, line: int | str, arguments: tuple[Any, ...], block: int | Sequence[int] | None
) -> list[Stop]:
    function = kernel.function
    if function.retrace is None:
        raise ArgumentError(f"`run_until` needs a `@T.prim_func`, and `{function.name}` was made otherwise")
    coordinates = (block,) if isinstance(block, int) else block
    watch = _Watch(line, None if coordinates is None else tuple(coordinates))
    changed: PrimFunc = function.retrace(watch.attach)
    watch.check(function.name)
    stops: list[Stop] = []
    debugged = kernel.again(changed)
    launch = debugged.launcher()
    assert isinstance(launch, prints.PrintingLaunch), "it has a breakpoint"
    with launch.heard_by(stops.append):
        try:
            debugged(*(_copied(value) for value in arguments))
        except SimulationError:  # what it held until then may say why
            if not stops:
                raise
    return stops


def find_line(function: PrimFunc, text: str) -> int:
    """Returns the line with this text in which the kernels of a function do something."""
    if function.retrace is None:
        raise ArgumentError(f"give the number of the line: `{function.name}` is no `@T.prim_func`")
    found: set[int] = set()

    def attach(builder: FunctionBuilder) -> None:
        def look(_: str, location: Location) -> None:
            is_own = location.file == builder.location.file and builder.kernel_block is not None
            if is_own and text in location.statement:
                found.add(location.line)

        builder.watch = look

    function.retrace(attach)
    if not found:
        raise ArgumentError(f"the kernels of `{function.name}` do nothing in a line with `{text}`")
    if len(found) > 1:
        raise ArgumentError(f"`{text}` stands in lines {_listed(found)}: give the number of one")
    return found.pop()


def _listed(lines: set[int]) -> str:
    return " and ".join(map(str, sorted(lines)))


def _copied(value: Any) -> Any:
    if not hasattr(value, "shape"):
        return value
    return value.clone() if hasattr(value, "clone") else value.copy()


class _Watch:
    """Puts a breakpoint before what a line does."""

    def __init__(self, line: int | str, block: tuple[int, ...] | None) -> None:
        self._line = line
        self._block = block
        self._file = ""
        self._seen: set[int] = set()
        self._found: set[int] = set()
        # The line that each block of operations came to last: what is inside of a loop comes between its head's.
        self._last: dict[Block, int] = {}
        self._is_busy = False

    def attach(self, builder: FunctionBuilder) -> None:
        """Looks at what a builder builds from now on."""
        self._builder = builder
        self._file = builder.location.file
        builder.watch = self._look

    def check(self, function: str) -> None:
        """Raises unless there is one line."""
        if len(self._found) > 1:
            raise ArgumentError(f"`{self._line}` stands in lines {_listed(self._found)}: give the number of one")
        if self._found:
            return
        line = self._line
        if isinstance(line, str):
            raise ArgumentError(f"the kernels of `{function}` do nothing in a line with `{line}`")
        nearest = min(self._seen, key=lambda other: (abs(other - line), -other), default=None)
        raise ArgumentError(
            f"the kernels of `{function}` do nothing in line {line} of {self._file}"
            + (f"; they do in line {nearest}" if nearest else "")
        )

    def _look(self, operation: str, location: Location) -> None:
        if self._is_busy or self._builder.kernel_block is None or location.file != self._file:
            return
        if operation.endswith(".yield"):  # the end of a loop's body is no place in the program
            return
        block = self._builder.block
        last = self._last.get(block)
        self._last[block] = location.line
        self._seen.add(location.line)
        is_wanted = self._line in location.statement if isinstance(self._line, str) else self._line == location.line
        if not is_wanted or last == location.line:
            return
        self._found.add(location.line)
        self._is_busy = True
        try:
            self._stop()
        finally:
            self._is_busy = False

    def _stop(self) -> None:
        from .language import kernel, prints
        from .values import binary

        here: Any = True
        if self._block is not None:
            for index, wanted in zip(kernel.get_block_bindings(), self._block, strict=False):
                equal = binary("eq", index, wanted)
                here = equal if here is True else binary("and", here, equal)
        prints.breakpoint(condition=here)
