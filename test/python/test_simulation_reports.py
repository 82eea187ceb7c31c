"""What the simulator reports, as data, and the seed that shows it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.backends import sim
from tilec.errors import SimulationError


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
        assert "of shared memory" in side["text"]


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
    assert report["sides"][0]["text"].startswith("writes bytes ")


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
