"""The greater and the smaller of floats of 8 bits: every pair, against integers that are ordered as the floats are."""

import numpy as np

import tilec.language as T

PAIRS = 65536
GREATEST = {"float8_e4m3": 0x7E, "float8_e5m2": 0x7C}
"""The codes behind which, without their sign, are the NaN's: of 448, and of infinity."""
ONE = {"float8_e4m3": 0x38, "float8_e5m2": 0x3C}


def extremes_of_pairs(small):
    """A program of the greater, the smaller, and the nearest number from -1 to 1, of `PAIRS` pairs."""

    @T.prim_func
    def f(A: T.Tensor((PAIRS,), small), B: T.Tensor((PAIRS,), small), C: T.Tensor((3, PAIRS), small)):
        with T.Kernel(PAIRS // 256, threads=128) as b:
            for i in T.Parallel(256):
                at = b * 256 + i
                C[0, at] = T.max(A[at], B[at])
                C[1, at] = T.min(A[at], B[at])
                C[2, at] = T.clamp(A[at], T.cast(-1.0, small), T.cast(1.0, small))

    return f


def pairs():
    """The codes of all pairs."""
    every = np.arange(256, dtype=np.uint8)
    return np.repeat(every, 256), np.tile(every, 256)


def assert_extremes(small, found):
    """Raises unless `found`, the codes of what the program made of the pairs, are right; a NaN is any of them."""
    a, b = (x.astype(np.int32) for x in pairs())

    def order(codes):
        return np.where(codes < 0x80, codes, -1 - (codes & 0x7F))  # -0 comes before +0

    def chosen(x, y, greater):
        return np.where((order(x) >= order(y)) == greater, x, y)

    def is_nan(codes):
        return (codes & 0x7F) > GREATEST[small]

    one = np.full_like(a, ONE[small])
    nearest = chosen(chosen(a, one | 0x80, True), one, False)
    expected = np.stack([chosen(a, b, True), chosen(a, b, False), nearest])
    nan = np.stack([is_nan(a) | is_nan(b), is_nan(a) | is_nan(b), is_nan(a)])
    np.testing.assert_array_equal(is_nan(found), nan)
    np.testing.assert_array_equal(found[~nan], expected[~nan])
