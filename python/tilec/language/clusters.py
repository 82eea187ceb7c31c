"""Where a block is in its cluster, and its cluster in the grid; what the blocks of a cluster do together."""

from __future__ import annotations

from functools import reduce

from .. import _ops
from ..barriers import BarrierAt, ClusterBarriers, barrier, mark
from ..builder import current
from ..errors import ArgumentError, RangeError, ShapeError
from ..typed import TYPE_CHECKING
from ..values import binary, known, static_int
from .hints import ignored_options
from .kernel import meeting_kernel, opened_kernel
from .loops import If
from .tile import copy, copy_in_cluster, shared_like

if TYPE_CHECKING:
    from typing import Any

    from .kernel import Kernel

__all__ = [
    "block_rank_in_cluster", "cluster_arrive", "cluster_arrive_relaxed", "cluster_sync", "cluster_wait",
    "copy_cluster", "get_cluster_dims", "get_cluster_extent", "get_cluster_extents", "get_cluster_id",
    "get_cluster_ids", "get_cluster_size",
]  # fmt: skip


def _extents(kernel: Kernel) -> tuple[int, ...]:
    """Returns the extents of a cluster along the dimensions of the grid; ones if there are no clusters."""
    return kernel.cluster or (1,) * len(kernel.blocks)


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
    kernel = opened_kernel("`T.get_cluster_id`")
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

    Whatever order `T.use_swizzle` has brought the clusters in, it is the number by which others reach the block.

    >>> n[0] = T.block_rank_in_cluster()
    """
    kernel = opened_kernel("`T.block_rank_in_cluster`")
    rank: Any = 0
    for coordinate, extent in zip(reversed(kernel.coordinates), reversed(_extents(kernel)), strict=True):
        rank = binary("add", binary("mul", rank, extent), binary("mod", coordinate, extent))
    return rank


def _meeting(what: str) -> bool:
    """Notes that the blocks of the kernel's clusters meet; returns whether a cluster has several."""
    kernel = meeting_kernel(what)
    if kernel.cluster is None:
        return False
    kernel.meets_in_clusters = kernel.meets_in_clusters or f"T.{what}"
    return True


def cluster_sync() -> None:
    """Waits until all blocks of the cluster are here; what they have done to shared memory is then seen by all.

    Without clusters it waits for the threads of the block.

    Errors: in a `T.Parallel`, where only some threads go, where not all blocks of a cluster come equally often, and in
    a kernel with barriers or groups of its own.

    >>> T.cluster_sync()
    """
    if _meeting("cluster_sync"):
        _ops.cluster_barrier()
    else:
        _ops.gpu_barrier()


def cluster_arrive() -> None:
    """Arrives where all blocks of the cluster meet, without waiting for them: the first half of `T.cluster_sync`.

    What the block does before `T.cluster_wait` is in no order with what other blocks do.

    >>> T.cluster_arrive()
    >>> T.cluster_wait()
    """
    if _meeting("cluster_arrive"):
        _ops.cluster_arrive()


def cluster_arrive_relaxed() -> None:
    """Arrives as `T.cluster_arrive` does; where nothing has to be seen by others it may do less.

    >>> T.cluster_arrive_relaxed()
    >>> T.cluster_wait()
    """
    if _meeting("cluster_arrive_relaxed"):
        _ops.cluster_arrive()


def cluster_wait() -> None:
    """Waits until all blocks of the cluster have arrived; what they did before is then seen: see `T.cluster_arrive`.

    >>> T.cluster_arrive()
    >>> T.cluster_wait()
    """
    if _meeting("cluster_wait"):
        _ops.cluster_wait()
    else:
        _ops.gpu_barrier()


