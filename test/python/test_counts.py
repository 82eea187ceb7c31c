"""What `sim.count` counts, of kernels small enough to count by hand (docs/Analysis.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tilec
import tilec.language as T
from counted_programs import doubling, gemm, transposing, zeros
from tilec import _tl
from tilec.analysis.counts import Counts, DeviceTraffic, SharedTraffic
from tilec.backends import sim
from tilec.errors import ArgumentError, ShapeError, SimulationError

CHIPS = ("sm_80", "sm_90a")


def counted(function: Any, *arguments: Any, chip: str = "sm_90a") -> Counts:
    return sim.count(tilec.compile(function, target=chip, backend="sim"), *arguments)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_copy_moves_each_byte_once(chip: str) -> None:
    A, B = zeros(2048) + 1, zeros(2048)
    counts = counted(doubling(2048), A, B, chip=chip)
    line = counts.line("B[b * 512 + i]")
    # 4 blocks of 4 warps, and four floats for each thread.
    moved = DeviceTraffic(requests=16, bytes=2048 * 4, sectors=2048 * 4 // 32)
    assert line.device == {"load": moved, "store": moved}
    assert counts.device == line.device
    assert counts.sectors == 512
    assert counts.shared == {}
    assert counts.flop == {}
    assert line.instructions["float"] == 16 * 4
    assert line.instructions["memory"] == 16 + 16
    (launch,) = counts.launches
    assert (launch.kernel, launch.grid, launch.block) == ("double_kernel", (4, 1, 1), (128, 1, 1))
    assert [(t.name, t.bytes, t.sectors_read, t.sectors_written) for t in launch.tensors] == [
        ("A", 8192, 256, 0),
        ("B", 8192, 0, 256),
    ]
    assert not B.any(), "the arguments are left alone"


def test_lanes_beyond_the_end_move_nothing() -> None:
    counts = counted(doubling(1000), zeros(1000), zeros(1000))
    # The second block has 488 elements: three warps, and 26 lanes of the fourth.
    assert counts.device["load"] == DeviceTraffic(requests=8, bytes=4000, sectors=125)


def test_sectors_are_counted_from_where_a_tensor_begins() -> None:
    A = zeros(1032)
    for first in range(0, 8, 4):
        kernel = tilec.compile(doubling(1024), target="sm_90a", backend="sim")
        _tl.begin_simulator_counts(2)
        kernel(A[first : first + 1024], zeros(1024))
        assert Counts.parse(_tl.end_simulator_counts()).device["load"].sectors == 128


def strided(step: int) -> Any:
    @T.prim_func
    def gather(A: T.Tensor((32 * step,), "float32"), B: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=32):
            t = T.get_thread_binding()
            B[t] = T.shfl_xor(A[t * step], 1)  # an element for each lane

    return gather


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (8, 32), (16, 32)])
def test_lanes_share_sectors(step: int, sectors: int) -> None:
    counts = counted(strided(step), zeros(32 * step), zeros(32))
    assert counts.device["load"] == DeviceTraffic(requests=1, bytes=128, sectors=sectors)
    assert counts.device["store"].sectors == 4


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("width", "ways"), [(32, 32), (33, 1), (34, 2), (36, 4)])
def test_bank_conflicts_of_a_transposed_access(width: int, ways: int, chip: str) -> None:
    counts = counted(transposing(width), zeros(32, 32), zeros(32, 32), chip=chip)
    written = counts.line("S[i * width + t] =")
    assert written.shared == {"store": SharedTraffic(requests=32, bytes=4096, wavefronts=32, least_wavefronts=32)}
    assert written.conflicts == 0
    read = counts.line("B[i, t] =")
    assert read.shared == {"load": SharedTraffic(requests=32, bytes=4096, wavefronts=32 * ways, least_wavefronts=32)}
    assert read.conflicts == counts.conflicts == 32 * (ways - 1)


@pytest.mark.parametrize(
    ("dtype", "accumulator", "flop"), [("float16", "float32", "float16"), ("int8", "int32", "int8")]
)
@pytest.mark.parametrize("chip", CHIPS)
def test_the_work_of_a_gemm(chip: str, dtype: str, accumulator: str, flop: str) -> None:
    M, N, K, block = 128, 192, 256, (64, 64, 64)
    arguments = zeros(M, K, dtype=dtype), zeros(N, K, dtype=dtype), zeros(M, N, dtype=accumulator)
    counts = counted(gemm(M, N, K, dtype, accumulator, block), *arguments, chip=chip)
    instruction, copy = ("mma", "cp.async") if chip == "sm_80" else ("wgmma", "bulk load")
    assert counts.flop == {f"{instruction} {flop}": 2 * M * N * K}
    assert counts.line("T.gemm").flop == counts.flop
    # Each of 3 x 2 blocks loads 4 tiles of A and of B.
    tile = 64 * 64 * arguments[0].itemsize
    loaded = counts.device[copy]
    assert loaded.bytes == 6 * 4 * 2 * tile
    assert loaded.sectors == loaded.bytes // 32
    assert counts.line("T.copy(A[").device[copy].bytes == 6 * 4 * tile
    assert counts.shared[copy].bytes == loaded.bytes
    # What is touched is touched once, however often it is loaded.
    touched = {t.name: (t.sectors_read * 32, t.sectors_written * 32) for t in counts.launches[0].tensors}
    assert touched == {
        "A": (arguments[0].nbytes, 0),
        "B": (arguments[1].nbytes, 0),
        "C": (0, arguments[2].nbytes),
    }
    if chip == "sm_90a":
        # A 64 x K and a K x 64 factor, 32 bytes of each row and column for each instruction.
        assert counts.shared["wgmma"].bytes == 6 * (64 + 64) * K * arguments[0].itemsize


@pytest.mark.parametrize("chip", CHIPS)
def test_counts_do_not_depend_on_the_seed(chip: str) -> None:
    arguments = zeros(64, 128, dtype="float16"), zeros(64, 128, dtype="float16"), zeros(64, 64)
    found = []
    for seed in range(3):
        sim.set_options(seed=seed)
        found.append(counted(gemm(64, 64, 128, "float16", "float32", (64, 64, 64)), *arguments, chip=chip))
    sim.set_options()
    assert found[0].flop
    assert found[0] == found[1] == found[2]


def test_scalars_and_results() -> None:
    @T.prim_func
    def main(A: T.Tensor((1024,), "float32"), n: T.int32, B: T.Tensor((1024,), "float32")):
        with T.Kernel(2, threads=128) as b:
            if b < n:
                for i in T.Parallel(512):
                    B[b * 512 + i] = A[b * 512 + i]

    kernel = tilec.compile(main, target="sm_90a", backend="sim", out_idx=-1)
    for n in range(3):
        assert sim.count(kernel, zeros(1024), n).sectors == 128 * n


def test_launches_are_added_up() -> None:
    @T.prim_func
    def twice(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(128):
                B[i] = A[i] + 1
        with T.Kernel(1, threads=32):
            for i in T.Parallel(128):
                B[i] = B[i] * 2

    counts = counted(twice, zeros(128), zeros(128))
    assert [launch.sectors for launch in counts.launches] == [32, 32]
    assert counts.sectors == 64
    assert counts.line("* 2").sectors == 32


def test_text_and_dictionary() -> None:
    counts = counted(transposing(32), zeros(32, 32), zeros(32, 32))
    text = str(counts)
    number = counts.line("B[i, t]").line
    assert f"line {number}: B[i, t] = T.shfl_xor(S[t * width + i], 1)" in text
    assert "  shared memory   load 4,096 bytes in 1,024 wavefronts, 992 of them for bank conflicts" in text
    assert "  device memory   store 4,096 bytes in 128 sectors" in text
    again = json.loads(json.dumps(counts.to_dict()))
    assert again["shared"]["load"]["wavefronts"] == 1024
    lines = {line["line"]: line for line in again["launches"][0]["lines"]}
    assert lines[number]["device"]["store"] == {"requests": 32, "bytes": 4096, "sectors": 128}


def test_a_line_that_is_not_there_or_not_one() -> None:
    counts = counted(transposing(32), zeros(32, 32), zeros(32, 32))
    with pytest.raises(ArgumentError, match=r"did nothing in a line with `T.gemm`; `print\(counts\)` shows"):
        counts.line("T.gemm")
    with pytest.raises(ArgumentError, match="`shfl_xor` stands in .*: give the number of one line"):
        counts.line("shfl_xor")


def test_kernels_of_other_backends_are_counted_too() -> None:
    kernel = tilec.compile(doubling(1024), target="sm_80", assembler="none")
    assert sim.count(kernel, zeros(1024), zeros(1024)).sectors == 256
    with pytest.raises(ArgumentError, match='`double` is compiled for the CPU.*`target="sm_90a"`'):
        sim.count(tilec.compile(doubling(1024), target="cpu"), zeros(1024), zeros(1024))


def test_calls_are_checked_again_after_it() -> None:
    @T.prim_func
    def racing(A: T.Tensor((32,), "int32")):
        with T.Kernel(2, threads=32) as b:
            A[0] = b

    kernel = tilec.compile(racing, target="sm_90a", backend="sim")
    assert sim.count(kernel, zeros(32, dtype="int32")).sectors == 2
    with pytest.raises(ShapeError):
        sim.count(kernel, zeros(33, dtype="int32"))
    with pytest.raises(SimulationError, match="race"):
        kernel(zeros(32, dtype="int32"))
