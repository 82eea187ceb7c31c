"""Programs with one mistake each, and what a checked call says of it; for tests of every target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tilec.language as T


@dataclass
class Case:
    """A program, its arguments, the error's attributes, and what the arguments hold afterwards."""

    function: Any
    arguments: list[np.ndarray]
    error: dict[str, Any]
    """Attributes of the error; `line` is a piece of the source line."""
    after: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.name


def _floats(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


def _read_of_a_tensor() -> Case:
    @T.prim_func
    def read_of_a_tensor(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            for i in T.Parallel(64):
                B[bx * 64 + i] = A[bx * 64 + i + 1]

    error = {"kind": "bounds", "access": "read", "buffer": "A", "space": "tensor", "dimension": 0, "index": 128}
    error |= {"extent": 128, "block": (1,), "iteration": (63,), "thread": None, "line": "= A["}
    after = np.append(np.arange(1, 128), 0).astype(np.float32)
    return Case(read_of_a_tensor, [_floats(128), np.zeros(128, np.float32)], error, {1: after})


def _write_to_a_tensor() -> Case:
    @T.prim_func
    def write_to_a_tensor(A: T.Tensor((4, 8), "int32"), at: T.int32):
        with T.Kernel(1, 2, threads=32) as (bx, by):
            for i, j in T.Parallel(4, 8):
                if i == 2 and j == 5 and by == 1:
                    A[i, j + at] = 7

    error = {
        "kind": "bounds",
        "access": "write",
        "buffer": "A",
        "dimension": 1,
        "index": -6,
        "extent": 8,
        "iteration": (2, 5),
    }
    return Case(
        write_to_a_tensor,
        [np.ones((4, 8), np.int32), -11],  # type: ignore[list-item]
        {**error, "block": (0, 1), "line": "A[i, j + at]"},
        {0: np.ones((4, 8), np.int32)},
    )


def _run_time_extent() -> Case:
    @T.prim_func
    def run_time_extent(A: T.Tensor((T.dynamic("n"), 4), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            B[0] = A[7, 3]

    error = {
        "kind": "bounds",
        "access": "read",
        "buffer": "A",
        "dimension": 0,
        "index": 7,
        "extent": 5,
        "block": (0,),
        "iteration": None,
    }
    return Case(run_time_extent, [np.ones((5, 4), np.float32), _floats(1)], error, {1: np.zeros(1, np.float32)})


def _wide_index() -> Case:
    @T.prim_func
    def wide_index(A: T.Tensor((64,), "float32"), At: T.Tensor((1,), "int64")):
        with T.Kernel(1, threads=32):
            A[At[0]] = 5.0

    error = {"kind": "bounds", "access": "write", "buffer": "A", "dimension": 0, "index": 2**32 + 5, "extent": 64}
    return Case(wide_index, [np.zeros(64, np.float32), np.array([2**32 + 5])], error, {0: np.zeros(64, np.float32)})


def _shared_tile() -> Case:
    @T.prim_func
    def shared_tile(At: T.Tensor((32,), "int32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((16, 32), "float32")
            T.fill(S, 3.0)
            for i in T.Parallel(32):
                B[i] = S[At[i], i]

    indices = np.zeros(32, np.int32)
    indices[9] = 16
    error = {
        "kind": "bounds",
        "access": "read",
        "buffer": "S",
        "space": "shared",
        "dimension": 0,
        "index": 16,
        "extent": 16,
    }
    return Case(
        shared_tile,
        [indices, np.zeros(32, np.float32)],
        {**error, "iteration": (9,), "kernel": "shared_tile_kernel"},
        {1: np.full(32, 3, np.float32)},
    )


def _write_to_a_shared_tile() -> Case:
    @T.prim_func
    def write_to_a_shared_tile(At: T.Tensor((32,), "int64"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((32,), "float32")
            T.fill(S, 3.0)
            for i in T.Parallel(32):
                S[At[i]] = 4.0
            T.copy(S, B)

    indices = np.arange(32)
    indices[30] = -(2**40)
    after = np.where(np.arange(32) == 30, 3, 4).astype(np.float32)
    error = {"kind": "bounds", "access": "write", "buffer": "S", "index": -(2**40), "extent": 32, "iteration": (30,)}
    return Case(write_to_a_shared_tile, [indices, np.zeros(32, np.float32)], error, {1: after})


def _fragment() -> Case:
    @T.prim_func
    def fragment(n: T.int32, B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            F = T.alloc_fragment((32,), "float32")
            T.fill(F, 2.0)
            for i in T.Parallel(32):
                B[i] = F[i + n]

    error = {
        "kind": "bounds",
        "access": "read",
        "buffer": "F",
        "space": "fragment",
        "index": 32,
        "extent": 32,
        "iteration": (31,),
    }
    return Case(fragment, [1, np.zeros(32, np.float32)], error, {1: np.full(32, 2, np.float32)})  # type: ignore[list-item]


def _local_array() -> Case:
    @T.prim_func
    def local_array(n: T.int32, B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                L = T.alloc_local((4,), "float32")
                for k in T.serial(4):
                    L[k] = 1.0
                if i == 3:
                    L[n] = 9.0
                B[i] = L[0]

    error = {
        "kind": "bounds",
        "access": "write",
        "buffer": "L",
        "space": "local",
        "index": -1,
        "extent": 4,
        "iteration": (3,),
    }
    return Case(local_array, [-1, np.zeros(32, np.float32)], error, {1: np.ones(32, np.float32)})  # type: ignore[list-item]


def _part_of_a_tile() -> Case:
    @T.prim_func
    def part_of_a_tile(n: T.int32, A: T.Tensor((8, 32), "float32"), B: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((16, 32), "float32")
            T.fill(S, 1.0)
            T.copy(A[0:8, 0:32], S[n : n + 8, 0:32])
            T.copy(S, B)

    error = {
        "kind": "bounds",
        "access": "write",
        "buffer": "S",
        "dimension": 0,
        "index": 16,
        "extent": 16,
        "block": (0,),
    }
    arguments = [9, np.zeros((8, 32), np.float32), np.zeros((16, 32), np.float32)]
    return Case(part_of_a_tile, arguments, error, {2: np.ones((16, 32), np.float32)})  # type: ignore[list-item]


def _slot() -> Case:
    @T.prim_func
    def slot(n: T.int32, B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((2, 32), "float32")
            T.fill(S[n], 5.0)
            T.copy(S[0, 0:32], B)

    error = {"kind": "bounds", "access": "access", "buffer": "S", "dimension": 0, "index": 2, "extent": 2}
    return Case(slot, [2, np.zeros(32, np.float32)], error)  # type: ignore[list-item]


def _division() -> Case:
    @T.prim_func
    def division(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(64):
                B[i] = 100 // A[i]

    divisors = np.ones(64, np.int32)
    divisors[40] = 0
    after = np.full(64, 100, np.int32)
    after[40] = 0
    error = {"kind": "division", "access": "division", "buffer": None, "index": None, "iteration": (40,), "block": (0,)}
    return Case(division, [divisors, np.zeros(64, np.int32)], {**error, "line": "100 // A[i]"}, {1: after})


def _remainder_of_the_block() -> Case:
    @T.prim_func
    def remainder_of_the_block(A: T.Tensor((4,), "uint8"), B: T.Tensor((4,), "uint8")):
        with T.Kernel(4, threads=32) as bx:
            v = T.alloc_var("uint8")
            v = B[bx] % A[bx]
            B[bx] = v

    error = {"kind": "division", "access": "division", "iteration": None, "thread": None, "block": (2,)}
    divisors = np.array([1, 2, 0, 3], np.uint8)
    return Case(
        remainder_of_the_block,
        [divisors, np.full(4, 7, np.uint8)],
        error,
        {1: np.array([0, 1, 0, 1], np.uint8)},
    )


def _thread() -> Case:
    @T.prim_func
    def thread(A: T.Tensor((40,), "int32")):
        with T.Kernel(1, threads=48):
            tx = T.get_thread_binding()
            if tx != 41 and tx < 43:
                A[tx] = tx

    error = {"kind": "bounds", "access": "write", "buffer": "A", "extent": 40, "iteration": None, "block": (0,)}
    return Case(thread, [np.zeros(40, np.int32)], error, {0: np.arange(40, dtype=np.int32)})


def _choice_of_threads() -> Case:
    """The condition is the block's, and so is the divisor; the statement is one of each thread (semantics S4)."""

    @T.prim_func
    def choice_of_threads(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1, threads=64):
            t = T.get_thread_binding()
            B[t] = T.if_then_else(A[0] > 0, t + 100 // n, 7)

    after = np.arange(64, dtype=np.int32)
    error = {"kind": "division", "access": "division", "iteration": None, "block": (0,), "line": "t + 100 // n"}
    arguments = [np.ones(64, np.int32), np.zeros(64, np.int32), 0]
    return Case(choice_of_threads, arguments, error, {1: after})  # type: ignore[arg-type]


def _uninitialized_tile() -> Case:
    @T.prim_func
    def uninitialized_tile(B: T.Tensor((8, 8), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((8, 8), "float32")
            for i, j in T.Parallel(8, 8):
                if i != 3 or j != 5:
                    S[i, j] = 1.0
            for i, j in T.Parallel(8, 8):
                B[i, j] = S[i, j]

    error = {
        "kind": "uninitialized",
        "access": "read",
        "buffer": "S",
        "index": (3, 5),
        "iteration": (3, 5),
        "extent": None,
    }
    return Case(uninitialized_tile, [np.zeros((8, 8), np.float32)], {**error, "line": "B[i, j] = S[i, j]"})


def _uninitialized_copy() -> Case:
    @T.prim_func
    def uninitialized_copy(B: T.Tensor((64,), "float16")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((64,), "float16")
            F = T.alloc_fragment((64,), "float16")
            for i in T.Parallel(63):
                S[i] = 1.0
            T.copy(S, F)
            T.copy(F, B)

    error = {
        "kind": "uninitialized",
        "buffer": "F",
        "space": "fragment",
        "index": (63,),
        "iteration": None,
        "block": (0,),
    }
    return Case(uninitialized_copy, [np.zeros(64, np.float16)], {**error, "line": "T.copy(F, B)"})


def _uninitialized_accumulator() -> Case:
    @T.prim_func
    def uninitialized_accumulator(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.copy(A, As)
            T.gemm(As, As, acc)
            T.copy(acc, C)

    error = {"kind": "uninitialized", "buffer": "acc", "block": (0,), "line": "T.gemm("}
    return Case(uninitialized_accumulator, [np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)], error)


def _uninitialized_variable() -> Case:
    @T.prim_func
    def uninitialized_variable(n: T.int32, B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(32):
                v = T.alloc_var("int32")
                if i < n:
                    v = i
                B[i] = v

    error = {
        "kind": "uninitialized",
        "buffer": "v",
        "space": "local",
        "index": (0,),
        "iteration": (31,),
        "line": "B[i] = v",
    }
    return Case(uninitialized_variable, [31, np.zeros(32, np.int32)], error)  # type: ignore[list-item]


def _uninitialized_reduction() -> Case:
    @T.prim_func
    def uninitialized_reduction(A: T.Tensor((8, 32), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            F = T.alloc_fragment((8, 32), "float32")
            m = T.alloc_fragment((8,), "float32")
            for i, j in T.Parallel(8, 31):
                F[i, j] = A[i, j]
            T.reduce_max(F, m, dim=1)
            T.copy(m, B)

    error = {"kind": "uninitialized", "buffer": "F", "line": "T.reduce_max"}
    return Case(uninitialized_reduction, [np.zeros((8, 32), np.float32), np.zeros(8, np.float32)], error)


def mistaken() -> list[Case]:
    """Returns all of them."""
    made = [
        _read_of_a_tensor,
        _write_to_a_tensor,
        _run_time_extent,
        _wide_index,
        _shared_tile,
        _write_to_a_shared_tile,
        _fragment,
        _local_array,
        _part_of_a_tile,
        _slot,
        _division,
        _remainder_of_the_block,
        _thread,
        _choice_of_threads,
        _uninitialized_tile,
        _uninitialized_copy,
        _uninitialized_accumulator,
        _uninitialized_variable,
        _uninitialized_reduction,
    ]
    return [make() for make in made]


def check(case: Case, error: Any) -> None:
    """Compares an error, and what the arguments hold, with what is expected."""
    import linecache

    for name, value in case.error.items():
        if name == "line":
            assert value in linecache.getline(error.location.file, error.location.line)
        else:
            assert getattr(error, name) == value, (name, getattr(error, name), value)
    for number, values in case.after.items():
        np.testing.assert_array_equal(case.arguments[number], values)
