"""Barriers and groups of threads: pipelines that a program writes by hand.

Programs for other compilers say which group of threads copies and which computes (`T.ws`), and let the groups wait for
each other at barriers. Here a statement sees what those before it wrote, whoever executes it, so a program is put in
order instead (semantics S10): the groups take turns, each until it has to wait. What is left is a program without
barriers, for which the compiler chooses threads and barriers of its own. That each wait is passed in this order is
proven when the kernel is built; a program in which one is not is refused, with the wait and what it waits for.
"""

from __future__ import annotations

import itertools

from .. import _ops, dtypes
from ..barriers import BarrierAt, Barriers, ClusterBarriers, barrier, mark
from ..builder import current
from ..errors import ArgumentError, RangeError, TLSyntaxError
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import binary, condition, expr, known, static_int
from .clusters import checked_block
from .hints import ignored_options
from .kernel import meeting_kernel, opened_kernel
from .loops import Loop
from .tile import copy
from .warps import thread_number

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "WarpSpecialize", "alloc_barrier", "alloc_cluster_barrier", "barrier_arrive", "barrier_wait",
    "cp_async_barrier_noinc", "create_barriers", "mbarrier_arrive", "mbarrier_arrive_expect_tx",
    "mbarrier_expect_tx", "mbarrier_wait_parity", "named_barrier_arrive", "ptx_arrive_barrier",
    "ptx_arrive_barrier_expect_tx", "ptx_arrive_cluster_barrier", "ptx_fence_barrier_init",
    "ptx_init_barrier_thread_count", "ptx_wait_barrier", "sync_threads", "tma_copy", "tma_store_arrive",
    "tma_store_wait", "ws",
]  # fmt: skip

_GROUP = 128
"""Threads of a group of `T.ws`."""
_NAMED = 16
"""Barriers of a block that have numbers."""


# Barriers -------------------------------------------------------------------------------------------------------------


def alloc_barrier(arrive_count: int | list[int]) -> Any:
    """Makes barriers that threads arrive at and wait for.

    - `arrive_count`: after how many arrivals a barrier completes a phase; a list makes as many barriers, whose elements
      are `barriers[i]`. Each thread that executes an arrival counts once.

    >>> full = T.alloc_barrier([128] * 2)
    >>> T.barrier_arrive(full[0])
    >>> T.barrier_wait(full[0], 0)
    """
    return Barriers(_counts("alloc_barrier", arrive_count), current().here())


def _counts(name: str, arrive_count: Any) -> list[int]:
    """Returns the checked numbers of arrivals of barriers."""
    builder = current()
    builder.require_kernel(f"`T.{name}`")
    counts = [static_int(count, f"`arrive_count` of `T.{name}`") for count in as_tuple(arrive_count)]
    if not counts or any(count < 1 for count in counts):
        raise RangeError(
            f"`T.{name}`: every arrive_count must be at least 1, and there is one at least; this is `{arrive_count!r}`",
            location=builder.here(),
        )
    return counts


def alloc_cluster_barrier(arrive_count: int | list[int]) -> Any:
    """Makes barriers that blocks of a cluster arrive at: every block has its own, and waits at that alone.

    - `arrive_count`: after how many arrivals a barrier completes a phase; a list makes as many barriers, whose elements
      are `barriers[i]`. Each thread that executes an arrival counts once, and a copy of `T.copy_cluster` does.

    A wait at such a barrier means that all blocks of the cluster meet before it, as at `T.cluster_sync` (semantics
    S11). A kernel has these barriers alone, no `T.alloc_barrier` and no groups.

    Errors: if what a wait waits for has not come before it on every way; if which blocks arrive is not known when the
    kernel is built: the block's number in the cluster and the indices of loops decide.

    >>> @T.prim_func
    ... def handed_on(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32")):
    ...     with T.ClusterKernel(8, cluster_dims=2, threads=64) as b:
    ...         mine, other = T.alloc_shared((64,), "float32"), T.alloc_shared((64,), "float32")
    ...         came = T.alloc_cluster_barrier(1)
    ...         if T.block_rank_in_cluster() == 0:
    ...             T.copy(A[b, 0], mine)
    ...             T.copy_cluster(mine, other, dst_block=1, remote_barrier=came)
    ...         if T.block_rank_in_cluster() == 1:
    ...             T.mbarrier_wait_parity(came, 0)
    ...             T.copy(other, B[b, 0])
    """
    return ClusterBarriers(_counts("alloc_cluster_barrier", arrive_count), current().here())


