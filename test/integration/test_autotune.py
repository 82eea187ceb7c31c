"""The autotuner on a GPU: configurations that hang, fault or are wrong, and kernels that change what they read."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import targets

if targets.gpu_chip() is None:
    pytest.skip("no GPU answers", allow_module_level=True)

QUICK = {"warmup": 1, "rep": 5}


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path))


def gemm(M, N, K, bm=64, bn=64, bk=32, stages=2, threads=128, fault=""):
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
            As = T.alloc_shared((bm, bk), "float16")
            Bs = T.alloc_shared((bk, bn), "float16")
            acc = T.alloc_fragment((bm, bn), "float32")
            T.clear(acc)
            if fault == "hang" or fault == "fault":
                S = T.alloc_shared((64,), "float32")
                x = T.alloc_var("int32", 0)
                while x >= 0:
                    S[x] = 1.0
                    x = x + (0 if fault == "hang" else 4096)
                C[0, 0] = T.cast(S[0], "float16")
            for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                T.copy(A[by * bm, k * bk], As)
                T.copy(B[k * bk, bx * bn], Bs)
                T.gemm(As, Bs, acc)
            if fault == "wrong":
                for i, j in T.Parallel(bm, bn):
                    acc[i, j] = acc[i, j] + 1
            T.copy(acc, C[by * bm, bx * bn])

    return kernel


def reference(a, b):
    if hasattr(a, "is_cuda"):
        return (a.float() @ b.float()).to(a.dtype)
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)


def tune(configs, size=512, **profile):
    jitted = tilec.jit(target="cuda", out_idx=-1)(gemm)
    return tilec.autotune(configs=configs, ref_prog=reference, **{**QUICK, **profile})(jitted).tune(size, size, size)


GOOD = [{"bm": bm, "bn": bn, "bk": 32} for bm in (64, 128) for bn in (64, 128)]


def test_a_gemm():
    result = tune(GOOD)
    assert [r.status for r in result.records] == ["ok"] * 4
    assert result.checked
    assert 1e-3 < result.latency < 10
    a, b = (np.random.standard_normal((512, 512)).astype(np.float16) for _ in range(2))
    np.testing.assert_allclose(np.asarray(result.kernel(a, b)), reference(a, b), rtol=1e-2, atol=1e-1)
    assert tune(GOOD).from_cache


def test_bad_configurations_disturb_nobody():
    clean = {str(r.config): r.latency for r in tune(GOOD, size=2048, early_stop=False).records}
    planted = [{**GOOD[0], "fault": fault} for fault in ("hang", "fault", "wrong")]
    result = tune([*planted, *GOOD], size=2048, early_stop=False, timeout=5, warmup=2)
    found = {r.config.get("fault", "good"): r for r in result.records}
    assert found["hang"].status == "timeout"
    assert found["fault"].status in ("failed", "crashed")
    assert found["wrong"].status == "wrong"
    good = [r for r in result.records if "fault" not in r.config]
    assert all(r.is_ok for r in good)
    for record in good:
        assert record.latency == pytest.approx(clean[str(record.config)], rel=0.2)


@T.prim_func
def accumulate(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
    with T.Kernel(1, threads=128):
        for i in T.Parallel(1024):
            B[i] = B[i] + A[i]


@pytest.mark.parametrize("changes", [{"reset_to_zero": ["B"]}, {"restore_value": ["B"]}])
def test_changes_are_undone(changes):
    def reference(a, b):
        return a if "reset_to_zero" in changes else a + b

    tuner = tilec.AutoTuner(lambda x: accumulate, {"x": [1]}).set_compile_args(target="cuda")
    assert tuner.run(**QUICK, **changes, ref_prog=reference).checked


def test_given_tensors_of_a_gpu():
    torch = pytest.importorskip("torch")
    a, b = (torch.randn(256, 256, device="cuda", dtype=torch.float16) for _ in range(2))
    with tilec.set_autotune_inputs(a, b):
        result = tune(GOOD, size=256)
    assert result.checked
    assert all(r.is_ok for r in result.records)


@tilec.jit(target="cuda")
def gather(A, threads: int = 64):
    M, N, P, Q = T.const("M, N, P, Q")
    A: T.StridedTensor[[M, N], [P, Q], T.float32]
    B = T.empty((M, N), T.float32)
    with T.Kernel(M, threads=threads) as i:
        for j in T.Parallel(N):
            B[i, j] = A[i, j] + 1.0
    return B


def test_strides_of_tensors_are_those_of_the_call():
    torch = pytest.importorskip("torch")
    function = tilec.autotune(configs={"threads": [32, 64]}, ref_prog=lambda a: a + 1, **QUICK)(gather)
    wide = torch.randn(64, 128, device="cuda")
    for a in (wide, wide[:, ::2], wide.T):
        torch.testing.assert_close(function(a), a + 1)
        assert function.tune(a).checked


def test_all_gpus_at_once():
    from tilec import _tl

    if _tl.cuda_device_count() < 2:
        pytest.skip("takes two GPUs")
    result = tune(GOOD, size=1024, benchmark_multi_gpu=True)
    assert [r.status for r in result.records] == ["ok"] * 4


@tilec.jit(target="cuda")
def matmul(A, B, bm: int = 64, bn: int = 64):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float16]
    B: T.Tensor[[K, N], T.float16]
    C = T.empty((M, N), T.float16)
    with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=128) as (bx, by):
        As = T.alloc_shared((bm, 32), T.float16)
        Bs = T.alloc_shared((32, bn), T.float16)
        acc = T.alloc_fragment((bm, bn), T.float32)
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            T.copy(A[by * bm, k * 32], As)
            T.copy(B[k * 32, bx * bn], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * bm, bx * bn])
    return C


def test_an_eager_gemm_is_tuned_for_extents():
    function = tilec.autotune(configs={"bm": [64, 128], "bn": [64, 128]}, ref_prog=reference, **QUICK)(matmul)
    a, b = (np.random.standard_normal((512, 512)).astype(np.float16) for _ in range(2))
    kernel = function.compile(M=512, N=512, K=512)
    assert function.tune(M=512, N=512, K=512).checked
    np.testing.assert_allclose(kernel(a, b), reference(a, b), rtol=1e-2, atol=1e-1)
    with tilec.set_autotune_inputs(a, b):
        kernel = function.compile(M=T.dynamic("m"), N=512, K=512)
    for m in (512, 100):
        np.testing.assert_allclose(kernel(a[:m], b), reference(a[:m], b), rtol=1e-2, atol=1e-1)


def test_tuned_kernels_run_where_nothing_may_be_compiled():
    tune(GOOD)
    tilec.cache.clear(kernels=False, tuning=False)
    a, b = (np.random.standard_normal((512, 512)).astype(np.float16) for _ in range(2))
    with tilec.never_compile():
        result = tune(GOOD)
        assert result.from_cache
        assert result.kernel.cached
        np.testing.assert_allclose(result.kernel(a, b), reference(a, b), rtol=1e-2, atol=1e-1)
        with pytest.raises(tilec.errors.NotCachedError, match="the program differs"):
            tilec.compile(gemm(512, 512, 256), -1, target="cuda")
