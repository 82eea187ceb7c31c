"""`tilelang.transform`: the keys of pass configurations. The passes themselves are TVM's, and are not here."""

from __future__ import annotations

import enum

from ....typed import TYPE_CHECKING
from ..absent import missing
from .simplify import simplify_prim_func as simplify_prim_func

if TYPE_CHECKING:
    from typing import Any

_TL = """
    SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS
    SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL
    SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS DISABLE_BUFFER_INIT_CHECK DISABLE_DATA_RACE_CHECK
    DISABLE_PRELOWER_SEMANTIC_CHECK DISABLE_WARP_SPECIALIZED ENABLE_FAST_MATH PTXAS_REGISTER_USAGE_LEVEL
    DEVICE_COMPILE_FLAGS EMIT_LINE_DIRECTIVES CONFIG_INDEX_BITWIDTH ENABLE_REDUCER_PLAN_VERBOSE LAYOUT_COST_MODEL
    REDUCER_FORCE_BASELINE DISABLE_TMA_LOWER DISABLE_VECTORIZE_256 ENABLE_FP32X2_REDUCTION ENABLE_ASYNC_COPY
    ENABLE_LOWER_LDGSTG ENABLE_LOWER_LDGSTG_PREDICATED ENABLE_VECTORIZE_PLANNER_VERBOSE DISABLE_WGMMA
    DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE DISABLE_SHARED_MEMORY_REUSE
    DISABLE_SHUFFLE_ELECT DISABLE_LOOP_UNSWITCHING LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE
    IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS DISABLE_THREAD_STORAGE_SYNC FORCE_LET_INLINE AST_PRINT_ENABLE
    LAYOUT_VISUALIZATION_ENABLE LAYOUT_VISUALIZATION_FORMATS STORAGE_REWRITE_DETECT_INPLACE
    DISABLE_OUT_OF_BOUND_WARNING ENABLE_DUMP_IR PASS_PROFILE PASS_PROFILE_THRESHOLD_MS"""
"""Keys whose value is "tl." and their name in small letters."""

_OTHERS = {
    "TL_SIMPLIFY": "tl.Simplify",
    "TL_SIMPLIFY_ENABLE_LET_INLINE": "enable_simplify_let_inline",
    "TL_DISABLE_SAFE_MEMORY_ACCESS": "tl.disable_safe_memory_legalize",
    "TL_DUMP_IR_DIR": "tl.dump_ir_path",
    "TL_DISABLE_DYNAMIC_TAIL_SPLIT": "tl.disable_dynamic_tail_split",
    "TL_DYNAMIC_ALIGNMENT": "tl.dynamic_alignment",
    "TIR_ENABLE_EQUIV_TERMS_IN_CSE": "tir.enable_equiv_terms_in_cse_tir",
    "TIR_DISABLE_CSE": "tirx.disable_cse_tir",
    "TIR_SIMPLIFY": "tirx.Simplify",
    "TIR_DISABLE_STORAGE_REWRITE": "tirx.disable_storage_rewrite",
    "TIR_DISABLE_VECTORIZE": "tirx.disable_vectorize",
    "TIR_USE_ASYNC_COPY": "tirx.use_async_copy",
    "TIR_ENABLE_DEBUG": "tirx.enable_debug",
    "TIR_MERGE_STATIC_SMEM": "tirx.merge_static_smem",
    "TIR_ADD_LOWER_PASS": "tirx.add_lower_pass",
    "TIR_NOALIAS": "tirx.noalias",
    "CUDA_KERNELS_OUTPUT_DIR": "cuda.kernels_output_dir",
}


def _value(name: str) -> str:
    in_simplify = name.startswith("SIMPLIFY_")
    return name.removeprefix("SIMPLIFY_").lower() if in_simplify else f"tl.{name.lower()}"


_KEYS = {**{f"TL_{name}": _value(name) for name in _TL.split()}, **_OTHERS}

if TYPE_CHECKING:

    class PassConfigKey(str, enum.Enum):
        """The names of pass configurations."""

        TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
        TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
        TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
        TL_DUMP_IR_DIR = "tl.dump_ir_path"
else:
    PassConfigKey = enum.Enum("PassConfigKey", _KEYS, type=str, module=__name__)
    PassConfigKey.__doc__ = """The names of pass configurations; a text of the same value means the same.

    `TL_ENABLE_FAST_MATH`, `TL_DEVICE_COMPILE_FLAGS`, `TL_ENABLE_DUMP_IR` and `TL_DUMP_IR_DIR` have an effect here.
    """


def __getattr__(name: str) -> Any:
    raise missing(f"tilelang.transform.{name}", globals())
