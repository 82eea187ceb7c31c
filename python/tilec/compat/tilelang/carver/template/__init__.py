"""`tilelang.carver.template`: configurations that are worth trying, for computations of a few kinds.

They come from a model of this project's own: of tiles that fit into registers and shared memory those come first whose
products and traffic take the least cycles of a multiprocessor, over all of a grid's waves.
"""

# Annotations of kernels are calls, and what stands for their parameters is known only when they are built.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false, reportUnknownVariableType=false

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from ..... import language as T
from .....dtypes import dtype as _dtype
from .....errors import ArgumentError
from .....location import here
from .....typed import TYPE_CHECKING
from ...absent import missing
from ..arch.cuda import CUDA
from ..roller.hint import Hint
from ..roller.rasterization import NoRasterization, Rasterization2DColumn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .....builder import PrimFunc

__all__ = ["BaseTemplate", "ElementwiseTemplate", "GEMVTemplate", "GeneralReductionTemplate", "MatmulTemplate"]


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.carver.template.{name}", __all__)


@dataclass(frozen=True)
class _Chip:
    """What the model knows of a multiprocessor: data sheets say it."""

    multiprocessors: int
    shared_bytes: int
    products: int
    """Products of 16-bit floats a cycle, by tensor cores."""


_CHIPS = {
    70: _Chip(80, 96 << 10, 512),
    75: _Chip(68, 64 << 10, 512),
    80: _Chip(108, 163 << 10, 1024),
    86: _Chip(84, 99 << 10, 512),
    89: _Chip(128, 99 << 10, 512),
    90: _Chip(132, 227 << 10, 2048),
}
_BYTES_A_CYCLE = 64
"""What a multiprocessor gets from the L2 cache."""

_OVERLAP = 0.1
"""How much of the lesser of products and traffic is not hidden behind the greater."""

_STEP = 40
"""Cycles of a barrier between two steps."""

_MOST_ACCUMULATORS = 128
"""Registers of a thread that hold sums; beyond that kernels spill."""


def _chip(arch: CUDA) -> _Chip:
    known = max((v for v in _CHIPS if v <= arch.sm_version), default=70)
    chip = _CHIPS[known]
    cores = getattr(arch, "compute_max_core", chip.multiprocessors)
    return _Chip(cores, min(getattr(arch, "smem_cap", chip.shared_bytes), chip.shared_bytes), chip.products)


@dataclass
class BaseTemplate(ABC):
    """A kind of computation of given extents, for a chip."""

    _arch: Any = field(default=None, init=False, repr=False)
    _func: Any = field(default=None, init=False, repr=False)

    def with_arch(self, arch: CUDA) -> Any:
        """Says for which chip configurations are wanted, and returns the template."""
        self._arch = arch
        return self

    @property
    def arch(self) -> CUDA:
        """The chip."""
        if self._arch is None:
            raise ArgumentError(
                f"for which chip `{type(self).__name__}` is to recommend something is unknown: `.with_arch(...)` says "
                f"it",
                location=here(),
            )
        return self._arch

    def has_arch(self) -> bool:
        """Whether the chip is known."""
        return self._arch is not None

    def equivalent_function(self) -> PrimFunc:
        """Returns a program that computes it, as simply as can be."""
        if self._func is None:
            self._func = self._program()
        return self._func

    @abstractmethod
    def _program(self) -> PrimFunc: ...

    @abstractmethod
    def _candidates(self) -> Iterator[tuple[float, Hint]]: ...

    def recommend_hints(self, topk: int = 10) -> list[Hint]:
        """Returns up to `topk` configurations, those first that the model takes for the fastest."""
        found = sorted(enumerate(self._candidates()), key=lambda pair: (pair[1][0], pair[0]))
        return [hint for _, (_, hint) in found[:topk]]

    def get_hardware_aware_configs(self, arch: CUDA | None = None, topk: int = 10) -> list[Hint]:
        """Returns what `recommend_hints` does, for a chip."""
        return (self if arch is None else self.with_arch(arch)).recommend_hints(topk)


def _powers(least: int, most: int) -> list[int]:
    return [1 << n for n in range(least.bit_length() - 1, most.bit_length()) if least <= 1 << n <= most]


def _extent(value: Any) -> int:
    """Returns an extent as a number: one that only a call knows counts as 1024."""
    return value if isinstance(value, int) else 1024


