"""What a tile program is made of: a tree that `printer` writes as Python and `reference` interprets.

Every expression has a type, and every conversion is a node of its own, so that the two read the same program. A
conversion that is `implicit` is not written: the language makes it by itself.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Space = Literal["global", "shared", "fragment", "local", "var"]


@dataclass(frozen=True)
class Buffer:
    """A tensor parameter, or an on-chip buffer; a variable is a `local` of one element that is written by name."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    space: Space


# Expressions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    """`style`: "usual" for one whose type is that of Python's numbers in a program by TileLang's names; "typed" where
    such a program says another; "silent" for a zero that variables begin with by themselves there (`literals`)."""

    dtype: str
    value: int | float | bool
    style: Literal["", "typed", "usual", "silent"] = ""


@dataclass(frozen=True)
class Name:
    """A loop variable, a coordinate, an extent, a scalar parameter, or a value that was given a name.

    `is_static`: it is a number of Python's while the kernel is built.
    """

    dtype: str
    name: str
    is_static: bool = False


@dataclass(frozen=True)
class Load:
    """An element of a buffer, or the value of a variable, which has no indices.

    `word`: how many bits are read by `T.ldg32` or its kin, of which it is one; 0 if it is read alone.
    `number`: which of the elements that they are it is.
    """

    buffer: Buffer
    indices: tuple[Expr, ...] = ()
    word: int = 0
    number: int = 0

    @property
    def dtype(self) -> str:
        return self.buffer.dtype


@dataclass(frozen=True)
class Unary:
    op: str
    a: Expr

    @property
    def dtype(self) -> str:
        return self.a.dtype


@dataclass(frozen=True)
class Binary:
    op: str
    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        return self.a.dtype


@dataclass(frozen=True)
class Compare:
    op: str
    a: Expr
    b: Expr
    dtype: str = "bool"


@dataclass(frozen=True)
class Logic:
    """`and`, `or`, and `not`, which has no `b`."""

    op: Literal["and", "or", "not"]
    a: Expr
    b: Expr | None = None
    dtype: str = "bool"


@dataclass(frozen=True)
class Cast:
    """`mixed`: it is not written beside an operand which says the type that both get (I6)."""

    dtype: str
    a: Expr
    implicit: bool = False
    mixed: bool = False


@dataclass(frozen=True)
class Select:
    """`how`: "then" for `T.if_then_else`, "python" for `a if c else b`, "both" for `T.Select`."""

    condition: Expr
    a: Expr
    b: Expr
    how: Literal["then", "python", "both"] = "then"

    @property
    def dtype(self) -> str:
        return self.a.dtype


@dataclass(frozen=True)
class Rounded:
    """`T.ieee_add` or another of `rounding.FUNCTIONS`, rounded by one of `rounding.MODES` (C4)."""

    function: str
    operands: tuple[Expr, ...]
    mode: str

    @property
    def dtype(self) -> str:
        return self.operands[0].dtype


SHUFFLES = ("shfl_sync", "shfl_xor", "shfl_up", "shfl_down")


@dataclass(frozen=True)
class Shuffled:
    """What another thread of the warp has, by one of `SHUFFLES` and a number (S9)."""

    value: Expr
    function: str
    number: int

    @property
    def dtype(self) -> str:
        return self.value.dtype


WARP_REDUCTIONS = ("warp_reduce_sum", "warp_reduce_max", "warp_reduce_min", "warp_reduce_bitand", "warp_reduce_bitor")
ALL_REDUCTIONS = ("add", "max", "xor")


@dataclass(frozen=True)
class Combined:
    """What the threads of a warp have together, by one of `WARP_REDUCTIONS`; or those of the block that differ in some
    coordinates, `along`, by `T.tvm_thread_allreduce` and one of `ALL_REDUCTIONS` (S9). It is all that a store stores.
    """

    value: Expr
    function: str
    along: tuple[int, ...] = ()

    @property
    def dtype(self) -> str:
        return self.value.dtype


Expr = Const | Name | Load | Unary | Binary | Compare | Logic | Cast | Select | Rounded | Shuffled | Combined


# Statements -----------------------------------------------------------------------------------------------------------


@dataclass
class Alloc:
    """`value`: what a variable begins with."""

    buffer: Buffer
    value: Expr | None = None


@dataclass
class Let:
    """Gives a value a name."""

    name: str
    value: Expr


@dataclass
class Assign:
    """Assigns to an element or a variable; `op` is that of an augmented assignment, or ""."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    op: str = ""


