"""Which calls are one, and what tells others apart."""

import functools

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.autotuner import calls, configs, identity, set_autotune_inputs
from tilec.errors import ArgumentError, ConfigError, ShapeError, TuningError
from tuned_kernels import QUICK, increment, scale, tuned


def test_equal_calls_are_one(commands):
    function = tuned({"block": [16]})
    kernel = function(32)
    count = len(commands)
    assert function(n=32) is function(32, factor=2.0) is function(factor=2.0, n=32) is kernel
    assert len(commands) == count
    assert function(32, factor=3.0) is not kernel
    with pytest.raises(ArgumentError, match="its contents are not known"):
        function(np.zeros(()), factor=bytearray(3))


def test_numbers_and_types_by_other_names_are_one_call(commands):
    assert identity.frozen(np.int64(96)) == identity.frozen(96)
    assert identity.frozen("float32") == identity.frozen(T.float32)
    assert identity.frozen(True) != identity.frozen(1)
    assert identity.canonical([np.int64(96), "float32"]) == identity.canonical([96, T.float32])
    assert identity.canonical("float") != identity.canonical(T.float16)


def test_a_mistake_in_the_call_is_what_is_raised(commands):
    @tilec.jit(target="cpu")
    def shift(A, block: int = 8):
        K = T.const("K")
        A: T.Tensor[[K, K], T.float32]
        with T.Kernel(K) as b:
            for i in T.Parallel(K):
                A[b, i] = A[b, i] + 1.0

    function = tilec.autotune(configs={"block": [16, 32]}, **QUICK)(shift)
    with pytest.raises(ShapeError):
        function(np.zeros((3, 4), np.float32))


@pytest.mark.parametrize("configs", [{}, [], [{}]])
def test_no_configurations(configs):
    with pytest.raises(ConfigError, match="there are no configurations to tune"):
        tilec.autotune(configs=configs, **QUICK)(increment)


def test_a_call_that_was_made_before_is_looked_up_at_once(commands, monkeypatch):
    function = tilec.autotune(configs={"block": [16, 32]}, **QUICK)(increment)
    a = np.random.rand(48).astype(np.float32)
    function(a)
    with monkeypatch.context() as patch:
        patch.setattr(function, "_best", None)
        np.testing.assert_array_equal(function(a), a + 1)
    with set_autotune_inputs(a), pytest.raises(TypeError), monkeypatch.context() as patch:
        patch.setattr(function, "_best", None)  # who gives inputs may want others
        function(a)
    np.testing.assert_array_equal(function(a[:40]), a[:40] + 1)
    assert len(function._calls) == 2
    monkeypatch.setattr("tilec.autotuner.configured._MOST_CALLS", 2)
    function(a[:30])
    assert len(function._calls) == 1


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


def test_a_shared_configuration_never_shares_a_kernel(commands):
    function = tuned({"block": [16, 32]}, do_not_specialize="n")
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


def test_scalars_have_no_choice_of_their_own(commands):
    @tilec.autotune(configs={"block": [16, 32]}, **QUICK)
    @tilec.jit(target="cpu")
    def shift(A: T.Tensor((32,), "float32"), s: T.float32, block: int = 8):
        with T.Kernel(T.ceildiv(32, block)) as b:
            for i in T.Parallel(block):
                A[b * block + i] = A[b * block + i] + s

    for s in (1.0, 2.5, 3):
        a = np.zeros(32, np.float32)
        shift(a, s)
        np.testing.assert_array_equal(a, s)
    shift(a, s=4.0)
    assert commands.count("check") == 2
    assert len(shift._calls) == 2, "as arguments in order, and by name"


