"""`tilelang.tools.Analyzer`: what a program multiplies and moves, and about how long that takes."""

from __future__ import annotations

from dataclasses import dataclass

from ....analysis import cost, gpus, tile_work
from ....errors import ArgumentError
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from ....builder import PrimFunc
    from ..carver.arch import CUDA


@dataclass(frozen=True)
class AnalysisResult:
    """What a program does, by the model of docs/Analysis.md, which reads it as it is written.

    - `total_flops`: multiplications and additions of its products.
    - `total_global_bytes`: bytes that its blocks load and store, in whatever cache they are.
    - `estimated_time`: seconds.
    - `expected_tflops`, `expected_bandwidth_GBps`: what the GPU does at most, by its data sheet.
    """

    total_flops: int
    total_global_bytes: int
    estimated_time: float
    expected_tflops: float
    expected_bandwidth_GBps: float  # noqa: N815


class Analyzer:
    """Says what a program does on a GPU: `Analyzer.analysis(program, CUDA("cuda")).total_flops`."""

    @staticmethod
    def analysis(fn: PrimFunc, device: CUDA) -> AnalysisResult:
        """Returns what a program does on a GPU, whose data sheet is that of the first one known of its chip.

        - `device`: what has a `compute_capability`, such as "80", as those of `tilelang.carver.arch` have.
        """
        capability = str(device.compute_capability)
        gpu = next((g for g in gpus.GPUS if g.capability == capability), None)
        if gpu is None:
            raise ArgumentError(f"what a GPU of sm_{capability} can do is not known here")
        flops, moved, widest = 0.0, 0.0, 8
        for launch in tile_work.read(fn, {}, lambda launch: gpu.multiprocessors):
            flops += launch.blocks * sum(2 * p.m * p.n * p.k * times for p, times in launch.products)
            moved += launch.blocks * sum(transfer.bytes for transfer in launch.transfers)
            widest = max([widest, *(p.bits for p, _ in launch.products)])
        peak = gpu.flop["float16"] * 16 / widest if flops else gpu.flop["float16"]
        seconds = cost.cost(fn, gpu).seconds
        return AnalysisResult(round(flops), round(moved), seconds, peak / 1e12, gpu.bandwidth / 1e9)
