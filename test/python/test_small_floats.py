"""Floats of 8 bits: how they are converted, and that every target takes them (docs/language/semantics.md)."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from language_programs import sparse_case
from small_float_extremes import assert_extremes, assert_own_numbers, extremes_of_pairs, own_numbers, pairs
from tilec import dtypes
from tilec.errors import ArgumentError

TYPES = {"float8_e4m3": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}
CHIPS = ["sm_80", "sm_89", "sm_90a"]
N = 1024


@pytest.fixture(params=TYPES)
def small(request):
    return request.param


def codes(small, n=N):
    """Every number of a type, in some order."""
    return np.random.default_rng(0).permutation(np.resize(np.arange(256, dtype=np.uint8), n)).view(TYPES[small])


def numbers(dtype):
    """Numbers around all those that are half way between two small ones, and special ones."""
    every = [np.arange(256, dtype=np.uint8).view(t).astype(np.float64) for t in TYPES.values()]
    finite = np.unique(np.concatenate(every)[np.isfinite(np.concatenate(every))])
    middles = (finite[1:] + finite[:-1]) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.concatenate([np.nextafter(middles, -np.inf), middles, np.nextafter(middles, np.inf), finite])
        ends = np.array([464, 465, 480, 512, 61440, 61439, 65536, 1e5, 1e30, np.inf, np.nan, 2.0**-10, 2.0**-17, 1e-40])
        return np.resize(np.concatenate([ends, -ends, near]), N * 2).astype(dtype)


def narrowed(values, small):
    """What a conversion makes of numbers: the nearest ones, and of what is too large the greatest."""
    greatest = float(ml_dtypes.finfo(TYPES[small]).max)
    with np.errstate(invalid="ignore"):
        return np.clip(values.astype(np.float32), -greatest, greatest).astype(TYPES[small])


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    number = ~np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), ~number)
    np.testing.assert_array_equal(found.view(np.uint8)[number], expected.view(np.uint8)[number])


def conversion(source, target, n):
    @T.prim_func
    def f(X: T.Tensor((n,), source), Y: T.Tensor((n,), target)):
        with T.Kernel(n // 256, threads=128) as b:
            for i in T.Parallel(256):
                Y[b * 256 + i] = T.cast(X[b * 256 + i], target)

    return f


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_floats_become_small_by_rounding_once(run, small, source):
    x = numbers(getattr(ml_dtypes, source) if source == "bfloat16" else source)
    y = np.zeros(x.size, TYPES[small])
    run(conversion(source, small, x.size), x, y)
    # To NumPy's type only from float32, and rounded to odd before.
    single = x.astype(np.float32)
    if source == "float64":
        with np.errstate(invalid="ignore"):
            bits = single.view(np.int32).copy()
            back = np.abs(single.astype(np.float64))
            bits = np.where(back > np.abs(x), bits - 1, bits)
            single = np.where(back == np.abs(x), single.view(np.int32), bits | 1).astype(np.int32).view(np.float32)
            single = np.where(np.isnan(x), np.float32(np.nan), single)
    same(y, narrowed(single, small))


@pytest.mark.parametrize("source", ["float16", "bfloat16"])
def test_every_number_of_16_bits_becomes_small(small, source):
    x = np.arange(65536, dtype=np.uint16).view(getattr(ml_dtypes, source) if source == "bfloat16" else source)
    y = np.zeros(x.size, TYPES[small])
    tilec.compile(conversion(source, small, x.size), target="cpu")(x, y)
    same(y, narrowed(x, small))


def constants(small):
    @T.prim_func
    def f(Y: T.Tensor((6,), small)):
        with T.Kernel(1, threads=32):
            for i in T.serial(6):
                infinite = T.alloc_var("float32", T.infinity("float32"))
                Y[i] = T.cast(infinite, small)
            Y[0] = T.cast(T.float32(1e9), small)
            Y[1] = T.cast(-T.infinity("float32"), small, sat=True)
            Y[2] = T.cast(T.cast(float("nan"), "float32"), small)
            Y[3] = T.cast(T.int32(-100000), small)

    return f


def test_constants_are_converted_as_other_numbers(run, small):
    y = np.zeros(6, TYPES[small])
    run(constants(small), y)
    greatest = float(ml_dtypes.finfo(TYPES[small]).max)
    expected = [greatest, -greatest, np.nan, -greatest, greatest, greatest]
    np.testing.assert_array_equal(y.astype(np.float64), expected)


def extremes(small):
    @T.prim_func
    def f(X: T.Tensor((16, 64), small), Y: T.Tensor((16,), small), Z: T.Tensor((16,), small)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((16, 64), small)
            most, sums = T.alloc_fragment((16,), small), T.alloc_fragment((16,), small)
            T.copy(X, x)
            T.reduce_max(x, most, dim=1)
            T.reduce_sum(x, sums, dim=1)
            T.copy(most, Y)
            T.copy(sums, Z)

    return f


def test_an_infinite_number_is_the_greatest_of_others(run):
    """What is combined is not converted: only a sum can be too large."""
    x = np.ones((16, 64), TYPES["float8_e5m2"])
    x[3, 5] = np.inf
    x[5, :2] = 57344
    y, z = np.zeros(16, x.dtype), np.zeros(16, x.dtype)
    run(extremes("float8_e5m2"), x, y, z)
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32).max(axis=1))
    same(z, narrowed(x.astype(np.float32).sum(axis=1), "float8_e5m2"))


def test_small_floats_always_saturate(small):
    with pytest.raises(
        ArgumentError, match=f"`{dtypes.dtype(small)}` always saturates, and has no `sat=False` of `T.cast`"
    ):

        @T.prim_func
        def f(X: T.Tensor((32,), "float32"), Y: T.Tensor((32,), small)):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(32):
                    Y[i] = T.cast(X[i], small, sat=False)


@pytest.mark.parametrize("sat", [False, True])
def test_other_floats_never_saturate(run, sat):
    @T.prim_func
    def f(X: T.Tensor((32,), "float32"), Y: T.Tensor((32,), "float16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                Y[i] = T.cast(X[i], "float16", sat=sat)

    y = np.zeros(32, np.float16)
    run(f, np.full(32, 1e6, np.float32), y)
    assert np.isposinf(y).all()


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
def test_small_floats_become_others_exactly(run, small, target):
    x = codes(small)
    kind = getattr(ml_dtypes, target) if target == "bfloat16" else target
    y = np.zeros(N, kind)
    run(conversion(small, target, N), x, y)
    np.testing.assert_array_equal(y.astype(np.float64), x.astype(np.float64))


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_integers(run, small, name):
    x = np.random.default_rng(1).integers(-600, 600, N).astype(name)
    y = np.zeros(N, TYPES[small])
    run(conversion(name, small, N), x, y)
    same(y, narrowed(x, small))
    z = np.zeros(N, name)
    run(conversion(small, name, N), codes(small), z)
    wide = codes(small).astype(np.float64)
    if name == "bool":
        np.testing.assert_array_equal(z, (wide != 0) | np.isnan(wide))
    else:
        low, high = int(np.iinfo(name).min), int(np.iinfo(name).max)
        whole = [0 if v != v else high if v > high else low if v < low else int(v) for v in wide.tolist()]
        np.testing.assert_array_equal(z, np.array(whole, name))


def test_small_floats_become_each_other(run):
    x = codes("float8_e5m2")
    y = np.zeros(N, TYPES["float8_e4m3"])
    run(conversion("float8_e5m2", "float8_e4m3", N), x, y)
    same(y, narrowed(x, "float8_e4m3"))
    z = np.zeros(N, x.dtype)
    run(conversion("float8_e4m3", "float8_e5m2", N), y, z)
    same(z, narrowed(y, "float8_e5m2"))


def tiles(small):
    """Copies between all spaces, with and without conversion, fills, loops, selections and a reduction."""

    @T.prim_func
    def f(
        X: T.Tensor((100, 64), small),
        Y: T.Tensor((100, 64), small),
        Z: T.Tensor((100, 64), "float16"),
        W: T.Tensor((100,), small),
        H: T.Tensor((100, 64), "float16"),
        V: T.Tensor((100, 64), small),
    ):
        with T.Kernel(4, threads=128) as b:
            shared = T.alloc_shared((32, 64), small)
            mixed = T.alloc_shared((32, 64), small)
            fragment = T.alloc_fragment((32, 64), small)
            row = T.alloc_fragment((32,), small)
            wide = T.alloc_shared((32, 64), "float16")
            T.fill(fragment, 1.5)
            T.copy(fragment, Y[b * 32, 0])
            for _ in T.Pipelined(2, num_stages=2):
                T.copy(X[b * 32, 0], shared)
                T.copy(shared, fragment)
            T.copy(fragment, Z[b * 32, 0])
            T.reduce_max(fragment, row, dim=1)
            T.copy(row, W[b * 32])
            for i, j in T.Parallel(32, 64):
                mixed[i, j] = T.if_then_else(j % 2 == 0, fragment[i, j], T.cast(Y[b * 32 + i, j], small))
            T.copy(mixed, Y[b * 32, 0])
            T.copy(H[b * 32, 0], wide)
            T.copy(wide, V[b * 32, 0])

    return f


def test_tiles(run, small):
    x = np.where(np.isnan(codes(small, 6400).astype(np.float32)), 2, codes(small, 6400)).astype(TYPES[small])
    x = x.reshape(100, 64)
    h = numbers("float16")[:64].repeat(100).reshape(64, 100).T.copy()
    y, z, w, v = np.zeros_like(x), np.zeros((100, 64), np.float16), np.zeros(100, x.dtype), np.zeros_like(x)
    run(tiles(small), x, y, z, w, h, v)
    np.testing.assert_array_equal(z.astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(w.astype(np.float32), x.astype(np.float32).max(axis=1))
    np.testing.assert_array_equal(y.astype(np.float32)[:, ::2], x.astype(np.float32)[:, ::2])
    np.testing.assert_array_equal(y.astype(np.float32)[:, 1::2], 1.5)
    same(v, narrowed(h, small))


def test_a_number_beside_one_is_of_its_type(run, small):
    @T.prim_func
    def chosen(X: T.Tensor((64,), small), Y: T.Tensor((64,), small), n: T.int32):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                found = T.if_then_else(i < n, X[i], 1.3)
                assert found.dtype == X.dtype
                Y[i] = found

    x = np.ones(64, TYPES[small])
    y = np.zeros_like(x)
    run(chosen, x, y, 40)
    np.testing.assert_array_equal(y.astype(np.float32), np.where(np.arange(64) < 40, 1, 1.25))


def test_comparisons(run, small):
    @T.prim_func
    def compared(X: T.Tensor((256,), small), Y: T.Tensor((256,), small), R: T.Tensor((8, 256), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(256):
                x, y = X[i], Y[i]
                R[0, i] = x == y
                R[1, i] = x != y
                R[2, i] = x < y
                R[3, i] = x <= y
                R[4, i] = x > y
                R[5, i] = x >= y
                R[6, i] = x != 0
                R[7, i] = 1.3 < x  # 1.25, as a number of the type

    x, y = codes(small, 256), codes(small, 512)[256:]
    found = np.zeros((8, 256), np.int32)
    run(compared, x, y, found)
    a, b = x.astype(np.float32), y.astype(np.float32)
    expected = [a == b, a != b, a < b, a <= b, a > b, a >= b, a != 0, a > 1.25]
    np.testing.assert_array_equal(found, np.array(expected, np.int32))


def test_sparse_products(run, small):
    program, given, result, reference = sparse_case(TYPES[small], "float32", 16, False, False, True)
    run(program, *given, result)
    np.testing.assert_array_equal(result, reference())


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("chip", CHIPS)
def test_gpus_take_them(monkeypatch, small, chip, backend):
    monkeypatch.setenv("TL_EXECUTION_BACKEND", backend)
    kernel = tilec.compile(tiles(small), target=chip)
    assert kernel.get_kernel_source()


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_chips_with_an_instruction_use_it(small, source):
    """Nothing else: it rounds, saturates and keeps NaN as the language does."""
    name = small.removeprefix("float8_") + "x2"
    operand = "f16x2" if source == "float16" else "f32"
    for chip in CHIPS:
        ptx = tilec.compile(conversion(source, small, N), target=chip).get_ptx()
        assert (f"cvt.rn.satfinite.{name}.{operand}" in ptx) == (chip != "sm_80")
        assert chip == "sm_80" or not re.search(r"min\.|max\.|setp\.nan|selp\.f|abs\.", ptx)
        ptx = tilec.compile(conversion(small, source, N), target=chip).get_ptx()
        assert (f"cvt.rn.f16x2.{name}" in ptx) == (chip != "sm_80")


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_the_simulator_converts_alike(small, source, chip):
    x = numbers(getattr(ml_dtypes, source) if source == "bfloat16" else source)[: 2 * 256]
    found = [np.zeros(x.size, TYPES[small]) for _ in range(2)]
    for y, options in zip(found, ({"target": "cpu"}, {"target": chip, "backend": "sim"}), strict=True):
        tilec.compile(conversion(source, small, x.size), **options)(x, y)
    same(*found)


@pytest.mark.parametrize("target", ["cpu", "sm_80", "sm_90a"])
def test_the_greater_and_the_smaller_of_every_pair(small, target):
    a, b = pairs()
    found = np.full((3, a.size), 0x55, np.uint8)
    by = {} if target == "cpu" else {"backend": "sim"}
    tilec.compile(extremes_of_pairs(small), target=target, **by)(*(x.view(TYPES[small]) for x in (a, b, found)))
    assert_extremes(small, found)


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
@pytest.mark.parametrize("target", ["cpu", "sm_80", "sm_90a"])
def test_functions_that_give_numbers_of_the_type(kind, target):
    numpy_kind = getattr(ml_dtypes, kind)
    found = np.full((7, 256), 0x55, np.uint8).view(numpy_kind)
    by = {} if target == "cpu" else {"backend": "sim"}
    tilec.compile(own_numbers(kind), target=target, **by)(np.arange(256, dtype=np.uint8).view(numpy_kind), found)
    assert_own_numbers(numpy_kind, found)
