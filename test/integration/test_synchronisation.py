"""Races on a GPU that a missing barrier, wait or fence leaves: many runs of programs whose statements hand data to each
other in shared and in device memory."""

import pytest

import tilec
import tilec.language as T

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

RUNS = 200


@T.prim_func
def transposed(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
    with T.Kernel(1, threads=128):
        S1 = T.alloc_shared((64, 64), "float32")
        S2 = T.alloc_shared((64, 64), "float32")
        T.copy(A, S1)
        for i, j in T.Parallel(64, 64):
            S2[j, i] = S1[i, j]
        T.copy(S2, B)


def test_two_tiles_of_one_parallel_loop():
    kernel = tilec.compile(transposed)
    for _ in range(RUNS):
        a = torch.randn(64, 64, device="cuda")
        b = torch.full_like(a, float("nan"))
        kernel(a, b)
        assert torch.equal(b, a.t())


@T.prim_func
def flipped(X: T.Tensor((4096,), "float32"), A: T.Tensor((4096,), "float32"), B: T.Tensor((4096,), "float32")):
    with T.Kernel(1, threads=1024):
        for i in T.Parallel(4096):
            A[i] = X[i] + 1
        for i in T.Parallel(4096):
            B[i] = A[4095 - i]


def test_device_memory_within_a_block():
    kernel = tilec.compile(flipped)
    for _ in range(RUNS):
        x = torch.randn(4096, device="cuda")
        a, b = torch.zeros_like(x), torch.zeros_like(x)
        kernel(x, a, b)
        assert torch.equal(b, (x + 1).flip(0))


@T.prim_func
def counted(C: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=1024):
        for _ in T.serial(100):
            C[0] = C[0] + 1.0


def test_one_element_that_a_block_adds_to():
    kernel = tilec.compile(counted)
    for _ in range(RUNS):
        c = torch.zeros(1, device="cuda")
        kernel(c)
        assert c.item() == 100


BLOCKS, ROWS, K, COLUMNS, STEPS = 132, 64, 128, 128, 4


@T.prim_func
def operand_after_loop(
    Q: T.Tensor((BLOCKS * ROWS, K), "float16"),
    B: T.Tensor((STEPS * K, COLUMNS), "float16"),
    C: T.Tensor((BLOCKS * ROWS, COLUMNS), "float16"),
):
    with T.Kernel(BLOCKS, threads=256) as bx:
        Qs = T.alloc_shared((ROWS, K), "float16")
        Bs = T.alloc_shared((K, COLUMNS), "float16")
        acc = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.clear(acc)
        T.copy(Q[bx * ROWS, 0], Qs)
        for k in T.Pipelined(STEPS, num_stages=2):
            T.copy(B[k * K, 0], Bs)
            T.gemm(Qs, Bs, acc, policy=T.GemmWarpPolicy.FullCol)
        T.copy(acc, Qs)
        T.copy(Qs, C[bx * ROWS, 0])


def test_operands_of_the_last_gemm_under_way():
    kernel = tilec.compile(operand_after_loop)
    q = torch.randint(-2, 3, (BLOCKS * ROWS, K), device="cuda").half()
    b = torch.randint(-2, 3, (STEPS * K, COLUMNS), device="cuda").half()
    expected = (q.float() @ b.float().view(STEPS, K, COLUMNS).sum(0)).half()
    for _ in range(RUNS):
        c = torch.zeros(BLOCKS * ROWS, COLUMNS, device="cuda", dtype=torch.float16)
        kernel(q, b, c)
        assert torch.equal(c, expected)


@T.prim_func
def read_before_store(
    A: T.Tensor((BLOCKS * 128, 64), "float16"),
    R: T.Tensor((BLOCKS * 128,), "float32"),
    C: T.Tensor((BLOCKS * 128, 64), "float16"),
):
    with T.Kernel(BLOCKS, threads=128) as bx:
        S = T.alloc_shared((128, 64), "float16")
        x = T.alloc_fragment((128, 64), "float32")
        r = T.alloc_fragment((128,), "float32")
        for i, j in T.Parallel(128, 64):
            S[i, j] = A[bx * 128 + i, j] * 2
        for i, j in T.Parallel(128, 64):
            x[i, j] = S[i, j]
        T.reduce_sum(x, r, dim=1)
        T.copy(r, R[bx * 128])
        T.copy(S, C[bx * 128, 0])


def test_a_tile_that_threads_wrote_and_the_copy_engine_stores():
    kernel = tilec.compile(read_before_store)
    for _ in range(RUNS):
        a = torch.randn(BLOCKS * 128, 64, device="cuda").half()
        r, c = torch.zeros(BLOCKS * 128, device="cuda"), torch.zeros_like(a)
        kernel(a, r, c)
        assert torch.equal(c, a * 2)
