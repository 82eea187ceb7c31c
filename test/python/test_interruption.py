"""Ctrl-C while a kernel runs."""

import subprocess
import sys
import textwrap

import pytest

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
@pytest.mark.parametrize(("name", "place"), [("counts", "SIM")])
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
