"""Parts whose lengths only the running kernel knows (semantics T7)."""

import re
import warnings

import numpy as np
import pytest

import tilec
import tilec.language as T
from cut_programs import CASES, REPORTED, check
from tilec.errors import CheckError, DTypeError, ShapeError, TLSyntaxError, UnpipelinedLoopWarning

CHIPS = ["sm_80", "sm_90a"]


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_gpus_take_it_too(name):
    for chip in CHIPS:
        tilec.compile(CASES[name][0], target=chip)


@pytest.mark.parametrize("name", CASES)
def test_checks_report_lengths_that_do_not_fit_and_nothing_else(name):
    found = []

    def run(program, *arguments):
        try:
            tilec.compile(program, target="cpu", checks=True)(*arguments)
        except CheckError as error:
            found.append((error.kind, error.buffer, error.access, error.index, error.extent))

    check(name, run)
    assert found == ([("extents", *REPORTED[name])] if name in REPORTED else [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "from_tensor_to_tensor_1",
            "the slice of `A` has 6 elements along dimension 0, and the other side 29, by block",
        ),
        ("fills_too_long", "the slice of `S` has 13 elements along dimension 0, of which `S` has 9, by block"),
    ],
)
def test_what_a_report_says(name, message):
    program, arguments, results, _ = CASES[name]
    with pytest.raises(CheckError, match=message):
        tilec.compile(program, target="cpu", checks=True)(*arguments, *(result.copy() for result in results))


def test_checks_report_a_tile_at_a_position_that_leaves_its_buffer():
    program, (A, _), (B,), _ = CASES["to_a_position"]
    with pytest.raises(CheckError) as caught:
        tilec.compile(program, target="cpu", checks=True)(A, np.int32([0, 0, 61, 0]), B.copy())
    error = caught.value
    assert (error.buffer, error.access, error.index, error.extent, error.block) == ("S", "slice", 61, 59, (2,))