def copy_cluster(
    src: Any,
    dst: Any,
    *,
    dst_block: Any = None,
    cluster_mask: Any = None,
    remote_barrier: Any = None,
    eviction_policy: str | None = None,
    coalesced_width: int | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
    src_block: Any = None,
) -> None:
    """Copies a tile to shared memory of another block of the cluster, or from there.

    Sides are as of `T.copy`. The one in the other block is a shared tile of this kernel, or a region of one: every
    block has its own.

    - `src`, `dst`: the two sides.
    - `dst_block`: the block that `dst` is of, by its number in the cluster (`T.block_rank_in_cluster`).
    - `src_block`: the block that `src` is of. One of the two is given.
    - `remote_barrier`: a barrier of `T.alloc_cluster_barrier` at which the copy arrives once when it is done: that of
      block `dst_block`.
    - `cluster_mask`: instead of a block, bits that say which blocks get what the first of them copies, `0b0101` for
      blocks 0 and 2; the others copy what they say themselves. `dst` is a shared tile then. The blocks of the cluster
      meet in it, as by `T.cluster_sync`, and the tile is there behind it.
    - `eviction_policy`, `coalesced_width`, `annotations`, `loop_layout`: hints for other compilers, without effect.

    Constraints: between this and what the other block does with the tile stands `T.cluster_sync`, or a wait at the
    barrier; both sides have one element type.

    >>> @T.prim_func
    ... def swapped(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32")):
    ...     with T.ClusterKernel(8, cluster_dims=2, threads=64) as b:
    ...         mine, other = T.alloc_shared((64,), "float32"), T.alloc_shared((64,), "float32")
    ...         T.copy(A[b, 0], mine)
    ...         T.copy_cluster(mine, other, dst_block=1 - T.block_rank_in_cluster())
    ...         T.cluster_sync()
    ...         T.copy(other, B[b, 0])
    """
    ignored_options(
        "T.copy_cluster",
        "the compiler chooses the instruction",
        eviction_policy=eviction_policy,
        coalesced_width=coalesced_width,
        annotations=annotations,
        loop_layout=loop_layout,
    )
    if cluster_mask is not None:
        if dst_block is not None or src_block is not None or remote_barrier is not None:
            raise ArgumentError(
                "`cluster_mask` of `T.copy_cluster` names the blocks, and no `dst_block`, `src_block` or "
                "`remote_barrier` is beside it",
                location=current().here(),
            )
        _copy_for_several(src, dst, cluster_mask)
        return
    if (dst_block is None) == (src_block is None):
        raise ArgumentError(
            "`T.copy_cluster` needs the block whose shared memory it reaches: `dst_block` or `src_block`, one of the "
            "two",
            location=current().here(),
        )
    at = None if remote_barrier is None else _barrier_of_copy(remote_barrier, dst_block)
    rank = checked_block(src_block if dst_block is None else dst_block)
    if _meeting("copy_cluster"):
        copy_in_cluster(src, dst, rank, to_other=src_block is None)
    else:
        copy(src, dst)
    if at is not None:
        mark("copied", "`T.copy_cluster`", at, rank=dst_block)


def _copy_for_several(src: Any, dst: Any, mask: Any) -> None:
    """Copies a tile, and gives that of the first block of a mask to the others of it."""
    bits = static_int(mask, "`cluster_mask` of `T.copy_cluster`")
    blocks = get_cluster_size()
    if not 0 < bits < 1 << blocks:
        raise RangeError(
            f"`cluster_mask` of `T.copy_cluster` has a bit for each of the {blocks} blocks of a cluster, and at least "
            f"one is set, not {bits:#b}",
            location=current().here(),
        )
    copy(src, dst)
    first, *others = (block for block in range(blocks) if bits >> block & 1)
    if not others:
        return
    rank = block_rank_in_cluster()
    is_other = reduce(lambda a, b: binary("or", a, b), (binary("eq", rank, other) for other in others))
    # Nobody writes a tile that another block may be reading: what comes is written behind the second meeting.
    came = shared_like(dst, "T.copy_cluster")
    cluster_sync()
    with If(is_other):
        copy_in_cluster(dst, came, first, to_other=False)
    cluster_sync()
    with If(is_other):
        copy(came, dst)


def _barrier_of_copy(remote_barrier: Any, dst_block: Any) -> BarrierAt:
    at = barrier(remote_barrier, "T.copy_cluster")
    if not isinstance(at.barriers, ClusterBarriers):
        raise ArgumentError(
            f"`remote_barrier` of `T.copy_cluster` is of another block, and `{at.barriers.name or 'the barrier'}` of "
            f"this one: make it by `T.alloc_cluster_barrier`",
            location=current().here(),
        )
    if dst_block is None:
        raise ArgumentError(
            "`remote_barrier` of `T.copy_cluster` tells the block that is copied to, `dst_block`; what is copied from "
            "`src_block` is here behind the copy",
            location=current().here(),
        )
    return at


def checked_block(rank: Any) -> Any:
    """Returns the number of a block of the cluster, which is one if it is known."""
    number, blocks = known(rank), get_cluster_size()
    if number is not None and not 0 <= number < blocks:
        raise RangeError(
            f"a cluster has the blocks 0 to {blocks - 1} here, and no block {number}", location=current().here()
        )
    return rank


def _check(kernel: Kernel, dim: int, what: str) -> None:
    if not 0 <= dim < len(kernel.blocks):
        raise ShapeError(
            f"`T.{what}` has dimensions 0 to {len(kernel.blocks) - 1} here, not {dim}", location=current().here()
        )
