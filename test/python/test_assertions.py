"""Assertions of kernels that nobody waits for: what fails is told by the next call, or by who waits.

The kernels are those of the CPU, which have noted what fails when a call returns, with the GPU's way of being called.
"""

import gc
import io
from contextlib import redirect_stderr

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl, assertions, prints
from tilec.array import Array
from tilec.errors import DeviceAssertError, LaunchError
from tilec.prints import AssertingLaunch


@T.prim_func
def positive(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
    with T.Kernel(4, threads=64) as b:
        for i in T.Parallel(64):
            T.device_assert(A[b * 64 + i] > 0, "no logarithm")
            B[b * 64 + i] = A[b * 64 + i] + 1


class GPU:
    """What a call asks of the machine."""

    def __init__(self):
        self.waits = 0
        self.is_capturing = False

    def synchronize(self, device):
        assert not self.is_capturing, "a capture would end"
        self.waits += 1


@pytest.fixture
def gpu(monkeypatch):
    gpu = GPU()
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING", raising=False)
    monkeypatch.setattr(_tl, "cuda_synchronize", gpu.synchronize)
    monkeypatch.setattr(prints, "is_capturing", lambda: gpu.is_capturing)

    def shared(shape, dtype, *, cuda):
        array = Array.empty(shape, dtype)
        array.clear(0)
        return array

    monkeypatch.setattr(Array, "shared", staticmethod(shared))
    return gpu


@pytest.fixture
def launch():
    kernel = tilec.compile(positive, target="cpu")
    return AssertingLaunch(kernel, kernel.backend.load(kernel))


def numbers():
    return np.ones(256, np.float32), np.zeros(256, np.float32)


def test_a_call_does_not_wait_and_the_next_one_tells(gpu, launch):
    a, b = numbers()
    launch(a, b)
    launch(a, b)
    assert gpu.waits == 0
    a[[70, 200]] = -1
    launch(a, b)
    assert (gpu.waits, b[70]) == (0, 0)
    b[:] = 7
    with pytest.raises(DeviceAssertError) as caught:
        launch(a, b)
    error = caught.value
    assert (error.block, error.iteration, error.count) == ((1,), (6,), 2)
    assert "no logarithm: `A[b * 64 + i] > 0` does not hold" in str(error)
    assert gpu.waits == 1
    assert (b == 7).all()  # that call is not made
    a[:] = 1
    launch(a, b)  # and all is told
    assert (gpu.waits, b[0]) == (1, 2)
    launch(a, b)


def test_who_waits_is_told(gpu, launch):
    a, b = numbers()
    a[3] = -1
    launch(a, b)
    with pytest.raises(DeviceAssertError, match="no logarithm"):
        assertions.synchronize()
    assertions.synchronize()
    launch(a, b)
    assertions.tell_failures(1)  # of another GPU
    with pytest.raises(DeviceAssertError, match="no logarithm"):
        assertions.tell_failures()


def test_what_nobody_asked_for_is_said_at_the_end(gpu):
    kernel = tilec.compile(positive, target="cpu")
    launch = AssertingLaunch(kernel, kernel.backend.load(kernel))
    a, b = numbers()
    a[3] = -1
    launch(a, b)
    error = io.StringIO()
    with redirect_stderr(error):
        del launch
        gc.collect()
    assert "DeviceAssertError" in error.getvalue()
    assert "by iteration (3,) in block (0,)" in error.getvalue()


def test_a_call_that_is_captured_notes_what_fails_later(gpu, launch):
    a, b = numbers()
    gpu.is_capturing = True
    with pytest.raises(LaunchError, match="call it once before"):
        launch(a, b)
    gpu.is_capturing = False
    launch(a, b)
    a[3] = -1
    launch(a, b)
    gpu.is_capturing = True
    launch(a, b)  # nothing is waited for, or told
    gpu.is_capturing = False
    with pytest.raises(DeviceAssertError) as caught:
        launch(a, b)
    assert caught.value.count == 2


def test_calls_wait_if_cuda_is_told_to(gpu, launch, monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    a, b = numbers()
    launch(a, b)
    assert gpu.waits == 1
    a[3] = -1
    with pytest.raises(DeviceAssertError, match="no logarithm"):
        launch(a, b)
    assert b[3] == 0  # it ran to its end


def test_what_finds_no_room_is_counted(gpu, launch, monkeypatch):
    monkeypatch.setenv("TL_PRINT_BYTES", "64")
    a, b = numbers()
    a[5:] = -1
    launch(a, b)
    with pytest.raises(DeviceAssertError) as caught:
        assertions.synchronize()
    assert caught.value.count == 251
    assert caught.value.location is not None


def test_what_prints_too_waits_as_before():
    @T.prim_func
    def both(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            T.print(A[0])
            T.device_assert(A[0] > 0)

    assert not isinstance(tilec.compile(both, target="cpu").launcher(), AssertingLaunch)
    assert not isinstance(tilec.compile(positive, target="cpu").launcher(), AssertingLaunch)
