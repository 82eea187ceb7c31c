"""Where the elements of a tile lie, drawn: threads and registers, or bytes and banks."""

from __future__ import annotations

import math

from .. import layouts
from ..errors import ArgumentError, quoted
from ..typed import TYPE_CHECKING
from .picture import Picture, hue, new_figure
from .stages import describe_tiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel

_WARP = 32
_BANKS = 32
_BANK_BYTES = 4
_UNIT_BYTES = 16
"""What a swizzle moves as a whole."""


def plot_layout(
    kernel: Kernel,
    tile: str,
    *,
    rows: slice = slice(0, 16),
    columns: slice = slice(0, 64),
    operand: bool = False,
) -> Picture:
    """Draws where each element of a tile lies, as the compiler decided it.

    - `tile`: what the program calls it: a fragment, or a tile in shared memory. If several have the name, it is the
      first one. Of a tile that a pipeline has several buffers of, it is where elements lie in each of them.
    - `operand`: draw how warps hold a tile in shared memory when `mma.sync` takes it. They load it step by step, and
      registers are counted as if they held all of it. `wgmma` reads shared memory itself.
    - `rows`, `columns`: the part to draw. Columns are the last dimension, rows all others together.

    A cell has neighbours of one row. Of a fragment they are what a thread holds in registers one after another, as
    `thread:registers`, in a colour for each thread of a warp. In shared memory they are what lies in 16 bytes one after
    another, as the first byte, counted from the beginning of the tile, and its bank, in a colour for each bank.

        tilec.tools.plot_layout(kernel, "As").save("As.svg")

    Needs Matplotlib. Raises an `ArgumentError`, which lists the tiles, if there is none of the name.
    """
    found = _find(kernel, tile, operand)
    shape: list[int] = found["shape"] or [1]
    height, width = math.prod(shape[:-1]), shape[-1]
    shown_rows, shown_columns = range(height)[rows], range(width)[columns]
    if not shown_rows or not shown_columns:
        raise ArgumentError(f"`{tile}` has {height} rows and {width} columns, and the part to draw has none of them")
    places = _Bytes(found) if found["space"] == "shared" else _Registers(found)
    cells = [
        (row, first % width, last % width, *places.describe(first, last))
        for row in shown_rows
        for first, last in _runs([row * width + column for column in shown_columns], places.is_joined)
    ]
    return Picture(_draw(cells, f"`{tile}`: {places.title}", shown_rows, shown_columns))


def _find(kernel: Kernel, tile: str, operand: bool) -> dict[str, Any]:
    """Returns the first tile of a name, or how it is held as an operand."""
    kinds = ("operands",) if operand else ("shared", "fragments")
    what = "shared tile that warps load for `mma.sync`" if operand else "fragment or shared tile"
    tiles = [found for described in describe_tiles(kernel) for kind in kinds for found in described[kind]]
    named = {found["name"]: found for found in reversed(tiles) if found["name"] and "layout" in found}
    if tile not in named:
        have = f"it has {quoted(sorted(named))}" if named else "it has none that has a name"
        raise ArgumentError(f"`{kernel.name}` has no {what} `{tile}`; {have}")
    return named[tile]


def _runs(numbers: list[int], is_joined: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Returns the first and last of each run of numbers in which neighbours are joined."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1 and is_joined(number - 1, number):
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _extents(found: dict[str, Any]) -> str:
    return f"{' × '.join(map(str, found['shape'])) or 'one'} {found['type']}"


class _Registers:
    """The places of a fragment's elements, which have numbers in row-major order."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._owners, copies = layouts.owners(found["layout"], found["shape"])
        held = f", of the first of {copies} threads that hold it" if copies > 1 else ""
        where = "loaded for mma.sync" if found["space"] == "operand" else "in registers"
        self.title = f"{_extents(found)} {where}\nthread:registers of each element{held}"

    def is_joined(self, element: int, following: int) -> bool:
        (thread, register), after = self._owners[element], self._owners[following]
        return after == (thread, register + 1)

    def describe(self, first: int, last: int) -> tuple[str, tuple[float, float, float]]:
        """Returns the text and the colour of a cell."""
        (thread, begin), (_, end) = self._owners[first], self._owners[last]
        registers = f"{begin}" if begin == end else f"{begin}-{end}"
        return f"{thread}:{registers}", hue(thread % _WARP, _WARP)


class _Bytes:
    """The places of a shared tile's elements, which have numbers in row-major order."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._offsets = layouts.byte_offsets(found["layout"], found["shape"], found["bits"])
        self._size = found["bits"] // 8
        swizzle, _ = layouts.swizzle_and_chunk(found["layout"])
        how = f"a swizzle of {swizzle} bytes" if swizzle else "no swizzle"
        slots = f", in each of {found['slots']} buffers" if found["slots"] > 1 else ""
        self.title = f"{_extents(found)} in shared memory, {how}\nfirst byte (bank) of up to 16 bytes{slots}"

    def is_joined(self, element: int, following: int) -> bool:
        at, after = self._offsets[element], self._offsets[following]
        return after == at + self._size and after % _UNIT_BYTES != 0

    def describe(self, first: int, last: int) -> tuple[str, tuple[float, float, float]]:
        """Returns the text and the colour of a cell."""
        offset = self._offsets[first]
        bank = offset // _BANK_BYTES % _BANKS
        return f"{offset} ({bank})", hue(bank, _BANKS)


def _draw(
    cells: list[tuple[int, int, int, str, tuple[float, float, float]]], title: str, rows: range, columns: range
) -> Any:
    """Draws cells of a row, a first and a last column, a text and a colour."""
    narrowest = min((last - first + 1) / len(text) for _, first, last, text, _ in cells)
    column_width = 0.075 / narrowest
    """Inches, so that the longest text fits into its cell."""
    figure = new_figure("plot_layout", 1.0 + column_width * len(columns), 1.0 + 0.22 * len(rows))
    axes = figure.subplots()
    for row in rows:
        of_row = [cell for cell in cells if cell[0] == row]
        spans = [(first - 0.5, last - first + 1) for _, first, last, _, _ in of_row]
        colours = [colour for *_, colour in of_row]
        axes.broken_barh(spans, (row - 0.5, 1), facecolors=colours, edgecolors="white", linewidth=0.8)
        for _, first, last, text, _ in of_row:
            axes.text((first + last) / 2, row, text, ha="center", va="center", fontsize=7)
    axes.set_xlim(columns[0] - 0.5, columns[-1] + 0.5)
    axes.set_ylim(rows[-1] + 0.5, rows[0] - 0.5)
    axes.set_xticks([column for column in columns if column % 8 == 0] or [columns[0]])
    axes.set_yticks(list(rows))
    axes.tick_params(labelsize=7)
    axes.set_xlabel("column")
    axes.set_ylabel("row")
    axes.set_title(title, fontsize=9)
    return figure