@dataclass
class Atomic:
    """`T.atomic_add` or its kin, which `op` names, of an element; `name` is what it was before, if anyone asks.

    `order` and `scope` are words of the language; by default an operation orders nothing, and is one to the device.
    """

    op: Literal["add", "max", "min", "and", "or", "xor"]
    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    name: str = ""
    order: str = ""
    scope: str = ""


@dataclass
class Fill:
    """`T.fill`, or `T.clear` where there is no value; of a part of the buffer, if there is one."""

    buffer: Buffer
    value: Const | None = None
    part: Side | None = None


@dataclass
class Side:
    """One side of a copy: a box of a buffer.

    `style`: how it is written, as the buffer itself, as the position where it begins, or as a region. In a region an
    extent of 1 may be an index, which `is_index` says of each dimension.

    `lengths`: how long a region is in dimensions in which only the running kernel knows; `extents` are the most.
    """

    buffer: Buffer
    offsets: tuple[Expr, ...]
    extents: tuple[int, ...]
    style: Literal["whole", "position", "region"]
    is_index: tuple[bool, ...] = ()
    lengths: tuple[Expr | None, ...] = ()


@dataclass
class Copy:
    source: Side
    target: Side


@dataclass
class Gemm:
    a: Buffer
    b: Buffer
    c: Buffer
    transpose_a: bool = False
    transpose_b: bool = False
    policy: str = "Square"
    clear: Expr | bool = False
    a_at: tuple[int, int] | None = None
    b_at: tuple[int, int] | None = None
    depth: int = 0
    """Where in their tiles slices begin that are multiplied, and K, if there is one."""

    def factors(self) -> list[tuple[Buffer, tuple[slice, slice] | None]]:
        """Returns `a` and `b`, each with the slice that is multiplied if it is not all."""
        m, n = self.c.shape
        shapes = ((self.depth, m) if self.transpose_a else (m, self.depth),
                  (n, self.depth) if self.transpose_b else (self.depth, n))  # fmt: skip
        found: list[tuple[Buffer, tuple[slice, slice] | None]] = []
        for tile, at, shape in zip((self.a, self.b), (self.a_at, self.b_at), shapes, strict=True):
            box = None if at is None else (slice(at[0], at[0] + shape[0]), slice(at[1], at[1] + shape[1]))
            found.append((tile, box))
        return found


@dataclass
class SparseGemm:
    """`T.gemm_sp`: of the left operand `kept` holds one half, and `where` says which (T6)."""

    kept: Buffer
    where: Buffer
    b: Buffer
    c: Buffer
    transpose_a: bool = False
    transpose_e: bool = False
    transpose_b: bool = False
    clear: bool = False


@dataclass
class Reduce:
    source: Buffer
    target: Buffer
    kind: Literal["sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor", "argmax", "argmin"]
    dim: int
    clear: bool = True
    skips_nan: bool = False


@dataclass
class Scan:
    """`T.cumsum` or `T.cummax` of a tile, in place where the two are one buffer."""

    source: Buffer
    target: Buffer
    kind: Literal["cumsum", "cummax"]
    dim: int
    reverse: bool = False


@dataclass
class Sync:
    """`T.sync_threads`; `group`: the number of the barrier and how many threads meet there, if not all do."""

    group: tuple[int, int] | None = None


@dataclass
class Exchange:
    """Gives a shared tile to the block `shift` places on in the cluster, or with `pulls` takes that block's tile.

    `split`: the barrier behind it is an arrival and a wait. It stands in the body of a kernel itself.
    """

    source: Buffer
    target: Buffer
    shift: int
    pulls: bool
    split: bool


@dataclass
class Print:
    """`T.print` of an element, or of a whole tile. It is not drawn: `printing` adds it to a program."""

    buffer: Buffer
    indices: tuple[Expr, ...] | None = None


