"""The pipeline of a kernel as a time line: which warps copy, multiply and wait when, and which stage holds what."""

from __future__ import annotations

import itertools

from ..backends import sim
from ..errors import ArgumentError
from ..typed import TYPE_CHECKING
from .picture import Picture, hue, new_figure
from .stages import describe_tiles

if TYPE_CHECKING:
    from typing import Any

    from ..analysis.timeline import Act, Role, Trace
    from ..kernel import Kernel

_COLOURS = {
    "bulk load": "#9ecae1",
    "cp.async": "#9ecae1",
    "bulk store": "#fdd0a2",
    "wgmma": "#a1d99b",
    "mma": "#a1d99b",
    "wait": "#fb9a99",
    "barrier": "#cab2d6",
}
_ARRIVALS = ("arrive", "barrier arrive")
_LOADS = ("bulk load", "cp.async")
_LANES = (
    ("copies", (*_LOADS, "bulk store")),
    ("products", ("wgmma", "mma")),
    ("waits", ("wait", "barrier", *_ARRIVALS)),
)
"""The rows of a role, and what is in each."""
_ROW = 0.3
"""Inches for a row."""


def plot_timeline(kernel: Kernel, *arguments: Any, block: int = 0, steps: slice = slice(0, 64)) -> Picture:
    """Draws what the warps of a block do and wait for, and which stages of shared memory hold what, step by step.

    - `arguments`: as for a call; they are copied, and what is in them does not matter for most kernels.
    - `block`: its number; x counts fastest.
    - `steps`: the part to draw.

    The upper rows are roles: warps next to each other that do the same, with their copies, products and waits. A box
    has the line that it comes from, and lasts until its issuer waits for it; a triangle is an arrival. The lower rows
    are the buffers of shared memory that are copied to, each from a copy's beginning, pale behind its end, until it was
    read last; the number counts the copies into the buffer. Steps are no time: they say what depends on what
    (docs/Analysis.md), and are the same under all seeds.

        tilec.tools.plot_timeline(kernel, A, B, C).save("timeline.svg")

    Needs Matplotlib. Raises an `ArgumentError` if nothing happens in those steps.
    """
    drawn = [_Chart(trace, _buffers(kernel, trace), steps) for trace in sim.trace(kernel, *arguments, block=block)]
    drawn = [chart for chart in drawn if chart.rows]
    if not drawn:
        raise ArgumentError(f"no kernel of `{kernel.name}` copies, multiplies or waits in these steps")
    heights = [len(chart.rows) + 3 for chart in drawn]
    figure = new_figure("plot_timeline", 11, _ROW * sum(heights) + 0.6)
    axes = figure.subplots(len(drawn), squeeze=False, height_ratios=heights)
    for chart, of_kernel in zip(drawn, axes[:, 0], strict=True):
        chart.draw(of_kernel)
    kinds = set[str]().union(*(chart.kinds for chart in drawn))
    _add_legend(figure, [kind for kind in _COLOURS if kind in kinds])
    return Picture(figure)


class _Buffer:
    """A part of shared memory that copies go to: a tile, or a stage of one."""

    def __init__(self, name: str, first: int, last: int) -> None:
        self.name = name
        self.first = first
        self.last = last


def _buffers(kernel: Kernel, trace: Trace) -> list[_Buffer]:
    """Returns the stages of the tiles of a kernel, by where they lie."""
    found: list[_Buffer] = []
    for described in describe_tiles(kernel):
        if described["name"] != trace.kernel:
            continue
        for tile in described["shared"]:
            if not tile["name"]:  # a result on its way out, or barriers
                continue
            slots = tile.get("slots", 1)
            size = tile["slot_bytes"] if slots > 1 else tile["bytes"]
            for slot in range(slots):
                first = tile["offset"] + slot * size
                found.append(_Buffer(f"{tile['name']}[{slot}]" if slots > 1 else tile["name"], first, first + size))
    return found


