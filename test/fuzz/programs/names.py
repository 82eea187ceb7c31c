"""Which names of the language programs are drawn with, and where the others are tried."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

from . import printer
from .features import Features
from .generator import sketch
from .program import SHUFFLES, WARP_REDUCTIONS
from .wordings import wordings


@dataclass(frozen=True)
class Left:
    """Names that are not drawn: why, and the file of `test/python` that has programs with each of them."""

    why: str
    where: str
    names: str


LEFT = (
    Left(
        "what programs are made of, rather than what stands in them",
        "test_language_names.py",
        "BaseTileScheduler Buffer DType FragmentBuffer KernelLaunchFrame LocalBuffer SharedBuffer Var "
        "const inline meta_class symbolic tfloat32",
    ),
    Left(
        "what is done while a program is built: the text that is left is of names that are drawn",
        "language_programs.py",
        "Ref dtype macro PersistentTileScheduler",
    ),
    Left("functions that allocate their results", "result_programs.py", "empty"),
    Left("classes that functions return", "test_ops.py", "TensorType"),
    Left("classes that functions return", "test_source_kernels.py", "Module PrimFunc"),
    Left("kernels in CUDA C++, which the CPU cannot run", "test_source_kernels.py", "TensorMap"),
    Left("kernels in CUDA C++, which the CPU cannot run", "test_language_names.py", "CUDASourceCodeKernel"),
    Left("a barrier with a number at which a group only arrives", "pipelines_by_hand.py", "named_barrier_arrive"),
    Left("what says that barriers are made, and does nothing", "test_language_names.py", "ptx_fence_barrier_init"),
    Left(
        "votes, and where a thread is in its warp",
        "warp_programs.py",
        "__ffs __fns activemask all_sync any_sync ballot ballot_sync get_lane_idx get_warp_group_idx get_warp_idx "
        "get_warp_idx_sync match_all_sync match_any_sync sync_warp syncthreads_and syncthreads_count "
        "syncthreads_or",
    ),
    Left(
        "functions whose error has bounds of their own, which are measured",
        "test_functions.py",
        "acos acosh asin atan2 atanh copysign cosh hypot isfinite isinf ldexp sinh tan",
    ),
    Left(
        "functions whose error has bounds of their own, which are measured",
        "test_language_names.py",
        "__cos __exp __exp10 __log __log10 __log2 __sin __tan fast_rcp pow",
    ),
    Left("one over a root, of which `float64` has bounds of its own", "test_ieee.py", "ieee_frsqrt"),
    Left("vectors, which are numbers side by side", "test_lanes.py", "add2 max2 min2 mul2 sub2"),
    Left(
        "vectors, which are numbers side by side",
        "language_programs.py",
        "Broadcast Ramp Shuffle abs2 extract_lane fma2 vectorcombine vectorhigh vectorlow",
    ),
    Left(
        "operations whose result is that of one order, or that wait",
        "atomic_programs.py",
        "atomic_addx2 atomic_addx4 atomic_cas atomic_exchange atomic_load atomic_store",
    ),
    Left("a number that tensors hold, and constants do not", "atomic_programs.py", "infinity"),
    Left("drawn where programs print", "printing_programs.py", "print"),
    Left("what ends in an error", "test_printing.py", "breakpoint device_assert"),
    Left(
        "sequences of random numbers, which are published",
        "language_programs.py",
        "rng_init rng_rand rng_rand_float",
    ),
    Left(
        "short for what is drawn, or a program of such",
        "language_programs.py",
        "__ldg all_of alloc_global any_of evaluate im2col isnan min_value thread_binding transpose",
    ),
    Left(
        "short for what is drawn, or a program of such",
        "test_language_names.py",
        "align_up alloc_reducer assume c2d_im2col dp4a finalize_reducer get_block_extent get_block_extents "
        "get_thread_extents index_to_coordinates max_value reducer_init reducer_update "
        "Vectorized",
    ),
    Left(
        "layouts, which are hints that change nothing; some are drawn",
        "test_language_names.py",
        "Fragment PartialFragment make_full_bank_swizzled_layout make_gemm_fragment_8x8 "
        "make_gemm_fragment_8x8_transposed "
        "make_half_bank_swizzled_layout make_quarter_bank_swizzled_layout make_volta_swizzled_layout "
        "make_wgmma_swizzled_layout",
    ),
    Left("what is chosen before a program is built", "autotuner/test_open.py", "auto"),
    Left(
        "types that are stored and not computed in, whose every number is tried",
        "format_programs.py",
        "float8_e8m0fnu",
    ),
    Left("blocks that wait for each other, in no order that the reference follows", "grid_programs.py", "sync_global"),
    Left("blocks that wait for each other, in no order that the reference follows", "test_grids.py", "sync_grid"),
    Left("other words for steps of a schedule of roles", "test_role_schedules.py", "WSInstr WSOpRef WSSyncKind"),
    Left("functions of users' sources, which the CPU cannot run", "external_programs.py", "import_source"),
    Left("functions of CUDA by their names", "language_programs.py", "call_extern call_pure_extern"),
    Left(
        "tried by the examples of their pages only",
        "../../python/tilec/language/__init__.py",
        "StridedTensorType Struct",
    ),
)


def drawn(count: int) -> set[str]:
    """Returns the names that are in the first `count` programs, each as it is, and in all wordings alone."""
    found = {*SHUFFLES, *WARP_REDUCTIONS}
    for seed in range(count):
        program = sketch(seed, Features(), random.Random(f"{seed}.0"))
        for told in (program, replace(program, wordings=wordings(), aliases={})):
            found |= set(re.findall(r"\bT\.(\w+)", printer.source(told)))
    return found
