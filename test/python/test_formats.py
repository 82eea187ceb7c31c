"""Types whose elements are only stored, and numbers of 4 bits, of which two share a byte (semantics C5 and M12)."""

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from format_programs import CASES, FLOATS, check, decoded, encoded, pairs, taken_apart
from tilec.errors import DTypeError, ShapeError, SimulationError, StrideError

CHIPS = ["sm_80", "sm_90a"]


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_gpus_take_it_too(name):
    for chip in CHIPS:
        tilec.compile(CASES[name][0], target=chip)


def block_scales(m, n, block):
    """Quantises rows in blocks, with a power of two for each."""

    @T.prim_func
    def f(
        X: T.Tensor((m, n), "float32"),
        Q: T.Tensor((m, n), "float8_e4m3"),
        S: T.Tensor((m, n // block), "float8_e8m0fnu"),
        Y: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(m // 8, n // block, threads=128) as (b, c):
            x, most = T.alloc_fragment((8, block), "float32"), T.alloc_fragment((8,), "float32")
            scales = T.alloc_shared((8, 1), "float8_e8m0fnu")
            T.copy(X[b * 8, c * block], x)
            T.reduce_absmax(x, most, dim=1)
            for i in T.Parallel(8):
                scales[i, 0] = T.exp2(T.ceil(T.log2(T.max(most[i], 1e-4) / 448.0)))
            T.copy(scales, S[b * 8, c])
            for i, j in T.Parallel(8, block):
                Q[b * 8 + i, c * block + j] = x[i, j] / scales[i, 0].astype("float32")
            for i, j in T.Parallel(8, block):
                Y[b * 8 + i, c * block + j] = Q[b * 8 + i, c * block + j].astype("float32") * scales[i, 0].astype(
                    "float32"
                )

    return f


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_tensors_of_exponents(target):
    x = (np.random.default_rng(0).standard_normal((16, 256)) * 30).astype(np.float32)
    q, y = np.zeros((16, 256), ml_dtypes.float8_e4m3fn), np.zeros((16, 256), np.float32)
    scales = np.zeros((16, 2), ml_dtypes.float8_e8m0fnu)
    options = {} if target == "cpu" else {"backend": "sim"}
    tilec.compile(block_scales(16, 256, 128), target=target, **options)(x, q, scales, y)
    blocks = x.reshape(16, 2, 128)
    expected = np.exp2(np.ceil(np.log2(np.maximum(np.abs(blocks).max(-1), 1e-4) / 448)))
    np.testing.assert_array_equal(scales.astype(np.float32), expected)
    exact = (blocks / expected[..., None]).astype(ml_dtypes.float8_e4m3fn).reshape(16, 256)
    np.testing.assert_array_equal(q.view(np.uint8), exact.view(np.uint8))
    np.testing.assert_array_equal(y, exact.astype(np.float32) * np.repeat(expected, 128, axis=1))


@pytest.mark.parametrize("name", [n for n in FLOATS if n != "float4_e2m1fn"])
def test_tensors_come_in_the_types_of_other_libraries(name):
    kind = getattr(ml_dtypes, name)

    @T.prim_func
    def f(X: T.Tensor((256,), name), Y: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(256):
                Y[i] = X[i].astype("float32")

    kernel = tilec.compile(f, target="cpu")
    x, y = np.arange(256, dtype=np.uint8), np.zeros(256, np.float32)
    kernel(x.view(kind), y)
    np.testing.assert_array_equal(y, decoded(x, name))
    with pytest.raises(DTypeError, match="`X`"):
        kernel(x, y)


@pytest.mark.parametrize(("target", "options"), [("cpu", {}), *((chip, {"backend": "sim"}) for chip in CHIPS)])
def test_what_lies_between_rows_of_4_bits_stays(target, options):
    @T.prim_func
    def f(X: T.Tensor((6, 64), "int4"), Y: T.StridedTensor((6, 64), (96, 1), "int4")):
        with T.Kernel(3, threads=32) as b:
            tile = T.alloc_shared((2, 64), "int4")
            T.copy(X[b * 2, 0], tile)
            T.copy(tile, Y[b * 2, 0])

    x = np.random.default_rng(0).integers(0, 256, (6, 32)).astype(np.uint8)
    y = np.full((6, 48), 77, np.uint8)
    tilec.compile(f, target=target, **options)(x, y[:, :32])
    np.testing.assert_array_equal(y, np.concatenate([x, np.full((6, 16), 77, np.uint8)], 1))


@pytest.mark.parametrize("strides", [(65, 1), (2, 64), (1, T.dynamic("s"))])
def test_rows_of_4_bits_begin_with_whole_bytes(strides):
    with pytest.raises(ShapeError, match="its last stride is 1, and the others are even numbers, or symbols, not"):

        @T.prim_func
        def f(X: T.StridedTensor((6, 64), strides, "int4")):
            with T.Kernel(1, threads=32):
                pass


def test_symbols_of_4_bits_are_compared_between_tensors():
    @T.prim_func
    def f(X: T.Tensor((4, T.dynamic("n")), "int4"), Y: T.Tensor((4, T.dynamic("n")), "int32")):
        with T.Kernel(4, threads=32) as b:
            for i in T.serial(X.shape[1]):
                Y[b, i] = T.cast(X[b, i], "int32")

    kernel, x = tilec.compile(f, target="cpu"), np.zeros((4, 8), np.uint8)
    with pytest.raises(ShapeError, match="dimension 1 of `X` is 8, and `n / 2` is 7.5"):
        kernel(x, np.zeros((4, 15), np.int32))
    with pytest.raises(ShapeError, match="dimension 1 of `X` is 8, and `n / 2` is 9"):
        kernel(x, np.zeros((4, 18), np.int32))

    @T.prim_func
    def both(
        X: T.StridedTensor((4, 32), (T.dynamic("s"), 1), "int4"),
        Y: T.StridedTensor((3, 32), (T.dynamic("s"), 1), "int4"),
    ):
        with T.Kernel(1, threads=32):
            T.evaluate(X[0, 0])

    rows = np.zeros((8, 16), np.uint8)
    tilec.compile(both, target="cpu")(rows[::2], rows[1:7:2])
    with pytest.raises(StrideError, match="`s / 2`"):
        tilec.compile(both, target="cpu")(rows[::2], rows[:3])


def test_a_stride_of_4_bits_has_a_symbol_of_its_own():
    with pytest.raises(ShapeError, match="`s` is a stride of `X`, a tensor whose elements share bytes, and an extent"):

        @T.prim_func
        def f(X: T.StridedTensor((4, 8), (T.dynamic("s"), 1), "int4"), Y: T.Tensor((4, T.dynamic("s")), "int32")):
            with T.Kernel(1, threads=32):
                pass


def test_an_eager_function_binds_strides_in_elements():
    @tilec.jit
    def stride(X):
        M, N, S = T.const("M, N, S")
        X: T.StridedTensor[[M, N], [S, 1], T.float4_e2m1fn]
        Y = T.empty((1,), "int32")
        with T.Kernel(1, threads=32):
            Y[0] = S
        return Y

    assert stride(np.zeros((8, 16), np.uint8)[::2])[0] == 64


@pytest.mark.parametrize(("target", "options"), [("cpu", {}), *((chip, {"backend": "sim"}) for chip in CHIPS)])
def test_vectors_and_fills_of_4_bits_leave_what_is_beside_them(target, options):
    @T.prim_func
    def f(X: T.Tensor((64,), "int4"), Y: T.Tensor((3, 16), "int4")):
        with T.Kernel(1, threads=32):
            Y[0, T.Ramp(3, 1, 8)] = X[T.Ramp(1, 3, 8)]
            T.fill(Y[1, 1:4], 3)
            T.clear(Y[2, 2:9])

    x = np.random.default_rng(0).integers(0, 256, 32).astype(np.uint8)
    y = np.full((3, 8), 0x5A, np.uint8)
    exact = taken_apart(y)
    exact[0, 3:11] = taken_apart(x)[1:25:3]
    exact[1, 1:4] = 3
    exact[2, 2:9] = 0
    tilec.compile(f, target=target, **options)(x, y)
    np.testing.assert_array_equal(taken_apart(y), exact)


def test_results_of_calls():
    @tilec.jit
    def narrow(X):
        n = T.const("n")
        X: T.Tensor[[n, 64], T.float32]
        Q = T.empty((n, 64), "int4")
        S = T.empty((n,), "float8_e8m0fnu")
        with T.Kernel(n, threads=32) as b:
            row, codes = T.alloc_fragment((64,), "float32"), T.alloc_fragment((64,), "int4")
            T.copy(X[b, 0], row)
            T.copy(row, codes)
            T.copy(codes, Q[b, 0])
            S[b] = T.cast(row[0], "float8_e8m0fnu")
        return Q, S

    x = (np.random.default_rng(0).standard_normal((5, 64)) * 5).astype(np.float32)
    q, scales = narrow(x)
    assert q.shape == (5, 32)
    assert q.dtype == np.int8
    np.testing.assert_array_equal(q.view(np.uint8), pairs(encoded(x, "int4")))
    np.testing.assert_array_equal(scales.view(np.uint8), encoded(x[:, 0], "float8_e8m0fnu"))


def test_an_eager_function_takes_bytes():
    @tilec.jit
    def widen(Q):
        M, N = T.const("M, N")
        Q: T.Tensor[[M, N], T.uint4]
        Y = T.empty((M, N), "int32")
        with T.Kernel(M, threads=32) as b:
            row = T.alloc_fragment((N,), "uint4")
            T.copy(Q[b, 0], row)
            T.copy(row, Y[b, 0])
        return Y

    q = np.arange(64, dtype=np.uint8).reshape(4, 16)
    np.testing.assert_array_equal(widen(q), taken_apart(q))
    np.testing.assert_array_equal(widen(q.view(np.int8)), taken_apart(q))


def test_constants_are_converted_as_other_numbers():
    @T.prim_func
    def f(Y: T.Tensor((8,), "float32"), Z: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            for place, (number, name) in enumerate(
                (
                    (1e9, "float4_e2m1fn"),
                    (-0.3, "float4_e2m1fn"),
                    (2.5, "float4_e2m1fn"),
                    (-7.0, "float8_e8m0fnu"),
                    (3.0, "float8_e8m0fnu"),
                    (1e9, "float8_e4m3fnuz"),
                    (float("nan"), "float8_e4m3fnuz"),
                    (17.9, "int4"),
                )
            ):
                variable = T.alloc_var("float32", number)
                Y[place] = T.cast(T.cast(T.float32(number), name), "float32")
                Z[place] = T.cast(T.cast(variable, name), "float32")

    y, z = np.zeros(8, np.float32), np.zeros(8, np.float32)
    tilec.compile(f, target="cpu")(y, z)
    np.testing.assert_array_equal(y, [6, -0.5, 2, 2.0**-127, 4, 240, np.nan, 7])
    np.testing.assert_array_equal(z, y)


def test_a_copy_beside_assignments_of_another_block_is_a_race():
    """Who writes whole bytes is not taken for one who leaves neighbours alone."""

    @T.prim_func
    def f(Q: T.Tensor((64,), "int4")):
        with T.Kernel(2, threads=64) as b:
            tile = T.alloc_shared((64,), "int4")
            T.fill(tile, 3)
            if b == 0:
                T.copy(tile, Q)
            else:
                for i in T.Parallel(64):
                    Q[i] = tile[i]

    with pytest.raises(SimulationError, match="two of them touch the same element"):
        tilec.compile(f, target="sm_90a", backend="sim")(np.zeros(32, np.uint8))


def build(body):
    @T.prim_func
    def f(A: T.Tensor((8, 16), "int4"), B: T.Tensor((8, 16), "float32"), S: T.Tensor((8,), "float8_e8m0fnu")):
        with T.Kernel(1, threads=32):
            body(A, B, S)


def atomic(A, B, S):
    T.atomic_add(A[0, 0], 1)


def odd_place(A, B, S):
    T.copy(B[0:8, 0:4], A[0, 3])


def odd_extent(A, B, S):
    T.copy(B[0:8, 0:3], A[0, 2])


def arithmetic(A, B, S):
    B[0, 0] = A[0, 0] + 1


def arithmetic_with_exponents(A, B, S):
    B[0, 0] = S[0] * 2.0


def product_of_exponents(A, B, S):
    tile, acc = T.alloc_shared((16, 16), "float8_e8m0fnu"), T.alloc_fragment((16, 16), "float32")
    T.gemm(tile, tile, acc)


def other_type(A, B, S):
    T.view(A, (8, 16), "uint4")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (atomic, DTypeError, "int4"),
        (odd_place, ShapeError, "two `int4` of `A` share a byte.*an even place"),
        (odd_extent, ShapeError, "two `int4` of `A` share a byte.*an even extent"),
        (arithmetic, DTypeError, r'`\+` does not work on `int4`: convert it with `.astype\("int32"\)`'),
        (arithmetic_with_exponents, DTypeError, r"`\*` does not work on `float8_e8m0fnu`"),
        (product_of_exponents, DTypeError, "`T.gemm` does not work on `float8_e8m0fnu`"),
        (other_type, DTypeError, "`T.view` gives numbers of 4 bits no other type"),
    ],
)
def test_what_is_refused(body, error, message):
    with pytest.raises(error, match=message):
        build(body)


def test_the_last_extent_is_even():
    for shape in ((4, 7), ()):
        with pytest.raises(ShapeError, match="its last extent is an even number, or a symbol, not"):

            @T.prim_func
            def f(A: T.Tensor(shape, "uint4")):
                with T.Kernel(1):
                    pass


def test_a_number_of_such_a_type_is_no_parameter():
    with pytest.raises(DTypeError, match="a parameter that is a number is not of `int4`.*pass a `T.int8`"):

        @T.prim_func
        def f(x: T.int4, A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                A[0] = 1.0
