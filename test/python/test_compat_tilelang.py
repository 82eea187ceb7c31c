"""Programs for TileLang under its own name: what they compute, and what the package says and does beside that."""

import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tilec
import tilec.compat.tilelang as compat
from tilec import targets
from tilec.errors import ArgumentError, BackendError, IgnoredHintWarning, ShapeError, TargetError, TLSyntaxError
from tilec.language import missing
from tilelang_programs import CASES, T, close, eager_matmul, matmul, random, tilelang


@pytest.fixture(autouse=True)
def _on_cpu(monkeypatch):
    monkeypatch.setenv("TL_TARGET", "cpu")


@pytest.fixture
def installed():
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.parametrize("what", CASES)
def test_programs(what):
    CASES[what]()


def scaled(n, factor):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                B[bx * 64 + i] = A[bx * 64 + i] * factor

    return main


def returning():
    @T.prim_func
    def main(A: T.Tensor((8,), T.float32)):
        B = T.empty((8,), T.float32)
        with T.Kernel(1, threads=8):
            T.copy(A, B)
        return B

    return main


def test_statements_outside_of_kernels_say_what_they_cannot_do():
    with pytest.raises(TLSyntaxError, match="`half` was made inside what stands outside of `T.Kernel` .*in front of"):

        @T.prim_func
        def late(A: T.Tensor((T.dynamic("m"),), "float32")):
            A[0] = 1.0
            half = A.shape[0] // 2
            with T.Kernel(half, threads=32) as b:
                A[b] = 2.0

    with pytest.raises(TLSyntaxError, match="`T.get_thread_binding` belongs inside `with T.Kernel"):

        @T.prim_func
        def threads(A: T.Tensor((64,), "float32")):
            A[T.get_thread_binding()] = 1.0


# Importing -----------------------------------------------------------------------------------------------------------


def test_nothing_is_found_before_it_is_installed(python):
    said = python(
        "import sys, tilec\n"
        "assert not [m for m in sys.modules if m.startswith('tilec.compat')]\n"
        "try:\n    import tilelang\nexcept ImportError as error:\n    print(error.name)\n"
        "import tilec.compat.tilelang\n"
        "loaded = {m for m in sys.modules if m.startswith('tilec.')}\n"
        "tilec.compat.tilelang.install()\n"
        "import tilelang, tilelang.jit.kernel\n"
        "print(tilelang is tilec.compat.tilelang, tilelang.jit.__name__, tilelang.jit.kernel if False else '')\n"
        "print('numpy' in sys.modules, 'tilec.language' in loaded)\n"
    )
    assert said.split() == ["tilelang", "True", "jit", "False", "False"]


_SUBMODULES = """
    autotuner backend.target cache carver.arch.driver contrib.nvcc cuda cuda.intrinsics cuda.intrinsics.sparse_layout
    cuda.target dtypes engine.callback engine.lower engine.param env intrinsics jit jit.kernel language language.fp8
    layout layout.fragment layout.layout math profiler profiler.bench quantize rocm rocm.target testing tools
    transform transform.simplify tvm tvm.target tvm.tirx utils utils.target utils.tensor"""


@pytest.mark.parametrize("module", _SUBMODULES.split())
def test_submodules_are_there(installed, module):
    from importlib import import_module

    assert import_module(f"tilelang.{module}") is import_module(f"tilec.compat.tilelang.{module}")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("from tvm import arith", "`tvm.arith` belongs to TVM, which is not underneath here"),
        ("from tvm.tirx import BufferLoad", "`tvm.tirx.BufferLoad` belongs to TVM, which is not underneath here"),
        ("import tvm.script", "`tvm.script` belongs to TVM, which is not underneath here"),
        ("from tilelang import tvm; tvm.IRModule", "`tvm.IRModule` belongs to TVM, which is not underneath here"),
        ("from tilelang.layout import cute", "`tilelang.layout.cute` is about where the compiler puts elements"),
        ("import tilelang.rocm.op", "`tilelang.rocm.op` is for GPUs of AMD"),
        ("from tilelang.rocm import intrinsics", "`tilelang.rocm.intrinsics` is for GPUs of AMD"),
        ("from tilelang.rocm.target import target_is_cdna", "`tilelang.rocm.target.target_is_cdna` is for GPUs of AMD"),
        ("from tilelang.cuda.target import other", "`tilelang.cuda.target.other` writes instructions by hand"),
        ("from tilelang.transform import LowerTileOp", "`tilelang.transform.LowerTileOp` is about TileLang's own pas"),
        ("from tilelang.carver import ConvTemplate", "`tilelang.carver.ConvTemplate` schedules programs of TVM"),
        ("import tilelang.intrinsics.mma_macro_generator", "writes instructions by hand with TVM's IR"),
        ("from tilelang.cuda.intrinsics import TensorCoreIntrinEmitter", "writes instructions by hand"),
        ("from tilelang.intrinsics import mma_layout", "`tilelang.intrinsics.mma_layout` writes instructions by hand"),
        ("import tilelang.cuda; tilelang.cuda.op", "`tilelang.cuda.op` writes instructions by hand"),
        ("from tilelang.carver.arch import CDNA; CDNA('hip')", "`hip` is for GPUs of AMD"),
        ("from tilelang.quantize import get_lop3_intrin_group", "`tilelang.quantize.get_lop3_intrin_group` is a text"),
        ("from tilelang.quantize.mxfp import get_mxfp_intrin_group", "`tilelang.quantize.mxfp` is a text in CUDA C++"),
        ("from tilelang.env import resolve_it", "there is no `tilelang.env.resolve_it` here"),
        ("from tilelang.tools.analyzer import op", "there is no `tilelang.tools.analyzer.op` here"),
        ("import tilelang.utils; tilelang.utils.is_shared", "there is no `tilelang.utils.is_shared` here"),
        ("import tilelang.env; tilelang.env.parse", "there is no `tilelang.env.parse` here"),
        ("import tilelang.no_such_module", "there is no `tilelang.no_such_module` here"),
        ("import tilelang; tilelang.compil", "there is no `tilelang.compil` here; did you mean `tilelang.compile`?"),
        ("import tilelang; tilelang.lower_trace", "there is no `tilelang.lower_trace` here"),
    ],
)
def test_what_is_not_there_is_one_sentence(installed, program, message):
    with pytest.raises((ImportError, AttributeError, TargetError)) as caught:
        exec(program, {})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_tilelang_stays_what_it_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "tilelang", np)
    with pytest.raises(ImportError, match=r"`tilelang` is imported already, from .*numpy"):
        compat.install()


