"""Where a block is in its cluster, and its cluster in the grid."""

from __future__ import annotations

from ..builder import current
from ..errors import ShapeError, TLSyntaxError
from ..typed import TYPE_CHECKING
from ..values import binary
from .kernel import opened_kernel

if TYPE_CHECKING:
    from typing import Any

    from .kernel import Kernel

__all__ = [
    "block_rank_in_cluster", "get_cluster_dims", "get_cluster_extent", "get_cluster_extents", "get_cluster_id",
    "get_cluster_ids", "get_cluster_size",
]  # fmt: skip


def _extents(kernel: Kernel) -> tuple[int, ...]:
    """Returns the extents of a cluster along the dimensions of the grid; ones if there are no clusters."""
    return kernel.cluster or (1,) * len(kernel.blocks)


def _unmoved(what: str) -> Kernel:
    """Returns the kernel, whose coordinates must be those by which the chip makes clusters."""
    kernel = opened_kernel(f"`T.{what}`")
    if kernel.is_swizzled:
        raise TLSyntaxError(
            f"`T.{what}` is about where the chip puts the block, and `T.use_swizzle` has changed its coordinates: "
            f"leave one of the two out",
            location=current().here(),
        )
    return kernel


def get_cluster_dims() -> list[int]:
    """Returns the extents of a cluster in blocks, three of them; ones if the kernel has no clusters.

    >>> x, y, z = T.get_cluster_dims()
    """
    extents = _extents(opened_kernel("`T.get_cluster_dims`"))
    return [*extents, *(1,) * (3 - len(extents))]


def get_cluster_size() -> int:
    """Returns how many blocks a cluster has; 1 if the kernel has no clusters.

    >>> blocks = T.get_cluster_size()
    """
    x, y, z = get_cluster_dims()
    return x * y * z


def get_cluster_id(dim: int = 0) -> Any:
    """Returns a coordinate of the block's cluster in the grid of clusters.

    - `dim`: a dimension of the grid.

    >>> n[0] = T.get_cluster_id()
    """
    kernel = _unmoved("get_cluster_id")
    _check(kernel, dim, "get_cluster_id")
    return binary("floordiv", kernel.coordinates[dim], _extents(kernel)[dim])


def get_cluster_ids() -> list[Any]:
    """Returns all coordinates of the block's cluster in the grid of clusters.

    >>> x, y = T.get_cluster_ids()
    """
    return [get_cluster_id(dim) for dim in range(len(opened_kernel("`T.get_cluster_ids`").blocks))]


def get_cluster_extent(dim: int = 0) -> Any:
    """Returns how many clusters there are along a dimension of the grid.

    - `dim`: a dimension of the grid.

    >>> clusters = T.get_cluster_extent(0)
    """
    kernel = opened_kernel("`T.get_cluster_extent`")
    _check(kernel, dim, "get_cluster_extent")
    return binary("ceildiv", kernel.blocks[dim], _extents(kernel)[dim])


def get_cluster_extents() -> list[Any]:
    """Returns how many clusters there are along each dimension of the grid.

    >>> x, y = T.get_cluster_extents()
    """
    return [get_cluster_extent(dim) for dim in range(len(opened_kernel("`T.get_cluster_extents`").blocks))]


def block_rank_in_cluster() -> Any:
    """Returns the number of the block in its cluster, x fastest; 0 if the kernel has no clusters.

    >>> n[0] = T.block_rank_in_cluster()
    """
    kernel = _unmoved("block_rank_in_cluster")
    rank: Any = 0
    for coordinate, extent in zip(reversed(kernel.coordinates), reversed(_extents(kernel)), strict=True):
        rank = binary("add", binary("mul", rank, extent), binary("mod", coordinate, extent))
    return rank


def _check(kernel: Kernel, dim: int, what: str) -> None:
    if not 0 <= dim < len(kernel.blocks):
        raise ShapeError(
            f"`T.{what}` has dimensions 0 to {len(kernel.blocks) - 1} here, not {dim}", location=current().here()
        )
