"""What all blocks of a grid do together."""

from __future__ import annotations

from .. import _ops, dtypes
from ..builder import current
from ..errors import TLSyntaxError
from ..typed import TYPE_CHECKING
from ..values import binary, cast
from .atomics import atomic_add, atomic_load
from .kernel import Kernel, meeting_kernel
from .loops import While
from .workspaces import alloc_global

if TYPE_CHECKING:
    from typing import Any

    from ..buffers import Buffer

__all__ = ["sync_global", "sync_grid"]


def sync_grid() -> None:
    """Waits until all blocks of the grid are here; what they have written to device memory is then seen by all.

    All blocks of the kernel run at once, so that a grid has no more of them than the GPU holds: the call raises an
    error otherwise. On the CPU there are up to 4096. Every block comes here equally often, or none goes on.

    Errors: in a `T.Parallel`, where only some threads go, in a kernel with clusters, or barriers of its own.

    >>> C[bx, by] = 1.0
    >>> T.sync_grid()
    >>> C[bx, by] = C[bx, by] + 1
    """
    kernel = meeting_kernel("sync_grid")
    if kernel.cluster is not None:
        raise TLSyntaxError(
            "`T.sync_grid` does not work in a kernel with clusters: leave `cluster_dims` out", location=current().here()
        )
    _ops.gpu_barrier()  # all threads of the block come here
    if kernel.arrivals is None:
        kernel.arrivals = _counter()
    place, blocks = kernel.arrivals, _count(kernel)
    before = atomic_add(place[0], 1, "acq_rel", return_prev=True)
    wanted = binary("mul", binary("add", binary("floordiv", before, blocks), 1), blocks)
    with While(lambda: binary("lt", atomic_load(place[0], "acquire"), wanted)):
        pass


def sync_global() -> None:
    """Waits until all blocks of the grid are here: the same as `T.sync_grid`.

    >>> T.sync_global()
    """
    sync_grid()


def _counter() -> Buffer:
    """Returns an element of device memory that counts arrivals, and that a kernel of its own sets to zero before."""
    builder = current()
    made = alloc_global((1,), "int64")
    with builder.inside(builder.body), Kernel(1, threads=32, name=f"{builder.name}_{made.name}"):
        made[0] = 0
    return made


def _count(kernel: Kernel) -> Any:
    """Returns how many blocks the grid has."""
    blocks: Any = 1
    for extent in kernel.blocks:
        blocks = binary("mul", blocks, cast(extent, dtypes.int64))
    return blocks