@dataclass
class MatmulTemplate(BaseTemplate):
    """`C[M, N] += A[M, K] * B[N, K]`, or `B[K, N]` without `trans_B`, `A[K, M]` with `trans_A`."""

    M: Any = None
    N: Any = None
    K: Any = None
    trans_A: bool = False  # noqa: N815
    trans_B: bool = True  # noqa: N815
    in_dtype: Any = "float16"
    out_dtype: Any = "float16"
    accum_dtype: Any = "float16"
    with_bias: bool = False

    def _program(self) -> PrimFunc:
        rows, columns, depth = self.M, self.N, self.K
        transposed_a, transposed_b, sums = self.trans_A, self.trans_B, self.accum_dtype

        @T.prim_func
        def matmul(
            A: T.Tensor((depth, rows) if transposed_a else (rows, depth), self.in_dtype),
            B: T.Tensor((columns, depth) if transposed_b else (depth, columns), self.in_dtype),
            C: T.Tensor((rows, columns), self.out_dtype),
        ):
            with T.Kernel(rows, T.ceildiv(columns, 128), threads=128) as (i, b):
                for n in T.Parallel(128):
                    total = T.alloc_var(sums, 0)
                    for k in T.serial(depth):
                        a = A[k, i] if transposed_a else A[i, k]
                        w = B[b * 128 + n, k] if transposed_b else B[k, b * 128 + n]
                        total += T.cast(a, sums) * T.cast(w, sums)
                    C[i, b * 128 + n] = total

        return matmul

    def _candidates(self) -> Iterator[tuple[float, Hint]]:
        chip = _chip(self.arch)
        rows, columns, depth = (_extent(e) for e in (self.M, self.N, self.K))
        size = _dtype(self.in_dtype).bytes
        rate = chip.products * 2 // size
        for m, n in itertools.product(_powers(16, 256), repeat=2):
            if m > 2 * rows or n > 2 * columns:
                continue
            for k in _powers(32 // size, 128 // size):
                for warps, (along_m, along_n) in _shares(m, n):
                    stages = min(4, chip.shared_bytes // ((m + n) * k * size), math.ceil(depth / k))
                    if stages < 1 or m * n > _MOST_ACCUMULATORS * warps * 32:
                        continue
                    waves = math.ceil(math.ceil(rows / m) * math.ceil(columns / n) / chip.multiprocessors)
                    # Fewer warps, and a single stage, hide less of what is waited for.
                    idle = (4 / warps if warps < 4 else 1) * (2 if stages == 1 else 1)
                    work = sorted((m * n * depth / rate, (m + n) * depth * size / _BYTES_A_CYCLE))
                    cycles = (work[1] + _OVERLAP * work[0]) * idle + _STEP * math.ceil(depth / k)
                    yield (
                        waves * cycles,
                        Hint(
                            use_tc=True,
                            block=[m, n],
                            warp=[m // along_m, n // along_n],
                            rstep=[k],
                            pipeline_stage=stages,
                            use_async=stages > 1,
                            vectorize={"A_reindex": 16 // size, "B_reindex": 16 // size},
                            rasterization_plan=Rasterization2DColumn(10) if waves > 1 else NoRasterization(),
                        ),
                    )


def _shares(m: int, n: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yields how many warps share a tile, and how many are along each side: tiles of warps are 16 x 8 or more."""
    for warps in (1, 2, 4, 8):
        sides = [(a, warps // a) for a in _powers(1, warps) if m // a >= 16 and n // (warps // a) >= 8]
        if sides:
            yield warps, min(sides, key=lambda side: abs(m / side[0] - n / side[1]))


@dataclass
class GEMVTemplate(BaseTemplate):
    """`C[N] += A[K] * B[N, K]`, or `B[K, N]` without `trans_B`."""

    N: Any = None
    K: Any = None
    trans_B: bool = True  # noqa: N815
    in_dtype: Any = "float16"
    out_dtype: Any = "float16"
    accum_dtype: Any = "float16"
    with_bias: bool = False

    def _program(self) -> PrimFunc:
        columns, depth, transposed_b, sums = self.N, self.K, self.trans_B, self.accum_dtype

        @T.prim_func
        def gemv(
            A: T.Tensor((depth,), self.in_dtype),
            B: T.Tensor((columns, depth) if transposed_b else (depth, columns), self.in_dtype),
            C: T.Tensor((columns,), self.out_dtype),
        ):
            with T.Kernel(T.ceildiv(columns, 128), threads=128) as b:
                for n in T.Parallel(128):
                    total = T.alloc_var(sums, 0)
                    for k in T.serial(depth):
                        w = B[b * 128 + n, k] if transposed_b else B[k, b * 128 + n]
                        total += T.cast(A[k], sums) * T.cast(w, sums)
                    C[b * 128 + n] = total

        return gemv

    def _candidates(self) -> Iterator[tuple[float, Hint]]:
        yield from _reductions(self.arch, [_extent(self.N)], [_extent(self.K)], self.in_dtype)


@dataclass
class ElementwiseTemplate(BaseTemplate):
    """A function of each element of a tensor."""

    shape: Any = None
    dtype: Any = "float16"

    def _program(self) -> PrimFunc:
        count = math.prod(_extent(e) for e in self.shape)

        @T.prim_func
        def elementwise(A: T.Tensor((count,), self.dtype), B: T.Tensor((count,), self.dtype)):
            with T.Kernel(T.ceildiv(count, 1024), threads=128) as b:
                for i in T.Parallel(1024):
                    B[b * 1024 + i] = A[b * 1024 + i] + 1

        return elementwise

    def _candidates(self) -> Iterator[tuple[float, Hint]]:
        yield from _reductions(self.arch, [_extent(e) for e in self.shape], [], self.dtype)


@dataclass
class GeneralReductionTemplate(BaseTemplate):
    """A sum over the dimensions that `structure` marks by R: "SSR" of `shape`."""

    structure: Any = None
    shape: Any = None
    dtype: Any = "float16"

    def __post_init__(self) -> None:
        if len(self.structure or "") != len(self.shape or ()) or set(self.structure or "") - set("SR"):
            raise ArgumentError(
                f"`structure` has an S or an R for each dimension of `shape`, and `{self.structure}` is not of "
                f"{self.shape}",
                location=here(),
            )

    def _parts(self) -> tuple[list[int], list[int]]:
        kept = [_extent(e) for s, e in zip(self.structure, self.shape, strict=True) if s == "S"]
        return kept, [_extent(e) for s, e in zip(self.structure, self.shape, strict=True) if s == "R"]

    def _program(self) -> PrimFunc:
        structure, shape = list(self.structure), [_extent(e) for e in self.shape]
        boxes = self._parts()
        kept, summed = (math.prod(box) for box in boxes)

        @T.prim_func
        def reduction(A: T.Tensor(shape, self.dtype), B: T.Tensor((kept,), self.dtype)):
            with T.Kernel(kept, threads=32) as b:
                total = T.alloc_var("float32", 0)
                for r in T.serial(summed):
                    outer = T.index_to_coordinates(b, boxes[0] or 1)
                    inner = T.index_to_coordinates(r, boxes[1] or 1)
                    place = [outer.pop(0) if s == "S" else inner.pop(0) for s in structure]
                    total += T.cast(A[tuple(place)], "float32")
                B[b] = total

        return reduction

    def _candidates(self) -> Iterator[tuple[float, Hint]]:
        yield from _reductions(self.arch, *self._parts(), self.dtype)


def _reductions(arch: CUDA, kept: Sequence[int], summed: Sequence[int], dtype: Any) -> Iterator[tuple[float, Hint]]:
    """Yields configurations of what tensor cores do not do: which threads are along what, by traffic and waves."""
    chip = _chip(arch)
    size = _dtype(dtype).bytes
    along, inner = kept or [1], math.prod(summed)
    for threads, width in itertools.product(_powers(32, 256), _powers(1, 16 // size)):
        for shared in _powers(1, threads) if summed else [1]:
            own = threads // shared
            tile = own * (1 if summed else width)
            block = [1] * len(along)
            for d in reversed(range(len(along))):
                block[d] = min(tile, 1 << max(along[d] - 1, 0).bit_length())
                tile //= block[d]
            step = min(shared * width, inner)
            blocks = math.prod(math.ceil(e / b) for e, b in zip(along, block, strict=True))
            waves = math.ceil(blocks / (chip.multiprocessors * (2048 // threads)))
            # Neighbouring threads read whole lines of 32 bytes, or what they do not need is read too.
            line = min(32, width * size * (shared if summed else own)) / 32
            cycles = math.prod(block) * inner * size / _BYTES_A_CYCLE / line + _STEP * math.ceil(inner / max(step, 1))
            cycles += 4 * math.prod(block) * inner / (threads * width)  # loads that are issued
            yield (
                waves * cycles * (2048 // threads),
                Hint(
                    block=block,
                    thread=[min(own, block[0])] if len(block) == 1 else [*[1] * (len(block) - 1), min(own, block[-1])],
                    rstep=[*[1] * (len(summed) - 1), step] if summed else [],
                    reduce_thread=[*[1] * (len(summed) - 1), shared] if summed else [],
                    vectorize={"A": width},
                ),
            )
