"""Which tiles a block computes, kept in variables: for `while` loops over them."""

from __future__ import annotations

from ..errors import ArgumentError, ShapeError, TLSyntaxError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..values import binary, known
from .kernel import get_block_extent
from .tile import alloc_var

if TYPE_CHECKING:
    from typing import Any

    from ..buffers import Var

__all__ = ["BaseTileScheduler", "PersistentTileScheduler"]


class BaseTileScheduler:
    """The place of a block among tiles: what inherits says which tile has which number, by `coord`.

    - `m_idx`, `n_idx`: the tile, in variables of the kernel.
    - `linear_idx`: its number; `current_iter`: how many tiles the block has had before.

    >>> class Rows(T.BaseTileScheduler):
    ...     def coord(self, tile_id):
    ...         return tile_id, 0
    >>> @T.prim_func
    ... def main(A: T.Tensor((8, 64), "float32")):
    ...     with T.Kernel(2) as b:
    ...         tiles = Rows(8, 2)
    ...         tiles.init(b)
    ...         while tiles.valid():
    ...             A[tiles.m_idx, 0] = 1.0
    ...             tiles.next_tile()
    """

    def __init__(self, total: Any, step: Any, stateful: bool = True) -> None:
        self._total = total
        self._step = step
        self._variables: dict[str, Var] = {}
        if stateful:
            names = ("m_idx", "n_idx", "linear_idx", "current_iter")
            self._variables = {name: alloc_var("int32", 0) for name in names}

    def _variable(self, name: str) -> Var:
        if name not in self._variables:
            raise TLSyntaxError(
                f"`{name}` is kept by schedulers with `stateful=True`; others have `coord` only", location=place()
            )
        return self._variables[name]

    @property
    def m_idx(self) -> Var:
        """The tile's first coordinate."""
        return self._variable("m_idx")

    @property
    def n_idx(self) -> Var:
        """The tile's second coordinate."""
        return self._variable("n_idx")

    @property
    def linear_idx(self) -> Var:
        """The tile's number."""
        return self._variable("linear_idx")

    @property
    def current_iter(self) -> Var:
        """How many tiles the block has had before."""
        return self._variable("current_iter")

    def coord(self, tile_id: Any) -> tuple[Any, Any]:
        """Returns the coordinates of the tile of a number."""
        raise TLSyntaxError(
            f"`{type(self).__name__}` does not say which tile has number `tile_id`: give it a method `coord(self, "
            f"tile_id)` that returns two coordinates, or use `T.PersistentTileScheduler`",
            location=place(),
        )

    def init(self, worker_id: Any) -> None:
        """Goes to the first tile of a block."""
        self._go(worker_id, 0)

    def next_tile(self) -> None:
        """Goes to the block's next tile."""
        self._go(binary("add", self.linear_idx, self._step), binary("add", self.current_iter, 1))

    def valid(self) -> Any:
        """Returns whether there is such a tile."""
        return binary("lt", self.linear_idx, self._total)

    def _go(self, number: Any, count: Any) -> None:
        self.current_iter.set(count)
        self.linear_idx.set(number)
        m, n = self.coord(self.linear_idx)
        self.m_idx.set(m)
        self.n_idx.set(n)


class PersistentTileScheduler(BaseTileScheduler):
    """Shares a box of tiles among few blocks: block `w` has the tiles of the numbers `w`, `w + num_workers` and so on.

    The first coordinate runs fastest with `column_major`, else the second. With a `swizzle_size` above one, so many
    neighbours along the other coordinate are taken together, fewer at the end: they are the fastest then.

    - `num_m_tiles`, `num_n_tiles`: the extents of the box.
    - `num_workers`: how many blocks, or clusters, share it; by default those of the kernel's first dimension.
    - `cluster_size`: how many neighbours along the first coordinate are one cluster's: `m_idx` counts clusters.
    - `stateful`: whether there are variables; otherwise `coord` is all that it has.
    - `name`: has no meaning.

    >>> tiles = T.PersistentTileScheduler(4, 4)
    >>> tiles.init(bx)
    >>> while tiles.valid():
    ...     T.copy(A[tiles.m_idx * 16, tiles.n_idx * 16], As[0:16, 0:16])
    ...     tiles.next_tile()
    """

    def __init__(
        self,
        num_m_tiles: Any,
        num_n_tiles: Any,
        num_workers: Any = None,
        swizzle_size: int = 1,
        column_major: bool = True,
        cluster_size: int = 1,
        stateful: bool = True,
        name: str | None = None,
    ) -> None:
        if isinstance(num_m_tiles, str):
            raise ArgumentError(
                "`T.PersistentTileScheduler` begins with the extents of the box; a name is the argument `name`",
                location=place(),
            )
        for what, number in (("swizzle_size", swizzle_size), ("cluster_size", cluster_size)):
            if (known(number) or 0) < 1:
                raise ShapeError(f"`{what}` must be a positive integer, and {number!r} is not", location=place())
        rows = binary("ceildiv", num_m_tiles, cluster_size)
        if num_workers is None:
            num_workers = binary("floordiv", get_block_extent(0), cluster_size)
        super().__init__(binary("mul", rows, num_n_tiles), num_workers, stateful)
        self.num_workers = num_workers
        self.swizzle_size = swizzle_size
        self.cluster_size = cluster_size
        self._column_major = column_major
        self._swept, self._grouped = (rows, num_n_tiles) if column_major else (num_n_tiles, rows)

    def coord(self, tile_id: Any) -> tuple[Any, Any]:
        """Returns the coordinates of the tile of a number, the first one in clusters."""
        area = binary("mul", self._swept, self.swizzle_size)
        start = binary("mul", binary("floordiv", tile_id, area), self.swizzle_size)
        inside = binary("mod", tile_id, area)
        # The last group may be smaller than the others.
        width = binary("max", binary("min", binary("sub", self._grouped, start), self.swizzle_size), 1)
        swept = binary("floordiv", inside, width)
        grouped = binary("add", start, binary("mod", inside, width))
        return (swept, grouped) if self._column_major else (grouped, swept)
