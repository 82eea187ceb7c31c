"""Programs that print, and the text that they print on every target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tilec.language as T


@dataclass
class Case:
    """A program, its arguments, the lines that a call prints, and what the arguments hold afterwards."""

    function: Any
    arguments: list[np.ndarray]
    lines: list[str]
    after: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.name


def _floats(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _statements_of_blocks() -> Case:
    @T.prim_func
    def statements_of_blocks(A: T.Tensor((4, 8), "float32")):
        with T.Kernel(2, 2, threads=64) as (bx, by):
            T.print("begin")
            T.print(bx * 10 + by)
            A[bx * 2 + by, 0] = 0.5
            T.print(A[bx * 2 + by, 0], msg="then")
            T.print(A[bx * 2 + by, 1] / 3, "a third")

    lines: list[str] = []
    for bx in range(2):
        for by in range(2):
            who = f"block ({bx}, {by}): "
            row = bx * 2 + by
            third = repr(float(np.format_float_positional(np.float32(row * 8 + 1) / np.float32(3), unique=True)))
            lines += [f"{who}begin", f"{who}bx * 10 + by = {bx * 10 + by}", f"{who}then: A[bx * 2 + by, 0] = 0.5"]
            lines += [f"{who}a third: A[bx * 2 + by, 1] / 3 = {third}"]
    after = _floats(4, 8)
    after[:, 0] = 0.5
    return Case(statements_of_blocks, [_floats(4, 8)], lines, {0: after})


def _iterations() -> Case:
    @T.prim_func
    def iterations(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 8), "float32")):
        with T.Kernel(2, threads=32) as b:
            for i, j in T.Parallel(2, 8):
                x = A[b * 2 + i, j]
                if j % 3 == 1:
                    T.print(x, msg="one")
                    for k in range(2):
                        T.print(k)
                B[b * 2 + i, j] = x + 1

    lines: list[str] = []
    for b in range(2):
        for i in range(2):
            for j in (1, 4, 7):
                who = f"block ({b},), iteration ({i}, {j}): "
                lines += [f"{who}one: x = {(b * 2 + i) * 8.0 + j}", f"{who}k = 0", f"{who}k = 1"]
    return Case(iterations, [_floats(4, 8), np.zeros((4, 8), np.float32)], lines, {1: _floats(4, 8) + 1})


def _threads() -> Case:
    @T.prim_func
    def threads(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            t = T.get_thread_binding()
            if t % 20 == 3:
                T.print(t, msg="early")
                for k in range(t // 20):
                    T.print(k + t)
            A[t] = t * 2
            if t == 63:
                T.print(msg="last")

    lines: list[str] = []
    for t in (3, 23, 43, 63):
        who = f"block (0,), thread {t}: "
        lines += [f"{who}early: t = {t}", *(f"{who}k + t = {k + t}" for k in range(t // 20))]
    lines += ["block (0,), thread 63: last"]
    return Case(threads, [np.zeros(64, np.int32)], lines, {0: np.arange(64, dtype=np.int32) * 2})


def _every_thread() -> Case:
    @T.prim_func
    def every_thread(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            t = T.get_thread_binding()
            T.print(A[t])
            T.print(t - t)
            T.print(A[3])

    lines = [f"block (0,), thread {t}: A[t] = {t}" for t in range(4)]
    lines += [f"block (0,), thread {t}: t - t = 0" for t in range(4)] + ["block (0,): A[3] = 3"]
    return Case(every_thread, [np.arange(4, dtype=np.int32)], lines)


def _tiles() -> Case:
    @T.prim_func
    def tiles(A: T.Tensor((4, 3), "float32"), B: T.Tensor((4, 3), "float16")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4, 3), "float32")
            F = T.alloc_fragment((4, 3), "float16")
            L = T.alloc_local((2,), "int8")
            T.copy(A, S)
            T.copy(S, F)
            L[0] = -1
            L[1] = 100
            T.print(S)
            for i, j in T.Parallel(4, 3):
                F[i, j] = F[i, j] * T.float16(0.1)
            T.print(F, msg="scaled")
            T.print(S[1:3, 2])
            T.print(A[3, 0:2])
            T.print(L)
            T.copy(F, B)

    scaled = (_floats(4, 3).astype(np.float16) * np.float16(0.1)).astype(np.float16)
    texts = [f"{float(x):.5g}" for x in scaled.reshape(-1)]
    texts = [t if "." in t else f"{t}.0" for t in texts]
    width = max(map(len, texts))
    padded = [t.rjust(width) for t in texts]
    rows = ["[" + ", ".join(padded[r * 3 : r * 3 + 3]) + "]" for r in range(4)]
    lines = [
        "block (0,): S, float32 (4, 3) in shared memory:",
        "  [[ 0.0,  1.0,  2.0],",
        "   [ 3.0,  4.0,  5.0],",
        "   [ 6.0,  7.0,  8.0],",
        "   [ 9.0, 10.0, 11.0]]",
        "block (0,): scaled: F, float16 (4, 3) in a fragment:",
        f"  [{rows[0]},",
        f"   {rows[1]},",
        f"   {rows[2]},",
        f"   {rows[3]}]",
        "block (0,): S[1:3, 2], float32 (2,) in shared memory:",
        "  [5.0, 8.0]",
        "block (0,): A[3, 0:2], float32 (2,) in device memory:",
        "  [ 9.0, 10.0]",
        "block (0,): L, int8 (2,) in a local array:",
        "  [ -1, 100]",
    ]
    return Case(tiles, [_floats(4, 3), np.zeros((4, 3), np.float16)], lines, {1: scaled})


def _types() -> Case:
    @T.prim_func
    def types(A: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=32):
            x = A[0]
            T.print(T.cast(x, "uint8"))
            T.print(T.cast(x, "int8"))
            T.print(T.cast(x, "uint64"))
            T.print(T.cast(x, "int64") * 4294967296)
            T.print(T.cast(x, "float64") / 3)
            T.print(T.cast(x, "bfloat16") * T.bfloat16(0.01))
            T.print(T.cast(x, "float8_e4m3"))
            T.print(x < 0)
            T.print(T.cast(x, "float32") * 1e30 * 1e30)
            T.print(x)
            T.print(3)
            T.print(2.5)

    lines = [
        'T.cast(x, "uint8") = 253',
        'T.cast(x, "int8") = -3',
        'T.cast(x, "uint64") = 18446744073709551613',
        'T.cast(x, "int64") * 4294967296 = -12884901888',
        'T.cast(x, "float64") / 3 = -1.0',
        'T.cast(x, "bfloat16") * T.bfloat16(0.01) = -0.03003',
        'T.cast(x, "float8_e4m3") = -3.0',
        "x < 0 = True",
        'T.cast(x, "float32") * 1e30 * 1e30 = -inf',
        "x = -3",
        "3 = 3",
        "2.5 = 2.5",
    ]
    return Case(types, [np.array([-3, 0], np.int32)], [f"block (0,): {line}" for line in lines])


def _loops() -> Case:
    @T.prim_func
    def loops(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 16), "float16")
            Bs = T.alloc_shared((16, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 16], As)
                T.copy(A[k * 16, 0], Bs)
                T.gemm(As, Bs, acc)
                T.print(k, msg="step")
                if k % 2 == 1:
                    T.print(acc[0:1, 0:4])
                    T.print(Bs[3, 5])
            T.copy(acc, C)

    a = (np.arange(64 * 64).reshape(64, 64) % 7 - 3).astype(np.float16)
    lines: list[str] = []
    for k in range(4):
        lines.append(f"block (0,): step: k = {k}")
        if k % 2:
            part = a[:, : k * 16 + 16].astype(np.float32) @ a[: k * 16 + 16].astype(np.float32)
            texts = [str(float(x)) for x in part[0, :4]]
            width = max(map(len, texts))
            row = ", ".join(t.rjust(width) for t in texts)
            lines += ["block (0,): acc[0:1, 0:4], float32 (1, 4) in a fragment:", f"  [[{row}]]"]
            lines.append(f"block (0,): Bs[3, 5] = {float(a[k * 16 + 3, 5])}")
    product = a.astype(np.float32) @ a.astype(np.float32)
    return Case(loops, [a, np.zeros((64, 64), np.float32)], lines, {1: product})


def _kernels() -> Case:
    @T.prim_func
    def kernels(A: T.Tensor((2,), "int32")):
        with T.Kernel(2, threads=32) as b:
            T.print(b, "first")
            A[b] = b
        with T.Kernel(1, threads=32):
            T.print(A[1], "second")

    lines = [f"kernel `kernels_kernel`, block ({b},): first: b = {b}" for b in range(2)]
    lines.append("kernel `kernels_kernel_0`, block (0,): second: A[1] = 1")
    return Case(kernels, [np.zeros(2, np.int32)], lines)


def _large() -> Case:
    """A tile that takes loops, and a branch that most blocks do not take."""

    @T.prim_func
    def large(A: T.Tensor((6, 40, 48), "int32")):
        with T.Kernel(6, threads=128) as b:
            S = T.alloc_shared((40, 48), "int32")
            T.copy(A[b, 0:40, 0:48], S)
            if b == 4:
                T.print(S)

    a = np.arange(6 * 40 * 48, dtype=np.int32).reshape(6, 40, 48)
    rows = ["[" + ", ".join(str(x) for x in row) + "]" for row in a[4]]
    lines = ["block (4,): S, int32 (40, 48) in shared memory:", f"  [{rows[0]},"]
    lines += [f"   {row}," for row in rows[1:-1]] + [f"   {rows[-1]}]"]
    return Case(large, [a], lines)


def _elements() -> Case:
    """Tiles of types that no register holds by itself."""

    @T.prim_func
    def elements(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            small = T.alloc_shared((4,), "float8_e4m3")
            narrow = T.alloc_fragment((4,), "bfloat16")
            truth = T.alloc_shared((4,), "bool")
            wide = T.alloc_fragment((4,), "uint64")
            for i in T.Parallel(4):
                small[i] = T.cast(A[i], "float8_e4m3")
                narrow[i] = T.cast(A[i], "bfloat16")
                truth[i] = A[i] > 2
                wide[i] = T.cast(A[i], "uint64") * 4294967296
            T.print(small)
            T.print(narrow)
            T.print(truth)
            T.print(wide)

    lines = [
        "block (0,): small, float8_e4m3fn (4,) in shared memory:",
        "  [   0.0,   96.0, 0.1016,    2.0]",
        "block (0,): narrow, bfloat16 (4,) in a fragment:",
        "  [   0.0,  100.0, 0.1001,    2.0]",
        "block (0,): truth, bool (4,) in shared memory:",
        "  [False,  True, False, False]",
        "block (0,): wide, uint64 (4,) in a fragment:",
        "  [           0, 429496729600,            0,   8589934592]",
    ]
    return Case(elements, [np.array([0, 100, 0.1, 2], np.float32)], lines)


def cases() -> list[Case]:
    """Returns the programs, with arguments of their own."""
    return [
        _statements_of_blocks(),
        _iterations(),
        _threads(),
        _every_thread(),
        _tiles(),
        _types(),
        _loops(),
        _kernels(),
        _large(),
        _elements(),
    ]


def check(case: Case, printed: str, arguments: list[np.ndarray]) -> None:
    """Asserts that a call printed what it is to print, and wrote what it is to write."""
    assert printed.splitlines() == case.lines
    for number, expected in case.after.items():
        np.testing.assert_array_equal(arguments[number], expected)
