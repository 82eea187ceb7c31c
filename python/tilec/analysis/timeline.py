"""What the warps of a block do and wait for, step by step, as the simulator listed it: see `sim.trace`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Act:
    """Something that warps with the same steps do together.

    - `kind`: "bulk load", "bulk store", "cp.async", "wgmma", "mma", "wait" for an mbarrier, "arrive" at one, "barrier",
      or "barrier arrive".
    - `begin`, `end`: the steps from and before which it lasts. A wait that is over at once has none.
    - `address`, `bytes`: of a copy, the shared memory that it writes, or a store reads; counted from the block's first.
    - `read`: of a copy to shared memory, the step before which the last one has read what it brought.
    - `barrier`: of a wait or an arrival, the number of the barrier, or the address of the mbarrier with its `phase`.
    """

    kind: str
    file: str
    line: int
    statement: str
    op: str
    begin: int
    end: int
    address: int = 0
    bytes: int = 0
    read: int = 0
    barrier: int | None = None
    phase: int | None = None


@dataclass(frozen=True)
class Role:
    """Warps next to each other that do the same in the same steps, and what they do."""

    warps: range
    acts: tuple[Act, ...]

    @property
    def name(self) -> str:
        """ "warp 4" or "warps 0 to 3"."""
        first, last = self.warps[0], self.warps[-1]
        return f"warp {first}" if first == last else f"warps {first} to {last}"


@dataclass(frozen=True)
class Mbarrier:
    """An mbarrier at some moment.

    - `address`: in bytes from the block's first byte of shared memory.
    - `phase`: how many phases are complete. A wait for parity `p` is over if `phase % 2 != p`.
    - `pending_arrivals`, `arrivals`: how many the phase lacks, of how many.
    - `pending_bytes`: bytes of bulk copies that it lacks.
    """

    address: int
    phase: int
    arrivals: int
    pending_arrivals: int
    pending_bytes: int

    def __str__(self) -> str:
        return (
            f"mbarrier at byte {self.address}: in phase {self.phase}, lacks {self.pending_arrivals} of "
            f"{self.arrivals} arrivals and {self.pending_bytes} bytes"
        )


@dataclass(frozen=True)
class MbarrierStop:
    """The mbarriers of a block when a warp came to a line."""

    kernel: str
    warp: int
    file: str
    line: int
    mbarriers: tuple[Mbarrier, ...] = ()

    def __str__(self) -> str:
        head = f"warp {self.warp} of `{self.kernel}` comes to line {self.line}"
        return "\n".join([head, *(f"  {mbarrier}" for mbarrier in self.mbarriers)])


@dataclass
class Trace:
    """What one block of a launch does. Steps say what depends on what, and are no time (docs/Analysis.md)."""

    kernel: str
    block: int
    roles: list[Role] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """How many there are."""
        return max((max(act.end, act.read) for role in self.roles for act in role.acts), default=0)


def traces_of(text: str, block: int) -> list[Trace]:
    """Reads what `tlSimulatorEndTimeline` returns."""
    return [Trace(launch["kernel"], block, _roles(launch["acts"])) for launch in json.loads(text)]


def stops_of(text: str) -> list[MbarrierStop]:
    """Reads the states in what `tlSimulatorEndTimeline` returns."""
    return [
        MbarrierStop(
            launch["kernel"],
            state["warp"],
            state["file"],
            state["line"],
            tuple(Mbarrier(**mbarrier) for mbarrier in state["mbarriers"]),
        )
        for launch in json.loads(text)
        for state in launch["states"]
    ]


def _roles(acts: list[dict[str, Any]]) -> list[Role]:
    """Puts warps together that are alike. Copies of theirs lie beside each other, and become one."""
    of_warp: dict[int, list[Act]] = {}
    for act in acts:
        barrier = act.get("barrier", act.get("mbarrier"))
        known = {
            key: act[key] for key in ("kind", "file", "line", "statement", "op", "begin", "end", "phase") if key in act
        }
        place = {key: act.get(key, 0) for key in ("address", "bytes", "read")}
        of_warp.setdefault(act["warp"], []).append(Act(**known, **place, barrier=barrier))
    roles: list[Role] = []
    for warp, own in sorted(of_warp.items()):
        last = roles[-1] if roles else None
        if last and last.warps.stop == warp and list(map(_steps, last.acts)) == list(map(_steps, own)):
            joined = tuple(_join(a, b) for a, b in zip(last.acts, own, strict=True))
            roles[-1] = Role(range(last.warps.start, warp + 1), joined)
        else:
            roles.append(Role(range(warp, warp + 1), tuple(own)))
    return roles


def _steps(act: Act) -> tuple[Any, ...]:
    return act.kind, act.line, act.begin, act.end, act.barrier, act.phase


def _join(a: Act, b: Act) -> Act:
    if not a.bytes:
        return a
    first, last = min(a.address, b.address), max(a.address + a.bytes, b.address + b.bytes)
    return replace(a, address=first, bytes=last - first, read=max(a.read, b.read))
