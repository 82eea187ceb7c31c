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


def test_seeds_begin_with_the_same_arguments() -> None:
    @T.prim_func
    def count(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[i] = A[i] + 1

    A = np.arange(64, dtype="int32")
    sim.try_seeds(tilec.compile(count, target="sm_80", backend="sim"), A, seeds=3)
    np.testing.assert_array_equal(A, np.arange(1, 65))


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
