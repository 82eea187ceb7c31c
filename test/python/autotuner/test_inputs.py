"""What kernels are measured with, and what is done about those that change it."""

import gc
import os
import sys
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.autotuner import AutoTuner, get_autotune_inputs, set_autotune_inputs
from tilec.errors import ArgumentError, ConfigError, TuningError
from tuned_kernels import QUICK, increment, reference, tuned


def test_scalars_need_inputs():
    @tilec.autotune(configs={"block": [16, 32]}, ref_prog=lambda a, s, c: a * s, **QUICK)
    @tilec.jit(target="cpu")
    def lazy(n: int, block: int = 8):
        @T.prim_func
        def times(A: T.Tensor((n,), "float32"), s: T.float32, C: T.Tensor((n,), "float32")):
            with T.Kernel(T.ceildiv(n, block)) as b:
                for i in T.Parallel(block):
                    C[b * block + i] = A[b * block + i] * s

        return times

    with pytest.raises(ConfigError, match=r"`s` is a scalar, .* set_autotune_inputs"):
        lazy(32)
    a, c = np.random.rand(32).astype(np.float32), np.zeros(32, np.float32)
    with set_autotune_inputs(a, 3.0, c):
        kernel = lazy(32)
    kernel(a, 5.0, c)
    np.testing.assert_array_equal(c, a * np.float32(5))
    assert lazy(32) is kernel, "what was found with inputs is found without"
    again = tilec.autotune(configs={"block": [16, 32]}, ref_prog=lambda a, s, c: a * s, **QUICK)(lazy.__wrapped__)
    assert again.tune(32).from_cache, "in another process too"


def test_symbolic_dimensions():
    function = tuned({"block": [16, 32]}, ref_prog=reference)
    with pytest.raises(ArgumentError, match="the extent `n` of `A` is not known before a call: give tensors"):
        function(T.dynamic("n"))
    a, b = np.random.rand(100).astype(np.float32), np.random.rand(40).astype(np.float32)
    with set_autotune_inputs([a]):
        kernel = function(T.dynamic("n"))
        assert function(n=T.dynamic("n")) is kernel
    np.testing.assert_array_equal(kernel(a), 2 * a)
    np.testing.assert_array_equal(kernel(b), 2 * b)


def test_inputs_nest_and_belong_to_threads():
    assert get_autotune_inputs() is None
    with set_autotune_inputs(1, 2) as outer:
        assert outer == (1, 2) == get_autotune_inputs()
        with set_autotune_inputs([3]):
            assert get_autotune_inputs() == (3,)
            seen = []
            thread = threading.Thread(target=lambda: seen.append(get_autotune_inputs()))
            thread.start()
            thread.join()
            assert seen == [None]
        assert get_autotune_inputs() == (1, 2)
    function = tuned([{"block": 16}])
    with set_autotune_inputs(1, 2, 3), pytest.raises(ConfigError, match="is measured with 3 inputs, expected `A`"):
        function(16)
    wide = np.zeros((2, 2), np.float32)
    with set_autotune_inputs(wide), pytest.raises(ConfigError, match="`A` of `multiply` has 1 dimensions, and the"):
        function(16)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            np.zeros(10, np.float32),
            "dimension 0 of `A` of `multiply` is 16, and that of the tensor to measure it with 10",
        ),
        (np.zeros(16, np.float64), "`A` of `multiply` is of float32, and the tensor to measure it with of float64"),
        (3.0, "`A` of `multiply` is a tensor, and cannot be measured with `float`"),
    ],
)
def test_inputs_that_do_not_fit_are_no_configurations_fault(wrong, message):
    function = tuned({"block": [8, 16]})
    with set_autotune_inputs(wrong), pytest.raises(ConfigError, match=message):
        function(16)
    with pytest.raises(ConfigError, match=message):
        tuned({"block": [8, 16]}, supply_prog=lambda parameters: [wrong])(16)
    with set_autotune_inputs(np.zeros(16, np.float32)):
        assert all(r.is_ok for r in function.tune(16).records)