def test_layouts_of_tensors():
    a = np.zeros((4, 8), np.float32)
    n, m, s = T.dynamic("n, m, s")
    plain, strided = T.Tensor((n, 8), "float32"), T.StridedTensor((n, 4), (m, s), "float32")
    assert calls.described(3, None) == 3
    assert calls.described(a, None) == {"dtype": "float32", "shape": [4, 8]}
    assert calls.described(a, plain) == {"dtype": "float32", "shape": ["3..4", 8]}
    assert calls.described(a[:, ::2], None) == {"dtype": "float32", "shape": [4, 4], "strides": [8, 2]}
    assert calls.described(a[:, ::2], strided) == {
        "dtype": "float32",
        "shape": ["3..4", 4],
        "strides": ["5..8", "2..2"],
    }
    assert calls.described(a.reshape(-1)[1:], None) == {"dtype": "float32", "shape": [31], "alignment": 4}
    assert calls.described(a[:1, :4], None) == {"dtype": "float32", "shape": [1, 4]}, "one row is contiguous"
    assert calls.described_type(plain) == {"dtype": "float32", "shape": [{"Symbol": "n"}, 8]}
    assert calls.described_type(T.StridedTensor((4, 8), (8, 1), "float32")) == calls.described(a, None)
    assert calls.described_type(T.StridedTensor((4, 8), (16, 1), "float32"))["strides"] == [16, 1]
    assert calls.described_type(strided)["strides"] == [{"Symbol": "m"}, {"Symbol": "s"}]


def test_other_inputs_are_seen_in_the_process_that_had_others(commands):
    @tilec.autotune(configs={"block": [4]}, **QUICK)
    @tilec.jit(target="cpu", out_idx=1)
    def add_one(block: int = 4):
        @T.prim_func
        def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
            with T.Kernel(T.ceildiv(8, block)) as b:
                for i in T.Parallel(block):
                    B[b * block + i] = A[b * block + i] + 1

        return kernel

    for values in (np.zeros(8, np.int32), np.ones(8, np.int32), np.zeros(8, np.int32)):
        with set_autotune_inputs(values):
            add_one()
    assert commands.count("check") == 2


def test_helpers_without_a_module():
    scope = {}
    exec("def twice(x):\n    return x * 2\n", scope)
    assert scope["twice"].__module__ is None
    assert identity.fingerprint(scope["twice"]) == identity.fingerprint(scope["twice"])


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


def _times(a, factor):
    return a * factor


FACTORS = {"factor": 2.0}


class Reference:
    def __init__(self, factor):
        self.factor = factor

    def of(self, a):
        return a * self.factor


def _by_keyword(factor):
    return lambda a, *, factor=factor: a * factor


def _wrapped(factor):
    def wrapper(a):
        return _times(a, factor)

    wrapper.__wrapped__ = _times
    return wrapper


def _by_table(factor):
    table = np.full(1, factor, np.float32)
    return lambda a: a * table


@pytest.mark.parametrize(
    "reference",
    [
        lambda factor: functools.partial(_times, factor=factor),
        lambda factor: Reference(factor).of,
        _by_keyword,
        _wrapped,
        lambda factor: lambda a: a * FACTORS["factor"],
        _by_table,
    ],
    ids=["partial", "method", "keyword default", "wrapper", "global", "array, which has no key"],
)
def test_what_was_right_for_another_reference_is_checked_again(reference, monkeypatch, cache_on):
    def tune(factor):
        monkeypatch.setitem(FACTORS, "factor", factor)
        return tuned({"block": [16]}, ref_prog=reference(factor)).tune(48)

    first = tune(2.0)
    assert first.checked
    with pytest.raises(TuningError, match="wrong"):
        tune(3.0)
    again = tune(2.0)
    assert again.checked
    assert again.latency == first.latency, "how long it takes is known still"


def test_configurations_that_python_calls_equal_are_several():
    found = configs.expand([{"v": 1}, {"v": 1.0}, {"v": True}, {"v": 1}, {"v": 0.0}, {"v": -0.0}], "f")
    assert [str(config["v"]) for config in found] == ["1", "1.0", "True", "0.0", "-0.0"]


def test_a_choice_among_configurations_that_python_calls_equal(tmp_path):
    path = str(tmp_path / "results.json")
    function = tuned([{"factor": 1.0}])
    function.tune(32)
    function.save_results(path)
    assert repr(tuned([{"factor": True}, {"factor": 1.0}], results=path).tune(32).config) == "{'factor': 1.0}"


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