def test_scripts_run_as_python_runs_them(tmp_path, python):
    (tmp_path / "beside.py").write_text("value = 7\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, tilelang, tilelang.language as T\n"
        "from beside import value\n"
        "print(__name__, sys.argv[1:], value, T.float16, tilelang.__version__)\n"
    )
    said = python(
        "import runpy, sys\n"
        f"sys.argv = ['x', {str(script)!r}, '--m', '3']\n"
        "runpy.run_module('tilec.compat.tilelang', run_name='__main__', alter_sys=True)\n"
    )
    assert said == "__main__ ['--m', '3'] 7 float16 0.1.14\n"


def test_plugin_for_pytest(tmp_path, python):
    test = tmp_path / "test_kernel.py"
    test.write_text(
        "import tilelang, tilelang.testing\n"
        "def test_it():\n    assert tilelang.cdiv(7, 2) == 4\n"
        "@tilelang.testing.requires_rocm\n"
        "def test_other():\n    assert False\n"
    )
    said = python(
        "import pytest, sys\n"
        f"sys.exit(pytest.main(['-p', 'tilec.compat.tilelang.plugin', '-p', 'no:cacheprovider', {str(test)!r}]))\n"
    )
    assert "1 passed, 1 skipped" in said


# Compiling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("cuda -arch=sm_90a", "sm_90a"),
        ({"kind": "cuda", "arch": "sm_80"}, "sm_80"),
        ("cuda", "cuda"),
        ("llvm", "cpu"),
        ("c", "cpu"),
        ("auto", "auto"),
        (None, "auto"),
        ("sm_90a", "sm_90a"),
        (tilelang.tvm.target.Target("cuda -arch=sm_86"), "sm_86"),
    ],
)
def test_targets(given, meant):
    from tilec.compat.tilelang import options

    assert options.target(given) == meant


def test_target_of_the_environment(monkeypatch):
    from tilec.compat.tilelang import options

    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", "c")
    assert options.target(None) == "cpu"
    monkeypatch.setenv("TILELANG_EXECUTION_BACKEND", "cython")
    assert options.backend(None) == "auto"


def test_targets_around(installed):
    from tilelang.backend.target import determine_target as kind_of
    from tilelang.utils.target import determine_target
    from tvm.target import Target

    assert Target.current() is None
    with pytest.raises(ValueError, match="no target is set"):
        Target.current(allow_none=False)
    with Target("cuda -arch=sm_80") as outer:
        assert compat.options.target("auto") == compat.options.target(None) == "sm_80"
        assert compat.options.target("cuda -arch=sm_90a") == "sm_90a"
        assert determine_target() == "cuda -arch=sm_80"
        assert kind_of() == "cuda"
        with Target("c"):
            assert tilelang.compile(scaled(64, 2), out_idx=-1).kernel.target == "cpu"
            assert determine_target(return_object=True).kind.name == "c"
        assert Target.current() is outer
        assert tilelang.lower(scaled(64, 2)).kernel.kernel.target == "sm_80"
    assert Target.current() is None


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"target": "hip"}, TargetError, "the target `hip` is for GPUs of AMD"),
        ({"target": 7}, TargetError, 'a target is "cuda", "cpu" or the like'),
        ({"execution_backend": "tvm"}, BackendError, "unknown execution backend `tvm`; known are `auto`, `tvm_ffi`"),
    ],
)
def test_wrong_options(options, kind, message):
    with pytest.raises(kind) as caught:
        tilelang.compile(scaled(64, 2), **options)
    assert message in str(caught.value)


