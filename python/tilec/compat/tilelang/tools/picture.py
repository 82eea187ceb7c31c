"""`tilelang.tools.plot_layout`: draws a layout that a program made."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from ....errors import ShapeError
from ....language.layouts import Fragment, Layout
from ....location import here
from ....tools.picture import Picture, hue, new_figure
from ....typed import TYPE_CHECKING
from ....types import as_tuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_WARP = 32


def plot_layout(
    layout: Layout,
    save_directory: str = "./tmp",
    name: str = "layout",
    colormap: Any = None,
    verbose: bool = False,
    formats: str | Sequence[str] = "png",
) -> None:
    """Draws where a layout of two dimensions puts elements, and writes it to `save_directory/name.png`.

    A cell of a `T.Fragment` has the thread and its register, such as `T3 L1`, in a colour for each thread of a warp;
    one of a `T.Layout` has the indices that the element gets.

    - `colormap`: the name of one of Matplotlib's, for the colours.
    - `verbose`: whether to print the layout, too.
    - `formats`: "png", "svg", several of them, or "all".

    Needs Matplotlib. Raises a `ShapeError` for a layout of other than two dimensions.
    """
    shape = [int(extent) for extent in layout.get_input_shape()]
    if len(shape) != 2:
        raise ShapeError(f"a layout of two dimensions can be drawn, not one of {len(shape)}", location=here())
    if verbose:
        print(layout)
    figure = new_figure("plot_layout", 1.0 + 0.6 * shape[1], 1.0 + 0.4 * shape[0])
    axes = figure.subplots()
    for row, column in product(*map(range, shape)):
        text, number = _place(layout, row, column)
        axes.broken_barh([(column - 0.5, 1)], (row - 0.5, 1), facecolors=_colour(number, colormap), edgecolors="white")
        axes.text(column, row, text, ha="center", va="center", fontsize=7)
    axes.set_xlim(-0.5, shape[1] - 0.5)
    axes.set_ylim(shape[0] - 0.5, -0.5)
    axes.set_title(name, fontsize=9)
    folder = Path(save_directory)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("png", "svg") if formats == "all" else as_tuple(formats):
        Picture(figure).save(folder / f"{name}.{kind}")


def _place(layout: Layout, row: int, column: int) -> tuple[str, int]:
    """Returns what is written into a cell, and the number that its colour is of."""
    index = [int(i) for i in layout.map_forward_index([row, column])]
    if not isinstance(layout, Fragment):
        return ", ".join(map(str, index)), index[-1]
    thread = int(layout.map_forward_thread([row, column]))
    return f"T{thread}\nL{index[-1]}", thread


def _colour(number: int, colormap: Any) -> Any:
    if colormap is None:
        return hue(number % _WARP, _WARP)
    import matplotlib  # pyright: ignore[reportMissingImports]

    return matplotlib.colormaps[colormap](number % _WARP / _WARP)
