"""What kernels print, assert and stop at: the same on the CPU and in the simulator (semantics D1 to D4)."""

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
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
    with pytest.raises(CompileError, match=r"(?s)'tl.atom' op has no form in CuTe DSL here.*T.print\(A\[i\] \+ b\)"):
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


def test_what_finds_no_room_is_counted_and_the_next_call_has_room(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "1000")
    a = np.arange(64, dtype=np.int32)
    kernel = tilec.compile(many, **place)
    error = io.StringIO()
    with redirect_stderr(error):
        lines = printed(kernel, a).splitlines()
    # 125 words: two of the head, and four for each entry.
    assert len(lines) == 30
    assert lines == sorted(lines, key=lambda line: tuple(map(int, _numbers(line))))
    assert (
        "162 things to print are lost, because they need 6160 bytes, and there were 1000: the next call has 6160"
        in error.getvalue()
    )
    error = io.StringIO()
    with redirect_stderr(error):
        lines = printed(kernel, a).splitlines()
    assert len(lines) == 192
    assert error.getvalue() == ""


def test_a_tile_without_room_is_lost_as_a_whole(place, monkeypatch):
    @T.prim_func
    def two_tiles(A: T.Tensor((8, 8), "int32")):
        with T.Kernel(1, threads=32):
            T.print(A[0:2, 0:8])
            T.print(A, msg="lost")
            T.print("lost, too")

    monkeypatch.setenv("TL_PRINT_BYTES", "320")
    error = io.StringIO()
    with redirect_stderr(error):
        lines = printed(tilec.compile(two_tiles, **place), np.zeros((8, 8), np.int32)).splitlines()
    assert len(lines) == 3
    assert "2 things to print are lost" in error.getvalue()


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
    kernel = tilec.compile(positive, **place)
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

    kernel = tilec.compile(who, **place)
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


def test_an_assertion_without_room_is_an_error_all_the_same(place, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "32")
    with pytest.raises(DeviceAssertError, match="an assertion does not hold, and `TL_PRINT_BYTES` is too little"):
        tilec.compile(positive, **place)(np.zeros(256, np.float32), np.zeros(256, np.float32))


def test_the_assert_of_python_is_one_of_the_kernel(place):
    @T.prim_func
    def plain(A: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                assert A[i] != 3, f"not {3}"
                assert A[i] < 100

    kernel = tilec.compile(plain, **place)
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
