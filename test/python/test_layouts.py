"""Layouts as objects: what they say of elements, and what is made of others. To the compiler they are hints (S8)."""

import itertools

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.compat.tilelang import layout as compat
from tilec.errors import ArgumentError, IgnoredHintWarning, RankError, ShapeError


def every(layout):
    return itertools.product(*map(range, layout.shape))


def in_kernel(body):
    @T.prim_func
    def f(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float16")
            body(S)
            T.copy(A, S)
            T.copy(S, B)

    return f


def in_shared_memory(make, shape=(64, 64), dtype="float16"):
    made = []

    @T.prim_func
    def f():
        with T.Kernel(1):
            made.append(make(T.alloc_shared(shape, dtype)))

    return made[0]


def test_places():
    swapped = T.Layout((4, 8), lambda i, j: [j, i])
    assert swapped(1, 2) == swapped.map_forward_index([1, 2]) == [2, 1]
    assert (swapped.get_input_shape(), swapped.get_output_shape()) == ([4, 8], [8, 4])
    assert swapped.is_equal(T.Layout([4, 8], lambda i, j: (j, i)))
    assert not swapped.is_equal(T.Layout([4, 8]))
    assert T.make_linear_layout((4, 8)).map_forward_index([1, 2]) == [1, 2]


def test_parts_of_a_reducer():
    parts = T.PartialFragment((8, 2), forward_thread_fn=lambda i, j, part: i * 4 + part, replicate=4, combine=2)
    assert (parts.combine_size, parts.get_thread_size(), parts.map_forward_index([1, 1])) == (2, 32, [1])
    assert repr(parts) == "a partial fragment of (8, 2) (combine 2 x copy 2)"
    assert T.PartialFragment((8,), lambda i, part: (part, i), replicate=4).combine_size == 4

    with pytest.warns(IgnoredHintWarning, match="annotate_layout"):

        @T.prim_func
        def f(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=32):
                sums, result = T.alloc_reducer((8,), "float32"), T.alloc_fragment((8,), "float32")
                T.annotate_layout({sums: T.PartialFragment((8,), None, lambda i, part: i * 4 + part, 4)})
                T.reducer_init(sums)
                for i, k in T.Parallel(8, 4):
                    T.reducer_update(sums[i], A[i, k])
                T.finalize_reducer(sums, result)
                T.copy(result, B)

    a, b = np.arange(32, dtype=np.float32).reshape(8, 4), np.zeros(8, np.float32)
    tilec.compile(f, target="cpu")(a, b)
    np.testing.assert_array_equal(b, a.sum(1))


def test_layouts_that_are_made_of_others():
    columns = T.Layout((4, 8), lambda i, j: j * 4 + i)
    back = columns.inverse()
    assert (back.shape, back(9)) == ((32,), [1, 2])
    assert all(back(*columns(*at)) == list(at) for at in every(columns))
    assert back.inverse().is_equal(columns)
    flat = columns.reshape((32,))
    assert all(flat(i * 8 + j) == columns(i, j) for i, j in every(columns))
    assert flat.reshape([4, 8]).is_equal(columns)
    wide = columns.repeat(1, 3)
    assert (wide.shape, wide(1, 18)) == ((4, 24), [2, 9])
    assert columns.repeat(-2, 2)(5, 2) == [1, 9]
    stages = columns.expand([3])
    assert (stages.shape, stages(2, 1, 2), stages.get_output_shape()) == ((3, 4, 8), [2, 9], [3, 32])


@pytest.mark.parametrize(
    ("make", "units"),
    [
        (T.make_full_bank_swizzled_layout, 8),
        (T.make_half_bank_swizzled_layout, 4),
        (T.make_quarter_bank_swizzled_layout, 2),
    ],
)
def test_swizzled_layouts(make, units):
    """Each row of a panel has its units of 16 bytes, those of 8 rows in one column of units in different banks."""
    layout = in_shared_memory(make, (2, 16, 128))
    columns = units * 8
    assert layout.get_output_shape() == [2, 128 // columns, 2, 8 * columns]
    layout.inverse()  # one element at each place
    for panel, row in itertools.product(range(128 // columns), range(16)):
        places = [layout(1, row, panel * columns + j) for j in range(columns)]
        assert {tuple(p[:3]) for p in places} == {(1, panel, row // 8)}
        assert {p[3] // columns for p in places} == {row % 8}
        assert all(p[3] % 8 == j % 8 for j, p in enumerate(places))
    banks = [{layout(0, 8 + row, unit * 8)[3] * 2 % 128 for row in range(8)} for unit in range(units)]
    assert all(len(b) == 8 for b in banks)


def test_the_swizzle_that_fits():
    assert in_shared_memory(T.make_swizzled_layout).is_equal(in_shared_memory(T.make_full_bank_swizzled_layout))
    narrow = in_shared_memory(compat.make_swizzled_layout, (64, 32))
    assert narrow.is_equal(in_shared_memory(T.make_half_bank_swizzled_layout, (64, 32)))
    odd = in_shared_memory(T.make_swizzled_layout, (64, 24))
    assert odd.is_equal(T.make_linear_layout((64, 24)))
    half = in_shared_memory(lambda tile: T.make_wgmma_swizzled_layout(tile, 32))
    assert half.is_equal(in_shared_memory(T.make_half_bank_swizzled_layout))
    assert in_shared_memory(T.make_volta_swizzled_layout).get_input_shape() == [64, 64]


def test_fragments():
    held = T.make_gemm_fragment_8x8()
    assert (held.map_forward_thread([1, 2]), held.map_forward_index([1, 3]), held.get_thread_size()) == (5, [1], 32)
    joined = compat.Fragment((8, 8), lambda i, j: (i * 4 + j // 2, j % 2))
    assert joined.is_equal(held)
    assert T.Fragment((8, 8), forward_thread_fn=lambda i, j: i * 4 + j // 2).is_equal(held)
    transposed = T.make_gemm_fragment_8x8_transposed()
    assert all(transposed.map_forward_thread([j, i]) == held.map_forward_thread([i, j]) for i, j in every(held))
    assert not transposed.is_equal(held)
    whole = T.make_fully_replicated_layout_fragment((4, 2), 128)
    assert (whole.map_forward_thread([1, 1], 77), whole.map_forward_index([1, 1])) == (77, [3])
    assert (whole.get_thread_size(), whole.get_output_shape()) == (128, [8])


def test_fragments_that_are_made_of_others():
    held = T.make_gemm_fragment_8x8()
    side_by_side = held.repeat([2, 3])
    assert side_by_side.shape == (16, 24)
    assert side_by_side.map_forward_thread([9, 18]) == held.map_forward_thread([1, 2])
    assert side_by_side.map_forward_index([9, 19]) == [1 + 2 * (1 * 3 + 2)]
    assert held.repeat([2, 3], lower_dim_first=False).map_forward_index([9, 19]) == [1 + 2 * (2 * 2 + 1)]
    of_others = held.repeat([2, 1], repeat_on_thread=True)
    assert (of_others.map_forward_thread([9, 2]), of_others.map_forward_index([9, 3])) == (32 + 5, [1])
    copies = held.replicate(2)
    assert [copies.map_forward_thread([1, 2], c) for c in range(2)] == [5, 37]
    assert copies.replicate(2).map_forward_thread([1, 2], 3) == 3 * 32 + 5
    assert copies.repeat([1, 2], True).map_forward_thread([1, 10], 1) == 64 + 37
    assert held.replicate(1).is_equal(held)
    ignoring = T.Fragment((8, 8), lambda i, j, copy: (i * 4 + j // 2 + copy // 2 * 32, j % 2), replicate=4)
    assert ignoring.condense_rep_var().is_equal(copies)
    assert copies.condense_rep_var() is copies


def test_kernels_take_them_as_hints():
    with pytest.warns(IgnoredHintWarning, match="the compiler chooses where elements lie"):
        f = in_kernel(lambda S: T.annotate_layout({S: T.make_swizzled_layout(S).inverse()}))
    tilec.compile(f, target="cpu")


MISTAKES = {
    "no inverse": (
        ArgumentError,
        "has no inverse: of 4 places 4 are taken, by 8",
        lambda: T.Layout(8, lambda i: i % 4).inverse(),
    ),
    "gaps": (ArgumentError, "of 7 places 4 are taken", lambda: T.Layout(4, lambda i: i * 2).inverse()),
    "rank": (RankError, r"a layout of \(4, 8\) takes 2 indices, and 1 are given", lambda: T.Layout((4, 8))(1)),
    "extent": (ShapeError, "the extents of a layout are positive", lambda: T.Layout((0, 4))),
    "elements": (ShapeError, r"has 32 of them, and \(5,\) is 5", lambda: T.Layout((4, 8)).reshape(5)),
    "dimension": (RankError, "has no dimension 2", lambda: T.Layout((4, 8)).repeat(2, 2)),
    "times": (ArgumentError, "a positive number of times, not 0", lambda: T.Layout((4, 8)).repeat(0, 0)),
    "parts": (
        ArgumentError,
        "`combine` of a `T.PartialFragment` must divide its `replicate`, 8, and 3 does not",
        lambda: T.PartialFragment(32, None, lambda i, part: part, replicate=8, combine=3),
    ),
    "both": (ArgumentError, "needs `forward_fn` or", lambda: T.Fragment(4, lambda i: (i, 0), lambda i: i)),
    "repeats": (ArgumentError, "for each of the 2 dim", lambda: T.make_gemm_fragment_8x8().repeat([2])),
    "copies": (
        ArgumentError,
        "`replicate` .* is positive, not 0",
        lambda: T.Fragment(4, lambda i: (i, 0), replicate=0),
    ),
    "uneven": (
        ArgumentError,
        "its elements are held by 1 to 2 threads",
        lambda: T.Fragment(2, lambda i, c: (i * c, 0), replicate=2).condense_rep_var(),
    ),
    "rows": (
        ShapeError,
        "rows that are a multiple",
        lambda: in_shared_memory(T.make_full_bank_swizzled_layout, (8, 72)),
    ),
    "panel": (ShapeError, "not 16", lambda: in_shared_memory(lambda tile: T.make_wgmma_swizzled_layout(tile, 8))),
    "no tile": (ArgumentError, "whose type it needs", lambda: T.make_swizzled_layout((64, 64))),
    "other elements": (
        ShapeError,
        r"and <shared buffer S \(64, 64\) of float16> has a layout of \(64, 32\)",
        lambda: in_kernel(lambda S: T.annotate_layout({S: T.Layout((64, 32))})),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_refused(mistake):
    error, message, call = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        call()
