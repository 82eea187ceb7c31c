"""Groups: a kernel's body as a tree of what groups of threads do, and where they arrive and wait.

The tree is read from the operations of the front end, with its marks (`tilec.barriers`); `tilec.phases` executes it,
and `tilec.turns` makes operations of it again.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

from .barriers import MARK, Mark
from .builder import current
from .errors import TLSyntaxError, called_at
from .ir import Op, Value
from .rings import operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .language.kernel import Kernel
    from .location import Location

_WARP = 32
ENDS = ("scf.yield", "tl.yield", "scf.condition")
"""What regions end with."""
LOOPS = ("scf.for", "tl.pipelined")
"""Loops whose iterations are counted."""
_OF_THE_BLOCK = (
    "tl.copy", "tl.fill", "tl.gemm", "tl.parallel", "tl.pipelined", "tl.reduce", "tl.scan", "tl.shuffle", "tl.vote",
    "gpu.barrier", MARK,
)  # fmt: skip
"""Operations that a block executes as a whole; copies and fills of private memory are not among them."""
_READS = (("tl.load", 0), ("tl.copy", 0), ("memref.dim", 0))
"""Operations that read a tensor, with its place among their operands."""
_HAND_OVER = ("memref.dim", "tl.slot", "gpu.thread_id", "gpu.block_id")
"""Pure operations that are not arithmetic."""


# The program as a tree ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Leaf:
    """An operation that says nothing of barriers. `guards` say which threads execute it, if not all do."""

    op: Op
    guards: tuple[Value, ...] = ()


@dataclass(eq=False)
class Stop:
    """An arrival at a barrier, or a wait, by some threads."""

    op: Op
    mark: Mark
    threads: frozenset[int]


class Meeting(Stop):
    """Where all blocks of a cluster meet."""

    def __init__(self, op: Op) -> None:
        super().__init__(op, Mark("meet", None, "`T.cluster_sync`"), frozenset())


@dataclass(eq=False)
class Branch:
    """What is done where a condition holds, which is the same for all threads, and where not."""

    condition: Value
    then: list[Node]
    other: list[Node]
    location: Location

    @property
    def has_stops(self) -> bool:
        """Whether it decides about barriers."""
        return any(isinstance(node, Stop) for node in all_nodes([*self.then, *self.other]))


@dataclass(eq=False)
class Loop:
    """A loop around arrivals, waits or groups."""

    op: Op
    body: list[Node]

    @property
    def has_stops(self) -> bool:
        """Whether it decides about barriers."""
        return any(isinstance(node, Stop) for node in all_nodes(self.body))

    @property
    def variable(self) -> Value:
        return self.op.regions[0].arguments[0]


@dataclass(eq=False)
class Repeat:
    """A loop that runs nobody knows how often, around groups that wait for nobody. Each region has its nodes."""

    op: Op
    bodies: list[list[Node]]


@dataclass(eq=False)
class Group:
    """What some threads do while others do something else."""

    threads: frozenset[int]
    nodes: list[Node]


@dataclass(eq=False)
class Together:
    """Groups of different threads that take turns."""

    groups: list[Group]
    parts: list[list[list[Node] | Loop]] = field(default_factory=list)
    """Of each group the items between its loops, and its loops, in turn."""
    needs: dict[int, set[tuple[tuple[int, int], tuple[int, int]]]] = field(default_factory=dict)
    """For each place of a part which item, by its group and number, comes after which other one."""
    inner: dict[int, Together] = field(default_factory=dict)
    """For places of loops around loops: what groups do in an iteration, who take turns there too."""


if TYPE_CHECKING:
    Node = Leaf | Stop | Branch | Loop | Repeat | Group | Together


def all_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Branch):
            yield from all_nodes([*node.then, *node.other])
        elif isinstance(node, Loop):
            yield from all_nodes(node.body)
        elif isinstance(node, Repeat):
            for body in node.bodies:
                yield from all_nodes(body)
        elif isinstance(node, Group):
            yield from all_nodes(node.nodes)
        elif isinstance(node, Together):
            yield from all_nodes(node.groups)


def is_private(value: Value) -> bool:
    return "<private>" in value.type


def is_tensor(value: Value) -> bool:
    """Whether a value is a tensor in device memory."""
    return value.type.startswith("memref") and "#gpu" not in value.type and "#tl" not in value.type


def is_pure(op: Op) -> bool:
    return (op.name.startswith(("arith.", "math.")) or op.name in _HAND_OVER) and not op.regions


def is_of_block(op: Op) -> bool:
    """Whether a block executes the operation as a whole."""
    if op.name in ("tl.copy", "tl.fill"):
        buffers = [v.type for v in op.operands if v.type.startswith("memref")]
        return "tl.fragment" in "".join(buffers) or not any("<private>" in b for b in buffers)
    return op.name in _OF_THE_BLOCK


def error_at(op: Op, message: str) -> TLSyntaxError:
    return TLSyntaxError(message, location=op.location)


# Numbers --------------------------------------------------------------------------------------------------------------


def signed(number: int, bits: int) -> int:
    """Returns a number as integers of so many bits hold it."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if bits > 1 and number >> (bits - 1) else number


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "ceildivui": lambda a, b: -(-a // b),
    "minui": min,
    "maxui": max,
    "shrui": lambda a, b: a >> b if b < 64 else 0,
}
_SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "divsi": _truncated,
    "floordivsi": lambda a, b: a // b,
    "ceildivsi": lambda a, b: -(-a // b),
    "remsi": lambda a, b: a - b * _truncated(a, b),
    "minsi": min,
    "maxsi": max,
    "shli": lambda a, b: a << b if 0 <= b < 64 else 0,
    "shrsi": lambda a, b: a >> min(b & 63, 63),
}
_COMPARED: tuple[Callable[[int, int], bool], ...] = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
"""By the number of the predicate; those from 6 on compare unsigned numbers."""


