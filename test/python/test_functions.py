"""Functions of floats: their errors, and that none of them becomes a call on a GPU (docs/language/accuracy.md)."""

import math
import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from edge_cases import FLOATS, runner
from tilec.errors import DTypeError

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


MADE_OF_OTHERS = {
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "log10": np.log10, "log1p": np.log1p, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "tan": np.tan, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "trunc": np.trunc,
    "nearbyint": np.rint,
}  # fmt: skip
"""Functions that the front end makes of others and of arithmetic."""

SINGLE_BOUNDS = {
    "exp10": 1, "log10": 0.95, "log1p": 0.85, "sinh": 1.25, "cosh": 1.25, "asinh": 1, "acosh": 1.25, "atanh": 0.8,
    "tan": 1.3, "atan": 1.25, "asin": 0.9, "acos": 1.15, "atan2": 1.35, "hypot": 1.1,
}  # fmt: skip
"""How far those of `float32` may be off; the others are exact."""


def arguments():
    """Numbers of every size, more of those around one, and special ones."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, N // 4, dtype=np.uint32).view(np.float32)
    tiny = random.integers(0, 1 << 23, N // 8, dtype=np.uint32).view(np.float32)
    spread = [random.uniform(-bound, bound, N // 8).astype(np.float32) for bound in (1.5, 5, 20, 105)]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, DENORMAL, 3.4028235e38, 1, -1], np.float32)
    right_angles = (np.arange(1, 1 << 13) * np.pi / 2).astype(np.float32)
    return np.resize(np.concatenate([special, bits, tiny, *spread, right_angles, right_angles * 4096]), N)


def ulps(found, exact, kind):
    """Returns errors in units in the last place of the exact result; infinities and NaN must be the same."""
    rounded = exact.astype(kind)
    _, exponent = np.frexp(exact)
    digits, least = (24, -149) if kind is np.float32 else (53, -1074)
    error = np.abs(found - exact) / np.ldexp(exact.dtype.type(1), np.maximum(exponent - digits, least))
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(np.isfinite(rounded) & np.isfinite(found), error, np.where(same, 0, np.inf))


def check_signs_of_zeros(found, expected, name=""):
    is_zero = found == 0
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(expected[is_zero]), name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_below_two_units(run, name):
    function, exact = FUNCTIONS[name]

    @T.prim_func
    def f(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
        with T.Kernel(N // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Y[b * 1024 + i] = function(X[b * 1024 + i])

    x, y = arguments(), np.zeros(N, np.float32)
    run(f, x, y)
    with np.errstate(all="ignore"):
        expected = exact(x.astype(np.float64))
        error = ulps(y.astype(np.float64), expected, np.float32)
    worst = int(np.argmax(error))
    bound = {"sqrt": 0.5, "reciprocal": 0.5}.get(name, 2)
    assert error[worst] <= bound, (x[worst], y[worst])
    check_signs_of_zeros(y, expected)


# Of those that are not within two units.
WIDE_BOUNDS = {"sqrt": 0.5, "reciprocal": 0.5, "tanh": 3, "erf": 2.5, "sigmoid": 3}


def wide_arguments():
    random = np.random.default_rng(2)
    bits = random.integers(0, 1 << 64, N // 4, dtype=np.uint64).view(np.float64)
    tiny = random.integers(0, 1 << 52, N // 8, dtype=np.uint64).view(np.float64)
    spread = [random.uniform(-bound, bound, N // 8) for bound in (1.5, 5, 20, 745, 1e6)]
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1, -1]
    )
    return np.resize(np.concatenate([special, bits, tiny, *spread]), N)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_in_double_precision(run, name):
    function, exact = FUNCTIONS[name]

    @T.prim_func
    def f(X: T.Tensor((N,), "float64"), Y: T.Tensor((N,), "float64")):
        with T.Kernel(N // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Y[b * 1024 + i] = function(X[b * 1024 + i])

    x, y = wide_arguments(), np.zeros(N)
    run(f, x, y)
    with np.errstate(all="ignore"):
        # Python's own `erf` is one of 64 bits.
        expected = exact(x.astype(np.longdouble)).astype(np.longdouble)
        error = ulps(y.astype(np.longdouble), expected, np.float64)
    worst = int(np.argmax(error))
    assert error[worst] <= WIDE_BOUNDS.get(name, 2), (x[worst], y[worst])
    check_signs_of_zeros(y, expected)


@pytest.fixture(params=["cpu", "sim", "gpu"])
def run_or_simulate(request):
    """Runs a program on the CPU, by the simulator, and on a GPU where one answers."""
    if request.param == "sim":
        return lambda program, *arguments: tilec.compile(program, target="sm_90a", backend="sim")(*arguments)
    return runner(request.param)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_are_made_of_others(run_or_simulate, dtype):
    n = N // 8

    @T.prim_func
    def f(X: T.Tensor((n,), dtype), Y: T.Tensor((len(MADE_OF_OTHERS), n), dtype)):
        with T.Kernel(n // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                for k, name in enumerate(MADE_OF_OTHERS):
                    Y[k, b * 1024 + i] = getattr(T, name)(X[b * 1024 + i])

    x = (arguments() if dtype == "float32" else wide_arguments())[::8].copy()
    y = np.zeros((len(MADE_OF_OTHERS), n), dtype)
    run_or_simulate(f, x, y)
    for found, (name, exact) in zip(y, MADE_OF_OTHERS.items(), strict=True):
        with np.errstate(all="ignore"):
            expected = exact(x.astype(np.longdouble))
            error = ulps(found.astype(np.longdouble), expected, np.dtype(dtype).type)
        worst = int(np.argmax(error))
        bound = SINGLE_BOUNDS.get(name, 0.5) if dtype == "float32" else 3
        assert error[worst] <= bound, (name, x[worst], found[worst])
        check_signs_of_zeros(found, expected, name)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_narrow_functions_go_by_single_precision(run_or_simulate, name):
    """All numbers of 16 bits; what is rounded twice may be off by a little more than a half."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    n = 1 << 16

    @T.prim_func
    def f(X: T.Tensor((n,), name), Y: T.Tensor((len(MADE_OF_OTHERS), n), name)):
        with T.Kernel(n // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                for k, function in enumerate(MADE_OF_OTHERS):
                    Y[k, b * 1024 + i] = getattr(T, function)(X[b * 1024 + i])

    x = np.arange(n, dtype=np.uint16).view(dtype)
    y = np.zeros((len(MADE_OF_OTHERS), n), dtype)
    run_or_simulate(f, x, y)
    digits, least = (11, -24) if name == "float16" else (8, -133)
    for found, (function, exact) in zip(y, MADE_OF_OTHERS.items(), strict=True):
        with np.errstate(all="ignore"):
            expected = exact(x.astype(np.float64))
            rounded = expected.astype(dtype)
            error = np.abs(found.astype(np.float64) - expected)
        error /= np.ldexp(1.0, np.maximum(np.frexp(expected)[1] - digits, least))
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        finite = np.isfinite(rounded) & np.isfinite(found)
        error = np.where(finite, error, np.where(same, 0, np.inf))
        worst = int(np.argmax(error))
        assert error[worst] <= 0.501, (function, x[worst], found[worst])


SAME_EVERYWHERE = ["exp10", "log10", "log1p", "sinh", "cosh"]
"""Functions of `float32` that are made of nothing that targets compute differently."""


@pytest.mark.parametrize("target", ["sim", "gpu"])
def test_functions_without_a_root_are_the_same_everywhere(target):
    n = N // 8

    @T.prim_func
    def f(X: T.Tensor((n,), "float32"), Y: T.Tensor((len(SAME_EVERYWHERE), n), "float32")):
        with T.Kernel(n // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                for k, name in enumerate(SAME_EVERYWHERE):
                    Y[k, b * 1024 + i] = getattr(T, name)(X[b * 1024 + i])

    x = arguments()[3::8].copy()
    expected, y = (np.zeros((len(SAME_EVERYWHERE), n), np.float32) for _ in range(2))
    runner("cpu")(f, x, expected)
    run = runner("gpu") if target == "gpu" else tilec.compile(f, target="sm_90a", backend="sim")
    run(*([f] if target == "gpu" else []), x, y)
    for found, exact, name in zip(y, expected, SAME_EVERYWHERE, strict=True):
        np.testing.assert_array_equal(found, exact, name)


def test_results_are_rounded_before_they_are_added_to(run_or_simulate):
    """No product in a function is joined with a sum outside of it (F3): what is infinite is so in the sum too."""
    x, powers = np.array([3.4e38, -3.4e38, 1.25, -0.0], np.float32), np.array([2, 1, 4, 3], np.int32)
    tens, y = np.array([38.6, 39, -45, 2], np.float32), np.array([-np.inf, np.inf, -20, -0.0], np.float32)

    @T.prim_func
    def f(
        X: T.Tensor((4,), "float32"), P: T.Tensor((4,), "int32"), E: T.Tensor((4,), "float32"),
        Y: T.Tensor((4,), "float32"), Z: T.Tensor((2, 4), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                Z[0, i] = T.ldexp(X[i], P[i]) + Y[i]
                Z[1, i] = T.exp10(E[i]) - T.abs(Y[i])

    z = np.zeros((2, 4), np.float32)
    run_or_simulate(f, x, powers, tens, y, z)
    np.testing.assert_array_equal(z, np.array([[np.nan, np.nan, 0, 0], [np.nan, np.nan, -20, 100]], np.float32))
    assert np.signbit(z[0, 3]), "a zero keeps its sign"


def test_functions_of_two_numbers(run_or_simulate):
    x, y = pairs_of(np.dtype(np.float32))
    n = x.size

    @T.prim_func
    def f(X: T.Tensor((n,), "float32"), Y: T.Tensor((n,), "float32"), Z: T.Tensor((2, n), "float32")):
        with T.Kernel(n // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Z[0, b * 1024 + i] = T.atan2(X[b * 1024 + i], Y[b * 1024 + i])
                Z[1, b * 1024 + i] = T.hypot(X[b * 1024 + i], Y[b * 1024 + i])

    z = np.zeros((2, n), np.float32)
    run_or_simulate(f, x, y, z)
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble), y.astype(np.longdouble)
        exact = {"atan2": np.arctan2(*wide), "hypot": np.hypot(*wide)}
    for found, (name, expected) in zip(z, exact.items(), strict=True):
        with np.errstate(all="ignore"):
            error = ulps(found.astype(np.longdouble), expected, np.float32)
        worst = int(np.argmax(error))
        assert error[worst] <= SINGLE_BOUNDS[name], (name, x[worst], y[worst], found[worst])
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]), name)


def test_functions_of_two_numbers_and_kinds_of_numbers(run_or_simulate):
    special = np.array([0.0, -0.0, 1, -1, 0.3, -7.5, 3e38, -1e-45, np.inf, -np.inf, np.nan], np.float32)
    x, y = (a.ravel().copy() for a in np.meshgrid(special, special))
    n = x.size
    powers = np.resize(np.array([0, 1, -1, 7, -149, 127, 300, -300, 2**31 - 1, -(2**31)], np.int32), n)

    @T.prim_func
    def f(
        X: T.Tensor((n,), "float32"),
        Y: T.Tensor((n,), "float32"),
        P: T.Tensor((n,), "int32"),
        Z: T.Tensor((7, n), "float32"),
    ):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                Z[0, i] = T.copysign(X[i], Y[i])
                Z[1, i] = T.fma(X[i], Y[i], X[i])
                Z[2, i] = T.ldexp(X[i], P[i])
                Z[3, i] = T.isnan(X[i]).astype("float32") + 2 * T.isinf(X[i]).astype("float32")
                Z[4, i] = T.isfinite(X[i])
                Z[5, i] = T.ieee_fdiv(X[i], Y[i])
                Z[6, i] = T.clamp(X[i], -1, 2)

    z = np.zeros((7, n), np.float32)
    run_or_simulate(f, x, y, powers, z)
    with np.errstate(all="ignore"):
        w, v = x.astype(np.float64), y.astype(np.float64)
        expected = [
            np.copysign(x, y), w * v + w, np.ldexp(w, np.clip(powers, -400, 400)), np.isnan(x) + 2 * np.isinf(x),
            np.isfinite(x), x / y, np.clip(x, -1, 2),
        ]  # fmt: skip
        expected = [e.astype(np.float32) for e in expected]
    for found, exact in zip(z, expected, strict=True):
        np.testing.assert_array_equal(found, exact)
        number = ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(exact[number]))


