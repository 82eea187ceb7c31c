"""Workspaces of a call: who allocates them, and who never sees them (semantics M9)."""

import pickle

import numpy as np
import pytest

import tilec
import tilec.language as T
from language_programs import workspaces
from tilec import array
from tilec.errors import DTypeError, ShapeError, TLSyntaxError

A = np.arange(192, dtype=np.int32).reshape(3, 64)
EXPECTED = 2 * A[::-1, ::-1] + A.sum(1, keepdims=True, dtype=np.int32)


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_calls_take_the_other_parameters(target, backend):
    kernel = tilec.compile(workspaces, target=target, backend=backend)
    assert kernel.argument_names == ("A", "B")
    assert repr(workspaces).count("T.Tensor") == 2
    for called in (kernel, pickle.loads(pickle.dumps(kernel))):
        for rows in (3, 2):
            b = np.zeros((rows, 64), np.int32)
            assert called(A[:rows], B=b) is None
            np.testing.assert_array_equal(b, 2 * A[:rows][::-1, ::-1] + A[:rows].sum(1, keepdims=True))


@pytest.mark.parametrize("out_idx", [1, -1, [-1]])
def test_results_beside_them(out_idx):
    kernel = tilec.compile(workspaces, out_idx, target="cpu")
    np.testing.assert_array_equal(kernel(A), EXPECTED)
    kernel.get_profiler().assert_allclose(
        lambda a: 2 * a[::-1, ::-1] + a.sum(1, keepdims=True, dtype=np.int32), input_tensors=[A]
    )


def test_one_before_a_result():
    @tilec.jit(target="cpu")
    def reverse(X):
        N = T.const("N")
        X: T.Tensor[[N], T.int32]
        W = T.alloc_global((N,), T.int32)
        Y = T.empty((N,), T.int32)
        with T.Kernel(1):
            T.copy(X, W)
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = W[N - 1 - i]
        return Y

    np.testing.assert_array_equal(reverse(A[0]), A[0, ::-1])


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_extents_may_be_computed(target, backend):
    n = T.dynamic("n")

    @T.prim_func
    def sums(X: T.Tensor((n,), "int32"), Y: T.Tensor((n,), "int32"), more: T.int32):
        parts = T.alloc_global((T.ceildiv(n, 64) + more,), "int32")
        scans = T.alloc_global((n + 1,), "int32")
        with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
            S = T.alloc_shared((64,), "int32")
            T.copy(X[b * 64], S)
            T.cumsum(S)
            parts[b + more] = S[63]
            for i in T.Parallel(64):
                scans[b * 64 + i + 1] = S[i]
                Y[b * 64 + i] = scans[b * 64 + i + 1]
        with T.Kernel(T.ceildiv(n, 64), threads=64) as b:
            before = T.alloc_var("int32", 0)
            for k in T.serial(b):
                before += parts[k + more]
            for i in T.Parallel(64):
                Y[b * 64 + i] += before

    kernel = tilec.compile(sums, target=target, backend=backend)
    for length in (1, 64, 1000):
        x, y = np.arange(length, dtype=np.int32), np.zeros(length, np.int32)
        kernel(x, y, 3)
        np.testing.assert_array_equal(y, np.cumsum(x))


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_a_buffer_in_front_of_the_kernels_is_one(target, backend):
    @T.prim_func
    def f(X: T.Tensor((64,), "int32"), Y: T.Tensor((64,), "int32")):
        W = T.alloc_buffer([2, 64], "int32")
        with T.Kernel(2, threads=32) as b:
            V = T.alloc_buffer((64,), "int32", "global")
            for i in T.Parallel(64):
                W[b, i] = X[i] + b
                if b == 0:
                    V[i] = 3 * X[i]
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                Y[i] = W[0, 63 - i] + W[1, i]

    kernel = tilec.compile(f, target=target, backend=backend)
    assert kernel.argument_names == ("X", "Y")
    y = np.zeros(64, np.int32)
    kernel(A[0], y)
    np.testing.assert_array_equal(y, A[0, ::-1] + A[0] + 1)


