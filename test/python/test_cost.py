"""What the cost model reads off tile programs, what it makes of that, and of races that were recorded on a GPU."""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

import slice_programs
import tilec.language as T
from tilec.analysis import gpus, tile_work
from tilec.analysis.cost import cost, launch_cost
from tilec.analysis.tile_work import Launch, Product, Ring
from tilec.analysis.tiles import Tile
from tilec.builder import PrimFunc

EXAMPLES = Path(__file__).resolve().parents[2] / "python" / "examples"
sys.path.insert(0, str(EXAMPLES))

H100 = gpus.find("H100")
RECORDED = json.loads((Path(__file__).parent / "recorded_races.json").read_text())


def read(program: PrimFunc, wave: int = 132, **extents: int) -> list[Launch]:
    return tile_work.read(program, extents, lambda launch: wave)


def gemm(M: int, N: int, K: int, kind: str = "NN", tile: tuple[int, ...] = (128, 128, 64, 4, 128)) -> PrimFunc:
    import gemm as example

    a, b = (letter == "T" for letter in kind)
    return example.gemm(M, N, K, "bfloat16", a, b, *tile)


@pytest.mark.parametrize("kind", ["NN", "NT", "TN", "TT"])
def test_a_product_is_read(kind: str) -> None:
    (launch,) = read(gemm(1024, 2048, 512, kind))
    assert (launch.blocks, launch.threads) == (16 * 8, 128)
    assert launch.products == [(Product(128, 128, 64, 16, reads_shared=True), 8.0)]
    assert launch.rings == [Ring(8.0, 4, (128 + 128) * 64 * 2)]
    assert launch.shared == 4 * (128 + 128) * 64 * 2, "the tile that goes out takes the ring's bytes"
    assert launch.registers == launch.largest == 128
    a, b, c = launch.transfers
    assert [t.is_store for t in (a, b, c)] == [False, False, True]
    assert a.bytes == b.bytes == 128 * 512 * 2
    assert c.bytes == 128 * 128 * 2
    assert a.tensor_bytes == 1024 * 512 * 2
    # All blocks run at once: they share 8 tiles of A and 16 of B.
    assert (a.distinct, b.distinct, c.distinct) == (8 / 128, 16 / 128, 1)


@pytest.mark.parametrize("name", ["k_of_both", "only_a", "only_b", "panels"])
def test_products_of_slices(name: str) -> None:
    (launch,) = read(slice_programs.CASES[name][0])
    assert launch.products == [(Product(64, 64, 32, 16, reads_shared=True), 1.0)]


def test_rows_that_begin_anywhere_are_asked_for_twice() -> None:
    (whole,), (ragged,) = read(gemm(1024, 1024, 1024)), read(gemm(1000, 1000, 1000))
    assert whole.transfers[0].lines == whole.transfers[0].sectors == whole.transfers[0].bytes
    assert ragged.transfers[0].lines == 2 * ragged.transfers[0].bytes
    assert ragged.transfers[0].sectors == 1.25 * ragged.transfers[0].bytes


def test_what_is_outside_of_a_tensor_is_not_loaded() -> None:
    (launch,) = read(gemm(20, 1024, 1024))
    assert launch.transfers[0].bytes == 20 * 1024 * 2


def test_rows_are_read() -> None:
    import softmax

    (launch,) = read(softmax.softmax(4096, "bfloat16", 2, 256), m=1000)
    assert (launch.blocks, launch.threads, launch.shared) == (500, 256, 0)
    assert launch.registers == 2 * 4096 // 256 + 2
    assert launch.straight == 2 * 4096 * 2
    assert launch.functions == 2 * 4096
    assert launch.reductions == 2
    assert [(t.bytes, t.distinct) for t in launch.transfers] == [(2 * 4096 * 2, 1), (2 * 4096 * 2, 1)]
    unknown = softmax.softmax(4096, "bfloat16", 2, 256)
    assert read(unknown)[0].blocks == tile_work.UNKNOWN_EXTENT // 2


def test_persistent_tiles_are_read() -> None:
    @T.prim_func
    def main(A: T.Tensor((4096, 4096), "float16"), C: T.Tensor((4096, 4096), "float16")):
        with T.Kernel(132, threads=128) as b:
            tile = T.alloc_shared((128, 128), "float16")
            for i, j in T.Persistent([32, 32], 132, b):
                T.copy(A[i * 128, j * 128], tile)
                T.copy(tile, C[i * 128, j * 128])

    (launch,) = read(main)
    load, store = launch.transfers
    assert load.bytes * 132 == pytest.approx(4096 * 4096 * 2, rel=0.05)
    assert load.distinct == store.distinct == 1


def test_elements_of_tensors_are_read() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 512), "float32"), s: T.Tensor((512,), "float32"), B: T.Tensor((64, 512), "float32")):
        with T.Kernel(64) as b:
            for i, j in T.Parallel(1, 512):
                B[b + i, j] = T.exp(A[b + i, j] * s[j])

    (launch,) = read(main)
    assert [(t.bytes, t.is_store) for t in launch.transfers] == [(2048, False), (2048, False), (2048, True)]
    assert launch.functions >= 512


