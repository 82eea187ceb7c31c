"""Barriers that a program arrives at and waits for by hand, and marks of where it does so.

A mark is an operation of the tree that no dialect has: it stands where the program has it until `tilec.turns` has found
in which turns the groups of a block go, and has taken it out.
"""

from __future__ import annotations

from .builder import current
from .errors import RangeError, TLSyntaxError
from .typed import TYPE_CHECKING, cast
from .values import Expr, index_value, known

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from .ir import Block, Op, Value
    from .language.kernel import Kernel
    from .location import Location

    MarkKind = Literal["arrive", "copied", "wait", "meet", "group", "once"]

MARK = "tl.by_hand"
"""The name of the operations that are marks."""


class Barriers:
    """Barriers of a block: each completes a phase after so many arrivals."""

    def __init__(self, counts: Sequence[int], location: Location) -> None:
        self.counts = tuple(counts)
        self.location = location
        self.name = ""

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: Any) -> BarrierAt:
        number = known(index)
        if number is None:
            return BarrierAt(self, index)
        if not -len(self) <= number < len(self):
            raise RangeError(
                f"`{self.name or 'barriers'}` has {len(self)} barriers, and no number {number}",
                location=current().here(),
            )
        return BarrierAt(self, int(number) % len(self))

    def __repr__(self) -> str:
        return f"<{len(self)} barriers {self.name or '?'}>"


class ClusterBarriers(Barriers):
    """Barriers of which every block of a cluster has its own, at which others arrive too; see `tilec.meetings`."""


class BarrierAt:
    """One of several barriers."""

    def __init__(self, barriers: Barriers, index: Any) -> None:
        self.barriers = barriers
        self.index = index

    def __getitem__(self, index: Any) -> BarrierAt:
        if known(index) != 0:
            raise TLSyntaxError(
                f"an element of `{self.barriers.name or 'barriers'}` is one barrier, and has no elements",
                location=current().here(),
            )
        return self

    def __repr__(self) -> str:
        return f"<one of {self.barriers!r}>"


class Mark:
    """What an operation that is a mark stands for.

    - "arrive", "wait": at a barrier, whose index and parity are the operands; of an arrival at a barrier of a cluster
      the block may be one.
    - "copied": a copy arrives, once.
    - "meet": arrives, and waits for the phase that it arrived at.
    - "group": its region is what some of the threads do.
    - "once": what follows it is started by one thread, whichever go.
    """

    def __init__(self, kind: MarkKind, barriers: Barriers | None, text: str) -> None:
        self.kind: MarkKind = kind
        self.barriers = barriers
        self.text = text
        """How the program writes it."""


def mark(
    kind: MarkKind,
    text: str,
    at: BarrierAt | None,
    parity: Any = None,
    regions: Sequence[Block] = (),
    rank: Any = None,
) -> Op:
    """Emits a mark in the kernel being built."""
    builder = current()
    block = builder.require_kernel(text)
    operands: list[Value] = []
    if at is not None:
        operands.append(index_value(at.index))
    if parity is not None:
        operands.append(index_value(parity, "a parity"))
    if rank is not None:
        operands.append(index_value(rank, "the number of a block"))
    op = builder.emit(MARK, operands, regions=regions)
    kernel: Kernel = cast("Any", block.frame)
    kernel.marks[op] = Mark(kind, None if at is None else at.barriers, text)
    return op


def barrier(value: Any, function: str) -> BarrierAt:
    """Returns the barrier that an argument names."""
    if isinstance(value, BarrierAt):
        return value
    if isinstance(value, Barriers) and len(value) == 1:
        return value[0]
    if isinstance(value, Barriers):
        raise TLSyntaxError(
            f"`{function}` needs one barrier, and `{value.name or 'barriers'}` are {len(value)}: give an element, such "
            f"as `{value.name or 'barriers'}[0]`",
            location=current().here(),
        )
    shown = repr(value) if not isinstance(value, Expr) else "a number"
    raise TLSyntaxError(f"`{function}` needs a barrier of `T.alloc_barrier`, not `{shown}`", location=current().here())
