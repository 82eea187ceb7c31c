"""`kernel.get_profiler`, `do_bench`, and the data that kernels are tried with."""

import pickle

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl, dtypes, strided, supply
from tilec.errors import ArgumentError
from tilec.profiler import interval, median
from tilec.strided import HostCopy
from tilec.supply import TensorSupplyType
from tilec.verify import compare


@T.prim_func
def double(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 8), "float32")):
    with T.Kernel(1):
        for i, j in T.Parallel(4, 8):
            B[i, j] = A[i, j] * 2


@T.prim_func
def increment(A: T.Tensor((32,), "int32")):
    with T.Kernel(1):
        for i in T.Parallel(32):
            A[i] = A[i] + 1


def test_do_bench():
    calls = []
    assert tilec.do_bench(lambda: calls.append(1), warmup=1, rep=1, device=None) > 0
    assert len(calls) > 5
    samples = tilec.do_bench(lambda: None, rep=0, return_mode="samples", device=None)
    assert len(samples) == 3
    low, high = tilec.do_bench(lambda: None, rep=1, quantiles=[0.1, 0.9], device=None)
    assert 0 < low <= high
    for mode in ("mean", "min", "max"):
        assert tilec.do_bench(lambda: None, rep=0, return_mode=mode, device=None) > 0
    with pytest.raises(ArgumentError, match="unknown `return_mode` `mode`; known are median, mean"):
        tilec.do_bench(lambda: None, return_mode="mode")


def test_intervals_hold_the_median():
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    samples = list(np.random.default_rng(1).normal(10, 1, 100))
    low, high = interval(samples)
    assert low < median(samples) < high
    assert high - low < 1
    assert interval(samples) == (low, high)
    assert interval([2.0]) == (2.0, 2.0)
    assert interval([]) == (0.0, float("inf"))


