"""Conversions are the same on all targets (docs/language/semantics.md), edge cases included.

Each test runs on the CPU and, where one answers, on a GPU.
"""

import numpy as np
import pytest

import tilec.language as T
from edge_cases import FLOATS, SIGNED, UNSIGNED, cut, dtype, evaluate, integers

# Conversions ---------------------------------------------------------------------------------------------------------


def float_values(name):
    """Floats around the ends of every integer type, special values, and fractions."""
    ends = [0.0, 0.5, 0.99, 1.0, 1.5, 2.5, 100.7, 127.0, 127.5, 128.0, 255.0, 255.9, 256.0, 3e4, 32767.5, 32768.0]
    ends += [65535.0, 65536.0, 2.0**31 - 1, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e30, np.inf, np.nan, 1e-40]
    with np.errstate(over="ignore"):
        return np.array([*ends, *(-v for v in ends)]).astype(dtype(name))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", SIGNED + UNSIGNED)
def test_floats_become_integers_towards_zero_and_saturate(run, source, target):
    a = float_values(source)
    found = evaluate(run, lambda x: T.cast(x, target), a, out=target)
    low, high = np.iinfo(target).min, np.iinfo(target).max

    def exact(x):
        return 0 if np.isnan(x) else high if x >= high else low if x <= low else int(x)

    np.testing.assert_array_equal(found, np.array([exact(float(x)) for x in a], target))


@pytest.mark.parametrize("source", SIGNED + UNSIGNED)
@pytest.mark.parametrize("target", FLOATS)
def test_integers_become_floats_to_nearest(run, source, target):
    a = np.concatenate([integers(source), ties(source)])
    found = evaluate(run, lambda x: T.cast(x, target), a, out=target)
    np.testing.assert_array_equal(found, [nearest(int(x), target) for x in a])


def test_a_chosen_integer_keeps_its_sign_on_its_way_to_an_unsigned_one(run):
    """LLVM made vectors of eight such elements, and 2³² of 2⁶⁴."""

    @T.prim_func
    def program(A: T.Tensor((16, 24), "int8"), X: T.Tensor((3, 3), "float32"), B: T.Tensor((3, 4, 2), "float32")):
        with T.Kernel(1, threads=96):
            a = T.alloc_fragment((16, 24), "int8")
            T.copy(A, a)
            for i, j, k in T.Parallel(3, 4, 2):
                chosen = T.if_then_else(X[i, k] > 0.5, T.cast(a[j + 12, k], "uint64"), T.cast(a[j, k], "uint64"))
                B[i, j, k] = T.cast(chosen, "float32")

    a = np.random.default_rng().integers(-128, 128, (16, 24)).astype(np.int8)
    x = np.random.default_rng().random((3, 3)).astype(np.float32)
    found = np.full((3, 4, 2), np.nan, np.float32)
    run(program, a, x, found)
    wide = a.astype(np.int64).astype(np.uint64)
    expected = np.where(x[:, None, :2] > 0.5, wide[None, 12:16, :2], wide[None, :4, :2])
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_an_integer_that_becomes_two_floats_is_rounded_once_or_twice(run):
    a = ties("int32")
    found = evaluate(run, lambda x: x.astype("float32").astype("bfloat16"), a, out="bfloat16")
    twice = a.astype(np.float32).astype(dtype("bfloat16"))
    assert all(f in (nearest(int(x), "bfloat16"), t) for f, x, t in zip(found, a, twice, strict=True))


@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("between", ["float16", "float32", "float64"])
def test_an_integer_that_no_half_holds_stays_infinite(run, source, between):
    """Also one that has no more bits than a half, as the compiler knows of those that are shifted."""
    a = np.arange(-8, 8).astype(source)
    shift = 8 * a.itemsize - 11
    found = evaluate(run, lambda x: (x << shift).astype(between).astype("float16").astype("float32"), a, out="float32")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, (a << shift).astype(np.float16).astype(np.float32))


def ties(source):
    """Numbers between two of `bfloat16`, and beside those: rounded to another type first they are ties, too."""
    info = np.iinfo(source)
    numbers = [(511 << shift) + beside for shift in range(56) for beside in (-1, 0, 1)]
    numbers += [(0b100000001 << shift) + beside for shift in range(56) for beside in (-1, 0, 1)]
    return np.array([n for m in numbers for n in (m, -m) if info.min <= n <= info.max], source)