class _Chart:
    """What is drawn of one launch."""

    def __init__(self, trace: Trace, buffers: list[_Buffer], steps: slice) -> None:
        self._kernel = trace.kernel
        self._block = trace.block
        self._first, self._last, _ = steps.indices(trace.steps + 1)
        lanes = [(f"{role.name}: {what}", _lane_of(role, kinds)) for role in trace.roles for what, kinds in _LANES]
        self._lanes = [lane for lane in lanes if any(self._is_seen(act.begin, act.end) for act in lane[1])]
        loads = sorted((a for role in trace.roles for a in role.acts if a.kind in _LOADS), key=lambda act: act.begin)
        self._fills = [(buffer, fills) for buffer in buffers if (fills := _fills_of(buffer, loads))]
        self.kinds = {act.kind for _, acts in self._lanes for act in acts}
        self.rows = [*(name for name, _ in self._lanes), *(buffer.name for buffer, _ in self._fills)]

    def _is_seen(self, begin: int, end: int) -> bool:
        return begin < self._last and end >= self._first

    def draw(self, axes: Any) -> None:
        for row, (_, acts) in enumerate(self._lanes):
            self._draw_lane(axes, row, acts)
        for row, (_, fills) in enumerate(self._fills, len(self._lanes)):
            for number, fill in enumerate(fills):
                self._draw_fill(axes, row, number, fill)
        if self._fills:
            axes.axhline(len(self._lanes) - 0.5, color="0.35", linewidth=0.8)
        axes.set_xlim(self._first, self._last)
        axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.set_yticks(range(len(self.rows)), self.rows, family="monospace")
        axes.tick_params(labelsize=8)
        axes.set_xlabel("step: what depends on what, no time", fontsize=8)
        axes.set_title(
            f"`{self._kernel}`, block {self._block}: what roles do, by line, and what buffers hold", fontsize=9
        )
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)

    def _draw_lane(self, axes: Any, row: int, acts: list[Act]) -> None:
        overlaps = any(later.begin < act.end for act, later in itertools.pairwise(acts))
        height = 0.4 if overlaps else 0.8
        for number, act in enumerate(acts):
            if not self._is_seen(act.begin, act.end):
                continue
            if act.kind in _ARRIVALS:
                axes.plot(act.begin + 0.5, row, "v", color="0.25", markersize=4)
                continue
            if act.begin == act.end:
                continue
            bottom = row - 0.4 + (height * (number % 2) if overlaps else 0)
            place = [(act.begin, act.end - act.begin)]
            axes.broken_barh(place, (bottom, height), facecolors=_COLOURS[act.kind], edgecolors="0.35", linewidth=0.5)
            self._label(axes, act.begin, act.end, bottom + height / 2, f"{act.line}")

    def _draw_fill(self, axes: Any, row: int, number: int, fill: tuple[int, int, int]) -> None:
        begin, landed, read = fill
        if not self._is_seen(begin, max(landed, read)):
            return
        colour = hue(number, 8)
        axes.broken_barh([(begin, max(landed, read) - begin)], (row - 0.35, 0.7), facecolors=(*colour, 0.35))
        axes.broken_barh([(begin, landed - begin)], (row - 0.35, 0.7), facecolors=colour)
        self._label(axes, begin, max(landed, read), row, str(number))

    def _label(self, axes: Any, begin: int, end: int, y: float, text: str) -> None:
        """Writes into a box, if it is wide enough for that."""
        first, last = max(begin, self._first), min(end, self._last)
        if last - first >= len(text) * (self._last - self._first) / 130:
            axes.text((first + last) / 2, y, text, ha="center", va="center", fontsize=6, clip_on=True)


def _lane_of(role: Role, kinds: tuple[str, ...]) -> list[Act]:
    """Returns the acts of these kinds, but for waits that are over at once."""
    return [act for act in role.acts if act.kind in kinds and (act.begin < act.end or act.kind in _ARRIVALS)]


def _fills_of(buffer: _Buffer, loads: list[Act]) -> list[tuple[int, int, int]]:
    """Returns when a buffer was filled: the steps of a fill's beginning, its end, and of the last read of it.

    Copies that go to it one behind another, before anything was read, are parts of one.
    """
    fills: list[tuple[int, int, int]] = []
    seen: list[Act] = []
    for act in loads:
        if not (buffer.first <= act.address < buffer.last):
            continue
        goes_on = seen and all(other.address != act.address for other in seen)
        if not goes_on:
            seen = []
            fills.append((act.begin, act.end, act.read))
        else:
            begin, end, read = fills[-1]
            fills[-1] = (begin, max(end, act.end), max(read, act.read))
        seen.append(act)
    return fills


def _add_legend(figure: Any, kinds: list[str]) -> None:
    from matplotlib.lines import Line2D  # pyright: ignore[reportMissingImports]
    from matplotlib.patches import Patch  # pyright: ignore[reportMissingImports]

    handles: list[Any] = [Patch(facecolor=_COLOURS[kind], edgecolor="0.35", label=kind) for kind in kinds]
    handles.append(Line2D([], [], color="0.25", marker="v", linestyle="", label="arrival"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7, frameon=False)