def test_profiler_runs_and_checks():
    kernel = tilec.compile(double, target="cpu", out_idx=-1)
    profiler = kernel.get_profiler()
    assert profiler.do_bench(rep=1) > 0
    assert profiler.do_bench(lambda a: None, rep=1) > 0
    (a,) = profiler.inputs()
    np.testing.assert_array_equal(np.asarray(profiler.run_once()), 2 * np.asarray(a))
    profiler.assert_allclose(lambda a: a * 2)
    with pytest.raises(AssertionError, match=r"`double`: 32 of 32 elements of `B` are wrong, worst at \(\d, \d\)"):
        profiler.assert_allclose(lambda a: a * 2 + 1)
    with pytest.raises(ArgumentError, match="returns nothing, and the kernel has results"):
        profiler.assert_allclose(lambda a: None)
    with pytest.raises(ArgumentError, match="returns 2 tensors, expected `B`"):
        profiler.assert_allclose(lambda a: (a, a))


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Has a kernel of the CPU take arrays of NumPy as those of GPUs do, by copies; returns how often each was run."""

    def change(kernel):
        launch, runs = kernel.launcher(), []

        def launch_what_is_there(*values):
            if any(isinstance(value, np.ndarray) for value in values):
                return NotImplemented
            runs.append(values)
            return launch(*values)

        monkeypatch.setattr(kernel, "_launch", launch_what_is_there)
        monkeypatch.setattr(kernel, "fast", None)
        monkeypatch.setattr(_tl, "cuda_synchronize", lambda device: None)
        monkeypatch.setattr(strided, "HostCopy", lambda a, p, cuda: HostCopy(a, p, cuda=None))
        return runs

    return change


def test_arrays_of_numpy_are_copied_before_a_kernel_runs(as_on_a_gpu):
    """Else nothing runs, and what is compared is what the memory of the results held before."""
    kernel = tilec.compile(double, target="cpu", out_idx=-1)
    runs = as_on_a_gpu(kernel)
    x = np.random.default_rng().standard_normal((4, 8), np.float32)
    kernel.get_profiler().assert_allclose(lambda a: a * 2, [x])
    assert len(runs) == 1
    with pytest.raises(AssertionError, match="32 of 32 elements of `B` are wrong"):
        kernel.get_profiler().assert_allclose(lambda a: a * 2 + 1, [x])


def test_what_is_measured_is_the_kernel(as_on_a_gpu, monkeypatch):
    """Arrays are copied once, before it is called."""
    kernel = tilec.compile(double, target="cpu", out_idx=-1)
    runs = as_on_a_gpu(kernel)
    profiler = kernel.get_profiler()
    monkeypatch.setattr(profiler, "device", 0)
    run = profiler._bound([np.ones((4, 8), np.float32)])
    run()
    run()
    assert len(runs) == 2
    np.testing.assert_array_equal(runs[1][1].numpy(), np.full((4, 8), 2))


def test_a_kernel_that_changes_its_inputs():
    def reference(a):
        a += 1

    profiler = tilec.compile(increment, target="cpu").get_profiler()
    profiler.assert_allclose(reference)
    profiler.assert_allclose(lambda a: a + 1)
    with pytest.raises(AssertionError, match="elements of `A` are wrong"):
        profiler.assert_allclose(lambda a: a)


def test_what_cannot_be_made_up():
    @T.prim_func
    def scaled(A: T.Tensor(("n",), "float32"), factor: T.float32):
        with T.Kernel(1):
            A[0] = factor

    profiler = tilec.compile(scaled, target="cpu").get_profiler()
    with pytest.raises(ArgumentError, match="the extent `n` of `A` is not known before a call"):
        profiler.do_bench()
    a = np.zeros(3, np.float32)
    assert profiler.do_bench(rep=0, inputs=[a, 4.0]) > 0
    assert a[0] == 4

    @T.prim_func
    def spread(A: T.StridedTensor((3,), (2,), "float32")):
        with T.Kernel(1):
            A[0] = 5.0

    profiler = tilec.compile(spread, target="cpu").get_profiler()
    with pytest.raises(ArgumentError, match="`spread` takes `A` with gaps: pass `inputs`"):
        profiler.do_bench()
    a = np.zeros(6, np.float32)
    assert profiler.do_bench(rep=0, inputs=[a[::2]]) > 0
    assert a[0] == 5


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3", "float8_e5m2"])
def test_narrow_floats_are_stored_as_others_do(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    theirs = np.dtype(getattr(ml_dtypes, {"float8_e4m3": "float8_e4m3fn"}.get(name, name)))
    dtype = dtypes.dtype(name)
    codes = np.arange(65536 if name == "bfloat16" else 256).astype(supply.storage_type(dtype))
    values = codes.view(theirs).astype(np.float32)
    np.testing.assert_array_equal(supply.decode(codes, dtype), values)
    random = np.random.default_rng(0).standard_normal(10000).astype(np.float32) * 20
    finite = np.concatenate([random, values[np.isfinite(values)], random.astype(theirs).astype(np.float32) * 1.0625])
    np.testing.assert_array_equal(supply.encode(finite, dtype), finite.astype(theirs).view(codes.dtype))
    assert np.isnan(supply.decode(supply.encode(np.array([np.nan], np.float32), dtype), dtype)).all()


@pytest.mark.parametrize("kind", list(TensorSupplyType))
@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e4m3", "int8", "uint32", "bool"])
def test_supplies(kind, name):
    dtype = dtypes.dtype(name)
    storage = supply.supply((5, 7), dtype, kind, (0, 1))
    assert storage.shape == (5, 7)
    values = supply.decode(storage, dtype).astype(np.float64)
    if kind in (TensorSupplyType.Zero, TensorSupplyType.One):
        assert (values == (kind is TensorSupplyType.One)).all()
    else:
        assert len(np.unique(values)) > 1
        assert np.abs(values).max() < 6
        np.testing.assert_array_equal(storage, supply.supply((5, 7), dtype, kind, (0, 1)))
        assert not np.array_equal(storage, supply.supply((5, 7), dtype, kind, (0, 2)))
    assert supply.supply((0, 3), dtype, kind, (0,)).shape == (0, 3)


def test_storage_goes_there_and_back():
    storage = supply.supply((3, 4), dtypes.bfloat16, TensorSupplyType.Auto, (0,))
    array = tilec.Array.from_numpy(storage, dtypes.bfloat16)
    back, dtype = supply.to_storage(array)
    assert dtype is dtypes.bfloat16
    np.testing.assert_array_equal(back, storage)
    values = np.arange(12, dtype=np.int16).reshape(3, 4)
    np.testing.assert_array_equal(supply.from_storage(*supply.to_storage(values), cuda=None), values)


def test_comparing():
    f32 = dtypes.float32

    def check(a, b, ratio=0.0):
        return compare("C", (np.float32(a), f32), (np.float32(b), f32), 1e-2, 1e-2, ratio)

    assert check([1, np.nan, np.inf], [1.001, np.nan, np.inf]) is None
    assert "1 of 2 elements of `C` are wrong, worst at (1,): nan, expected 1.0" in check([1, np.nan], [1, 1])
    assert "worst at (0,): 1.0, expected nan" in check([1.0], [np.nan])
    assert "worst at (1,): inf, expected -inf" in check([0, np.inf], [0, -np.inf])
    assert "has shape (2,), and the reference (1,)" in check([1, 1], [1])
    assert check([1, 1, 1, 2], [1, 1, 1, 1], ratio=0.25) is None
    assert "1 of 4" in check([1, 1, 1, 2], [1, 1, 1, 1], ratio=0.2)


def test_programs_go_to_other_processes(cache_on):
    copy = pickle.loads(pickle.dumps(double))
    assert [(p.name, p.is_written) for p in copy.parameters] == [("A", False), ("B", True)]
    kernel = tilec.compile(copy, target="cpu", out_idx=1)
    assert kernel is tilec.compile(double, target="cpu", out_idx=1)
