"""B = A.T: a tile is read along the rows of A, and written along those of B, by way of registers and shared memory."""

from cases import Case, check, normal

import tilec.language as T


def transpose(m: int, n: int, dtype: str, block: int = 64, threads: int = 256):
    @T.prim_func
    def exchange(A: T.Tensor((m, n), dtype), B: T.Tensor((n, m), dtype)):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=threads) as (bx, by):
            rows = T.alloc_shared((block, block), dtype)
            columns = T.alloc_shared((block, block), dtype)
            T.copy(A[by * block, bx * block], rows)
            T.transpose(rows, columns)
            T.copy(columns, B[bx * block, by * block])

    return exchange


def case(m, n, dtype):
    size = 4 if dtype == "float32" else 2
    return Case(
        name=f"transpose {m}x{n} {dtype}",
        programs=[lambda: transpose(m, n, dtype)],
        inputs=lambda random: [normal(random, (m, n), dtype)],
        outputs=[((n, m), dtype)],
        reference=lambda a: a.T,
        peers={"torch": lambda a: a.t().contiguous()},
        bytes=2 * m * n * size,
        rtol=0,
        atol=0,
    )


CHECKED = [case(130, 72, "bfloat16"), case(77, 99, "float32")]
CASES = [case(8192, 8192, "bfloat16"), case(16384, 4096, "bfloat16"), case(8192, 8192, "float32")]

if __name__ == "__main__":
    check(CHECKED)
