"""What the simulator reports, as data, and the seed that shows it again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.backends import sim
from tilec.errors import ArgumentError, SimulationError


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    yield
    sim.set_options()


def test_reports_are_data() -> None:
    """Threads of a block that write one element of a tile do so in no order."""

    @T.prim_func
    def racing(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            shared = T.alloc_shared((64,), "int32")
            for i in T.Parallel(64):
                shared[i // 2] = i  # both
            for i in T.Parallel(64):
                A[i] = shared[i // 2]

    kernel = tilec.compile(racing, target="sm_90a", backend="sim")
    sim.set_options(seed=3, checks=True)
    texts: list[str] = []
    for _ in range(2):
        with pytest.raises(SimulationError, match="found with seed 3; TL_SIM_SEED=3 gives") as caught:
            kernel(np.empty(64, "int32"))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    report = json.loads(json.dumps(caught.value.reports))[0]
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# both" in text)
    assert (report["kernel"], report["kind"]) == ("racing_kernel", "race")
    assert len(report["sides"]) == 2
    for side in report["sides"]:
        assert (side["line"], side["block"], side["op"]) == (line, [0, 0, 0], "llvm.store")
        assert side["file"].endswith("test_simulation_reports.py")
        assert 0 <= side["thread"][0] < 64
        assert re.fullmatch(r"writes `shared\[\d+\]`( in iteration \(\d+\))?", side["text"])


def _line(mark: str) -> int:
    return next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith(mark))


def test_blocks_that_count_together() -> None:
    """The scope of a block is not enough, nor is an order by luck between a plain store and what others add."""

    @T.prim_func
    def narrow(X: T.Tensor((256,), "int32"), H: T.Tensor((16,), "int32")):
        with T.Kernel(2, threads=128) as b:
            for i in T.Parallel(128):
                T.atomic_add(H[X[b * 128 + i] % 16], 1, scope="block")  # narrow

    @T.prim_func
    def cleared(X: T.Tensor((256,), "int32"), H: T.Tensor((16,), "int32")):
        with T.Kernel(2, threads=128) as b:
            H[0] = 0  # cleared
            for i in T.Parallel(128):
                T.atomic_add(H[X[b * 128 + i] % 16], 1)  # added

    for function, lines in ((narrow, {_line("# narrow")}), (cleared, {_line("# cleared"), _line("# added")})):
        kernel = tilec.compile(function, target="sm_80", backend="sim")
        with pytest.raises(SimulationError, match="two ") as caught:
            kernel(np.arange(256, dtype="int32"), np.zeros(16, "int32"))
        assert {report["kind"] for report in caught.value.reports} == {"race"}
        # Threads of a block write the same, which is no race unless the other block adds in between, at any time.
        assert {0, 1} in [{side["block"][0] for side in report["sides"]} for report in caught.value.reports]
        found = {side["line"] for report in caught.value.reports for side in report["sides"]}
        assert found == lines
        # What the atomic one of two accesses does not do is said where one is plain.
        mixed = [r for r in caught.value.reports if len({side["line"] for side in r["sides"]}) == 2]
        assert all("is relaxed, and orders nothing" in report["message"] for report in mixed)
        assert bool(mixed) == (function is cleared)


def test_a_mistake_is_reported_once_though_a_loop_is_unrolled() -> None:
    @T.prim_func
    def twice(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64) as _:
            shared = T.alloc_shared((64,), "float32")
            T.fill(shared, 0.0)
            for i in T.Parallel(64):
                shared[i % 32] = A[i]  # two of them
            for i in T.Parallel(64):
                B[i] = shared[i]

    kernel = tilec.compile(twice, target="sm_90a", backend="sim")
    with pytest.raises(SimulationError) as caught:
        kernel(np.arange(64, dtype="float32"), np.empty(64, "float32"))
    (report,) = caught.value.reports
    line = str(caught.value).splitlines()[1]
    place = f"test_simulation_reports.py:{_line('# two of them')}: block (0, 0, 0), thread ("
    assert place in line
    assert line.count("thread") == 1
    assert report["sides"][0]["text"].startswith("writes `shared[")


def test_seeds_begin_with_the_same_arguments() -> None:
    @T.prim_func
    def count(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[i] = A[i] + 1

    A = np.arange(64, dtype="int32")
    sim.try_seeds(tilec.compile(count, target="sm_80", backend="sim"), A, seeds=3)
    np.testing.assert_array_equal(A, np.arange(1, 65))


def test_the_shortest_schedule_is_said() -> None:
    """A race is one in every order. The arrays hold what the last run wrote, which began with what they held."""

    @T.prim_func
    def racing(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            shared = T.alloc_shared((64,), "int32")
            for i in T.Parallel(64):
                A[i] = A[i] + 1
            for i in T.Parallel(64):
                shared[i // 2] = i
            for i in T.Parallel(64):
                A[i] = A[i] + shared[i // 2] * 0

    kernel = tilec.compile(racing, target="sm_90a", backend="sim")
    A = np.arange(64, dtype="int32")
    with pytest.raises(SimulationError, match="it fails in the default order as well") as caught:
        sim.try_seeds(kernel, A)
    np.testing.assert_array_equal(A, np.arange(1, 65))
    assert {report["kind"] for report in caught.value.reports} == {"race"}
    with pytest.raises(SimulationError) as caught:
        kernel(A)
    assert "default order" not in str(caught.value)


def test_a_schedule_is_replayed() -> None:
    """It fails where the first warp comes second, which one decision of many is enough for."""

    @T.prim_func
    def chosen(A: T.Tensor((64,), "int32"), B: T.Tensor((2, 64), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[i] = A[i] + 1
        with T.Kernel(2, threads=64) as b:
            shared = T.alloc_shared((1,), "int32")
            t = T.get_thread_binding()
            if t == 0:
                shared[0] = 0
            T.sync_threads()
            if t % 32 == 0:
                place = T.atomic_add(shared[0], 1, return_prev=True)
                if b == 1 and t == 0:
                    B[b, 0] = A[t] + shared[place * 4096]

    kernel = tilec.compile(chosen, target="sm_90a", backend="sim")

    def arguments() -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(64, "int32"), np.zeros((2, 64), "int32")

    found = None
    for seed in range(9):
        sim.set_options(seed=seed, checks=False, shrink=True)
        try:
            kernel(*arguments())
        except SimulationError as error:
            found = error
            break
    assert found is not None
    assert found.schedule is not None
    assert found.schedule.startswith(f"seed {seed}, launch 1, block 1: ")
    sim.set_options(checks=False)
    again = arguments()
    with pytest.raises(SimulationError, match="out of bounds") as caught:
        sim.replay(kernel, found.schedule, *again)
    assert caught.value.reports == found.reports
    assert (again[0] == 1).all(), "the launches before it run"
    passing = found.schedule.split(":")[0] + ":"
    sim.replay(kernel, passing, *again)
    assert again[1][1, 0] == 3
    with pytest.raises(ArgumentError, match="`seed 3` is no schedule of the simulator; `SimulationError.schedule` is"):
        sim.replay(kernel, "seed 3", *again)
    with pytest.raises(ValueError, match="has 2 blocks, and none with the number 7"):
        sim.replay(kernel, "seed 3, launch 1, block 7:", *again)
    kernel(*again)  # calls are as before
    assert caught.value.schedule is None


def test_mbarriers_are_read_where_a_warp_comes_to_a_line() -> None:
    @T.prim_func
    def product(A: T.Tensor((64, 256), "float16"), B: T.Tensor((256, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            As = T.alloc_shared((64, 64), "float16")
            Bs = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            T.clear(acc)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 64], As)
                T.copy(B[k * 64, 0], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C)

    kernel = tilec.compile(product, target="sm_90a", backend="sim")
    arguments = np.ones((64, 256), "float16"), np.ones((256, 64), "float16"), np.zeros((64, 64), "float32")
    stops = sim.read_mbarriers(kernel, "T.gemm(As, Bs", *arguments)
    of_first = [stop for stop in stops if stop.warp == 0]
    # What the compiler computes before the loop, before there are mbarriers, and four times in it.
    assert [len(stop.mbarriers) for stop in of_first] == [0, 2, 2, 2, 2]
    first = min(of_first[1].mbarriers, key=lambda mbarrier: mbarrier.address)
    assert (first.phase, first.pending_arrivals, first.pending_bytes) == (1, first.arrivals, 0)
    assert "mbarrier at byte" in str(of_first[1])
    assert f"to line {_line('T.gemm(As, Bs, acc)')}" in str(stops[0])
    assert stops == sim.read_mbarriers(kernel, _line("T.gemm(As, Bs, acc)"), *arguments)
    with pytest.raises(ArgumentError, match=r"`T.copy` stands in lines \d+ and \d+ and \d+: give the number"):
        sim.read_mbarriers(kernel, "T.copy", *arguments)


def test_a_grid_whose_blocks_do_not_all_come() -> None:
    """A block leaves in front of a wait of the grid: the others would be there for ever."""

    @T.prim_func
    def program(A: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=64) as b:
            for step in T.serial(5):
                A[b] = step
                if step == b + 1:
                    break
                T.sync_grid()  # never passed

    kernel = tilec.compile(program, target="sm_90a", backend="sim")
    for seed in range(9):
        sim.set_options(seed=seed)
        with pytest.raises(SimulationError, match="deadlock") as caught:
            kernel(np.zeros(4, np.int32))
        (report,) = caught.value.reports
        assert report["kind"] == "deadlock"
        assert "1 of 4 blocks have ended, and come to no barrier of the grid any more: (0, 0, 0)" in report["message"]
        assert {tuple(side["block"]) for side in report["sides"]} == {(1, 0, 0), (2, 0, 0), (3, 0, 0)}
        assert {side["line"] for side in report["sides"]} == {_line("# never passed")}
    assert "looks again and again at `workspace0[0]`" in report["sides"][0]["text"]


@pytest.mark.parametrize(("flag", "is_right"), [(0, True), (1, False)])
def test_a_loop_that_waits_for_another_block(flag: int, is_right: bool) -> None:
    """A block waits for the one in front of it, or for itself, which is a slip."""

    @T.prim_func
    def program(flags: T.Tensor((5,), "int32"), A: T.Tensor((4,), "int32")):
        with T.Kernel(4, threads=64) as b:
            while T.atomic_load(flags[b + flag]) == 0:  # goes on for ever
                pass
            A[b] = b
            T.atomic_store(flags[b + 1], 1)

    kernel = tilec.compile(program, target="sm_90a", backend="sim")
    flags, A = np.array([1, 0, 0, 0, 0], np.int32), np.zeros(4, np.int32)
    if is_right:
        kernel(flags, A)
        assert A.tolist() == [0, 1, 2, 3]
        return
    with pytest.raises(SimulationError) as caught:
        kernel(flags, A)
    (report,) = caught.value.reports
    assert report["kind"] == "deadlock"
    assert report["message"].endswith("those behind begin only once these have, as they may on a GPU")
    (side,) = report["sides"]
    assert side["line"] == _line("# goes on for ever")
    assert "again and again at `flags[1]`, which nobody" in side["text"]


def test_reports_of_warps_and_without_places() -> None:
    error = SimulationError(
        "kernel `k`: deadlock: no warp of the block can go on\n"
        "  block (1, 0, 0), warp 2 waits at barrier 0 for 64 threads, of which 32 are there (`gpu.barrier`)\n"
        "kernel `k`: out of bounds: an access is out of bounds\n"
        "  a.py:7: block (0, 0, 0), thread (5, 0, 0) accesses 4 bytes (a lot) (`llvm.load`)\n"
        "and 3 more\nfound with seed 0; TL_SIM_SEED=0 gives the same execution again"
    )
    stuck, outside = error.reports
    assert stuck["kind"] == "deadlock"
    waits = "waits at barrier 0 for 64 threads, of which 32 are there"
    assert stuck["sides"] == [{"block": [1, 0, 0], "warp": 2, "text": waits, "op": "gpu.barrier"}]
    assert outside["sides"][0] == {
        "file": "a.py",
        "line": 7,
        "block": [0, 0, 0],
        "thread": [5, 0, 0],
        "text": "accesses 4 bytes (a lot)",
        "op": "llvm.load",
    }
