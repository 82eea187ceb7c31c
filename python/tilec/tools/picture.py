"""Pictures by Matplotlib, which only they need."""

from __future__ import annotations

from ..errors import ArgumentError, MissingPackageError
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def new_figure(who: str, width: float, height: float) -> Any:
    """Returns an empty figure of Matplotlib's, in inches; raises in the name of `who` where there is no Matplotlib."""
    try:
        from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingPackageError(f"`{who}` needs the package `matplotlib`: `pip install matplotlib`") from None
    return Figure(figsize=(width, height), layout="constrained")


class Picture:
    """A picture, which notebooks show by themselves.

    - `figure`: Matplotlib's figure, to be changed or put beside others.
    """

    def __init__(self, figure: Any) -> None:
        self.figure = figure

    def svg(self) -> str:
        """Returns it as SVG, with its text as text. The same picture is the same bytes."""
        import io

        import matplotlib  # pyright: ignore[reportMissingImports]

        file = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tilec"}):
            self.figure.savefig(file, format="svg", metadata={"Date": None})
        return file.getvalue()

    def save(self, path: str | Path) -> None:
        """Writes it to a file that ends in `.svg` or `.png`."""
        kind = str(path).rpartition(".")[2]
        if kind == "svg":
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.svg())
        elif kind == "png":
            self.figure.savefig(path, dpi=150)
        else:
            raise ArgumentError(f"a picture is saved as `.svg` or `.png`, not as `{path}`")

    def _repr_svg_(self) -> str:
        return self.svg()


def hue(number: int, count: int) -> tuple[float, float, float]:
    """Returns a light colour, one of `count` that differ."""
    import colorsys

    return colorsys.hsv_to_rgb(number % count / count, 0.32, 1.0)