def create_barriers(barriers: int) -> Any:
    """Makes so many barriers, each of which completes a phase after one arrival; see `T.alloc_barrier`.

    >>> full = T.create_barriers(2)
    """
    return alloc_barrier([1] * static_int(barriers, "`barriers` of `T.create_barriers`"))


def _arrive(name: str, mbarrier: Any, cta_id: Any = None) -> None:
    at = barrier(mbarrier, f"T.{name}")
    if cta_id is not None and not isinstance(at.barriers, ClusterBarriers):
        raise ArgumentError(
            f"`cta_id` of `T.{name}` names another block's barrier, and `{at.barriers.name or 'the barrier'}` is of "
            f"one block: make it by `T.alloc_cluster_barrier`",
            location=current().here(),
        )
    mark("arrive", f"`T.{name}`", at, rank=None if cta_id is None else checked_block(cta_id))


def _wait(name: str, mbarrier: Any, parity: Any) -> None:
    number = known(parity)
    if number is not None and number not in (0, 1):
        raise ArgumentError(f"`parity` of `T.{name}` is 0 or 1, not {number}", location=current().here())
    mark("wait", f"`T.{name}`", barrier(mbarrier, f"T.{name}"), parity)


def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    """Arrives at a barrier: each thread that executes it counts once. What came before is then done.

    - `mbarrier`: a barrier of `T.alloc_barrier`, or an element of several.
    - `cta_id`: the number of the block in the cluster whose barrier it is (`T.block_rank_in_cluster`); this block's
      own if it is not given. For others the barrier is one of `T.alloc_cluster_barrier`.

    >>> full = T.alloc_barrier(128)
    >>> T.mbarrier_arrive(full)
    >>> T.mbarrier_wait_parity(full, 0)
    """
    _arrive("mbarrier_arrive", mbarrier, cta_id)


def ptx_arrive_cluster_barrier(mbarrier: Any, cta_id: Any) -> None:
    """Arrives at a barrier of another block of the cluster: each thread that executes it counts once.

    - `mbarrier`: a barrier of `T.alloc_cluster_barrier`, or an element of several.
    - `cta_id`: the number of the block in the cluster whose barrier it is (`T.block_rank_in_cluster`).

    >>> came = T.alloc_cluster_barrier(128)
    >>> T.ptx_arrive_cluster_barrier(came, 0)
    >>> T.mbarrier_wait_parity(came, 0)
    """
    _arrive("ptx_arrive_cluster_barrier", mbarrier, cta_id)


def barrier_arrive(mbarrier: Any) -> None:
    """Arrives at a barrier; see `T.mbarrier_arrive`.

    >>> full = T.alloc_barrier(128)
    >>> T.barrier_arrive(full)
    >>> T.barrier_wait(full, 0)
    """
    _arrive("barrier_arrive", mbarrier)


def ptx_arrive_barrier(mbarrier: Any) -> None:
    """Arrives at a barrier; see `T.mbarrier_arrive`.

    >>> full = T.alloc_barrier(128)
    >>> T.ptx_arrive_barrier(full)
    >>> T.ptx_wait_barrier(full, 0)
    """
    _arrive("ptx_arrive_barrier", mbarrier)


def cp_async_barrier_noinc(barrier: Any) -> None:
    """Arrives at a barrier when the thread's copies are done, which they are; see `T.mbarrier_arrive`.

    >>> full = T.alloc_barrier(128)
    >>> T.cp_async_barrier_noinc(full)
    >>> T.mbarrier_wait_parity(full, 0)
    """
    _arrive("cp_async_barrier_noinc", barrier)


