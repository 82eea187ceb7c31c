"""Functions that programs call by their names in CUDA's mathematical library: `T.call_extern`."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, UnsupportedError
from tilec.language.externs import _FUNCTIONS

OF_NUMPY = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh",
    "atan2": "arctan2", "nearbyint": "rint", "pow": "power", "fdivide": "divide", "rsqrt": None, "erf": None,
}  # fmt: skip
ONES = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "fma": lambda x, y, z: x * y + z,
}
INTEGERS = ("abs", "__popc", "__clz", "__ffs")


def called(name, count, dtype, n):
    @T.prim_func
    def f(X: T.Tensor((count, n), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(n):
                Y[i] = T.call_extern(dtype, name, *(X[k, i] for k in range(count)))

    return f


@pytest.mark.parametrize("name", [name for name in _FUNCTIONS if name not in INTEGERS])
def test_functions_are_those_of_the_library(name):
    _, count, dtype = _FUNCTIONS[name]
    stem = name.strip("_").removesuffix("f") if dtype == "float32" else name
    low, high = (1, 3) if stem == "acosh" else (0.1, 0.9)
    x = np.random.default_rng(0).uniform(low, high, (count, 64)).astype(dtype)
    y = np.zeros(64, dtype)
    tilec.compile(called(name, count, dtype, 64), target="cpu")(x, y)
    if stem == "erf":
        import math

        expected = np.array([math.erf(v) for v in x[0]])
    else:
        expected = ONES.get(stem, getattr(np, OF_NUMPY.get(stem) or stem, None))(*x)
    np.testing.assert_allclose(y, expected, rtol=3e-7 if dtype == "float64" else 2e-5)


@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_integers(name):
    x = np.array([[0, 1, -1, 12, -2147483648, 1 << 20, 7, -100]], np.int32)
    y = np.zeros(8, np.int32)
    tilec.compile(called(name, 1, "int32", 8), target="cpu")(x, y)
    words = [f"{int(v) & 0xFFFFFFFF:032b}" for v in x[0]]
    expected = {
        "abs": np.abs(x[0]),
        "__popc": [w.count("1") for w in words],
        "__clz": [len(w) - len(w.lstrip("0")) for w in words],
        "__ffs": [w[::-1].find("1") + 1 for w in words],
    }[name]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        (
            "decode_i4u_to_f16",
            1,
            UnsupportedError,
            "`decode_i4u_to_f16` is none that is known here: write it in the language",
        ),
        ("fmnf", 2, UnsupportedError, "did you mean"),
        ("fminf", 1, ArgumentError, "`fminf` has 2 arguments, and gets 1"),
    ],
)
def test_what_is_refused(name, arguments, error, message):
    with pytest.raises(error, match=message):

        @T.prim_func
        def f(X: T.Tensor((64,), "float32")):
            with T.Kernel(1):
                X[0] = T.call_extern("float32", name, *[X[0]] * arguments)
