"""Products whose operands are loaded a step ahead: the same sums for every number of steps."""

import re

import numpy as np
import pytest

import tilec
import tilec.language as T


def product(dtype, block_K, stages, is_transposed, scaled):
    """C = A @ B, of as many steps of `block_K` as a call says, which may change the sums."""
    sums = "int32" if dtype == "int8" else "float32"
    K = 7 * block_K

    @T.prim_func
    def program(
        A: T.Tensor((64, K), dtype),
        B: T.Tensor((64, K) if is_transposed else (K, 64), dtype),
        C: T.Tensor((64, 64), sums),
        steps: T.int32,
    ):
        with T.Kernel(1, threads=64):
            a = T.alloc_shared((64, block_K), dtype)
            b = T.alloc_shared((64, block_K) if is_transposed else (block_K, 64), dtype)
            c = T.alloc_fragment((64, 64), sums)
            T.clear(c)
            for k in T.Pipelined(steps, num_stages=stages):
                T.copy(A[0, k * block_K], a)
                if is_transposed:
                    T.copy(B[0, k * block_K], b)
                else:
                    T.copy(B[k * block_K, 0], b)
                if scaled:
                    for i, j in T.Parallel(64, 64):
                        c[i, j] = c[i, j] * 2
                T.gemm(a, b, c, transpose_B=is_transposed)
            T.copy(c, C)

    return program


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize(
    ("dtype", "block_K", "is_transposed", "scaled"),
    [
        ("float16", 16, False, False),
        ("float16", 32, False, False),
        ("float16", 64, True, True),
        ("float32", 16, True, False),
        ("int8", 64, True, True),
    ],
)
def test_products_of_any_number_of_steps(dtype, block_K, is_transposed, scaled, stages):
    kernel = tilec.compile(product(dtype, block_K, stages, is_transposed, scaled), target="sm_80", backend="sim")
    random = np.random.default_rng()
    K = 7 * block_K
    A = random.integers(-4, 5, (64, K)).astype(dtype)
    B = random.integers(-4, 5, (64, K) if is_transposed else (K, 64)).astype(dtype)
    for steps in (0, 1, 2, 3, 7):
        C = np.full((64, 64), -77, "int32" if dtype == "int8" else "float32")
        kernel(A, B, C, steps)
        expected = np.zeros((64, 64), "int64")
        for k in range(0, steps * block_K, block_K):
            a = A[:, k : k + block_K].astype("int64")
            b = B[:, k : k + block_K].T if is_transposed else B[k : k + block_K]
            expected = expected * (2 if scaled else 1) + a @ b.astype("int64")
        np.testing.assert_array_equal(C, expected)


def test_a_step_ends_with_the_first_loads_of_the_next_one_and_the_last_products():
    kernel = tilec.compile(product("float16", 32, 3, False, False), target="sm_80", backend="nvptx", assembler="none")
    ops = re.findall(
        r"\b(wait_group|bar|ldmatrix|cp|mma|bra)\b", kernel.get_ptx().replace("cp.async.wait_group", "wait_group")
    )
    assert re.search(r"wait_group bar( ldmatrix)+( mma)+ bra", " ".join(ops))
