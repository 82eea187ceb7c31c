"""Rings: lets loops run ahead that a program has given several buffers in turn by hand.

`S[k % 3]` in a loop over `k` is one of three tiles, filled anew in each iteration, so that a copy may be under way
while the tile before is read. That is what a pipelined loop makes of one tile by itself, with copies that run ahead
and waits where they are due. So where each iteration writes its tile before it reads it, and nothing else touches the
ring, one tile is enough for the meaning, and the loop becomes a pipelined one of as many stages.

What must hold, and is checked: all uses of the ring are tiles of one index in the body of one loop, and the first
one is a copy that writes the whole tile. Then no iteration sees what another one wrote.
"""

from __future__ import annotations

import re

from .ir import Op, Value
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_SHAPE = re.compile(r"memref<(\d+)x")


def operations(ops: Sequence[Op]) -> Iterator[Op]:
    """Yields operations and those inside of them, outermost first."""
    for op in ops:
        yield op
        for region in op.regions:
            yield from operations(region.ops)


def run_ahead(body: list[Op], loops: Sequence[Op], key: Callable[[Value], Any]) -> None:
    """Makes rings of a kernel's body single tiles, and the loops around them pipelined ones.

    - `body`: the operations of the kernel, which are changed.
    - `loops`: those that may become pipelined.
    - `key`: what values have in common that are computed alike.
    """
    users: dict[Value, list[Op]] = {}
    for op in operations(body):
        for value in dict.fromkeys(op.operands):
            users.setdefault(value, []).append(op)
    rings = [op for op in operations(body) if op.name == "tl.alloc" and "<workgroup>" in op.results[0].type]
    for loop in loops:
        if not _counts_by_one(loop, key):
            continue
        found = [ring for ring in rings if _is_ring(ring, loop, users, key)]
        for ring in found:
            _take_one(ring, loop, users)
        if found:
            stages = max(int(_extent(ring)) for ring in found)
            for ring in found:
                ring.results[0].type = _tile(ring.results[0].type)
            _make_pipelined(loop, stages)


def _constant(number: int) -> Any:
    """Returns the key of an index that is known."""
    return ("arith.constant", (("value", f"{number} : index"),))


def _counts_by_one(loop: Op, key: Callable[[Value], Any]) -> bool:
    return loop.name == "tl.pipelined" or key(loop.operands[2]) == _constant(1)


def _extent(ring: Op) -> str:
    found = _SHAPE.match(ring.results[0].type)
    return found[1] if found else "0"


def _tile(ring: str) -> str:
    """Returns the type of one tile of a ring."""
    return _SHAPE.sub("memref<", ring, count=1)


def _is_ring(ring: Op, loop: Op, users: dict[Value, list[Op]], key: Callable[[Value], Any]) -> bool:
    """Whether the iterations of a loop use one tile each of a ring, and write it first."""
    slots = users.get(ring.results[0], [])
    inside = loop.regions[0].ops
    if not slots or any(op.name != "tl.slot" or op not in inside for op in slots):
        return False
    if len({key(slot.operands[1]) for slot in slots}) != 1 or not _moves_on(slots[0].operands[1], loop, key):
        return False
    views = {slot.results[0] for slot in slots}
    for op in inside:
        touches = any(v in views for inner in operations([op]) for v in inner.operands)
        if touches:
            return op.name == "tl.copy" and _writes_whole(op, views, key)
    return False


def _moves_on(index: Value, loop: Op, key: Callable[[Value], Any]) -> bool:
    """Whether an index is computed of the loop's variable; one of a loop outside is no ring of this one."""

    def uses(found: Any) -> bool:
        return found is loop.regions[0].arguments[0] or (
            isinstance(found, tuple) and any(map(uses, cast("tuple[Any, ...]", found)))
        )

    return uses(key(index))


def _writes_whole(copy: Op, views: set[Value], key: Callable[[Value], Any]) -> bool:
    """Whether a copy from elsewhere writes all of a tile."""
    sizes = [int(n) for n in copy.properties["operandSegmentSizes"].split(":")[1].strip(" >").split(",")]
    target = copy.operands[1 + sizes[1]]
    tile = re.findall(r"\d+", copy.properties["tile"].split(":")[1])
    shape = re.findall(r"(\d+)x", target.type)
    offsets = copy.operands[2 + sizes[1] : 2 + sizes[1] + sizes[3]]
    begins = all(key(offset) == _constant(0) for offset in offsets)
    return target in views and copy.operands[0] not in views and tile == shape and begins


def _take_one(ring: Op, loop: Op, users: dict[Value, list[Op]]) -> None:
    """Lets all that used a tile of the ring use what is allocated."""
    body = loop.regions[0]
    for slot in users[ring.results[0]]:
        for user in users.get(slot.results[0], []):
            user.operands = tuple(ring.results[0] if v is slot.results[0] else v for v in user.operands)
        body.ops.remove(slot)


def _make_pipelined(loop: Op, stages: int) -> None:
    if loop.name == "scf.for":
        end = loop.regions[0].ops[-1]
        loop.regions[0].ops[-1] = Op("tl.yield", (), (), {}, {}, (), end.location)
        loop.name, loop.operands, loop.properties = "tl.pipelined", loop.operands[:2], {}
    known = int(loop.properties.get("stages", "1").split(" ")[0])
    loop.properties = {**loop.properties, "stages": f"{max(stages, known)} : i64"}
