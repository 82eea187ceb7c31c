"""Measuring on a GPU: events, cold caches, and a bound that no kernel can beat."""

import json

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl, targets

if targets.gpu_chip() is None:
    pytest.skip("no GPU answers", allow_module_level=True)


def double(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 1024), threads=256) as b:
            for i in T.Parallel(1024):
                B[b * 1024 + i] = A[b * 1024 + i] * 2

    return tilec.compile(kernel, target="cuda", out_idx=-1)


def test_time_grows_with_the_data():
    small, large = (double(n).get_profiler().do_bench(warmup=5, rep=20) for n in (1 << 20, 1 << 28))
    assert 1e-4 < small < 0.1, "4 MB take microseconds"
    assert large > 10 * small
    assert large > 2 * 4 * (1 << 28) / 20e12 * 1e3, "no memory moves 20 TB/s"


def test_runs_begin_with_a_cold_cache(monkeypatch):
    """Before each run more memory is written to than the L2 cache holds; how much longer a run takes is the GPU's."""
    filled = []
    fill = _tl.cuda_fill

    def note(device, address, byte, size, stream):
        filled.append(size)
        fill(device, address, byte, size, stream)

    monkeypatch.setattr(_tl, "cuda_fill", note)
    profiler = double(1 << 21).get_profiler()
    profiler.do_bench(warmup=1, rep=1, flush_l2=False)
    assert not filled
    profiler.do_bench(warmup=1, rep=1)
    assert filled
    assert min(filled) >= 2 * json.loads(_tl.cuda_device_info(0))["l2_cache"]


def test_fills_and_copies():
    first, second = (tilec.Array.empty((1000,), "uint8", cuda=0) for _ in range(2))
    _tl.cuda_fill(0, first.address, 7, 1000, 0)
    _tl.cuda_copy(0, second.address, first.address, 1000, 0)
    np.testing.assert_array_equal(second.numpy(), np.full(1000, 7, np.uint8))


def test_events():
    start, end = _tl.Event(0), _tl.Event(0)
    start.record(0)
    end.record(0)
    assert 0 <= end.since(start) < 1000


def test_results_are_checked():
    double(1 << 20).get_profiler().assert_allclose(lambda a: a * 2)


def test_arrays_of_numpy_are_measured_on_the_gpu():
    """A kernel that is given them by itself says that they must be copied, and does nothing."""
    kernel = double(1 << 26)
    profiler = kernel.get_profiler()
    x = np.random.default_rng().standard_normal(1 << 26, np.float32)
    profiler.assert_allclose(lambda a: a * 2, [x])
    with pytest.raises(AssertionError, match="67108864 of 67108864 elements of `B` are wrong"):
        profiler.assert_allclose(lambda a: a * 2 + 1, [x])
    given, made = (profiler.do_bench(warmup=5, rep=50, inputs=inputs) for inputs in ([x], None))
    assert 0.8 < given / made < 1.25
