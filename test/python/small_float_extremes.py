"""What is exact of floats of 8 bits.

The greater and the smaller of every pair, against integers that are ordered as the floats are; and functions that give
one of the type's own numbers, of every number.
"""

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


def own_numbers(small):
    """A program of functions of every number that give a number of the type."""

    @T.prim_func
    def f(A: T.Tensor((256,), small), C: T.Tensor((7, 256), small)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(256):
                C[0, i] = -A[i]
                C[1, i] = T.abs(A[i])
                C[2, i] = T.floor(A[i])
                C[3, i] = T.ceil(A[i])
                C[4, i] = T.trunc(A[i])
                C[5, i] = T.round(A[i])
                C[6, i] = T.round(A[i], "ties-away-from-zero")

    return f


def assert_own_numbers(kind, found):
    """Raises unless `found`, of the NumPy type `kind`, is what the program makes of all codes in their order."""
    a = np.arange(256, dtype=np.uint8).view(kind)
    x = a.astype(np.float32)
    away = np.where(np.isfinite(x), np.trunc(x + np.copysign(np.float32(0.5), x)), x)
    right = np.stack([-x, np.abs(x), np.floor(x), np.ceil(x), np.trunc(x), np.round(x), away]).astype(kind)
    number = ~np.isnan(right.astype(np.float32))
    np.testing.assert_array_equal(~np.isnan(found.astype(np.float32)), number)
    np.testing.assert_array_equal(found.view(np.uint8)[number], right.view(np.uint8)[number])
