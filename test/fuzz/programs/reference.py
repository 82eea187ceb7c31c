"""Interprets a program with NumPy, by docs/language/semantics.md, and finds out whether it is valid.

A `T.Parallel` is interpreted for all points of its box at once, under masks. What the language calls undefined, a race,
memory that nothing has written, an on-chip index out of bounds, raises `Invalid`: such a program has no right result.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import arithmetic, data, rounding
from .arithmetic import Active, Invalid, require
from .elements import PACKED, Array, Number, carrier, is_float, number
from .program import (
    Alloc,
    Assign,
    Atomic,
    Binary,
    Buffer,
    Cast,
    Combined,
    Compare,
    Const,
    Copy,
    Exchange,
    Expr,
    Feed,
    Fill,
    Gemm,
    Handed,
    If,
    Jump,
    Kernel,
    Let,
    Load,
    Logic,
    Loop,
    Name,
    Parallel,
    Part,
    Persistent,
    Pieces,
    Pipeline,
    Program,
    Reduce,
    Ring,
    Rounded,
    Scan,
    Select,
    Shuffled,
    Side,
    SparseGemm,
    Stmt,
    Sync,
    Threads,
    Unary,
    While,
    children,
    is_static,
    statements,
)

MAX_TRIPS = 300
"""A loop that runs more often is taken for one that does not end."""

_BITS = {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}

_WARP_REDUCTIONS = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
}

_MANY = -2
"""Stands for "several iterations" where the number of one is kept."""

_UPDATES = {
    "add": (-3, np.add),
    "max": (-4, np.maximum),
    "min": (-5, np.minimum),
    "and": (-6, np.bitwise_and),
    "or": (-7, np.bitwise_or),
    "xor": (-8, np.bitwise_xor),
}
"""Of each atomic operation, what stands for "whoever does that", as their order does not matter, and what it does."""

_EXACT = {"float16": 2.0**11, "bfloat16": 2.0**8, "float32": 2.0**24, "float64": 2.0**53}
"""The greatest number up to which all integers are of the type."""


class Tracker:
    """Which iteration, or block, has read and written each element of a buffer: finds races."""

    def __init__(self, size: int) -> None:
        self.writer = np.full(size, -1, np.int64)
        self.reader = np.full(size, -1, np.int64)

    def read(self, elements: Array, who: Array | int) -> None:
        others = self.writer[elements]
        require((others == -1) | (others == who), None, "a race: reads what another writes")
        known = self.reader[elements]
        self.reader[elements] = np.where((known == -1) | (known == who), who, _MANY)
        self.reader[elements[self.reader[elements] != who]] = _MANY

    def write(self, elements: Array, who: Array | int) -> None:
        for others in (self.writer[elements], self.reader[elements]):
            require((others == -1) | (others == who), None, "a race: writes what another touches")
        self.writer[elements] = who


@dataclass
class Memory:
    """The contents of a buffer; with `lanes`, of one for each point of a box, whose number is the first index."""

    dtype: str
    low: Array
    high: Array | None = None
    defined: NDArray[np.bool_] | None = None
    lanes: bool = False
    is_stale: bool = False
    """A variable that a `T.Parallel` assigned: it must be assigned again before it is read (P3)."""
    sizes: Array | None = None
    """Of floats that atomic operations add to: the sums of the absolute values."""


@dataclass
class Jumps:
    """Who has left a loop, and who an iteration of it."""

    left: Array
    skipped: Array

    def gone(self) -> Array:
        return self.left | self.skipped


@dataclass
class Frame:
    """Where a statement is executed: once, or for each point of a box of which some are active."""

    names: dict[str, Number]
    box: tuple[int, ...] = ()
    active: Active = None
    trackers: dict[str, Tracker] = field(default_factory=dict)
    jumps: Jumps | None = None
    """Those of the innermost loop around it."""
    in_step: bool = False
    """Whether a statement is executed by all iterations before the next one."""

    def under(self, condition: Array) -> Frame:
        """Returns the frame in which a condition holds as well."""
        active = np.broadcast_to(condition, self.box)
        return dataclasses.replace(self, active=active if self.active is None else active & self.active)

    def lanes(self) -> Array:
        return np.arange(math.prod(self.box)).reshape(self.box)

    def mask(self) -> Array:
        return np.ones(self.box, bool) if self.active is None else self.active


def _no_jumps(box: tuple[int, ...]) -> Jumps:
    return Jumps(np.zeros(box, bool), np.zeros(box, bool))


class Reference:
    """One run of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._memory: dict[str, Memory] = {}
        self._blocks: dict[str, Tracker] = {}
        self._block = 0
        self._threads: tuple[int, ...] = ()
        self._outside: dict[str, Const] = {}
        self._rings: dict[str, list[Memory]] = {}
        self._private = {
            s.buffer.name
            for kernel in program.kernels
            for s in statements(kernel.body)
            if isinstance(s, Alloc) and s.buffer.space in ("local", "var")
        }

    def run(self) -> dict[str, Number]:
        """Returns what every tensor holds afterwards."""
        program = self._program
        for tensor in program.tensors:
            if tensor.buffer.dtype in PACKED and tensor.buffer.shape[-1] % 2:
                raise Invalid("a number of 4 bits without a neighbour")
            self._memory[tensor.buffer.name] = Memory(tensor.buffer.dtype, data.contents(tensor).copy())
        names = {name: number(extent, "index") for name, extent in program.extents().items()}
        names |= {s.name: number(s.value, s.dtype) for s in program.scalars}
        for kernel in program.kernels:
            self._kernel(kernel, names)
        memories = ((t.buffer.name, self._memory[t.buffer.name]) for t in program.tensors)
        return {name: Number(m.dtype, m.low, m.high) for name, m in memories}

    def _kernel(self, kernel: Kernel, names: dict[str, Number]) -> None:
        frame = Frame(names)
        grid = tuple(int(self._value(e, frame).low) for e in kernel.grid)
        if any(extent < 0 for extent in grid) or math.prod(grid) > 256:
            raise Invalid("a grid that is negative or too large")
        written = self._written(kernel.body)
        self._blocks = {
            t.buffer.name: Tracker(math.prod(t.buffer.shape)) for t in self._program.tensors if t.buffer.name in written
        }
        self._threads = kernel.threads
        self._outside = kernel.outside
        cluster = kernel.cluster or (1,) * len(grid)
        if any(extent % size for extent, size in zip(grid, cluster, strict=True)):
            raise Invalid("a grid that is not of whole clusters")
        for first in np.ndindex(*(extent // size for extent, size in zip(grid, cluster, strict=True))):
            # Blocks are numbered x fastest.
            places = [place[::-1] for place in np.ndindex(*cluster[::-1])]
            points = [tuple(f * s + p for f, s, p in zip(first, cluster, place, strict=True)) for place in places]
            self._cluster(kernel, names, [(int(np.ravel_multi_index(point, grid)), point) for point in points])

    def _cluster(self, kernel: Kernel, names: dict[str, Number], blocks: list[tuple[int, tuple[int, ...]]]) -> None:
        """Executes the blocks of a cluster, whose numbers and coordinates are given, from exchange to exchange."""
        tensors = self._memory
        memories = [dict(tensors) for _ in blocks]
        frames = [
            Frame(names | {n: number(c, "index") for n, c in zip(kernel.names, point, strict=True)})
            for _, point in blocks
        ]
        for exchange, part in _parts(kernel.body):
            if exchange is not None:
                self._exchange(exchange, memories)
            for rank, (self._block, _) in enumerate(blocks):
                self._memory = memories[rank]
                self._body(part, frames[rank])
                memories[rank] = self._memory
        self._memory = tensors

    def _exchange(self, exchange: Exchange, memories: list[dict[str, Memory]]) -> None:
        given: list[Number] = []
        for self._memory in memories:
            given.append(self._whole(exchange.source))
        for rank in range(len(memories)):
            other = (rank + exchange.shift) % len(memories)
            source, target = (other, rank) if exchange.pulls else (rank, other)
            self._memory = memories[target]
            self._set(exchange.target, given[source])

    @staticmethod
    def _written(body: list[Stmt]) -> set[str]:
        """Returns the names of buffers that statements write."""
        out: set[str] = set()
        for statement in statements(body):
            if isinstance(statement, Assign | Atomic | Fill):
                out.add(statement.buffer.name)
            elif isinstance(statement, Copy):
                out.add(statement.target.buffer.name)
        return out

    # Statements -------------------------------------------------------------------------------------------------------

    def _body(self, body: list[Stmt], frame: Frame) -> None:
        for statement in body:
            if frame.jumps is not None and frame.jumps.gone().any():
                going_on = self._narrowed(frame, ~frame.jumps.gone())
                if going_on is None:
                    return
                frame = going_on
            self._statement(statement, frame)

    def _statement(self, statement: Stmt, frame: Frame) -> None:
        if frame.in_step and not isinstance(statement, Alloc | Let | Loop):
            trackers = {name: Tracker(self._memory[name].low.size) for name in frame.trackers}
            frame = dataclasses.replace(frame, in_step=False, trackers=trackers)
        match statement:
            case Alloc():
                self._alloc(statement, frame)
            case Let():
                frame.names[statement.name] = self._value(statement.value, frame)
            case Assign():
                self._assign(statement, frame)
            case Atomic():
                self._atomic(statement, frame)
            case Fill():
                value = number(statement.value.value if statement.value else 0, statement.buffer.dtype)
                if statement.part is None:
                    self._set(statement.buffer, value)
                else:
                    self._fill_part(statement.part, value, frame)
            case Copy():
                self._copy(statement, frame)
            case Gemm():
                self._gemm(statement, frame)
            case SparseGemm():
                self._sparse_gemm(statement)
            case Reduce():
                self._reduce(statement)
            case Scan():
                self._scan(statement)
            case Jump():
                self._jump(statement, frame)
            case Sync():
                pass
            case Exchange():
                raise Invalid("blocks meet where not all of a cluster need come")
            case Parallel():
                extents = statement.extents
                self._spread(statement.names, extents, statement.body, frame)
            case Threads():
                if not any(_depends(s, statement.name) for s in statement.body):
                    raise Invalid("a statement that does not depend on the thread")
                extents = (math.prod(self._threads),)
                self._spread((statement.name,), extents, statement.body, frame, in_step=statement.in_step)
            case Loop():
                self._loop(statement, frame)
            case Persistent():
                self._persistent(statement, frame)
            case While():
                self._while(statement, frame)
            case If():
                self._if(statement, frame)
            case Ring():
                self._ring(statement, frame)
            case Pieces():
                self._statement(statement.loop, frame)
            case Handed():
                self._body(statement.body, frame)
            case Pipeline():
                self._pipeline(statement, frame)

    def _alloc(self, alloc: Alloc, frame: Frame) -> None:
        buffer = alloc.buffer
        lanes = bool(frame.box)
        shape = (math.prod(frame.box), *buffer.shape) if lanes else buffer.shape
        defined = np.zeros(shape, bool)
        self._memory[buffer.name] = Memory(
            buffer.dtype, np.zeros(shape, carrier(buffer.dtype)), None, defined, lanes=lanes
        )
        if alloc.value is not None:
            self._assign(Assign(buffer, (), alloc.value), frame)

    def _spread(
        self, names: tuple[str, ...], extents: tuple[int, ...], body: list[Stmt], frame: Frame, *, in_step: bool = False
    ) -> None:
        """Executes a body for each point of a box."""
        if frame.box:
            raise Invalid("a parallel loop inside of another")
        own = dict(frame.names)
        for axis, (name, extent) in enumerate(zip(names, extents, strict=True)):
            shape = [1] * len(extents)
            shape[axis] = extent
            own[name] = Number("index", np.arange(extent, dtype=np.int32).reshape(shape))
        outer = dict(self._memory)
        trackers: dict[str, Tracker] = {}
        for name in self._written(body) & outer.keys():
            memory = outer[name]
            if not self._is_private(name):
                trackers[name] = Tracker(memory.low.size)
            elif not memory.lanes:
                self._memory[name] = self._copies(memory, math.prod(extents))
                if in_step:  # each thread keeps its own
                    outer[name] = self._memory[name]
        self._body(body, Frame(own, extents, None, trackers, _no_jumps(extents), in_step))
        for name in self._written(body) & outer.keys():
            if self._is_private(name) and not in_step:
                outer[name].is_stale = True
        self._memory = outer

    def _is_private(self, name: str) -> bool:
        return name in self._private

    @staticmethod
    def _copies(memory: Memory, lanes: int) -> Memory:
        """Returns a private buffer's copies, one for each point (P3)."""

        def copies(array: Array) -> Array:
            return np.broadcast_to(array, (lanes, *array.shape)).copy()

        high = None if memory.high is None else copies(memory.high)
        assert memory.defined is not None, "private buffers are on chip"
        return Memory(memory.dtype, copies(memory.low), high, copies(memory.defined), True, memory.is_stale)

    def _loop(self, loop: Loop, frame: Frame) -> None:
        start, stop = (self._value(e, frame).low.astype(np.int64) for e in (loop.start, loop.stop))
        jumps = _no_jumps(frame.box)
        for trip in range(MAX_TRIPS):
            position = start + trip * loop.step
            runs = np.asarray(position < stop if loop.step > 0 else position > stop)
            inner = self._narrowed(frame, runs & ~jumps.left)
            if inner is None:
                return
            jumps.skipped = np.zeros(frame.box, bool)
            inner.jumps = jumps
            inner.names = {**inner.names, loop.name: Number("index", np.asarray(position, np.int32))}
            self._body(loop.body, inner)
        raise Invalid("a loop that runs too long")

    def _persistent(self, loop: Persistent, frame: Frame) -> None:
        """Executes a body for each of the block's tiles, which are numbered by groups of rows, columns last."""
        first, *others = loop.domain
        groups = (range(row, min(row + loop.group, first)) for row in range(0, first, loop.group))
        tiles = [(row, *rest) for rows in groups for rest in np.ndindex(*others) for row in rows]
        jumps = _no_jumps(frame.box)
        for tile in tiles[int(self._value(loop.index, frame).low) :: loop.waves]:
            inner = self._narrowed(frame, ~jumps.left)
            if inner is None:
                return
            jumps.skipped = np.zeros(frame.box, bool)
            inner.jumps = jumps
            coordinates = {n: number(c, "index") for n, c in zip(loop.names, tile, strict=True)}
            inner.names = {**inner.names, **coordinates}
            self._body(loop.body, inner)

    def _while(self, loop: While, frame: Frame) -> None:
        inner: Frame | None = frame
        jumps = _no_jumps(frame.box)
        for _ in range(MAX_TRIPS):
            inner = self._narrowed(inner, ~jumps.left)
            inner = inner and self._narrowed(inner, self._value(loop.condition, inner).low)
            if inner is None:
                return
            jumps.skipped = np.zeros(frame.box, bool)
            inner.jumps = jumps
            inner.names = dict(inner.names)
            self._body(loop.body, inner)
        raise Invalid("a loop that does not end")

    def _jump(self, jump: Jump, frame: Frame) -> None:
        if frame.jumps is None:
            raise Invalid("a jump outside of a loop")
        if jump.word == "break":
            frame.jumps.left = frame.jumps.left | frame.mask()
        else:
            frame.jumps.skipped = frame.jumps.skipped | frame.mask()

    def _if(self, statement: If, frame: Frame) -> None:
        condition = self._value(statement.condition, frame).low
        for body, holds in ((statement.then, condition), (statement.other, ~np.asarray(condition))):
            inner = self._narrowed(frame, holds)
            if inner is not None:
                inner.names = dict(inner.names)
                self._body(body, inner)

    # Pipelines by hand ------------------------------------------------------------------------------------------------

    def _ring(self, ring: Ring, frame: Frame) -> None:
        self._rings[ring.buffer.name] = []
        for _ in range(ring.slots):
            self._alloc(Alloc(ring.buffer), frame)
            if ring.value is not None:
                self._set(ring.buffer, number(ring.value.value, ring.buffer.dtype))
            self._rings[ring.buffer.name].append(self._memory[ring.buffer.name])

    def _pipeline(self, pipeline: Pipeline, frame: Frame) -> None:
        past = 0
        for index in range(pipeline.often):
            inner = dataclasses.replace(frame, names={**frame.names, pipeline.name: number(index, "index")})
            self._parts(pipeline, pipeline.before, inner)
            for feed in pipeline.feeds:
                past = self._feed(pipeline, feed, 0 if feed.before < 0 else past, inner)
            self._parts(pipeline, pipeline.after, inner)

    def _parts(self, pipeline: Pipeline, parts: list[Part], frame: Frame) -> None:
        self._turn(pipeline, 0)
        for part in parts:
            self._body(part.body, frame)

    def _turn(self, pipeline: Pipeline, step: int) -> None:
        """Has the tiles of rings be the slots of a step."""
        for name in pipeline.rings:
            self._memory[name] = self._rings[name][step % pipeline.slots]

    def _feed(self, pipeline: Pipeline, feed: Feed, past: int, frame: Frame) -> int:
        """Executes the steps of a loop; returns how many there are then, and were before at the same barriers."""
        steps = max(int(self._value(feed.stop, frame).low), 0)
        if steps > MAX_TRIPS:
            raise Invalid("a loop that runs too long")
        steps += -steps % pipeline.slots if feed.is_rounded else 0
        for step in range(steps):
            inner = dataclasses.replace(frame, names={**frame.names, feed.name: number(step, "index")})
            self._turn(pipeline, past + step)
            self._body(feed.fills, inner)
            for part in feed.uses:
                self._body(part.body, inner)
        return past + steps

    @staticmethod
    def _narrowed(frame: Frame, condition: Array) -> Frame | None:
        """Returns the frame where a condition holds, or None if it holds nowhere."""
        if not frame.box:
            return dataclasses.replace(frame) if bool(condition) else None
        inner = frame.under(condition)
        return inner if bool(np.any(inner.active)) else None

    # Tile ops ---------------------------------------------------------------------------------------------------------

    def _whole(self, buffer: Buffer) -> Number:
        memory = self._memory[buffer.name]
        self._require_defined(memory, np.ones((), bool) if memory.defined is None else memory.defined, None, buffer)
        return Number(memory.dtype, memory.low, memory.high)

    def _set(self, buffer: Buffer, value: Number) -> None:
        memory = self._memory[buffer.name]
        if memory.lanes:
            raise Invalid("a tile op inside of a parallel loop")
        memory.low = np.broadcast_to(value.low, buffer.shape).astype(memory.low.dtype)
        memory.high = None if value.high is None else np.broadcast_to(value.high, buffer.shape).copy()
        if memory.defined is not None:
            memory.defined = np.ones(buffer.shape, bool)
        memory.is_stale = False

    def _gemm(self, gemm: Gemm, frame: Frame) -> None:
        a, b = (_part(self._whole(tile), box) for tile, box in gemm.factors())
        clear = gemm.clear if isinstance(gemm.clear, bool) else bool(self._value(gemm.clear, frame).low)
        c = number(np.zeros(gemm.c.shape), gemm.c.dtype) if clear else self._whole(gemm.c)
        a, b = (_transposed(x) if flip else x for x, flip in ((a, gemm.transpose_a), (b, gemm.transpose_b)))
        self._set(gemm.c, arithmetic.matrix_product(a, b, c))

    def _sparse_gemm(self, gemm: SparseGemm) -> None:
        kept, where, b = (self._whole(x) for x in (gemm.kept, gemm.where, gemm.b))
        kept, where, b = (
            _transposed(x) if flip else x
            for x, flip in ((kept, gemm.transpose_a), (where, gemm.transpose_e), (b, gemm.transpose_b))
        )
        c = number(np.zeros(gemm.c.shape), gemm.c.dtype) if gemm.clear else self._whole(gemm.c)
        self._set(gemm.c, arithmetic.matrix_product(_dense(kept, where.low), b, c))

    def _reduce(self, reduce: Reduce) -> None:
        source = self._whole(reduce.source)
        axis = reduce.dim % len(reduce.source.shape)
        if reduce.kind.startswith("arg"):
            self._set(reduce.target, _place_of(source, reduce, axis))
            return
        if reduce.target.dtype != source.dtype:
            source = arithmetic.cast(source, reduce.target.dtype)
        if reduce.kind.startswith("abs"):
            source = arithmetic.absolute(source)
        if not reduce.clear:
            old = self._whole(reduce.target)
            shape = list(reduce.source.shape)
            shape[axis] = 1
            pairs = ((source.low, old.low), (source.top, old.top))
            low, high = (np.concatenate([x, y.reshape(shape)], axis) for x, y in pairs)
            source = Number(source.dtype, low, None if source.is_exact and old.is_exact else high)
        if reduce.skips_nan and is_float(source.dtype):
            least = {"max": -np.inf, "min": np.inf, "absmax": 0}[reduce.kind]
            low, high = (np.where(np.isnan(x), x.dtype.type(least), x) for x in (source.low, source.top))
            source = Number(source.dtype, low, None if source.is_exact else high)
        result = self._combined(source, reduce.kind, axis)
        shape = reduce.target.shape
        high = None if result.high is None else result.high.reshape(shape)
        self._set(reduce.target, Number(result.dtype, result.low.reshape(shape), high))

    def _scan(self, scan: Scan) -> None:
        source = self._whole(scan.source)
        axis = scan.dim % len(scan.source.shape)
        if scan.kind == "cumsum" and source.low.dtype.kind == "f":
            raise Invalid("sums of floats, whose order is not said")

        def along(array: Array) -> Array:
            turned = np.flip(array, axis) if scan.reverse else array
            if scan.kind == "cummax":
                found = np.maximum.accumulate(turned, axis)
            else:
                found = np.cumsum(turned, axis, dtype=array.dtype)
            return np.flip(found, axis) if scan.reverse else found

        high = None if source.high is None else along(source.high)
        self._set(scan.target, Number(source.dtype, along(source.low), high))

    @staticmethod
    def _combined(source: Number, kind: str, axis: int) -> Number:
        if kind in _BITS:
            return Number(source.dtype, _BITS[kind].reduce(source.low, axis))
        if kind.endswith("sum"):
            return arithmetic.total(source, axis)
        choose = np.min if kind == "min" else np.max  # either keeps NaN (F1)
        high = None if source.high is None else choose(source.high, axis)
        return Number(source.dtype, choose(source.low, axis), high)

    def _fill_part(self, part: Side, value: Number, frame: Frame) -> None:
        extents = [
            x if (length := self._length(part, d, frame)) is None else length for d, x in enumerate(part.extents)
        ]
        places, inside = self._places(part, tuple(extents), frame)
        self._write(self._memory[part.buffer.name], places, inside, value)

    def _copy(self, copy: Copy, frame: Frame) -> None:
        from_, to, held = self._extents(copy, frame)
        places, inside = self._places(copy.source, from_, frame)
        is_held = np.ones(from_, bool)
        for d, count in held.items():
            shape = [1] * len(from_)
            shape[d] = from_[d]
            is_held = is_held & (np.arange(from_[d]) < count).reshape(shape)
        inside = inside & is_held
        memory = self._memory[copy.source.buffer.name]
        if memory.defined is not None:
            self._require_defined(memory, memory.defined[places], is_held, copy.source.buffer)
        self._track(copy.source.buffer, places, inside, frame, is_write=False)
        outside = self._outside_of(copy.source.buffer)
        low, high = np.full(inside.shape, outside), None
        if memory.low.size:
            low = np.where(inside, memory.low[places], outside)
            high = None if memory.high is None else np.where(inside, memory.high[places], outside)
        value = arithmetic.cast(Number(memory.dtype, low, high), copy.target.buffer.dtype)
        places, inside = self._places(copy.target, to, frame)
        self._track(copy.target.buffer, places, inside, frame, is_write=True)
        high = None if value.high is None else value.high.reshape(to)
        value = Number(value.dtype, value.low.reshape(to), high)
        self._write(self._memory[copy.target.buffer.name], places, inside, value)

    def _extents(self, copy: Copy, frame: Frame) -> tuple[tuple[int, ...], tuple[int, ...], dict[int, int]]:
        """Returns the extents of what is copied, as the two sides have them, and how much of some dimensions of it the
        source has (T7)."""
        sides = (copy.source, copy.target)
        found = [list(side.extents) for side in sides]
        dims = [[d for d, x in enumerate(extents) if x != 1] for extents in found]
        if [found[0][d] for d in dims[0]] != [found[1][d] for d in dims[1]]:
            raise Invalid("copies between tiles of different extents")
        held: dict[int, int] = {}
        for d, e in zip(*dims, strict=True):
            has, wanted = self._length(copy.source, d, frame), self._length(copy.target, e, frame)
            if has is not None and wanted is not None and has != wanted:
                raise Invalid("a slice with a length that the other side has not")
            most = found[0][d]
            for side, other, length in ((*sides, has), (*reversed(sides), wanted)):
                is_rest = side.buffer.space == "global" and not other.lengths and other.style != "position"
                if length is not None and length > most and not is_rest:
                    raise Invalid("a slice that is longer than the other side")
            has, wanted = (None if length is None else min(length, most) for length in (has, wanted))
            if has is not None:
                held[d] = has
            if wanted is None and copy.target.style == "position":
                wanted = has
            if wanted is not None:
                found[0][d] = found[1][e] = wanted
        return tuple(found[0]), tuple(found[1]), held

    def _length(self, side: Side, d: int, frame: Frame) -> int | None:
        """Returns how long a slice is that ends where only the running kernel knows."""
        length = side.lengths[d] if side.lengths else None
        return None if length is None else max(int(self._value(length, frame).low), 0)

    def _places(self, side: Side, extents: tuple[int, ...], frame: Frame) -> tuple[tuple[Array, ...], Array]:
        """Returns the indices of a box, kept inside of the buffer, and which of them were so before."""
        shape = side.buffer.shape
        indices: list[Array] = []
        for offset, extent in zip(side.offsets, extents, strict=True):
            first = int(self._value(offset, frame).low)
            if abs(first) > 1 << 30:
                raise Invalid("a position near the end of what coordinates can say")
            indices.append(np.arange(first, first + extent))
        grid = np.ix_(*indices)
        inside = np.ones(extents, bool)
        for index, extent in zip(grid, shape, strict=True):
            inside = inside & (index >= 0) & (index < extent)
        if side.buffer.space != "global" and not inside.all():
            raise Invalid(f"copies beyond the end of `{side.buffer.name}`")
        kept = tuple(np.clip(i, 0, max(e - 1, 0)) for i, e in zip(grid, shape, strict=True))
        return tuple(np.broadcast_to(i, extents) for i in kept), inside

    # Elements ---------------------------------------------------------------------------------------------------------

    def _assign(self, assign: Assign, frame: Frame) -> None:
        value = self._value(assign.value, frame)
        if assign.op:
            old = self._load(Load(assign.buffer, assign.indices), frame)
            value = arithmetic.binary(assign.op, old, value, frame.active)
        # Outside of a local array nothing is written (M2), but what is read there is undefined.
        is_dropped = assign.buffer.space == "local" and not assign.op
        places, inside = self._element(assign.buffer, assign.indices, frame, may_leave=is_dropped)
        active = frame.mask() & inside
        memory = self._memory[assign.buffer.name]
        if not memory.lanes:
            self._require_one_writer(assign.buffer, places, active)
        self._track(assign.buffer, places, active, frame, is_write=True)
        if memory.lanes:
            places = (frame.lanes(), *places)
        elif frame.box and memory.defined is not None and self._is_private(assign.buffer.name):
            raise Invalid("a private buffer without copies")
        if not assign.indices:
            memory.is_stale = False
        self._write(memory, places, active, value)

    def _atomic(self, atomic: Atomic, frame: Frame) -> None:
        value = self._value(atomic.value, frame)
        places, inside = self._element(atomic.buffer, atomic.indices, frame)
        active = frame.mask() & inside
        memory = self._memory[atomic.buffer.name]
        if not value.is_exact or memory.high is not None:
            raise Invalid("an atomic operation on values that are known within bounds only")
        if memory.defined is not None:
            self._require_defined(memory, memory.defined[places], frame.active, atomic.buffer)
        group, update = _UPDATES[atomic.op]
        if atomic.name:  # what is found depends on the order, unless each finds its own
            group = None
            self._require_one_writer(atomic.buffer, places, active)
            zero = np.zeros((), memory.low.dtype)
            old = np.where(inside, memory.low[places], zero) if memory.low.size else np.zeros(frame.box, zero.dtype)
            frame.names[atomic.name] = Number(memory.dtype, old)
        self._track(atomic.buffer, places, active, frame, is_write=True, group=group)
        chosen = tuple(np.broadcast_to(p, active.shape)[active] for p in places)
        values = np.broadcast_to(value.low, active.shape)[active]
        if is_float(memory.dtype):
            self._require_exact_sums(memory, chosen, values)
        update.at(memory.low, chosen, values)

    @staticmethod
    def _require_exact_sums(memory: Memory, places: tuple[Array, ...], values: Array) -> None:
        """Integers are added exactly in any order as long as the sums of their absolute values are exact."""
        if memory.sizes is None:
            memory.sizes = np.abs(memory.low)
        np.add.at(memory.sizes, places, np.abs(values))
        if not (memory.sizes == np.rint(memory.sizes)).all() or memory.sizes.max(initial=0) > _EXACT[memory.dtype]:
            raise Invalid("an atomic sum that depends on the order")

    @staticmethod
    def _require_one_writer(buffer: Buffer, places: tuple[Array, ...], active: Array) -> None:
        flat = np.ravel_multi_index(places, buffer.shape) if places else np.zeros(active.shape, np.int64)
        chosen = np.broadcast_to(flat, active.shape)[active]
        if chosen.size > 1 and np.unique(chosen).size != chosen.size:
            raise Invalid(f"a race: two iterations write one element of `{buffer.name}`")

    @staticmethod
    def _write(memory: Memory, places: tuple[Array, ...], active: Array, value: Number) -> None:
        if not active.any():
            return
        chosen = tuple(np.broadcast_to(p, active.shape)[active] for p in places)
        memory.low[chosen] = np.broadcast_to(value.low, active.shape)[active]
        if value.high is not None and memory.high is None:
            memory.high = memory.low.copy()
        if memory.high is not None:
            memory.high[chosen] = np.broadcast_to(value.top, active.shape)[active]
        if memory.defined is not None:
            memory.defined[chosen] = True

    def _track(
        self,
        buffer: Buffer,
        places: tuple[Array, ...],
        active: Array,
        frame: Frame,
        is_write: bool,
        group: int | None = None,
    ) -> None:
        """Notes an access, of iterations and of blocks, or of a group of them that do not mind each other."""
        by_iteration, by_block = frame.trackers.get(buffer.name), self._blocks.get(buffer.name)
        if (by_iteration is None and by_block is None) or not active.any():
            return
        flat = np.ravel_multi_index(places, buffer.shape)
        elements = np.broadcast_to(flat, active.shape)[active]
        if by_iteration is not None:
            who = np.broadcast_to(frame.lanes(), active.shape)[active] if group is None else group
            (by_iteration.write if is_write else by_iteration.read)(elements, who)
        if by_block is not None:
            (by_block.write if is_write else by_block.read)(elements, self._block if group is None else group)

    def _element(
        self, buffer: Buffer, indices: tuple[Expr, ...], frame: Frame, *, may_leave: bool = False
    ) -> tuple[tuple[Array, ...], Array]:
        """Returns the place of an element, kept inside of the buffer, and where it was so before.

        - `may_leave`: whether one that is outside of a buffer on the chip means something.
        """
        if not indices:
            return (np.zeros((), np.int64),), np.ones((), bool)
        inside = np.ones(frame.box, bool)
        places: list[Array] = []
        for index, extent in zip(indices, buffer.shape, strict=True):
            found = self._value(index, frame).low
            if is_static(index):
                if not -extent <= int(found) < extent:
                    raise Invalid("a constant index out of bounds")
                found = np.asarray(int(found) % extent)  # it counts from the end (M4)
            within = (found >= 0) & (found < extent)
            inside = inside & within
            places.append(np.where(within, found, 0).astype(np.int64))
        if buffer.space != "global" and not may_leave:
            require(inside, frame.active, f"an index beyond the end of `{buffer.name}`")
        elif 0 in buffer.shape:
            inside = np.zeros(frame.box, bool)
        return tuple(np.broadcast_to(p, frame.box) for p in places), inside

    def _load(self, load: Load, frame: Frame) -> Number:
        memory = self._memory[load.buffer.name]
        if memory.is_stale:
            raise Invalid(f"reads `{load.buffer.name}` after a parallel loop assigned it")
        places, inside = self._element(load.buffer, load.indices, frame)
        active = frame.mask() & inside
        self._track(load.buffer, places, active, frame, is_write=False)
        if memory.lanes:
            places = (frame.lanes(), *places)
        if memory.defined is not None:
            self._require_defined(memory, memory.defined[places], frame.active, load.buffer)
        outside = self._outside_of(load.buffer)
        if memory.low.size == 0:
            return Number(memory.dtype, np.full(frame.box, outside))
        high = None if memory.high is None else np.where(inside, memory.high[places], outside)
        return Number(memory.dtype, np.where(inside, memory.low[places], outside), high)

    def _outside_of(self, buffer: Buffer) -> Array:
        """Returns what a read outside of a buffer gives (M1)."""
        value = self._outside.get(buffer.name)
        return np.zeros((), carrier(buffer.dtype)) if value is None else number(value.value, value.dtype).low

    @staticmethod
    def _require_defined(memory: Memory, defined: Array, active: Active, buffer: Buffer) -> None:
        require(np.asarray(defined), active, f"reads `{buffer.name}`, which nothing has written")
        if memory.is_stale:
            raise Invalid(f"reads `{buffer.name}` after a parallel loop assigned it")

    # Expressions ------------------------------------------------------------------------------------------------------

    def _value(self, node: Expr, frame: Frame) -> Number:
        match node:
            case Const():
                return number(node.value, node.dtype)
            case Name():
                return frame.names[node.name]
            case Load():
                return self._load(node, frame)
            case Unary():
                return arithmetic.unary(node.op, self._value(node.a, frame), frame.active)
            case Binary():
                a, b = self._value(node.a, frame), self._value(node.b, frame)
                return arithmetic.binary(node.op, a, b, frame.active)
            case Compare():
                a, b = self._value(node.a, frame), self._value(node.b, frame)
                return arithmetic.compare(node.op, a, b, frame.active)
            case Cast():
                return arithmetic.cast(self._value(node.a, frame), node.dtype, frame.active)
            case Rounded():
                return self._rounded(node, frame)
            case Logic():
                return self._logic(node, frame)
            case Select():
                return self._select(node, frame)
            case Shuffled():
                return self._shuffled(node, frame)
            case Combined():
                return self._combined_of_threads(node, frame)
        _never(node)

    def _rounded(self, node: Rounded, frame: Frame) -> Number:
        operands = [self._value(operand, frame) for operand in node.operands]
        if node.mode != "rn":  # no sum takes a product before it is rounded
            for k, operand in enumerate(node.operands):
                if isinstance(operand, Rounded) and (operand.function, operand.mode) == ("mul", "rn"):
                    factors = [self._value(o, frame) for o in operand.operands]
                    arithmetic.require(np.asarray(all(f.is_exact for f in factors)), frame.active, "no exact factors")
                    with np.errstate(all="ignore"):
                        operands[k] = rounding.as_rounded(Number(node.dtype, factors[0].low * factors[1].low))
        return rounding.apply(node.function, node.mode, operands, frame.active)

    def _logic(self, node: Logic, frame: Frame) -> Number:
        a = self._value(node.a, frame).low
        if node.b is None:
            return Number("bool", ~np.asarray(a))
        inner = self._guarded(frame, a if node.op == "and" else ~np.asarray(a))
        if inner is None:
            return Number("bool", a)
        b = self._value(node.b, inner).low
        return Number("bool", np.asarray(a & b if node.op == "and" else a | b))

    def _shuffled(self, node: Shuffled, frame: Frame) -> Number:
        """Returns what other threads have, or a thread's own where there is none."""
        value = self._of_threads(node.value, frame)
        thread = np.arange(*frame.box)
        lane = thread % 32
        other = {
            "shfl_sync": 0 * lane + node.number,
            "shfl_xor": lane ^ node.number,
            "shfl_up": lane - node.number,
            "shfl_down": lane + node.number,
        }[node.function]
        place = thread - lane + other
        is_one = (other >= 0) & (other < 32) & (place < thread.size)
        source = np.where(is_one, place, thread)

        def moved(array: Array) -> Array:
            return np.broadcast_to(array, frame.box)[source]

        return Number(value.dtype, moved(value.low), None if value.high is None else moved(value.high))

    def _of_threads(self, value: Expr, frame: Frame) -> Number:
        """Returns what each thread of the block gives to others."""
        if frame.box != (math.prod(self._threads),) or not frame.mask().all():
            raise Invalid("a statement of the block that not all threads do")
        return self._value(value, frame)

    def _combined_of_threads(self, node: Combined, frame: Frame) -> Number:
        """Returns what the threads of a warp, or of the block that differ in some coordinates, have together."""
        value = self._of_threads(node.value, frame)
        if not value.is_exact or is_float(value.dtype):
            raise Invalid("a combination of threads whose order may be seen")
        given = np.broadcast_to(value.low, frame.box)
        if node.along:
            block = np.reshape(given, self._threads[::-1])  # x runs fastest
            axes = tuple(block.ndim - 1 - d for d in node.along if d < block.ndim)
            total = _UPDATES[node.function][1].reduce(block, axes, dtype=given.dtype, keepdims=True)
            return Number(value.dtype, np.broadcast_to(total, block.shape).reshape(frame.box))
        combine = _WARP_REDUCTIONS[node.function.removeprefix("warp_reduce_")]
        warps = [given[i : i + 32] for i in range(0, given.size, 32)]
        found = [np.full(w.shape, combine.reduce(w, dtype=given.dtype), given.dtype) for w in warps]
        return Number(value.dtype, np.concatenate(found))

    def _select(self, node: Select, frame: Frame) -> Number:
        condition = np.asarray(self._value(node.condition, frame).low)
        sides: list[Number | None] = []
        for side, holds in ((node.a, condition), (node.b, ~condition)):
            inner = frame if node.how == "both" else self._guarded(frame, holds)
            sides.append(None if inner is None else self._value(side, inner))
        a, b = sides
        if a is None or b is None:
            chosen = a if b is None else b
            assert chosen is not None, "a condition holds or not"
            return chosen
        return arithmetic.select(condition, a, b)

    @staticmethod
    def _guarded(frame: Frame, condition: Array) -> Frame | None:
        """Returns the frame in which a value is needed, or None if it is needed nowhere."""
        if not frame.box:
            return frame if bool(condition) else None
        inner = frame.under(condition)
        return inner if bool(np.any(inner.active)) else None


def _parts(body: list[Stmt]) -> list[tuple[Exchange | None, list[Stmt]]]:
    """Returns the statements between exchanges, each list with the exchange before it."""
    parts: list[tuple[Exchange | None, list[Stmt]]] = [(None, [])]
    for statement in body:
        if isinstance(statement, Exchange):
            parts.append((statement, []))
        else:
            parts[-1][1].append(statement)
    return parts


def _depends(node: Any, name: str) -> bool:
    """Returns whether something is written with a name (S4), but for what is the number 0 anyway."""
    if isinstance(node, Name):
        return node.name == name
    if isinstance(node, Binary):
        constants = [e.value for e in (node.a, node.b) if isinstance(e, Const)]
        if (node.op == "*" and 0 in constants) or (node.op == "%" and constants in ([1], [-1])):
            return False
    return any(_depends(child, name) for child in children(node))


def _part(a: Number, box: tuple[slice, slice] | None) -> Number:
    if box is None:
        return a
    return Number(a.dtype, a.low[box], None if a.high is None else a.high[box])


def _transposed(a: Number) -> Number:
    return Number(a.dtype, a.low.T, None if a.high is None else a.high.T)


def _dense(kept: Number, where: Array) -> Number:
    """Returns the tile of which some elements were left out, with zeros in their places (T6)."""
    group = 2 if kept.low.dtype == np.float64 and kept.dtype == "float32" else 4
    rows, width = kept.low.shape[0], 2 * kept.low.shape[1]
    number = np.arange(width) // group
    per_word = where.dtype.itemsize * 2
    places = (where[:, number // per_word] >> ((number % per_word) * 4).astype(where.dtype)) & 15
    first, second = places & 3, places >> 2 & 3
    column = np.broadcast_to(np.arange(width), (rows, width))

    def spread(array: Array) -> Array:
        zero = np.zeros((), array.dtype)
        if group == 2:
            return np.where(first == column % 2 * 2, array[:, np.arange(width) // 2], zero)
        pair = np.arange(width) // 4 * 2
        at = column % 4
        return np.where(first == at, array[:, pair], np.where(second == at, array[:, pair + 1], zero))

    return Number(kept.dtype, spread(kept.low), None if kept.high is None else spread(kept.high))


def _place_of(source: Number, reduce: Reduce, axis: int) -> Number:
    """Returns where the greatest or the least element is, the first of them, or the first NaN (T2)."""
    if not source.is_exact:
        raise Invalid("the place of an element that is known within bounds only")
    values = source.low.astype(np.int8) if source.low.dtype == bool else source.low
    if values.dtype.kind == "f" and bool(np.any(np.signbit(values) & (values == 0))):
        raise Invalid("the place of a zero, of which there are two")
    found = (np.argmax if reduce.kind == "argmax" else np.argmin)(values, axis)
    return Number(reduce.target.dtype, found.reshape(reduce.target.shape).astype(carrier(reduce.target.dtype)))


def _never(node: object) -> NoReturn:
    raise AssertionError(f"not an expression: {node!r}")


def run(program: Program) -> dict[str, Number]:
    """Returns what every tensor holds after the program, or raises `Invalid`."""
    with np.errstate(all="ignore"):
        return Reference(program).run()
