"""Shared memory over the program, drawn: who lies where, and when."""

from __future__ import annotations

import itertools
import linecache

from ..errors import ArgumentError
from ..typed import TYPE_CHECKING
from .picture import Picture, hue, new_figure
from .stages import describe_tiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..kernel import Kernel

_STATEMENT_LENGTH = 48
_NARROW = 0.12
"""The part of all bytes below which a buffer's label does not fit into it."""


def plot_shared_memory(kernel: Kernel) -> Picture:
    """Draws which buffers lie where in shared memory, and at which steps of the program they hold something.

    Time runs downwards, in the order of the compiled program: a pipelined loop has its first copies before it. Rows are
    what touches memory or waits, with the line that it came from and the operation. Bytes run to the right; buffers
    that hold nothing at the same time may lie in the same ones. A buffer is pale where it holds nothing that is needed,
    and keeps its place only because its loop goes around again. Lines divide the buffers of a pipeline.

        tilec.tools.plot_shared_memory(kernel).save("memory.svg")

    Needs Matplotlib. Raises an `ArgumentError` if no kernel of the function uses shared memory.
    """
    used = [_Map(described) for described in describe_tiles(kernel) if described["shared"]]
    if not used:
        raise ArgumentError(f"`{kernel.name}` has nothing in shared memory")
    heights = [len(map_.rows) + 3 for map_ in used]
    figure = new_figure("plot_shared_memory", 9, 0.18 * sum(heights) + 0.4)
    axes = figure.subplots(len(used), squeeze=False, height_ratios=heights)
    for map_, of_kernel in zip(used, axes[:, 0], strict=True):
        map_.draw(of_kernel)
    return Picture(figure)


class _Map:
    """Shared memory of one kernel."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._name: str = described["name"]
        self._bytes: int = described["bytes"]
        self._buffers: list[dict[str, Any]] = described["shared"]
        steps = [(number, step) for number, step in enumerate(described["steps"]) if step["acts"]]
        groups = itertools.groupby(steps, lambda each: (each[1].get("file"), each[1].get("line"), each[1]["op"]))
        self.rows = [(*key, [number for number, _ in members]) for key, members in groups]
        """File and line, if they are known, the operation, and the numbers of the steps."""

    def draw(self, axes: Any) -> None:
        for number, buffer in enumerate(self._buffers):
            self._draw_buffer(axes, buffer, hue(number, len(self._buffers)))
        axes.set_xlim(0, self._bytes)
        axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.set_xlabel("byte of shared memory", fontsize=8)
        labels = [_statement(file, line) for file, line, _, _ in self.rows]
        axes.set_yticks(range(len(self.rows)), labels, family="monospace")
        operations = axes.secondary_yaxis("right")
        operations.set_yticks(range(len(self.rows)), [op for _, _, op, _ in self.rows], family="monospace")
        for each in (axes, operations):
            each.tick_params(labelsize=7)
        narrow = [f"{_label(buffer)} at {buffer['offset']}" for buffer in self._buffers if self._is_narrow(buffer)]
        beside = [f"narrow: {', '.join(narrow)}"] if narrow else []
        axes.set_title("\n".join([f"`{self._name}`: {self._bytes} bytes of shared memory", *beside]), fontsize=9)

    def _draw_buffer(self, axes: Any, buffer: dict[str, Any], colour: tuple[float, float, float]) -> None:
        place = (buffer["offset"], buffer["bytes"])
        kept = self._spans(buffer["keeps"])
        for first, count in kept:
            axes.broken_barh([place], (first - 0.5, count), facecolors=(*colour, 0.35))
        for first, count in self._spans(buffer["holds"]):
            axes.broken_barh([place], (first - 0.5, count), facecolors=colour)
        for first, count in kept:
            axes.broken_barh([place], (first - 0.5, count), facecolors="none", edgecolors="0.35", linewidth=0.8)
            for slot in range(1, buffer.get("slots", 1)):
                at = buffer["offset"] + slot * buffer["slot_bytes"]
                axes.plot([at, at], [first - 0.5, first + count - 0.5], color="0.35", linewidth=0.4)
        if kept and not self._is_narrow(buffer):
            first, count = kept[0]
            middle = buffer["offset"] + buffer["bytes"] / 2
            axes.text(middle, first + (count - 1) / 2, _label(buffer), ha="center", va="center", fontsize=8)

    def _is_narrow(self, buffer: dict[str, Any]) -> bool:
        return buffer["bytes"] < _NARROW * self._bytes

    def _spans(self, runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Returns the first row and the number of rows of each run of steps."""
        spans: list[tuple[int, int]] = []
        for begin, end in runs:
            rows = [row for row, (*_, steps) in enumerate(self.rows) if steps[0] <= end and steps[-1] >= begin]
            if rows:
                spans.append((rows[0], len(rows)))
        return spans


def _label(buffer: dict[str, Any]) -> str:
    name = buffer["name"] or ("barriers" if buffer["space"] == "barriers" else f"of line {buffer.get('line', '?')}")
    slots = buffer.get("slots", 1)
    size = f"{slots} × {buffer['slot_bytes']}" if slots > 1 else f"{buffer['bytes']}"
    return f"{name}: {size} bytes"


def _statement(file: str | None, line: int | None) -> str:
    """Returns the number and the text of a line."""
    if file is None or line is None:
        return ""
    text = linecache.getline(file, line).strip()
    shown = text if len(text) <= _STATEMENT_LENGTH else text[: _STATEMENT_LENGTH - 1] + "…"
    return f"{shown}  {line}"
