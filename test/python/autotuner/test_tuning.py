"""What is tuned: lazy functions, eager ones, with inputs, for extents, step by step; and what is shown of it."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.autotuner import AutoTuner, set_autotune_inputs
from tilec.errors import ArgumentError, ConfigError, MissingPackageError, TuningError
from tuned_kernels import QUICK, increment, reference, scale, tuned


def test_a_lazy_function(commands):
    function = tuned({"block": [16, 32]}, ref_prog=reference)
    kernel = function(128)
    a = np.random.rand(128).astype(np.float32)
    np.testing.assert_array_equal(kernel(a), 2 * a)
    result = function.tune(128)
    assert commands.count("compile") == 2
    assert commands.count("check") == 2
    assert result.kernel is kernel
    assert kernel.tuning is result
    assert (kernel.config, kernel.latency, kernel.ref_latency) == (result.config, result.latency, result.ref_latency)
    plain = tilec.compile(scale(64), target="cpu")
    assert (plain.config, plain.latency, plain.ref_latency) == (None, None, None)
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
    assert add.compile(a, b).config == result.config
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

    with pytest.raises(TuningError, match="must return a `@T.prim_func`, not `3`"):
        AutoTuner(lambda x: 3, {"x": [1]}).run()

    jitted = AutoTuner(tilec.jit(target="cpu", out_idx=1)(scale), {"n": [32], "block": [8, 16]})
    assert jitted.run(**QUICK).config["n"] == 32


def test_the_class_over_an_eager_function():
    tuner = AutoTuner(increment, {"block": [16, 32]}).set_profile_args(ref_prog=lambda a: a + 1)
    a = np.random.rand(48).astype(np.float32)
    with set_autotune_inputs(a):
        result = tuner.run(**QUICK)
    assert result.checked
    np.testing.assert_array_equal(result.kernel(a), a + 1)
    with pytest.raises(ConfigError, match="`increment` is eager, and is tuned for tensors: give them, as in"):
        tuner.run()
    with set_autotune_inputs(a, a), pytest.raises(ConfigError, match="is tuned for 2 arguments, expected `A`"):
        tuner.run()


def test_an_eager_function_is_tuned_for_extents(commands):
    function = tilec.autotune(configs={"block": [16, 32]}, ref_prog=lambda a: a + 1, **QUICK)(increment)
    a = np.random.rand(48).astype(np.float32)
    kernel = function.compile(N=48)
    assert commands.count("check") == 2
    np.testing.assert_array_equal(kernel(a), a + 1)
    assert function.compile(N=48) is kernel
    np.testing.assert_array_equal(function(a), a + 1)
    assert commands.count("check") == 2, "tensors of these extents are tuned for"
    assert function.tune(N=48).checked
    with pytest.raises(ArgumentError, match="the extent `n` of `A` is not known before a call: give tensors"):
        function.compile(N=T.dynamic("n"))
    with set_autotune_inputs(a):
        kernel = function.compile(N=T.dynamic("n"))
        assert function.compile(N=T.dynamic("n")) is kernel
    for n in (48, 5):
        np.testing.assert_array_equal(kernel(a[:n]), a[:n] + 1)


def test_a_tunable_that_is_given_is_used(commands, caplog):
    function = tuned({"block": [16, 32]})
    kernels = {function(64, block=24), function(64, 24)}
    assert len(kernels) == 1
    assert not commands
    assert [r.getMessage() for r in caplog.records] == [
        "`scale` is given `block`, which it would be tuned for: nothing is tuned"
    ]


def test_what_can_be_decorated():
    with pytest.raises(ArgumentError, match=r"goes over `@tilec\.jit`"):
        tilec.autotune(configs=[{}])(scale)
    with pytest.raises(ArgumentError, match="takes its configurations in brackets"):
        tilec.autotune(tilec.jit(scale))
    with pytest.raises(ConfigError, match="needs `configs`"):
        tilec.autotune()(tilec.jit(scale))
    with pytest.raises(ArgumentError, match="multiple values for argument `n`"):
        tuned([{"block": 8}])(3, n=4)
    with pytest.raises(ArgumentError, match="takes 4 arguments, and 5 are given"):
        tuned([{"block": 8}])(1, 2, 3, 4, 5)
    with pytest.raises(ArgumentError, match="`scale`: missing a required argument: 'n'"):
        tuned([{"block": 8}])()
    with pytest.raises(ArgumentError, match="`scale`: got an unexpected keyword argument 'm'"):
        tuned([{"block": 8}])(3, m=4)
    with pytest.raises(ArgumentError, match="`increment`: got an unexpected keyword argument 'N'"):
        tilec.autotune(configs=[{"block": 8}])(increment)(np.zeros(8, np.float32), N=8)


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


def test_the_tutorial(python, tmp_path, monkeypatch):
    """All blocks of docs/Autotuning.md, as one program."""
    text = (Path(__file__).parents[3] / "docs" / "Autotuning.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) > 5
    monkeypatch.chdir(tmp_path)
    printed = python("\n".join(blocks), TL_TARGET="cpu")
    assert "the nearest result chose" in printed
    assert "<AutotuneResult of" in printed


class Model:
    factor = 3.0

    @tilec.autotune(configs=[{"scale": 1.0}], **QUICK)
    @tilec.jit(out_idx=-1, target="cpu")
    def tuned(self, n, scale=1.0):
        return kernel_of(n, self.factor * scale)

    @tilec.jit(out_idx=-1, target="cpu")
    def plain(self, n):
        return kernel_of(n, self.factor)


def kernel_of(n, factor):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * factor

    return main


def test_methods_that_are_tuned_or_not():
    model, a = Model(), np.ones(8, np.float32)
    kernels = [
        model.tuned(8), model.tuned.compile(8), model.tuned.tune(8).kernel, model.plain.compile_async(8).result(),
        *model.plain.par_compile([(8,), {"n": 8}]), model.plain.with_options({"fast_math": True})(8),
    ]  # fmt: skip
    assert all((np.asarray(kernel(a)) == 3).all() for kernel in kernels)
    assert model.plain.trace(8)[0].name == "main"
    assert not model.plain.is_eager
    model.factor = 4.0
    assert (np.asarray(model.tuned(8)(a)) == 4).all()
