"""What kernels print, assert and stop at: the same on the CPU and in the simulator (semantics D1 to D4)."""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from printing_programs import cases, check
from tilec import debug, prints
from tilec.backends import sim
from tilec.errors import (
    ArgumentError,
    CheckError,
    CompileError,
    DeviceAssertError,
    IgnoredHintWarning,
    ShapeError,
    SimulationError,
    TargetError,
    TLSyntaxError,
)

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = [case.name for case in cases()]
PLACES = {"cpu": {"target": "cpu"}, "sim_80": {"target": "sm_80", "backend": "sim"}, "sim_90": {"backend": "sim"}}


@pytest.fixture(params=PLACES)
def place(request):
    return PLACES[request.param]


def printed(kernel, *arguments):
    out = io.StringIO()
    with redirect_stdout(out):
        kernel(*arguments)
    return out.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_every_target_prints_the_same(name, place):
    case = {c.name: c for c in cases()}[name]
    kernel = tilec.compile(case.function, **place)
    assert kernel.is_printing
    check(case, printed(kernel, *case.arguments), case.arguments)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_no_order_of_warps_changes_what_is_printed(name, seed):
    case = {c.name: c for c in cases()}[name]
    kernel = tilec.compile(case.function, backend="sim")
    sim.set_options(seed=seed)
    try:
        check(case, printed(kernel, *case.arguments), case.arguments)
    finally:
        sim.set_options()