@pytest.fixture
def no_type_of_numpy(monkeypatch):
    """As where `ml_dtypes` is not installed: once it is loaded, NumPy knows its types by their names."""

    def numpy_dtype(dtype):
        raise DTypeError(f"NumPy has no `{dtype}`: install `ml_dtypes`, or use another framework")

    monkeypatch.setattr(array, "numpy_dtype", numpy_dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3", "float8_e5m2", "float8_e8m0fnu", "float16", "int4"])
@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_80", "sim"), ("sm_90a", "sim")])
@pytest.mark.usefixtures("no_type_of_numpy")
def test_numpy_needs_no_type_for_them(dtype, target, backend):
    @T.prim_func
    def f(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        W = T.alloc_global((8,), dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                W[i] = X[i]
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                Y[i] = W[7 - i]

    x = np.array([1, 2, 4, 1, 2, 4, 2, 4], np.float32)
    y = np.zeros(8, np.float32)
    tilec.compile(f, target=target, backend=backend)(x, y)
    np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.usefixtures("no_type_of_numpy")
def test_a_result_of_a_type_that_numpy_lacks_is_named():
    @T.prim_func
    def f(X: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "bfloat16")):
        with T.Kernel(1, threads=32):
            T.copy(X, Y)

    kernel = tilec.compile(f, out_idx=-1, target="cpu")
    with pytest.raises(DTypeError, match=r"the result `Y`: NumPy has no `bfloat16`: install `ml_dtypes`, or use anoth"):
        kernel(np.zeros(8, np.float32))


def test_names_that_are_taken():
    @T.prim_func
    def f(workspace0: T.Tensor((64,), "int32")):
        W = T.alloc_global((64,), "int32")
        with T.Kernel(1):
            T.copy(workspace0, W)
        with T.Kernel(1):
            for i in T.Parallel(64):
                workspace0[i] = W[63 - i]

    a = A[0].copy()
    tilec.compile(f, target="cpu")(a)
    np.testing.assert_array_equal(a, A[0, ::-1])


def test_a_tuned_kernel_with_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path))

    @tilec.autotune(configs=[{"threads": 32}, {"threads": 64}], warmup=1, rep=1)
    @tilec.jit(target="cpu")
    def reverse(X, threads=32):
        N = T.const("N")
        X: T.Tensor[[N], T.int32]
        W = T.alloc_global((N,), T.int32)
        Y = T.empty((N,), T.int32)
        with T.Kernel(1, threads=threads):
            T.copy(X, W)
        with T.Kernel(1, threads=threads):
            for i in T.Parallel(N):
                Y[i] = W[N - 1 - i]
        return Y

    np.testing.assert_array_equal(reverse(A[0]), A[0, ::-1])


def test_exported_sources_allocate_them_again(tmp_path):
    tilec.compile(workspaces, target="sm_90a", backend="nvptx").export_sources(tmp_path)
    text = (tmp_path / "workspaces.py").read_text()
    assert '    workspace0 = T.alloc_global((m,), "int32")\n' in text
    assert '    workspace1 = T.alloc_global((m, 64), "int32")\n' in text
    assert text.count(": T.Tensor(") == 2


def test_what_is_refused():
    with pytest.raises(ShapeError, match="the extent `k` of this workspace is unknown: it is no extent of a parameter"):

        @T.prim_func
        def unknown(A: T.Tensor((64,), "int32")):
            T.alloc_global((T.dynamic("k"),), "int32")

    with pytest.raises(ShapeError, match="an extent of `T.alloc_global` is a number, or an extent of a parameter"):

        @T.prim_func
        def computed(A: T.Tensor((T.dynamic("k"),), "int32")):
            with T.Kernel(1):
                T.alloc_global((T.ceildiv(A.shape[0], 2),), "int32")

    with pytest.raises(DTypeError, match="unknown element type `int33`"):

        @T.prim_func
        def of_no_type(A: T.Tensor((64,), "int32")):
            T.alloc_global((64,), "int33")

    with pytest.raises(TLSyntaxError, match="while a function is being built"):
        T.alloc_global((64,), "int32")
