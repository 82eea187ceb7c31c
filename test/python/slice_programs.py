"""Products of slices of shared tiles, with what NumPy makes of them: read in place where instructions can begin there.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU. Numbers are small
integers, so that every order of adding them gives the same.
"""

import ml_dtypes
import numpy as np

import tilec.language as T

ACCUMULATORS = {"int8": "int32", "uint8": "int32", "float64": "float64"}
NUMPY = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(NUMPY.get(dtype, dtype))


def box(place, shape):
    return tuple(slice(first, first + extent) for first, extent in zip(place, shape, strict=True))


def product(
    dtype="float16", sizes=(64, 64, 32), places=((0, 0), (0, 0)), beyond=((0, 0), (0, 0)), transposed=(False, True),
    threads=128, other=None,
):  # fmt: skip
    """Returns a case: a product of M x N x K of slices at `places`, whose tiles have `beyond` more behind them."""
    m, n, k = sizes
    flip_a, flip_b = transposed
    shape_a, shape_b = (k, m) if flip_a else (m, k), (n, k) if flip_b else (k, n)
    whole_a, whole_b = (
        tuple(p + s + b for p, s, b in zip(place, shape, more, strict=True))
        for place, shape, more in zip(places, (shape_a, shape_b), beyond, strict=True)
    )
    slice_a, slice_b = box(places[0], shape_a), box(places[1], shape_b)
    other = other or dtype
    result = ACCUMULATORS.get(dtype, "float32")

    @T.prim_func
    def program(A: T.Tensor(whole_a, dtype), B: T.Tensor(whole_b, other), C: T.Tensor((m, n), result)):
        with T.Kernel(1, threads=threads):
            As, Bs = T.alloc_shared(whole_a, dtype), T.alloc_shared(whole_b, other)
            acc = T.alloc_fragment((m, n), result)
            T.copy(A, As)
            T.copy(B, Bs)
            T.clear(acc)
            T.gemm(As[slice_a], Bs[slice_b], acc, transpose_A=flip_a, transpose_B=flip_b)
            T.copy(acc, C)

    a, b = numbers(whole_a, dtype), numbers(whole_b, other, 1)
    left, right = a[slice_a].astype(result), b[slice_b].astype(result)
    return program, (a, b), (left.T if flip_a else left) @ (right.T if flip_b else right)


def attention():
    """Tiles of two stages whose columns are in three parts, one of which has no part in the second product."""

    @T.prim_func
    def program(
        Q: T.Tensor((64, 160), "float16"), V: T.Tensor((4, 32, 160), "float16"), C: T.Tensor((64, 128), "float32")
    ):
        with T.Kernel(1, threads=128):
            Qs, Vs = T.alloc_shared((64, 160), "float16"), T.alloc_shared((2, 32, 160), "float16")
            s, p = T.alloc_fragment((64, 32), "float32"), T.alloc_shared((64, 32), "float16")
            left, right = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            T.copy(Q, Qs)
            T.clear(left)
            T.clear(right)
            for i in T.serial(4):
                stage = i % 2
                T.copy(V[i, :, :], Vs[stage, :, :])
                T.gemm(Qs[:, :64], Vs[stage, :, :64], s, transpose_B=True, clear_accum=True)
                T.gemm(Qs[:, 64:128], Vs[stage, :, 64:128], s, transpose_B=True)
                T.gemm(Qs[:, 128:], Vs[stage, :, 128:], s, transpose_B=True)
                for r, c in T.Parallel(64, 32):
                    p[r, c] = T.min(s[r, c], 3)
                T.gemm(p, Vs[stage, :, :64], left)
                T.gemm(p, Vs[stage, :, 64:128], right)
            T.copy(left, C[:, :64])
            T.copy(right, C[:, 64:])

    q, v = numbers((64, 160), "float16"), numbers((4, 32, 160), "float16", 1)
    wide = v.astype("float32")
    scores = np.minimum(q.astype("float32") @ wide.transpose(0, 2, 1), 3)
    return program, (q, v), (scores @ wide[:, :, :128]).sum(axis=0)


