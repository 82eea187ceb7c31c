"""Copies, products and kernels that programs for other compilers wait for by hand.

Here a statement sees what those before it have written, whoever writes it: the compiler lets copies and products run
ahead where nobody can see it, and waits where it is due. So what starts one is the plain operation, and what waits for
one has nothing to do; `IgnoredHintWarning` says so once for each place. Kernels run one after the other, and so do
calls on a stream. Registers are the assembler's affair as well.
"""

from __future__ import annotations

from ..buffers import Buffer
from ..builder import current
from ..errors import RankError
from ..typed import TYPE_CHECKING
from .hints import ignored
from .tile import GemmWarpPolicy, copy, gemm

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "__ldg", "annotate_consumer_reg_alloc", "annotate_producer_reg_dealloc", "async_copy", "dec_max_nreg",
    "disable_warp_group_reg_alloc", "fence_proxy_async", "inc_max_nreg", "no_set_max_nreg", "pdl_sync",
    "pdl_trigger", "ptx_commit_group", "ptx_wait_group", "set_max_nreg", "wait_wgmma", "warpgroup_arrive",
    "warpgroup_commit_batch", "warpgroup_fence_operand", "warpgroup_wait", "wgmma_gemm", "wgmma_mma",
]  # fmt: skip


def async_copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: int | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """Copies a tile: the same as `T.copy`, whose result is there for the next statement.

    >>> T.async_copy(A[by * 64, bx * 64], As)
    """
    copy(src, dst, coalesced_width=coalesced_width, annotations=annotations, loop_layout=loop_layout)


def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Multiplies two tiles: the same as `T.gemm`, whose result is there for the next statement.

    >>> T.clear(acc)
    >>> T.wgmma_gemm(As, Bs, acc)
    """
    gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum, annotations=annotations)


wgmma_mma = wgmma_gemm


def __ldg(buf: Any, index: Any = None) -> Any:
    """Reads an element of a tensor: `buf[index]`, or an element that is given as such.

    >>> C[0, 0] = T.__ldg(A[0, 0])
    """
    if index is None:
        return buf
    if not isinstance(buf, Buffer):
        raise RankError(f"`T.__ldg` with an index needs a tensor, not `{buf!r}`", location=current().here())
    return buf[index]


def _no_wait(name: str) -> None:
    ignored(f"`T.{name}`", "copies and products are waited for where it is due")


def ptx_commit_group() -> None:
    """Ends a group of copies that are waited for together: nothing is to be done, since `T.copy` waits.

    >>> T.async_copy(A[by * 64, bx * 64], As)
    >>> T.ptx_commit_group()
    >>> T.ptx_wait_group(0)
    """
    _no_wait("ptx_commit_group")


def ptx_wait_group(num: int = 0) -> None:
    """Waits for groups of copies: nothing is to be done, since `T.copy` waits.

    >>> T.async_copy(A[by * 64, bx * 64], As)
    >>> T.ptx_commit_group()
    >>> T.ptx_wait_group(0)
    """
    _no_wait("ptx_wait_group")


def wait_wgmma(id: int = 0) -> None:
    """Waits for products: nothing is to be done, since `T.gemm` waits.

    >>> T.clear(acc)
    >>> T.wgmma_gemm(As, Bs, acc)
    >>> T.wait_wgmma(0)
    """
    _no_wait("wait_wgmma")


def warpgroup_wait(num_mma: int = 0) -> None:
    """Waits for products: nothing is to be done, since `T.gemm` waits.

    >>> T.clear(acc)
    >>> T.wgmma_gemm(As, Bs, acc)
    >>> T.warpgroup_commit_batch()
    >>> T.warpgroup_wait(0)
    """
    _no_wait("warpgroup_wait")


def warpgroup_arrive() -> None:
    """Comes before products: nothing is to be done.

    >>> T.clear(acc)
    >>> T.warpgroup_arrive()
    >>> T.wgmma_gemm(As, Bs, acc)
    >>> T.warpgroup_commit_batch()
    >>> T.warpgroup_wait(0)
    """
    _no_wait("warpgroup_arrive")


def warpgroup_commit_batch() -> None:
    """Ends a group of products that are waited for together: nothing is to be done, since `T.gemm` waits.

    >>> T.clear(acc)
    >>> T.wgmma_gemm(As, Bs, acc)
    >>> T.warpgroup_commit_batch()
    >>> T.warpgroup_wait(0)
    """
    _no_wait("warpgroup_commit_batch")


def warpgroup_fence_operand(buffer_or_ptr: Any, offset: Any = 0, num_regs: Any = None, dtype: Any = None) -> None:
    """Keeps registers of products where they are: nothing is to be done.

    >>> T.warpgroup_fence_operand(acc)
    """
    _no_wait("warpgroup_fence_operand")


def fence_proxy_async() -> None:
    """Orders writes before copies by the bulk engine: nothing is to be done, since the compiler does it.

    >>> T.fence_proxy_async()
    """
    ignored("`T.fence_proxy_async`", "fences are put where they are due")


def pdl_trigger() -> None:
    """Lets the next kernel begin before this one is done: nothing is to be done, since from sm_90 on each one does.

    >>> T.pdl_trigger()
    """
    _kernels("pdl_trigger")


def pdl_sync() -> None:
    """Waits for the kernels before this one: nothing is to be done, since each waits before it touches memory.

    >>> T.pdl_sync()
    """
    _kernels("pdl_sync")


def _kernels(name: str) -> None:
    current().require_kernel(f"`T.{name}`")
    ignored(f"`T.{name}`", "kernels run one after the other")


def _registers(name: str) -> None:
    ignored(f"`T.{name}`", "the compiler decides how many registers warps get")


def set_max_nreg(reg_count: int, is_inc: int | bool = True) -> None:
    """Says how many registers warps get: a hint without effect.

    >>> T.set_max_nreg(240, 1)
    """
    _registers("set_max_nreg")


def inc_max_nreg(reg_count: int) -> None:
    """Says how many registers warps get: a hint without effect.

    >>> T.inc_max_nreg(240)
    """
    _registers("inc_max_nreg")


def dec_max_nreg(reg_count: int) -> None:
    """Says how many registers warps get: a hint without effect.

    >>> T.dec_max_nreg(24)
    """
    _registers("dec_max_nreg")


def no_set_max_nreg() -> None:
    """Says that warps keep their registers: a hint without effect.

    >>> T.no_set_max_nreg()
    """
    _registers("no_set_max_nreg")


def disable_warp_group_reg_alloc() -> None:
    """Says that warps keep their registers: a hint without effect.

    >>> T.disable_warp_group_reg_alloc()
    """
    _registers("disable_warp_group_reg_alloc")


def annotate_producer_reg_dealloc(reg_count: int = 24) -> None:
    """Says how many registers the warps get that copy: a hint without effect.

    >>> T.annotate_producer_reg_dealloc(24)
    """
    _registers("annotate_producer_reg_dealloc")


def annotate_consumer_reg_alloc(reg_count: int = 240) -> None:
    """Says how many registers the warps get that compute: a hint without effect.

    >>> T.annotate_consumer_reg_alloc(240)
    """
    _registers("annotate_consumer_reg_alloc")