@dataclass
class Jump:
    """Leaves the innermost loop, or goes on with its next iteration (S6)."""

    word: Literal["break", "continue"]


@dataclass
class Parallel:
    names: tuple[str, ...]
    extents: tuple[int, ...]
    body: list[Stmt]


@dataclass
class Loop:
    """`kind`: "serial", "range", "unroll" or "pipelined"; `stages` is of the last one, `step` of the others."""

    kind: str
    name: str
    start: Expr
    stop: Expr
    body: list[Stmt]
    step: int = 1
    stages: int = 0


@dataclass
class Persistent:
    """`T.Persistent`: of the tiles of a domain those that are the block's, which is `index` of `waves`."""

    names: tuple[str, ...]
    domain: tuple[int, ...]
    waves: int
    index: Expr
    group: int
    body: list[Stmt]


@dataclass
class While:
    condition: Expr
    body: list[Stmt]


@dataclass
class If:
    condition: Expr
    then: list[Stmt]
    other: list[Stmt] = field(default_factory=list)


@dataclass
class Threads:
    """One statement that depends on the thread, whose number gets a name: it is executed once for each (S4).

    `block`: the extents of the block, of whose coordinates the number is computed if there are several.

    `in_step`: the body is several statements, in loops that all threads run alike, each of which all threads execute
    before the next one; what they have in arrays they have in the next such body.
    """

    name: str
    body: list[Stmt]
    block: tuple[int, ...] = ()
    in_step: bool = False


# Pipelines by hand ----------------------------------------------------------------------------------------------------


@dataclass
class Ring:
    """Allocates a shared tile with several slots: a step of a `Pipeline` has its own, all other statements the first.

    `are_apart`: each slot is a buffer of its own, rather than an index of one. `value`: what all of them hold first.
    """

    buffer: Buffer
    slots: int
    are_apart: bool = False
    value: Const | None = None


@dataclass
class Pieces:
    """A loop over rows and columns of which each thread of a group does some elements.

    `across`: how many threads are side by side in a row. `lanes`: how many neighbours a thread does at once.
    `are_together`: what a thread does lies together, rather than that of all threads.
    `form`: whether neighbours are a loop, a loop over a vector, or a copy of `T.ptx_cp_async`.
    """

    loop: Parallel
    across: int
    lanes: int
    are_together: bool
    form: Literal["serial", "vectorized", "ptx_cp_async"]


@dataclass
class Part:
    """What a group of those that use tiles does."""

    group: int
    body: list[Stmt]


@dataclass
class Handed:
    """What a group does with a tile that another group gives it in each step: one of them `gives`, the other takes."""

    tile: Buffer
    gives: bool
    body: list[Stmt]


@dataclass
class Feed:
    """A loop of a pipeline: in each step tiles are filled, and used by groups.

    `form`: how the step's slot is named: by `k % slots`, in a loop over slots in a loop over rounds that Python or the
    compiler writes out, by a variable that counts, or by one that is the slot.
    `phase`: how parities are: words of `k // slots`, or a variable that flips.
    `before`: how many steps came before, at the same barriers; -1 if they are the feed's own.
    `is_peeled`: the first step stands before the loop.
    `is_rounded`: there are as many steps as whole rounds have.
    `is_late`: slots are released a step later than they are used.
    `frees`: whether those who use slots say that they have.
    """

    name: str
    stop: Expr
    fills: list[Stmt]
    uses: list[Part]
    form: Literal["modulo", "unroll", "written", "counter", "state"]
    phase: Literal["and", "modulo", "remainder", "variable"]
    before: int = -1
    is_peeled: bool = False
    is_rounded: bool = False
    is_late: bool = False
    frees: bool = True


