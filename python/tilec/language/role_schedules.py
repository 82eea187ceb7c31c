"""Schedules of roles: which warps execute which statements of a kernel, and by which rings they hand tiles over.

The kernel means what its statements do, in the order in which they stand (semantics S3), and a schedule says how
another compiler is to share them out. So it is a hint (S8): it is checked, its names against those of the statements
too, and `IgnoredHintWarning` says that the compiler here chooses roles by itself.
"""

from __future__ import annotations

import enum

from ..buffers import Buffer
from ..errors import ArgumentError, suggestion
from ..expr import place
from ..typed import TYPE_CHECKING
from .hints import WSID, ignored, label
from .kernel import opened_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

__all__ = [
    "WSID", "WSInstr", "WSOpRef", "WSPipeline", "WSRole", "WSSchedule", "WSScope", "WSSync", "WSSyncKind",
    "annotate_ws_schedule", "ws_op",
]  # fmt: skip

_MOST_REGISTERS = 255


def _refuse(message: str) -> ArgumentError:
    return ArgumentError(message, location=place())


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise _refuse(f"{what} is a text, not `{value!r}`")
    return value


def _number(value: Any, least: int, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < least:
        raise _refuse(f"{what} is an integer of {least} or more, not `{value!r}`")
    return int(value.__index__())


class WSRole:
    """Warps next to each other that have one duty.

    - `name`: what scopes call the role.
    - `warps_lo`, `warps_hi`: its first warp, and the one behind its last.
    - `max_nreg`: registers for each of its threads; 0 if it says nothing.

    >>> T.WSRole("load", warps_lo=0, warps_hi=1, max_nreg=40)
    T.WSRole('load', warps_lo=0, warps_hi=1, max_nreg=40)
    """

    def __init__(self, name: str, *, warps_lo: int, warps_hi: int, max_nreg: int = 0) -> None:
        self.name = _text(name, "the name of a `T.WSRole`")
        self.warps_lo = _number(warps_lo, 0, f"`warps_lo` of role `{name}`")
        self.warps_hi = _number(warps_hi, self.warps_lo + 1, f"`warps_hi` of role `{name}`")
        self.max_nreg = _number(max_nreg, 0, f"`max_nreg` of role `{name}`")
        if self.max_nreg > _MOST_REGISTERS:
            raise _refuse(f"`max_nreg` of role `{name}` is {_MOST_REGISTERS} at most, not {self.max_nreg}")

    def __repr__(self) -> str:
        return f"T.WSRole({self.name!r}, warps_lo={self.warps_lo}, warps_hi={self.warps_hi}, max_nreg={self.max_nreg})"


class WSPipeline:
    """Tiles that one role fills and another one reads, in a ring.

    - `name`: what `T.WSSync` calls it.
    - `buffers`: the tiles, on the chip.
    - `depth`: how many of each there are.

    >>> ring = T.WSPipeline("input", [As], depth=3)
    """

    def __init__(self, name: str, buffers: Sequence[Any], depth: int) -> None:
        self.name = _text(name, "the name of a `T.WSPipeline`")
        self.buffers = tuple(buffers)
        for buffer in self.buffers:
            if not isinstance(buffer, Buffer) or buffer.space == "global":
                raise _refuse(f"pipeline `{name}` is of tiles on the chip, not of `{buffer!r}`")
        self.depth = _number(depth, 1, f"`depth` of pipeline `{name}`")

    def __repr__(self) -> str:
        return f"T.WSPipeline({self.name!r}, [{', '.join(b.name for b in self.buffers)}], depth={self.depth})"


class WSInstr:
    """One step of what a role does in a scope: a `T.WSOpRef` or a `T.WSSync`.

    >>> isinstance(T.WSOpRef("load"), T.WSInstr)
    True
    """


class WSOpRef(WSInstr):
    """A statement or a loop, by the name that it has: `annotations={T.WSID: name}`, or `with T.ws_op(name)`.

    - `id`: the name.

    >>> T.WSOpRef("load")
    T.WSOpRef('load')
    """

    def __init__(self, id: str) -> None:
        self.id = _text(id, "the name of a statement in a schedule")

    def __repr__(self) -> str:
        return f"T.WSOpRef({self.id!r})"


class WSSyncKind(enum.Enum):
    """What a role does with a pipeline: it waits until a tile may be filled, or read, and says that it has done so.

    >>> T.WSSync(T.WSSyncKind.CONSUMER_WAIT, "input").kind is T.WSSync.consumer_wait("input").kind
    True
    """

    PRODUCER_ACQUIRE = "producer_acquire"
    PRODUCER_COMMIT = "producer_commit"
    CONSUMER_WAIT = "consumer_wait"
    CONSUMER_RELEASE = "consumer_release"


_ENDS = {
    WSSyncKind.PRODUCER_ACQUIRE: WSSyncKind.PRODUCER_COMMIT,
    WSSyncKind.CONSUMER_WAIT: WSSyncKind.CONSUMER_RELEASE,
}


class WSSync(WSInstr):
    """A step of a pipeline.

    - `kind`: a `T.WSSyncKind`.
    - `pipeline`: the name of a `T.WSPipeline`.
    - `stage`: how many iterations later the role does what stands behind it.

    >>> T.WSSync.consumer_wait("input", stage=2)
    T.WSSync(T.WSSyncKind.CONSUMER_WAIT, 'input', stage=2)
    """

    def __init__(self, kind: WSSyncKind, pipeline: str, stage: int = 0) -> None:
        if not isinstance(kind, WSSyncKind):
            raise _refuse(f"`kind` of `T.WSSync` is a `T.WSSyncKind`, not `{kind!r}`")
        self.kind = kind
        self.pipeline = _text(pipeline, "`pipeline` of `T.WSSync`")
        self.stage = _number(stage, 0, "`stage` of `T.WSSync`")

    @classmethod
    def producer_acquire(cls, pipeline: str, stage: int = 0) -> WSSync:
        """Waits until a tile may be filled."""
        return cls(WSSyncKind.PRODUCER_ACQUIRE, pipeline, stage)

    @classmethod
    def producer_commit(cls, pipeline: str, stage: int = 0) -> WSSync:
        """Says that the tile is filled."""
        return cls(WSSyncKind.PRODUCER_COMMIT, pipeline, stage)

    @classmethod
    def consumer_wait(cls, pipeline: str, stage: int = 0) -> WSSync:
        """Waits until a tile is filled."""
        return cls(WSSyncKind.CONSUMER_WAIT, pipeline, stage)

    @classmethod
    def consumer_release(cls, pipeline: str, stage: int = 0) -> WSSync:
        """Says that the tile has been read."""
        return cls(WSSyncKind.CONSUMER_RELEASE, pipeline, stage)

    def __repr__(self) -> str:
        return f"T.WSSync(T.WSSyncKind.{self.kind.name}, {self.pipeline!r}, stage={self.stage})"


class WSScope:
    """What each role does in an iteration of a loop, or in the kernel around all loops.

    - `id`: the name of the loop, or `T.WSScope.ROOT` for the kernel.
    - `bodies`: for each role, by its name, a list of steps; a text stands for a `T.WSOpRef`.

    >>> T.WSScope("loop", {"load": [T.WSSync.producer_acquire("input"), "copy", T.WSSync.producer_commit("input")]})
    T.WSScope('loop', roles: load)
    """

    ROOT = "tl.ws_scope_root"
    """The name of the kernel's own scope."""

    def __init__(self, id: str, bodies: Mapping[str, Sequence[Any]]) -> None:
        self.id = _text(id, "the name of a `T.WSScope`")
        self.bodies = {role: [WSOpRef(s) if isinstance(s, str) else s for s in body] for role, body in bodies.items()}
        for role, body in self.bodies.items():
            for step in body:
                if not isinstance(step, WSInstr):
                    raise _refuse(f"role `{role}` of scope `{id}` does `T.WSOpRef`s and `T.WSSync`s, not `{step!r}`")

    def __repr__(self) -> str:
        return f"T.WSScope({self.id!r}, roles: {', '.join(self.bodies)})"


class WSSchedule:
    """How the warps of a block share the statements of a kernel.

    - `num_warps`: how many there are, a multiple of 4.
    - `roles`, `pipelines`, `scopes`: of one name each, and of warps and tiles that no other role or pipeline has.

    >>> load, compute = T.WSRole("load", warps_lo=0, warps_hi=1), T.WSRole("compute", warps_lo=4, warps_hi=8)
    >>> fill = [T.WSSync.producer_acquire("input"), "copy", T.WSSync.producer_commit("input")]
    >>> read = [T.WSSync.consumer_wait("input", 1), "product", T.WSSync.consumer_release("input", 1)]
    >>> schedule = T.WSSchedule(
    ...     8,
    ...     [load, compute],
    ...     [T.WSPipeline("input", [As], depth=2)],
    ...     [
    ...         T.WSScope("loop", {"load": fill, "compute": read}),
    ...         T.WSScope(T.WSScope.ROOT, {"load": ["loop"], "compute": ["loop"]}),
    ...     ],
    ... )
    """

    def __init__(
        self, num_warps: int, roles: Sequence[WSRole], pipelines: Sequence[WSPipeline], scopes: Sequence[WSScope]
    ) -> None:
        self.num_warps = _number(num_warps, 4, "`num_warps` of `T.WSSchedule`")
        if self.num_warps % 4:
            raise _refuse(f"`num_warps` of `T.WSSchedule` is a multiple of 4, not {self.num_warps}")
        self.roles, self.pipelines, self.scopes = tuple(roles), tuple(pipelines), tuple(scopes)
        _require_one_name("roles", [role.name for role in self.roles])
        _require_one_name("pipelines", [pipeline.name for pipeline in self.pipelines])
        _require_one_name("scopes", [scope.id for scope in self.scopes])
        self._check_roles()
        self._check_buffers()
        for scope in self.scopes:
            for role, body in scope.bodies.items():
                self._check_body(scope, role, body)

    def __repr__(self) -> str:
        return f"T.WSSchedule({self.num_warps} warps, roles: {', '.join(role.name for role in self.roles)})"

    def _check_roles(self) -> None:
        owner: dict[int, WSRole] = {}
        for role in self.roles:
            if role.warps_hi > self.num_warps:
                raise _refuse(f"role `{role.name}` ends at warp {role.warps_hi}, and there are {self.num_warps} warps")
            for warp in range(role.warps_lo, role.warps_hi):
                if warp in owner:
                    raise _refuse(f"roles `{owner[warp].name}` and `{role.name}` both have warp {warp}")
                owner[warp] = role

    def _check_buffers(self) -> None:
        owner: dict[int, WSPipeline] = {}
        for pipeline in self.pipelines:
            for buffer in pipeline.buffers:
                other = owner.setdefault(id(buffer), pipeline)
                if other is not pipeline:
                    raise _refuse(f"pipelines `{other.name}` and `{pipeline.name}` both have `{buffer.name}`")

    def _check_body(self, scope: WSScope, role: str, body: Sequence[Any]) -> None:
        """Raises unless roles and pipelines are there, and each wait is followed by what ends it, of one stage."""
        where = f"role `{role}` of scope `{scope.id}`"
        if role not in {r.name for r in self.roles}:
            raise _refuse(f"scope `{scope.id}` has a body for role `{role}`, which the schedule does not have")
        names = [p.name for p in self.pipelines]
        opened: dict[str, WSSync] = {}
        for step in body:
            if not isinstance(step, WSSync):
                continue
            if step.pipeline not in names:
                raise _refuse(
                    f"{where} names pipeline `{step.pipeline}`, which the schedule does not have"
                    f"{suggestion(step.pipeline, names, '')}"
                )
            begun = opened.pop(step.pipeline, None)
            if step.kind in _ENDS:
                if begun is not None:
                    raise _refuse(f"{where}: {begun!r} is followed by {step!r}, and not by what ends it")
                opened[step.pipeline] = step
            elif begun is None or _ENDS[begun.kind] is not step.kind or begun.stage != step.stage:
                raise _refuse(f"{where}: {step!r} ends nothing that was begun at its stage")
        for step in opened.values():
            raise _refuse(f"{where}: nothing ends {step!r}")

    def names(self) -> Iterable[str]:
        """Yields the names of statements and loops that it speaks of."""
        for scope in self.scopes:
            if scope.id != WSScope.ROOT:
                yield scope.id
            for body in scope.bodies.values():
                yield from (step.id for step in body if isinstance(step, WSOpRef))


def _require_one_name(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _refuse(f"two {what} of a `T.WSSchedule` are called `{name}`")


def annotate_ws_schedule(schedule: WSSchedule) -> None:
    """Says how warps share the statements of the kernel: a hint without effect on what it computes.

    The statements have the names that the schedule calls them by, which is checked when the kernel ends. The block has
    the threads that `T.Kernel` says.

    - `schedule`: a `T.WSSchedule`; a kernel has one.

    >>> load, compute = T.WSRole("load", warps_lo=0, warps_hi=1), T.WSRole("compute", warps_lo=4, warps_hi=8)
    >>> scopes = [T.WSScope(T.WSScope.ROOT, {"load": ["copy"], "compute": ["clear"]})]
    >>> T.annotate_ws_schedule(T.WSSchedule(8, [load, compute], [], scopes))
    >>> T.copy(A[0, 0], As, annotations={T.WSID: "copy"})
    >>> T.clear(acc, annotations={T.WSID: "clear"})
    """
    kernel = opened_kernel("`T.annotate_ws_schedule`")
    if not isinstance(schedule, WSSchedule):
        raise _refuse(f"`T.annotate_ws_schedule` needs a `T.WSSchedule`, not `{schedule!r}`")
    if kernel.check_schedule is not None:
        raise _refuse("a kernel has one `T.annotate_ws_schedule`, and this is the second one")
    location = place()

    def check() -> None:
        for name in schedule.names():
            if name not in kernel.labels:
                raise ArgumentError(
                    f"the schedule names `{name}`, and no statement has that name, by `annotations={{T.WSID: "
                    f"{name!r}}}` or `with T.ws_op({name!r})`{suggestion(name, kernel.labels, '')}",
                    location=location,
                )

    kernel.check_schedule = check
    ignored(
        "`T.annotate_ws_schedule`", "statements are executed in their order, and the compiler chooses roles of warps"
    )


class ws_op:
    """Names the statements of a `with` for a schedule: `with T.ws_op("tile"):`. It changes nothing else.

    - `op_id`: the name.

    >>> with T.ws_op("scale"):
    ...     for i, j in T.Parallel(64, 64):
    ...         acc[i, j] = acc[i, j] * 2
    """

    def __init__(self, op_id: str) -> None:
        opened_kernel("`T.ws_op`")
        label(_text(op_id, "the name of a `T.ws_op`"))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