def _bits(integer: str) -> int:
    return 32 if integer == "index" else int(integer[1:])


def compute(op: Op, operands: list[int | None]) -> int | None:
    """Returns what arithmetic of integers gives, or None where that is not known."""
    name, result = op.name.removeprefix("arith."), op.results[0].type
    if result != "index" and not (result[0] == "i" and result[1:].isdigit()):
        return None
    if name == "constant":
        text = op.properties["value"].split(" ")[0]
        return int(text == "true") if text in ("true", "false") else int(text)
    if name == "select":
        chosen = operands[0]
        return None if chosen is None else operands[1 if chosen else 2]
    numbers = [n for n in operands if n is not None]
    if len(numbers) < len(operands):
        return None
    source = _bits(op.operands[0].type) if op.operands[0].type[0] == "i" else 0
    if source == 0:
        return None
    words = [n & ((1 << source) - 1) for n in numbers]
    if name == "cmpi":
        predicate = int(op.properties["predicate"].split(" ")[0])
        return int(_COMPARED[predicate](*(words if predicate >= 6 else numbers)))
    if name in ("extui", "index_castui"):
        return words[0]
    if name in ("extsi", "trunci", "index_cast"):
        return signed(-words[0] if source == 1 and name == "extsi" else numbers[0], _bits(result))
    function = _UNSIGNED.get(name)
    arguments = words if function else numbers
    function = function or _SIGNED.get(name)
    if function is None or (("div" in name or "rem" in name) and arguments[1] == 0):
        return None
    return signed(function(*arguments), _bits(result))


# What depends on the thread -------------------------------------------------------------------------------------------