@dataclass(frozen=True)
class Groups:
    """Which threads the groups of a pipeline are, and how they are written.

    `filling`, `using`: the first thread of each group, and how many there are. `order`: in which the groups stand in
    the text; those that use have the numbers from 0 on, and the one that fills is -1.
    `head`: by `T.ws`, by one chain of branches, by a branch for each, or by branches on the number of the group, which
    is a quotient, or the second coordinate of a thread.
    `copies`: by which function, and whether one thread does them, and how that is chosen.
    `is_one_loop`: the groups stand in one loop, rather than that each has its own.
    `is_by_feeds`: each loop has groups of its own.
    `is_by_tile`: each tile of a step has barriers of its own. `is_one_list`: those of full slots and of empty ones are
    in one list. `releases`: who says that a slot is free, all threads, or behind a meeting one of the group or of each
    warp.
    `words`: which of the names that mean the same are taken. `registers`: whether groups say how many they need.
    """

    filling: tuple[int, int]
    using: tuple[tuple[int, int], ...]
    order: tuple[int, ...]
    head: Literal["ws", "chain", "branches", "quotient", "second"]
    copies: Literal["copy", "tma_copy", "elected", "first"]
    is_one_loop: bool
    is_by_feeds: bool
    is_by_tile: bool
    is_one_list: bool
    releases: Literal["all", "group", "warps"]
    words: int
    registers: bool


@dataclass
class Pipeline:
    """Groups of threads, one that fills slots of rings and others that use them, and wait for each other (S10).

    It means: what groups do before, then the steps of each loop, each of which fills and then uses, and what is after.
    All that is done for each number up to `often`, if there is a name for it.
    """

    slots: int
    rings: tuple[str, ...]
    before: list[Part]
    feeds: list[Feed]
    after: list[Part]
    groups: Groups
    name: str = ""
    often: int = 1


Stmt = (
    Alloc | Let | Assign | Atomic | Fill | Copy | Gemm | SparseGemm | Reduce | Scan | Sync | Exchange | Print | Jump
    | Parallel | Loop | Persistent | While | If | Threads | Ring | Pieces | Handed | Pipeline
)  # fmt: skip


# Programs -------------------------------------------------------------------------------------------------------------


