"""Parameters that are left open (`T.auto`): what the cost model chooses, what it passes over, and what it says."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import targets
from tilec.autotuner.opened import OpenFunction
from tilec.errors import ArgumentError, ConfigError, TLError
from tilec.warm import Spec


def lazy_gemm(M, N, K, tile=T.auto((64, 128), (128, 128), (128, 256)), stages=T.auto(3, 4), threads: int = 256):
    block_M, block_N = tile

    @T.prim_func
    def multiply(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            As = T.alloc_shared((block_M, 64), "bfloat16")
            Bs = T.alloc_shared((64, block_N), "bfloat16")
            acc = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(K, 64), num_stages=stages):
                T.copy(A[by * block_M, k * 64], As)
                T.copy(B[k * 64, bx * block_N], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * block_M, bx * block_N])

    return multiply


gemm = tilec.jit(target="sm_90a")(lazy_gemm)


@tilec.jit
def scale(A, block: int = T.auto(128, 256, 1024)):
    n = T.dynamic("n")
    A: T.Tensor[[n], T.float32]
    B = T.empty((n,), T.float32)
    with T.Kernel(T.ceildiv(n, block)) as b:
        for i in T.Parallel(block):
            B[b * block + i] = A[b * block + i] * 2
    return B


def test_large_matrices_get_large_tiles_and_small_ones_small_tiles():
    large, small = gemm(8192, 8192, 8192), gemm(1024, 1024, 1024)
    assert large.choice.config["tile"] == (128, 256)
    assert small.choice.config["tile"] == (64, 128)
    assert large.config == large.choice.config
    assert len(large.choice.considered) == 6
    assert gemm(8192, 8192, 8192) is large
    said = str(large.choice)
    assert said.startswith("of 6 combinations tile=(128, 256), stages=")
    assert "is chosen for H" in said
    assert "bound by power" in said
    assert large.choice.table().count("\n") == 6


def test_what_a_call_gives_is_taken_and_the_rest_is_chosen():
    kernel = gemm(1024, 1024, 1024, stages=3)
    assert kernel.choice.config.keys() == {"tile"}
    assert gemm(1024, 1024, 1024, (128, 128), 4).choice.config == {}
    program, _ = gemm.trace(1024, 1024, 1024, tile=(128, 256), stages=3)
    assert "stages = 3" in program.text


def test_what_does_not_compile_is_passed_over():
    kernel = tilec.jit(target="sm_90a")(lazy_gemm)
    open_stages = kernel.compile(4096, 4096, 4096, tile=(128, 256), threads=256)
    assert open_stages.choice.config == {"stages": 4} or open_stages.choice.config == {"stages": 3}

    @tilec.jit(target="sm_90a")
    def deep(stages: int = T.auto(12, 3)):
        return lazy_gemm(4096, 4096, 4096, (128, 256), stages, 256)

    chosen = deep().choice
    assert chosen.config == {"stages": 3}
    assert "576 KiB of shared memory, and there are 227" in chosen.table()


def test_what_the_model_does_not_know_of_is_found_by_compiling(monkeypatch):
    built = []
    original = tilec.jit(target="sm_90a")(lazy_gemm).jitted.compile

    function = tilec.jit(target="sm_90a")(lazy_gemm)

    def refusing(*args, **kwargs):
        built.append(kwargs["stages"])
        if kwargs["stages"] == built[0]:
            raise tilec.errors.CompileError("no")
        return original(*args, **kwargs)

    monkeypatch.setattr(function.jitted, "compile", refusing, raising=False)
    kernel = function.compile(4096, 4096, 4096, tile=(128, 128))
    assert len(set(built)) == 2
    assert kernel.choice.config == {"stages": built[1]}
    assert "it does not compile: no" in kernel.choice.table()


def test_what_spills_is_taken_only_if_nothing_else_compiles():
    function = tilec.jit(target="sm_90a")(lazy_gemm)
    # 128 accumulators of 128 x 256 for each of 256 threads fit; as many as 128 threads have twice do not.
    kernel = function(1024, 1024, 1024, threads=128)
    assert kernel.n_spills == 0
    assert kernel.choice.config["tile"] != (128, 256)


def test_values_that_make_no_program_are_passed_over():
    @tilec.jit(target="sm_90a")
    def some(block: int = T.auto(0, 64)):
        if block == 0:
            raise ValueError("a block of none")

        @T.prim_func
        def main(A: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(block):
                    A[i] = 0

        return main

    chosen = some().choice
    assert chosen.config == {"block": 64}
    assert "it makes no program: a block of none" in chosen.table()
    with pytest.raises(ValueError, match="a block of none"):
        tilec.jit(target="sm_90a")(some.jitted.function)(block=0)


def test_if_nothing_makes_a_program_the_first_mistake_is_the_callers():
    with pytest.raises(TLError, match="`M` of `lazy_gemm` is a tensor"):
        gemm(np.zeros((4, 4), np.float32), 1024, 1024)


@pytest.mark.parametrize("n", [1, 1000, 1 << 16])
def test_eager_functions_run(n):
    a = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(scale(a)), 2 * a)
    kernel = scale.compile(a)
    assert kernel.config.keys() == {"block"}
    assert scale.compile(a) is kernel
    np.testing.assert_array_equal(np.asarray(scale(a, block=128)), 2 * a)


def test_dynamic_extents_share_a_choice_up_to_a_power_of_two():
    function = tilec.jit(scale.jitted.function)
    for n in (1000, 1001, 1024):
        function(np.zeros(n, np.float32))
    assert len(function._found) == 1
    function(np.zeros(1025, np.float32))
    assert len(function._found) == 2


def test_eager_functions_are_compiled_for_extents():
    kernel = scale.compile()
    assert kernel.choice is not None


def test_methods_and_more_of_a_jit_function(tmp_path):
    class Kernels:
        width = 2

        @tilec.jit(target="sm_90a")
        def double(self, n: int, block: int = T.auto(128, 256)):
            @T.prim_func
            def main(A: T.Tensor((n,), "float32")):
                with T.Kernel(T.ceildiv(n, block)) as b:
                    for i in T.Parallel(block):
                        A[b * block + i] = A[b * block + i] * self.width

            return main

    kernels = Kernels()
    assert kernels.double(4096).choice.config["block"] in (128, 256)
    assert isinstance(gemm, OpenFunction)
    assert gemm.__name__ == "lazy_gemm"
    assert gemm.compile_async(1024, 1024, 1024).result() is gemm(1024, 1024, 1024)
    first, second = gemm.par_compile([(1024, 1024, 1024), {"M": 2048, "N": 2048, "K": 2048}])
    assert (first.choice.config, second.choice.config) == (
        gemm(1024, 1024, 1024).choice.config,
        gemm(2048, 2048, 2048).choice.config,
    )
    faster = gemm.with_options({"fast_math": True})
    assert faster(1024, 1024, 1024).choice.config == first.choice.config


def test_the_remark_is_logged(caplog):
    function = tilec.jit(target="sm_90a")(lazy_gemm)
    with caplog.at_level(logging.INFO, logger="tilec"):
        function(1024, 1024, 1024)
        function(1024, 1024, 1024)
    said = [record.getMessage() for record in caplog.records if "is chosen for" in record.getMessage()]
    assert said == [f"`lazy_gemm`: {function(1024, 1024, 1024).choice}"], "once"


def test_the_page_of_a_kernel_says_what_was_chosen(tmp_path):
    page = gemm(1024, 1024, 1024).explain(tmp_path / "gemm.html").read_text()
    assert "of 6 combinations tile=(64, 128)" in page


def test_the_target_decides(monkeypatch):
    function = tilec.jit(lazy_gemm)
    monkeypatch.setenv("TL_TARGET", "sm_90a")
    hopper = function(4096, 4096, 4096)
    monkeypatch.setenv("TL_TARGET", "sm_80")
    ampere = function(4096, 4096, 4096)
    assert hopper.choice.gpu == "H100" or targets.gpu_chip() is not None
    assert ampere.choice.gpu == "A100"
    assert ampere.choice.config != {"tile": (128, 256), "stages": 4}, "192 KiB are more than it has"


def test_mistakes():
    with pytest.raises(ArgumentError, match=r"`T.auto` needs the values that the parameter may have"):
        T.auto()
    with pytest.raises(ArgumentError, match=r"`T.auto\(1, 2\)` is no value yet"):
        T.auto(1, 2) + 1
    with pytest.raises(ArgumentError, match=r"`T.auto\(3, 4\)` is no value yet"):
        lazy_gemm(1024, 1024, 1024, (64, 128))
    with pytest.raises(ConfigError, match=r"leave `stages` open"):
        tilec.autotune(configs={"tile": [(64, 128)]})(gemm)


def test_what_is_open_can_be_measured_instead():
    measured = tilec.autotune(warmup=0, rep=1)(tilec.jit(scale.jitted.function))
    result = measured.tune(np.ones(512, np.float32))
    assert sorted(record.config["block"] for record in result.records) == [128, 256, 1024]


def test_a_list_is_cut_down_by_the_same_model():
    seen = tilec.autotune(warmup=0, rep=1, prune_configs_by={"top_k": 1})(tilec.jit(scale.jitted.function))
    a = np.ones(512, np.float32)
    result = seen.tune(a)
    assert [record.config for record in result.records] == [scale.compile(a).choice.config]


def test_step_by_step():
    tuner = tilec.AutoTuner(gemm, {"tile": [(64, 128)], "stages": [0]})
    assert tuner.fn is gemm.jitted


def test_warming():
    kernel = Spec("test_open:gemm", [1024, 1024, 1024]).compile()
    assert kernel is gemm(1024, 1024, 1024)