def mbarrier_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Says how many bytes come before the phase is complete. `T.tma_copy` counts them by itself.

    >>> full = T.alloc_barrier(128)
    >>> T.mbarrier_expect_tx(full, 64 * 64 * 4)
    >>> T.mbarrier_arrive(full)
    >>> T.mbarrier_wait_parity(full, 0)
    """
    barrier(mbarrier, "T.mbarrier_expect_tx")


def mbarrier_arrive_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Arrives at a barrier, and says how many bytes come; see `T.mbarrier_arrive` and `T.mbarrier_expect_tx`.

    >>> full = T.alloc_barrier(128)
    >>> T.mbarrier_arrive_expect_tx(full, 64 * 64 * 4)
    >>> T.mbarrier_wait_parity(full, 0)
    """
    _arrive("mbarrier_arrive_expect_tx", mbarrier)


def ptx_arrive_barrier_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Arrives at a barrier, and says how many bytes come; see `T.mbarrier_arrive_expect_tx`.

    >>> full = T.alloc_barrier(128)
    >>> T.ptx_arrive_barrier_expect_tx(full, 64 * 64 * 4)
    >>> T.ptx_wait_barrier(full, 0)
    """
    _arrive("ptx_arrive_barrier_expect_tx", mbarrier)


def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    """Waits until the phase of a parity is complete: that of the first phase is 0, of the second 1, and so on.

    A wait for parity 1 passes before the first phase is complete, so that a slot that nobody has filled is free.

    - `mbarrier`: a barrier of `T.alloc_barrier`, or an element of several.
    - `parity`: 0 or 1, such as `k // stages % 2`.

    >>> full = T.alloc_barrier(128)
    >>> T.mbarrier_arrive(full)
    >>> T.mbarrier_wait_parity(full, 0)
    """
    _wait("mbarrier_wait_parity", mbarrier, parity)


def barrier_wait(mbarrier: Any, parity: Any) -> None:
    """Waits until the phase of a parity is complete; see `T.mbarrier_wait_parity`.

    >>> full = T.alloc_barrier(128)
    >>> T.barrier_arrive(full)
    >>> T.barrier_wait(full, 0)
    """
    _wait("barrier_wait", mbarrier, parity)


def ptx_wait_barrier(mbarrier: Any, parity: Any) -> None:
    """Waits until the phase of a parity is complete; see `T.mbarrier_wait_parity`.

    >>> full = T.alloc_barrier(128)
    >>> T.ptx_arrive_barrier(full)
    >>> T.ptx_wait_barrier(full, 0)
    """
    _wait("ptx_wait_barrier", mbarrier, parity)


def ptx_init_barrier_thread_count(mbarrier: Any, thread_count: int) -> None:
    """Says after how many arrivals a barrier completes a phase, before anything arrives there.

    - `mbarrier`: a barrier of `T.alloc_barrier` or `T.alloc_cluster_barrier`, or an element of several with a constant
      number.
    - `thread_count`: how many, which may be another number than that barrier was made with.

    Errors: in a loop, and behind an arrival or wait at that barrier, where it would begin anew.

    >>> full = T.alloc_barrier(1)
    >>> T.ptx_init_barrier_thread_count(full, 128)
    >>> T.barrier_arrive(full)
    >>> T.barrier_wait(full, 0)
    """
    at, builder = barrier(mbarrier, "T.ptx_init_barrier_thread_count"), current()
    kernel = opened_kernel("`T.ptx_init_barrier_thread_count`")
    number = static_int(at.index, "the number of a barrier of `T.ptx_init_barrier_thread_count`")
    count = static_int(thread_count, "`thread_count` of `T.ptx_init_barrier_thread_count`")
    if count < 1:
        raise RangeError(f"`thread_count` must be at least 1, not {count}", location=builder.here())
    is_used = any(found.barriers is at.barriers for found in kernel.marks.values())
    inside = itertools.takewhile(lambda block: not block.is_kernel, builder.block.ancestors())
    if is_used or any(block.label != "a branch" for block in inside):
        raise TLSyntaxError(
            f"`T.ptx_init_barrier_thread_count` stands before loops and before the first arrival and wait at "
            f"`{at.barriers.name or 'the barrier'}`: a barrier that begins anew is another one",
            location=builder.here(),
        )
    at.barriers.counts = (*at.barriers.counts[:number], count, *at.barriers.counts[number + 1 :])


def ptx_fence_barrier_init() -> None:
    """Makes barriers known to all: nothing is to be done.

    >>> full = T.alloc_barrier(128)
    >>> T.ptx_fence_barrier_init()
    """


# Barriers with numbers ------------------------------------------------------------------------------------------------


def _named(name: str, barrier_id: Any, count: Any) -> BarrierAt:
    number, threads = (
        static_int(barrier_id, f"`barrier_id` of `T.{name}`"),
        static_int(count, f"the count of `T.{name}`"),
    )
    kernel = opened_kernel(f"`T.{name}`")
    if not 0 <= number < _NAMED:
        raise RangeError(f"`barrier_id` of `T.{name}` is 0 to {_NAMED - 1}, not {number}", location=current().here())
    if not 0 < threads <= kernel.num_threads:
        raise ArgumentError(
            f"{threads} threads cannot come to `T.{name}`: the block has {kernel.num_threads}",
            location=current().here(),
        )
    made = kernel.named_barriers.get((number, threads))
    if made is None:
        made = kernel.named_barriers[number, threads] = Barriers([threads], current().here())
        made.name = f"barrier {number}"
    return made[0]


def named_barrier_arrive(barrier_id: int, thread_count: int) -> None:
    """Arrives at a barrier with a number, for which others wait by `T.sync_threads(barrier_id, thread_count)`.

    - `barrier_id`: 0 to 15.
    - `thread_count`: how many threads arrive or wait in all.

    >>> t = T.get_thread_binding()
    >>> if t < 64:
    ...     As[0, t] = v[t]
    ...     T.named_barrier_arrive(1, 128)
    ... else:
    ...     T.sync_threads(1, 128)
    ...     C[0, t - 64] = As[0, t - 64]
    """
    mark("arrive", "`T.named_barrier_arrive`", _named("named_barrier_arrive", barrier_id, thread_count))


def sync_threads(barrier_id: int | None = None, arrive_count: int | None = None) -> None:
    """Waits until all threads of the block are here, and makes their writes to shared memory visible to all.

    Tile operations need no such waits: the compiler puts them where they are due.

    - `barrier_id`: which of the block's barriers it is; the compiler chooses.
    - `arrive_count`: how many threads come; all of them if it is not given, or if they are all that go here.

    >>> As[0, T.get_thread_binding() % 64] = 1.0
    >>> T.sync_threads()
    """
    kernel = meeting_kernel("sync_threads")
    if arrive_count is None or known(arrive_count) == kernel.num_threads:
        _ops.gpu_barrier()
        return
    mark("meet", "`T.sync_threads`", _named("sync_threads", 0 if barrier_id is None else barrier_id, arrive_count))


# Copies ---------------------------------------------------------------------------------------------------------------


def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: Any = None,
    leader_scope_threads: int | None = None,
    eviction_policy: str | None = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Copies a tile, as `T.copy` does, for a barrier by which others wait for it.

    - `src`, `dst`: the two sides, as of `T.copy`.
    - `barrier`: the barrier of a copy to shared memory. The copy counts its bytes there, and arrives by itself nowhere.
    - `leader_scope_threads`, `eviction_policy`, `annotations`: hints for other compilers, without effect.
    - `cluster_mask`: copies to several blocks; not there.

    >>> full = T.alloc_barrier(128)
    >>> T.tma_copy(A[0:64, 0:64], As, barrier=full)
    >>> T.mbarrier_arrive(full)
    >>> T.mbarrier_wait_parity(full, 0)
    """
    from ..barriers import barrier as one_barrier

    if cluster_mask is not None:
        raise ArgumentError("`cluster_mask` of `T.tma_copy` is missing", location=current().here())
    ignored_options(
        "T.tma_copy", "the compiler chooses the instruction", eviction_policy=eviction_policy, annotations=annotations
    )
    if barrier is not None:
        one_barrier(barrier, "T.tma_copy")
    mark("once", "`T.tma_copy`", None)
    copy(src, dst)