class Facts:
    """What is known of a kernel's values before anything is executed."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.marks = kernel.marks
        builder = current()
        self.makers: dict[Value, Op] = {}
        for op in operations([*builder.prologue, *builder.body.ops, *kernel.block.ops]):
            for result in op.results:
                self.makers[result] = op
        self.dependent: set[Value] = set()
        count = -1
        while len(self.dependent) != count:
            count = len(self.dependent)
            self._find(kernel.block.ops, is_divergent=False)
        self._settled = self._settled_reads(kernel.block.ops) | self._reads_of_what_stays(kernel.block.ops)
        self._keys: dict[Value, Any] = {}
        self._same: dict[Value, Value] = {}
        """Variables of loops that are one, each with that of the first."""

    def _settled_reads(self, ops: Sequence[Op]) -> set[Value]:
        """Returns what is read of variables behind all that assigns to them: each read finds the same there.

        Of variables that all threads have alike, and that are only read and assigned: what a view of one is assigned,
        or an operation on it as a tile, is not followed. Groups that take turns keep their place in the body, so that
        what is read behind the last assignment stays behind it.
        """
        behind: dict[Value, int] = {}
        reads: list[tuple[int, Value, Value]] = []
        for place, op in enumerate(ops):
            for inner in operations([op]):
                for position, value in enumerate(inner.operands):
                    if not is_private(value):
                        continue
                    if inner.name == "tl.load" and position == 0:
                        reads.append((place, value, inner.results[0]))
                    elif inner.name == "tl.store" and position == 1:
                        behind[value] = max(place, behind.get(value, 0))
                    else:
                        behind[value] = len(ops)
        return {
            read
            for place, variable, read in reads
            if place > behind.get(variable, -1) and variable not in self.dependent
        }

    def _reads_of_what_stays(self, ops: Sequence[Op]) -> set[Value]:
        """Returns what is read of arguments that the kernel does not write: each read finds the same there.

        None, if it may write memory under another name than that of an argument.
        """
        reads: list[tuple[Value, Value]] = []
        written: set[Value] = set()
        for op in operations(ops):
            for position, value in enumerate(op.operands):
                if not is_tensor(value):
                    continue
                if (op.name, position) not in _READS:
                    written.add(value)
                elif op.name == "tl.load":
                    reads.append((value, op.results[0]))
        if any(value in self.makers for value in written):
            return set()
        return {read for tensor, read in reads if tensor not in written and tensor not in self.makers}

    def _find(self, ops: Sequence[Op], *, is_divergent: bool) -> None:
        for op in ops:
            differs = op.name == "gpu.thread_id" or any(v in self.dependent for v in op.operands)
            if op.name == "tl.store" and is_private(op.operands[1]) and (differs or is_divergent):
                self.dependent.add(op.operands[1])
            if differs and op.name != MARK:
                self.dependent.update(op.results)
            for region in op.regions:
                if differs and op.name != MARK:
                    self.dependent.update(region.arguments)
                inside = differs and op.name != MARK and not self.has_block_ops(op)
                self._find(region.ops, is_divergent=is_divergent or inside)

    def has_block_ops(self, op: Op) -> bool:
        return any(is_of_block(inner) for region in op.regions for inner in operations(region.ops))

    def has_marks(self, op: Op) -> bool:
        """Whether something in the operation is to be put in order."""
        return any(
            inner.name == MARK
            or (inner.name == "scf.if" and inner.operands[0] in self.dependent and self.has_block_ops(inner))
            for region in op.regions
            for inner in operations(region.ops)
        )

    def depends(self, op: Op) -> bool:
        """Whether threads differ in what they do."""
        return any(
            inner.name == "gpu.thread_id" or any(v in self.dependent for v in inner.operands)
            for inner in operations([op])
        )

    def key(self, value: Value) -> Any:
        """Returns what two values have in common that are computed alike."""
        found = self._keys.get(value)
        if found is None:
            op = self.makers.get(value)
            if op is None or not (is_pure(op) or value in self._settled) or len(op.results) != 1:
                found = self._same.get(value, value)
            else:
                types = (value.type,) if op.operands else ()  # a constant says its own
                found = (op.name, tuple(sorted(op.properties.items())), *types, *(self.key(v) for v in op.operands))
            self._keys[value] = found
        return found

    def take_as_one(self, loops: Sequence[Loop]) -> None:
        """Is told that loops are one, whose variables have the same numbers."""
        self._same.update((loop.variable, loops[0].variable) for loop in loops[1:])
        self._keys.clear()

    def forget_keys(self) -> None:
        """Is told that operands have changed."""
        self._keys.clear()

    def of_thread(self, value: Value, thread: int) -> int | None:
        """Returns a value that is computed of the thread's number."""
        op = self.makers.get(value)
        if op is None:
            return None
        if op.name == "gpu.thread_id":
            for dimension, extent in zip("xyz", self.kernel.threads, strict=False):
                if dimension in op.properties["dimension"].split()[-1]:
                    return thread % extent
                thread //= extent
            return 0
        if not op.name.startswith("arith.") or len(op.results) != 1:
            return None
        return compute(op, [self.of_thread(v, thread) for v in op.operands])


# Reading the program --------------------------------------------------------------------------------------------------


