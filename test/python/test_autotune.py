"""The autotuner, on kernels of the CPU: what it finds, what it keeps, what it survives."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl
from tilec.autotuner import AutoTuner, get_autotune_inputs, identity, set_autotune_inputs
from tilec.autotuner.processes import Failure, Worker
from tilec.autotuner.records import Record, Store
from tilec.errors import ArgumentError, ConfigError, MissingPackageError, TuningError

if os.environ.get("TL_TEST_CACHE") in ("warm", "off"):
    pytest.skip("these tests have caches of their own, so once is enough", allow_module_level=True)

QUICK = {"warmup": 0, "rep": 0}
"""Five samples of each configuration."""


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    """A cache for each test."""
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TL_DISABLE_CACHE", raising=False)
    monkeypatch.delenv("TL_AUTOTUNE_FROZEN", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def commands(monkeypatch):
    """What processes are told to do."""
    given = []
    call = Worker.call

    def note(self, command, *arguments, timeout):
        given.append(command)
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", note)
    return given


def scale(n, block=8, factor=2.0, fault=0):
    """A kernel that can go wrong in several ways."""

    @T.prim_func
    def multiply(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            if fault == 1:
                x = T.alloc_var("int32", 1)
                while x > 0:  # for ever
                    x = x + A.shape[0] * 0
                B[0] = T.float32(x)
            if fault == 2:
                S = T.alloc_shared((64,), "float32")
                x = T.alloc_var("int32", 0)
                while x >= 0:  # far beyond its end
                    S[x] = 1.0
                    x = x + 4096
                B[0] = S[0]
            if fault == 4:
                T.gemm(A, A, B)
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * (3 if fault == 3 else factor)

    return multiply


def tuned(configs, *, out_idx=1, do_not_specialize=None, results=None, target="cpu", **profile):
    jitted = tilec.jit(target=target, out_idx=out_idx)(scale)
    arguments = {**QUICK, **profile}
    return tilec.autotune(configs=configs, do_not_specialize=do_not_specialize, results=results, **arguments)(jitted)


def reference(a):
    return a * 2


# What is tuned.


def test_a_lazy_function(commands):
    function = tuned({"block": [16, 32]}, ref_prog=reference)
    kernel = function(128)
    a = np.random.rand(128).astype(np.float32)
    np.testing.assert_array_equal(kernel(a), 2 * a)
    result = function.tune(128)
    assert commands.count("compile") == 2
    assert commands.count("check") == 2
    assert result.kernel is kernel
    assert result.out_idx == (1,)
    assert result.config in ({"block": 16}, {"block": 32})
    assert result.latency == min(r.latency for r in result.records)
    assert result.ref_latency > 0
    assert result.checked
    assert not result.from_cache
    assert "multiply" in result.libcode
    assert result.func.name == "multiply"
    assert function.compile(128) is kernel
    assert "unchecked" not in repr(result)


def test_an_eager_function():
    @tilec.autotune(configs=[{"block": 16}, {"block": 32}], ref_prog=lambda a, b: a + b, **QUICK)
    @tilec.jit(target="cpu")
    def add(A, B, block: int = 8):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[N], T.float32]
        C = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, block)) as b:
            for i in T.Parallel(block):
                C[b * block + i] = A[b * block + i] + B[b * block + i]
        return C

    a, b = np.random.rand(64).astype(np.float32), np.random.rand(64).astype(np.float32)
    np.testing.assert_array_equal(add(a, b), a + b)
    assert add.is_eager
    result = add.tune(a, b)
    assert result.checked
    assert result.kernel is add.compile(B=b, A=a)
    longer = np.ones(100, np.float32)
    np.testing.assert_array_equal(add(longer, longer), longer + longer)
    assert add.tune(longer, longer) is not result


def test_scalars_of_an_eager_call_are_used():
    @tilec.autotune(configs={"block": [16, 32]}, ref_prog=lambda a, s, c: a + s, **QUICK)
    @tilec.jit(target="cpu")
    def shift(A: T.Tensor((32,), "float32"), s: T.float32, C: T.Tensor((32,), "float32"), block: int = 8):
        with T.Kernel(T.ceildiv(32, block)) as b:
            for i in T.Parallel(block):
                C[b * block + i] = A[b * block + i] + s

    a, c = np.random.rand(32).astype(np.float32), np.zeros(32, np.float32)
    shift(a, 3.0, c)
    np.testing.assert_array_equal(c, a + np.float32(3))


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


def test_the_class():
    tuner = AutoTuner.from_kernel(lambda block, factor: scale(64, block, factor), [{"block": 16, "factor": 2.0}])
    result = (
        tuner.set_compile_args(out_idx=-1, target="cpu", pass_configs={"fast_math": True})
        .set_profile_args(ref_prog=reference, timeout=20)
        .run(**QUICK)
    )
    assert result.kernel._options["fast_math"]
    assert result.config == {"block": 16, "factor": 2.0}
    assert result.out_idx == (1,)
    with pytest.raises(ConfigError, match=r"`tilec\.compile` has no option `fast_maths`"):
        tuner.set_compile_args(fast_maths=True)
    with pytest.raises(ConfigError, match="there is no argument `warm_up` for tuning; known are `warmup`, `rep`"):
        tuner.set_profile_args(warm_up=3)

    jitted = AutoTuner(tilec.jit(target="cpu", out_idx=1)(scale), {"n": [32], "block": [8, 16]})
    assert jitted.run(**QUICK).config["n"] == 32


@tilec.jit(target="cpu")
def increment(A, block: int = 8):
    N = T.const("N")
    A: T.Tensor[[N], T.float32]
    B = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        for i in T.Parallel(block):
            B[b * block + i] = A[b * block + i] + 1.0
    return B


def test_an_eager_function_is_tuned_for_extents(commands):
    function = tilec.autotune(configs={"block": [16, 32]}, ref_prog=lambda a: a + 1, **QUICK)(increment)
    a = np.random.rand(48).astype(np.float32)
    kernel = function.compile(N=48)
    assert commands.count("check") == 2
    np.testing.assert_array_equal(kernel(a), a + 1)
    assert function.compile(N=48) is kernel
    assert function.tune(N=48).checked
    with pytest.raises(ArgumentError, match="the extent `n` of `A` is not known before a call: give tensors"):
        function.compile(N=T.dynamic("n"))
    with set_autotune_inputs(a):
        kernel = function.compile(N=T.dynamic("n"))
        assert function.compile(N=T.dynamic("n")) is kernel
    for n in (48, 5):
        np.testing.assert_array_equal(kernel(a[:n]), a[:n] + 1)


def test_dynamic_extents_share_a_choice_with_others_of_about_the_size(commands):
    @tilec.jit(target="cpu")
    def shift(A, block: int = 8):
        n, K = T.dynamic("n"), T.const("K")
        A: T.Tensor[[n, K], T.float32]
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i, j in T.Parallel(block, K):
                A[b * block + i, j] = A[b * block + i, j] + 1.0

    def checks(shape):
        del commands[:]
        a = np.zeros(shape, np.float32)
        function(a)
        np.testing.assert_array_equal(a, 1)
        return commands.count("check")

    configs = {"block": [16, 32]}
    function = tilec.autotune(configs=configs, **QUICK)(shift)
    assert [checks((n, 4)) for n in (33, 64, 50, 65, 128)] == [2, 0, 0, 2, 0]
    assert checks((33, 8)) == 2, "other extents have a kernel of their own"
    function = tilec.autotune(configs=configs, **QUICK)(shift)
    assert [checks((n, 4)) for n in (40, 100)] == [0, 0], "in another process too"


# Configurations.


def test_options_of_a_configuration():
    configs = [{"block": 16, "pass_configs": {"fast_math": f}} for f in (False, True)]
    result = tuned(configs).tune(32)
    assert len(result.records) == 2
    assert {r.config["pass_configs"]["fast_math"] for r in result.records} == {False, True}
    for fast in (False, True):
        function = tuned([{"block": 16, "pass_configs": {"fast_math": fast}}])
        kernel = function(32)
        assert kernel is function.tune(32).kernel is function.compile(32)
        assert kernel._options["fast_math"] is fast


def test_a_callable_gets_the_raw_arguments_each_time():
    seen = []

    def configs(*args, **kwargs):
        seen.append((args, kwargs))
        return {"block": [8]}

    function = tuned(configs)
    function(16)
    function(n=32)
    function(16)
    assert ((16,), {}) in seen
    assert ((), {"n": 32}) in seen
    assert callable(function._configs)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([], "there are no configurations to tune `scale` with"),
        ({"block": []}, "there are no configurations"),
        ([{"blocks": 3}], "unused keys in config of `scale`: `blocks`; its parameters are `n`, `block`"),
        ([3], "must be a dictionary, not `3`"),
        ({"block": 3}, "the values of `block` for `scale` must be a list"),
        ("block", "must be a list, a dictionary or a callable"),
        ([{"pass_configs": 3}], "`pass_configs` of a config of `scale` must be a dictionary"),
        ([{"pass_configs": {"quick": 3}}], "unused keys in `pass_configs` of `scale`: `quick`; known are"),
    ],
)
def test_lists_that_make_no_sense(configs, message):
    with pytest.raises(ValueError, match=message):
        tuned(configs)(16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"early_stop_factor": 0.5}, "`early_stop_factor` must be at least 1, and 0.5 is not"),
        ({"timeout": 0}, "`timeout` must be positive"),
        ({"executor": "slurm"}, "unknown executor `slurm`; known are `local`, `ray`"),
        ({"do_not_specialize": ["m"]}, "`do_not_specialize` names `m`, no parameter of `scale`"),
        ({"search": "luck"}, "unknown search `luck`; known are `exhaustive`, `optuna`"),
        ({"search": "optuna"}, "needs `trials`"),
        ({"prune_configs_by": {"top": 3}}, "unused keys in `prune_configs_by` of .*: `top`"),
        ({"prune_configs_by": {"early_config_prune": lambda c, a: []}}, "leaves no configurations"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        tuned([{"block": 8}], **arguments)(16)


def test_what_can_be_decorated():
    with pytest.raises(ArgumentError, match=r"goes over `@tilec\.jit`"):
        tilec.autotune(configs=[{}])(scale)
    with pytest.raises(ArgumentError, match="takes its configurations in brackets"):
        tilec.autotune(tilec.jit(scale))
    with pytest.raises(ConfigError, match="needs `configs`"):
        tilec.autotune()
    with pytest.raises(ArgumentError, match="multiple values for argument `n`"):
        tuned([{"block": 8}])(3, n=4)
    with pytest.raises(ArgumentError, match="takes 4 arguments, and 5 are given"):
        tuned([{"block": 8}])(1, 2, 3, 4, 5)


def test_a_tunable_that_is_given_is_used(commands, caplog):
    function = tuned({"block": [16, 32]})
    kernels = {function(64, block=24), function(64, 24)}
    assert len(kernels) == 1
    assert not commands
    assert [r.getMessage() for r in caplog.records] == [
        "`scale` is given `block`, which it would be tuned for: nothing is tuned"
    ]


def test_pruning(commands):
    named = []

    def early(configs, arguments):
        named.append(arguments)
        return [c for c in configs if c["block"] != 8]

    rules = {"early_config_prune": early, "perf_model": lambda n, block: -block, "top_k": 0.5}
    result = tuned({"block": [8, 16, 32, 48, 64]}, prune_configs_by=rules).tune(64)
    assert named == [{"n": 64}]
    assert sorted(r.config["block"] for r in result.records) == [48, 64]
    rules["top_k"] = 1
    assert tuned({"block": [8, 16, 32]}, prune_configs_by=rules).tune(64).config == {"block": 32}


# Keys.


def test_equal_calls_are_one(commands):
    function = tuned({"block": [16]})
    kernel = function(32)
    count = len(commands)
    assert function(n=32) is function(32, factor=2.0) is function(factor=2.0, n=32) is kernel
    assert len(commands) == count
    assert function(32, factor=3.0) is not kernel
    with pytest.raises(ArgumentError, match="not hashable"):
        function(np.dtype([("a", "i4")]), factor=bytearray(3))


def test_a_call_that_was_made_before_is_looked_up_at_once(commands, monkeypatch):
    function = tilec.autotune(configs={"block": [16, 32]}, **QUICK)(increment)
    a = np.random.rand(48).astype(np.float32)
    function(a)
    with monkeypatch.context() as patch:
        patch.setattr(function, "_config", None)
        np.testing.assert_array_equal(function(a), a + 1)
    with set_autotune_inputs(a), pytest.raises(TypeError), monkeypatch.context() as patch:
        patch.setattr(function, "_config", None)  # who gives inputs may want others
        function(a)
    np.testing.assert_array_equal(function(a[:40]), a[:40] + 1)
    assert len(function._calls) == 2
    monkeypatch.setattr("tilec.autotuner.decorator._MOST_CALLS", 2)
    function(a[:30])
    assert len(function._calls) == 1


def test_a_shared_configuration_never_shares_a_kernel(commands):
    function = tuned({"block": [16, 32]}, do_not_specialize=["n"])
    kernels = [function(n) for n in (64, 100)]
    assert commands.count("compile") == 2, "tuned once"
    for kernel, n in zip(kernels, (64, 100), strict=True):
        a = np.random.rand(n).astype(np.float32)
        np.testing.assert_array_equal(kernel(a), 2 * a)
    function(64, factor=3.0)
    assert commands.count("compile") == 4
    again = tuned({"block": [16, 32]}, do_not_specialize=["n"])
    assert again(100).function.parameters[0].type.shape == (100,)
    assert again.tune(64).from_cache
    assert commands.count("compile") == 4, "in another process too"


def test_integers_that_are_given_are_part_of_the_key(commands):
    @tilec.autotune(configs={"block": [4]}, **QUICK)
    @tilec.jit(target="cpu", out_idx=1)
    def gather(block: int = 4):
        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
            with T.Kernel(T.ceildiv(8, block)) as b:
                for i in T.Parallel(block):
                    B[b * block + i] = A[b * block + i] + 1

        return kernel

    for values in (np.zeros(8, np.int32), np.ones(8, np.int32), np.zeros(8, np.int32)):
        gather._found.clear()
        with set_autotune_inputs(values):
            gather()
    assert commands.count("check") == 2


def test_fingerprints_see_what_a_function_uses():
    def make(constant, text):
        scope = {"constant": constant}
        exec(f"def helper(x):\n    return x + constant\ndef f(x, d=1):\n    return helper(x){text}", scope)
        scope["f"].__module__ = scope["helper"].__module__ = "m"
        return scope["f"]

    assert identity.fingerprint(make(1, "")) == identity.fingerprint(make(1, "  # a comment"))
    assert identity.fingerprint(make(1, "")) != identity.fingerprint(make(2, ""))
    assert identity.fingerprint(make(1, "")) != identity.fingerprint(make(1, " + 1"))


def test_canonical_arguments():
    canonical = identity.canonical
    assert canonical((1, [2.5], {"a": None}, {3, 1})) == [1, ["2.5"], {"a": None}, [1, 3]]
    assert canonical(np.zeros((2, 3), np.float16)) == {"dtype": "float16", "shape": [2, 3]}
    assert canonical(T.float16) == {"DType": "float16"}
    assert canonical(T.dynamic("m")) == {"Symbol": "m"}
    assert canonical(scale(8)) == canonical(scale(8)) != canonical(scale(9))

    class Plain:
        def __init__(self, x):
            self.x = x

    assert canonical(Plain(1)) == canonical(Plain(1)) != canonical(Plain(2))


# Configurations that go wrong.


def test_bad_configurations_disturb_nobody(commands):
    configs = [{"block": b, "fault": f} for f in (1, 2, 3, 4, 0) for b in (16, 32)]
    function = tuned(configs, ref_prog=reference, timeout=2.5)
    result = function.tune(64)
    assert {(r.config["fault"], r.status) for r in result.records} == {
        (0, "ok"),
        (1, "timeout"),
        (2, "crashed"),
        (3, "wrong"),
        (4, "invalid"),
    }
    reasons = {r.config["fault"]: r.reason for r in result.records}
    assert reasons[1] == "took longer than 2.5 s and was killed"
    assert "killed by SIGSEGV" in reasons[2]
    assert "of 64 elements of `B` are wrong, worst at (" in reasons[3]
    assert "`A` of `T.gemm` needs two dimensions" in reasons[4]
    assert result.config["fault"] == 0
    text = result.table()
    assert all(status in text for status in ("timeout", "crashed", "wrong", "invalid"))

    del commands[:]
    again = tuned([*configs, {"block": 64, "fault": 0}], ref_prog=reference, timeout=2.5).tune(64)
    assert commands.count("check") == 1, "failures have records too"
    assert len(again.records) == 11


def test_nothing_works():
    with pytest.raises(TuningError, match=r"no configuration of `.*scale` works:\n.*'fault': 3.*: wrong: 1. of 16"):
        tuned({"fault": [3, 4]}, ref_prog=reference)(16)


def test_what_the_compiler_rejects(commands):
    @tilec.autotune(configs={"space": ["fragment", "shared"]}, **QUICK)
    @tilec.jit(target="cpu", out_idx=0)
    def gemm(space: str = ""):
        @T.prim_func
        def kernel(C: T.Tensor((64, 64), "float32")):
            with T.Kernel(1):
                S = T.alloc_shared((64, 64), "float32")
                acc = T.alloc_fragment((64, 64), "float32") if space == "fragment" else S
                T.clear(S)
                T.clear(acc)
                T.gemm(S, S, acc)
                T.copy(acc, C)

        return kernel

    result = gemm.tune()
    assert result.config == {"space": "fragment"}
    failed = result.records[-1]
    assert failed.status == "uncompilable"
    assert "`kernel` cannot be compiled" in failed.reason


def test_checks_by_hand():
    seen = []

    def check(found, wanted):
        seen.append((found, wanted))
        assert np.array_equal(found[0], wanted[0]), "not what was asked for"

    configs = {"fault": [0, 3]}
    result = tuned(configs, ref_prog=reference, manual_check_prog=check).tune(16)
    assert [r.status for r in result.records] == ["ok", "wrong"]
    assert result.records[1].reason.startswith("`manual_check_prog` objects: not what was asked for")
    assert len(seen) == 2
    result = tuned(configs, manual_check_prog=lambda found, wanted: np.abs(found[0]).max() < 0).tune
    with pytest.raises(TuningError, match="`manual_check_prog` returns False"):
        result(16)


def test_without_a_reference_nothing_is_checked():
    result = tuned({"fault": [0, 3]}).tune(16)
    assert not result.checked
    assert "unchecked" in repr(result)
    assert all(r.is_ok and not r.checked for r in result.records)
    result = tuned({"fault": [0, 3]}, ref_prog=reference, skip_check=True).tune(16)
    assert not result.checked
    assert len(tuned({"fault": [0, 3]}, ref_prog=reference, max_mismatched_ratio=1.0).tune(16).contenders) >= 1


# Kernels that change what they read.


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


# What is kept.


def test_a_new_configuration_measures_only_itself(commands):
    tuned({"block": [16, 32]}, ref_prog=reference)(64)
    del commands[:]
    result = tuned({"block": [16, 32, 64]}, ref_prog=reference).tune(64)
    assert commands.count("check") == 1
    assert len(result.records) == 3
    assert result.ref_latency > 0


def test_the_same_kernel_is_measured_once(commands):
    result = tuned([{"fault": 0}, {"fault": 5}, {"fault": 6}]).tune(16)
    assert commands.count("check") == 1
    assert len({r.latency for r in result.records}) == 1
    assert len(result.records) == 3


def test_memory_and_disk_agree(commands):
    configs = {"block": [16, 32], "fault": [0, 3, 4, 5]}
    first = tuned(configs, ref_prog=reference).tune(64)
    del commands[:]
    second = tuned(configs, ref_prog=reference).tune(64)
    assert not commands
    assert second.from_cache
    for name in ("config", "latency", "ref_latency", "out_idx", "checked", "key"):
        assert getattr(first, name) == getattr(second, name)
    assert [(r.config, r.samples, r.status) for r in first.records] == [
        (r.config, r.samples, r.status) for r in second.records
    ]
    tilec.cache.clear()
    assert not list(Store().bodies())
    tuned({"block": [16, 32]}).tune(64)
    assert commands


def test_equal_numbers_are_one_key():
    tuned({"block": [16]}, rep=5).tune(32)
    assert tuned({"block": [16]}, rep=5.0).tune(32).from_cache


def test_a_change_of_the_program_is_seen(commands):
    constant = [2.0]

    def make():
        @tilec.autotune(configs={"block": [8, 16]}, **QUICK)
        @tilec.jit(target="cpu", out_idx=1)
        def function(n: int, block: int = 8):
            return scale(n, block, hidden())

        return function

    class Hidden:
        def __call__(self):
            return constant[0]

    hidden = Hidden()
    make().tune(16)
    constant[0] = 4.0
    result = make().tune(16)
    assert not result.from_cache
    np.testing.assert_array_equal(result.kernel(np.ones(16, np.float32)), np.full(16, 4.0))


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", None])
def test_damaged_records_are_tuned_again(directory, commands, damage):
    configs = {"block": [16]}
    tuned(configs).tune(32)
    files = sorted(directory.rglob("tuning.json"))
    assert len(files) == 2, "a record and a choice"
    for file in files:
        file.chmod(0o600)
        file.write_bytes(file.read_bytes().replace(b"0", b"1") if damage is None else damage)
    _tl.cache_forget()
    del commands[:]
    assert not tuned(configs).tune(32).from_cache
    assert commands.count("check") == 1
    assert tuned(configs).tune(32).from_cache


def test_every_field_counts(commands):
    def without(body, field):
        return {k: v for k, v in body.items() if k != field}

    configs = {"block": [16]}
    result = tuned(configs, ref_prog=reference).tune(32)
    store = Store()
    choice = store.load(result.key)
    for field in ("config", "latency", "ref_latency", "out_idx", "checked", "kernels", "records"):
        store.save(result.key, without(choice, field))
        again = tuned(configs, ref_prog=reference).tune(32)
        assert not again.from_cache or field == "ref_latency", field
        assert again.latency == result.latency, "its record is still there"
    key = result.records[0].key
    body = store.load(key)
    assert Record.from_json(body, None, key) is not None
    for field in ("config", "status", "samples", "reason", "checked", "kernels", "device"):
        assert Record.from_json(without(body, field), None, key) is None, field
    for wrong in ({"status": "good"}, {"samples": []}, {"samples": ["x"]}, {"samples": [-1.0]}, {"config": 3}):
        assert Record.from_json({**body, **wrong}, None, key) is None, wrong
    assert Record.from_json([body], None, key) is None


def test_a_directory_that_cannot_be_written(directory, commands, caplog):
    directory.write_text("in the way")
    result = tuned({"block": [16]}).tune(32)
    assert result.latency > 0


def test_without_a_cache(monkeypatch, directory, commands):
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    function = tuned({"block": [16, 32]}, ref_prog=reference)
    result = function.tune(32)
    assert function.tune(32) is result
    assert len(result.records) == 2
    assert not directory.exists()


# Shipped results.


def test_frozen(monkeypatch, tmp_path, commands):
    configs = {"block": [16, 32]}
    function = tuned(configs)
    function(64)
    file = str(tmp_path / "scale.json")
    function.save_results(file)
    del commands[:]

    monkeypatch.setenv("TL_AUTOTUNE_FROZEN", "1")
    assert tuned(configs).tune(64).from_cache
    with pytest.raises(TuningError) as caught:
        tuned(configs)(65)
    message = str(caught.value)
    assert "scale` is not tuned for {" in message
    assert '"n": 65' in message
    assert "the nearest result chose" in message
    assert '"n": 64' in message
    assert "(key " in message

    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(TuningError, match="there are no results of it at all"):
        tuned(configs)(64)
    shipped = tuned(configs, results=file, rep=50)  # measured otherwise, but measured
    kernel = shipped(64)
    np.testing.assert_array_equal(kernel(np.ones(64, np.float32)), np.full(64, 2.0))
    with pytest.raises(TuningError, match='the nearest result chose .*; *|differs in .*arguments: {.*"n": 64'):
        shipped(65)
    monkeypatch.delenv("TL_AUTOTUNE_FROZEN")
    with pytest.raises(TuningError, match="is not tuned"):
        tuned(configs, frozen=True)(66)
    assert not commands
    Path(file).write_text("{}")
    with pytest.raises(TuningError, match="the results of `scale` cannot be read from `.*scale.json`"):
        tuned(configs, results=file)(64)


# Searching, showing.


def test_optuna(commands):
    pytest.importorskip("optuna")
    result = tuned({"block": [8, 16, 24, 32, 40, 48], "fault": [0, 3]}, ref_prog=reference, search="optuna", trials=5)
    result = result.tune(64)
    assert len(result.records) == 5
    assert result.config["fault"] == 0


@pytest.mark.parametrize(
    ("package", "arguments"), [("optuna", {"search": "optuna", "trials": 3}), ("ray", {"executor": "ray"})]
)
def test_optional_packages_are_named(package, arguments, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=f"needs the package `{package}`: `pip install {package}`"):
        tuned({"block": [8]}, **arguments)(16)


def test_ray():
    pytest.importorskip("ray")
    result = tuned({"block": [8, 16], "fault": [0, 3]}, ref_prog=reference, executor="ray").tune(64)
    assert [r.status for r in result.records] == ["ok", "ok", "wrong", "wrong"]


def test_plots(tmp_path, monkeypatch):
    result = tuned({"block": [8, 16], "fault": [0, 3]}, ref_prog=reference).tune(64)
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(MissingPackageError, match="`plot` needs the package `matplotlib`"):
            result.plot()
    pytest.importorskip("matplotlib")
    path = tmp_path / "plot.png"
    figure = result.plot(str(path))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert len(figure.axes[0].get_yticks()) == 2


def test_nothing_is_written_where_the_program_runs(tmp_path, monkeypatch, capfd):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    tuned({"block": [8, 16]}).tune(64)
    assert not list(here.iterdir())
    assert capfd.readouterr() == ("", "")


# Several threads, several processes.


def test_threads_tune_once(commands):
    function = tuned({"block": [16]})
    kernels = []
    threads = [threading.Thread(target=lambda: kernels.append(function(32))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(k) for k in kernels}) == 1
    assert commands.count("check") == 1


PROGRAM = """
import json, os, signal, sys
import tilec
import tilec.language as T
from tilec.autotuner import processes, records