def test_one_warning_says_which_copy_does_not_run_ahead():
    m = T.dynamic("m")

    def columns(is_alone):
        @T.prim_func
        def f(A: T.Tensor((m, 64), "float16"), C: T.Tensor((m, 64), "float16"), N: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=128):
                S = T.alloc_shared((64, 64), "float16")
                W = T.alloc_shared((64, 64), "float16")
                acc = T.alloc_fragment((64, 64), "float32")
                T.clear(acc)
                for k in T.Pipelined(8, num_stages=3):
                    T.copy(A[k * 64 : k * 64 + 64, 0 : N[0]], S)
                    if not is_alone:
                        T.copy(C[k * 64, 0], W)
                    T.gemm(S, S if is_alone else W, acc)
                T.copy(acc, C)

        with pytest.warns() as warned:
            tilec.compile(f, target="sm_90a")
        return [w for w in warned if issubclass(w.category, UnpipelinedLoopWarning)]

    (alone,) = columns(is_alone=True)
    assert "loop is not pipelined: a slice ends where only the running kernel knows" in str(alone.message)
    (beside,) = columns(is_alone=False)
    assert re.search(r"copy does not run ahead: a slice ends .* give the place where a tile", str(beside.message))
    assert "T.copy(A[k * 64" in str(beside.message)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_checks_let_other_tiles_that_are_copied_by_elements_leave_a_tensor(dtype):
    @T.prim_func
    def f(A: T.Tensor((70, 4), dtype), N: T.Tensor((1,), "int32"), B: T.Tensor((64, 4), "float32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64, 4), "float32")
            array = T.alloc_local((64,), "float32")
            T.copy(A[N[0], 0], S)
            T.copy(S, B)
            T.copy(A[N[0] : N[0] + 64, 2], array)
            T.copy(array, B[0:64, 2])

    A, B = np.ones((70, 4), dtype), np.zeros((64, 4), np.float32)
    tilec.compile(f, target="cpu", checks=True)(A, np.int32([30]), B)
    assert B.sum() == 160


@pytest.mark.parametrize("chip", CHIPS)
def test_rows_of_parts_are_copied_in_words_of_16_bytes(chip):
    m = T.dynamic("m")

    @T.prim_func
    def f(A: T.Tensor((m, 64), "float16"), N: T.Tensor((1,), "int32"), B: T.Tensor((m, 64), "float16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float16")
            T.copy(A[0 : N[0], :], S)
            T.copy(S[0 : N[0], :], B[0 : N[0], :])

    text = tilec.compile(f, target=chip, assembler="none").get_kernel_source()
    words = set(re.findall(r"\b(?:ld|st)\.(?:global|shared)[\w.]*", text))
    assert words == {"ld.global.b32", "ld.shared.v4.b32", "st.global.v4.b32"}
    assert "cp.async.cg.shared.global" in text


def test_parts_that_end_with_their_tensor_are_tiles_for_instructions():
    m = T.dynamic("m")

    @T.prim_func
    def f(A: T.Tensor((m, 64), "float16"), N: T.Tensor((1,), "int32"), B: T.Tensor((m, 64), "float16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float16")
            T.copy(A[0:m, :], S)
            T.copy(S, B[N[0] :, 0:64])

    text = tilec.compile(f, target="cpu").get_mlir()
    assert text.count("tl.copy") == 2
    assert "tl.parallel" not in text


def refused(body):
    """Returns what an error says of a statement about a tensor, tiles and a number of the kernel."""
    with pytest.raises((DTypeError, ShapeError)) as error:

        @T.prim_func
        def f(A: T.Tensor((64, 64), "float32"), Q: T.Tensor((64, 64), "int4"), N: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=32):
                S = T.alloc_shared((64, 64), "float32")
                F = T.alloc_fragment((64,), "float32")
                body(A, Q, S, F, N[0])

    return str(error.value)


NEEDS = r"the extent of this slice of `S` must be positive and known when the kernel is built: .*`T.copy`, `T.fill`"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda A, Q, S, F, n: T.reduce_sum(S[:, 0:n], F), NEEDS),
        (lambda A, Q, S, F, n: T.transpose(S[:, 0:n], S), NEEDS),
        (lambda A, Q, S, F, n: T.gemm(S[:, 0:n], S, S), NEEDS),
        (lambda A, Q, S, F, n: T.atomic_add(S[0:n, 0], 1.0), NEEDS),
        (lambda A, Q, S, F, n: T.atomic_add(A[0:64, 0:64], S[:, 0:n]), NEEDS),
        (lambda A, Q, S, F, n: T.print(S[0, 0:n]), NEEDS),
        (lambda A, Q, S, F, n: T.copy(S, Q[0:n, :]), "the extent of this slice of `Q` must be positive and known"),
        (lambda A, Q, S, F, n: T.clear(Q[0:n, :]), "the extent of this slice of `Q` must be positive and known"),
        (lambda A, Q, S, F, n: T.copy(A[0:n, 0], S), r"from `A\(\?, 1\)` to `S\(64, 64\)`: the extents differ; .*sl"),
        (lambda A, Q, S, F, n: T.copy(A[0:n, 0:32], S), r"from `A\(\?, 32\)` to `S\(64, 64\)`: the extents differ"),
        (lambda A, Q, S, F, n: T.copy(F[3], A[0, n:]), "extents .* are unknown: .*: give the part of the tile"),
        (lambda A, Q, S, F, n: T.copy(A[0, n:], F[3]), r"extents .* are unknown: .*what is left of `A` has no length"),
        (lambda A, Q, S, F, n: T.copy(A[0 : n / 2, :], S), "a bound of a slice of `A` must be an integer.*`//`"),
        (
            lambda A, Q, S, F, n: T.copy(T.view(A, (4096,))[n - 9 : 2 * n], T.view(A, (4096,))[n : 2 * n + 9]),
            "within `A` of a slice whose length is not known .*: copy it to a tile on the chip",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(body, message):
    said = refused(body)
    assert re.search(message, said), said
    assert "test_cuts.py" in said


def test_no_part_is_copied_in_a_parallel_loop():
    with pytest.raises(TLSyntaxError, match="an operation on a tile, stands in a `T.Parallel`.*before or after"):

        @T.prim_func
        def f(A: T.Tensor((64, 64), "float32"), N: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=32):
                S = T.alloc_shared((64, 64), "float32")
                for i in T.Parallel(64):
                    T.copy(A[i, 0 : N[0]], S[i, 0 : N[0]])


def test_parts_of_whole_rows_run_ahead():
    """Rows that are no longer there are zero, as a gather has them."""

    @T.prim_func
    def f(A: T.Tensor((512, 64), "float16"), C: T.Tensor((64, 64), "float32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128):
            S, acc = T.alloc_shared((64, 64), "float16"), T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[k * 64 : T.min(k * 64 + 64, N[0]), :], S)
                T.gemm(S, S, acc, transpose_A=True)
            T.copy(acc, C)

    a = np.random.default_rng(3).integers(-3, 4, (512, 64)).astype(np.float16)
    for chip in ("sm_80", "sm_90a"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnpipelinedLoopWarning)
            kernel = tilec.compile(f, target=chip, backend="sim")
        for n in (512, 301, 64, 1, 0):
            found = np.full((64, 64), np.nan, np.float32)
            kernel(a, found, np.int32([n]))
            rows = a[:n].astype(np.float32)
            np.testing.assert_array_equal(found, rows.T @ rows)
