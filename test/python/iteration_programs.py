"""Kernels whose iterations of a `T.Parallel` meet where one thread does both, and kernels beside them that are right.

A function of `RACING` returns a kernel that is wrong by P2 of the semantics: the line that a report must name for one
of its sides ends with `# one`, that of the other side with `# other`, and with `# both` if it is one line. Those of
`RIGHT` do what looks like it, and is no race. `A` holds the numbers 0 to 255, each with its neighbour's place, so that
it is a table of indices as well; `B` holds zeros. `THREADS` threads are fewer than iterations, unless a kernel is
about having more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilec.language as T

THREADS = 32

Program = Callable[[], Any]
RACING: list[Program] = []
RIGHT: list[Program] = []


def racing(program: Program) -> Program:
    RACING.append(program)
    return program


def right(program: Program) -> Program:
    RIGHT.append(program)
    return program


@racing
def neighbours_of_a_shared_tile() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                S[i ^ 1] = S[i] + i  # both
            T.copy(S, B[0])

    return f


@racing
def neighbours_of_a_tensor() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            for i in T.Parallel(256):
                A[i ^ 1] = A[i] + i  # both

    return f


@racing
def columns() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((16, 16), "int32")
            for i, j in T.Parallel(16, 16):
                S[i, j] = A[i * 16 + j]
            for i, j in T.Parallel(16, 16):
                S[i, j] = S[i, 15 - j] + 1  # both
            for i, j in T.Parallel(16, 16):
                B[i * 16 + j] = S[i, j]

    return f


@racing
def a_row_of_its_own_and_the_first_column() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((16, 16), "int32")
            for i, j in T.Parallel(16, 16):
                S[i, j] = A[i * 16 + j]
            for i, j in T.Parallel(16, 16):
                S[i, j] = S[i, j] * 2 + S[i, 0]  # both
            for i, j in T.Parallel(16, 16):
                B[i * 16 + j] = S[i, j]

    return f


@racing
def transposed_in_place() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((16, 16), "int32")
            for i, j in T.Parallel(16, 16):
                S[i, j] = A[i * 16 + j]
            for i, j in T.Parallel(16, 16):
                S[j, i] = S[i, j]  # both
            for i, j in T.Parallel(16, 16):
                B[i * 16 + j] = S[i, j]

    return f


@racing
def two_write_one_element() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            for i in T.Parallel(256):
                B[A[i] // 2] = i  # both

    return f


@racing
def two_lines_write_one_element() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            for i in T.Parallel(64):
                S[i] = i  # other
                S[i ^ 1] = -1  # one
            T.copy(S, B[0])

    return f


@racing
def one_line_writes_what_another_reads() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            for i in T.Parallel(64):
                S[i] = A[i]  # other
                B[i] = S[A[i]]  # one

    return f


@racing
def one_of_several_tiles() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S, R = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            T.copy(A[0], R)
            for i in T.Parallel(64):
                R[i] = R[i] + 1
                S[i] = S[i] + R[i]  # other
                B[i] = S[i] + R[i]
                S[i ^ 1] = S[i]  # one

    return f


@racing
def in_a_serial_loop() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                for k in T.serial(3):
                    S[i] = S[i] + S[(i + k) % 64]  # both
            T.copy(S, B[0])

    return f


@racing
def in_a_loop_of_the_iteration() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                x = T.alloc_var("int32")
                x = A[i]
                while x > 3:
                    x = x // 2
                S[i ^ 1] = S[i] + x  # both
            T.copy(S, B[0])

    return f


@racing
def in_a_branch() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                if i % 2 == 0:
                    B[i] = S[i + 1]  # other
                else:
                    S[i] = -i  # one
            for i in T.Parallel(64):
                B[i + 64] = S[i]

    return f


@racing
def a_tile_that_is_shifted() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((264,), "int32")
            for i in T.Parallel(264):
                S[i] = i * i
            for i in T.Parallel(256):
                S[i + 4] = S[i]  # both
            for i in T.Parallel(256):
                B[i] = S[i]

    return f


@racing
def vectors_of_halves() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((512,), "float16")
            for i in T.Parallel(512):
                S[i] = T.cast(i, "float16")
            for i in T.Parallel(256):
                S[i * 2] = S[i] + T.cast(1, "float16")  # both
            for i in T.Parallel(256):
                B[i] = T.cast(S[i], "int32")

    return f


@racing
def one_element_for_several() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            for i in T.Parallel(256):
                S[i] = S[i // 4]  # both
            T.copy(S, B)

    return f


@racing
def an_element_that_all_read() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            for i in T.Parallel(256):
                S[i] = S[0] + i + 1  # both
            T.copy(S, B)

    return f


@racing
def a_count_without_an_atomic_operation() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((8,), "int32")
            T.fill(S, 0)
            for i in T.Parallel(256):
                S[A[i] % 8] += 1  # both
            T.copy(S, B[0])

    return f


@racing
def a_plain_read_beside_atomic_operations() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                T.atomic_add(S[i ^ 1], 1)  # other
                B[i] = S[i]  # one

    return f


@racing
def a_plain_write_beside_atomic_operations() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            for i in T.Parallel(64):
                if i % 2 == 0:
                    B[i // 2] = 7  # other
                T.atomic_add(B[i // 2], 1)  # one

    return f


@racing
def a_slot_of_a_tile() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((2, 64), "int32")
            for i in T.Parallel(64):
                S[0, i] = A[i]
                S[1, i] = A[i]
            for k in T.serial(2):
                for i in T.Parallel(64):
                    S[k, i ^ 1] = S[k, i] + i  # both
            for i in T.Parallel(64):
                B[i] = S[1, i]

    return f


@racing
def a_tile_by_two_shapes() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            R = T.reshape(S, (16, 16))
            T.copy(A, S)
            for i, j in T.Parallel(16, 16):
                R[i, j] = S[i * 16 + (j ^ 1)] + i  # both
            T.copy(S, B)

    return f


@racing
def far_iterations_of_a_thread() -> Any:
    """A thread does them in rounds, and the two are of different ones."""

    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((4096,), "int32")
            for i in T.Parallel(4096):
                S[i] = i
            for i in T.Parallel(4096):
                S[(i + 2048) % 4096] = S[i]  # both
            for i in T.Parallel(256):
                B[i] = S[i * 16]

    return f


@racing
def an_odd_number_of_iterations() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((77,), "int32")
            for i in T.Parallel(77):
                S[i] = A[i]
            for i in T.Parallel(77):
                S[76 - i] = S[i]  # both
            for i in T.Parallel(77):
                B[i] = S[i]

    return f


@racing
def a_fragment_at_another_index() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            F = T.alloc_fragment((64,), "int32")
            T.copy(A[0], F)
            for i in T.Parallel(64):
                F[i ^ 1] = F[i] + i  # both
            T.copy(F, B[0])

    return f


@racing
def a_fragment_in_registers() -> Any:
    """A thread has whole rows, and nothing goes through memory."""

    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            F = T.alloc_fragment((64, 4), "int32")
            T.copy(T.reshape(A, (64, 4)), F)
            for i, j in T.Parallel(64, 4):
                F[i, j] = F[i, j] + F[i, 0]  # both
            T.copy(F, T.reshape(B, (64, 4)))

    return f


@racing
def a_fragment_in_registers_and_a_condition() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            F = T.alloc_fragment((64, 4), "int32")
            T.copy(T.reshape(A, (64, 4)), F)
            for i, j in T.Parallel(64, 4):
                if j < 1 + A[i] // 300:
                    F[i, j] = -1  # other
                else:
                    B[i * 4 + j] = F[i, 0]  # one

    return f


@racing
def a_fragment_in_a_loop_of_the_iteration() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            F = T.alloc_fragment((64, 4), "int32")
            T.copy(T.reshape(A, (64, 4)), F)
            for i, j in T.Parallel(64, 4):
                x = T.alloc_var("int32")
                x = F[i, 0]  # one
                while x > 3:
                    x = x // 2
                F[i, j] = x + 1  # other
            T.copy(F, T.reshape(B, (64, 4)))

    return f


@racing
def more_threads_than_iterations() -> Any:
    """Threads run copies of iterations, which keep in step by barriers: threads have an order, iterations have none."""

    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=128):
            S, F = T.alloc_shared((32,), "int32"), T.alloc_fragment((32,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(32):
                F[i] = S[i]  # other
                S[i ^ 1] = F[i] + i  # one
            T.copy(F, B[0])
            T.copy(S, B[32])

    return f


@right
def its_own_element() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                S[i] = S[i] * 2
                S[63 - i ^ 63] += 1
                A[i + 64] = A[i + 64] + S[i]
            T.copy(S, B[0])

    return f


@right
def neighbours_of_another_tile() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S, R = T.alloc_shared((64,), "int32"), T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                R[i ^ 1] = S[i]
            T.copy(R, B[0])

    return f


@right
def transposed_to_another_tile() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((16, 16), "int32")
            for i, j in T.Parallel(16, 16):
                S[j, i] = A[i * 16 + j]
            for i, j in T.Parallel(16, 16):
                B[i * 16 + j] = S[i, j]

    return f


@right
def swapped_by_one_of_two() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((16, 16), "int32")
            for i, j in T.Parallel(16, 16):
                S[i, j] = A[i * 16 + j]
            for i, j in T.Parallel(16, 16):
                if i < j:
                    x = T.alloc_var("int32")
                    x = S[i, j]
                    S[i, j] = S[j, i]
                    S[j, i] = x
            for i, j in T.Parallel(16, 16):
                B[i * 16 + j] = S[i, j]

    return f


@right
def loops_behind_each_other() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for k in T.serial(3):
                for i in T.Parallel(64):
                    S[A[i]] = i + k
                for i in T.Parallel(64):
                    B[A[i] ^ 1] = S[i]
                T.copy(S, B[64])

    return f


@right
def copies_within_a_tile() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            T.copy(S[0:128], S[64:192])
            T.copy(S, B)

    return f


@right
def atomic_operations() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((8,), "int32")
            T.fill(S, 0)
            for i in T.Parallel(256):
                T.atomic_add(S[A[i] % 8], 1)
                T.atomic_max(B[8 + i % 2], i)
            T.copy(S, B[0])

    return f


@right
def places_that_an_atomic_operation_gives() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            n = T.alloc_shared((1,), "int32")
            n[0] = 0
            for i in T.Parallel(256):
                if A[i] % 3 == 0:
                    place = T.atomic_add(n[0], 1, return_prev=True)
                    B[place] = A[i]
                    B[place] = B[place] + 1

    return f


@right
def the_last_one_reads_what_others_wrote() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S, n = T.alloc_shared((64,), "int32"), T.alloc_shared((1,), "int32")
            n[0] = 0
            for i in T.Parallel(64):
                S[i] = A[i]
                before = T.atomic_add(n[0], 1, "acq_rel", return_prev=True)
                if before == 63:
                    for k in T.serial(64):
                        B[k] = S[k]

    return f


@right
def one_value_for_all() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((128,), "int32")
            for i in T.Parallel(256):
                S[A[i] // 2] = 5
                if A[i] > 100:
                    B[0] = 1
                B[1 + i // 2] = S[A[i] // 2]

    return f


@right
def halves_of_a_tile() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            for i in T.Parallel(128):
                S[i + 128] = S[i] + S[i ^ 1]
            for i in T.Parallel(128):
                S[i * 2] = S[i * 2 + 1]
            T.copy(S, B)

    return f


@right
def a_tree_of_sums() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            for k in T.serial(8):
                for i in T.Parallel(128):
                    if i < (128 >> k):
                        S[i] = S[i] + S[i + (128 >> k)]
            T.copy(S, B)

    return f


@right
def sums_along_rows() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64, 4), "int32")
            for i, j in T.Parallel(64, 4):
                S[i, j] = A[i * 4 + j]
            for i in T.Parallel(64):
                for j in T.serial(1, 4):
                    S[i, j] = S[i, j] + S[i, j - 1]
            for i, j in T.Parallel(64, 4):
                B[i * 4 + j] = S[i, j]

    return f


@right
def loops_of_the_iteration() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((64,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(64):
                x = T.alloc_var("int32")
                x = S[A[i]]
                while x > 3:
                    x = x // 2
                B[A[i]] = B[A[i]] + x
                B[A[i]] = B[A[i]] * 2

    return f


@right
def elements_that_nobody_writes() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            for i in T.Parallel(256):
                if i % 4 != 0:
                    S[i] = S[i // 4 * 4] + i
            T.copy(S, B)

    return f


@right
def slots_in_turn() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((2, 64), "int32")
            for i in T.Parallel(64):
                S[0, i] = A[i]
            for k in T.serial(4):
                for i in T.Parallel(64):
                    S[1 - k % 2, i] = S[k % 2, i ^ 1]
            for i in T.Parallel(64):
                B[i] = S[0, i]

    return f


@right
def rounds_of_a_long_loop() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((4096,), "int32")
            for i in T.Parallel(4096):
                S[(i + 2048) % 4096] = i
            for i in T.Parallel(4096):
                S[i ^ 7] = S[i ^ 7] + 1
            for i in T.Parallel(256):
                B[i] = S[i * 16]

    return f


@right
def arrays_of_the_iteration() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            for i in T.Parallel(77):
                x = T.alloc_local((4,), "int32")
                for k in T.serial(4):
                    x[(A[i] + k) % 4] = i + k
                B[76 - i] = x[A[i] % 4] + B[76 - i]

    return f


@right
def one_element_for_several_that_is_only_read() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            S = T.alloc_shared((256,), "int32")
            T.copy(A, S)
            for i in T.Parallel(256):
                B[i] = S[i // 4] + S[0]

    return f


@right
def copies_of_iterations() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=128):
            S, F = T.alloc_shared((32,), "int32"), T.alloc_fragment((32,), "int32")
            T.copy(A[0], S)
            for i in T.Parallel(32):
                F[i] = S[i ^ 1]
                S[i ^ 1] = F[i] + i
            T.copy(F, B[0])
            for i in T.Parallel(32):
                S[i ^ 1] = S[i ^ 1] + 1
            T.copy(S, B[32])

    return f


@right
def fragments() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            F, G = T.alloc_fragment((16, 16), "int32"), T.alloc_fragment((16, 16), "int32")
            for i, j in T.Parallel(16, 16):
                F[i, j] = A[i * 16 + j]
            for i, j in T.Parallel(16, 16):
                G[j, i] = F[i, j] + F[i, 0]
            for i, j in T.Parallel(16, 16):
                F[i, j] = F[i, j] + 1
            for i, j in T.Parallel(16, 16):
                B[i * 16 + j] = F[i, j] + G[i, j]

    return f


@right
def fragments_in_registers() -> Any:
    @T.prim_func
    def f(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=THREADS):
            F = T.alloc_fragment((64, 4), "int32")
            T.copy(T.reshape(A, (64, 4)), F)
            for i, j in T.Parallel(64, 4):
                if j > 0:
                    F[i, j] = F[i, j] + F[i, 0]
            for i, j in T.Parallel(64, 4):
                x = T.alloc_var("int32")
                x = A[i]
                while x > 3:
                    x = x // 2
                if j == 2:
                    F[i, j] = F[i, 1] + x
            T.copy(F, T.reshape(B, (64, 4)))

    return f