samples, commands = [], []
call = processes.Worker.call
def note(self, command, *arguments, timeout):
    commands.append(command)
    result = call(self, command, *arguments, timeout=timeout)
    if command == "samples":
        samples.extend(result)
    return result
processes.Worker.call = note

if die_after := int(os.environ.get("DIE_AFTER", "0")):
    add = records.Journal.add
    def die(self, key, samples):
        global die_after
        add(self, key, samples)
        die_after -= 1
        if die_after == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    records.Journal.add = die

@tilec.autotune(configs={"block": [16, 32, 48, 64]}, warmup=0, rep=0.1, early_stop=False)
@tilec.jit(target="cpu", out_idx=1)
def double(n: int, block: int = 8):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i in T.Parallel(block):
                B[b * block + i] = A[b * block + i] * 2
    return kernel

result = double.tune(1024)
modules = sorted(sys.modules)
print(json.dumps({"config": result.config, "latency": result.latency, "samples": samples, "commands": commands,
                  "records": [r.samples for r in result.records], "modules": modules,
                  "compiled": json.loads(tilec._tl.cache_counters())["compiled"]}))
"""


def test_the_second_process_compiles_and_measures_nothing(python):
    first, second = (json.loads(python(PROGRAM)) for _ in range(2))
    assert first["commands"].count("check") == 4
    assert second["commands"] == []
    assert second["compiled"] == 0
    assert (second["config"], second["latency"]) == (first["config"], first["latency"])
    heavy = {"numpy", "tilec.autotuner.race", "tilec.autotuner.executors"}
    assert not heavy & set(second["modules"])


def test_killed_and_started_again(python, tmp_path, directory):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "DIE_AFTER": "3"}
    killed = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    journal = next(directory.rglob("*.journal"))
    before = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(before) == 3
    resumed = json.loads(python(PROGRAM))
    kept = sum(len(samples) for _, samples in before)
    assert len(resumed["samples"]) + kept == sum(map(len, resumed["records"])), "no sample was taken twice"
    assert not list(directory.rglob("*.journal"))


def test_two_processes_at_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    both = [
        subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    results = [json.loads(process.communicate()[0]) for process in both]
    assert sorted(r["commands"].count("check") for r in results) == [0, 4]
    assert results[0]["config"] == results[1]["config"]


def test_workers_die_with_their_parent(tmp_path):
    """Even one whose kernel never ends."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
