"""The estimate of a call, drawn: what each line takes of each part of a GPU, and how near that is to the roof."""

from __future__ import annotations

import linecache

from ..analysis import gpus
from ..analysis.roofline import shown
from ..errors import ArgumentError
from ..typed import TYPE_CHECKING
from .picture import Picture, new_figure

if TYPE_CHECKING:
    from typing import Any

    from ..analysis.gpus import GPU
    from ..analysis.roofline import Estimate, LaunchTimes

_PARTS = (
    ("device memory", "#9ecae1"),
    ("shared memory", "#fdd0a2"),
    ("tensor cores", "#a1d99b"),
    ("issue", "#cab2d6"),
)
_MOST_LINES = 12
_STATEMENT_LENGTH = 48
_DECADES = 3
"""Powers of ten of intensity that are drawn around the ridge, at least to one side."""


def plot_roofline(estimate: Estimate) -> Picture:
    """Draws an estimate: the roofline with each launch as a point, and what its lines take of each part of a GPU.

    - `estimate`: what `kernel.analyze` returned.

    On the left, for launches that multiply in tensor cores: flop for each byte of device memory, and flop in a second
    if nothing but the estimate held it up. No point is above the roof; one below it is bound by shared memory, issue or
    a grid that leaves multiprocessors idle. On the right, the times of the lines that take most. As the estimate itself
    it is no measurement.

        tilec.tools.plot_roofline(kernel.analyze(A, B, C, gpu="H200")).save("roofline.svg")

    Needs Matplotlib. Raises an `ArgumentError` if nothing was launched.
    """
    if not estimate.launches:
        raise ArgumentError("the call launches nothing, so that there is no estimate to draw")
    gpu = gpus.find(estimate.gpu)
    points = [(launch, *_point(launch, gpu)) for launch in estimate.launches if launch.flop and launch.device_memory]
    rows = sum(min(len(_lines(launch)), _MOST_LINES) + 2 for launch in estimate.launches)
    figure = new_figure("plot_roofline", 13 if points else 8, max(0.3 * rows + 1, 4 if points else 2))
    heights = [min(len(_lines(launch)), _MOST_LINES) + 2 for launch in estimate.launches]
    left, right = figure.subfigures(1, 2, width_ratios=(2, 3)) if points else (None, figure)
    if left:
        _draw_roof(left.subplots(), gpu, points)
    axes = right.subplots(len(heights), squeeze=False, height_ratios=heights)
    for launch, of_launch in zip(estimate.launches, axes[:, 0], strict=True):
        _draw_lines(of_launch, launch)
    figure.suptitle(f"estimate for {estimate.gpu}, no measurement: at least {shown(estimate.seconds)}", fontsize=10)
    return Picture(figure)


def _point(launch: LaunchTimes, gpu: GPU) -> tuple[float, float]:
    """Returns flop for each byte of device memory, and flop in a second."""
    flop = sum(launch.flop.values())
    return flop / (launch.device_memory * gpu.bandwidth), flop / launch.seconds


def _draw_roof(axes: Any, gpu: GPU, points: list[tuple[LaunchTimes, float, float]]) -> None:
    dtypes = sorted({kind.split()[1] for launch, _, _ in points for kind in launch.flop})
    ridges = [gpu.flop[dtype] / gpu.bandwidth for dtype in dtypes]
    first = min([ridge / 10**_DECADES for ridge in ridges] + [x / 2 for _, x, _ in points])
    last = max([ridge * 10 for ridge in ridges] + [x * 2 for _, x, _ in points])
    for dtype, ridge in zip(dtypes, ridges, strict=True):
        axes.plot([first, ridge, last], [first * gpu.bandwidth, gpu.flop[dtype], gpu.flop[dtype]], color="0.25")
        axes.text(
            last, gpu.flop[dtype], f"{gpu.flop[dtype] / 1e12:.0f} Tflop/s {dtype}", ha="right", va="bottom", fontsize=7
        )
    axes.text(first * 1.5, first * 1.5 * gpu.bandwidth, f"  {gpu.bandwidth / 1e12:.2f} TB/s", va="top", fontsize=7)
    for launch, x, y in points:
        axes.plot(x, y, "o", color="#d62728")
        text = f"{launch.kernel}\n{y / 1e12:.1f} Tflop/s, bound by {launch.bound}"
        axes.annotate(text, (x, y), xytext=(0, -8), textcoords="offset points", ha="center", va="top", fontsize=7)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(first, last)
    axes.set_xlabel("flop for each byte of device memory", fontsize=8)
    axes.set_ylabel("flop in a second", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(color="0.9", linewidth=0.5)
    axes.set_title("roofline", fontsize=9)


def _draw_lines(axes: Any, launch: LaunchTimes) -> None:
    """Draws the lines that take most, those of the program's order, and the launch as a whole."""
    most = sorted(_lines(launch), key=lambda line: -line.seconds)[:_MOST_LINES]
    rows = [("all", launch), *((_statement(line.file, line.line), line) for line in sorted(most, key=lambda x: x.line))]
    height = 0.8 / len(_PARTS)
    for row, (_, times) in enumerate(rows):
        parts = (times.device_memory, times.shared_memory, times.tensor_cores, times.issue)
        for number, ((_, colour), seconds) in enumerate(zip(_PARTS, parts, strict=True)):
            axes.barh(
                row - 0.4 + (number + 0.5) * height, seconds * 1e6, height, color=colour, edgecolor="0.5", linewidth=0.3
            )
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], family="monospace")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(labelsize=7)
    axes.set_xlabel("µs", fontsize=8)
    axes.set_title(f"`{launch.kernel}`: at least {shown(launch.seconds)}, bound by {launch.bound}", fontsize=9)
    from matplotlib.patches import Patch  # pyright: ignore[reportMissingImports]

    handles = [Patch(facecolor=colour, edgecolor="0.5", label=part) for part, colour in _PARTS]
    axes.legend(handles=handles, fontsize=7, loc="lower right")


def _lines(launch: LaunchTimes) -> list[Any]:
    return [line for line in launch.lines if line.seconds > launch.seconds / 100]


def _statement(file: str, line: int) -> str:
    text = linecache.getline(file, line).strip()
    shortened = text if len(text) <= _STATEMENT_LENGTH else text[: _STATEMENT_LENGTH - 1] + "…"
    return f"{shortened}  {line}"
