"""Products of `float64`; the tests run them in the simulator, and those of `test/integration` on a GPU."""

import itertools

import numpy as np

import tilec.language as T


def product(shape, tile, threads, turned_a, turned_b, from_registers=False):
    """A product whose operands may lie with the columns along their rows, and of which A may be a fragment."""
    (m, n, k), (rows, columns, depth) = shape, tile
    a_tile = (depth, rows) if turned_a else (rows, depth)
    b_tile = (columns, depth) if turned_b else (depth, columns)

    @T.prim_func
    def multiply(
        A: T.Tensor((k, m) if turned_a else (m, k), "float64"),
        B: T.Tensor((n, k) if turned_b else (k, n), "float64"),
        C: T.Tensor((m, n), "float64"),
    ):
        with T.Kernel(T.ceildiv(n, columns), T.ceildiv(m, rows), threads=threads) as (bx, by):
            a, b = T.alloc_shared(a_tile, "float64"), T.alloc_shared(b_tile, "float64")
            held = T.alloc_fragment(a_tile, "float64")
            c = T.alloc_fragment((rows, columns), "float64")
            T.clear(c)
            for i in T.Pipelined(T.ceildiv(k, depth), num_stages=2):
                T.copy(A[i * depth, by * rows] if turned_a else A[by * rows, i * depth], a)
                T.copy(B[bx * columns, i * depth] if turned_b else B[i * depth, bx * columns], b)
                if from_registers:
                    T.copy(a, held)
                T.gemm(held if from_registers else a, b, c, transpose_A=turned_a, transpose_B=turned_b)
            T.copy(c, C[by * rows, bx * columns])

    return multiply


SIZES = {
    "square": ((64, 64, 32), (32, 32, 16), 128),
    "ragged": ((48, 40, 20), (16, 8, 4), 32),
    "three_warps": ((64, 48, 24), (64, 48, 8), 96),
    "copies": ((16, 16, 8), (16, 8, 8), 128),
}
CASES = {
    f"{name}{'_at' * a}{'_bt' * b}{'_registers' * r}": (*size, bool(a), bool(b), bool(r))
    for (name, size), a, b, r in itertools.product(SIZES.items(), (0, 1), (0, 1), (0, 1))
}


def restarted(how, threads=128):
    """A sum that begins anew in the third step, and in the step that the program is given."""

    @T.prim_func
    def multiply(
        A: T.Tensor((64, 96), "float64"),
        B: T.Tensor((96, 64), "float64"),
        step: T.int32,
        C: T.Tensor((64, 64), "float64"),
    ):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((64, 16), "float64"), T.alloc_shared((16, 64), "float64")
            c = T.alloc_fragment((64, 64), "float64")
            T.clear(c)
            for k in T.Pipelined(6, num_stages=2):
                T.copy(A[0, k * 16], a)
                T.copy(B[k * 16, 0], b)
                if how == "argument":
                    T.gemm(a, b, c, clear_accum=(k == 2) | (k == step))
                    continue
                if how == "select":
                    for i, j in T.Parallel(64, 64):
                        c[i, j] = T.if_then_else(k == 2, 0.0, c[i, j])
                elif k == 2:
                    T.clear(c)
                if k == step:
                    T.clear(c)
                T.gemm(a, b, c)
            T.copy(c, C)

    return multiply


RESTARTS = ["argument", "select", "branch"]


def check_restart(how, run):
    """The same of a sum that begins anew."""
    generator = np.random.default_rng(0)
    for step in 0, 4, 9:
        A, B = (generator.integers(-8, 8, shape).astype(np.float64) for shape in ((64, 96), (96, 64)))
        first = 16 * (4 if step == 4 else 2)
        found = np.full((64, 64), np.nan)
        run(restarted(how), A, B, step, found)
        np.testing.assert_array_equal(found, A[:, first:] @ B[first:])


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    (m, n, k), _, _, turned_a, turned_b, _ = CASES[name]
    generator = np.random.default_rng(0)
    A, B = generator.standard_normal((m, k)), generator.standard_normal((k, n))
    found = np.zeros((m, n))
    stored = (np.ascontiguousarray(x.T if turned else x) for x, turned in ((A, turned_a), (B, turned_b)))
    run(product(*CASES[name]), *stored, found)
    # Each product and sum is rounded, K times.
    bound = 2 * k * np.finfo(np.float64).eps * (np.abs(A) @ np.abs(B))
    assert (np.abs(found - A @ B) <= bound).all()
