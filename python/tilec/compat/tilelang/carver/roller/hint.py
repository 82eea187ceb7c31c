"""`tilelang.carver.roller.hint`: a configuration that is worth trying."""

from __future__ import annotations

from .....typed import TYPE_CHECKING
from .rasterization import NoRasterization

if TYPE_CHECKING:
    from typing import Any

    from .rasterization import Rasterization


class Hint:
    """Sizes of tiles for a kernel.

    - `block`: extents of a block's part of the result; `warp`: of a warp's, with tensor cores, else `thread` is how
      many threads there are along each.
    - `rstep`: how much of each dimension that is summed over is in shared memory at once.
    - `pipeline_stage`: how many such steps are; 1 is no pipeline.
    - `use_tc`: whether tensor cores multiply.
    - `vectorize`: neighbours that a thread loads at once, by tensor.
    - `rasterization_plan`: in which order blocks are started.
    """

    def __init__(self, **given: Any) -> None:
        self.use_tc: bool = False
        self.block: list[int] = []
        self.thread: list[int] = []
        self.warp: list[int] = []
        self.rstep: list[int] = []
        self.reduce_thread: list[int] = []
        self.rasterization_plan: Rasterization = NoRasterization()
        self.split_k_factor = 1
        self.vectorize: dict[str, int] = {}
        self.pipeline_stage = 1
        self.use_async = False
        self.shared_scope = "shared"
        self.__dict__.update(given)

    def to_dict(self) -> dict[str, Any]:
        """Returns what it says, as a dictionary."""
        return {name: value for name, value in vars(self).items() if value not in ([], {})}

    def __repr__(self) -> str:
        return str(self.to_dict())
