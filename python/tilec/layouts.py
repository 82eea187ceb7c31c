"""Where the elements of a tile lie, as the compiler says it (docs/reference/TLDialect.md), for people to read."""

from __future__ import annotations

import itertools
import math
import re

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def places(layout: str, shape: Sequence[int], bits: int) -> tuple[str, list[str]]:
    """Returns what an element's place is made of, and that of each element, in row-major order."""
    if layout.startswith("#tl.shared_layout"):
        return "the byte of each", [str(offset) for offset in byte_offsets(layout, shape, bits)]
    holders, copies = owners(layout, shape)
    more = f", of the first of {copies} threads that hold it" if copies > 1 else ""
    return f"thread:register of each{more}", [f"{thread}:{register}" for thread, register in holders]


def _numbers(layout: str, name: str) -> tuple[list[int], list[int]]:
    found = re.search(rf"{name} = \[([\d, ]*)\](?: : \[([\d, ]*)\])?", layout)
    assert found, "attributes have their parameters"
    extents, strides = ([int(n) for n in (part or "").split(",") if n.strip()] for part in found.groups())
    return extents, strides


def _offsets(modes: tuple[list[int], list[int]]) -> list[int]:
    """Returns the offset of each coordinate; the first mode varies fastest."""
    extents, strides = modes
    steps = [range(0, e * s, s) if s else [0] * e for e, s in zip(extents, strides, strict=True)]
    return [sum(parts) for parts in itertools.product(*reversed(steps))]


def owners(layout: str, shape: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Returns the first thread that holds each element, and in which of its registers, and how many threads do."""
    whole, _ = _numbers(layout, "shape")
    threads, values = (_offsets(_numbers(layout, name)) for name in ("thread", "value"))
    held: dict[int, tuple[int, int]] = {}
    for (register, value), (thread, offset) in itertools.product(enumerate(values), enumerate(threads)):
        held.setdefault(offset + value, (thread, register))
    copies = len(threads) * len(values) // max(len(held), 1)
    strides = [math.prod(whole[d + 1 :]) for d in range(len(whole))]
    positions = itertools.product(*map(range, shape))
    return [held[sum(i * s for i, s in zip(position, strides, strict=True))] for position in positions], copies


def swizzle_and_chunk(layout: str) -> tuple[int, int]:
    """Returns the bytes of a shared tile's swizzle, 0 if it has none, and the columns of its panels."""
    swizzle, chunk = (int(n) for n in re.findall(r"= (\d+)", layout))
    return swizzle, chunk


def byte_offsets(layout: str, shape: Sequence[int], bits: int) -> list[int]:
    """Returns the offset of each element from the beginning of the tile."""
    swizzle, chunk = swizzle_and_chunk(layout)
    size, columns = max(bits // 8, 1), shape[-1] if shape else 1
    rows = math.prod(shape) // columns
    at: list[int] = []
    for row, column in itertools.product(range(rows), range(columns)):
        panel, inside = divmod(column, chunk)
        unit, rest = divmod(inside * size, 16)
        if swizzle:
            unit ^= row // (128 // swizzle) % (swizzle // 16)
        at.append((panel * rows + row) * chunk * size + unit * 16 + rest)
    return at
