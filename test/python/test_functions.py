"""Functions of floats: their errors, and that none of them becomes a call on a GPU (docs/language/accuracy.md)."""

import math
import re
import warnings

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import RegisterSpillWarning

N = 1 << 18
DENORMAL = 1.1754943508222875e-38

FUNCTIONS = {
    "exp": (T.exp, np.exp),
    "exp2": (T.exp2, np.exp2),
    "log": (T.log, np.log),
    "log2": (T.log2, np.log2),
    "tanh": (T.tanh, np.tanh),
    "erf": (T.erf, np.vectorize(math.erf)),
    "sigmoid": (T.sigmoid, lambda x: np.where(x >= 0, 1, np.exp(-abs(x))) / (1 + np.exp(-abs(x)))),
    "sin": (T.sin, np.sin),
    "cos": (T.cos, np.cos),
    "rsqrt": (T.rsqrt, lambda x: 1 / np.sqrt(x)),
    "sqrt": (T.sqrt, np.sqrt),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x),
}  # fmt: skip


def arguments():
    """Numbers of every size, more of those around one, and special ones."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, N // 4, dtype=np.uint32).view(np.float32)
    tiny = random.integers(0, 1 << 23, N // 8, dtype=np.uint32).view(np.float32)
    spread = [random.uniform(-bound, bound, N // 8).astype(np.float32) for bound in (1.5, 5, 20, 105)]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, DENORMAL, 3.4028235e38, 1, -1], np.float32)
    return np.resize(np.concatenate([special, bits, tiny, *spread]), N)


def ulps(found, exact):
    """Returns errors in units in the last place of the exact result; infinities and NaN must be the same."""
    rounded = exact.astype(np.float32)
    _, exponent = np.frexp(exact)
    error = np.abs(found - exact) / np.ldexp(1.0, np.maximum(exponent - 24, -149))
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(np.isfinite(rounded) & np.isfinite(found), error, np.where(same, 0, np.inf))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_below_two_units(run, name):
    function, exact = FUNCTIONS[name]

    @T.prim_func
    def f(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(N // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Y[b * 1024 + i] = function(X[b * 1024 + i])

    x, y = arguments(), np.zeros(N, np.float32)
    if name in ("sin", "cos"):
        x = np.where(np.abs(x) < 1e5, x, np.float32(1))
    run(f, x, y)
    with np.errstate(all="ignore"):
        error = ulps(y.astype(np.float64), exact(x.astype(np.float64)))
    worst = int(np.argmax(error))
    bound = 0.5 if name in ("sqrt", "reciprocal") else 2
    assert error[worst] <= bound, (x[worst], y[worst])


def test_quotients_are_correctly_rounded(run):
    @T.prim_func
    def f(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32"), Z: T.Tensor((N,), "float32")):
        with T.Kernel(N // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Z[b * 1024 + i] = X[b * 1024 + i] / Y[b * 1024 + i]

    random = np.random.default_rng(1)
    x, z = arguments(), np.zeros(N, np.float32)
    y = random.permutation(arguments())
    run(f, x, y, z)
    with np.errstate(all="ignore"):
        expected = x / y
    np.testing.assert_array_equal(z, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(z[number]), np.signbit(expected[number]))


def gelu(x):
    return 0.5 * x * (1 + T.erf(x * math.sqrt(0.5)))


def tanh_gelu(x):
    return 0.5 * x * (1 + T.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


EPILOGUES = {
    "gelu": gelu,
    "gelu by tanh": tanh_gelu,
    "silu": lambda x: x * T.sigmoid(x),
    "quotient": lambda x: x / (1 + T.abs(x)),
    "root": lambda x: T.sqrt(T.abs(x)),
    "logarithm": lambda x: T.log(1 + T.exp(x)),
}


@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_epilogues_of_products_have_no_calls(name, chip):
    @T.prim_func
    def f(A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16"), C: T.Tensor((256, 256), "float16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            T.clear(acc)
            for k in T.Pipelined(4, num_stages=3):
                T.copy(A[by * 128, k * 64], As)
                T.copy(B[k * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc)
            for i, j in T.Parallel(128, 128):
                acc[i, j] = EPILOGUES[name](acc[i, j])
            T.copy(acc, C[by * 128, bx * 128])

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # C7509: a call makes every `wgmma` wait
        # 128 accumulators and a long formula do not fit; that costs speed, not more.
        warnings.simplefilter("ignore", RegisterSpillWarning)
        kernel = tilec.compile(f, target=chip)
    assert not re.search(r"\bcall\b|(div|sqrt|rcp)\.rn|div\.[su]64", kernel.get_ptx())