def test_pass_configs_have_an_effect_or_are_named_in_one_warning():
    from tilec.compat.tilelang import options

    configs = {
        tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True,
        tilelang.PassConfigKey.TL_DISABLE_TMA_LOWER: True,
        "tl.disable_warp_specialized": True,
        "tl.ast_print_enable": False,
    }
    with pytest.warns(IgnoredHintWarning) as seen:
        meant = options.passes(configs, "-lineinfo --maxrregcount=64")
    assert meant == {"fast_math": True, "line_info": True}
    assert len(seen) == 1
    for name in ("`tl.disable_tma_lower`", "`tl.disable_warp_specialized`", "`--maxrregcount=64`"):
        assert name in str(seen[0].message)
    assert "ast_print" not in str(seen[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options.passes(configs, "-lineinfo --maxrregcount=64")  # it was said once


def test_what_targets_are():
    from tilec.compat.tilelang.utils import target

    assert target.determine_target() == "c"
    assert target.determine_target("auto", return_object=True).kind.name == "c"
    assert target.determine_target("cuda -arch=sm_80") == "cuda -arch=sm_80"
    chips = {"volta": "sm_70", "turing": "sm_75", "ampere": "sm_86", "hopper": "sm_90a"}
    for name, chip in chips.items():
        found = [n for n in chips if getattr(target, f"target_is_{n}")({"kind": "cuda", "arch": chip})]
        assert found == [name]
    has = [target.target_has_ldmatrix, target.target_has_async_copy, target.target_has_stmatrix]
    assert [[f(f"cuda -arch={chip}") for f in has] for chip in ("sm_70", "sm_75", "sm_80", "sm_90")] == [
        [False, False, False], [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip
    assert target.target_is_cuda("cuda -arch=sm_80")
    assert not target.target_is_cuda("c")
    assert (T.determine_fp8_type(), T.determine_fp8_type("e5m2")) == ("float8_e4m3fn", "float8_e5m2")


def test_a_lazy_function():
    assert matmul.is_lazy_mode()
    assert matmul.mode == "lazy"
    kernel = matmul.compile(32, 32, 32)
    assert isinstance(kernel, tilelang.JITKernel)
    assert kernel is matmul(32, 32, 32)
    assert kernel.out_idx == [2]
    assert [p.name for p in kernel.params] == ["A", "B", "C"]
    assert kernel.params[0].shape == [32, 32]
    assert matmul.get_tir(32, 32, 32).name == "main"
    assert matmul.get_kernel_source(32, 32, 32) == kernel.get_kernel_source() == kernel.kernel_source
    assert kernel.prim_func is kernel.artifact.kernel.prim_func
    kernels = matmul.par_compile([(32, 32, 64), {"M": 32, "N": 64, "K": 32}])
    assert all(isinstance(k, tilelang.JITKernel) for k in kernels)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: matmul(32, 32, 32, M=1), TypeError, "multiple values for argument 'M'"),
        (lambda: matmul(32, 32), TypeError, "missing a required argument: 'K'"),
        (lambda: matmul(32, 32, 32)(random(32, 32)), ValueError, "Kernel expected 2 inputs, but 1 are provided."),
        (
            lambda: tilelang.compile(scaled),
            ArgumentError,
            "decorate `scaled` with it, or give what `scaled(...)` returns",
        ),
        (lambda: tilelang.compile(3), ArgumentError, "`tilelang.compile` takes a `@T.prim_func`, not `3`: give one"),
        (lambda: tilelang.compile(scaled(8, 2), out_idx=2), ArgumentError, "and the last one is 1 or -1"),
        (lambda: tilelang.compile(returning(), out_idx=[-1]), ValueError, "Out index conflict: `main` returns what it"),
        (lambda: tilelang.jit(out_idx=0)(eager_matmul.func), ValueError, "out_idx is only supported in lazy mode"),
        (lambda: tilelang.autotune(configs=[{}])(scaled), AssertionError, "can only be applied to @tilelang.jit"),
        (lambda: matmul(32, 32, 32).get_tuner_result(), ValueError, "Tuning results are not available"),
    ],
)
def test_exceptions_are_what_programs_expect(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_arguments_are_counted_after_a_call_too():
    kernel = tilelang.compile(scaled(64, 2), out_idx=[1])
    a = random(64)
    for _ in range(3):
        close(kernel(a), 2 * a)
        with pytest.raises(ValueError, match="Kernel expected 1 inputs, but 0 are provided."):
            kernel()


def test_an_eager_function():
    assert eager_matmul.mode == "eager"
    assert not eager_matmul.is_lazy_mode()
    assert eager_matmul.get_kernel_source(M=32, N=32, K=32)
    assert eager_matmul.with_options({"fast_math": False}).pass_configs == {"tl.enable_fast_math": True}
    with pytest.raises(AttributeError, match="has no `no_such_thing`"):
        eager_matmul.no_such_thing


def test_sources_of_a_kernel(tmp_path, capsys):
    kernel = tilelang.compile(scaled(64, 2), out_idx=-1)
    kernel.export_sources(tmp_path / "kernel", tmp_path / "host")
    assert (tmp_path / "kernel").read_text() == kernel.get_kernel_source()
    assert (tmp_path / "host").read_text() == kernel.get_host_source()
    kernel.show_source("both")
    kernel.print_source_code(file=str(tmp_path / "again"))
    assert capsys.readouterr().out.strip() == f"{kernel.host_source}\n{kernel.kernel_source}".strip()
    assert (tmp_path / "again").read_text() == kernel.kernel_source
    assert kernel.get_kernel_source(kernel_only=False).startswith(kernel.host_source)
    with pytest.raises(ValueError, match="`which` is"):
        kernel.show_source("none")
    with pytest.raises(ValueError, match="give `kernel_path`"):
        kernel.export_sources()


def test_what_runs_a_kernel():
    named = [tilelang.compile(scaled(64, 2), out_idx=-1, execution_backend=name) for name in (None, "auto", "cython")]
    assert [kernel.execution_backend for kernel in named] == ["tvm_ffi"] * 3
    other = tilelang.compile(scaled(64, 2), out_idx=-1, target="cuda -arch=sm_90a", execution_backend="nvrtc")
    assert other.execution_backend == "nvrtc"


def test_lowering_gives_source_and_parameters():
    artifact = tilelang.lower(scaled(64, 2), target="c")
    assert artifact.kernel_source
    assert len(artifact.params) == 2
    with pytest.raises(AttributeError, match="belongs to TVM"):
        artifact.device_mod


def test_a_profiler():
    kernel = tilelang.compile(scaled(256, 3), out_idx=-1)
    profiler = kernel.get_profiler(tilelang.TensorSupplyType.Normal)
    profiler.assert_allclose(lambda a: a * 3, max_mismatched_ratio=0)
    profiler.assert_consistent(repeat=2)
    with pytest.raises(AssertionError, match="elements of `B` are wrong"):
        profiler.assert_allclose(lambda a: a * 4)
    for options in ({}, {"n_warmup": 1, "n_repeat": 3}, {"quantiles": [0.5]}, {"return_mode": "median"}):
        assert 0 < profiler.do_bench(warmup=1, rep=1, **options) < 1e3
    assert len(profiler.do_bench(warmup=1, n_repeat=3, quantiles=[0.2, 0.8])) == 2
    with pytest.raises(ValueError, match="Unknown profiler backend"):
        profiler.do_bench(backend="stopwatch")
    seen = []
    profiler.manual_assert_close(lambda a: a * 3, manual_check_prog=lambda *both: seen.extend(both))
    close(seen[0][0], seen[1][0])
    assert profiler.run_once().shape == (256,)


def test_what_is_made_up_is_between_minus_one_and_one():
    """As there: a sum of 768 products of normal numbers in `float16` is off by more than programs allow."""
    kernel = tilelang.compile(scaled(4096, 3), out_idx=-1)
    (made,) = kernel.get_profiler()._get_inputs()
    (other,) = (tilelang.utils.tensor.get_tensor_supply(tilelang.TensorSupplyType.Auto)(p) for p in kernel.params[:1])
    for numbers in (np.asarray(made), np.asarray(other)):
        assert 0.9 < np.abs(numbers).max() <= 1
        assert abs(numbers.mean()) < 0.05
    normal = np.asarray(kernel.get_profiler(tilelang.TensorSupplyType.Normal)._get_inputs()[0])
    assert np.abs(normal).max() > 2
    assert abs(normal.mean() + 1) < 0.1, "theirs are normal around -1"


def test_a_profiler_of_symbolic_extents():
    n = T.dynamic("n")
    profiler = tilelang.compile(scaled(n, 2), out_idx=-1).get_profiler()
    assert profiler.do_bench(warmup=1, rep=1, dynamic_symbolic_constraints={"n": 128}) > 0


def test_autotuning(cache_on):
    configs = [{"block_M": 16, "pass_configs": {"tl.enable_fast_math": True}}, {"block_M": 32}]
    tuned = tilelang.autotune(configs=configs, warmup=1, rep=1, skip_check=True)(matmul)
    kernel = tuned(32, 32, 32)
    assert kernel.config["block_M"] in (16, 32)
    assert kernel.get_tuner_result()["latency"] == kernel.latency > 0
    assert tuned.compile(32, 32, 32).config == kernel.config


def test_tuning_step_by_step_gives_a_kernel_as_programs_know_it(cache_on):
    tuner = tilelang.autotuner.AutoTuner.from_kernel(lambda v: scaled(64, v), [{"v": 2}])
    found = tuner.set_compile_args(out_idx=[-1]).set_profile_args(skip_check=True).run(warmup=1, rep=1)
    assert isinstance(found.kernel, tilelang.JITKernel)
    assert found.kernel.config == {"v": 2}
    assert found.out_idx == (1,)
    found.kernel.get_profiler().assert_allclose(lambda a: 2 * a)


def test_checking_tensors():
    a = random(100)
    assert tilelang.testing.torch_assert_close(a, a + 1e-6)
    with pytest.raises(AssertionError, match="100 of 100 elements of `ours` are wrong.* ours and theirs are not close"):
        tilelang.testing.torch_assert_close(a, a + 1, base_name="ours", ref_name="theirs")
    with pytest.raises(AssertionError, match="the dtype differs"):
        tilelang.testing.torch_assert_close(a, a.astype("f8"))


@pytest.mark.parametrize(("mode", "wanted"), [("ge", True), ("gt", False), ("le", True), ("lt", False), ("eq", True)])
def test_requirements_of_tests(monkeypatch, mode, wanted):
    monkeypatch.setattr(tilelang.testing, "_gpu", lambda: (9, 0))
    requires = getattr(tilelang.testing, f"requires_cuda_compute_version_{mode}")(9)
    assert requires.marks()[0].args[0] is (not wanted)
    assert tilelang.testing.requires_cuda.marks()[0].args[0] is False
    with pytest.raises(ValueError, match="Unsupported mode"):
        tilelang.testing.requires_cuda_compute_version(9, mode="no")


def test_requirements_are_marks_of_functions():
    @tilelang.testing.requires_rocm
    def test():
        pass

    @tilelang.testing.requires_package("no_such_package_here")
    def other():
        pass

    for function in (test, other):
        assert function.pytestmark[0].args == (True,)


def test_what_tests_measure(capsys):
    assert tilelang.testing.process_func(lambda scale: 2.0 * scale, "doubled", scale=2) == 4
    assert "doubled: 4.0000 ms" in capsys.readouterr().out


def test_numbers_and_types():
    assert [tilelang.next_power_of_2(n) for n in (0, 1, 3, 8, 9)] == [1, 1, 4, 8, 16]
    assert tilelang.math.cdiv(9, 4) == 3
    assert tilelang.DataType("float16").bits == 16
    assert tilelang.DataType(T.int8).itemsize == tilelang.DataType(T.int8).lanes == 1
    assert tilelang.dtypes.float16 is T.float16 is T.dtypes.float16
    assert getattr(np, T.float16) is np.float16
    assert not tilelang.carver.arch.is_cdna_arch(tilelang.carver.arch.CUDA("sm_90"))
    assert tilelang.testing.__name__.startswith("tilec.")


def test_environment(monkeypatch, installed):
    monkeypatch.setenv("TILELANG_CACHE_DIR", "/nowhere")
    monkeypatch.setenv("TILELANG_NO_SUCH", "1")
    monkeypatch.delenv("TL_CACHE_DIR", raising=False)
    monkeypatch.delenv("TL_VERBOSE", raising=False)
    from tilec.compat.tilelang.env import without_effect

    assert without_effect() == ["TILELANG_NO_SUCH"]
    assert tilelang.env.TILELANG_CACHE_DIR == tilec.cache.directory() == "/nowhere"
    assert tilelang.env.TILELANG_PRINT_ON_COMPILATION == "1"
    assert tilelang.env.get_default_target() == "auto"


def test_the_cache_is_switched(cache_on):
    tilelang.disable_cache()
    try:
        assert not tilelang.is_cache_enabled()
        assert not tilec.cache.is_enabled()
    finally:
        tilelang.enable_cache()
    assert tilelang.is_cache_enabled()


def test_which_gpus_there_are(installed, monkeypatch):
    from tilelang.cuda.target import check_cuda_availability
    from tilelang.rocm.target import check_hip_availability

    for chip in ("sm_90a", None):
        monkeypatch.setattr(targets, "gpu_chip", lambda chip=chip: chip)
        assert check_cuda_availability() is (chip is not None)
        assert check_hip_availability() is False


def test_what_is_known_of_gpus():
    import tilec.compat.tilelang.contrib.nvcc as nvcc

    assert nvcc.get_target_compute_version("cuda -arch=sm_90a") == "9.0"
    assert nvcc.parse_compute_version("12.1") == (12, 1)
    assert nvcc.have_tma("sm_90a")
    assert not nvcc.have_tma("sm_80")
    assert nvcc.is_hopper("sm_90")
    assert nvcc.have_fp8("8.9")
    with pytest.raises(RuntimeError, match="parsing error"):
        nvcc.parse_compute_version("new")


@pytest.mark.parametrize("fp8", ["e4m3", "e5m2"])
def test_names_of_narrow_floats(fp8):
    from tilec.compat.tilelang.language.fp8 import determine_fp8_type

    assert T.dtype(determine_fp8_type(fp8)).bits == 8


def test_types_of_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(float16="half", bfloat16="brain"))
    assert tilelang.utils.map_torch_type("float16") == "half"
    assert tilelang.utils.tensor.map_torch_type(T.bfloat16) == "brain"


@pytest.mark.parametrize("word", ["int8", "uint8", "int32", "uint32"])
def test_numbers_of_a_few_bits(word):
    from tilec.compat.tilelang import quantize

    kind, width = word.rstrip("0123456789"), int(word.lstrip("uint"))
    count = width // 4
    signed, unsigned, shifted, zeros = (
        make(kind, width)
        for make in (
            quantize._tir_packed_int_to_int_convert,
            quantize._tir_packed_to_unsigned_convert,
            quantize._tir_packed_to_signed_convert,
            quantize._tir_packed_to_unsigned_convert_with_zeros,
        )
    )

    @T.prim_func
    def main(A: T.Tensor((64,), word), Z: T.Tensor((1,), "int32"), B: T.Tensor((4, 64 * count), "float16")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64 * count):
                B[0, i] = signed(4, A[i // count], i % count, "float16")
                B[1, i] = unsigned(4, A[i // count], i % count, T.float16)
                B[2, i] = shifted(4, A[i // count], i % count, "float16")
                B[3, i] = zeros(4, A[i // count], i % count, Z[0], "float16")

    numbers = np.random.default_rng(3).integers(0, 16, (64, count), np.uint64)
    words = (numbers << (4 * np.arange(count, dtype=np.uint64))).sum(1, dtype=np.uint64).astype(f"uint{width}")
    found = tilelang.compile(main, out_idx=[-1])(words.view(word), np.array([5], np.int32))
    low = numbers.astype(np.int32).ravel()
    np.testing.assert_array_equal(found, [(low ^ 8) - 8, low, low - 7, low - 5])


def test_bytes_that_are_floats():
    from tilec.compat.tilelang.quantize import _tir_u8_to_f8_e4m3_to_f16

    @T.prim_func
    def main(A: T.Tensor((4,), "uint8"), B: T.Tensor((4,), "float16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i] = _tir_u8_to_f8_e4m3_to_f16(8, A[i], "float16")

    found = tilelang.compile(main, out_idx=[-1])(np.array([0x38, 0xB8, 0x7E, 0x01], np.uint8))
    np.testing.assert_array_equal(found, [1, -1, 448, 2**-9])


def test_what_a_program_does():
    device = tilelang.carver.arch.CUDA("cuda -arch=sm_90a")
    found = tilelang.tools.Analyzer.analysis(matmul.get_tir(256, 128, 512), device)
    assert found.total_flops == 2 * 256 * 128 * 512
    assert found.total_global_bytes > 2 * (256 * 512 + 512 * 128)
    assert 1e-7 < found.estimated_time < 1e-3
    assert found.expected_bandwidth_GBps == 3350
    own = SimpleNamespace(compute_capability="90")  # as programs describe GPUs themselves
    assert tilelang.tools.Analyzer.analysis(matmul.get_tir(256, 128, 512), own) == found
    with pytest.raises(ArgumentError, match="what a GPU of sm_75 can do is not known here"):
        tilelang.tools.Analyzer.analysis(scaled(64, 2), tilelang.carver.arch.CUDA("cuda -arch=sm_75"))


def test_drawing_a_layout(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    fragment = T.Fragment([4, 8], forward_thread_fn=lambda i, j: i * 4 + j // 2, forward_index_fn=lambda i, j: j % 2)
    tilelang.tools.plot_layout(fragment, str(tmp_path / "new"), "one", formats="all", verbose=True)
    assert str(fragment) in capsys.readouterr().out
    text = (tmp_path / "new" / "one.svg").read_text()
    assert text.count(">L0<") == text.count(">L1<") == 16
    assert ">T13<" in text
    assert ">T16<" not in text
    assert (tmp_path / "new" / "one.png").read_bytes().startswith(b"\x89PNG")
    tilelang.tools.plot_layout(T.Layout([2, 3], lambda i, j: (j, i)), str(tmp_path), "two", "viridis", formats="svg")
    assert ">2, 1<" in (tmp_path / "two.svg").read_text()
    with pytest.raises(tilec.errors.ShapeError, match="a layout of two dimensions can be drawn"):
        tilelang.tools.plot_layout(T.Layout([4], lambda i: i))


def test_postprocessing_is_for_what_is_generated_here():
    with pytest.raises(TargetError, match="is for GPUs of AMD"):
        tilelang.register_hip_postproc(str)


def test_recommended_configurations(installed):
    from tilelang.carver import CUDA, ElementwiseTemplate, GEMVTemplate, GeneralReductionTemplate, MatmulTemplate
    from tilelang.carver.roller.rasterization import NoRasterization

    ampere, hopper = CUDA("cuda -arch=sm_80"), CUDA("cuda -arch=sm_90a")
    with pytest.raises(ArgumentError, match=r"`\.with_arch\(\.\.\.\)` says it"):
        MatmulTemplate(M=64, N=64, K=64).recommend_hints()
    for arch, shared_bytes in ((ampere, 163 << 10), (hopper, 227 << 10)):
        for extents in ((8192, 8192, 8192), (1024, 1024, 1024), (16, 4096, 4096)):
            template = MatmulTemplate(*extents, accum_dtype="float32").with_arch(arch)
            hints = template.recommend_hints(topk=20)
            assert len(hints) == 20
            for hint in hints:
                (m, n), (k,) = hint.block, hint.rstep
                assert m % hint.warp[0] == n % hint.warp[1] == 0
                assert (m + n) * k * 2 * hint.pipeline_stage <= shared_bytes
            assert hints[0].block[0] <= 2 * extents[0]
            if extents[0] != 1024:
                assert isinstance(hints[0].rasterization_plan, NoRasterization) == (extents[0] == 16)
        assert min(MatmulTemplate(8192, 8192, 8192).with_arch(arch).recommend_hints(1)[0].block) >= 128
    for template in (
        GEMVTemplate(N=1024, K=4096),
        ElementwiseTemplate(shape=[8192, 8192]),
        GeneralReductionTemplate(structure="SSR", shape=[64, 128, 256]),
    ):
        best, *_ = template.with_arch(ampere).recommend_hints(topk=5)
        assert best.vectorize["A"] == 8
        assert not best.use_tc
        assert len(best.block) == len(best.thread)
    with pytest.raises(ArgumentError, match="`structure` has an S or an R for each dimension of `shape`"):
        GeneralReductionTemplate(structure="SR", shape=[64])


def test_equivalent_programs_of_templates(installed):
    from tilelang.carver import GEMVTemplate, GeneralReductionTemplate, MatmulTemplate

    types = {"in_dtype": "float32", "out_dtype": "float32", "accum_dtype": "float32"}
    a, b = random(24, 32), random(40, 24)
    program = MatmulTemplate(32, 40, 24, trans_A=True, **types).equivalent_function()
    close(tilelang.compile(program, out_idx=2)(a, b), a.T @ b.T)
    program = GEMVTemplate(40, 24, trans_B=False, **types).equivalent_function()
    weights = np.ascontiguousarray(b.T)
    close(tilelang.compile(program, out_idx=2)(b[0], weights), b[0] @ weights)
    x = random(3, 5, 7)
    for structure, expected in (("SRS", x.sum(1)), ("SSS", x), ("RRR", x.sum())):
        program = GeneralReductionTemplate(structure, [3, 5, 7], "float32").equivalent_function()
        close(tilelang.compile(program, out_idx=1)(x), expected.ravel())


def test_layouts_of_intrinsics(installed):
    from tilelang.cuda.intrinsics import get_swizzle_layout, make_mma_swizzle_layout
    from tilelang.cuda.intrinsics.sparse_layout import get_e_factor, get_e_replicate_factor

    @T.prim_func
    def turned(A: T.Tensor((16, 64), T.float16), B: T.Tensor((16, 64), T.float16)):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((16, 64), T.float16)
            T.annotate_layout({S: make_mma_swizzle_layout(S)})
            for i, j in T.Parallel(16, 64):
                _, row, column = get_swizzle_layout(i, j, 64, T.float16)
                S[row, column] = A[i, j]
            T.copy(S, B)

    a = random(16, 64, dtype="float16")
    b = np.zeros_like(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredHintWarning)
        tilelang.compile(turned)(a, b)
    for i, j in np.ndindex(16, 64):
        panel, row, column = get_swizzle_layout(i, j, 64, "float16")
        assert (panel, row, column // 8, column % 8) == (0, i, j // 8 ^ i % 8, j % 8)
        assert b[i, column] == a[i, j]
    for width, units in ((32, 2), (64, 4)):
        found = [get_swizzle_layout(4, j, 128, "int8", width) for j in range(128)]
        assert len(set(found)) == 128
        assert found[16] == (0, 4, (1 ^ 4 // (8 // units)) * 16)
    with pytest.raises(ShapeError, match="multiple of 32 bytes, and its panels 32, 64 or 128, not 24 and 24"):
        get_swizzle_layout(0, 0, 12, "float16")
    rows = SimpleNamespace(shape=(8, 64), dtype=T.float16)
    assert make_mma_swizzle_layout(rows).map_forward_index([1, 0]) != [1, 0]
    assert make_mma_swizzle_layout(rows, is_smooth=True).is_equal(T.make_linear_layout(rows))
    assert (get_e_factor("float16", "int16"), get_e_factor("float32", "int32"), get_e_factor("int8", "int32")) == (
        16, 16, 32,
    )  # fmt: skip
    assert (get_e_replicate_factor("int8"), get_e_replicate_factor("float16")) == (1, 2)


def test_a_kernel_is_made_of_a_program(installed):
    from tilelang import JITKernel
    from tilelang.transform.simplify import apply_simplify

    a = random(64)
    close(JITKernel(apply_simplify(scaled(64, 3)), out_idx=[1], target="llvm")(a), 3 * a)
    with pytest.raises(ArgumentError, match=r"takes a `@T\.prim_func`"):
        JITKernel(scaled)


def test_simplified_programs_take_what_they_touch(installed):
    from tilelang.transform import simplify_prim_func
    from tilelang.transform.simplify import apply_simplify

    n = T.dynamic("n")

    @simplify_prim_func
    def sums(has_bias):
        @T.prim_func
        def main(
            A: T.Tensor((64,), "float32"),
            bias: T.Tensor((64,), "float32"),
            marks: T.Tensor((n,), "int32"),
            k: T.int32,
            B: T.Tensor((64,), "float32"),
        ):
            with T.Kernel(1, threads=64):
                for i in T.Parallel(64):
                    B[i] = A[i] + bias[i] if has_bias else A[i]

        return main

    a, marks = random(64), np.zeros(3, np.int32)
    close(tilelang.compile(sums(True), out_idx=-1)(a, a, marks, 1), 2 * a)
    assert [p.name for p in sums(False).parameters] == ["A", "marks", "k", "B"]
    close(tilelang.compile(sums(False), out_idx=-1)(a, marks, 1), a)
    close(tilelang.jit(sums, out_idx=-1)(False)(a, marks, 1), a)

    @T.prim_func
    def made(A: T.Tensor((64,), "float32")):
        B = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            T.fill(B, 1)
        return B

    close(tilelang.compile(apply_simplify(made))(), np.ones(64))
    with pytest.raises(ArgumentError, match=r"`apply_simplify` takes a `@T\.prim_func`"):
        apply_simplify(sums)


def test_layouts_of_constants_are_compared():
    constant = T.Layout((4, 8), lambda i, j: T.int32(0))
    assert constant.is_equal(T.Layout((4, 8), lambda i, j: 0))
    assert not constant.is_equal(T.Layout((4, 8), lambda i, j: i))


def test_several_results_are_a_list(installed):
    """Of the first call, and of those that skip the interpreter."""

    def both(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = A[i] + 1
                C[i] = A[i] + 2

    @tilelang.jit
    def eager(A):
        A: T.Tensor[[32], T.float32]
        B, C = T.empty((32,), T.float32), T.empty((32,), T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                B[i] = A[i] + 1
                C[i] = A[i] + 2
        return B, C

    a = random(32)
    for call in (tilelang.compile(T.prim_func(both), out_idx=[1, 2]), eager):
        for _ in range(3):
            found = call(a)
            assert isinstance(found, list)
            close(found, [a + 1, a + 2])
        found = call(A=a)
        assert isinstance(found, list)


# The page ------------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "from-tilelang.md"


def tables():
    """Returns what stands between the marks of the page: what works by the programs, and what is missing."""
    programs = "".join(f"- {what}\n" for what in CASES)
    groups = {}
    for name, reason in missing.REASONS.items():
        if name not in vars(T):
            groups.setdefault(reason, []).append(name)
    rows = [f"| {why} | {len(names)}: {', '.join(f'`{n}`' for n in names)} |\n" for why, names in groups.items()]
    return {"programs": programs, "missing": "| `T.name` … | names |\n| --- | --- |\n" + "".join(rows)}


def test_the_page_says_what_is_so():
    """`TL_UPDATE_DOCS=1` writes it."""
    text = PAGE.read_text()
    for name, wanted in tables().items():
        head, begin, rest = text.partition(f"<!-- begin: {name} -->\n")
        _, end, tail = rest.partition(f"<!-- end: {name} -->")
        assert begin
        assert end
        text = f"{head}{begin}\n{wanted}\n{end}{tail}"
    if os.environ.get("TL_UPDATE_DOCS"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "run this test with TL_UPDATE_DOCS=1"


# Nothing is dropped without a word ------------------------------------------------------------------------------------


def doubling():
    return tilelang.compile(scaled(64, 2), out_idx=[1], target="llvm")


def source_kernel(**options):
    @T.prim_func
    def store(X: T.Tensor((32,), "float32")):
        T.CUDASourceCodeKernel(
            1,
            threads=32,
            entry_name="k",
            args=[X],
            source_code_or_path="""
#ifndef V
#define V 1.0f
#endif
extern "C" __global__ void k(float *x) { x[threadIdx.x] = V; }
""",
            **options,
        )

    return store


def test_options_that_say_what_a_text_means_reach_it():
    def stored(program, **given):
        return tilelang.compile(program, target="cuda -arch=sm_90a", **given).prim_func.text

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert '["-DV=4.0f"]' in stored(source_kernel(), compile_flags="-DV=4.0f")
        text = stored(source_kernel(), compile_flags=["-D V=4.0f", "-I/tmp -I /usr"])
        assert '["-D", "V=4.0f"]' in text
        assert '["/tmp", "/usr"]' in text
        assert '["-DV=4.0f"]' in stored(source_kernel(), pass_configs={"tl.device_compile_flags": "-DV=4.0f"})
        assert '["-DV=2.0f"]' in stored(source_kernel(compile_flags=["-DV=2.0f"])), "its own"
        assert (
            '["-DV=4.0f"]'
            in tilelang.jit(source_kernel(), target="cuda -arch=sm_90a", compile_flags="-DV=4.0f").prim_func.text
        )
        lazy = tilelang.jit(source_kernel, target="cuda -arch=sm_90a", compile_flags="-DV=4.0f")
        assert '["-DV=4.0f"]' in lazy.get_tir().text
    for name, other in (("-DV=5.0f", source_kernel(compile_flags=["-DV=2.0f"])), ("-DV=6.0f", scaled(64, 2))):
        with pytest.warns(IgnoredHintWarning, match=f"`{name}`; they are for `T.CUDASourceCodeKernel`"):
            assert "-DV" not in stored(other, compile_flags=name).replace("-DV=2.0f", "")
    configs = [{"factor": 2, "pass_configs": {"tl.device_compile_flags": "-DV=4.0f"}}]
    with pytest.raises(ArgumentError, match="configurations have no `-DV=4.0f`"):
        tilelang.autotune(configs=configs)(tilelang.jit(scaled))


def test_a_source_file_is_read_when_the_program_is_built(tmp_path):
    file, header = tmp_path / "fill.cu", tmp_path / "what.h"
    header.write_text("#define WHAT 3\n")
    file.write_text('#include "what.h"\nextern "C" __global__ void fill(float *x) { x[threadIdx.x] = WHAT; }')

    @T.prim_func
    def main(X: T.Tensor((32,), T.float32)):
        T.CUDASourceCodeKernel(1, threads=32, source_code_or_path=str(file), entry_name="fill")

    file.unlink()
    kernel = tilelang.compile(main, target="cuda -arch=sm_90a")
    assert "x[threadIdx.x] = WHAT" in kernel.get_kernel_source()


def test_a_source_file_that_is_no_utf8_is_read_when_it_is_compiled(tmp_path):
    file = tmp_path / "fill.cu"
    file.write_bytes(b'// caf\xe9\nextern "C" __global__ void fill(float *x) { x[threadIdx.x] = 3; }')

    @T.prim_func
    def main(X: T.Tensor((32,), T.float32)):
        T.CUDASourceCodeKernel(1, threads=32, source_code_or_path=str(file), entry_name="fill")

    kernel = tilelang.compile(main, target="cuda -arch=sm_90a")
    assert "// caf\\xe9" in kernel.get_kernel_source()


def test_a_folder_for_the_ir_of_a_program(tmp_path):
    tilelang.jit(scaled(64, 3), target="llvm", debug_root_path=str(tmp_path))
    assert list(tmp_path.iterdir())


def test_what_a_target_says_beside_the_chip():
    with pytest.warns(IgnoredHintWarning, match="left out: `-maxnreg`"):
        assert compat.options.target("cuda -arch=sm_90a -maxnreg=32") == "sm_90a"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: doubling().get_profiler().do_bench(rep=1, dynamic_symbolic_constraints={"nope": 3}),
            "`dynamic_symbolic_constraints` names `nope`, and the symbols of `main` are none",
        ),
        (
            lambda: tilelang.compile(scaled(64, 2), pass_configs={"tl.enable_fast_math": "false"}),
            "the pass configuration `tl.enable_fast_math` is True or False, not `'false'`",
        ),
        (
            lambda: doubling().get_profiler().manual_assert_close(lambda a: a * 100),
            "`manual_assert_close` compares nothing by itself: give it `manual_check_prog`",
        ),
        (lambda: tilelang.profiler.do_bench(lambda: None, device="gpu0"), "a device is a number, .* not `'gpu0'`"),
        (lambda: tilelang.profiler.do_bench(lambda: None, _n_repeat=3, return_mode="avg"), "unknown `return_mode`"),
    ],
)
def test_arguments_that_cannot_be_meant(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_a_pass_configuration_that_is_misspelt():
    with pytest.warns(IgnoredHintWarning, match="`tl.enable_fast_maths`; did you mean `tl.enable_fast_math`"):
        compat.options.passes({"tl.enable_fast_maths": True})


def test_what_was_set_counts_when_a_tuner_runs(monkeypatch):
    given = {}

    def spy(**profile):
        given.update(profile)
        raise InterruptedError

    monkeypatch.setattr("tilec.autotuner.tuner.Profile", spy)
    tuner = tilelang.autotuner.AutoTuner.from_kernel(lambda v: scaled(64, v), [{"v": 1}])
    for run, timeout in ((lambda: tuner.run(), 3), (lambda: tuner.run(5, timeout=4), 4)):
        with pytest.raises(InterruptedError):
            tuner.set_compile_args(target="llvm").set_profile_args(1, 2, timeout=3, use_pipeline=True)
            run()
        assert (given["rep"], given["timeout"], given["max_mismatched_ratio"]) == (2, timeout, 0.01)


def test_kernels_of_the_cpu_are_measured_on_it(monkeypatch):
    asked = []
    monkeypatch.setattr("tilec.compat.tilelang.profiler.bench._do_bench", lambda *_, **k: asked.append(k["device"]))
    doubling().get_profiler().do_bench(rep=1)
    for device in (None, 1, "cuda:2", "cuda", "cpu"):
        tilelang.profiler.do_bench(lambda: None, device=device)
    assert asked == [None, "auto", 1, 2, 0, None]


def test_variables_are_read_when_they_are_needed(monkeypatch, tmp_path):
    for name in ("TL_CACHE_DIR", "TL_DISABLE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for factor, folder in ((11, "first"), (12, "second")):
        monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / folder))
        tilelang.compile(scaled(64, factor), target="llvm")
        assert (tmp_path / folder).exists()
    assert not {"TL_CACHE_DIR", "TL_DISABLE_CACHE"} & os.environ.keys()
    monkeypatch.setenv("TILELANG_DISABLE_CACHE", "1")
    assert not tilelang.env.is_cache_enabled()
    monkeypatch.delenv("TILELANG_DISABLE_CACHE")
    assert tilelang.env.is_cache_enabled()
    monkeypatch.setenv("TILELANG_NONSENSE", "1")
    with pytest.warns(IgnoredHintWarning, match="no effect here have `TILELANG_NONSENSE`") as seen:
        tilelang.compile(scaled(64, 5), target="llvm")
    assert [w.filename for w in seen] == [__file__]


def test_inputs_of_a_tuner_are_made_for_parameters_as_programs_know_them(monkeypatch):
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")  # what was tuned once is not measured again
    supply = tilelang.utils.tensor.get_tensor_supply(tilelang.TensorSupplyType.Normal)
    asked = []

    def supply_prog(params):
        asked.extend((p.is_scalar(), p.shape) for p in params)
        return [supply(p) for p in params]

    function = tilelang.jit(scaled, out_idx=[1], target="llvm")
    tuned = tilelang.autotune(configs=[{"factor": 2}], rep=1, warmup=1, supply_prog=supply_prog)(function)
    assert (np.asarray(tuned(64)(np.ones(64, np.float32))) == 2).all()
    assert asked == [(False, [64])]
    assert isinstance(tuned.get_tunner(), tilelang.autotuner.AutoTuner)
    assert tuned.out_idx == [1]
    with pytest.raises(AttributeError):
        tuned.nonsense


def test_kernels_go_with_those_who_made_them():
    import gc
    import weakref

    table = np.ones(3)

    @tilelang.jit(out_idx=[1], target="llvm")
    def reads_an_array(n):
        return scaled(n, float(table[0]))

    wrappers = [weakref.ref(reads_an_array(64)) for _ in range(3)]

    gc.collect()
    alive = {id(found) for wrapper in wrappers if (found := wrapper()) is not None}
    assert len(alive) <= 1, "that of the kernel which `tilec.compile` keeps"


def test_strides_of_any_library():
    check = tilelang.utils.tensor.torch_assert_close
    assert check(np.ones((2, 3)), np.ones((2, 3)), check_stride=True)
    with pytest.raises(AssertionError, match=r"LHS has \(3, 1\), and RHS \(1, 2\)"):
        check(np.ones((2, 3)), np.ones((3, 2)).T, check_stride=True)


def test_a_line_of_blocks_has_no_panels():
    """Persistent programs ask for them; there it has no effect."""

    @T.prim_func
    def main(A: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=32) as b:
            T.use_swizzle(10)
            A[b] = b

    a = np.zeros(8, np.int32)
    tilelang.compile(main, target="llvm")(a)
    assert (a == np.arange(8)).all()
