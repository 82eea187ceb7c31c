"""Reports of the simulator name elements as the program does, the lines of both sides, and a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.backends import sim
from tilec.errors import SimulationError

pytestmark = pytest.mark.filterwarnings("ignore::tilec.errors.RacingWriteWarning")


def _reports(program: Callable[..., Any], *arrays: np.ndarray) -> SimulationError:
    with pytest.raises(SimulationError) as caught:
        sim.try_seeds(tilec.compile(program, target="sm_90a", backend="sim"), *arrays)
    # No path of this machine.
    assert str(Path(__file__).parent) not in str(caught.value)
    return caught.value


def _line(mark: str) -> int:
    return next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith(mark))


def test_iterations_of_one_and_of_two_threads_are_one_mistake() -> None:
    @T.prim_func
    def counted(A: T.Tensor((1024,), "int32"), H: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64,), "int32")
            T.clear(S)
            for i in T.Parallel(1024):
                S[A[i]] = S[A[i]] + 1  # counts
            T.copy(S, H)

    A = np.random.default_rng(0).integers(0, 64, 1024, "int32")
    error = _reports(counted, A, np.zeros(64, "int32"))
    (report,) = error.reports
    assert "use `T.atomic_add` or its kin, or make two loops" in report["message"]
    assert {side["line"] for side in report["sides"]} == {_line("# counts")}
    elements = {re.search(r"`S\[\d+\]`", side["text"])[0] for side in report["sides"]}  # type: ignore[index]
    assert len(elements) == 1


def test_blocks_that_write_the_same_elements() -> None:
    @T.prim_func
    def transposed(A: T.Tensor((96, 160), "float32"), B: T.Tensor((160, 96), "float32")):
        with T.Kernel(5, 3, threads=128) as (bx, by):
            S = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], S)
            for i, j in T.Parallel(32, 32):
                B[bx * 32 + i, bx * 32 + j] = S[j, i]  # by

    A = np.random.default_rng(0).random((96, 160), "float32")
    error = _reports(transposed, A, np.zeros((160, 96), "float32"))
    sides = error.reports[0]["sides"]
    assert [side["line"] for side in sides] == [_line("# by")] * 2
    first, last = re.findall(r"\[(\d+), (\d+)\]", sides[0]["text"])
    assert sides[0]["text"] == f"writes `B[{', '.join(first)}]` to `B[{', '.join(last)}]`"
    assert first[0] == last[0]
    assert int(last[1]) == int(first[1]) + 3
    assert error.schedule is None
    assert "no schedule: one is of a single block" in str(error)


@pytest.mark.parametrize("step", [1, -1, 2])
def test_elements_of_a_tensor_with_strides(step: int) -> None:
    @T.prim_func
    def meets(A: T.StridedTensor((8, 8), (T.dynamic("s"), T.dynamic("t")), "int32")):
        with T.Kernel(2, threads=32) as b:
            for _ in T.Parallel(1):
                A[3, 5] = b + 1

    A = np.zeros((16, 16), "int32")[::step, ::2][:8, :8]
    sides = _reports(meets, A).reports[0]["sides"]
    assert [side["text"] for side in sides] == ["writes `A[3, 5]`"] * 2


def test_tiles_that_share_bytes_and_swizzled_ones() -> None:
    @T.prim_func
    def twice(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float16")
            R = T.alloc_shared((64, 64), "float16")
            T.copy(A, S)
            T.copy(S, B)
            T.copy(B, R)
            for i in T.Parallel(64):
                R[17, 33 + i // 64] = T.cast(i, "float16")  # all of them
            T.copy(R, C)

    A = np.zeros((64, 64), "float16")
    error = _reports(twice, A, A.copy(), A.copy())
    race = next(report for report in error.reports if report["sides"][0]["line"] == _line("# all of them"))
    assert all(side["text"].startswith("writes `R[17, 33]`") for side in race["sides"])


def test_tiles_of_a_pipelined_loop() -> None:
    @T.prim_func
    def product(A: T.Tensor((64, 128), "float16"), B: T.Tensor((128, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            As, Bs = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 32], As)
                T.copy(B[k * 32, 0], Bs)
                for i in T.Parallel(64):
                    As[0, 3 + i // 64] = T.cast(i, "float16")
                T.gemm(As, Bs, acc)
            T.copy(acc, C)

    zeros = np.zeros
    error = _reports(product, zeros((64, 128), "float16"), zeros((128, 64), "float16"), zeros((64, 64), "float32"))
    assert re.match(r"writes `As\[0, 3\]`( in slot \d)? in iteration", error.reports[0]["sides"][0]["text"])


@pytest.mark.parametrize("extents", [(128,), (32, 32)])
def test_an_index_behind_the_end(extents: tuple[int, ...]) -> None:
    @T.prim_func
    def behind(A: T.Tensor(extents, "float32"), B: T.Tensor(extents, "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared(extents, "float32")
            T.copy(A, S)
            if len(extents) == 1:
                for i in T.Parallel(128):
                    B[i] = S[i + 1]
            else:
                for i, j in T.Parallel(32, 32):
                    B[i, j] = S[i + 1, j]

    error = _reports(behind, np.zeros(extents, "float32"), np.zeros(extents, "float32"))
    (report,) = error.reports
    element = (
        "`S[128]`, outside of its shape (128)" if len(extents) == 1 else "`S[32, 0]`, outside of its shape (32, 32)"
    )
    assert report["sides"][0]["text"].endswith(f"bytes at {element}")


def test_what_nothing_has_written() -> None:
    @T.prim_func
    def late(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((64,), "float32")
            T.copy(A, S[0:32])
            for i in T.Parallel(32):
                B[i] = S[i + 1]

    (report,) = _reports(late, np.zeros(32, "float32"), np.zeros(32, "float32")).reports
    assert report["kind"] == "uninitialized"
    assert report["sides"][0]["text"] == "reads `S[32]`"
    assert report["message"].endswith("they need a write, a copy or `T.clear` before")


def test_an_index_that_hits_the_tile_behind() -> None:
    @T.prim_func
    def hits(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((32,), "float32")
            R = T.alloc_shared((32,), "float32")
            T.copy(A, S)
            for i in T.Parallel(32):
                B[i] = S[i + 32]
            for i in T.Parallel(32):  # a copy might be under way before
                R[i] = A[i] * 2
            for i in T.Parallel(32):
                B[i] = B[i] + S[31 - i] + R[i]

    (report,) = _reports(hits, np.zeros(32, "float32"), np.zeros(32, "float32")).reports
    assert report["kind"] == "uninitialized"
    assert report["sides"][0]["text"] == "reads `R[0]`, outside of `S`"


def test_slots_behind_the_first() -> None:
    @T.prim_func
    def next_slot(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((32,), "float32")
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[k * 32], S)
                for i in T.Parallel(32):
                    B[k * 32 + i] = S[i + 3]

    reports = _reports(next_slot, np.zeros(256, "float32"), np.zeros(256, "float32")).reports
    assert reports[0]["sides"][0]["text"] == "reads `S[0]` in slot 1"


def test_behind_the_end_of_a_tile_with_slots() -> None:
    @T.prim_func
    def behind(A: T.Tensor((256, 32), "float32"), B: T.Tensor((256, 32), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((32, 32), "float32")
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[k * 32, 0], S)
                for i, j in T.Parallel(32, 32):
                    B[k * 32 + i, j] = S[i + 500, j]

    reports = _reports(behind, np.zeros((256, 32), "float32"), np.zeros((256, 32), "float32")).reports
    outside = next(report for report in reports if report["kind"] == "out of bounds")
    assert outside["sides"][0]["text"].endswith("behind the end of `S`, whose shape is (32, 32)")


def test_behind_the_end_of_one_of_two_tiles() -> None:
    @T.prim_func
    def behind(A: T.Tensor((32,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            S, R = T.alloc_shared((32,), "float32"), T.alloc_shared((32,), "float32")
            T.copy(A, S)
            T.copy(A, R)
            for i in T.Parallel(32):
                B[i] = S[i + 5000] + R[31 - i]

    (report,) = _reports(behind, np.zeros(32, "float32"), np.zeros(32, "float32")).reports
    # Both are in front of it, and either's index may be the wrong one.
    text = r"accesses 4 bytes at byte \d+ of 256 bytes of shared memory, outside of `S` and `R`"
    assert re.fullmatch(text, report["sides"][0]["text"])


def test_two_blocks_that_meet_in_either_order() -> None:
    @T.prim_func
    def counted(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=32) as b:
            T.atomic_add(A[3], 1)
            B[b] = A[3]

    (report,) = _reports(counted, np.zeros(4, "int32"), np.zeros(4, "int32")).reports
    assert {side["text"] for side in report["sides"]} == {"updates `A[3]`", "reads `A[3]`"}


def test_lanes_at_lines_of_their_own() -> None:
    @T.prim_func
    def meets(B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4,), "int32")
            T.clear(S)
            tx = T.get_thread_binding()
            if tx < 16:
                B[tx] = S[0]  # too early
            elif tx == 16:
                B[tx] = S[0]
                S[0] = 5  # too late

    (report,) = _reports(meets, np.zeros(32, "int32")).reports
    # Not the line where the thread that writes has read, too.
    assert {side["line"] for side in report["sides"]} == {_line("# too early"), _line("# too late")}
