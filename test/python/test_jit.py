"""`tilec.compile` and `@tilec.jit`: kernels, results, modes, targets."""

import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    LaunchError,
    RankError,
    ShapeError,
    TargetError,
    TLError,
    TLSyntaxError,
)
from tilec.jit import JITFunction


@T.prim_func
def scale(A: T.Tensor(("n",), "float32"), B: T.Tensor(("n",), "float32"), factor: T.float32):
    with T.Kernel(T.ceildiv(T.dynamic("n"), 64)) as b:
        for i in T.Parallel(64):
            B[b * 64 + i] = A[b * 64 + i] * factor


def test_kernel():
    kernel = tilec.compile(scale, target="cpu")
    a = np.arange(100, dtype=np.float32)
    b = np.full_like(a, np.nan)
    assert kernel(a, b, 3) is None
    np.testing.assert_array_equal(b, 3 * a)
    kernel(factor=0.5, B=b, A=a)
    np.testing.assert_array_equal(b, a / 2)


def test_results_are_allocated():
    kernel = tilec.compile(scale, target="cpu", out_idx=[-2])
    a = np.arange(70, dtype=np.float32)
    result = kernel(a, 2.0)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, 2 * a)

    array = tilec.Array.from_numpy(a, T.float32)
    result = kernel(array, 2.0)
    assert isinstance(result, tilec.Array)
    assert result.shape == (70,)
    np.testing.assert_array_equal(np.from_dlpack(result), 2 * a)
    np.testing.assert_array_equal(np.asarray(result), 2 * a)
    np.testing.assert_array_equal(result.numpy(), 2 * a)


@pytest.mark.parametrize("out_idx", [3, -4, [1, 1], [1, -2], 2])
def test_wrong_out_idx(out_idx):
    with pytest.raises(ArgumentError, match="`out_idx`"):
        tilec.compile(scale, out_idx, target="cpu")


def test_a_result_of_unknown_shape():
    kernel = tilec.compile(scale, target="cpu", out_idx=[0, 1])
    with pytest.raises(ShapeError, match="`n` of the result `A` does not follow"):
        kernel(1.0)


def test_sources():
    kernel = tilec.compile(scale, target="cpu")
    assert "scale_kernel" in kernel.get_kernel_source()
    assert "tl.kernel" in kernel.get_mlir()
    assert __file__ in kernel.get_mlir(locations=True)
    with pytest.raises(TargetError, match=r"has no `kernel\.ptx` for cpu; it has"):
        kernel.get_ptx()
    with pytest.raises(TargetError, match="has no cubin"):
        kernel.get_sass()


def test_ptx_without_a_gpu():
    kernel = tilec.compile(scale, target="sm_90a", assembler="none")
    assert ".target sm_90a" in kernel.get_ptx()
    assert kernel.get_kernel_source() == kernel.get_ptx()


def test_a_kernel_for_a_gpu_refuses_to_run_without_one():
    from tilec import targets

    if targets.gpu_chip() is not None:
        pytest.skip("there is a GPU here")
    kernel = tilec.compile(scale, target="sm_90a", assembler="none")
    a = np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match="compiled for sm_90a and cannot run here"):
        kernel(a, a, 1.0)