def tma_store_arrive() -> None:
    """Ends a group of stores: nothing is to be done, since `T.tma_copy` waits.

    >>> T.tma_copy(As, C[0:64, 0:64])
    >>> T.tma_store_arrive()
    >>> T.tma_store_wait(0)
    """


def tma_store_wait(count: int = 0, read: bool = True) -> None:
    """Waits for groups of stores: nothing is to be done, since `T.tma_copy` waits.

    >>> T.tma_copy(As, C[0:64, 0:64])
    >>> T.tma_store_arrive()
    >>> T.tma_store_wait(0)
    """


# Groups ---------------------------------------------------------------------------------------------------------------


class WarpSpecialize(Loop):
    """What groups of 128 threads of the block do: `with T.ws(0):`.

    - `warp_group_idx`: the numbers of the groups; group 0 has the threads 0 to 127.

    Groups take turns (semantics S10), and wait for each other at barriers of `T.alloc_barrier`. A branch such as
    `if T.get_thread_binding() < 128:` means the same, where tile operations stand in it.

    >>> @T.prim_func
    ... def main(A: T.Tensor((64, 256), "float16"), C: T.Tensor((64, 256), "float16")):
    ...     with T.Kernel(1, threads=256):
    ...         As = T.alloc_shared((64, 64), "float16")
    ...         full, empty = T.alloc_barrier(128), T.alloc_barrier(128)
    ...         with T.ws(1):
    ...             for k in T.serial(4):
    ...                 T.barrier_wait(empty, (k + 1) % 2)
    ...                 T.tma_copy(A[0:64, k * 64 : k * 64 + 64], As, barrier=full)
    ...                 T.barrier_arrive(full)
    ...         with T.ws(0):
    ...             for k in T.serial(4):
    ...                 T.barrier_wait(full, k % 2)
    ...                 T.copy(As, C[0, k * 64])
    ...                 T.barrier_arrive(empty)
    """

    label = "T.ws"

    def __init__(self, *warp_group_idx: int) -> None:
        self.groups = [static_int(index, "a group of `T.ws`") for index in warp_group_idx]
        if not self.groups:
            raise ArgumentError("`T.ws` needs the number of a group", location=current().here())

    def __enter__(self) -> None:
        builder = current()
        kernel = opened_kernel("`T.ws`")
        most = -(-kernel.num_threads // _GROUP)
        for group in self.groups:
            if not 0 <= group < most:
                raise RangeError(
                    f"the block has {kernel.num_threads} threads, which are groups 0 to {most - 1}: there is no group "
                    f"{group} for `T.ws`",
                    location=builder.here(),
                )
        for block in builder.block.ancestors():
            if block.label == "`T.Parallel`":
                raise TLSyntaxError(
                    "`T.ws` says which threads go, and iterations of `T.Parallel` run on any: put it around the loop",
                    location=builder.here(),
                )
        group = binary("floordiv", thread_number("ws"), _GROUP)
        chosen: Any = False
        for index in self.groups:
            chosen = (
                binary("or", chosen, binary("eq", group, index)) if chosen is not False else binary("eq", group, index)
            )
        self._condition = condition(chosen)
        self._block = builder.new_block("`T.ws`")
        self._scope = builder.inside(self._block)
        self._scope.__enter__()

    def __exit__(self, kind: Any, *exception: object) -> None:
        self._scope.__exit__(None, None, None)
        if kind is not None:
            return
        value = expr(self._condition, dtypes.bool_).value
        op = mark("group", "`T.ws`", None, regions=[self._block])
        value.uses += 1
        op.operands = (value,)


ws = WarpSpecialize
