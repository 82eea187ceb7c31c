"""Early fills: has what fills the tiles of a loop come together, at the first of them.

A producer that a program writes by hand runs ahead of those who compute: it fills the second tile while they use the
first one. In one order (`tilec.turns`) the fill of a tile stands right before its use, behind all that is done with the
tile before. It moves up to the fill of that one, and is under way meanwhile. The tiles hold something for longer than
the order asks for, as the program means them to.

What must hold, and is checked: a fill reads tensors that the kernel nowhere writes, and writes tiles that have no other
name; what it moves in front of are operations on tiles and numbers, and none of them touches what it writes.
"""

from __future__ import annotations

from .groups import ENDS, is_pure
from .ir import Op, Value
from .rings import operations
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OF_TILES = ("tl.copy", "tl.fill", "tl.gemm", "tl.parallel", "tl.reduce")
"""What a fill may come before."""
_PLAIN = ("tl.load", "tl.store", "scf.if", "scf.for")


def fill_early(body: Sequence[Op], loops: Iterable[Op]) -> None:
    """Moves fills up in the bodies of `loops`; `body` are all operations of the kernel."""
    kernel = _Kernel(body)
    for loop in loops:
        if loop.name == "scf.for":
            loop.regions[0].ops = kernel.together(loop.regions[0].ops)


class _Kernel:
    """What is known of a kernel's tensors and tiles."""

    def __init__(self, body: Sequence[Op]) -> None:
        self._makers = {v: op for op in operations(body) for v in op.results}
        read: set[Value] = set()
        others: set[Value] = set()
        for op in operations(body):
            is_read = op.name in ("tl.load", "tl.copy")
            for place, value in enumerate(op.operands):
                if value.type.startswith("memref"):
                    (read if is_read and place == 0 else others).add(value)
        self._only_read = read - others

    def together(self, ops: Sequence[Op]) -> list[Op]:
        """Returns operations with the fills among them moved up to the ones before them."""
        out: list[Op] = []
        place: int | None = None
        for op in ops:
            targets = self._filled(op)
            if targets and place is not None and all(self._may_come_later(other, targets) for other in out[place:]):
                needed = _needed(op, out[place:])
                out[place:] = [*needed, op, *(other for other in out[place:] if other not in needed)]
                place += len(needed) + 1
                continue
            out.append(op)
            place = len(out) if targets else place
        return out

    def _filled(self, op: Op) -> set[Value]:
        """Returns the tiles that an operation fills from tensors that are only read; none if it does anything else."""
        targets: set[Value] = set()
        if op.name not in ("tl.copy", "tl.parallel") or not _is_plain(op):
            return targets
        for inner in operations([op]):
            for place, value in enumerate(inner.operands):
                if not value.type.startswith("memref"):
                    continue
                if inner.name == "tl.store" or (inner.name == "tl.copy" and place > 0):
                    targets.add(value)
                elif value not in self._only_read:
                    return set()
        return targets if all(map(self._is_tile, targets)) else set()

    def _is_tile(self, value: Value) -> bool:
        op = self._makers.get(value)
        return op is not None and op.name == "tl.alloc" and "<workgroup>" in value.type

    def _may_come_later(self, op: Op, targets: set[Value]) -> bool:
        """Whether an operation does the same behind what fills other tiles."""
        touched = {self._tile(v) for inner in operations([op]) for v in inner.operands}
        return (is_pure(op) or (op.name in _OF_TILES and _is_plain(op))) and not touched & targets

    def _tile(self, value: Value) -> Value:
        """Returns the tile that a slot is of."""
        op = self._makers.get(value)
        return self._tile(op.operands[0]) if op is not None and op.name == "tl.slot" else value


def _is_plain(op: Op) -> bool:
    """Whether an operation orders nothing that others do."""
    return all(is_pure(inner) or inner.name in (*_PLAIN, *_OF_TILES, *ENDS) for inner in operations([op]))


def _needed(op: Op, before: Sequence[Op]) -> list[Op]:
    """Returns the operations among those `before` that compute what an operation uses, in order."""
    used = {v for inner in operations([op]) for v in inner.operands}
    needed: list[Op] = []
    for other in reversed(before):
        if any(v in used for v in other.results):
            needed.insert(0, other)
            used.update(other.operands)
    return needed