@pytest.mark.parametrize("generator", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("name", NAMES)
def test_programs_that_print_compile_for_gpus(name, generator):
    case = {c.name: c for c in cases()}[name]
    kernel = tilec.compile(case.function, target="sm_90a", backend=generator, assembler="none")
    assert kernel.compile_info["prints"]


def test_a_generator_without_atomic_operations_refuses_what_prints():
    with pytest.raises(CompileError, match=r"(?s)`T.print` has no form in CuTe DSL here.*T.print\(A\[i\] \+ b\)"):
        tilec.compile(many, target="sm_90a", backend="cutedsl")


def test_a_kernel_that_does_not_print_has_no_record():
    @T.prim_func
    def silent(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                A[i] = A[i] + 1

    kernel = tilec.compile(silent, target="cpu")
    assert not kernel.is_printing
    assert kernel.compile_info["prints"] is None
    assert printed(kernel, np.zeros(64, np.float32)) == ""


@T.prim_func
def many(A: T.Tensor((64,), "int32")):
    with T.Kernel(3, threads=64) as b:
        for i in T.Parallel(64):
            T.print(A[i] + b)


def compiled_anew(function, **place):
    """Returns a kernel as before its first call: compilers return the one that they returned before."""
    kernel = tilec.compile(function, **place)
    kernel.launcher()._wanted = 0
    return kernel


def heard(kernel, *arguments):
    """Returns what a call prints, and what it says on the other stream."""
    error = io.StringIO()
    with redirect_stderr(error):
        return printed(kernel, *arguments).splitlines(), error.getvalue()


def test_what_finds_no_room_is_printed_by_another_run(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "1000")
    kernel = compiled_anew(many, **place)
    for _ in range(2):
        lines, error = heard(kernel, np.arange(64, dtype=np.int32))
        assert lines == [f"block ({b},), iteration ({i},): A[i] + b = {i + b}" for b in range(3) for i in range(64)]
        assert error == ""


@T.prim_func
def counted_up(
    A: T.StridedTensor((3, 64), (T.dynamic("s"), T.dynamic("t")), "int32"),
    B: T.StridedTensor((3, 64), (T.dynamic("s"), T.dynamic("t")), "int32"),
):
    with T.Kernel(3, threads=64) as b:
        for i in T.Parallel(64):
            A[b, i] = A[b, i] + 1
            T.print(A[b, i] + B[b, i])
            B[b, i] = B[b, i] + A[b, i]


class Foreign:
    """A tensor of an unknown framework: nothing but DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def as_contiguous(array):
    return array.copy()


def as_columns(array):
    wide = np.full((array.shape[0], 2 * array.shape[1]), 7, array.dtype)
    wide[:, ::2] = array
    return wide[:, ::2]


def as_rows_turned_round(array):
    return array[::-1].copy()[::-1]


def as_own_array(array):
    return tilec.array.Array.from_numpy(array, tilec.dtypes.int32)


def as_capsule(array):
    return Foreign(array.copy())


def as_view(array):
    return memoryview(array.copy())


@pytest.mark.parametrize(
    "given",
    [as_contiguous, as_columns, as_rows_turned_round, as_own_array, as_capsule, as_view],
    ids=attrgetter("__name__"),
)
def test_tensors_are_written_once_whatever_they_are(given, place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")
    a, b = np.arange(192, dtype=np.int32).reshape(3, 64), np.full((3, 64), 5, np.int32)
    kernel = compiled_anew(counted_up, **place)
    first, second = given(a), given(b)
    lines, error = heard(kernel, first, second)
    assert error == ""
    assert [int(line.rpartition("= ")[2]) for line in lines] == (a + 1 + 5).reshape(-1).tolist()
    held = [np.asarray(t._array if isinstance(t, Foreign) else t) for t in (first, second)]
    np.testing.assert_array_equal(held[0], a + 1)
    np.testing.assert_array_equal(held[1], b + a + 1)
    if given is as_columns:
        assert (held[0].base[:, 1::2] == 7).all()


def test_what_lies_between_the_elements_of_a_tensor_is_not_put_back():
    wide = np.arange(20, dtype=np.int16).reshape(4, 5)
    column = wide[::-2, 1:4:2]
    contents = tilec._tl.Contents((column, None, "no tensor", np.zeros((3, 0))))
    wide[:] = -1
    contents.put_back()
    expected = np.full((4, 5), -1)
    expected[::-2, 1:4:2] = np.arange(20).reshape(4, 5)[::-2, 1:4:2]
    np.testing.assert_array_equal(wide, expected)


def test_one_tensor_given_twice_is_put_back(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")

    @T.prim_func
    def twice(A: T.Tensor((64,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                A[i] = A[i] + 1
                A[i + 32] = A[i + 32] + 1
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = B[i] + 1
                T.print(B[i])

    a = np.zeros(64, np.int32)
    lines, error = heard(compiled_anew(twice, **place), a, a[16:48])
    assert error == ""
    assert lines == [f"block (0,), iteration ({i},): B[i] = 2" for i in range(32)]
    assert a.tolist() == [1] * 16 + [2] * 32 + [1] * 16


def test_results_are_those_of_one_run(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")

    @T.prim_func
    def summed(A: T.Tensor((64,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=64):
            B[0] = 0
            T.sync_threads()
            for i in T.Parallel(64):
                T.print(A[i])
                T.atomic_add(B[0], A[i])

    kernel = compiled_anew(summed, out_idx=-1, **place)
    with redirect_stdout(io.StringIO()) as out:
        assert kernel(np.arange(64, dtype=np.int32))[0] == 64 * 63 // 2
    assert len(out.getvalue().splitlines()) == 64


def test_a_run_that_needs_more_than_the_one_before_is_followed_by_another(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")
    runs = []
    kernel = compiled_anew(many, **place)
    printing = kernel.launcher()
    launch = printing._launch
    a = np.arange(64, dtype=np.int32)

    def launch_less_at_first(*values):
        runs.append(values[-1].shape[0])
        result = launch(*values)
        if len(runs) < 4:  # as if the blocks of this run had printed little
            values[-1].numpy()[0] = runs[-1] + 1 | 1 << prints.COUNT_BIT
        return result

    monkeypatch.setattr(printing, "_launch", launch_less_at_first)
    lines, error = heard(kernel, a)
    assert (len(lines), error) == (192, "")
    assert runs == [8, 16, 32, 64, 770]


def test_no_more_than_the_greatest_record_is_made_and_what_is_lost_is_told(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")
    monkeypatch.setattr(prints, "MOST_WORDS", 125)
    a = np.arange(64, dtype=np.int32)
    kernel = compiled_anew(many, **place)
    for _ in range(2):
        lines, error = heard(kernel, a)
        # 125 words: two of the head, and four for each entry.
        assert len(lines) == 30
        assert lines == sorted(lines, key=lambda line: tuple(map(int, _numbers(line))))
        assert error == (
            "`many`: 162 things to print are lost, because they need 6160 bytes, and there were 1000: "
            "`TL_PRINT_BYTES` says how many a call has that needs more\n"
        )


def test_without_memory_for_what_tensors_hold_the_next_call_has_room(place, monkeypatch):
    def refuse(tensors):
        raise MemoryError

    monkeypatch.setenv("TL_PRINT_BYTES", "64")
    kernel = compiled_anew(counted_up, **place)
    a, b = np.zeros((3, 64), np.int32), np.zeros((3, 64), np.int32)
    with monkeypatch.context() as patch:
        patch.setattr(tilec._tl, "Contents", refuse)
        lines, error = heard(kernel, a, b)
    assert (len(lines), (a == 1).all()) == (1, True)
    assert "they need 6160 bytes, and there were 64: the next call has 6160" in error
    lines, error = heard(kernel, a, b)
    assert (len(lines), error, (a == 2).all()) == (192, "", True)


def test_work_is_counted_once_whatever_is_printed(monkeypatch):
    kernel = compiled_anew(many, target="sm_80", backend="sim")
    a = np.arange(64, dtype=np.int32)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as error:
        enough = sim.count(kernel, a)
        monkeypatch.setenv("TL_PRINT_BYTES", "64")
        too_little = sim.count(compiled_anew(many, target="sm_80", backend="sim"), a)
    assert len(too_little.launches) == len(enough.launches)
    assert "191 things to print are lost" in error.getvalue()


def test_a_tile_without_room_is_lost_as_a_whole(place, monkeypatch):
    @T.prim_func
    def two_tiles(A: T.Tensor((8, 8), "int32")):
        with T.Kernel(1, threads=32):
            T.print(A[0:2, 0:8])
            T.print(A, msg="lost")
            T.print("lost, too")

    monkeypatch.setenv("TL_PRINT_BYTES", "320")
    monkeypatch.setattr(prints, "MOST_WORDS", 40)
    lines, error = heard(compiled_anew(two_tiles, **place), np.zeros((8, 8), np.int32))
    assert len(lines) == 3
    assert "2 things to print are lost" in error


def _numbers(line):
    return re.findall(r"\d+", line)


# Assertions.


@T.prim_func
def positive(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
    with T.Kernel(4, threads=64) as b:
        for i in T.Parallel(64):
            x = A[b * 64 + i]
            T.device_assert(x > 0, "no logarithm")
            B[b * 64 + i] = x + 1


def test_an_assertion_that_does_not_hold_is_an_error_of_the_call(place):
    a = np.ones(256, np.float32)
    b = np.zeros(256, np.float32)
    kernel = compiled_anew(positive, **place)
    kernel(a, b)
    assert (b == 2).all()
    a[[70, 100, 200]] = -1
    with pytest.raises(DeviceAssertError) as caught:
        kernel(a, b)
    error = caught.value
    assert (error.condition, error.note, error.count) == ("x > 0", "no logarithm", 3)
    assert (error.kernel, error.block, error.iteration, error.thread) == ("positive_kernel", (1,), (6,), None)
    assert "T.device_assert(x > 0" in str(error)
    assert "no logarithm: `x > 0` does not hold, by iteration (6,) in block (1,) of kernel `positive_kernel`" in str(
        error
    )
    assert "assertions failed 3 times" in str(error)
    assert isinstance(error, AssertionError)
    np.testing.assert_array_equal(b, a + 1)  # it ran to its end


def test_assertions_of_blocks_and_threads(place):
    @T.prim_func
    def who(A: T.Tensor((64,), "int32"), is_late: T.int32):
        with T.Kernel(2, threads=64) as b:
            t = T.get_thread_binding()
            T.print(b)
            if is_late == 0:
                T.device_assert(A[b] == 0)
            T.device_assert(True)
            if t > 5:
                T.device_assert(A[t] != 9)
            T.print("done")

    kernel = compiled_anew(who, **place)
    a = np.zeros(64, np.int32)
    lines = ["block (0,): b = 0", "block (0,): done", "block (1,): b = 1", "block (1,): done"]
    assert printed(kernel, a, 0).splitlines() == lines
    a[1] = 1
    out = io.StringIO()
    with pytest.raises(DeviceAssertError) as caught, redirect_stdout(out):
        kernel(a, 0)
    assert (caught.value.block, caught.value.thread, caught.value.iteration) == ((1,), None, None)
    assert out.getvalue().splitlines() == lines  # and what is printed is printed
    a[40] = 9
    with pytest.raises(DeviceAssertError) as caught, redirect_stdout(out):
        kernel(a, 1)
    assert (caught.value.block, caught.value.thread, caught.value.count) == ((0,), 40, 2)


def test_assertions_without_room_are_counted_and_the_first_is_raised(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "32")
    a, b = np.full(256, -1, np.float32), np.zeros(256, np.float32)
    a[:3] = 1
    with pytest.raises(DeviceAssertError) as caught:
        compiled_anew(positive, **place)(a, b)
    assert (caught.value.block, caught.value.iteration, caught.value.count) == ((0,), (3,), 253)
    np.testing.assert_array_equal(b, a + 1)


def test_stops_without_room_are_handed_over_once(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "32")

    @T.prim_func
    def stopping(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for k in range(3):
                for i in T.Parallel(4):
                    A[i] = A[i] + 1
                T.breakpoint(A, k=k)

    found = []
    monkeypatch.setattr(prints, "hook", found.append)
    a = np.zeros(4, np.int32)
    compiled_anew(stopping, **place)(a)
    assert [stop.values["k"] for stop in found] == [0, 1, 2]
    assert [stop.values["A"].tolist() for stop in found] == [[n] * 4 for n in (1, 2, 3)]
    assert a.tolist() == [3] * 4


def test_an_assertion_without_room_is_an_error_all_the_same(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "32")
    monkeypatch.setattr(prints, "MOST_WORDS", 4)
    with pytest.raises(DeviceAssertError, match="an assertion does not hold, and `TL_PRINT_BYTES` is too little"):
        compiled_anew(positive, **place)(np.zeros(256, np.float32), np.zeros(256, np.float32))


def test_the_assert_of_python_is_one_of_the_kernel(place):
    @T.prim_func
    def plain(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                assert A[i] != 3, f"not {3}"
                assert A[i] < 100

    kernel = compiled_anew(plain, **place)
    kernel(np.zeros(8, np.int32))
    with pytest.raises(DeviceAssertError, match=r"not 3: `A\[i\] != 3` does not hold, by iteration \(3,\)"):
        kernel(np.arange(8, dtype=np.int32))


# Layouts.


def test_a_tile_is_printed_with_its_layout():
    @T.prim_func
    def laid_out(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 8), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((16, 16), "float16")
            B = T.alloc_shared((16, 8), "float16")
            F = T.alloc_fragment((16, 8), "float32")
            T.copy(A, S)
            T.copy(A[0, 0], B)
            T.clear(F)
            T.gemm(S, B, F)
            T.print(F, layout=True)
            T.print(S, layout=True)
            T.copy(F, C)

    a = np.zeros((16, 16), np.float16)
    for place in ({"target": "sm_80", "backend": "sim"}, {"target": "cpu"}):
        # From the cache it is the same.
        for _ in range(2):
            kernel = tilec.compile(laid_out, **place)
            lines = printed(kernel, a, np.zeros((16, 8), np.float32)).splitlines()
            if "backend" not in place:
                assert len(lines) == 2 + 16 + 16
                continue
            at = lines.index("  thread:register of each:")
            # As the accumulator of `mma.m16n8k16` lies.
            expected = [[f"{i % 8 * 4 + j // 2}:{i // 8 * 2 + j % 2}" for j in range(8)] for i in range(16)]
            assert [re.findall(r"\d+:\d+", line) for line in lines[at + 1 : at + 17]] == expected
            at = lines.index("  the byte of each:")
            found = [[int(n) for n in re.findall(r"\d+", line)] for line in lines[at + 1 : at + 17]]
            assert sorted(n for row in found for n in row) == list(range(0, 512, 2))
            assert [n - row[0] for row in found for n in row[:8]] == [*range(0, 16, 2)] * 16


@pytest.mark.parametrize(
    ("message", "statement"),
    [
        ("`layout` of `T.print` is of a tile", lambda F: T.print(F[0], layout=True)),
        ("is of a whole tile, and this is a part of `F`", lambda F: T.print(F[0:2], layout=True)),
    ],
)
def test_a_layout_is_of_a_whole_tile(message, statement):
    with pytest.raises(ArgumentError, match=message):

        @T.prim_func
        def program(A: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=32):
                F = T.alloc_fragment((4,), "float32")
                T.copy(A, F)
                statement(F)


# Breakpoints.


def test_breakpoints_hand_over_what_they_name(place, monkeypatch):
    @T.prim_func
    def stops(A: T.Tensor((2, 4), "float32")):
        with T.Kernel(2, threads=32) as b:
            F = T.alloc_fragment((4,), "float32")
            T.copy(A[b, 0], F)
            for k in range(3):
                for i in T.Parallel(4):
                    F[i] = F[i] * 2
                T.print(k)
                T.breakpoint(F, k + 1, condition=k == 1, half=F[2] / 2, msg="second")
            for i in T.Parallel(4):
                if i == 3:
                    T.breakpoint(i)

    found = []
    monkeypatch.setattr(prints, "hook", found.append)
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    out = printed(tilec.compile(stops, **place), a).splitlines()
    assert out == [f"block ({b},): k = {k}" for b in range(2) for k in range(3)]
    assert [stop.block for stop in found] == [(0,), (0,), (1,), (1,)]
    first, second = found[2], found[3]
    assert list(first.values) == ["F", "k + 1", "half"]
    np.testing.assert_array_equal(first.values["F"], a[1] * 4)
    assert first.values["F"].dtype == np.float32
    assert (first.values["k + 1"], first.values["half"], first.message) == (2, a[1, 2] * 2, "second")
    assert (second.iteration, second.values) == ((3,), {"i": 3})
    assert "stop by iteration (3,) in block (1,) of kernel `stops_kernel`, with i" in repr(second)


def test_a_breakpoint_starts_the_debugger_with_its_values(tmp_path):
    program = tmp_path / "stops.py"
    program.write_text(
        """
import numpy as np, tilec, tilec.language as T

@T.prim_func
def stops(A: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=32) as b:
        T.breakpoint(A, A[1] + 1, n=A[3])

tilec.compile(stops, target="cpu")(np.arange(4, dtype=np.int32))
print("went on")
"""
    )
    commands = "p A.sum() + n\np value1\np stop.block\nc\n"
    # Libraries that other tests load name debuggers of their own there.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONBREAKPOINT"}
    run = subprocess.run(
        [sys.executable, str(program)],
        input=commands,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    for expected in ("(9)\n", "(Pdb) 2\n", "(Pdb) (0,)\n", "went on\n", "stop by block (0,) of kernel `stops_kernel`"):
        assert expected in run.stdout


def test_a_breakpoint_without_values_has_all_that_has_a_name(place, monkeypatch):
    @T.prim_func
    def named(A: T.Tensor((2, 4), "float32"), n: T.int32):
        with T.Kernel(2, threads=32) as b:
            F = T.alloc_fragment((4,), "float32")
            late = T.alloc_shared((4,), "float32")
            v = T.alloc_var("int32")
            v = n * 2
            T.copy(A[b, 0], F)
            for k in range(n):
                v = v + k
                T.breakpoint()
            for i in T.Parallel(4):
                x = F[i] + 1
                T.breakpoint(condition=i == 2)
                F[i] = x
            T.copy(F, late)
            T.copy(late, A[b, 0])

    found = []
    monkeypatch.setattr(prints, "hook", found.append)
    tilec.compile(named, **place)(np.arange(8, dtype=np.float32).reshape(2, 4), 2)
    assert [(stop.block, stop.iteration) for stop in found] == [
        (block, at) for block in ((0,), (1,)) for at in (None, None, (2,))
    ]
    stop = found[4]
    np.testing.assert_array_equal(stop.values.pop("F"), [4, 5, 6, 7])
    assert stop.values == {"n": 2, "b": 1, "v": 5, "k": 1}
    assert {name: found[5].values[name] for name in ("n", "b", "v", "i", "x")} == {
        "n": 2,
        "b": 1,
        "v": 5,
        "i": 2,
        "x": 7.0,
    }


def _line(text):
    """Returns the number of the only line of this file with a text."""
    (number,) = (
        i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.strip().startswith(text)
    )
    return number


@T.prim_func
def stepped(A: T.Tensor((2, 4), "float32"), B: T.Tensor((2, 4), "float32")):
    with T.Kernel(2, threads=32) as b:
        S = T.alloc_shared((4,), "float32")
        F = T.alloc_fragment((4,), "float32")
        T.copy(A[b, 0], S)
        T.clear(F)
        for k in range(3):
            factor = k + 1
            for i in T.Parallel(4):
                F[i] = F[i] + S[i] * factor  # each iteration
            T.copy(F, S)  # the end of a step
        T.copy(F, B[b, 0])  # the end of the block
        T.print("done")


def test_a_kernel_is_looked_into_where_it_reaches_a_line(place):
    kernel = tilec.compile(stepped, **place)
    a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.full((2, 4), 7, np.float32)
    with redirect_stdout(io.StringIO()) as out:
        stops = debug.run_until(kernel, _line("T.copy(F, S)  # the end"), a, b)
        last = debug.run_until(kernel, "T.copy(F, B[b, 0])", a, b, block=1)
        inner = debug.run_until(kernel, _line("F[i] = F[i] + S[i]"), a, b, block=(0,))
        heads = debug.run_until(kernel, "for i in T.Parallel", a, b, block=0)
    assert out.getvalue() == ""
    assert (b == 7).all()  # it ran with copies
    s, f = a.copy(), np.zeros_like(a)
    for k in range(3):
        f = f + s * (k + 1)
        for block in range(2):
            stop = stops[block * 3 + k]
            assert stop.block == (block,)
            np.testing.assert_array_equal(stop.values["S"], s[block])
            np.testing.assert_array_equal(stop.values["F"], f[block])
            assert (stop.values["k"], stop.values["factor"], stop.values["b"]) == (k, k + 1, block)
        s = f
    assert [(stop.iteration, stop.values["k"]) for stop in heads] == [(None, k) for k in range(3)]
    assert [stop.block for stop in last] == [(1,)]
    np.testing.assert_array_equal(last[0].values["F"], f[1])
    assert "F = [" in str(last[0])
    assert [stop.iteration for stop in inner] == [(i,) for _ in range(3) for i in range(4)]
    assert [stop.values["factor"] for stop in inner] == [k for k in (1, 2, 3) for _ in range(4)]
    assert printed(kernel, a, b).splitlines() == ["block (0,): done", "block (1,): done"]


def test_a_line_that_does_nothing_is_named():
    kernel = tilec.compile(stepped, target="cpu")
    line = _line("factor = k + 1")
    arguments = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)
    with pytest.raises(ArgumentError, match=f"do nothing in line {line - 7} of .*; they do in line"):
        debug.run_until(kernel, line - 7, *arguments)
    with pytest.raises(ArgumentError, match="do nothing in a line with `while`"):
        debug.run_until(kernel, "while", *arguments)
    with pytest.raises(ArgumentError, match=r"`T.copy\(F, ` stands in lines \d+ and \d+: give the number of one"):
        debug.run_until(kernel, "T.copy(F, ", *arguments)


# Mistakes.


def test_what_cannot_be_printed_is_refused():
    def attempt(error, message, statement):
        def program(
            A: T.Tensor((4, 4), "float32"), B: T.Tensor((300, 300), "int8"), D: T.Tensor((T.dynamic("n"),), "int8")
        ):
            with T.Kernel(1, threads=32):
                statement(A, B, D)

        with pytest.raises(error, match=message):
            T.prim_func(program)

    attempt(ShapeError, "prints up to 65536 elements at once, and this is \\(300, 300\\)", lambda A, B, D: T.print(B))
    attempt(ShapeError, "give a region of `D`, such as `D\\[0:4\\]`", lambda A, B, D: T.print(D))
    attempt(ArgumentError, "one message, and two are given", lambda A, B, D: T.print("a", msg="b"))
    attempt(ArgumentError, "`msg` of `T.print` is text, not `3`", lambda A, B, D: T.print(A, 3))
    attempt(
        ArgumentError, "prints one value or tile, and `\\(1, 2\\)` may hold several", lambda A, B, D: T.print((1, 2))
    )
    attempt(
        ArgumentError,
        "and it has `<float32 value.*>` in it, which is known only when it runs",
        lambda A, B, D: T.print(A, f"{A[0, 0] + 1}"),
    )
    attempt(ArgumentError, "`msg` of `T.device_assert` is text", lambda A, B, D: T.device_assert(A[0, 0] > 0, 3))
    attempt(TLSyntaxError, "a condition is a truth value", lambda A, B, D: T.device_assert(A))
    with pytest.raises(TLSyntaxError, match=r"`T.print` belongs inside `with T.Kernel"):

        @T.prim_func
        def outside(A: T.Tensor((4,), "int32")):
            T.print(A)


def test_a_tile_is_printed_by_the_whole_block():
    @T.prim_func
    def in_a_loop(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4,), "int32")
            for i in T.Parallel(4):
                S[i] = A[i]
                T.print(S)

    with pytest.raises(CompileError, match=r"is executed by the whole block, and cannot stand in `T.Parallel`"):
        tilec.compile(in_a_loop, target="cpu")


def test_hints_of_other_compilers_are_named():
    with pytest.warns(IgnoredHintWarning, match="`warp_id` of `T.print`"):

        @T.prim_func
        def hinted(A: T.Tensor((4,), "int32")):
            with T.Kernel(1, threads=32):
                T.print(A, warp_id=1)


def test_what_prints_is_not_exported(tmp_path):
    with pytest.raises(TargetError, match="`many` prints, and only calls from Python"):
        tilec.compile(many, target="cpu").export_library(tmp_path)


# Beside other things.


def test_checks_and_prints_together():
    @T.prim_func
    def both(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((8,), "int32")
            for i in T.Parallel(4):
                S[i] = A[i] // n
            T.print("before")
            T.print(S)
            T.print("after")

    out = io.StringIO()
    with pytest.raises(CheckError) as caught, redirect_stdout(out):
        tilec.compile(both, target="cpu", checks=True)(np.arange(8, dtype=np.int32), 1)
    assert (caught.value.kind, caught.value.buffer) == ("uninitialized", "S")
    assert "T.print(S)" in str(caught.value)
    assert out.getvalue().startswith("block (0,): before\nblock (0,): S, int32 (8,)")
    with pytest.raises(CheckError) as caught, redirect_stdout(out):
        tilec.compile(both, target="cpu", checks=True)(np.arange(8, dtype=np.int32), 0)
    assert caught.value.kind == "division"


def test_a_simulation_that_fails_prints_how_far_it_came():
    @T.prim_func
    def fails(A: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((32,), "int32")
            T.print("here")
            for i in T.Parallel(32):
                S[(A[i] + i) // 2] = i
            T.print(S[0], msg="there")

    out = io.StringIO()
    with pytest.raises(SimulationError), redirect_stdout(out):
        tilec.compile(fails, backend="sim")(np.zeros(32, np.int32))
    assert out.getvalue().startswith("block (0,): here\n")


def test_a_run_that_fails_is_repeated_for_what_it_printed(monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")

    @T.prim_func
    def fails_late(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64,), "int32")
            for i in T.Parallel(64):
                T.print(A[i])
            for i in T.Parallel(64):
                A[i] = A[i] + 1
                S[A[i] // 1000] = i

    kernel = tilec.compile(fails_late, backend="sim")
    with pytest.raises(SimulationError), redirect_stdout(io.StringIO()) as out:
        kernel(np.arange(64, dtype=np.int32))
    assert out.getvalue().splitlines() == [f"block (0,), iteration ({i},): A[i] = {i}" for i in range(64)]


def test_a_check_that_fails_comes_behind_all_that_is_printed(monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")

    @T.prim_func
    def divided(A: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                T.print(A[i])
                A[i] = A[i] // n

    a = np.arange(8, dtype=np.int32)
    with pytest.raises(CheckError) as caught, redirect_stdout(io.StringIO()) as out:
        tilec.compile(divided, target="cpu", checks=True)(a, 0)
    assert caught.value.kind == "division"
    assert out.getvalue().splitlines() == [f"block (0,), iteration ({i},): A[i] = {i}" for i in range(8)]


def test_results_are_returned_from_what_prints():
    @T.prim_func
    def made(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i] = A[i] + 1
            T.print(B[3])

    kernel = tilec.compile(made, out_idx=-1, target="cpu")
    out = io.StringIO()
    with redirect_stdout(out):
        for _ in range(2):
            result = kernel(np.arange(4, dtype=np.int32))
    assert list(result) == [1, 2, 3, 4]
    assert out.getvalue() == "block (0,): B[3] = 4\n" * 2


def test_jit_functions_print():
    @tilec.jit(target="cpu")
    def scaled(A: T.Tensor((4,), "int32"), by: T.int32):
        with T.Kernel(1, threads=32):
            T.print(A[1] * by)

    out = io.StringIO()
    with redirect_stdout(out):
        scaled(np.arange(4, dtype=np.int32), 5)
        scaled(np.arange(4, dtype=np.int32), 6)
    assert out.getvalue() == "block (0,): A[1] * by = 5\nblock (0,): A[1] * by = 6\n"
