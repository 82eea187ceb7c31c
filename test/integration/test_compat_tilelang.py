"""Programs that are written for TileLang, on a GPU and with both code generators; they are those of `test/python`."""

import sys
import warnings
from pathlib import Path

import pytest

import tilec
from tilec import targets

pytestmark = pytest.mark.skipif(targets.gpu_chip() is None, reason="needs a GPU")

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from tilelang_programs import CASES, T, eager_matmul, matmul, random, tilelang  # noqa: E402


@pytest.mark.parametrize("what", CASES)
def test_programs(backend, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tilec.errors.TLWarning)
        CASES[what]()


def test_results_are_tensors_of_the_gpu(backend):
    torch = pytest.importorskip("torch")
    a, b = (torch.from_numpy(random(64, 64, dtype="float16", seed=i)).cuda() for i in range(2))
    for found in (matmul(64, 64, 64)(a, b), eager_matmul(a, b)):
        assert found.is_cuda
    torch.testing.assert_close(eager_matmul(a, b), a.float() @ b.float(), rtol=1e-2, atol=1e-2)


def test_results_without_arguments_are_tensors_of_pytorch(backend):
    torch = pytest.importorskip("torch")

    @tilelang.jit
    def eager():
        A = T.empty(64, dtype=T.int32)
        with T.Kernel(1, threads=64):
            T.fill(A[0:64], 7)
        return A

    @tilelang.jit(out_idx=[0])
    def lazy():
        @T.prim_func
        def main(A: T.Tensor((64,), "int32")):
            with T.Kernel(1, threads=64):
                T.fill(A[0:64], 7)

        return main

    for _ in range(2):
        for found in (eager(), lazy()()):
            assert isinstance(found, torch.Tensor)
            assert found.is_cuda
            assert found.tolist() == [7] * 64


def test_profiler_on_tensors_of_pytorch(backend):
    torch = pytest.importorskip("torch")
    profiler = matmul(128, 128, 128).get_profiler()
    profiler.assert_allclose(lambda a, b: torch.relu(a.float() @ b.float()).half(), max_mismatched_ratio=0)
    assert 0 < profiler.do_bench(warmup=5, rep=10) < 10
    assert "__global__" in matmul(128, 128, 128).get_kernel_source() or backend == "nvptx"