def test_compile_errors_show_the_program():
    @T.prim_func
    def wrong(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                S = T.alloc_shared((64,), "float32")  # by every iteration
                S[i] = A[i, 0]

    with pytest.raises(CompileError) as caught:
        tilec.compile(wrong, target="cpu")
    text = str(caught.value)
    assert "`wrong` cannot be compiled" in text
    assert f"{__file__}:" in text
    assert 'S = T.alloc_shared((64,), "float32")' in text
    assert "^" in text
    assert "error" in [d.severity for d in caught.value.diagnostics]


def test_only_functions_are_compiled():
    with pytest.raises(ArgumentError, match="takes a `@T.prim_func`"):
        tilec.compile(3)
    with pytest.raises(ArgumentError, match=r"call `tilec\.compile\(scale\)` first"):
        scale(1)
    with pytest.raises(ArgumentError, match="has 0 functions"):
        tilec.compile(T.Module())


def test_one_kernel_for_many_threads(cache_on):
    @T.prim_func
    def fill(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                A[i] = 11.0

    kernels = []
    threads = [threading.Thread(target=lambda: kernels.append(tilec.compile(fill, target="cpu"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kernels) == 8
    assert len({id(k) for k in kernels}) == 1


def test_kernels_travel_to_other_processes(cache_on):
    import multiprocessing
    import pickle

    kernel = tilec.compile(scale, target="cpu", fast_math=True)
    assert pickle.loads(pickle.dumps(kernel)) is kernel, "this process has it"
    a = np.random.rand(5).astype(np.float32)
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            result, cached = pool.apply(_call_elsewhere, (kernel, a))
        np.testing.assert_array_equal(result, a * np.float32(3))
        assert cached or method == "fork", "what one process compiled another finds"


def _call_elsewhere(kernel, a):
    b = np.zeros_like(a)
    kernel(a, b, 3.0)
    return b, kernel.cached


def test_resources():
    kernel = tilec.compile(scale, target="sm_90a")
    usage = kernel.resource_usage[kernel.compile_info["kernels"][0]["name"]]
    assert kernel.n_regs == usage.registers > 0
    assert kernel.n_spills == 0
    assert usage.occupancy == usage.blocks * -(-usage.threads // 32) / 64
    assert "registers" in repr(usage)
    with pytest.raises(TargetError, match="without an assembler"):
        tilec.compile(scale, target="sm_90a", assembler="none").n_regs


@pytest.mark.parametrize(
    ("target", "registers", "shared", "threads", "blocks", "limit"),
    [
        ("sm_90a", 32, 0, 128, 16, "registers and threads"),
        ("sm_90a", 168, 0, 384, 1, "registers"),
        ("sm_90a", 255, 0, 32, 8, "registers"),
        ("sm_90a", 32, 232448 - 1024, 128, 1, "shared memory"),
        ("sm_90", 40, 100 * 1024, 128, 2, "shared memory"),
        ("sm_90", 16, 0, 32, 32, "blocks"),
        ("sm_86", 32, 0, 64, 16, "blocks"),
        ("sm_80", 24, 0, 1024, 2, "registers and threads"),
    ],
)
def test_occupancy(target, registers, shared, threads, blocks, limit):
    from tilec.resources import ResourceUsage

    resources = {"registers": registers, "stack": 0, "spill_loads": 0, "spill_stores": 0}
    usage = ResourceUsage(target, {"name": "k", "shared": shared, "block": [threads, 1, 1], "resources": resources})
    assert usage.blocks == blocks
    assert usage.limited_by == limit
    assert f"limited by {limit}" in repr(usage)


def test_resources_that_are_not_all_there():
    """An entry of the cache may have any."""
    from tilec.resources import ResourceUsage

    with pytest.raises(TargetError, match="nothing is known of the registers of `k`"):
        ResourceUsage("sm_90a", {"name": "k", "shared": 0, "block": [1, 1, 1], "resources": {"registers": 1}})


def test_exported_code(tmp_path):
    from tilec.toolkit import find_tool

    kernel = tilec.compile(scale, target="sm_90a")
    kernel.export_ptx(tmp_path / "k.ptx")
    assert (tmp_path / "k.ptx").read_text() == kernel.get_ptx()
    if find_tool("nvdisasm") is None and find_tool("cuobjdump") is None:
        pytest.skip("there is no disassembler here")
    kernel.export_sass(tmp_path / "k.sass")
    assert "EXIT" in (tmp_path / "k.sass").read_text()


# Lazy functions.


@tilec.jit(target="cpu", out_idx=-1)
def lazy(n: int, factor: float = 2.0):
    @T.prim_func
    def multiply(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * factor

    return multiply


def test_lazy():
    assert not lazy.is_eager
    kernel = lazy(8)
    assert isinstance(kernel, tilec.Kernel)
    np.testing.assert_array_equal(kernel(np.ones(8, np.float32)), np.full(8, 2.0))
    assert lazy(8) is kernel
    assert lazy(n=8, factor=2.0) is kernel
    other = lazy(8, factor=3.0)
    assert other is not kernel
    np.testing.assert_array_equal(other(np.ones(8, np.float32)), np.full(8, 3.0))


def test_lazy_mistakes():
    @tilec.jit
    def nothing():
        return None

    with pytest.raises(ArgumentError, match="must return a `@T.prim_func`"):
        nothing()
    with pytest.raises(ArgumentError, match="missing a required argument: 'n'"):
        lazy()
    with pytest.raises(ArgumentError, match="multiple values for argument 'n'"):
        lazy(3, n=4)
    with pytest.raises(ArgumentError, match="too many positional arguments"):
        lazy(3, 2.0, 4)
    with pytest.raises(ArgumentError, match="missing a required argument: 'n'"):
        lazy(m=4)
    with pytest.raises(ArgumentError, match="unexpected keyword argument 'm'"):
        lazy(3, m=4)


def test_arguments_of_every_kind():
    seen = []

    @tilec.jit(target="cpu")
    def variadic(*sizes, value=1.0, **more):
        seen.append((sizes, value, more))

        @T.prim_func
        def fill(A: T.Tensor((sum(sizes),), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(sum(sizes)):
                    A[i] = value

        return fill

    assert variadic(2, 3) is variadic(2, 3, value=1.0)
    variadic(2, 3, more=1)
    assert seen == [((2, 3), 1.0, {}), ((2, 3), 1.0, {"more": 1})]


# Eager functions.


@tilec.jit(target="cpu")
def eager(A, B, block: int = 32):
    M, N = T.const("M, N")
    A: T.Tensor[[M, N], T.float32]
    B: T.Tensor[[N], T.float32]
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, block)) as b:
        for i, j in T.Parallel(block, N):
            C[b * block + i, j] = A[b * block + i, j] + B[j]
    return C


def test_eager():
    assert eager.is_eager
    for m, n in [(40, 8), (40, 8), (7, 16)]:
        a, b = np.random.rand(m, n).astype(np.float32), np.random.rand(n).astype(np.float32)
        np.testing.assert_array_equal(eager(a, b), a + b)
    assert len(eager._kernels) == 2
    np.testing.assert_array_equal(eager(a, b, block=4), a + b)
    assert len(eager._kernels) == 3


def test_functions_travel_by_their_names():
    assert pickle.loads(pickle.dumps(eager)) is eager

    @tilec.jit
    def local(A):
        with T.Kernel(1):
            A[0] = 1.0

    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(local)


def test_parameters_of_an_eager_function_keep_their_order():
    @tilec.jit(target="cpu")
    def add(A, bias: T.float32, B):
        A: T.Tensor[[8], T.float32]
        C = T.empty((8,), T.float32)
        B: T.Tensor[[8], T.float32]
        with T.Kernel(1):
            for i in T.Parallel(8):
                C[i] = A[i] + B[i] + bias
        return C

    a, b = np.random.rand(2, 8).astype(np.float32)
    kernel = add.compile(a, 0.0, b)
    assert kernel.argument_names == ("A", "bias", "B")
    np.testing.assert_array_equal(kernel(a, 2.0, b), a + b + 2)
    np.testing.assert_array_equal(add(a, 3.0, b), a + b + 3)


def test_eager_annotations_in_the_signature(cache_on):
    m = T.dynamic("m")

    @tilec.jit(target="cpu")
    def twice(A: T.Tensor((m,), "float32"), times: T.int32, B: T.Tensor((m,), "float32")):
        with T.Kernel(T.ceildiv(m, 16)) as b:
            for i in T.Parallel(16):
                B[b * 16 + i] = A[b * 16 + i] * times

    kernels = set()
    for n in (5, 50):
        a, b = np.ones(n, np.float32), np.zeros(n, np.float32)
        assert twice(a, n, b) is None
        np.testing.assert_array_equal(b, n)
        kernels.add(twice.compile(a, n, b))
    assert len(kernels) == 1, "an extent that is dynamic needs no second kernel"


def test_eager_keeps_what_is_dynamic(monkeypatch):
    traced = []
    trace = JITFunction._trace
    monkeypatch.setattr(JITFunction, "_trace", lambda *given: (traced.append(1), trace(*given))[1])

    @tilec.jit(target="cpu")
    def copy(A, B, scale: T.float32):
        n = T.dynamic("n")
        M = T.const("M")
        A: T.Tensor[[n, M], T.float32]
        B: T.Tensor[[n, M], T.float32]
        with T.Kernel(n) as b:
            for i in T.Parallel(M):
                B[b, i] = A[b, i] * scale

    for shape in [(3, 8), (5, 8), (5, 4)]:
        a, b = np.random.rand(*shape).astype(np.float32), np.empty(shape, np.float32)
        for scale in (2.0, 3.0):
            copy(a, b, scale)
            np.testing.assert_array_equal(b, a * np.float32(scale))
    assert len(traced) == 2, "one for each `M`: neither `n` nor `scale` needs a kernel of its own"


def test_eager_reading_a_shape_specialises_on_it():
    @tilec.jit(target="cpu")
    def fill(A):
        n = A.shape[0]
        A: T.Tensor[[T.dynamic("n")], T.float32]
        with T.Kernel(n) as b:
            A[b] = float(n)

    for n in (3, 5):
        a = np.zeros(n, np.float32)
        fill(a)
        np.testing.assert_array_equal(a, n)


def test_eager_strides_and_alignment():
    @tilec.jit(target="cpu")
    def twice(A):
        N, S = T.const("N, S")
        A: T.StridedTensor[[N], [S], T.float32]
        B = T.empty((N,), T.float32)
        with T.Kernel(1):
            for i in T.Parallel(N):
                B[i] = A[i] * 2.0
        return B

    base = np.random.rand(64).astype(np.float32)
    for view in (base, base[::2], base[1::3], base[1:]):
        np.testing.assert_array_equal(twice(view), view * 2)
    assert len(twice._kernels) == 4


M, S = T.const("M, S")


@tilec.jit(target="cpu")
def shared_constants(A: T.StridedTensor((M,), (S,), "float32")):
    B = T.empty((M,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(M):
            B[i] = A[i] + 1.0
    return B


@tilec.jit(target="cpu")
def more_shared_constants(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
    with T.Kernel(T.ceildiv(M, 8)) as b:
        for i in T.Parallel(8):
            B[b * 8 + i] = A[b * 8 + i] + 1.0


def test_constants_outside_of_the_function_are_those_of_each_call():
    base = np.random.rand(64).astype(np.float32)
    for view in (base[:8], base[:16], base[:16:2], base[:8]):
        np.testing.assert_array_equal(shared_constants(view), view + 1)


def test_constants_that_two_functions_share_are_not_mixed_up_by_threads():
    failures = []

    def call(number):
        for n in range(number + 1, 60, 4):
            a, b = np.random.rand(n).astype(np.float32), np.zeros(n, np.float32)
            more_shared_constants(a, b)
            if not np.array_equal(b, a + 1) or not np.array_equal(shared_constants(a), a + 1):
                failures.append(n)

    in_threads(call, 4)
    assert not failures


def in_threads(body, count):
    """Calls a function with 0 … count - 1 at once, and raises what it raised."""
    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(body, i) for i in range(count)]:
            future.result(timeout=300)


# Compiling without tensors.


@tilec.jit(target="cpu")
def matmul(A, B, block: int = 16):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], T.float32]
    B: T.Tensor[[K, N], T.float32]
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(M, block), N) as (b, j):
        acc = T.alloc_fragment((block,), "float32")
        T.clear(acc)
        for k in range(K):
            for i in T.Parallel(block):
                acc[i] = acc[i] + A[b * block + i, k] * B[k, j]
        for i in T.Parallel(block):
            C[b * block + i, j] = acc[i]
    return C


def test_an_eager_function_is_compiled_for_extents():
    kernel = matmul.compile(M=24, N=6, K=5)
    a, b = np.random.rand(24, 5).astype(np.float32), np.random.rand(5, 6).astype(np.float32)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
    assert matmul.compile(K=5, M=24, N=6) is kernel
    with pytest.raises(ShapeError, match="dimension 0 of `A` is 25, expected 24"):
        kernel(np.zeros((25, 5), np.float32), b)
    other = matmul.compile(M=24, N=6, K=5, block=8)
    assert other is not kernel
    np.testing.assert_allclose(other(a, b), a @ b, rtol=1e-5)


def test_an_eager_function_is_compiled_for_symbols():
    kernel = matmul.compile(M=T.dynamic("m"), N=6, K=T.dynamic("k"))
    for m, k in ((24, 5), (3, 9)):
        a, b = np.random.rand(m, k).astype(np.float32), np.random.rand(k, 6).astype(np.float32)
        np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
    assert matmul.compile(M=T.dynamic("m"), N=6, K=T.dynamic("k")) is kernel
    assert more_shared_constants.compile(M=T.dynamic("m")).function.parameters[0].type.shape[0].name == "m"


def test_an_eager_function_is_compiled_for_types():
    kernel = matmul.compile(T.Tensor((24, 5)), B=T.Tensor[[5, 6], T.float32])
    a, b = np.random.rand(24, 5).astype(np.float32), np.random.rand(5, 6).astype(np.float32)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
    assert matmul.compile(a, T.Tensor((5, 6), "float32", align=16)).function.parameters[0].type.shape == (24, 5)
    with pytest.raises(ShapeError, match="dimension 0 of `B` is 7, and `K` is 5 by another tensor"):
        matmul.compile(a, T.Tensor((7, 6)))
    with pytest.raises(DTypeError, match="`B` is of `float16`, and its annotation says `float32`"):
        matmul.compile(a, T.Tensor((5, 6), "float16"))
    with pytest.raises(ArgumentError, match="`A` is described by a type with symbols: give the numbers, or compile"):
        matmul.compile(T.Tensor((T.dynamic("m"), 5)), b)

    @tilec.jit(target="cpu")
    def first_of_rows(A, C):
        M, step = T.const("M, step")
        A: T.StridedTensor[[M, 4], [step, 1], T.int32]
        C: T.Tensor[[M], T.int32]
        with T.Kernel(1, threads=32):
            for i in T.Parallel(M):
                C[i] = A[i, 0]

    a, c = np.arange(3 * 8, dtype=np.int32).reshape(3, 8)[:, :4], np.zeros(3, np.int32)
    first_of_rows.compile(T.StridedTensor((3, 4), (8, 1), "int32"), T.Tensor((3,), "int32"))(a, c)
    assert c.tolist() == [0, 8, 16]


def test_an_eager_function_takes_pointers():
    @tilec.jit(target="cpu")
    def twice(a: T.ptr, b: T.ptr(T.float32), n: int, dtype: T.dtype, block: int = 32):
        A = T.make_tensor(a, (n, block), dtype)
        B = T.make_tensor(b, (n, block), "float32")
        with T.Kernel(n, threads=32) as i:
            for j in T.Parallel(block):
                B[i, j] = A[i, j] * 2

    for dtype in ("float32", "int32", "float32"):
        x, y = np.arange(64, dtype=dtype).reshape(2, 32), np.zeros((2, 32), np.float32)
        twice(x, y, 2, dtype)
        np.testing.assert_array_equal(y, 2 * x)
    for kernel in (twice.compile(T.ptr(), T.ptr, 2, "float32"), *twice.par_compile([{"n": 2, "dtype": T.float32}])):
        y[:] = 0
        kernel(x, y)
        np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(ShapeError, match="dimension 0 of `a` is 2, expected 3"):
        twice(x, y, 3, "float32")

    @tilec.jit(target="cpu")
    def forgets(a: T.ptr):
        with T.Kernel(1, threads=32):
            T.sync_threads()

    with pytest.raises(TLSyntaxError, match="`a` of `forgets` is a pointer of which no tensor is made: write `T.make"):
        forgets(x)


def test_extents_that_are_one_symbol_are_equal():
    @T.macro
    def copied(A, B):
        assert A.shape[0] == B.shape[0], "they differ"
        assert A.shape[0] <= B.shape[0]
        assert (A.shape[0] != B.shape[0]) is False
        with T.Kernel(T.ceildiv(A.shape[0], 32), threads=32) as b:
            T.copy(A[b * 32 : (b + 1) * 32], B[b * 32 : (b + 1) * 32])

    @tilec.jit(target="cpu")
    def copy(A, B):
        n = T.dynamic("n")
        A: T.Tensor[[n], T.float32]
        B: T.Tensor[[n], T.float32]
        copied(A, B)

    x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    copy(x, y)
    np.testing.assert_array_equal(x, y)


def test_extents_that_make_no_sense():
    with pytest.raises(
        ArgumentError, match=r"extent `K` of `A` is unknown: give it, as in `matmul\.compile\(K=1024\)`"
    ):
        matmul.compile(M=3, N=4)
    with pytest.raises(ArgumentError, match=r"has no parameter and no `T\.const` that is called `Q`"):
        matmul.compile(M=3, N=4, K=5, Q=6)
    with pytest.raises(ShapeError, match="`M` must not be negative"):
        matmul.compile(M=-3, N=4, K=5)
    with pytest.raises(ArgumentError, match="unexpected keyword argument 'M'"):
        matmul.compile(np.zeros((3, 4), np.float32), np.zeros((4, 5), np.float32), M=3)

    @tilec.jit(target="cpu")
    def reads_a_shape(A):
        A: T.Tensor[[A.shape[0]], T.float32]
        with T.Kernel(1):
            A[0] = 1.0

    with pytest.raises(
        ShapeError, match="the shape of `A` is read, and there is no tensor: compile `reads_a_shape` for"
    ):
        reads_a_shape.compile()

    @tilec.jit(target="cpu")
    def counts(A):
        M = T.const("M")
        A: T.Tensor[[M], T.float32]
        with T.Kernel(1):
            for i in range(3, int(M)):
                A[i] = 1.0

    with pytest.raises(ShapeError, match="a number is needed here, and `M` is known only when the kernel is called"):
        counts.compile(M=T.dynamic("m"))


def test_symbols_of_one_name_are_one_argument():
    @tilec.jit(target="cpu")
    def fill(n):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32")):
            with T.Kernel(n) as b:
                A[b] = 1.0

        return kernel

    kernel = fill(T.dynamic("n"))
    assert fill(T.dynamic("n")) is kernel
    assert fill(T.dynamic("m")) is not kernel
    for n in (3, 5):
        a = np.zeros(n, np.float32)
        kernel(a)
        np.testing.assert_array_equal(a, 1)


# Threads, processes.


def test_many_threads_and_kernels(own_cache, monkeypatch):
    """However many ask at once, and in whatever way, a kernel is compiled once and all get the same."""
    compiled = []
    module = sys.modules["tilec.jit"]
    compile_one = module.compile

    def note(function, *args, **options):
        compiled.append(function.name)
        return compile_one(function, *args, **options)

    monkeypatch.setattr(module, "compile", note)

    @tilec.jit(target="cpu", out_idx=-1)
    def add(n: int):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = A[i] + n

        return kernel

    count = int(os.environ.get("TL_TEST_THREADS", "16"))
    sizes = range(1, 9)
    kernels = [{} for _ in range(count)]

    def ask(number):
        for n in sorted(sizes, key=lambda n: (n * 7 + number) % 11):
            kernel = add.compile_async(n).result(timeout=300) if (n + number) % 2 else add(n)
            kernels[number][n] = kernel
            a = np.random.rand(n).astype(np.float32)
            np.testing.assert_array_equal(kernel(a), a + np.float32(n))

    in_threads(ask, count)
    assert len(compiled) == len(sizes)
    for n in sizes:
        assert len({id(found[n]) for found in kernels}) == 1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_lacks():
    from tilec.once import OnceTable

    table = OnceTable()
    started, go_on = threading.Event(), threading.Event()

    def make():
        started.set()
        go_on.wait(60)
        return "the parent's"

    thread = threading.Thread(target=lambda: table.get("key", make))
    thread.start()
    started.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if table.get("key", lambda: "the child's") == "the child's" else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join()
    assert status == 0
    assert table.get("key", make) == "the parent's"


def test_a_fork_within_keeps_what_its_thread_holds():
    from tilec.once import Lock

    lock = Lock()
    with lock:
        child = os.fork()
        if child == 0:
            with lock:
                pass
    if child == 0:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0


def test_constants_of_a_dynamic_choice_are_not_mixed_up():
    @tilec.jit(target="cpu")
    def fill(A, B):
        M = T.const("M")
        A: T.Tensor[[M], T.float32]
        N = T.const("N") if M.value == 3 else T.dynamic("n")
        B: T.Tensor[[N], T.float32]
        with T.Kernel(N) as b:
            B[b] = 1.0 if M.value == 3 else 2.0

    for m, n in [(3, 4), (2, 4), (3, 5), (2, 5), (3, 4)]:
        b = np.zeros(n, np.float32)
        fill(np.zeros(m, np.float32), b)
        np.testing.assert_array_equal(b, 1 if m == 3 else 2)


def test_threads_compile_at_the_same_time():
    meeting = threading.Barrier(2, timeout=20)
    made = []

    @tilec.jit(target="cpu")
    def build(n: int):
        @T.prim_func
        def fill(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    A[i] = 1.0

        return fill

    module = sys.modules["tilec.jit"]
    compile_one = module.compile

    def meet(*args, **options):
        meeting.wait()  # passes when both are here
        return compile_one(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "compile", meet)
        threads = [threading.Thread(target=lambda n=n: made.append(build(n))) for n in (8, 16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) == 2


def test_par_compile():
    kernels = lazy.par_compile([{"n": 4}, (6, 3.0), {"n": 4}])
    assert kernels[0] is kernels[2]
    np.testing.assert_array_equal(kernels[1](np.ones(6, np.float32)), np.full(6, 3.0))
    assert tilec.par_compile([]) == []
    good, bad = tilec.par_compile([scale, 3], target="cpu", ignore_error=True)
    assert bad is None
    assert good.name == "scale"
    with pytest.raises(ArgumentError, match="takes a `@T.prim_func`"):
        tilec.par_compile([scale, 3], target="cpu")


def test_asynchronous_compilation():
    future = tilec.compile_async(scale, target="cpu")
    assert future.result(timeout=60).name == "scale"
    assert lazy.compile_async(8).result(timeout=60) is lazy(8)
    with pytest.raises(ArgumentError, match="takes a `@T.prim_func`"):
        tilec.compile_async(3).result(timeout=60)


def test_the_documentation(python, own_cache):
    """All blocks of docs/JIT.md, as one program."""
    text = (Path(__file__).parents[2] / "docs" / "JIT.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) > 5
    printed = python("\n".join(blocks), TL_TARGET="cpu")
    quoted = text.split("    print(error)\n```\n\n")[1].split("\n\n")[0]
    for line in printed.splitlines()[:3]:
        words = line.split(": ", 1)[-1]  # what comes after the place
        assert words.strip() in quoted


def test_eager_mistakes():
    a, b = np.zeros((4, 8), np.float32), np.zeros(8, np.float32)
    with pytest.raises(ShapeError, match="dimension 0 of `B` is 3, and `N` is 8"):
        eager(a, np.zeros(3, np.float32))
    with pytest.raises(DTypeError, match="`A` is of `float64`"):
        eager(a.astype(np.float64), b)
    with pytest.raises(RankError, match="`A` has 1 dimension, and its annotation 2"):
        eager(b, b)
    with pytest.raises(TLError, match="`out_idx` is for functions that return"):
        tilec.jit(out_idx=0)(eager.__wrapped__)

    @tilec.jit(target="cpu")
    def forgotten(A):
        with T.Kernel(1):
            A[0] = 1.0

    with pytest.raises(TLError, match="annotate `A` before it is used"):
        forgotten(a)


def test_constants_are_known_before_the_annotation_that_names_them():
    @tilec.jit(target="cpu")
    def first_half(A, parts):
        M, K = T.const("M, K")
        half = K // parts
        A: T.Tensor[[M, K], T.float32]
        B = T.empty((M, half), T.float32)
        with T.Kernel(M, threads=32) as bx:
            for i in T.Parallel(half):
                B[bx, i] = A[bx, i]
        return B

    for width in (8, 16):
        a = np.random.default_rng(0).standard_normal((4, width)).astype(np.float32)
        np.testing.assert_array_equal(first_half(a, 2), a[:, : width // 2])


def test_the_kernel_of_an_eager_function_may_be_in_a_macro():
    @T.macro
    def negated(A):
        M, N = A.shape
        B = T.empty(M, N, dtype=A.dtype)
        with T.Kernel(M, threads=32) as bx:
            for i in T.Parallel(N):
                B[bx, i] = -A[bx, i]
        return B

    @tilec.jit(target="cpu")
    def by_constants(A):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        return negated(A)

    @tilec.jit(target="cpu")
    def by_signature(A: T.Tensor((4, 8), "float32")):
        return negated(A)

    a = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    for function in (by_constants, by_signature):
        assert function.is_eager
        np.testing.assert_array_equal(function(a), -a)


def test_results_have_a_shape_and_a_type():
    def made(*arguments, **options):
        @tilec.jit(target="cpu")
        def zeros():
            A = T.empty(*arguments, **options)
            with T.Kernel(1, threads=32):
                T.fill(A[0:2, 0:3], 0)
            return A

        return np.from_dlpack(zeros())

    for found in (made((2, 3), "int32"), made(2, 3, dtype="int32"), made([2, 3], dtype="int32"), made(2, 3, T.int32)):
        assert (found.shape, found.dtype) == ((2, 3), np.int32)
    assert made(2, 3).dtype == np.float32
    with pytest.raises(TypeError, match="`T.empty` takes a shape and a type, not"):
        made((2, 3), 4, 5)
