"""Vectors of two or more numbers: pairs of every type, and what is refused. What they mean: semantics M10."""

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, DTypeError, RangeError, ShapeError, TLSyntaxError

TARGETS = [{"target": "cpu"}, {"target": "sm_80", "backend": "sim"}, {"target": "sm_90a", "backend": "sim"}]


@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "sm_80", "sm_90a"])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_pairs_are_computed_as_numbers_are(name, options):
    dtype = np.dtype(getattr(ml_dtypes, name, name))

    @T.prim_func
    def f(X: T.Tensor((64,), name), Y: T.Tensor((64,), name), Z: T.Tensor((64,), name), R: T.Tensor((7, 64), name)):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            pair = T.Ramp(2 * t, 1, 2)
            R[0, pair] = T.add2(X[pair], Y[pair])
            R[1, pair] = T.sub2(X[pair], Y[pair])
            R[2, pair] = T.mul2(X[pair], Y[pair])
            R[3, pair] = T.fma2(X[pair], Y[pair], Z[pair])
            R[4, pair] = T.max2(X[pair], Y[pair])
            R[5, pair] = T.min2(X[pair], Y[pair])
            R[6, pair] = T.abs2(X[pair])

    random = np.random.default_rng(0)
    x, y, z = (random.standard_normal(64).astype(dtype) for _ in range(3))
    x[:4], y[:4] = [np.nan, 0.0, -0.0, np.inf], [1, -0.0, 0.0, -np.inf]
    found = np.zeros((7, 64), dtype)
    tilec.compile(f, **options)(x, y, z, found)
    wide = [a.astype(np.float64) for a in (x, y, z)]
    with np.errstate(invalid="ignore"):
        a, b, c = wide
        expected = [a + b, a - b, a * b, a * b + c, np.maximum(a, b), np.minimum(a, b), np.abs(a)]
        right = np.stack(expected).astype(dtype)
    np.testing.assert_array_equal(found.astype(np.float64), right.astype(np.float64))


