"""Loads and stores of words: what is refused, and what the compiler makes of them (semantics M8)."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, DTypeError, RangeError, ShapeError, TLSyntaxError


def in_kernel(body):
    @T.prim_func
    def f(A: T.Tensor((64, 32), "float32"), D: T.Tensor((64, 2), "float64"), P: T.Tensor((64,), "bool")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((64, 32), "float16")
            body(A, D, P, S)


MISTAKES = {
    ("takes another memory", ArgumentError, "is for a tensor, and `S` is a tile in shared memory: use `T.lds32`"):
        lambda A, D, P, S: T.ldg32(S[0, 0]),
    ("writes another memory", ArgumentError, "is for a tile in shared memory, and `A` is a tensor: use `T.stg64`"):
        lambda A, D, P, S: T.sts64(A[0, 0], 0),
    ("half an element", DTypeError, "`T.ldg32` is of 32 bits, and an element of `D` is a `float64`"):
        lambda A, D, P, S: T.ldg32(D[0, 0]),
    ("truth values", DTypeError, "an element of `P` is a `bool`"): lambda A, D, P, S: T.ldg32(P[0]),
    ("a row that is too short", RangeError, "is of 8 neighbours along the last dimension, and `buffer` has 4"):
        lambda A, D, P, S: T.lds128(T.alloc_shared((8, 4), "float16")[0, 0]),
    ("a region of another size", ArgumentError, "of 4 neighbours .*, and the region of `A` has 2 elements"):
        lambda A, D, P, S: T.ldg128(A[0, 0:2]),
    ("a column", ArgumentError, "the region of `A` has 4 x 1 elements"): lambda A, D, P, S: T.ldg128(A[0:4, 0:1]),
    ("a value that is too narrow", ArgumentError, "writes 8 bytes, and `value` is of 32 bits: 1 of `float32`"):
        lambda A, D, P, S: T.stg64(A[0, 0], T.float32(1)),
    ("a vector that is too wide", ArgumentError, "writes 4 bytes, and `value` is of 64 bits: 2 of `uint32`"):
        lambda A, D, P, S: T.stg32(A[0, 0], T.ldg64(A[0, 0])),
    ("no place", TLSyntaxError, "`T.ldg32` needs an element, such as `A.i, j.`, not `7`"):
        lambda A, D, P, S: T.ldg32(7),
    ("arithmetic with a vector", TLSyntaxError, "a vector of 2 numbers of `uint32` is not one number: take them"):
        lambda A, D, P, S: T.ldg64(A[0, 0]) + 1,
    ("a vector as a condition", TLSyntaxError, "is not one number"): lambda A, D, P, S: bool(T.ldg64(A[0, 0])),
    ("a number that is not there", RangeError, "a vector of 2 numbers of `uint32` has no number 2"):
        lambda A, D, P, S: T.ldg64(A[0, 0])[2],
    ("a computed number of a vector", TLSyntaxError, "has to be an integer of Python"):
        lambda A, D, P, S: T.ldg64(A[0, 0])[T.get_thread_binding()],
    ("other bits", DTypeError, "keeps the 64 bits of a vector of 2 numbers of `uint32`, not `float32x4`"):
        lambda A, D, P, S: T.reinterpret(T.ldg64(A[0, 0]), "float32x4"),
    ("another length", ShapeError, "is assigned to as many elements along the last dimension of `A`"):
        lambda A, D, P, S: A.__setitem__((0, slice(0, 4)), T.ldg64(A[0, 0])),
}  # fmt: skip


@pytest.mark.parametrize(("mistake", "body"), MISTAKES.items(), ids=lambda m: m[0] if isinstance(m, tuple) else "")
def test_what_is_refused(mistake, body):
    _, error, message = mistake
    with pytest.raises(error, match=message):
        in_kernel(body)


def test_neighbours_become_one_access():
    @T.prim_func
    def f(A: T.Tensor((64, 32), "float16"), B: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                T.stg128(B[i, 8], T.ldg128(A[i, 8]))

    ptx = tilec.compile(f, target="sm_90a").get_ptx()
    assert "ld.global.v4" in ptx
    assert "st.global.v4" in ptx


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_words_that_are_partly_outside(target, backend):
    @T.prim_func
    def f(A: T.Tensor((4, 6), "int32"), B: T.Tensor((4, 6), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                T.stg128(B[i, 3], T.ldg128(A[i, 4]))

    a, b = np.arange(1, 25, dtype=np.int32).reshape(4, 6), np.full((4, 6), 7, np.int32)
    tilec.compile(f, target=target, backend=backend)(a, b)
    np.testing.assert_array_equal(b, np.hstack([np.full((4, 3), 7), a[:, 4:], np.zeros((4, 1))]))


def test_bits_of_vectors_and_numbers():
    @T.prim_func
    def f(
        H: T.Tensor((4, 8), "float16"),
        B: T.Tensor((4, 2), "float16"),
        C: T.Tensor((4,), "float64"),
        D: T.Tensor((4, 4), "uint8"),
    ):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i, 0:2] = T.reinterpret(T.ldg32(H[i, 6]), "float16x2")
                C[i] = T.reinterpret(T.ldg64(H[i, 0:4]), "float64")
                D[i, 0:4] = T.reinterpret(T.cast(H[i, 0], "float32"), T.uint8x4)

    h = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float16)
    b, c, d = np.zeros((4, 2), np.float16), np.zeros(4), np.zeros((4, 4), np.uint8)
    tilec.compile(f, target="cpu")(h, b, c, d)
    np.testing.assert_array_equal(b, h[:, 6:])
    np.testing.assert_array_equal(c, h[:, :4].copy().view(np.float64)[:, 0])
    np.testing.assert_array_equal(d, h[:, :1].astype(np.float32).view(np.uint8))


@pytest.mark.parametrize(("target", "backend"), [("cpu", "cpu"), ("sm_90a", "sim")])
def test_neighbours_of_a_place_far_outside(target, backend):
    @T.prim_func
    def f(
        J: T.Tensor((1,), "uint32"),
        A: T.Tensor((8,), "uint8"),
        B: T.Tensor((8,), "uint8"),
        C: T.Tensor((8,), "uint8"),
        D: T.Tensor((1,), "uint32"),
    ):
        with T.Kernel(1, threads=32):
            D[0] = T.ldg32(A[J[0]])
            T.stg32(B[J[0]], 0x04030201)
            C[J[0] : J[0] + 4] = T.uint8x4(1, 2, 3, 4)

    place, a = np.array([2**32 - 2], np.uint32), np.arange(1, 9, dtype=np.uint8)
    b, c, d = np.zeros(8, np.uint8), np.zeros(8, np.uint8), np.full(1, 7, np.uint32)
    tilec.compile(f, target=target, backend=backend)(place, a, b, c, d)
    assert not b.any()
    assert not c.any()
    assert d[0] == 0