def test_scalars_and_symbols_that_do_not_fit():
    n = T.dynamic("n")

    @T.prim_func
    def shift(A: T.Tensor((n,), "float32"), s: T.float32, B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.serial(n):
                B[i] = A[i] + s

    tuner = AutoTuner(lambda x: shift, {"x": [1]}).set_compile_args(target="cpu")
    a, b = np.zeros(4, np.float32), np.zeros(5, np.float32)
    with set_autotune_inputs(a, a, a), pytest.raises(ConfigError, match="`s` of `shift` is a scalar, and cannot be"):
        tuner.run(**QUICK)
    with set_autotune_inputs(a, 1.0, b), pytest.raises(ConfigError, match="dimension 0 of `B` of `shift` is 4, and"):
        tuner.run(**QUICK)
    with set_autotune_inputs(a, np.float32(1), a):
        assert tuner.run(**QUICK).latency > 0


def test_supplied_tensors(commands):
    calls = []

    def supply(parameters):
        calls.append(parameters)
        return [np.full(p.shape, 3, p.dtype.name) for p in parameters]

    def reference(a):
        assert (a == 3).all()
        return a * 2

    tuned({"block": [8, 16, 32]}, supply_prog=supply, ref_prog=reference).tune(16)
    assert len(calls) == 1
    assert repr(calls[0]) == "[<A: (16,) of float32>]"
    tuned({"block": [8, 16, 32]}, supply_prog=supply, ref_prog=reference, cache_input_tensors=False, rep=1).tune(16)
    assert len(calls) == 4


def test_supplied_tensors_are_not_mistaken_for_those_that_are_gone():
    """A tensor may be made where another was, and has its `id` then."""
    values = iter(range(1, 9))

    def supply(parameters):
        return [np.full(p.shape, next(values), p.dtype.name) for p in parameters]

    seen = []

    def reference(a):
        seen.append(float(a[0]))
        return a * 2

    profile = {"supply_prog": supply, "ref_prog": reference, "cache_input_tensors": False}
    assert all(r.is_ok for r in tuned({"block": [8, 16, 24, 32]}, **profile).tune(16).records)
    assert sorted(set(seen)) == [1, 2, 3, 4]


def test_tensors_of_calls_are_let_go(commands):
    for checks in (1, 0):  # tuned, and found again
        function = tilec.autotune(configs={"block": [16]}, **QUICK)(increment)
        a = np.zeros(48, np.float32)
        alive = weakref.ref(a)
        function(a)
        assert commands.count("check") == checks
        del a, commands[:]
        gc.collect()
        assert alive() is None


def test_tensors_leave_nothing_behind():
    def files():
        return {name for folder in ("/dev/shm", tempfile.gettempdir()) for name in os.listdir(folder)}

    before = files()
    tuned({"block": [8, 16]}, ref_prog=reference, manual_check_prog=lambda found, wanted: None).tune(16)
    assert not {name for name in files() - before if name.startswith("tilec")}


@T.prim_func
def accumulate(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(16):
            B[i] = B[i] + A[i]


def stop_if_changed(arguments):
    """Fails at the second run, unless something undid the first."""
    first = globals().setdefault("FIRST", arguments["B"].copy())
    assert np.array_equal(arguments["B"], first)


@pytest.mark.parametrize(
    ("changes", "status"), [({"reset_to_zero": ["B"]}, "ok"), ({"restore_value": ["B"]}, "ok"), ({}, "failed")]
)
def test_changes_are_undone_before_each_run(changes, status, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    tuner = AutoTuner(lambda x: accumulate, {"x": [1]}).set_compile_args(target="cpu")
    profile = {**QUICK, "pre_hook": stop_if_changed, **changes}
    if status == "ok":
        assert tuner.run(**profile).records[0].status == "ok"
    else:
        with pytest.raises(TuningError, match="failed: AssertionError"):
            tuner.run(**profile)


def test_the_reference_of_a_kernel_that_changes_its_arguments():
    def reference(a, b):
        b += a

    tuner = AutoTuner(lambda x: accumulate, {"x": [1]}).set_compile_args(target="cpu")
    assert tuner.run(**QUICK, ref_prog=reference).checked


def test_hooks_that_cannot_be_sent(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    tuner = AutoTuner(lambda x: accumulate, {"x": [1]}).set_compile_args(target="cpu")
    with pytest.raises(ConfigError, match="the `pre_hook` of .* runs in another process: define it at the top"):
        tuner.run(**QUICK, pre_hook=lambda arguments: None)
    with pytest.raises(TuningError, match="`restore_value` names `Z`, which is no tensor of the kernel"):
        tuner.run(**QUICK, restore_value=["Z"])


# Tensors that are not contiguous.


@tilec.jit(target="cpu")
def gather(A, block: int = 8):
    M, N, P, Q = T.const("M, N, P, Q")
    A: T.StridedTensor[[M, N], [P, Q], T.float32]
    B = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, block)) as b:
        for i, j in T.Parallel(block, N):
            B[b * block + i, j] = A[b * block + i, j] + 1.0
    return B


def test_strides_of_tensors_are_those_of_the_call(commands):
    def make():
        return tilec.autotune(configs={"block": [4, 8]}, ref_prog=lambda a: a + 1, **QUICK)(gather)

    function, wide = make(), np.random.rand(16, 12).astype(np.float32)
    for a in (wide, wide[:, ::3], wide.T, np.broadcast_to(wide[:1], (16, 12))):
        np.testing.assert_array_equal(function(a), a + 1)
        assert function.tune(a).checked
    assert commands.count("check") == 8
    for a in (wide[:, ::3], wide, wide.T):
        assert make().tune(a).from_cache, "each has a choice of its own"
    assert make().tune(M=16, N=4, P=12, Q=3).from_cache
    assert make().compile(M=8, N=4, P=64, Q=2).target == "cpu"
    assert commands.count("check") == 10, "tensors are made up with gaps as well"


def test_kernels_write_where_the_strides_say():
    m, n, p = T.dynamic("m, n, p")

    @T.prim_func
    def increment(A: T.StridedTensor((m, n), (p, 1), "float32")):
        with T.Kernel(m) as i:
            for j in T.serial(n):
                A[i, j] = A[i, j] + 1.0

    def reference(a):
        a += 1

    tuner = AutoTuner(lambda x: increment, {"x": [1]}).set_compile_args(target="cpu")
    wide = np.random.rand(6, 10).astype(np.float32)
    with set_autotune_inputs(wide[:, :4]):
        assert tuner.run(**QUICK, ref_prog=reference).checked
        assert tuner.run(**QUICK, ref_prog=reference, restore_value=["A"]).checked
        assert tuner.run(**QUICK, ref_prog=lambda a: a * 0 + 1, reset_to_zero=["A"]).checked


def test_made_up_strides():
    from tilec.strided import strides_of

    m, n = T.dynamic("m, n")
    assert strides_of(T.Tensor((4, 8), "float32"), (4, 8)) is None
    assert strides_of(T.StridedTensor((4, 8), (m, n), "float32"), (4, 8)) is None
    assert strides_of(T.StridedTensor((4, 8), (m, 2), "float32"), (4, 8)) == (16, 2)
    assert strides_of(T.StridedTensor((4, 8), (32, n), "float32"), (4, 8)) == (32, 1)
