"""Rings: lets loops run ahead that a program has given several buffers in turn by hand.

`S[k % 3]` in a loop over `k` is one of three tiles, filled anew in each iteration, so that a copy may be under way
while the tile before is read. That is what a pipelined loop makes of one tile by itself, with copies that run ahead
and waits where they are due. So where each iteration writes its tile before it reads it, and nothing else touches the
ring, one tile is enough for the meaning, and the loop becomes a pipelined one of as many stages.

What must hold, and is checked: all uses of the ring are tiles of one index in the body of one loop, or elements of
them, and the first one is a copy that writes the whole tile. Then no iteration sees what another one wrote.

Where all uses are `S[0]`, `S[1]`, … or elements of them, with numbers that are known, each is a tile by itself, for
which the compiler can do what it does for tiles.
"""

from __future__ import annotations

import re
from math import prod

from .ir import Op, Value
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_ELEMENTS = {"tl.load": 0, "tl.store": 1}
"""Operations on elements, with the place of the buffer among their operands."""
_SHAPE = re.compile(r"memref<(\d+)x")


def operations(ops: Sequence[Op]) -> Iterator[Op]:
    """Yields operations and those inside of them, outermost first."""
    for op in ops:
        yield op
        for region in op.regions:
            yield from operations(region.ops)


def arguments(op: Op) -> list[Value]:
    """Returns what the regions of an operation are given, such as the variable of a loop."""
    return [argument for region in op.regions for argument in region.arguments]


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
            rings = [ring for ring in rings if ring not in found]
    for ring in rings:
        _take_apart(ring, body, users.get(ring.results[0], []), key)


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
    uses = users.get(ring.results[0], [])
    inside = loop.regions[0].ops
    elements = {op for op in operations(inside) if op.name in _ELEMENTS}
    if not uses or not all(op in inside if op.name == "tl.slot" else op in elements for op in uses):
        return False
    indices = [_index(op, ring) for op in uses]
    if indices[0] is None or len({index and key(index) for index in indices}) != 1:
        return False
    views = {ring.results[0], *(op.results[0] for op in uses if op.name == "tl.slot")}
    return _moves_on(indices[0], loop, key) and is_written_first(inside, views, key)


def _index(use: Op, ring: Op) -> Value | None:
    """Returns which tile of a ring is used; None if the ring is what is stored."""
    place = use.operands.index(ring.results[0])
    return use.operands[place + 1] if place == _ELEMENTS.get(use.name, 0) else None


def is_written_first(ops: Sequence[Op], views: set[Value], key: Callable[[Value], Any]) -> bool:
    """Whether the first operation that touches a tile, by any of its views, is a copy that writes all of it."""
    for op in ops:
        if any(v in views for inner in operations([op]) if inner.name != "tl.slot" for v in inner.operands):
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
    tile = map(int, re.findall(r"\d+", copy.properties["tile"].split(":")[1]))
    shape = map(int, re.findall(r"(\d+)x", target.type))
    offsets = copy.operands[2 + sizes[1] : 2 + sizes[1] + sizes[3]]
    begins = all(key(offset) == _constant(0) for offset in offsets)
    return target in views and copy.operands[0] not in views and prod(tile) == prod(shape) and begins


def _take_one(ring: Op, loop: Op, users: dict[Value, list[Op]]) -> None:
    """Lets all that used a tile of the ring use what is allocated."""
    body = loop.regions[0]
    for use in users[ring.results[0]]:
        if use.name in _ELEMENTS:
            tile = _ELEMENTS[use.name]
            use.operands = (*use.operands[: tile + 1], *use.operands[tile + 2 :])
            continue
        for user in users.get(use.results[0], []):
            user.operands = tuple(ring.results[0] if v is use.results[0] else v for v in user.operands)
        body.ops.remove(use)


def _make_pipelined(loop: Op, stages: int) -> None:
    if loop.name == "scf.for":
        end = loop.regions[0].ops[-1]
        loop.regions[0].ops[-1] = Op("tl.yield", (), (), {}, {}, (), end.location)
        loop.name, loop.operands, loop.properties = "tl.pipelined", loop.operands[:2], {}
    known = int(loop.properties.get("stages", "1").split(" ")[0])
    loop.properties = {**loop.properties, "stages": f"{max(stages, known)} : i64"}


def _take_apart(ring: Op, body: list[Op], uses: Sequence[Op], key: Callable[[Value], Any]) -> None:
    """Makes tiles of a ring of which all uses say by a number which one they are of."""
    numbers = [_number(use, ring, key) for use in uses if use.name == "tl.slot" or use.name in _ELEMENTS]
    known = [n for n in numbers if n is not None and 0 <= n < int(_extent(ring))]
    whole = ring.results[0].type
    if (
        len(known) < len(uses)
        or not uses
        or not _SHAPE.match(_tile(whole))
        or set(ring.attributes) | set(ring.properties)
    ):
        return
    tiles = [Value(_tile(whole), ring.results[0].block, hint=ring.results[0].hint) for _ in range(int(_extent(ring)))]
    views: dict[Value, Value] = {}
    for use, number in zip(uses, known, strict=True):
        if use.name in _ELEMENTS:
            place = _ELEMENTS[use.name]
            use.operands = (*use.operands[:place], tiles[number], *use.operands[place + 2 :])
        else:
            views[use.results[0]] = tiles[number]
    for op in operations(body):
        op.operands = tuple(views.get(v, v) for v in op.operands)
    made = [Op(ring.name, (), (tile,), {}, {}, (), ring.location) for tile in tiles]
    _exchange(body, ring, made, {use for use in uses if use.name == "tl.slot"})


def _number(use: Op, ring: Op, key: Callable[[Value], Any]) -> int | None:
    """Returns which tile a use is of, if that is known."""
    index = _index(use, ring)
    found = key(index) if index is not None else None
    if not isinstance(found, tuple) or found[0] != "arith.constant":
        return None
    return int(dict(cast("tuple[tuple[str, str], ...]", found[1]))["value"].split(" ")[0])


def _exchange(ops: list[Op], old: Op, new: Sequence[Op], removed: set[Op]) -> None:
    """Puts operations in the place of one, and removes others."""
    for op in ops:
        for region in op.regions:
            _exchange(region.ops, old, new, removed)
    ops[:] = [kept for op in ops if op not in removed for kept in (new if op is old else [op])]