import test_autotune
from tilec.autotuner import processes

def watch():
    while True:
        time.sleep(0.02)
        for worker in list(workers):
            if worker._process is not None and "check" in worker.told:
                time.sleep(0.2)
                print(worker._process.pid, flush=True)
                os._exit(1)

workers = []
call = processes.Worker.call
def note(self, command, *arguments, timeout):
    if self not in workers:
        self.told = set()
        workers.append(self)
    self.told.add(command)
    return call(self, command, *arguments, timeout=timeout)
processes.Worker.call = note
threading.Thread(target=watch, daemon=True).start()
test_autotune.tuned({"fault": [1]}, timeout=60).tune(16)
"""
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, program, folder], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    pid = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "(zombie)" in Path(f"/proc/{pid}/status").read_text():
            return
        threading.Event().wait(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")


def test_failures_of_workers():
    worker = Worker({})
    with pytest.raises(Failure) as caught:
        worker.call("nothing", timeout=30)
    assert caught.value.status == "failed"
    assert "AttributeError" in caught.value.reason
    worker.kill()
    worker.kill()


def test_the_tutorial(python, tmp_path, monkeypatch):
    """All blocks of docs/Autotuning.md, as one program."""
    text = (Path(__file__).parents[2] / "docs" / "Autotuning.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) > 5
    monkeypatch.chdir(tmp_path)
    printed = python("\n".join(blocks), TL_TARGET="cpu")
    assert "the nearest result chose" in printed
    assert "<AutotuneResult of" in printed


def test_a_process_that_cannot_be_had_is_no_configurations_fault(monkeypatch):
    call = Worker.call

    def refuse(self, command, *arguments, timeout):
        if command == "configure":
            raise Failure("crashed", "no room")
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", refuse)
    with pytest.raises(TuningError, match="there is no process to measure in on the CPU: no room"):
        tuned({"block": [16]})(32)
    assert not list(Store().bodies())


def test_what_is_compiled_is_checked_while_others_are_compiled(monkeypatch):
    checked = threading.Event()
    call = Worker.call

    def meet(self, command, *arguments, timeout):
        if command == "check":
            checked.set()
        if command == "compile" and arguments[0].number == 1:
            assert checked.wait(60)
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", meet)
    result = tuned({"block": [16, 32]}, workers=1).tune(64)
    assert [r.status for r in result.records] == ["ok", "ok"]


def test_a_process_that_cannot_be_had_to_compile_in(monkeypatch):
    call = Worker.call

    def refuse(self, command, *arguments, timeout):
        if command == "compile" and arguments[0].number == 0:
            raise OSError("no room")
        return call(self, command, *arguments, timeout=timeout)

    monkeypatch.setattr(Worker, "call", refuse)
    result = tuned({"block": [16, 32]}).tune(64)
    assert result.config == {"block": 32}
    assert (result.records[1].status, result.records[1].key) == ("failed", ""), "another time there may be one"
    assert result.records[1].reason == "it cannot be compiled in another process: no room"


def test_no_thread_outlives_a_tuning_that_fails():
    before = threading.active_count()
    with set_autotune_inputs(1, 2, 3), pytest.raises(ConfigError):
        tuned({"block": [8, 16, 24, 32, 40, 48]})(64)
    assert threading.active_count() == before


def test_progress_is_shown_to_who_watches(monkeypatch):
    import io

    from tilec.autotuner.progress import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = Progress("gemm")
    progress.begin(2)
    progress.compiled()
    progress.compiled()
    progress.measured(0.5)
    progress.measured(0.25)
    progress.end()
    text = sys.stderr.getvalue()
    assert "tuning gemm: 0 of 2 compiled, 0 measured" in text
    assert "tuning gemm: 2 of 2 compiled, 2 measured, best 0.25 ms" in text
    assert text.endswith("\r\x1b[K")