def one_tile():
    """Both factors are slices of one tile, which is filled by parts."""

    @T.prim_func
    def program(A: T.Tensor((64, 128), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            As, acc = T.alloc_shared((64, 192), "float16"), T.alloc_fragment((64, 64), "float32")
            T.copy(A[:, :64], As[:, 64:128])
            T.copy(A[:, 64:], As[:, :64])
            T.gemm(As[:, 0:64], As[:, 64:128], acc, transpose_B=True, clear_accum=True)
            T.gemm(As[:, 32:64], As[:, 96:128], acc, transpose_B=True)
            T.copy(acc, C)

    a = numbers((64, 128), "float16")
    wide = a.astype("float32")
    return program, (a,), wide[:, 64:] @ wide[:, :64].T + wide[:, 96:] @ wide[:, 32:64].T


def pipelined(stages, threads):
    """Slices of tiles that copies fill ahead."""

    @T.prim_func
    def program(
        A: T.Tensor((128, 512), "float16"), B: T.Tensor((512, 128), "float16"), C: T.Tensor((128, 128), "float32")
    ):
        with T.Kernel(1, threads=threads):
            As, Bs = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            T.clear(acc)
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(A[:, k * 64 : (k + 1) * 64], As)
                T.copy(B[k * 64 : (k + 1) * 64, :], Bs)
                T.gemm(As[:, 32:64], Bs[32:64, :], acc)
                T.gemm(As[:, 0:32], Bs[0:32, :], acc)
            T.copy(acc, C)

    a, b = numbers((128, 512), "float16"), numbers((512, 128), "float16", 1)
    return program, (a, b), a.astype("float32") @ b.astype("float32")


IN_PLACE = {
    "k_of_both": product(places=((0, 32), (0, 64)), beyond=((0, 0), (0, 32))),
    "steps_of_a_swizzle": product(sizes=(64, 64, 16), places=((0, 16), (0, 48)), beyond=((0, 32), (0, 0))),
    "rows": product(places=((8, 0), (24, 32)), beyond=((0, 0), (8, 0))),
    "blocks_of_rows": product(sizes=(128, 128, 32), places=((64, 32), (8, 0)), beyond=((8, 0), (8, 32))),
    "panels": product(transposed=(True, False), places=((16, 64), (32, 128)), beyond=((0, 0), (8, 64))),
    "rows_of_panels": product(transposed=(True, False), places=((8, 0), (24, 0)), beyond=((8, 0), (0, 0))),
    "two_groups": product(sizes=(128, 128, 64), places=((0, 64), (0, 64)), threads=256),
    "narrow_swizzle": product(sizes=(64, 32, 16), places=((0, 16), (0, 80)), beyond=((0, 16), (0, 0))),
    "only_a": product(places=((0, 32), (0, 0))),
    "only_b": product(places=((0, 0), (0, 32))),
    "bytes": product("int8", places=((0, 32), (8, 64))),
    "bytes_across": product("int8", sizes=(128, 128, 32), transposed=(True, False), places=((8, 128), (16, 0))),
    "bfloat16": product("bfloat16", places=((0, 64), (0, 32))),
    "float32": product("float32", sizes=(64, 64, 16), places=((0, 8), (16, 24)), beyond=((0, 8), (0, 0))),
    "float32_across": product("float32", transposed=(True, False), places=((8, 32), (0, 32))),
    "float64": product("float64", sizes=(64, 64, 16), places=((0, 4), (0, 8)), beyond=((0, 8), (0, 4))),
    "small_floats": product("float8_e4m3", places=((0, 32), (0, 64)), beyond=((0, 64), (0, 0)), other="float8_e5m2"),
    "few_threads": product(sizes=(16, 8, 16), places=((8, 32), (8, 16)), beyond=((0, 16), (0, 0)), threads=32),
    "part_of_a_warp": product(sizes=(16, 8, 16), places=((8, 32), (8, 16)), beyond=((0, 16), (0, 0)), threads=48),
    "attention": attention(),
    "one_tile": one_tile(),
    "pipelined": pipelined(2, 128),
    "pipelined_by_roles": pipelined(3, 256),
}  # fmt: skip
"""Slices that no copy is made of."""

COPIED = {
    "any_column": product(places=((0, 5), (0, 0)), beyond=((0, 27), (0, 0))),
    "any_row": product(places=((3, 0), (0, 0)), beyond=((5, 0), (0, 0))),
    "half_a_panel": product(sizes=(64, 32, 32), transposed=(False, False), places=((0, 0), (0, 32))),
    "narrow_rows": product(sizes=(64, 64, 32), places=((0, 0), (0, 0)), beyond=((0, 8), (0, 8))),
    "int8_beside_uint8": product("uint8", (16, 8, 32), ((0, 0), (8, 0)), other="int8"),
    "uint8_beside_int8": product("int8", (16, 8, 32), ((8, 32), (0, 0)), ((8, 0), (0, 0)), other="uint8"),
    "slices_of_both_bytes": product("int8", (64, 64, 64), ((8, 32), (3, 5)), ((0, 256), (1, 3)), other="uint8"),
    "bytes_of_both_signs_across": product(
        "uint8", (32, 128, 8), ((0, 8), (16, 128)), transposed=(True, False), other="int8"
    ),
}
CASES = IN_PLACE | COPIED
