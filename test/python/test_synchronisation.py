"""What a statement sees of the ones before it, in shared and in device memory (semantics S3, M5): results on the CPU,
and what orders the same programs on GPUs."""

import re

import numpy as np

import tilec
import tilec.language as T
from synchronisation_programs import flipped, operand_after_loop, transposed


def ptx(function, target="sm_90a"):
    return tilec.compile(function, target=target, assembler="none").get_ptx()


def barriers(function, target="sm_90a"):
    return len(re.findall(r"\bbar(?:rier)?(?:\.cta)?\.sync", ptx(function, target)))


def test_two_tiles_of_one_parallel_loop_have_memory_of_their_own():
    kernel = tilec.compile(transposed, target="sm_90a", assembler="none")
    assert kernel.compile_info["kernels"][0]["shared"] == 2 * 64 * 64 * 4
    a = np.random.rand(64, 64).astype(np.float32)
    b = np.zeros_like(a)
    tilec.compile(transposed, target="cpu")(a, b)
    assert (b == a.T).all()


@T.prim_func
def read_before_gemm(
    A: T.Tensor((128, 64), "float16"),
    B: T.Tensor((64, 128), "float16"),
    R: T.Tensor((128,), "float32"),
    C: T.Tensor((128, 128), "float32"),
):
    with T.Kernel(1, threads=128):
        As = T.alloc_shared((128, 64), "float16")
        Bs = T.alloc_shared((64, 128), "float16")
        x = T.alloc_fragment((128, 64), "float32")
        r = T.alloc_fragment((128,), "float32")
        acc = T.alloc_fragment((128, 128), "float32")
        T.copy(A, As)
        T.copy(B, Bs)
        for i, j in T.Parallel(128, 64):
            x[i, j] = As[i, j]
        T.reduce_sum(x, r, dim=1)
        T.copy(r, R)
        T.clear(acc)
        T.gemm(As, Bs, acc)
        T.copy(acc, C)


def test_operands_that_threads_wrote_are_fenced_across_a_barrier():
    text = ptx(read_before_gemm)
    before = text[: text.index("wgmma.mma_async")]
    assert re.search(r"fence\.proxy\.async.*?bar\.sync", before, re.DOTALL)


@T.prim_func
def read_before_store(
    A: T.Tensor((128, 64), "float16"), R: T.Tensor((128,), "float32"), C: T.Tensor((128, 64), "float16")
):
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((128, 64), "float16")
        x = T.alloc_fragment((128, 64), "float32")
        r = T.alloc_fragment((128,), "float32")
        for i, j in T.Parallel(128, 64):
            S[i, j] = A[i, j] * 2
        T.sync_threads()
        for i, j in T.Parallel(128, 64):
            x[i, j] = S[i, j]
        T.reduce_sum(x, r, dim=1)
        T.copy(r, R)
        T.copy(S, C)


def test_a_tile_that_threads_wrote_is_fenced_across_the_users_barrier():
    text = ptx(read_before_store)
    before = text[: text.index("cp.async.bulk.tensor")]
    assert re.search(r"fence\.proxy\.async.*?bar\.sync", before, re.DOTALL)


@T.prim_func
def guarded_gemm(
    A: T.Tensor((64, 1024), "float16"), B: T.Tensor((1024, 64), "float16"), C: T.Tensor((64, 64), "float32"), n: T.int32
):
    with T.Kernel(1, threads=128):
        As = T.alloc_shared((64, 64), "float16")
        Bs = T.alloc_shared((64, 64), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        for _ in T.serial(2):
            for k in T.Pipelined(16, num_stages=2):
                T.copy(A[0, k * 64], As)
                T.copy(B[k * 64, 0], Bs)
                if k < n:
                    T.gemm(As, Bs, acc)
        T.copy(acc, C)


def test_operands_of_a_gemm_in_a_branch_are_fenced():
    text = ptx(guarded_gemm)
    assert "wgmma.mma_async" in text
    if "cp.async.cg" in text:
        assert "fence.proxy.async" in text[: text.index("wgmma.mma_async")]


def test_the_last_gemm_has_read_its_operands_before_they_are_overwritten():
    text = ptx(operand_after_loop)
    after = text[text.rindex("wgmma.wait_group") :]
    assert "bar.sync" in after[: after.index("stmatrix")]


def test_a_loop_sees_what_the_one_before_wrote_to_device_memory():
    assert barriers(flipped) == 1
    x = np.random.rand(4096).astype(np.float32)
    a, b = np.zeros_like(x), np.zeros_like(x)
    tilec.compile(flipped, target="cpu")(x, a, b)
    assert (b == (x + 1)[::-1]).all()


@T.prim_func
def own_elements(X: T.Tensor((64, 4096), "float32"), Y: T.Tensor((64, 4096), "float32")):
    with T.Kernel(1, threads=128):
        for k in T.serial(64):
            for i in T.Parallel(4096):
                Y[k, i] = X[k, i] + 1
            for i in T.Parallel(4096):
                Y[k, i] = Y[k, i] * 2


def test_threads_that_read_back_what_they_wrote_do_not_wait():
    assert barriers(own_elements) == 0
    x = np.random.rand(64, 4096).astype(np.float32)
    y = np.zeros_like(x)
    tilec.compile(own_elements, target="cpu")(x, y)
    assert np.array_equal(y, (x + 1) * 2)


def test_threads_wait_before_they_read_a_part_of_a_tile_that_others_stored():
    """A lane stores what others hold by `stmatrix`, also to a part that begins at a unit of 16 bytes."""

    @T.prim_func
    def program(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 64), "float16")
            S = T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(A, As)
            T.clear(acc)
            T.gemm(As, As, acc)
            T.copy(acc, S[:, 64:])
            T.copy(S[:, 64:], acc)
            T.copy(acc, C)

    assert "stmatrix" in ptx(program)
    a = np.random.randint(-3, 4, (64, 64)).astype(np.float16)
    c = np.full((64, 64), np.nan, np.float32)
    tilec.compile(program, target="sm_90a", backend="sim")(a, c)
    assert np.array_equal(c, a.astype(np.float32) @ a.astype(np.float32))
