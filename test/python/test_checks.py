"""Checked programs: what they report, that it is all, and that they mean the same (semantics K1 to K3)."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from checked_programs import check, mistaken
from tilec import _tl
from tilec.backends import sim
from tilec.errors import CheckError, TargetError, UncheckedReadsWarning

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = {case.name: case for case in mistaken()}


@pytest.fixture
def only_its_own_checks():
    """The simulator has checks as well, which would end a call before those of the program are asked."""
    sim.set_options(checks=False)
    yield
    sim.set_options()


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim"), ("sm_90a", "sim")])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("only_its_own_checks")
def test_a_mistake_is_reported(name, target, backend):
    case = CASES[name]
    kernel = tilec.compile(case.function, target=target, backend=backend, checks=True)
    with pytest.raises(CheckError) as caught:
        kernel(*case.arguments)
    check(case, caught.value)


@pytest.mark.parametrize("name", CASES)
def test_the_same_mistake_does_no_harm_without_checks(name):
    case = {c.name: c for c in mistaken()}[name]
    tilec.compile(case.function, target="cpu")(*case.arguments)
    if name in ("read_of_a_tensor", "write_to_a_tensor", "run_time_extent", "wide_index", "division"):  # have a meaning
        for number, values in case.after.items():
            np.testing.assert_array_equal(case.arguments[number], values)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_checked_programs_compile_for_gpus(name, chip):
    kernel = tilec.compile(CASES[name].function, target=chip, assembler="none", checks=True)
    assert kernel.is_checked
    assert kernel.compile_info["checks"]


# Programs without a mistake.


def gemm(size, dtype="float16"):
    @T.prim_func
    def product(
        A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), "float32")
    ):
        with T.Kernel(T.ceildiv(size, 64), T.ceildiv(size, 64), threads=128) as (bx, by):
            As = T.alloc_shared((64, 32), dtype)
            Bs = T.alloc_shared((32, 64), dtype)
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(size, 32), num_stages=3):
                T.copy(A[by * 64, k * 32], As)
                T.copy(B[k * 32, bx * 64], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 64, bx * 64])

    return product


def test_a_pipelined_gemm_with_ragged_tiles_is_clean():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (2, 100, 100)).astype(np.float16)
    c = np.zeros((100, 100), np.float32)
    kernel = tilec.compile(gemm(100), target="cpu", checks=True)
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    # All of it can be seen: nothing is asked at run time.
    assert kernel.compile_info["checks"] == []


def test_rows_of_a_softmax_are_clean():
    @T.prim_func
    def softmax(X: T.Tensor((T.dynamic("m"), 96), "float32"), Y: T.Tensor((T.dynamic("m"), 96), "float32")):
        with T.Kernel(T.ceildiv(X.shape[0], 4), threads=64) as bx:
            x = T.alloc_fragment((4, 96), "float32")
            top = T.alloc_fragment((4,), "float32")
            total = T.alloc_fragment((4,), "float32")
            T.copy(X[bx * 4, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(4, 96):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(4, 96):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * 4, 0])

    x = np.random.default_rng(0).standard_normal((10, 96)).astype(np.float32)
    y = np.zeros_like(x)
    tilec.compile(softmax, target="cpu", checks=True)(x, y)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_what_is_not_chosen_is_clean():
    """Neither the element in front of the first one nor the division by zero is something that the program does."""

    @T.prim_func
    def chosen(d: T.int32, A: T.Tensor((64,), "int32"), B: T.Tensor((3, 64), "int32")):
        with T.Kernel(1, threads=64):
            v = T.alloc_var("int32")
            v = d
            for i in T.Parallel(64):
                B[0, i] = T.if_then_else(i > 0, A[i - 1], 7)
                B[1, i] = 100 // v if v != 0 else 5
                B[2, i] = T.if_then_else(v != 0 and A[i // v] > 0, 1, 2)

    a, b = np.arange(64, dtype=np.int32), np.zeros((3, 64), np.int32)
    for target, backend in (("cpu", "auto"), ("sm_90a", "sim")):
        tilec.compile(chosen, target=target, backend=backend, checks=True)(0, a, b)
        np.testing.assert_array_equal(b, [[7, *range(63)], [5] * 64, [2] * 64])


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim"), ("sm_90a", "sim")])
@pytest.mark.parametrize("sign", [1, 0])
def test_choices_of_the_block_in_statements_of_threads_are_clean(target, backend, sign):
    """What either side asks of the block is asked in the threads' statement, and only if it is chosen."""

    @T.prim_func
    def chosen(A: T.Tensor((64,), "int32"), B: T.Tensor((6, 64), "int32"), n: T.int32):
        with T.Kernel(1, threads=(32, 2)):
            t = T.get_thread_binding() + 32 * T.get_thread_binding(1)
            S, R = T.alloc_shared((64,), "int32"), T.alloc_local((4,), "int32")
            v = T.alloc_var("int32")
            T.copy(A, S)
            R[1] = 3
            v = T.if_then_else(A[0] > 0, t, R[n] + t // n)
            B[0, t] = T.if_then_else(A[0] > 0, 0, t + 10 // n)
            B[1, t] = T.if_then_else(A[0] > 0, S[t], t + A[A[n]] + S[A[n + 1]])
            B[2, t] = T.if_then_else(A[0] > 0 and S[A[1] - 9] > 0, S[1], t + R[n])
            B[3, t] = v
            B[4, t] = 1 + T.if_then_else(n > 0, T.if_then_else(S[n] > 2, t, S[n + 4]), t + A[n])
            B[5, t] = T.if_then_else(n > 0, S[S[n + 1]] * 2, t)

    a = np.arange(64, dtype=np.int32) + (10 if sign else -10)
    a[0] = sign
    a[1:4] = 10, 12, 14
    n, t = (0 if sign else 1), np.arange(64)
    b = np.zeros((6, 64), np.int32)
    tilec.compile(chosen, target=target, backend=backend, checks=True)(a, b, n)
    expected = (
        [0 * t, a, 0 * t + a[1], t, 1 + t + 1, t] if sign
        else [t + 10, t + a[10] + a[12], t + 3, 3 + t, 1 + t, 0 * t + 2 * a[12]]
    )  # fmt: skip
    np.testing.assert_array_equal(b, expected)


def test_what_is_guarded_is_clean():
    @T.prim_func
    def guarded(n: T.int32, A: T.Tensor((100,), "int32"), B: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((128,), "int32")
            v = T.alloc_var("int32")
            for i in T.Parallel(128):
                if i < 100:
                    S[i] = A[i]
            for i in T.Parallel(128):
                B[i] = T.if_then_else(i < 100, S[i], 5)
                if B[i] != 0:
                    B[i] = 100 // B[i]
            v = 0
            for _ in T.serial(n):
                v = v + 1
            B[v] = v

    a, b = np.arange(100, dtype=np.int32), np.zeros(128, np.int32)
    tilec.compile(guarded, target="cpu", checks=True)(9, a, b)
    expected = np.array([100 // x if x else 0 for x in a] + [20] * 28)
    expected[9] = 9
    np.testing.assert_array_equal(b, expected)


def test_a_ragged_store_does_not_read_what_it_drops():
    @T.prim_func
    def ragged(B: T.Tensor((60,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((64,), "float32")
            for i in T.Parallel(60):
                S[i] = i
            T.copy(S, B[0])

    b = np.zeros(60, np.float32)
    tilec.compile(ragged, target="cpu", checks=True)(b)
    np.testing.assert_array_equal(b, np.arange(60))


def test_elements_may_leave_a_tensor_as_a_tile_of_a_copy_may():
    @T.prim_func
    def ragged(A: T.Tensor((T.dynamic("n"), 30), "float32"), B: T.Tensor((T.dynamic("n"), 30), "float32")):
        with T.Kernel(T.ceildiv(A.shape[0], 16), 2, threads=64) as (bx, by):
            for i, j in T.Parallel(16, 20):
                B[bx * 16 + i, by * 20 + j] = A[bx * 16 + i, j + by * 20] + 1.0

    a = np.arange(41 * 30, dtype=np.float32).reshape(41, 30)
    b = np.zeros_like(a)
    tilec.compile(ragged, target="cpu", checks=True)(a, b)
    np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize(("origin", "step"), [(1, 16), (-1, 16), (0, 17), (48, 16)])
def test_elements_that_are_no_tile_may_not(origin, step):
    @T.prim_func
    def shifted(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            for i in T.Parallel(16):
                B[bx * 16 + i] = A[bx * step + i + origin]

    with pytest.raises(CheckError, match="`A` is read"):
        tilec.compile(shifted, target="cpu", checks=True)(np.zeros(32, np.float32), np.zeros(32, np.float32))


def test_what_was_written_in_another_turn_of_a_loop_is_written():
    @T.prim_func
    def turns(B: T.Tensor((4, 32), "float32")):
        with T.Kernel(1, threads=32):
            for k in T.serial(4):
                S = T.alloc_shared((32,), "float32")
                if k == 0:
                    T.fill(S, 1.0)
                for i in T.Parallel(32):
                    B[k, i] = S[i]

    b = np.zeros((4, 32), np.float32)
    tilec.compile(turns, target="cpu", checks=True)(b)
    assert (b == 1).all()


# How they are asked for, and what comes with them.


@T.prim_func
def halves(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(4):
            B[i] = 12 // A[i]


def arrays():
    return np.array([1, 2, 0, 3], np.int32), np.zeros(4, np.int32)


def test_the_message_says_what_where_and_who():
    with pytest.raises(CheckError) as caught:
        tilec.compile(halves, target="cpu", checks=True)(*arrays())
    place, line, caret = str(caught.value).splitlines()
    assert place.endswith("an integer is divided by zero, by iteration (2,) in block (0,) of kernel `halves_kernel`")
    assert "test_checks.py" in place
    assert line.strip() == "B[i] = 12 // A[i]"
    assert line[caret.index("^") :].startswith("12")


def test_a_divisor_that_is_seen_to_be_zero_is_reported():
    @T.prim_func
    def program(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i] = 12 // (A[i] << 98)

    with pytest.raises(CheckError, match="an integer is divided by zero"):
        tilec.compile(program, target="cpu", checks=True)(*arrays())


def test_a_kernel_reports_each_time_and_can_be_called_again():
    kernel = tilec.compile(halves, target="cpu", checks=True)
    for _ in range(2):
        with pytest.raises(CheckError):
            kernel(*arrays())
    a, b = np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)
    kernel(a, b)
    assert b.tolist() == [12, 6, 4, 3]


@pytest.mark.usefixtures("cache_on")
def test_checked_kernels_have_keys_of_their_own(monkeypatch):
    plain = tilec.compile(halves, target="cpu")
    checked = tilec.compile(halves, target="cpu", checks=True)
    assert plain is not checked
    assert plain.compile_info["kernels"][0]["key"] != checked.compile_info["kernels"][0]["key"]
    plain(*arrays())
    monkeypatch.setenv("TL_CHECKS", "1")
    assert tilec.compile(halves, target="cpu") is checked
    assert tilec.compile(halves, target="cpu", checks=False) is plain


def test_jit_functions_follow_option_and_environment(monkeypatch):
    @tilec.jit(target="cpu")
    def quotient(A: T.Tensor((4,), T.int32), B: T.Tensor((4,), T.int32)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i] = 12 // A[i]

    quotient(*arrays())
    monkeypatch.setenv("TL_CHECKS", "1")
    with pytest.raises(CheckError):
        quotient(*arrays())
    monkeypatch.setenv("TL_CHECKS", "0")
    quotient(*arrays())
    with pytest.raises(CheckError):
        quotient.with_options({"checks": True})(*arrays())


def test_results_are_returned_and_the_outputs_of_a_failing_call_are_complete():
    kernel = tilec.compile(halves, out_idx=1, target="cpu", checks=True)
    assert kernel(np.array([1, 2, 3, 4], np.int32)).tolist() == [12, 6, 4, 3]
    a, b = arrays()
    with pytest.raises(CheckError):
        tilec.compile(halves, target="cpu", checks=True)(a, b)
    assert b.tolist() == [12, 6, 0, 4]


def test_many_reports_at_once_give_one_that_is_whole():
    @T.prim_func
    def all_wrong(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(500, threads=64) as bx:
            for i in T.Parallel(64):
                B[i] = A[i + 64 * (bx + 1)]

    kernel = tilec.compile(all_wrong, target="cpu", checks=True)
    for _ in range(20):
        with pytest.raises(CheckError) as caught:
            kernel(np.zeros(64, np.int32), np.zeros(64, np.int32))
        error = caught.value
        assert error.index == error.iteration[0] + 64 * (error.block[0] + 1)


def test_blocks_that_report_at_the_same_time_are_no_race_of_the_simulator():
    @T.prim_func
    def main(N: T.Tensor((1,), "int32"), C: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=32) as bx:
            S = T.alloc_shared((8,), "int32")
            T.clear(S)
            S[N[0]] = 1
            C[bx] = S[0]

    kernel = tilec.compile(main, target="sm_90a", backend="sim", checks=True)
    with pytest.raises(CheckError, match=r"`S` is written at index 8"):
        kernel(np.array([8], "int32"), np.zeros(2, "int32"))


def test_checked_kernels_are_not_exported(tmp_path):
    kernel = tilec.compile(halves, target="cpu", checks=True)
    for export in (kernel.export_sources, kernel.export_library):
        with pytest.raises(TargetError, match="compiled with checks.*`checks=False`"):
            export(tmp_path)


def test_tiles_without_room_for_notes_are_named():
    @T.prim_func
    def large(B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((200, 256), "float32")
            for i in T.Parallel(128):
                S[i, 0] = 1.0
            for i in T.Parallel(1):
                B[i] = S[i, 0]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tilec.compile(large, target="sm_90a", assembler="none", checks=True)
    said = [w for w in caught if w.category is UncheckedReadsWarning]
    assert len(said) == 1
    assert "reads of `S` are not checked" in str(said[0].message)
    b = np.zeros(1, np.float32)
    tilec.compile(large, target="cpu", checks=True)(b)


# On the CPU nothing that a program does ends the process.


@pytest.mark.parametrize("mode", ["plain", "checked"])
def test_no_program_ends_the_process(mode):
    script = Path(__file__).with_name("hazards.py")
    done = subprocess.run([sys.executable, str(script), mode], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "alive"


def test_a_report_names_the_kernel_that_it_is_of():
    @T.prim_func
    def two(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1, threads=32):
            A[0] = 8 // n
        with T.Kernel(1, threads=32):
            A[1] = 8 // (n - 1)

    kernel = tilec.compile(two, target="cpu", checks=True)
    for n, name in ((0, "two_kernel"), (1, "two_kernel_0")):
        with pytest.raises(CheckError) as caught:
            kernel(np.zeros(8, np.int32), n)
        assert caught.value.kernel == name


# Tensors that overlap (M5).


@T.prim_func
def doubled(A: T.StridedTensor((T.dynamic("m"), 8), (T.dynamic("s"), 1), "float32"),
            B: T.StridedTensor((T.dynamic("m"), 8), (T.dynamic("s"), 1), "float32"),
            C: T.StridedTensor((T.dynamic("m"), 8), (T.dynamic("s"), 1), "float32")):  # fmt: skip
    with T.Kernel(A.shape[0], threads=32) as bx:
        for j in T.Parallel(8):
            C[bx, j] = A[bx, j] + B[bx, j]


def _parts():
    memory = np.zeros((8, 16), np.float32)
    return memory[:4, :8], memory[:4, 8:], memory[4:, :8], memory[1:5, :8], memory[:4, 1:9]


OVERLAPS = {
    "one tensor twice": lambda a, right, below, shifted, moved: (a, right, a),
    "rows in common": lambda a, right, below, shifted, moved: (right, shifted, a),
    "columns in common": lambda a, right, below, shifted, moved: (moved, right, a),
}


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim"), ("sm_90a", "sim")])
@pytest.mark.parametrize("name", OVERLAPS)
def test_a_tensor_that_is_written_and_overlaps_another_is_reported(name, target, backend):
    kernel = tilec.compile(doubled, target=target, backend=backend, checks=True)
    tensors = OVERLAPS[name](*_parts())
    tensors[0][...] = 1
    before = [t.copy() for t in tensors]
    with pytest.raises(CheckError, match=r"`C` is written, and shares memory with `[AB]`") as caught:
        kernel(*tensors)
    error = caught.value
    assert (error.kind, error.kernel, error.buffer, error.access) == ("overlap", "doubled", "C", "write")
    assert error.other == ("B" if name == "rows in common" else "A")
    for tensor, values in zip(tensors, before, strict=True):  # the call was not made
        np.testing.assert_array_equal(tensor, values)


def test_tensors_between_each_other_do_not_overlap():
    a, right, below, _, _ = _parts()
    a[...] = 1
    right[...] = 2
    tilec.compile(doubled, target="cpu", checks=True)(a, right, below)
    np.testing.assert_array_equal(below, np.full((4, 8), 3))


def test_tensors_that_are_only_read_may_overlap():
    a, _, below, shifted, _ = _parts()
    tilec.compile(doubled, target="cpu", checks=True)(a, a, below)
    with pytest.raises(CheckError, match="shares memory with `B`"):
        tilec.compile(doubled, target="cpu", checks=True)(a, shifted, below)  # row 4 of `shifted` is that of `below`


def test_nobody_asks_for_overlaps_without_checks(monkeypatch):
    a, right, *_ = _parts()
    monkeypatch.setattr("tilec._tl.find_overlap", None)
    tilec.compile(doubled, target="cpu", checks=False)(a, right, a)


def test_overlaps_are_found_as_numpy_finds_them():
    rng = np.random.default_rng(0)
    memory = np.zeros(256, np.uint8)
    parameters = (("A", True, False), ("B", True, True))
    found = 0
    for _ in range(4000):
        a, b = (_anywhere(rng, memory) for _ in range(2))
        shares = np.shares_memory(a, b)
        assert (_tl.find_overlap((a, b), parameters) == (0, 1)) == shares, (a.strides, a.shape, b.strides, b.shape)
        found += shares
    assert 400 < found < 3600, "both are tried"


def _anywhere(rng, memory):
    """Returns a tensor of any strides in memory."""
    dtype = rng.choice([np.int8, np.int16, np.float32])
    size = np.dtype(dtype).itemsize
    shape = rng.integers(1, 5, rng.integers(0, 4))
    strides = rng.integers(0, 12, len(shape)) * size
    reach = int(((shape - 1) * strides).sum()) + size
    start = int(rng.integers(0, len(memory) - reach + 1) if reach < len(memory) else 0) // size * size
    whole = np.lib.stride_tricks.as_strided(np.frombuffer(memory, dtype, 1, start), shape, strides)
    return whole[tuple(slice(None, None, -1) if rng.random() < 0.3 else slice(None) for _ in shape)]
