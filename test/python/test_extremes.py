"""Extremes and reductions are the same on all targets (docs/language/semantics.md).

Each test runs on the CPU and, where one answers, on a GPU.
"""

import numpy as np
import pytest

import tilec.language as T
from edge_cases import FLOATS, UNSIGNED, dtype, evaluate, pairs
from tilec.errors import DTypeError

# Extremes and reductions ---------------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40]


def extreme(values, kind):
    """NaN wins, and +0 is greater than -0."""
    if np.isnan(values).any():
        return np.nan
    found = values.max() if kind == "max" else values.min()
    zeros = values[values == 0]
    if found == 0:
        positive = not np.signbit(zeros).all() if kind == "max" else not np.signbit(zeros).any()
        return 0.0 if positive else -0.0
    return found


def assert_same_floats(found, expected):
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_extremes_keep_nan_and_the_sign_of_zero(run, name, kind):
    values = np.array(SPECIAL).astype(dtype(name))
    a, b = pairs(values, values)
    found = evaluate(run, getattr(T, kind), a, b, out=name)
    wide = [extreme(np.array([x, y], np.float64), kind) for x, y in zip(a, b, strict=True)]
    assert_same_floats(found.astype(np.float64), np.array(wide))


def reduction(kind, rows, columns, dim, name, clear=True):
    kept = rows if dim == 1 else columns

    @T.prim_func
    def program(X: T.Tensor((rows, columns), name), R: T.Tensor((kept,), name)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((rows, columns), name)
            o = T.alloc_fragment((kept,), name)
            T.copy(X, x)
            T.copy(R, o)
            T.reduce(x, o, kind, dim=dim, clear=clear)
            T.copy(o, R)

    return program


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int8", "int32"])
@pytest.mark.parametrize("kind", ["max", "min", "absmax"])
@pytest.mark.parametrize("columns", [1, 2, 3, 5, 6, 7, 9, 10, 13, 31, 64, 100])
def test_extremes_of_rows_of_any_length(run, name, kind, columns):
    random = np.random.default_rng(columns)
    x = random.integers(-30, 30, (64, columns)).astype(dtype(name))
    o = np.zeros(64, dtype(name))
    run(reduction(kind, 64, columns, 1, name), x, o)
    wide = x.astype(np.float64)
    expected = {"max": wide.max(1), "min": wide.min(1), "absmax": np.abs(wide).max(1)}[kind]
    np.testing.assert_array_equal(o.astype(np.float64), expected)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("columns", [1, 3, 32, 100])
def test_the_absolute_value_of_the_least_integer_is_itself(run, name, columns):
    """`absmax` of such a row is no number that is not in it."""
    x = np.full((4, columns), np.iinfo(name).min, name)
    x[1, columns // 2] = 0
    y = np.full(4, 99, name)
    run(reduction("absmax", 4, columns, 1, name), x, y)
    np.testing.assert_array_equal(y, np.abs(x).max(1))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("kind", ["max", "min", "absmax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_reductions_keep_nan_and_the_sign_of_zero(run, name, kind, dim):
    x = np.full((32, 24), -0.0 if kind == "max" else 0.0).astype(dtype(name))
    x[3, 5], x[7, 11], x[8, 11], x[9, :] = np.nan, np.nan, 2, 1e-30
    x[20, 23] = 0.0 if kind == "max" else -0.0
    o = np.zeros(32 if dim == 1 else 24, dtype(name))
    run(reduction(kind, 32, 24, dim, name), x, o)
    wide = x.astype(np.float64) if kind != "absmax" else np.abs(x.astype(np.float64))
    lines = wide if dim == 1 else wide.T
    expected = np.array([extreme(line, kind.removeprefix("abs")) for line in lines])
    assert_same_floats(o.astype(np.float64), expected)


@pytest.mark.parametrize("name", [*UNSIGNED, "bool"])
@pytest.mark.parametrize("kind", ["max", "min", "absmax", "sum", "abssum"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("clear", [True, False])
def test_reductions_of_unsigned_types(run, name, kind, dim, clear):
    if name == "bool" and kind.endswith("sum"):
        pytest.skip("refused")
    random = np.random.default_rng(1)
    high = 2 if name == "bool" else int(np.iinfo(name).max)
    x = random.integers(0, high, (16, 40), np.uint64, endpoint=name != "bool").astype(name)
    x[3, :], x[:, 5] = 0, 0
    o = np.full(16 if dim == 1 else 40, 1, name)
    expected = {"max": x.max(dim), "min": x.min(dim), "absmax": x.max(dim)}.get(kind)
    if expected is None:
        expected = x.sum(dim, dtype=name)
    if not clear:
        expected = {"max": np.maximum, "min": np.minimum, "absmax": np.maximum}.get(kind, np.add)(expected, o)
    run(reduction(kind, 16, 40, dim, name, clear), x, o)
    np.testing.assert_array_equal(o, expected)


@pytest.mark.parametrize("skips", [False, True])
def test_extremes_of_floats_of_8_bits_keep_infinity(run, skips):
    """Of tiles and of arrays, with and without NaN; of NaN alone it is what changes no extreme."""
    small = dtype("float8_e5m2")

    @T.prim_func
    def program(X: T.Tensor((16, 6), "float8_e5m2"), R: T.Tensor((6, 16), "float8_e5m2")):
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((16, 6), "float8_e5m2")
            T.copy(X, x)
            for k, kind in enumerate(["max", "min", "absmax"]):
                o = T.alloc_shared((16, 1), "float8_e5m2")
                T.reduce(x, o, kind, dim=1, nan_propagate=not skips)
                T.copy(o[:, 0], R[k, :])
                for i in T.Parallel(16):
                    own, one = T.alloc_local((6,), "float8_e5m2"), T.alloc_local((1,), "float8_e5m2")
                    T.copy(X[i, :], own)
                    T.reduce(own, one, kind, nan_propagate=not skips)
                    R[3 + k, i] = one[0]

    numbers = [np.inf, -np.inf, np.nan, 1, -3, 57344, -57344]
    x = np.random.default_rng(1).choice(numbers, (16, 6))
    x[0], x[1], x[2] = np.nan, [-np.inf, np.nan] * 3, [np.inf, np.nan] * 3
    found = np.zeros((6, 16), small)
    run(program, x.astype(small), found)
    kinds = [(x, -np.inf, np.maximum), (x, np.inf, np.minimum), (abs(x), 0.0, np.maximum)]
    expected = [f.reduce(np.where(np.isnan(y) & skips, start, y), 1) for y, start, f in kinds]
    np.testing.assert_array_equal(found.astype(np.float64), np.stack(expected * 2))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(("columns", "dim"), [(24, 1), (24, 0), (33, 1), (5, 1), (100, 1)])
@pytest.mark.parametrize("clear", [True, False])
def test_a_sum_of_negative_zeros_is_one(run, name, columns, dim, clear):
    """No sign is lost (F3), nor in rows that are shorter than what threads share."""
    x = np.full((33, columns), -0.0).astype(dtype(name))
    x[7, 3] = 0.0
    o = np.full(33 if dim == 1 else columns, -0.0).astype(dtype(name))
    run(reduction("sum", 33, columns, dim, name, clear), x, o)
    positive = np.arange(len(o)) == (7 if dim == 1 else 3)
    assert_same_floats(o.astype(np.float64), np.where(positive, 0.0, -0.0))


def test_a_sum_of_bool_is_refused():
    with pytest.raises(DTypeError, match="`bool` holds no sums: let `out` be of `int32`"):
        reduction("sum", 8, 8, 1, "bool")


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("clear", [True, False])
def test_narrow_floats_are_summed_in_single_precision(run, name, dim, clear):
    x = np.ones((4096, 2), dtype(name)) if dim == 0 else np.ones((2, 4096), dtype(name))
    x.reshape(-1)[:] = 1.25
    o = np.full(2, 3, dtype(name))
    run(reduction("sum", *x.shape, dim, name, clear), x, o)
    exact = 1.25 * 4096 + (0 if clear else 3)
    np.testing.assert_array_equal(o.astype(np.float64), np.full(2, exact).astype(dtype(name)).astype(np.float64))
