"""Kernels that call functions of their own sources in CUDA C++, and what they compute.

test_externs.py compiles them, and test/integration/test_externs.py runs them on a GPU.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import tilec.language as T


@dataclass
class Case:
    """A program of inputs and one output, a part of the text that it calls, and what it computes."""

    program: Any
    text: str
    inputs: Any
    expected: Any


CASES = {}
RNG = np.random.default_rng(0)
N = 256

HALVE = "__device__ float halve(float x) { return 0.5f * x; }"


@T.prim_func
def a_number(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
    with T.Kernel(2, threads=64, prelude=HALVE) as b:
        for i in T.Parallel(N // 2):
            Y[b * (N // 2) + i] = T.call_extern("float32", "halve", X[b * (N // 2) + i])


CASES["a number"] = Case(a_number, "halve(", [RNG.standard_normal(N).astype(np.float32)], lambda x: x / 2)

# Does not come back from numbers that are not positive.
DOUBLINGS = """
namespace count {
template <typename T> __device__ int doublings(T x, int limit) {
  int n = 0;
  for (; x < limit; x *= 2) ++n;
  return n;
}
}
"""


@T.prim_func
def behind_a_condition(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "int32")):
    with T.Kernel(1, threads=64):
        T.import_source(DOUBLINGS)
        for i in T.Parallel(N):
            if X[i] > 0:
                Y[i] = T.call_extern("int32", "count::doublings<float>", X[i], 100)
            else:
                Y[i] = -1


CASES["behind a condition"] = Case(
    behind_a_condition,
    "doublings",
    [np.where(np.arange(N) % 3, RNG.uniform(0.1, 200, N), -1).astype(np.float32)],
    lambda x: np.where(x > 0, np.maximum(np.ceil(np.log2(100 / np.maximum(x, 0.1).astype(np.float64))), 0), -1),
)

DECODE = """
template <typename T1, typename T2>
__device__ void decode(T1 *packed, T2 *out, const int n = 8) {
  uint words = *reinterpret_cast<uint *>(packed);
  for (int i = 0; i < n; ++i)
    out[i] = T2(float(int(words >> (4 * i) & 15) - 8));
}
"""


@T.prim_func
def pointers_of_threads(P: T.Tensor((N, 4), "uint8"), Y: T.Tensor((N, 8), "float16")):
    with T.Kernel(N // 32, threads=32) as b:
        T.import_source(DECODE)
        t = T.get_thread_binding()
        packed = T.alloc_local((4,), "uint8")
        numbers = T.alloc_local((8,), "float16")
        for k in T.vectorized(4):
            packed[k] = P[b * 32 + t, k]
        T.call_extern("handle", "decode", T.address_of(packed[0]), T.address_of(numbers[0]), 8)
        for k in T.vectorized(8):
            Y[b * 32 + t, k] = numbers[k]


def decoded(p):
    return np.stack([p & 15, p >> 4], -1).reshape(N, 8).astype(np.int32) - 8


CASES["pointers of threads"] = Case(
    pointers_of_threads, "decode", [RNG.integers(0, 256, (N, 4)).astype(np.uint8)], decoded
)


@T.prim_func
def pointers_of_iterations(P: T.Tensor((N, 4), "uint8"), Y: T.Tensor((N, 8), "float16")):
    with T.Kernel(1, threads=64):
        T.import_source(DECODE)
        for i in T.Parallel(N):
            T.call_extern("handle", "decode", T.access_ptr(P[i, 0], "r", 4), T.access_ptr(Y[i, 0], "w", 8))


CASES["pointers of iterations"] = Case(
    pointers_of_iterations, "decode", [RNG.integers(0, 256, (N, 4)).astype(np.uint8)], decoded
)


@T.prim_func
def a_type_of_nothing(P: T.Tensor((N, 4), "uint8"), Y: T.Tensor((N, 8), "float16")):
    with T.Kernel(1, threads=64):
        T.import_source(DECODE)
        for i in T.Parallel(N):
            T.call_extern("decode", T.access_ptr(P[i, 0], "r", 4), T.access_ptr(Y[i, 0], "w", 8), dtype="float16")


CASES["a type by its name, of a function that returns nothing"] = Case(
    a_type_of_nothing, "decode", [RNG.integers(0, 256, (N, 4)).astype(np.uint8)], decoded
)

ROTATE = """
__device__ int rotate(int64_t *x, unsigned by) {
  int64_t first = x[0];
  x[0] = x[1] + by; x[1] = first;
  return by + 1;
}
"""


@T.prim_func
def a_pointer_and_a_result(X: T.Tensor((N, 2), "int64"), Y: T.Tensor((N, 3), "int64")):
    with T.Kernel(N, threads=32) as b:
        T.import_source(ROTATE)
        pair = T.alloc_shared((2,), "int64")
        T.copy(X[b, 0], pair)
        Y[b, 2] = T.call_extern("int64", "rotate", T.access_ptr(pair, "rw", 2), T.uint32(7))
        T.copy(pair, Y[b, 0:2])


CASES["a pointer and a result"] = Case(
    a_pointer_and_a_result,
    "rotate",
    [RNG.integers(-9, 9, (N, 2))],
    lambda x: np.stack([x[:, 1] + 7, x[:, 0], np.full(N, 8)], -1),
)


@T.prim_func
def a_pointer_of_threads(X: T.Tensor((N, 2), "int64"), Y: T.Tensor((N, 3), "int64")):
    with T.Kernel(N // 64, threads=64) as b:
        T.import_source(ROTATE)
        t = T.get_thread_binding()
        pair = T.alloc_local((2,), "int64")
        for k in T.serial(2):
            pair[k] = X[b * 64 + t, k]
        Y[b * 64 + t, 2] = T.call_extern("int64", "rotate", T.address_of(pair[0]), T.uint32(7))
        for k in T.serial(2):
            Y[b * 64 + t, k] = pair[k]


CASES["a pointer of threads"] = Case(
    a_pointer_of_threads, "rotate", CASES["a pointer and a result"].inputs, CASES["a pointer and a result"].expected
)