def nearest(number, target):
    """Returns an exact integer rounded once."""
    if target == "float64":
        return np.float64(number)
    digits = {"float32": 24, "float16": 11, "bfloat16": 8}[target]
    shift = max(0, abs(number).bit_length() - digits)
    low, rest = abs(number) >> shift, abs(number) & ((1 << shift) - 1)
    half = (1 << shift) >> 1
    low += rest > half or (rest == half and shift > 0 and low & 1)
    with np.errstate(over="ignore"):
        return np.array(float((low << shift) * (-1 if number < 0 else 1))).astype(dtype(target))[()]


@pytest.mark.parametrize("source", SIGNED + UNSIGNED)
@pytest.mark.parametrize("target", SIGNED + UNSIGNED)
def test_integers_become_integers_by_wrapping(run, source, target):
    a = integers(source)
    found = evaluate(run, lambda x: T.cast(x, target), a, out=target)
    np.testing.assert_array_equal(found, cut(a, target))


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED, *FLOATS])
def test_bool_is_zero_or_one(run, name):
    a = float_values(name) if name in FLOATS else integers(name)
    found = evaluate(run, lambda x: T.cast(x, "bool"), a, out="bool")
    np.testing.assert_array_equal(found, a != 0)
    found = evaluate(run, lambda x: T.cast(x, name) + 1, np.array([True, False]), out=name)
    np.testing.assert_array_equal(found.astype(np.float64), [2, 1])


def test_every_other_byte_is_true(run):
    @T.prim_func
    def f(A: T.Tensor((6,), "bool"), B: T.Tensor((6,), "int32"), C: T.Tensor((6,), "bool")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((6,), "bool")
            T.copy(A, S)
            for i in T.Parallel(6):
                B[i] = T.if_then_else(A[i], 1, 0) + T.cast(A[i], "int32")
            T.copy(S, C)

    a = np.array([0, 1, 2, 254, 255, 0], np.uint8)
    b, c = np.zeros(6, np.int32), np.zeros(6, np.bool_)
    run(f, a.view(np.bool_), b, c)
    np.testing.assert_array_equal(b, np.where(a, 2, 0))
    np.testing.assert_array_equal(c.view(np.uint8), a != 0)


@pytest.mark.parametrize(
    ("source", "target"),
    [("uint8", "float32"), ("float32", "uint8"), ("uint16", "int64"), ("bool", "float16"), ("float32", "bool"),
     ("int32", "bool"), ("bool", "int8"), ("uint32", "float64"), ("float64", "uint64"), ("uint8", "int8")],
)  # fmt: skip
def test_copies_convert(run, source, target):
    @T.prim_func
    def f(A: T.Tensor((2, 8, 24), source), C: T.Tensor((8, 24), target), D: T.Tensor((8, 24), target)):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((8, 24), source)
            F = T.alloc_fragment((8, 24), target)
            T.copy(A[1, 0, 0], S)
            T.copy(S, F)
            T.copy(F, C)
            T.copy(A[1, 0:8, 0:24], D)

    random = np.random.default_rng(0)
    a = random.integers(0, 256, (2, 8, 24)).astype(source)
    c, d = np.zeros((8, 24), target), np.zeros((8, 24), target)
    run(f, a, c, d)
    expected = a[1] != 0 if target == "bool" else a[1].astype(target)
    np.testing.assert_array_equal(c, expected)
    np.testing.assert_array_equal(d, expected)


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_float64_is_rounded_once(run, target):
    digits = {"float16": 11, "bfloat16": 8}[target]
    tie = 1 + 2.0**-digits
    values = [
        1.0,
        tie,
        tie + 2.0**-40,
        tie - 2.0**-40,
        tie + 2.0**-52,
        1e300,
        -1e300,
        1e-300,
        0.0,
        -0.0,
        np.inf,
        np.nan,
    ]
    values += [3 * 2.0**-25, 3 * 2.0**-25 + 2.0**-70, 65519.999999999, 65520.0]
    a = np.array([*values, *(-v for v in values)])
    found = evaluate(run, lambda x: T.cast(x, target), a, out=target)
    with np.errstate(over="ignore"):
        expected = a.astype(np.float16) if target == "float16" else [nearest_bfloat16(x) for x in a]
    np.testing.assert_array_equal(found.astype(np.float64), np.array(expected, np.float64))


def nearest_bfloat16(x):
    """Returns a float64 rounded once to 8 digits; for numbers of moderate size."""
    if not np.isfinite(x) or x == 0:
        return x
    if abs(x) > 3.4e38:
        return np.copysign(np.inf, x)
    if abs(x) < 1e-50:
        return np.copysign(0.0, x)
    fraction, exponent = np.frexp(x)
    return float(np.ldexp(np.rint(fraction * 256), exponent - 8))
