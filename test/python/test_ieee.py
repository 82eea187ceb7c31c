"""Arithmetic that says how it rounds, beside exact fractions (semantics C4)."""

from fractions import Fraction

import numpy as np
import pytest

import ieee_programs
import tilec
import tilec.language as T
from tilec.errors import ArgumentError

N = 512
"""How many triples of numbers."""

EXACT = {
    "ieee_add": lambda a, b, c: a + b,
    "ieee_sub": lambda a, b, c: a - b,
    "ieee_mul": lambda a, b, c: a * b,
    "ieee_fmaf": lambda a, b, c: a * b + c,
    "ieee_fdiv": lambda a, b, c: a / b,
    "ieee_frcp": lambda a, b, c: 1 / b,
    "ieee_fsqrt": lambda a, b, c: abs(a),
}
"""What each computes; of the root its square."""
ARGUMENTS = {
    "ieee_fmaf": lambda a, b, c: (a, b, c),
    "ieee_frcp": lambda a, b, c: (b,),
    "ieee_fsqrt": lambda a, b, c: (T.abs(a),),
}


def operands(dtype):
    generator = np.random.default_rng(0)
    scale = 2.0 ** generator.integers(-6, 7, (3, N))
    values = (generator.standard_normal((3, N)) * scale).astype(dtype)
    values[:, 0] = 0.0, 1.0, -0.0
    values[:, 1] = 1.0, -1.0, 1.0
    values[2, 2:100] = -(values[0, 2:100] * values[1, 2:100])  # what cancels but for the last bits
    values[1, 100:140] = values[0, 100:140] * np.finfo(dtype).eps  # what is lost but for its sign
    values[1][values[1] == 0] = 1.0
    return values


def is_rounded(found, exact, mode, root):
    """Whether a float is an exact number, or the square root of one, rounded."""

    def order(x):
        number = Fraction(float(x))
        return (number * number if root else number) - exact

    error = order(found)
    if error == 0:
        return True
    below, above = (np.nextafter(found, found.dtype.type(s * np.inf)) for s in (-1, 1))
    if mode == "ru" or (mode == "rz" and exact < 0):
        return error > 0 and order(below) < 0
    if mode in ("rd", "rz"):
        return error < 0 and order(above) > 0
    other = order(below if error > 0 else above)
    return (error > 0) != (other > 0) and (root or abs(error) <= abs(other))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", EXACT)
def test_results_are_rounded_as_asked_for(name, dtype):
    arguments = ARGUMENTS.get(name, lambda a, b, c: (a, b))
    modes = ("rn", "rz", "ru", "rd")

    @T.prim_func
    def f(X: T.Tensor((3, N), dtype), Y: T.Tensor((4, N), dtype)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(N):
                for m in T.unroll(4):
                    Y[m, i] = getattr(T, name)(*arguments(X[0, i], X[1, i], X[2, i]), rounding_mode=modes[m])

    x, y = operands(dtype), np.zeros((4, N), dtype)
    tilec.compile(f, target="cpu")(x, y)
    for i in range(N):
        a, b, c = (Fraction(float(v)) for v in x[:, i])
        exact = EXACT[name](a, b, c)
        if name != "ieee_fsqrt" and abs(exact) > np.finfo(dtype).max:
            continue
        for m, mode in enumerate(modes):
            assert is_rounded(y[m, i], exact, mode, name == "ieee_fsqrt"), (mode, x[:, i], y[m, i])
    if name in ("ieee_add", "ieee_fmaf"):
        assert [np.signbit(v) for v in y[:, 1]] == [False, False, False, True]  # 1 - 1


@pytest.mark.parametrize("options", [{}, {"fast_math": True}], ids=["exact", "fast"])
@pytest.mark.parametrize("target", [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}], ids=["cpu", "sim"])
@pytest.mark.parametrize("name", ieee_programs.ARGUMENTS)
def test_float64_is_rounded_as_asked_for(name, target, options):
    ieee_programs.check(name, lambda program, *arrays: tilec.compile(program, **target, **options)(*arrays))


def test_one_over_the_root_is_rounded_to_nearest():
    @T.prim_func
    def f(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(N):
                Y[i] = T.ieee_frsqrt(X[i])

    x, y = np.abs(operands("float32")[1]), np.zeros(N, np.float32)
    tilec.compile(f, target="cpu")(x, y)
    np.testing.assert_array_equal(y, (1 / np.sqrt(x.astype(np.longdouble))).astype(np.float32))


def test_infinities_and_nan():
    @T.prim_func
    def f(X: T.Tensor((4,), "float32"), Y: T.Tensor((4, 3), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                Y[i, 0] = T.ieee_add(X[i], X[i], "ru")
                Y[i, 1] = T.ieee_mul(X[i], X[i], "rd")
                Y[i, 2] = T.ieee_fdiv(1.0, X[i], "rz")

    x, y = np.array([np.inf, -np.inf, np.nan, 3e38], np.float32), np.zeros((4, 3), np.float32)
    tilec.compile(f, target="cpu")(x, y)
    most = np.finfo("float32").max
    exact = [[np.inf, np.inf, 0.0], [-np.inf, np.inf, -0.0], [np.nan] * 3, [np.inf, most, np.float32(1) / x[3]]]
    np.testing.assert_allclose(y, np.array(exact, np.float32), rtol=1e-6)


def test_what_is_no_mode():
    with pytest.raises(
        ArgumentError, match='`rounding_mode` of `T.ieee_add` is "rn", "rz", "ru" or "rd", not `\'up\'`'
    ):

        @T.prim_func
        def f(X: T.Tensor((4,), "float64")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(4):
                    X[i] = T.ieee_add(X[i], X[i], "up")
