"""What the cost model makes of counts, for a GPU that is slow enough to compute it by hand (docs/Analysis.md)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from counted_programs import doubling, gemm, transposing, zeros
from tilec.analysis import gpus, roofline, tiles
from tilec.analysis.gpus import GPU
from tilec.backends import sim
from tilec.errors import ArgumentError, TargetError

TOY = GPU("toy", "90", multiprocessors=4, bandwidth=1e9, cache=1 << 20, flop={"float16": 4 * 4096 * 1e6})
"""Four multiprocessors at 1 MHz."""


def estimated(function: Any, *arguments: Any) -> roofline.LaunchTimes:
    kernel = tilec.compile(function, target="sm_90a", backend="sim")
    (launch,) = roofline.estimate(sim.count(kernel, *arguments), TOY, {}).launches
    return launch


def test_clocks_are_those_that_rates_are_published_for() -> None:
    assert TOY.clock == 1e6
    clocks = {gpu.name: round(gpu.clock / 1e6) for gpu in gpus.GPUS}
    assert clocks == {"A100": 1411, "L40S": 2490, "H100": 1830, "H200": 1830}


def test_device_memory() -> None:
    launch = estimated(doubling(2048), zeros(2048), zeros(2048))
    assert launch.device_memory == pytest.approx(2 * 2048 * 4 / 1e9)
    assert launch.shared_memory == launch.tensor_cores == 0
    line = next(line for line in launch.lines if "A[b" in line.statement)
    assert line.device_memory == launch.device_memory


def test_device_memory_moves_what_is_read_again_once() -> None:
    @T.prim_func
    def main(A: T.Tensor((512,), "float32"), B: T.Tensor((8, 512), "float32")):
        with T.Kernel(8, threads=128) as b:
            for i in T.Parallel(512):
                B[b, i] = A[i]

    assert estimated(main, zeros(512), zeros(8, 512)).device_memory == pytest.approx((1 + 8) * 512 * 4 / 1e9)


def test_shared_memory() -> None:
    launch = estimated(transposing(32), zeros(32, 32), zeros(32, 32))
    # 32 wavefronts for the stores, 32 for each of 32 loads, on one multiprocessor.
    assert launch.shared_memory == pytest.approx((32 + 32 * 32) / 1e6)
    assert launch.bound == "shared memory"
    assert launch.seconds == launch.shared_memory
    times = {line.statement: line.shared_memory for line in launch.lines}
    assert times["B[i, t] = T.shfl_xor(S[t * width + i], 1)"] == pytest.approx(32 * 32 / 1e6)


@pytest.mark.parametrize(("rows", "share"), [(64, 1), (4 * 64, 1 / 4), (5 * 64, 2 / 5), (8 * 64, 1 / 4)])
def test_tensor_cores(rows: int, share: float) -> None:
    """Blocks are dealt out to four multiprocessors, of which the one with most of them decides."""
    K = 128
    arguments = zeros(rows, K, dtype="float16"), zeros(64, K, dtype="float16"), zeros(rows, 64)
    launch = estimated(gemm(rows, 64, K, "float16", "float32", (64, 64, 64)), *arguments)
    assert launch.blocks == rows // 64
    assert launch.tensor_cores == pytest.approx(2 * rows * 64 * K / 4096 / 1e6 * share)
    product = next(line for line in launch.lines if "T.gemm" in line.statement)
    assert product.tensor_cores == launch.tensor_cores
    # A and B, of 64 rows for each block.
    assert product.shared_memory == pytest.approx(rows // 64 * (64 + 64) * K * 2 / 128 / 1e6 * share)


def test_issue() -> None:
    counts = sim.count(tilec.compile(doubling(2048), target="sm_90a", backend="sim"), zeros(2048), zeros(2048))
    (launch,) = roofline.estimate(counts, TOY, {}).launches
    issued = sum(counts.instructions.values()) - counts.instructions["move"]
    assert launch.issue == pytest.approx(issued / 4 / 1e6 / 4)
    assert launch.issue == pytest.approx(sum(line.issue for line in launch.lines))


@pytest.mark.parametrize("blocks", [1, 4, 8, 9])
def test_some_blocks_stand_for_all(blocks: int) -> None:
    kernel = tilec.compile(doubling(8 * 512), target="sm_90a", backend="sim")
    whole = sim.count(kernel, zeros(8 * 512), zeros(8 * 512))
    some = sim.count(kernel, zeros(8 * 512), zeros(8 * 512), blocks=blocks)
    assert some.launches[0].blocks == min(blocks, 8)
    assert some.device == whole.device
    assert some.instructions == whole.instructions
    assert some.launches[0].tensors == whole.launches[0].tensors
    assert ("of its blocks" in str(some)) == (blocks < 8)


def test_some_blocks_touch_no_more_than_there_is() -> None:
    K, M = 128, 512
    kernel = tilec.compile(gemm(M, 64, K, "float16", "float32", (64, 64, 64)), target="sm_90a", backend="sim")
    arguments = zeros(M, K, dtype="float16"), zeros(64, K, dtype="float16"), zeros(M, 64)
    whole = sim.count(kernel, *arguments).launches[0]
    some = sim.count(kernel, *arguments, blocks=2).launches[0]
    assert some.tensors == whole.tensors
    assert some.flop == whole.flop
    with pytest.raises(ArgumentError, match="`blocks` is 0, and at least one"):
        sim.count(kernel, *arguments, blocks=0)


@pytest.mark.parametrize("backend", ["sim", "nvptx"])
def test_analyze(backend: str) -> None:
    n = 1 << 20
    kernel = tilec.compile(doubling(n), target="sm_90a", backend=backend)
    A, B = np.ones(n, "float32"), np.zeros(n, "float32")
    estimate = kernel.analyze(A, B, gpu="H200")
    assert not B.any()
    assert estimate.bound == "device memory"
    assert estimate.seconds == pytest.approx(2 * 4 * n / 4.8e12)
    assert kernel.analyze(A, B, gpu="NVIDIA H100 80GB HBM3").seconds == pytest.approx(2 * 4 * n / 3.35e12)
    text = str(estimate)
    assert text.startswith("estimate for H200, not a measurement: at least 1.75 µs\nkernel `double_kernel`: at least")
    assert "bound by device memory" in text
    (launch,) = estimate.launches
    assert launch.usage is not None
    assert launch.usage.threads == 128
    assert launch.usage.limited_by in text
    again = json.loads(json.dumps(estimate.to_dict()))
    assert again["bound"] == again["launches"][0]["bound"] == "device memory"
    assert again["seconds"] == estimate.seconds


def test_without_an_assembler_occupancy_is_not_known() -> None:
    kernel = tilec.compile(doubling(1024), target="sm_80", assembler="none")
    assert "occupancy is not known without an assembler" in str(kernel.analyze(zeros(1024), zeros(1024), gpu="A100"))


def test_what_cannot_be_estimated() -> None:
    arguments = zeros(1024), zeros(1024)
    kernel = tilec.compile(doubling(1024), target="sm_90a", backend="sim")
    with pytest.raises(ArgumentError, match="what `V100` can do is not known here; known are A100, L40S, H100, H200"):
        kernel.analyze(*arguments, gpu="V100")
    with pytest.raises(TargetError, match="`double` is compiled for sm_90a, and A100 is sm_80: compile it for that"):
        kernel.analyze(*arguments, gpu="A100")
    with pytest.raises(TargetError, match="`double` is compiled for cpu, and H200 is sm_90"):
        tilec.compile(doubling(1024), target="cpu").analyze(*arguments, gpu="H200")
    older = tilec.compile(doubling(1024), target="sm_80", backend="sim")
    assert older.analyze(*arguments, gpu="H200").gpu == "H200"


def test_tiles_of_thin_products():
    h200 = gpus.find("H200")
    tile = tiles.Tile(rows=64, columns=16, depth=128, stages=8)
    assert tile.slot_bytes(2) == (64 + 16) * 128 * 2
    assert tile.resident(2) == 1
    assert tiles.Tile(64, 16, 128, 3).resident(2) == 3
    assert tiles.Tile(64, 16, 128, 12).resident(2) == 0
    seconds = tile.seconds(16, 8192, 8192, 2, h200)
    # What memory takes at least, and less than twice that.
    assert 8192 * 8192 * 2 / h200.bandwidth < seconds < 2 * 8192 * 8192 * 2 / h200.bandwidth
    # One block too many for a wave, too little on the way, and sums to add up.
    assert tile.seconds(16, 133 * 64, 8192, 2, h200) > 1.5 * tile.seconds(16, 132 * 64, 8192, 2, h200)
    assert tiles.Tile(32, 8, 64, 3).seconds(8, 4096, 4096, 2, h200) > tile.seconds(8, 4096, 4096, 2, h200)
    assert tiles.Tile(64, 16, 128, 8, splits=2).seconds(16, 8192, 8192, 2, h200) > seconds


@pytest.mark.parametrize("M", [1, 16, 20, 64, 128])
def test_tiles_that_are_chosen_fit(M):
    chosen = tiles.thin_tiles(M, 4096, 14336, count=6)
    assert len(set(chosen)) == 6
    for tile in chosen:
        assert tile.resident(2) > 0
        assert -(-M // tile.columns) * tile.columns >= M
    times = [tile.seconds(M, 4096, 14336, 2, gpus.find("H200")) for tile in chosen]
    assert times[0] == min(times)


@pytest.mark.parametrize("M", [0, 129])
def test_tiles_are_of_thin_products_only(M):
    with pytest.raises(ArgumentError, match=f"1 to 128 rows, and there are {M}"):
        tiles.thin_tiles(M, 4096, 4096)