@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "sm_80", "sm_90a"])
def test_packed_words_are_pairs(options):
    @T.prim_func
    def f(X: T.Tensor((8,), "uint32"), Y: T.Tensor((8,), "uint32"), Z: T.Tensor((8, 2), "bfloat16")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                pair = T.reinterpret(X[i], T.bfloat16x2)
                Y[i] = T.reinterpret(T.mul2(pair, T.bfloat16x2(2, 0.5)), "uint32")
                Z[i, 0:2] = T.bfloat16x2(T.float16x2(X[i] & 7))

    x = (np.arange(16) / 4).astype(ml_dtypes.bfloat16).view(np.uint32)
    y, z = np.zeros(8, np.uint32), np.zeros((8, 2), ml_dtypes.bfloat16)
    tilec.compile(f, **options)(x, y, z)
    expected = (np.arange(16) / 4).reshape(8, 2) * [2, 0.5]
    np.testing.assert_array_equal(y.view(ml_dtypes.bfloat16).reshape(8, 2), expected)
    np.testing.assert_array_equal(z, np.repeat((x & 7).reshape(8, 1), 2, axis=1))


def in_kernel(body):
    @T.prim_func
    def f(A: T.Tensor((8, 64), "float16"), B: T.Tensor((8, 64), "float32"), n: T.int32):
        with T.Kernel(1, threads=32):
            body(A, B, n)


def pair(tensor, lanes=2):
    return tensor[0, T.Ramp(0, 1, lanes)]


MISTAKES = [
    (lambda A, B, n: T.add2(A[0, 0], pair(A)), DTypeError, "`T.add2` needs a vector, such as"),
    (lambda A, B, n: T.add2(pair(A), pair(A, 4)), DTypeError, "two numbers of `float16`, .*, not a vector of 4"),
    (lambda A, B, n: T.fma2(pair(A), pair(B), pair(A)), DTypeError, "same dtype, not of `float16` and `float32`"),
    (lambda A, B, n: T.abs2(T.Ramp(0, 1, 2)), DTypeError, "not a vector of 2 numbers of `int32`"),
    (lambda A, B, n: T.Ramp(0, 1, n), ShapeError, "`lanes` of `T.Ramp` must be an integer that is known"),
    (lambda A, B, n: T.Broadcast(1, 0), ShapeError, "`lanes` of `T.Broadcast` must be positive, and 0 is not"),
    (lambda A, B, n: T.Shuffle([pair(A), pair(B)], [0]), DTypeError, "one type, not of `float16` and `float32`"),
    (lambda A, B, n: T.extract_lane(pair(A), 2), RangeError, "has no number 2"),
    (lambda A, B, n: T.vectorlow(pair(A, 3)), ShapeError, "needs a vector with two halves"),
    (lambda A, B, n: T.vectorhigh(pair(A, 4), "int8x2"), DTypeError, "gives a `float16x2` here, not `int8x2`"),
    (lambda A, B, n: T.vectorcombine(pair(A), pair(B)), DTypeError, "one type, not of `float16` and `float32`"),
    (lambda A, B, n: T.vectorcombine(pair(A), pair(A), "float16x2"), DTypeError, "gives a `float16x4` here"),
    (lambda A, B, n: T.float16x2(1, 2, 3), ShapeError, "`T.float16x2` is made of 2 numbers, and gets 3"),
    (lambda A, B, n: T.alloc_local(4, T.float16x2), DTypeError, "elements are scalars: use `float16`"),
    (lambda A, B, n: pair(A) + pair(A), TLSyntaxError, "is not one number"),
    (lambda A, B, n: pair(A) == pair(A), TLSyntaxError, "is not one number"),
    (lambda A, B, n: pair(A) != pair(A), TLSyntaxError, "is not one number"),
    (lambda A, B, n: T.Shuffle([], [0]), ArgumentError, "`T.Shuffle` needs vectors"),
    (lambda A, B, n: T.Shuffle([pair(A)], []), ArgumentError, "`T.Shuffle` needs vectors"),
    (lambda A, B, n: A[T.Ramp(0, 1, 2), T.Ramp(0, 1, 4)], ShapeError, "indices that are vectors have one length"),
    (lambda A, B, n: A[T.Ramp(0, 1, 2), 0:4], ShapeError, "and no slice is beside them"),
    (lambda A, B, n: A.__setitem__((0, T.Ramp(0, 1, 4)), pair(A)), ShapeError, "is assigned to 4 elements of `A`"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "error", "message"), MISTAKES)
def test_what_is_refused(body, error, message):
    with pytest.raises(error, match=message):
        in_kernel(body)


@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "sm_80", "sm_90a"])
def test_variables_may_be_vectors(options):
    @T.prim_func
    def f(X: T.Tensor((32, 2), "float16"), R: T.Tensor((6, 32, 2), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            pair = T.alloc_var(T.float16x2)
            total = T.alloc_var("float32x2", 1)
            pair = T.float16x2(X[t, 0], X[t, 1])
            before = pair
            for _ in T.serial(3):
                total = T.add2(total, T.float32x2(pair))
            R[0, t, 0:2] = T.float32x2(pair)
            R[1, t, 0:2] = total
            pair = T.Shuffle([pair], [1, 0])
            R[2, t, 0:2] = T.float32x2(pair)
            R[3, t, 0:2] = T.float32x2(before)
            if t % 2 == 0:
                pair = 7
            R[4, t, 0] = T.extract_lane(pair, 0)
            R[4, t, 1] = pair[1]
            total, pair = T.float32x2(pair), T.float16x2(total)
            R[5, t, 0:2] = T.add2(total, T.float32x2(pair))

    x = np.random.default_rng(1).integers(-8, 8, (32, 2)).astype(np.float16)
    found = np.zeros((6, 32, 2), np.float32)
    tilec.compile(f, **options)(x, found)
    swapped = np.where(np.arange(32)[:, None] % 2 == 0, 7, x[:, ::-1])
    np.testing.assert_array_equal(found, np.stack([x, 3 * x + 1, x[:, ::-1], x, swapped, swapped + 3 * x + 1]))


def test_a_variable_of_two_numbers_takes_two():
    with pytest.raises(ShapeError, match="a variable of 2 numbers of `float16` is assigned a vector of 4 numbers"):

        @T.prim_func
        def f(X: T.Tensor((4,), "float16")):
            with T.Kernel(1, threads=32):
                pair = T.alloc_var("float16x2")
                pair = X[T.Ramp(0, 1, 4)]
                X[0] = pair[0]

    with pytest.raises(TLSyntaxError, match="a variable of 2 numbers of `float16` is not one number: take them one by"):

        @T.prim_func
        def g(X: T.Tensor((4,), "float16")):
            with T.Kernel(1, threads=32):
                pair = T.alloc_var("float16x2", 0)
                X[0] = pair + 1


@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "sm_80", "sm_90a"])
def test_numbers_of_a_variable_can_be_assigned_to(options):
    @T.prim_func
    def f(X: T.Tensor((32,), "float16"), R: T.Tensor((2, 32, 2), "float16")):
        with T.Kernel(1, threads=32):
            pair = T.alloc_var("float16x2", 3)
            for i in T.Parallel(32):
                pair[0] = X[i]
                pair[-1] += X[i]
                R[0, i, 0:2] = pair
            pair = 5
            pair[1] = X[1]
            for i in T.Parallel(32):
                R[1, i, 0:2] = pair

    x = np.random.default_rng(1).integers(-8, 8, 32).astype(np.float16)
    found = np.zeros((2, 32, 2), np.float16)
    tilec.compile(f, **options)(x, found)
    np.testing.assert_array_equal(found, [np.stack([x, x + 3], 1), [[5, x[1]]] * 32])


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (lambda pair, other, x: pair.__setitem__(2, x), RangeError, "a variable of 2 .* has no number 2"),
        (lambda pair, other, x: pair.__setitem__(T.Cast("int32", x), x), TLSyntaxError, "to be an integer of Python"),
        (lambda pair, other, x: pair.load().__setitem__(0, x), TLSyntaxError, r'not .*`T.alloc_var\("float16x2"\)`'),
        (lambda pair, other, x: T.if_then_else(x > 0, pair, other), DTypeError, "numbers one by one, as in `vector"),
        (lambda pair, other, x: T.print(pair), DTypeError, r"take its numbers one by one, as in `vector\[0\]`"),
        (lambda pair, other, x: pair.set((2, 3)), TLSyntaxError, r"a tuple of Python: make .*, `T.float16x2\(...\)`"),
        (lambda pair, other, x: pair.set([2, 3]), TLSyntaxError, r"a list of Python: make .*, `T.float16x2\(...\)`"),
    ],
)  # fmt: skip
def test_what_a_variable_of_two_numbers_is_not(body, error, message):
    with pytest.raises(error, match=message):

        @T.prim_func
        def f(X: T.Tensor((4,), "float16")):
            with T.Kernel(1, threads=32):
                pair, other = T.alloc_var("float16x2", 0), T.alloc_var("float16x2", 0)
                body(pair, other, X[0])


@pytest.mark.parametrize("checks", [False, True])
def test_who_reads_a_number_of_a_variable_reads_no_other(checks):
    @T.prim_func
    def f(A: T.Tensor((32,), "int32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            pair = T.alloc_var("int32x2")
            pair[1] = A[0]
            for i in T.Parallel(32):
                pair[0] = A[i]
                B[i] = pair[0] * 2
            B[0] = pair[1]

    A, B = np.arange(7, 39, dtype=np.int32), np.zeros(32, np.int32)
    tilec.compile(f, target="cpu", checks=checks)(A, B)
    np.testing.assert_array_equal(B, [7, *(A[1:] * 2)])