class Reader:
    """Makes the tree of a program."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._starts_by_one = False
        self._all = frozenset(range(facts.kernel.num_threads))

    def read(
        self, ops: Sequence[Op], threads: frozenset[int] | None = None, guards: tuple[Value, ...] = ()
    ) -> list[Node]:
        threads = self._all if threads is None else threads
        out: list[Node] = []
        for op in ops:
            if op.name not in ENDS:
                out += self._node(op, threads, guards)
        return out

    def _node(self, op: Op, threads: frozenset[int], guards: tuple[Value, ...]) -> list[Node]:
        facts = self._facts
        if op.name == MARK:
            return self._mark(op, facts.marks[op], threads, guards)
        if op.name == "scf.if" and op.operands[0] in facts.dependent and facts.has_block_ops(op):
            return self._branch_on_thread(op, threads, guards)
        is_cut = facts.has_marks(op) or (bool(guards) and op.name in (*LOOPS, "scf.if") and facts.has_block_ops(op))
        if not op.regions or not is_cut:
            if is_of_block(op):
                self._check_threads(op, threads)
            return [Leaf(op, guards)]
        if op.name in LOOPS:
            if op.results:
                raise error_at(op, "a loop around barriers carries no values: use `T.alloc_var`")
            return [Loop(op, self.read(op.regions[0].ops, threads, guards))]
        if op.name == "scf.if" and not op.results:
            then, other = (self.read(region.ops, threads, guards) for region in op.regions)
            return [Branch(op.operands[0], then, other, op.location)]
        bodies = [self.read(region.ops, threads, guards) for region in op.regions]
        if not any(isinstance(node, Stop) for body in bodies for node in all_nodes(body)):
            return [Repeat(op, bodies)]
        raise error_at(
            op,
            "barriers that are waited for stand in loops whose iterations are counted, such as `T.serial`, and in "
            "branches: how often a `while` loop runs is not known when the kernel is built",
        )

    def _check_threads(self, op: Op, threads: frozenset[int]) -> None:
        """A tile operation is executed by whole warps; one thread may start a copy."""
        starts_by_one, self._starts_by_one = self._starts_by_one, False
        is_whole = all(
            set(range(t // _WARP * _WARP, min(t // _WARP * _WARP + _WARP, len(self._all)))) <= threads for t in threads
        )
        if is_whole or (starts_by_one and op.name in ("tl.copy", "tl.parallel")):
            return
        called = called_at(op.location.file, op.location.line, op.location.column)
        what = f"`{called}`" if called else "this"
        some = "1 thread goes" if len(threads) == 1 else f"{len(threads)} threads go"
        raise error_at(
            op,
            f"{what} is executed by whole warps, and stands where {some}, no whole warps; take it out of the branch, "
            f"or let all threads of a warp go there",
        )

    def _mark(self, op: Op, mark: Mark, threads: frozenset[int], guards: tuple[Value, ...]) -> list[Node]:
        if mark.kind == "once":
            self._starts_by_one = True
            return []
        if mark.kind == "meet" and mark.barriers is not None and mark.barriers.counts == (len(threads),):
            return []  # all who meet there are here
        if mark.kind != "group":
            return [Stop(op, mark, threads)]
        chosen = self._choose(op, op.operands[0], threads)
        return [Group(chosen, self.read(op.regions[0].ops, chosen, (*guards, op.operands[0])))] if chosen else []

    def _choose(self, op: Op, condition: Value, threads: frozenset[int]) -> frozenset[int]:
        """Returns the threads for which a condition holds."""
        found = {t: self._facts.of_thread(condition, t) for t in threads}
        if any(value is None for value in found.values()):
            raise error_at(
                op,
                "which threads go here is not known when the kernel is built: let the thread's number alone decide, as "
                "in `if T.get_thread_binding() < 128:`",
            )
        return frozenset(t for t, value in found.items() if value)

    def _branch_on_thread(self, op: Op, threads: frozenset[int], guards: tuple[Value, ...]) -> list[Node]:
        if op.results:
            raise error_at(op, "a branch on the thread around tile operations gives no values: use `T.alloc_var`")
        condition = op.operands[0]
        yes = self._choose(op, condition, threads)
        out: list[Node] = []
        if yes:
            out.append(Group(yes, self.read(op.regions[0].ops, yes, (*guards, condition))))
        if threads - yes and op.regions[1].ops:
            # What computes the opposite goes before the branch.
            made = _opposite(condition, op.location)
            opposite = made[-1].results[0]
            self._facts.makers.update((o.results[0], o) for o in made)
            self._facts.dependent.add(opposite)
            out = [*map(Leaf, made), *out]
            out.append(Group(threads - yes, self.read(op.regions[1].ops, threads - yes, (*guards, opposite))))
        return out


def _opposite(condition: Value, location: Location) -> list[Op]:
    """Returns what computes whether a condition does not hold; it stands nowhere yet."""
    true, value = Value("i1", condition.block), Value("i1", condition.block)
    return [
        Op("arith.constant", (), (true,), {"value": "true"}, {}, (), location),
        Op("arith.xori", (condition, true), (value,), {}, {}, (), location),
    ]
