"""Tensors at addresses that a kernel loads or computes: `T.make_tensor_from_addr` (semantics M13)."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from address_programs import CASES, check
from tilec import backends
from tilec.backends import sim
from tilec.errors import CheckError, TLError


def on_the_host(name, **options):
    check(
        name,
        lambda program: tilec.compile(program, **options),
        lambda array: array.copy(),
        lambda array: array.ctypes.data,
        lambda array: array,
    )


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    on_the_host(name, target="cpu")


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    """With nothing to report: accesses that meet are in order."""
    try:
        for seed in (0, 4, 8):
            sim.set_options(seed=seed)
            on_the_host(name, target=chip, backend="sim")
    finally:
        sim.set_options()


@pytest.mark.parametrize("options", [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}], ids=["cpu", "sim"])
@pytest.mark.parametrize("name", CASES)
def test_in_checked_programs(name, options):
    """The shape says what is reported: one of the programs goes beyond it."""
    if name != "bounds":
        return on_the_host(name, **options, checks=True)
    with pytest.raises(CheckError, match="`Nothing` is read at index 0 of dimension 0, whose extent is 0"):
        on_the_host(name, **options, checks=True)


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("name", CASES)
def test_for_gpus(name, backend):
    if backends.find(backend).missing():
        pytest.skip(f"there is no `{backend}`")
    for chip in ("sm_80", "sm_90a"):
        assert tilec.compile(CASES[name].program, target=chip, backend=backend).get_kernel_source()


def test_no_copy_engine_reaches_it():
    ptx = tilec.compile(CASES["products"].program, target="sm_90a").get_kernel_source()
    assert "cp.async.bulk.tensor" not in ptx
    assert "cp.async.cg" in ptx


@T.prim_func
def ones(addresses: T.Tensor((1,), "int64"), n: T.int32):
    with T.Kernel(1, threads=32):
        X = T.make_tensor_from_addr(addresses[0], (n,), "float32")
        for i in T.Parallel(32):
            X[i] = 1.0


def test_the_simulator_looks_whether_the_memory_is_there():
    kernel = tilec.compile(ones, target="sm_90a", backend="sim")
    with pytest.raises(TLError, match="the memory of a tensor at an address is not there"):
        kernel(np.array([1 << 40], np.int64), 32)
    with pytest.raises(TLError, match="misaligned"):
        kernel(np.array([np.zeros(64, np.float32).ctypes.data + 2], np.int64), 32)


def test_the_simulator_puts_back_what_was_there():
    """Shortening a schedule runs the kernel many times, each time on what was there before the call."""

    @T.prim_func
    def racing(addresses: T.Tensor((1,), "int64")):
        with T.Kernel(1, threads=64):
            X = T.make_tensor_from_addr(addresses[0], (32,), "int32")
            for i in T.Parallel(64):
                X[i % 32] = X[i % 32] + i + 1

    x = np.zeros(32, np.int32)
    try:
        sim.set_options(shrink=True)
        with pytest.raises(TLError, match=r"of `X`(.|\n)*schedule: "):
            tilec.compile(racing, target="sm_90a", backend="sim")(np.array([x.ctypes.data], np.int64))
    finally:
        sim.set_options()
    assert x.max() <= 96


def parallel(addresses, t):
    B = T.make_tensor_from_addr(addresses[0], (32,), "float32")
    for i in T.Parallel(4):
        A = T.make_tensor_from_addr(addresses[0], (32,), "float32")
        A[i] = B[i]


def of_threads(addresses, t):
    A = T.make_tensor_from_addr(addresses[0] + t * 16, (4,), "float32")
    A[0] = 1.0


def of_some_threads(addresses, t):
    with T.If(t < 3), T.Then():
        A = T.make_tensor_from_addr(addresses[0], (4,), "float32")
        A[0] = 1.0


@pytest.mark.parametrize("body", [parallel, of_threads, of_some_threads])
@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_threads_have_one_tensor(body, target, backend):
    body = T.macro(body)

    @T.prim_func
    def f(addresses: T.Tensor((1,), "int64")):
        with T.Kernel(1, threads=32):
            body(addresses, T.get_thread_binding())

    with pytest.raises(TLError, match=r"`?T.make_tensor_from_addr`?.* is executed by the whole block"):
        tilec.compile(f, target=target, backend=backend)


MISTAKES = {
    "an integer of 64 bits, .*, not `int32`": lambda a, p: T.make_tensor_from_addr(T.cast(a[0], "int32"), (4,), "int8"),
    "an integer of 64 bits, .*, not `a`": lambda a, p: T.make_tensor_from_addr(a, (4,), "int8"),
    "use `T.make_tensor": lambda a, p: T.make_tensor_from_addr(p, (4,), "int8"),
    '`storage_scope` .* is "global"': lambda a, p: T.make_tensor_from_addr(a[0], (4,), "int8", None, "shared"),
    "two share a byte": lambda a, p: T.make_tensor_from_addr(a[0], (4,), "int4"),
    "must not be negative": lambda a, p: T.make_tensor_from_addr(a[0], (-4,), "int8"),
    "is an integer, not of `float32`": lambda a, p: T.make_tensor_from_addr(a[0], (T.float32(2) * a[0],), "int8"),
    "as many strides": lambda a, p: T.make_tensor_from_addr(a[0], (4, 4), "int8", (4,)),
    "power of two": lambda a, p: T.make_tensor_from_addr(a[0], (4, 4), "int8", align=3),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes(message):
    make = MISTAKES[message]
    with pytest.raises(TLError, match=message):

        @T.prim_func
        def f(a: T.Tensor((4,), "int64"), p: T.ptr):
            P = T.make_tensor(p, (4,), "int8") if message != "use `T.make_tensor" else None
            with T.Kernel(1, threads=32):
                make(a, p)


def test_outside_of_a_kernel():
    with pytest.raises(TLError, match=r"`T.make_tensor_from_addr` belongs inside `with T.Kernel"):

        @T.prim_func
        def f(address: T.int64):
            A = T.make_tensor_from_addr(address, (4,), "int32")
            with T.Kernel(1, threads=32):
                A[0] = 1


def test_who_makes_arguments_up_makes_no_addresses():
    kernel = tilec.compile(CASES["own_iteration"].program, target="cpu")
    with pytest.raises(TLError, match="which are no random numbers: pass `inputs`"):
        kernel.get_profiler().do_bench()


def test_operators_of_pytorch_say_what_they_touch():
    pytest.importorskip("torch")
    with pytest.raises(TLError, match="an operator of PyTorch says what it reads and writes"):
        tilec.compile(CASES["own_iteration"].program, target="cpu", backend="torch")


def test_the_autotuner_measures_in_other_processes():
    def program(block):
        @T.prim_func
        def f(addresses: T.Tensor((1,), "int64")):
            with T.Kernel(1, threads=block):
                X = T.make_tensor_from_addr(addresses[0], (32,), "float32")
                X[0] = 1.0

        return f

    tuned = tilec.autotune(configs=[{"block": 32}, {"block": 64}])(tilec.jit(target="cpu")(program))
    with pytest.raises(TLError, match="the processes that measure have other memory"):
        tuned()
