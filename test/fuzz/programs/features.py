"""What programs may contain. All of it by default; what is known to be broken can be left out."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Features:
    """Each switch names a part of the language that programs use."""

    floats: bool = True
    """Floats of any type; without them all results are integers, bools and copies."""
    small_floats: bool = True
    """Tensors and tiles of floats of 8 bits, those that are only stored among them."""
    four_bits: bool = True
    """Tensors and tiles of numbers of 4 bits."""
    float64: bool = True
    unsigned: bool = True
    bools: bool = True
    special_values: bool = True
    """NaN, infinities, negative zero, and the ends of integer types."""
    wide_integers: bool = True
    """Values of the whole range, so that arithmetic wraps."""
    division: bool = True
    """`//` and `%` by values that may be zero or negative."""
    mixed_types: bool = True
    """Operands of two types, such as a signed and an unsigned integer, of which the language converts one."""
    shifts: bool = True
    functions: bool = True
    """exp, log, sin, and so on."""
    roundings: bool = True
    """`T.ieee_add` and its kin, in each direction."""
    dynamic: bool = True
    """Extents that are known when a kernel is called."""
    computed_extents: bool = True
    """Extents of which a symbol follows that is none itself, such as `m * 4 + 1`."""
    strides: bool = True
    """Tensors with memory between their rows."""
    misaligned: bool = True
    """Tensors that do not begin at an aligned address."""
    odd_threads: bool = True
    """Blocks that are not whole warps, or not a power of two of them."""
    local_arrays: bool = True
    variables: bool = True
    branches: bool = True
    inner_loops: bool = True
    """Loops inside of `T.Parallel`."""
    while_loops: bool = True
    jumps: bool = True
    """`break` and `continue` under a condition of the kernel."""
    scans: bool = True
    """`T.cumsum` and `T.cummax`."""
    bit_reductions: bool = True
    fragments_anywhere: bool = True
    """Fragments read at other indices than the loop's own."""
    computed_indices: bool = True
    wide_indices: bool = True
    """Indices of 64 bits."""
    words: bool = True
    """Elements that are read with their neighbours, by `T.ldg32` and its kin."""
    read_modify_write: bool = True
    several_stores: bool = True
    """Parallel loops that write more than one buffer."""
    reductions: bool = True
    one_dimensional_reductions: bool = True
    gemms: bool = True
    odd_gemms: bool = True
    """Tiles of gemms that no matrix instruction fits."""
    slices_of_factors: bool = True
    """Operands of gemms that are slices of larger tiles."""
    register_operands: bool = True
    """Left operands of gemms that are fragments."""
    sparse_products: bool = True
    """`T.gemm_sp`."""
    pipelines: bool = True
    large_products: bool = True
    """Loops over tiles with pipelined loops in them that are large enough for threads which only copy; they need 160 KB
    of shared memory."""
    loops_in_turn: bool = True
    """Pipelined loops behind each other over the same tiles."""
    late_products: bool = True
    """Pipelined loops of two products, the second one of what is made of the first."""
    placed_copies: bool = True
    """Copies in a pipelined loop to a place that depends on the index."""
    tables: bool = True
    """Tiles of tensors that begin where an element of another tensor says."""
    gathers: bool = True
    """Rows of tensors that a parallel loop copies into a shared tile, from where a table or arithmetic says."""
    partial_copies: bool = True
    cuts: bool = True
    """Slices that end where only the running kernel knows."""
    indexed_dimensions: bool = True
    """Tiles of tensors that are indexed between the dimensions of the tile."""
    transposed_copies: bool = True
    element_stores: bool = True
    """Assignments to elements in the body of a kernel."""
    atomics: bool = True
    """Operations of integers whose order does not matter, on elements that iterations and blocks share."""
    thread_bindings: bool = True
    thread_sequences: bool = True
    """Statements of threads that follow each other, with arrays of their own."""
    thread_boxes: bool = True
    """Blocks of two or three dimensions."""
    shuffles: bool = True
    """Values that go from lane to lane of a warp, and what its threads, or those of the block, have together."""
    barriers: bool = True
    """`T.sync_threads`, which says nothing that statements do not."""
    clusters: bool = True
    """Blocks that reach into each other's shared memory, which chips have from `sm_90` on."""
    several_kernels: bool = True
    global_feedback: bool = True
    """Reading back, in a kernel, what it wrote to device memory."""
    in_place: bool = True
    """Tensors of which each block changes a part."""
    unrolled: bool = True
    converting_copies: bool = True
    ordered_blocks: bool = True
    """`T.use_swizzle`."""
    empty_tensors: bool = True
    """Extents of zero."""
    persistent: bool = True
    """`T.Persistent` around statements of any kind."""
    wordings: bool = True
    """Programs in other words that mean the same: pointers, views, the names of other compilers, hints."""
    literals: bool = True
    """Programs by TileLang's names, where Python's numbers have types of their own."""
    aliases: bool = True
    """Tensors that are also reached at their addresses, by a second name, perhaps of memory of another width."""
    outside: bool = True
    """`T.annotate_safe_value` with numbers that are not zero."""
    pipelines_by_hand: bool = True
    """Groups of threads that fill slots of rings and use them, and wait for each other at barriers."""
    by_hand_alone: bool = False
    """Nothing but such kernels."""
    slots: bool = True
    """Shared tiles that are slots of larger ones."""
    tiles_of_loops: bool = True
    """Tiles that are allocated in a loop."""

    def without(self, names: list[str]) -> Features:
        """Returns the features without those named."""
        known = {f.name for f in fields(self)}
        for name in names:
            if name not in known:
                raise SystemExit(f"there is no feature `{name}`; known are {', '.join(sorted(known))}")
        return replace(self, **dict.fromkeys(names, False))