def test_powers_of_two_round_once(run_or_simulate):
    """Results that are denormal are rounded to nearest, as if there were one product; any integer may be the power."""
    random = np.random.default_rng(6)
    n = 1 << 14
    x = arguments()[5 :: N // n][:n].copy()
    exponent = (x.view(np.int32) >> 23) & 255
    powers = (-149 - (exponent - 127) + random.integers(-2, 26, n)).astype(np.int64)
    powers[: n // 4] = random.integers(-300, 300, n // 4)
    powers[: n // 8] = random.integers(-(2**62), 2**62, n // 8)

    @T.prim_func
    def f(X: T.Tensor((n,), "float32"), P: T.Tensor((n,), "int64"), Z: T.Tensor((2, n), "float32")):
        with T.Kernel(n // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Z[0, b * 1024 + i] = T.ldexp(X[b * 1024 + i], P[b * 1024 + i])
                Z[1, b * 1024 + i] = T.ldexp(X[b * 1024 + i], P[b * 1024 + i].astype("uint64"))

    z = np.zeros((2, n), np.float32)
    run_or_simulate(f, x, powers, z)
    with np.errstate(all="ignore"):
        for found, those in zip(z, (powers, powers.view(np.uint64)), strict=True):
            near = np.where(those > 400, 400, np.maximum(powers, -400))
            np.testing.assert_array_equal(found, np.ldexp(x.astype(np.float64), near).astype(np.float32))


def pairs_of(dtype):
    """Returns numbers in pairs: special ones in all combinations, any bits, and some that are near each other."""
    word = np.dtype(f"u{dtype.itemsize}")
    random = np.random.default_rng(4)
    top = 1 << (dtype.itemsize * 8 - 1)
    info = ml_dtypes.finfo(dtype)
    least, greatest = info.smallest_subnormal, info.max
    special = np.array([0.0, 1, 3, 0.3, least, 3 * least, info.tiny, greatest, np.inf, np.nan], dtype)
    special = np.concatenate([special, -special])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    bits = [random.integers(0, 2 * top - 1, N // 8, word, endpoint=True).view(dtype) for _ in range(2)]
    near = [(random.standard_normal(N // 8) * scale).astype(dtype) for scale in (100, 1)]
    return [np.concatenate(parts)[: N // 8].copy() for parts in ((x, bits[0], near[0]), (y, bits[1], near[1]))]


@pytest.mark.parametrize("name", FLOATS)
def test_remainders_and_neighbours_are_exact(run_or_simulate, name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x, y = pairs_of(dtype)
    n = x.size

    @T.prim_func
    def f(X: T.Tensor((n,), name), Y: T.Tensor((n,), name), Z: T.Tensor((2, n), name)):
        with T.Kernel(n // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Z[0, b * 1024 + i] = T.fmod(X[b * 1024 + i], Y[b * 1024 + i])
                Z[1, b * 1024 + i] = T.nextafter(X[b * 1024 + i], Y[b * 1024 + i])

    z = np.zeros((2, n), dtype)
    run_or_simulate(f, x, y, z)
    with np.errstate(all="ignore"):
        remainder = np.fmod(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
        neighbour = np.where(x == y, y, np.nextafter(x, y))
    for found, exact in zip(z, (remainder, neighbour), strict=True):
        is_nan = np.isnan(exact)
        np.testing.assert_array_equal(np.isnan(found), is_nan)
        np.testing.assert_array_equal(*(a.view(f"u{dtype.itemsize}")[~is_nan] for a in (found, exact)))


def test_remainders_and_neighbours_of_numbers_of_python():
    assert [T.fmod(-7.5, 2), T.fmod(5, math.inf), T.nextafter(0.0, -1)] == [-1.5, 5, -5e-324]
    assert math.isnan(T.fmod(1.0, 0.0))
    assert math.isnan(T.fmod(math.inf, 2.0))
    assert math.copysign(1, T.fmod(-4.0, 2.0)) == -1


@pytest.mark.parametrize("name", ["sqrt", "exp", "sin"])
def test_what_is_no_function_of_bytes_names_itself(name):
    with pytest.raises(DTypeError, match=f"`T.{name}` does not work on `float8_e4m3fn`: convert it with"):

        @T.prim_func
        def f(X: T.Tensor((8,), "float8_e4m3")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(8):
                    X[i] = getattr(T, name)(X[i])


@pytest.mark.parametrize("name", ["fmod", "nextafter"])
@pytest.mark.parametrize("dtype", ["int32", "float8_e4m3"])
def test_what_has_no_remainder_says_so(name, dtype):
    message = "needs floats, and this is `int32`" if dtype == "int32" else "does not work on `float8_e4m3fn`"
    with pytest.raises(DTypeError, match=f"`T.{name}` {message}"):

        @T.prim_func
        def f(X: T.Tensor((8,), dtype)):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(8):
                    X[i] = getattr(T, name)(X[i], X[0])


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1), ("float64", 2.5)])
def test_powers(run, dtype, bound):
    @T.prim_func
    def f(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype), Z: T.Tensor((N,), dtype)):
        with T.Kernel(N // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Z[b * 1024 + i] = X[b * 1024 + i] ** Y[b * 1024 + i]

    random = np.random.default_rng(3)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 3, -3, 0.5, -0.5], dtype)
    x = np.abs(arguments() if dtype == "float32" else wide_arguments())
    y = random.uniform(-12, 12, N).astype(dtype)
    y[: N // 2] = np.rint(y[: N // 2])
    x[: N // 4] = -x[: N // 4]
    pairs = np.array([(a, b) for a in special for b in special], dtype)
    x[np.isnan(x)] = np.nan  # of a signaling one the C library makes NaN even where y is 0
    x[: len(pairs)], y[: len(pairs)] = pairs.T
    z = np.zeros(N, dtype)
    run(f, x, y, z)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        error = ulps(z.astype(np.longdouble), exact, np.dtype(dtype).type)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, (x[worst], y[worst], z[worst])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_are_correctly_rounded(run, dtype):
    @T.prim_func
    def f(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype), Z: T.Tensor((N,), dtype)):
        with T.Kernel(N // 1024, threads=128) as b:
            for i in T.Parallel(1024):
                Z[b * 1024 + i] = X[b * 1024 + i] / Y[b * 1024 + i]

    random = np.random.default_rng(1)
    x = arguments() if dtype == "float32" else wide_arguments()
    y, z = random.permutation(x), np.zeros(N, dtype)
    if dtype == "float64":  # results that are denormal
        x[: N // 4] = random.uniform(1, 2, N // 4) * 2.0**-1000
        y[: N // 4] = random.uniform(1, 2, N // 4) * 2.0 ** random.integers(20, 76, N // 4)
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


SPILLS = {("sm_90a", "gelu by tanh"): 16, ("sm_90a", "silu"): 16}
"""Bytes that a thread stores and loads for want of registers, beside 128 sums: two words, once."""


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
        warnings.simplefilter("error")  # C7509, a call makes every `wgmma` wait
        warnings.simplefilter("ignore", tilec.errors.RegisterSpillWarning)
        kernel = tilec.compile(f, target=chip)
    assert kernel.n_spills <= SPILLS.get((chip, name), 0)
    assert not re.search(r"\bcall\b|(div|sqrt|rcp)\.rn|div\.[su]64", kernel.get_ptx())


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_no_function_or_division_is_a_call(monkeypatch, backend):
    monkeypatch.setenv("TL_EXECUTION_BACKEND", backend)
    for dtype in ("float16", "float32", "float64", "int64", "uint64"):
        is_float = dtype.startswith("float")

        @T.prim_func
        def f(X: T.Tensor((4, 256), dtype), Y: T.Tensor((4, 256), dtype)):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(256):
                    for function, _ in FUNCTIONS.values() if is_float else ():
                        Y[0, i] += function(X[0, i])
                    if is_float:
                        Y[0, i] += X[0, i] / X[1, i] + X[0, i] ** X[1, i]
                        Y[0, i] += T.fmod(X[0, i], X[1, i]) + T.nextafter(X[0, i], X[2, i])
                    else:
                        Y[0, i] += X[0, i] // X[1, i] + X[0, i] % X[2, i]

        assert not re.search(r"\bCALL\b", tilec.compile(f, target="sm_90a").get_sass()), dtype


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
def test_functions_of_single_precision_need_no_other(monkeypatch, backend):
    monkeypatch.setenv("TL_EXECUTION_BACKEND", backend)

    @T.prim_func
    def f(X: T.Tensor((4, 256), "float32"), P: T.Tensor((256,), "int32"), Y: T.Tensor((4, 256), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(256):
                for name in MADE_OF_OTHERS:
                    Y[0, i] += getattr(T, name)(X[0, i])
                Y[0, i] += T.atan2(X[0, i], X[1, i]) + T.hypot(X[0, i], X[2, i]) + T.ldexp(X[0, i], P[i])
                Y[0, i] += X[0, i] ** X[1, i]

    ptx = tilec.compile(f, target="sm_90a").get_ptx()
    assert not re.search(r"\.f64|\bcall\b|(div|sqrt|rcp)\.rn", ptx)
