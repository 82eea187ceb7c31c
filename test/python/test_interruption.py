"""Ctrl-C while a kernel runs, and kernels of the CPU whose blocks wait for ever."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import LaunchError

HEAD = """
import os, signal, sys, threading, time
import numpy as np, tilec, tilec.language as T

from tilec import _tl

_tl.set_host_threads(int(sys.argv[1]))

@T.prim_func
def counts(A: T.Tensor((8,), "int32")):
    with T.Kernel(8, threads=32) as b:
        v = T.alloc_var("int32", 0)
        while v >= 0:
            v = (v + 1) % 1000
        A[b] = v

@T.prim_func
def prints(A: T.Tensor((8,), "int32")):
    with T.Kernel(8, threads=32) as b:
        if b == 0:
            T.print(A[3], msg="before")
        v = T.alloc_var("int32", 0)
        while v >= 0:
            v = (v + 1) % 1000
        A[b] = v

@T.prim_func
def waits(A: T.Tensor((8,), "int32")):
    with T.Kernel(8, threads=32) as b:
        while T.atomic_load(A[0], "acquire") == 0:
            pass
        A[b] = b

@T.prim_func
def turns(A: T.Tensor((8,), "int32")):
    with T.Kernel(4, threads=32) as b:
        T.sync_grid()
        v = T.alloc_var("int32", 0)
        while T.atomic_load(A[0], "acquire") == 0:
            v = v + 1
        A[b] = v

@T.prim_func
def ends(A: T.Tensor((8,), "int32")):
    with T.Kernel(8, threads=32) as b:
        A[b] = b + 1

def interrupted(kernel):
    sent = []
    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Timer(0.5, send)
    try:
        timer.start()
        kernel(np.zeros(8, np.int32))
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    raise AssertionError("it ended by itself")

SIM = {"target": "sm_80", "backend": "sim"}
CPU = {"target": "cpu"}
"""

TAIL = """
a = np.zeros(8, np.int32)
tilec.compile(ends, **PLACE)(a)
assert a.tolist() == list(range(1, 9)), a
print("went on")
"""


def run(folder, program, threads):
    """Returns what a program prints in a process of its own, which is killed if Ctrl-C does not end it."""
    file = folder / "program.py"
    file.write_text(HEAD + textwrap.dedent(program) + TAIL)
    ran = subprocess.run(
        [sys.executable, str(file), str(threads)], capture_output=True, text=True, check=False, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("went on\n")
    return ran.stdout


# How soon it ends depends on the machine, which may be busy: without the check it never does.
MOMENT = 20


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("name", "place"), [("counts", "SIM"), ("waits", "CPU"), ("turns", "CPU")])
def test_ctrl_c_ends_a_call_and_the_next_one_works(tmp_path, name, place, threads):
    program = f"""
    PLACE = {place}
    kernel = tilec.compile({name}, **PLACE)
    for _ in range(2):
        assert interrupted(kernel) < {MOMENT}
    """
    run(tmp_path, program, threads)


def test_what_was_printed_until_ctrl_c_is_shown_once(tmp_path):
    program = f"""
    PLACE = SIM
    kernel = tilec.compile(prints, **PLACE)
    assert interrupted(kernel) < {MOMENT}
    """
    assert run(tmp_path, program, 4).splitlines() == ["block (0,): before: A[3] = 0", "went on"]


def test_other_handlers_of_signals_run_and_their_exceptions_end_the_call(tmp_path):
    program = """
    PLACE = SIM
    seen = []

    def handle(number, frame):
        seen.append(number)
        if len(seen) == 2:
            raise RuntimeError("enough")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        tilec.compile(ends, **CPU)(np.zeros(8, np.int32))  # a call in a call

    signal.signal(signal.SIGUSR1, handle)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        tilec.compile(counts, **PLACE)(np.zeros(8, np.int32))
    except RuntimeError as error:
        assert str(error) == "enough"
    assert len(seen) == 2
    """
    run(tmp_path, program, 4)


# Deadlocks on the CPU.


@T.prim_func
def counted_down(A: T.Tensor((4,), "int32")):
    with T.Kernel(2, 2, threads=32) as (x, y):
        for _ in T.serial(10):
            A[y * 2 + x] = A[y * 2 + x] - 1
            if A[y * 2 + x] == 0:
                break
            T.sync_grid()


def test_blocks_that_wait_for_one_that_has_ended_are_a_deadlock():
    kernel = tilec.compile(counted_down, target="cpu")
    kernel(np.full(4, 5, np.int32))
    for _ in range(5):
        with pytest.raises(LaunchError) as caught:
            kernel(np.array([5, 5, 3, 5], np.int32))
        text = str(caught.value)
        assert "`counted_down`: kernel `counted_down_kernel`: deadlock: each block that has not ended waits" in text
        assert "1 of 4 blocks have ended, and come to no barrier of the grid any more: (0, 1, 0)" in text
    found = np.full(4, 12, np.int32)
    kernel(found)
    assert found.tolist() == [2] * 4


def test_blocks_that_all_wait_for_what_none_writes_are_a_deadlock():
    @T.prim_func
    def all_wait(A: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=32) as b:
            T.sync_grid()
            while T.atomic_load(A[b], "acquire") == 0:
                pass
            T.atomic_add(A[(b + 1) % 4], 1, "release")

    kernel = tilec.compile(all_wait, target="cpu")
    with pytest.raises(LaunchError, match="waits for what no block changes any more; the simulator"):
        kernel(np.zeros(4, np.int32))
    kernel(np.array([0, 1, 0, 0], np.int32))


def test_blocks_that_wait_long_are_no_deadlock():
    @T.prim_func
    def slow_first(A: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(16, threads=32) as b:
            v = T.alloc_var("int32", 0)
            for k in range(30):
                if k % 16 == b:
                    v = 0
                    while v < n:
                        v = v + 1 + A[b] * 0
                    A[b] = A[b] + 1
                T.sync_grid()
            if b % 2 == 0:
                while T.atomic_load(A[b + 1], "acquire") < 1000:
                    pass
            else:
                T.atomic_exchange(A[b], 1000, "release")

    found = np.zeros(16, np.int32)
    tilec.compile(slow_first, target="cpu")(found, 100_000)
    assert found.tolist() == [2, 1000] * 7 + [1, 1000]


def test_what_was_printed_before_a_deadlock_is_shown(capsys):
    @T.prim_func
    def says(A: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=32) as b:
            T.print(A[b])
            if b != 2:
                T.sync_grid()

    with pytest.raises(LaunchError, match="deadlock"):
        tilec.compile(says, target="cpu")(np.arange(4, dtype=np.int32))
    assert capsys.readouterr().out == "".join(f"block ({b},): A[b] = {b}\n" for b in range(4))
