"""Names that programs for tile compilers use and that this language does not have, and what is known of each.

`T.name` of such a name raises an `AttributeError` that says whether it belongs to other chips, is the affair of the
compiler here, or is simply not there yet; of any other name it lists those that are written alike.
"""

from __future__ import annotations

from ..errors import suggestion
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_AMD = "is for GPUs of AMD, and kernels here are for GPUs of NVIDIA and for CPUs"
_METAL = "is for GPUs of Apple, and kernels here are for GPUs of NVIDIA and for CPUs"
_BLACKWELL = "needs a chip of `sm_100` or later, for whose instructions there is no code here"
_TVM = "belongs to TVM's own IR, which is not underneath here"
_CHOSEN = (
    "is chosen by the compiler: write the tile operation (`T.copy`, `T.gemm`), and it takes the instruction that fits"
)
_VECTOR = "is for vectors whose length the machine chooses, and lengths are numbers here"
_LAYOUT = "is about where the compiler puts elements, which it chooses by itself"
_ROLES = "schedules roles of warps; say what groups do by `T.ws`, or leave it to the compiler in `T.Pipelined` loops"
_ELEMENT = "is missing: there are no elements of this type"

_GROUPS: dict[str, str] = {
    _AMD: """
        ds_read_tr16_b64 ds_read_tr8_b64 tvm_mfma tvm_mfma_store tvm_rdna_wmma tvm_rdna_wmma_store
        MatrixCoreIntrinEmitter MatrixCorePreshuffleIntrinEmitter WMMAIntrinEmitter""",
    _METAL: """
        cooperative_tensor_fill cooperative_tensor_load cooperative_tensor_store cooperative_tensor_multiply_accumulate
        make_filled_simdgroup_matrix simdgroup_load simdgroup_multiply_accumulate simdgroup_store""",
    _BLACKWELL: """
        alloc_tmem deallocate_tmem tcgen05_gemm tcgen05_mma gemm_blockscaled tcgen05_mma_blockscaled
        tcgen05_gemm_blockscaled tcgen05_gemm_sp
        tcgen05_cp_warpx4 tcgen05_sf_warp_transpose tcgen05_mma_arrive tcgen05_before_thread_sync
        tcgen05_after_thread_sync make_blockscaled_gemm_layout mma_gemm_blockscaled ptx_tcgen05_mma_ss
        ptx_tcgen05_mma_ts ptx_tcgen05_mma_blockscaled_ss ptx_tcgen05_cp ptx_tcgen05_sf_warp_transpose
        ptx_mma_block_scale initialize_tcgen05_descriptor alloc_tcgen05_smem_desc alloc_tcgen05_instruction_desc
        alloc_tcgen05_instr_desc tma_gather4 tma_gather4_bytes tma_scatter4 tma_load_2sm clc_try_cancel
        clc_try_cancel_multicast clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z
        ldg256 stg256 TCGEN05TensorCoreIntrinEmitter TCGEN05DescriptorParams TensorCoreIntrinEmitterSM120
        compute_umma_descriptor""",
    _TVM: """
        call_intrin call_packed call_cpacked call_packed_lowered call_cpacked_lowered call_llvm_intrin
        call_llvm_pure_intrin tvm_access_ptr tvm_throw_last_error tvm_stack_alloca tvm_stack_make_shape
        tvm_stack_make_array tvm_check_return tvm_tuple tvm_struct_set tvm_struct_get tvm_thread_invariant
        tvm_storage_sync tvm_warp_activemask lookup_param q_multiply_shift q_multiply_shift_per_axis
        TVMBackendAllocWorkspace TVMBackendFreeWorkspace start_profile_intrinsic end_profile_intrinsic
        anylist_getitem anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked isnullptr
        undef ret handle_add_byte_offset type_annotation sblock sblock_attr sblock_alloc_buffer block_attr block
        func_attr bind buffer_store decl_buffer launch_thread env_thread Assert region has_let_value
        get_let_value""",
    _CHOSEN: """
        tma_load create_tma_descriptor
        ptx_cp_async_bulk ptx_cp_async_barrier
        ptx_ldmatrix ptx_mma ptx_mma_sm70 ptx_mma_sp ptx_wgmma_ss ptx_wgmma_rs ptx_wgmma_sp_ss ptx_wgmma_sp_rs
        mma_fill mma_store tvm_mma_sync tvm_bmma_sync tvm_load_matrix_sync tvm_store_matrix_sync tvm_fill_fragment
        initialize_wgmma_descriptor increase_descriptor_offset alloc_descriptor alloc_wgmma_desc
        TensorCoreIntrinEmitter TensorCoreIntrinEmitterWithLadderTransform SparseTensorCoreIntrinEmitter
        WGMMATensorCoreIntrinEmitter WGSparseTensorCoreIntrinEmitter WGMMADescriptorParams compute_gmma_descriptor
        get_ldmatrix_offset get_mma_micro_size mma_store_index_map""",
    _VECTOR: "vscale",
    _LAYOUT: """
        make_tcgen05mma_swizzled_layout make_cutlass_metadata_layout get_swizzle_layout make_mma_swizzle_layout
        SwizzleMode""",
    _ROLES: """
        annotate_ws_pipeline_depth
        """,
    "is called `T.print` here, which prints values, tiles, tensors and texts, and may stand in an `if`": """
        print_var print_var_with_condition print_msg print_global_buffer_with_condition
        print_shared_buffer_with_condition print_fragment_buffer_with_condition print_local_buffer_with_condition""",
    "is an annotation, as in `x: T.let[T.int32] = i * 2`, and no function: write `x = i * 2`": "let",
    "is a statement of TVM's script: write `x = i * 2`": "Let LetStmt",
    _ELEMENT: "float4_e2m1_unpacked float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3b11fnuz",
}