@dataclass
class Tensor:
    """A parameter. `symbols` names the extents that are known when it is called; `kind` is what it holds first.

    `forms`: an extent is so many times its symbol, and so many more; without one it is its symbol.
    `shift`: how many elements its memory begins behind an aligned address. `align`: what the annotation promises.
    `gap`: how many elements lie behind each row, which are nobody's: the tensor has strides. `tells_stride`: the
    stride of rows is a symbol, which a call tells.
    """

    buffer: Buffer
    kind: str
    seed: int
    symbols: tuple[str, ...] = ()
    shift: int = 0
    align: int = 16
    forms: tuple[tuple[int, int], ...] = ()
    gap: int = 0
    tells_stride: bool = False

    def strides(self) -> tuple[int, ...]:
        """Returns how many elements each index goes on by."""
        *rows, last = self.buffer.shape
        return (*(math.prod(rows[d + 1 :]) * (last + self.gap) for d in range(len(rows))), 1)

    def named_extents(self) -> list[tuple[str, int, tuple[int, int]]]:
        """Returns each symbol with its value, and how its extent is computed of it."""
        forms = self.forms or ((1, 0),) * len(self.buffer.shape)
        return [
            (symbol, (extent - addend) // factor, (factor, addend))
            for symbol, extent, (factor, addend) in zip(self.symbols, self.buffer.shape, forms, strict=False)
            if symbol
        ]


@dataclass
class Scalar:
    name: str
    dtype: str
    value: int | float | bool


@dataclass
class Kernel:
    grid: tuple[Expr, ...]
    names: tuple[str, ...]
    threads: tuple[int, ...]
    body: list[Stmt]
    swizzle: int = 0
    """How high the panels are in which blocks are started, or 0."""
    cluster: tuple[int, ...] = ()
    """The extents of a cluster, as many as the grid has, or none."""
    outside: dict[str, Const] = field(default_factory=dict)
    """What reads outside of tensors give, where that is not zero (M1)."""


@dataclass(frozen=True)
class Slot:
    """Where a tile is, if it is one of so many of a larger buffer."""

    buffer: str
    index: str
    count: int


Alias = Literal["address", "narrow", "wide", "reshaped"]
"""By what a tensor is reached that has a second name: a tensor at its address, a view of one whose elements have
half of the bits, or twice as many, which is only read, or a view of another view of the tensor itself."""


@dataclass
class Program:
    seed: int
    tensors: list[Tensor]
    scalars: list[Scalar]
    kernels: list[Kernel]
    slots: dict[str, Slot] = field(default_factory=dict)
    """Of which larger tiles some are slots (`places`)."""
    wordings: tuple[str, ...] = ()
    """In which other words it is written (`wordings`)."""
    aliases: dict[str, Alias] = field(default_factory=dict)
    """Which tensors have a second name (`aliases`)."""
    by_tilelang: bool = False
    """Whether it is written by TileLang's names (`literals`)."""

    def extents(self) -> dict[str, int]:
        """Returns the value of every symbol."""
        return {symbol: value for tensor in self.tensors for symbol, value, _ in tensor.named_extents()}


def bodies(statement: Any) -> list[list[Stmt]]:
    """Returns the lists of statements that a statement holds."""
    if isinstance(statement, If):
        return [statement.then, statement.other]
    if isinstance(statement, Pieces):
        return [statement.loop.body]
    if isinstance(statement, Handed):
        return [statement.body]
    if isinstance(statement, Feed):
        return [statement.fills, *(part.body for part in statement.uses)]
    if isinstance(statement, Pipeline):
        parts = [part.body for part in (*statement.before, *statement.after)]
        return [*parts, *(body for feed in statement.feeds for body in bodies(feed))]
    return [statement.body] if isinstance(statement, Parallel | Loop | Persistent | While | Threads) else []


def statements(body: list[Stmt]) -> Iterator[Stmt]:
    """Yields statements and those inside of them."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from statements(inner)


_NODES = (
    Buffer, Const, Name, Load, Unary, Binary, Compare, Logic, Cast, Select, Rounded, Shuffled, Combined, Side,
    Alloc, Let, Assign, Atomic, Fill, Copy, Gemm, SparseGemm, Reduce, Scan, Sync, Exchange, Print, Jump, Parallel,
    Loop, Persistent, While, If, Threads, Ring, Pieces, Part, Handed, Feed, Groups,
    Pipeline,
)  # fmt: skip


def children(node: Any) -> Iterator[Any]:
    """Yields the nodes directly below one."""
    for entry in dataclasses.fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, _NODES):
            yield value
        elif isinstance(value, tuple | list):
            yield from (v for v in value if isinstance(v, _NODES))


def walk(node: Any) -> Iterator[Any]:
    """Yields a node and all below it."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(children(here))


PRINTED_ELEMENTS = 2048
"""Larger tiles are not printed."""


def printing(program: Program) -> Program:
    """Returns the program with statements that print some of what has just been computed; it means the same."""
    changed = copy.deepcopy(program)
    for number, kernel in enumerate(changed.kernels):
        rng = random.Random(f"{program.seed} {number}")
        _add_prints(kernel.body, rng)
    return changed


def _add_prints(body: list[Stmt], rng: random.Random) -> None:
    for statement in list(body):
        for inner in [] if isinstance(statement, Pipeline) else bodies(statement):  # groups print in turns
            _add_prints(inner, rng)
        if (said := _printed(statement)) and rng.random() < 0.3:
            at = next(i for i, other in enumerate(body) if other is statement)
            body.insert(at + 1, said)


def _printed(statement: Stmt) -> Print | None:
    """Returns what prints what a statement wrote."""
    if isinstance(statement, Assign):
        return Print(statement.buffer, statement.indices)
    target = statement.target if isinstance(statement, Copy | Reduce | Scan) else None
    target = target.buffer if isinstance(target, Side) else target
    target = statement.buffer if isinstance(statement, Fill) else statement.c if isinstance(statement, Gemm) else target
    is_tile = target is not None and target.space in ("shared", "fragment", "local")
    return Print(target) if is_tile and math.prod(target.shape) <= PRINTED_ELEMENTS else None


def is_static(expr: Expr) -> bool:
    """Returns whether an expression is a number while the kernel is built."""
    if isinstance(expr, Const):
        return True
    if isinstance(expr, Name):
        return expr.is_static
    if isinstance(expr, Load):
        return False
    return all(is_static(e) for e in children(expr))