def test_branches() -> None:
    @T.prim_func
    def main(n: T.Tensor((1,), "int32"), A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            tile = T.alloc_fragment((64, 64), "float32")
            T.clear(tile)
            for k in T.serial(4):
                if k < 2:
                    T.copy(A, tile)
                if n[0] > 3:
                    T.copy(A, tile)
            T.copy(tile, B)

    (launch,) = read(main)
    taken, half, stored = launch.transfers
    assert taken.bytes == 4 * 64 * 64 * 4, "of a loop the first iteration stands for all"
    assert half.bytes == taken.bytes / 2
    assert stored.bytes == 64 * 64 * 4


def test_two_launches_and_a_workspace() -> None:
    import thin_gemm

    first, second = read(thin_gemm.thin_gemm(64, 4096, 4096, "bfloat16", Tile(64, 64, 64, 8, splits=2)))
    assert first.blocks == 64 * 2
    assert [t.is_workspace for t in first.transfers] == [False, False, True]
    assert second.products == []
    assert launch_cost(second, H100).parts.keys().isdisjoint({"tensor cores", "rings"})


def test_times_are_those_of_the_formulas() -> None:
    launch = Launch("", 132, 256, 100_000, 64, 64, [Ring(16.0, 3, 32768)], [(Product(128, 128, 64, 16, True), 16.0)])
    found = launch_cost(launch, H100)
    assert (found.resident, found.rounds) == (2, 1)
    clocks = 16 * 2 * 64 * 4  # steps, halves of the rows, clocks for 16 columns of K, of which there are 4 times 16
    assert found.parts["tensor cores"] == pytest.approx((clocks / 0.842 + 16 * 21) / H100.clock, rel=0.01)
    assert found.parts["rings"] == pytest.approx(16 / 2 * 0.32e-6, rel=0.15)
    assert found.parts["power"] >= 132 * 16 * 2 * 128 * 128 * 64 / (0.77 * 989.4e12)
    # One block more is another one for a multiprocessor, which has the place for it.
    launch.blocks = 133
    more = launch_cost(launch, H100)
    assert more.rounds == 1
    assert more.parts["tensor cores"] > 1.9 * found.parts["tensor cores"]


@pytest.mark.parametrize(
    ("tile", "refusal"),
    [
        ((128, 256, 64, 6, 256), "a block would have 288 KiB of shared memory, and there are 227"),
        ((256, 256, 64, 2, 128), "a thread would have 512 registers for one fragment, and there are 255"),
        ((128, 256, 64, 4, 256), ""),
    ],
)
def test_what_will_not_do_is_refused(tile: tuple[int, ...], refusal: str) -> None:
    found = cost(gemm(4096, 4096, 4096, tile=tile), H100)
    assert found.refusal == refusal
    assert math.isinf(found.seconds) == bool(refusal)
    assert (refusal or "about 19") in str(found)


def test_large_products_are_bound_by_power_and_thin_ones_by_memory() -> None:
    large = cost(gemm(8192, 8192, 8192, tile=(128, 256, 64, 3, 256)), H100)
    assert large.bound == "power"
    # 1539 to 1610 µs were measured (docs/Performance.md, "GEMM beside cuBLAS", 688 to 718 TFLOP/s).
    assert 1400e-6 < large.seconds < 1610e-6
    thin = cost(gemm(16, 8192, 8192, "NT", (64, 64, 128, 4, 128)), H100)
    assert thin.bound == "device memory"
    h200 = cost(gemm(16, 8192, 8192, "NT", (64, 64, 128, 4, 128)), gpus.find("H200"))
    assert h200.seconds < thin.seconds


def test_rows_are_bound_by_memory() -> None:
    import softmax

    # 90.2 to 90.9 µs were measured (docs/Performance.md, "Rows"): the model says more, of all alike.
    for columns, rows, threads in ((1024, 4, 128), (4096, 1, 128), (16384, 1, 512)):
        program = softmax.softmax(columns, "bfloat16", rows, threads)
        found = cost(program, H100, {"m": 67108864 // columns})
        assert found.bound == "device memory"
        assert found.seconds == pytest.approx(90e-6, rel=0.12)
    few = cost(softmax.softmax(16384, "bfloat16", 1, 64), H100, {"m": 4096})
    assert few.refusal, "a row is too long for the registers of 64 threads"


# Races ---------------------------------------------------------------------------------------------------------------


def program_of(race: dict[str, Any], entry: list[Any]) -> PrimFunc:
    name, tile, _ = entry
    if name in ("softmax", "rmsnorm"):
        rows = importlib.import_module(name)
        return getattr(rows, name)(race["N"], "bfloat16", *tile)
    if name == "gemm":
        return gemm(race["M"], race["N"], race["K"], race["kind"], tuple(tile))
    import thin_gemm

    return thin_gemm.thin_gemm(race["M"], race["N"], race["K"], "bfloat16", Tile(*tile))


@pytest.fixture(scope="module")
def races() -> list[list[tuple[float, float]]]:
    """Of each race what the model says and what was measured, in µs, the least that it says first."""
    found: list[list[tuple[float, float]]] = []
    for race in RECORDED["races"]:
        said = [
            1e6 * cost(program_of(race, entry), H100, {"m": race["M"]}, in_cache=not race["is_cold"]).seconds
            for entry in race["times"]
        ]
        found.append(sorted(zip(said, (entry[-1] for entry in race["times"]), strict=True)))
    return found


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


@pytest.mark.parametrize(("kept", "mean", "least"), [(1, 0.97, 0.75), (4, 0.995, 0.93), (6, 0.998, 0.96)])
def test_the_best_of_recorded_races_is_among_those_that_are_kept(
    races: list[list[tuple[float, float]]], kept: int, mean: float, least: float
) -> None:
    ratios = [min(measured for _, measured in race) / min(m for _, m in race[:kept]) for race in races]
    assert geometric_mean(ratios) >= mean
    assert min(ratios) >= least


def test_times_of_recorded_races_are_about_those_that_it_says(races: list[list[tuple[float, float]]]) -> None:
    errors = [abs(math.log(said / measured)) for race in races for said, measured in race]
    assert len(errors) == 772
    assert sum(errors) / len(errors) < 0.105
