"""What one block of a tile program loads, multiplies and stores, read off the program before anything is compiled.

The operations of a kernel are gone through once, in order, as its first wave of blocks would: integers are computed,
of all blocks of the wave at a time, loops count as often as they run, and of the body of a loop the first iteration
stands for all. What cannot be known so is assumed, and said here:

- An extent that nothing tells (`T.dynamic` in a lazy function) is 4096.
- Both sides of a branch on what is read from memory count half.
- A loop that runs until something is found runs once.

Nothing of it is exact, and nothing need be: it is what the cost model (`tilec.analysis.cost`) chooses by.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field

from ..ir import Value
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..builder import PrimFunc
    from ..ir import Block, Op

    Number = int | list[int] | None
    """One for all blocks of the wave, or one for each of them, or nothing known."""

UNKNOWN_EXTENT = 4096
"""Of a dimension that nothing tells."""
_LINE = 128
"""Bytes that the L2 cache is asked for at a time, and of the rows of a box in shared memory."""
_SECTOR = 32
"""Bytes that it moves at least."""


@dataclass(frozen=True)
class Product:
    """A `T.gemm`, each time that a block does it.

    - `m`, `n`, `k`: its extents.
    - `bits`: of a factor.
    - `reads_shared`: whether A is in shared memory, rather than in registers.
    """

    m: int
    n: int
    k: int
    bits: int
    reads_shared: bool


@dataclass(frozen=True)
class Transfer:
    """What a block moves between a tensor and the chip, in all.

    - `tensor`: its number among the parameters, and `tensor_bytes` all that it has.
    - `bytes`: of the elements.
    - `sectors`: the same in whole sectors of 32 bytes.
    - `lines`: the same as the L2 cache is asked for it: a row of a box in shared memory, or of a fragment, that begins
      anywhere lies in one line more.
    - `distinct`: the part of it that no other block of the wave moves at the same time.
    - `is_workspace`: whether the tensor is the program's own, which another launch of it reads or wrote.
    """

    tensor: int
    tensor_bytes: int
    bytes: float
    sectors: float
    lines: float
    distinct: float
    is_store: bool
    is_workspace: bool


@dataclass(frozen=True)
class Ring:
    """A `T.Pipelined` loop: how often a block goes through it in all, its stages, and the bytes of a slot."""

    trips: float
    stages: int
    slot: int


@dataclass
class Launch:
    """What one block of a launch does.

    - `blocks`, `threads`: of the grid, of a block.
    - `shared`: bytes of shared memory. What is used behind the last loop alone takes the bytes of its ring.
    - `registers`: of a thread, for its fragments; `largest` for the largest one of them.
    - `products`: with how often a block does each.
    - `elements`: operations on single elements, and `functions` those that take the unit for special functions.
    - `reductions`: how often threads of the block combine what each of them has.
    - `straight`: bytes that it asks for at once outside of rings.
    """

    name: str
    blocks: int
    threads: int
    shared: int
    registers: int
    largest: int
    rings: list[Ring] = field(default_factory=list)
    products: list[tuple[Product, float]] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    elements: float = 0.0
    functions: float = 0.0
    reductions: float = 0.0
    straight: int = 0


def read(program: PrimFunc, extents: Mapping[str, int], wave: Callable[[Launch], int]) -> list[Launch]:
    """Returns what the launches of a program do, in order.

    - `extents`: of symbols, by name, as far as they are known.
    - `wave`: says how many blocks of a launch run at the same time, from what it needs of a multiprocessor.
    """
    reader = _Reader(program, extents)
    return reader.launches(wave)


_SCALARS: dict[str, Callable[[int, int], int | None]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divui": lambda a, b: a // b if b else None,
    "divsi": lambda a, b: int(a / b) if b else None,
    "floordivsi": lambda a, b: a // b if b else None,
    "ceildivsi": lambda a, b: -(-a // b) if b else None,
    "ceildivui": lambda a, b: -(-a // b) if b else None,
    "remui": lambda a, b: a % b if b else None,
    "remsi": lambda a, b: int(math.fmod(a, b)) if b else None,
    "minsi": min,
    "minui": min,
    "maxsi": max,
    "maxui": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b if 0 <= b < 64 else None,
    "shrui": lambda a, b: a >> b if 0 <= b < 64 else None,
    "shrsi": lambda a, b: a >> b if 0 <= b < 64 else None,
}
"""Ops of the dialect `arith` on two integers."""

_ORDERED = (operator.lt, operator.le, operator.gt, operator.ge)
_COMPARED: tuple[Callable[[int, int], int], ...] = (operator.eq, operator.ne, *_ORDERED, *_ORDERED)
"""Predicates of `arith.cmpi`, by number; of the numbers here none is negative, so that signs do not count."""

_SAME = ("index_cast", "index_castui", "extsi", "extui", "trunci")


def _chosen(condition: int, yes: int, no: int) -> int:
    return yes if condition else no


class _Reader:
    def __init__(self, program: PrimFunc, extents: Mapping[str, int]) -> None:
        self._program = program
        self._shapes: dict[Value, tuple[int, ...]] = {}
        self._numbers: dict[Value, int] = {}
        """Tensors, by their number."""
        self._known: dict[Value, Number] = {}
        self._lanes: dict[Value, frozenset[Value]] = {}
        """Which indices of a `T.Parallel` a value depends on."""
        self._launch: Any = None
        self._wave = 1
        for number, parameter in enumerate(program.parameters):
            if isinstance(parameter.type, TensorType):
                found = [e.value(extents) if isinstance(e, Symbol) else e for e in parameter.type.shape]
                shape = (UNKNOWN_EXTENT if extent is None else extent for extent in found)
                self._shapes[parameter.value] = tuple(shape)
                self._numbers[parameter.value] = number

    def launches(self, wave: Callable[[Launch], int]) -> list[Launch]:
        found: list[Launch] = []
        for op in self._program.op.regions[0].ops:
            if op.name != "tl.kernel":
                self._step(op, 1.0)
                continue
            grid = [self._single(operand) or 1 for operand in op.operands]
            launch = _needs(op, math.prod(grid))
            self._launch = launch
            self._place(op.regions[0], grid, max(1, min(wave(launch), launch.blocks)))
            self._block(op.regions[0], 1.0)
            found.append(launch)
        return found

    def _place(self, body: Block, grid: Sequence[int], wave: int) -> None:
        """Gives the first blocks of the grid their coordinates, x fastest."""
        self._wave = wave
        below = 1
        for argument, extent in zip(body.arguments, grid, strict=True):
            self._known[argument] = [number // below % extent for number in range(wave)]
            below *= extent

    def _block(self, block: Block, times: float) -> None:
        for op in block.ops:
            self._step(op, times)

    def _step(self, op: Op, times: float) -> None:
        dialect, _, name = op.name.partition(".")
        if dialect == "arith":
            self._compute(op, name, times)
        elif dialect == "math":
            self._depend(op)
        elif (action := _ACTIONS.get(op.name)) is not None:
            action(self, op, times)
        elif op.regions:
            for region in op.regions:
                self._block(region, times)

    # Integers --------------------------------------------------------------------------------------------------------

    def _compute(self, op: Op, name: str, times: float) -> None:
        self._depend(op)
        result = op.results[0]
        if name == "constant":
            text = op.properties["value"].partition(" ")[0]
            truth = {"true": 1, "false": 0}.get(text)
            self._known[result] = int(text) if re.fullmatch(r"-?\d+", text) else truth
        elif name in _SAME:
            self._known[result] = self._known.get(op.operands[0])
        elif name in _SCALARS:
            self._known[result] = self._apply(_SCALARS[name], op.operands)
        elif name == "cmpi":
            compare = _COMPARED[int(op.properties["predicate"].partition(" ")[0])]
            self._known[result] = self._apply(compare, op.operands)
        elif name == "select":
            self._known[result] = self._apply(_chosen, op.operands)

    def _apply(self, function: Callable[..., int | None], operands: Sequence[Value]) -> Number:
        values = [self._known.get(operand) for operand in operands]
        if any(value is None for value in values):
            return None
        count = max((len(value) for value in values if isinstance(value, list)), default=0)
        if count == 0:
            return function(*values)
        rows = zip(*(value if isinstance(value, list) else [value] * count for value in values), strict=True)
        found = [function(*row) for row in rows]
        return None if None in found else found  # pyright: ignore[reportReturnType]

    def _single(self, value: Value) -> int | None:
        """Returns a number of the average block, or None if it is not known."""
        found = self._known.get(value)
        return round(sum(found) / len(found)) if isinstance(found, list) else found

    def _depend(self, op: Op) -> None:
        lanes = [self._lanes[operand] for operand in op.operands if operand in self._lanes]
        if lanes:
            for result in op.results:
                self._lanes[result] = frozenset[Value]().union(*lanes)

    def dim(self, op: Op, times: float) -> None:
        number = self._single(op.operands[1])
        self._known[op.results[0]] = None if number is None else self._shapes[op.operands[0]][number]

    # Control ---------------------------------------------------------------------------------------------------------

    def loop(self, op: Op, times: float) -> None:
        begin, end = self._known.get(op.operands[0]), self._single(op.operands[1])
        step = self._single(op.operands[2]) if op.name == "scf.for" else 1
        first = self._single(op.operands[0])
        trips = 1 if end is None or first is None or not step else max(0, -(-(end - first) // step))
        body = op.regions[0]
        self._known[body.arguments[0]] = begin
        if op.name == "tl.pipelined" and _stages(op) > 1:
            self._launch.rings.append(Ring(times * trips, _stages(op), sum(_filled(op).values())))
        self._block(body, times * trips)

    def branch(self, op: Op, times: float) -> None:
        known = self._single(op.operands[0])
        if known is None:
            for region in op.regions:
                self._block(region, times / 2)
        elif known or len(op.regions) > 1:
            self._block(op.regions[0 if known else 1], times)

    # Tiles -----------------------------------------------------------------------------------------------------------

    def parallel(self, op: Op, times: float) -> None:
        body = op.regions[0]
        extents = _integers(op.properties["extents"])
        sizes = dict(zip(body.arguments, extents, strict=True))
        for argument in body.arguments:
            self._known[argument] = 0
            self._lanes[argument] = frozenset((argument,))
        elements = times * math.prod(extents)
        self._block(body, 0.0)  # which says what indices depend on
        for inner in _all(body):
            if inner.name in ("tl.load", "tl.store"):
                self._element(inner, times, sizes)
            elif inner.name.startswith("math."):
                self._launch.functions += elements
            elif inner.name.startswith("arith.") and inner.name.endswith("f"):
                self._launch.elements += elements

    def _element(self, op: Op, times: float, sizes: Mapping[Value, int]) -> None:
        """A read or a write of a tensor in a `T.Parallel`: as many elements as its indices have values."""
        buffer = op.operands[0 if op.name == "tl.load" else 1]
        if buffer not in self._shapes:
            return
        used = frozenset[Value]().union(*(self._lanes.get(index, frozenset[Value]()) for index in op.operands))
        count = math.prod(size for argument, size in sizes.items() if argument in used)
        moved = times * count * _bytes(buffer.type)
        self._move(buffer, moved, moved, moved, 1.0, is_store=op.name == "tl.store")

    def copy(self, op: Op, times: float) -> None:
        segments, tile = _integers(op.properties["operandSegmentSizes"]), _integers(op.properties["tile"])
        source, target = op.operands[0], op.operands[segments[0] + segments[1]]
        at = {source: op.operands[1 : 1 + segments[1]]}
        behind = segments[0] + segments[1] + segments[2]
        at[target] = op.operands[behind : behind + segments[3]]
        on_chip = target if source in self._shapes else source
        for buffer in (source, target):
            if buffer in self._shapes:
                self._copy_of(buffer, at[buffer], tile, on_chip, times, is_store=buffer is target)
        if "fragment" in (_space(source), _space(target)):
            self._launch.elements += times * math.prod(tile)

    def _copy_of(
        self, buffer: Value, at: Sequence[Value], tile: Sequence[int], on_chip: Value, times: float, *, is_store: bool
    ) -> None:
        shape = self._shapes[buffer]
        within = [min(size, extent) for size, extent in zip(reversed(tile), reversed(shape), strict=False)]
        width = within[0] * _bytes(buffer.type)
        rows = math.prod(within[1:])
        is_aligned = len(shape) < 2 or shape[-1] * _bytes(buffer.type) % _LINE == 0
        pieces = -(-width // _LINE) if _space(on_chip) == "shared" else 1
        sectors = -(-width // _SECTOR) * _SECTOR + (0 if is_aligned else pieces * _SECTOR)
        lines = sectors if is_aligned else (-(-width // _LINE) + pieces) * _LINE
        moved = times * rows
        distinct = self._distinct(at)
        self._move(buffer, moved * width, moved * sectors, moved * lines, distinct, is_store=is_store)
        if not is_store and _space(on_chip) == "fragment":
            self._launch.straight += rows * width

    def _distinct(self, at: Sequence[Value]) -> float:
        """Returns how many different places the blocks of the wave are at, for each of them."""
        values = [self._known.get(index) for index in at]
        count = max((len(value) for value in values if isinstance(value, list)), default=0)
        if count == 0:
            return 1.0 / self._wave
        if any(value is None for value in values):
            return 1.0
        rows = zip(*(value if isinstance(value, list) else [value] * count for value in values), strict=True)
        return len(set(rows)) / count

    def _move(
        self, buffer: Value, moved: float, sectors: float, lines: float, distinct: float, *, is_store: bool
    ) -> None:
        whole = math.prod(self._shapes[buffer]) * _bytes(buffer.type)
        number = self._numbers[buffer]
        is_workspace = self._program.parameters[number].is_workspace
        self._launch.transfers.append(Transfer(number, whole, moved, sectors, lines, distinct, is_store, is_workspace))

    def gemm(self, op: Op, times: float) -> None:
        a, _, out = op.operands[:3]
        rows, columns = _tile(out)
        sides = _tile(a)
        depth = sides[0] if "transposeA" in op.properties else sides[1]
        if "depth" in op.properties:  # of windows
            depth = int(op.properties["depth"].split(":")[0])
        product = Product(rows, columns, depth, 8 * _bytes(a.type), _space(a) == "shared")
        self._launch.products.append((product, times))

    def reduce(self, op: Op, times: float) -> None:
        self._launch.elements += times * math.prod(_tile(op.operands[0]))
        self._launch.reductions += times

    def fill(self, op: Op, times: float) -> None:
        self._launch.elements += times * math.prod(_tile(op.operands[0]))


_ACTIONS: dict[str, Callable[[_Reader, Op, float], None]] = {
    "memref.dim": _Reader.dim,
    "scf.for": _Reader.loop,
    "tl.pipelined": _Reader.loop,
    "scf.if": _Reader.branch,
    "tl.parallel": _Reader.parallel,
    "tl.copy": _Reader.copy,
    "tl.gemm": _Reader.gemm,
    "tl.reduce": _Reader.reduce,
    "tl.scan": _Reader.reduce,
    "tl.fill": _Reader.fill,
}


def _needs(kernel: Op, blocks: int) -> Launch:
    """Returns what a block needs of a multiprocessor."""
    threads = math.prod(_integers(kernel.properties["threads"]))
    body = kernel.regions[0]
    loops = [op for op in _all(body) if op.name == "tl.pipelined"]
    stages = {tile: max(1, _stages(loop)) for loop in loops for tile in _filled(loop)}
    last = max((i for i, op in enumerate(body.ops) if any(loop in _with(op) for loop in loops)), default=-1)
    early = {operand for op in body.ops[: last + 1] for inner in _with(op) for operand in inner.operands}
    rings = held = late = largest = fragments = 0
    for op in _all(body):
        if op.name != "tl.alloc":
            continue
        tile = op.results[0]
        size = math.prod(_tile(tile)) * _bytes(tile.type)
        if _space(tile) == "fragment":
            count = -(-size // (4 * threads))
            largest, fragments = max(largest, count), fragments + count
        elif tile in stages:
            rings += size * stages[tile]
        elif _space(tile) == "shared" and last >= 0 and tile not in early:
            late += size
        elif _space(tile) == "shared":
            held += size
    name = kernel.properties.get("name", "").strip('"')
    return Launch(name, blocks, threads, held + max(rings, late), fragments, largest)


def _stages(loop: Op) -> int:
    return int(loop.properties["stages"].partition(" ")[0])


def _filled(loop: Op) -> dict[Value, int]:
    """Returns the tiles of shared memory that a loop copies tensors to, with their bytes."""
    found: dict[Value, int] = {}
    for op in _all(loop.regions[0]):
        if op.name == "tl.copy":
            segments = _integers(op.properties["operandSegmentSizes"])
            source, target = op.operands[0], op.operands[segments[0] + segments[1]]
            if _space(source) == "global" and _space(target) == "shared":
                found[target] = math.prod(_tile(target)) * _bytes(target.type)
    return found


def _with(op: Op) -> list[Op]:
    return [op, *(inner for region in op.regions for inner in _all(region))]


def _all(block: Block) -> list[Op]:
    """Returns the operations of a block and of all blocks in it."""
    found: list[Op] = []
    pending = [block]
    while pending:
        current = pending.pop()
        for op in current.ops:
            found.append(op)
            pending += op.regions
    return found


def _integers(text: str) -> list[int]:
    """Returns the numbers of a dense array attribute: "array<i64: 1, 2>"."""
    return [int(number) for number in re.findall(r"-?\d+", text.partition(":")[2])]


def _space(value: Value) -> str:
    return getattr(value.type, "space", "global")


def _tile(value: Value) -> tuple[int, ...]:
    return getattr(value.type, "shape", ())


def _bytes(memref: str) -> int:
    """Returns the bytes of an element of a memref.

    >>> _bytes("memref<64x128xbf16>"), _bytes("memref<f8E4M3FN>"), _bytes("memref<?xi1>")
    (2, 1, 1)
    """
    element = re.search(r"[<x](b?f|tf|i)(\d+)", memref)
    return -(-int(element[2]) // 8) if element else 4