_TRITON = {
    "is called `with T.Kernel(...) as b` here, and `b` is the number": "program_id num_programs",
    "is called `T.copy` here, between a tensor and a tile; `A[i, j]` is one element": "load store",
    "is called `T.if_then_else` here": "where",
    "is the loop `for i in T.Parallel(n)` here, and `i` the numbers": "arange",
    "is called `T.gemm(A, B, C)` here, which adds to the tile `C`": "dot matmul",
    "is made of two here: `T.alloc_fragment` and `T.clear` or `T.fill`": "zeros full zeros_like ones",
    "is called `T.reduce_sum(tile, out)` here": "sum",
    "is `T.reduce_sum(tile, out)` here, divided by how many there are": "mean reduce_mean",
    "is made of `T.reduce_max`, `T.exp` of each element and `T.reduce_sum` here": "softmax",
    "is `T.max(x, 0)` here": "relu",
    "is called `T.serial` here, or `T.Pipelined` with stages": "range",
    "is called `T.unroll` here": "static_range",
    'is called `T.dynamic("m")` here': "dyn",
}
"""What names of Triton, and of documentation, are called here."""

_COUNTERPARTS = {name: reason for reason, names in _TRITON.items() for name in names.split()}

REASONS: dict[str, str] = {name: reason for reason, names in _GROUPS.items() for name in names.split()}
"""Why a name is not there."""

OTHER_CHIPS = frozenset(name for name, reason in REASONS.items() if reason in (_AMD, _METAL, _BLACKWELL))
"""Names of things that no chip has that kernels here are for."""


def why(name: str) -> str | None:
    """Returns what is known of a name that is not there, if anything is."""
    if found := REASONS.get(name) or _COUNTERPARTS.get(name):
        return found
    from ..dtypes import written_out

    if found := written_out(name):
        return f"is called `T.{found.name}` here"
    stem, _, lanes = name.rpartition("x")
    return REASONS.get(stem) if lanes.isdigit() else None


def message(name: str, present: Iterable[str]) -> str:
    """Returns what to say of a name that is not there."""
    reason = why(name)
    if reason is not None:
        return f"`T.{name}` {reason}"
    return f"there is no `T.{name}`{suggestion(name, present, 'T.')}"
