"""Arithmetic of `float64` that says how it rounds, and what it is by fractions: for the CPU, the simulator and GPUs."""

import math
import random
from fractions import Fraction

import numpy as np

import tilec.language as T

N = 2048
"""How many triples of numbers."""
MODES = ("rn", "rz", "ru", "rd")
GREATEST, LEAST = 1.7976931348623157e308, 5e-324
SPECIAL = (
    0.0, -0.0, LEAST, -LEAST, 2.0**-1022, 2.0**-1022 - LEAST, GREATEST, -GREATEST, 1.0, -1.0, 2.0, 1 + 2.0**-52,
    1 - 2.0**-53, 2.0**-537, 2.0**-538, 2.0**511, 2.0**512, math.inf, -math.inf, math.nan,
)  # fmt: skip

ARGUMENTS = {
    "ieee_add": lambda a, b, c: (a, b),
    "ieee_add of a product": lambda a, b, c: (a * b, c),
    "ieee_sub": lambda a, b, c: (a, b),
    "ieee_mul": lambda a, b, c: (a, b),
    "ieee_fmaf": lambda a, b, c: (a, b, c),
    "ieee_fdiv": lambda a, b, c: (a, b),
    "ieee_frcp": lambda a, b, c: (b,),
    "ieee_fsqrt": lambda a, b, c: (abs(a),),
}
"""What each program computes from a triple: a function's name, and perhaps of what."""


def _number(source):
    if source.random() < 0.15:
        return source.choice(SPECIAL)
    low, high = source.choice([(-1074, 1023), (-20, 20), (-1074, -960), (960, 1023), (-567, -507)])
    last = 2.0**-52 * source.getrandbits(3)
    size = source.choice([1 + source.random(), 1 + source.getrandbits(4) / 16, 2 - last - 2.0**-52, 1.0, 1 + last])
    return math.ldexp(size, source.randint(low, high)) * source.choice([1, -1])


def operands():
    """Numbers of every size, among them those whose results cancel, or are lost but for their sign."""
    source = random.Random(0)
    values = np.zeros((3, N))
    with np.errstate(all="ignore"):
        for i in range(N):
            a, b, c = (np.float64(_number(source)) for _ in range(3))
            towards = source.choice([-math.inf, math.inf])
            kind = source.randrange(12)
            if kind == 0:
                c = -(a * b)
            elif kind == 1:
                c = -np.nextafter(a * b, towards)
            elif kind == 2:
                b = -a
            elif kind == 3:
                b = np.nextafter(-a, towards)
            elif kind == 4:
                b = a * 2.0 ** -source.randint(50, 56)
            elif kind == 5:
                c = a * b * 2.0 ** source.randint(-125, 125) * source.choice([1, -1])
            elif kind == 6:
                c = np.float64(LEAST * source.randint(-4, 4))
            values[:, i] = a, b, c
    return values


def program(name):
    @T.prim_func
    def f(X: T.Tensor((3, N), "float64"), Y: T.Tensor((4, N), "float64")):
        with T.Kernel(N // 128, threads=128) as b:
            for j in T.Parallel(128):
                i = b * 128 + j
                x = [X[0, i], X[1, i], X[2, i]]
                for m in T.unroll(4):
                    Y[m, i] = getattr(T, name.split()[0])(*ARGUMENTS[name](*x), rounding_mode=MODES[m])

    return f


def _rounded(exact, mode):
    """Returns an exact number that is not zero, rounded."""
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf if exact > 0 else -math.inf
    if mode == "rn" or (math.isfinite(nearest) and Fraction(nearest) == exact):
        return nearest
    is_above = nearest > 0 if math.isinf(nearest) else Fraction(nearest) > exact
    other = float(np.nextafter(nearest, -math.inf if is_above else math.inf))
    low, high = (other, nearest) if is_above else (nearest, other)
    found = {"ru": high, "rd": low, "rz": low if exact > 0 else high}[mode]
    return (0.0 if exact > 0 else -0.0) if found == 0 else found


def _root(x, mode):
    numerator, denominator = x.as_integer_ratio()
    square = numerator * denominator << 4000
    root = math.isqrt(square)
    inexact = root * root != square
    return _rounded(Fraction(2 * root + inexact, denominator << 2001), mode)


def _zero(name, numbers, mode):
    """Returns a result that is exactly zero: what cancels is -0 if it is rounded downwards."""
    signs = [math.copysign(1, number) for number in numbers]
    if name in ("ieee_mul", "ieee_fdiv"):
        return math.copysign(0.0, signs[0] * signs[1])
    if name == "ieee_sub":
        signs[1] = -signs[1]
    if name == "ieee_fmaf":
        numbers, signs = (min(map(abs, numbers[:2])), numbers[2]), (signs[0] * signs[1], signs[2])
    if not any(numbers) and signs[0] == signs[1]:
        return math.copysign(0.0, signs[0])
    return -0.0 if mode == "rd" else 0.0


def _expected(name, numbers, mode):
    if not all(map(math.isfinite, numbers)) or (name in ("ieee_fdiv", "ieee_frcp") and numbers[-1] == 0):
        return _infinite(name, *map(np.float64, numbers))
    if name == "ieee_fsqrt":
        return _root(numbers[0], mode) if numbers[0] else numbers[0]
    x = [Fraction(number) for number in numbers]
    exact = {
        "ieee_add": lambda: x[0] + x[1],
        "ieee_sub": lambda: x[0] - x[1],
        "ieee_mul": lambda: x[0] * x[1],
        "ieee_fmaf": lambda: x[0] * x[1] + x[2],
        "ieee_fdiv": lambda: x[0] / x[1],
        "ieee_frcp": lambda: 1 / x[0],
    }[name]()
    return _rounded(exact, mode) if exact else _zero(name, numbers, mode)


def _infinite(name, a, b=None, c=None):
    """Returns what infinities, NaN and division by zero give, which no mode changes."""
    if name == "ieee_fmaf":
        return c if math.isfinite(a) and math.isfinite(b) else a * b + c
    return {
        "ieee_add": lambda: a + b,
        "ieee_sub": lambda: a - b,
        "ieee_mul": lambda: a * b,
        "ieee_fdiv": lambda: a / b,
        "ieee_frcp": lambda: 1 / a,
        "ieee_fsqrt": lambda: np.sqrt(a),
    }[name]()


def check(name, run):
    """Runs the program of a name by `run(program, x, y)`, and compares every bit but those of NaN."""
    x, y = operands(), np.zeros((4, N))
    run(program(name), x, y)
    with np.errstate(all="ignore"):
        expected = [
            [_expected(name.split()[0], ARGUMENTS[name](*map(float, x[:, i])), mode) for i in range(N)]
            for mode in MODES
        ]
    z = np.array(expected)
    same = (y.view(np.uint64) == z.view(np.uint64)) | (np.isnan(y) & np.isnan(z))
    if "product" in name:
        same[0] = True  # to nearest it may be joined with the sum (semantics F3)
    assert same.all(), [(MODES[m], x[:, i], y[m, i], z[m, i]) for m, i in np.argwhere(~same)[:3]]
