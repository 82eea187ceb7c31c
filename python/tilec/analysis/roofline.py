"""The cost model: how long what was counted takes at least. An estimate, and no measurement.

Four parts of a GPU work at the same time, and none is faster than it can be. For each launch, with the figures of
`tilec.analysis.gpus`:

    device memory   32 bytes * (sectors read + sectors written) / bandwidth
    shared memory   (wavefronts + (bulk and `wgmma` bytes) / 128) / clock * share
    tensor cores    sum over types of flop / (flop per second / multiprocessors) * share
    issue           instructions / 4 / clock * share
    share           ceil(blocks / multiprocessors) / blocks
    estimate        the greatest of the four

- Sectors of device memory are those of all tensors, each counted once: as if the L2 cache held everything that is used
  again.
- `share` is what the multiprocessor with the most blocks does of the work. Device memory is shared by all.
- A multiprocessor moves 128 bytes of shared memory and issues 4 instructions of warps in a clock (CUDA C++ Programming
  Guide, "Shared Memory", "Multiprocessor Level"). `clock` is the one that the tensor cores' rate is published for.
- Instructions are ops of thread level, without those that only name registers. Machine code has other ones.

The time of a launch itself, waits for memory and at barriers, clocks that sink for want of power, and `mma` on Hopper,
which does not reach the rate of `wgmma`, come on top: a kernel that is well made comes near, and none is faster.

What a line takes is its part of each time: of device memory by the sectors that it moves, repeated ones as well.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field

from ..errors import TargetError
from ..typed import TYPE_CHECKING
from .counts import SECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..resources import ResourceUsage
    from .counts import Counts, LaunchWork, Work
    from .gpus import GPU

_SHARED_BYTES_PER_CLOCK = 128
_ISSUED_PER_CLOCK = 4
_WHOLE_ROWS = ("bulk load", "bulk store", "wgmma")
"""What reads or writes shared memory without wavefronts of its own."""


@dataclass
class Times:
    """Seconds that each part of a GPU is busy."""

    device_memory: float = 0.0
    shared_memory: float = 0.0
    tensor_cores: float = 0.0
    issue: float = 0.0

    def _parts(self) -> dict[str, float]:
        return {
            "device memory": self.device_memory,
            "shared memory": self.shared_memory,
            "tensor cores": self.tensor_cores,
            "issue": self.issue,
        }

    @property
    def seconds(self) -> float:
        """The greatest of them: how long it takes at least."""
        return max(self._parts().values())

    @property
    def bound(self) -> str:
        """Which one that is: "device memory", "shared memory", "tensor cores" or "issue"."""
        parts = self._parts()
        return max(parts, key=lambda part: parts[part])

    def _row(self) -> str:
        return ", ".join(f"{part} {shown(seconds)}" for part, seconds in self._parts().items() if seconds)


@dataclass
class LineTimes(Times):
    """What one line of the program takes of the times of its launch."""

    file: str = ""
    line: int = 0
    statement: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.statement}\n    {self._row()}"


@dataclass
class LaunchTimes(Times):
    """What one launch takes.

    - `blocks`: of its grid.
    - `flop`: of its tensor cores, by instruction and type, such as "wgmma float16".
    - `usage`: what the kernel needs of a multiprocessor, or None if there is no assembler that says so.
    """

    kernel: str = ""
    blocks: int = 0
    usage: ResourceUsage | None = None
    flop: dict[str, int] = field(default_factory=dict)
    lines: list[LineTimes] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [f"kernel `{self.kernel}`: at least {shown(self.seconds)}, bound by {self.bound}", f"  {self._row()}"]
        rows.append(f"  {self.usage or 'occupancy is not known without an assembler'}")
        # Of others a reader learns nothing.
        lines = (line for line in self.lines if line.seconds > self.seconds / 100)
        return "\n".join([*rows, *(f"  {line}" for line in lines)])


@dataclass
class Estimate:
    """How long a call takes at least on a GPU, by the cost model of `tilec.analysis.roofline`.

    `print(estimate)` shows all. An estimate, and no measurement.
    """

    gpu: str
    launches: list[LaunchTimes]

    @property
    def seconds(self) -> float:
        """The sum of the launches, which come one after the other."""
        return sum(launch.seconds for launch in self.launches)

    @property
    def bound(self) -> str:
        """What binds the launch that takes longest, or "" if there is none."""
        return max(self.launches, key=lambda launch: launch.seconds).bound if self.launches else ""

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as objects, lists and numbers, for JSON; `usage` as text."""
        launches = [
            {**asdict(launch), "usage": launch.usage and str(launch.usage), "bound": launch.bound}
            for launch in self.launches
        ]
        return {"gpu": self.gpu, "seconds": self.seconds, "bound": self.bound, "launches": launches}

    def __str__(self) -> str:
        head = f"estimate for {self.gpu}, not a measurement: at least {shown(self.seconds)}"
        return "\n".join([head, *map(str, self.launches)])


def estimate(counts: Counts, gpu: GPU, usage: Mapping[str, ResourceUsage]) -> Estimate:
    """Returns what a GPU takes at least for what was counted. `usage` says by kernel what blocks need, if known."""
    return Estimate(gpu.name, [_launch(launch, gpu, usage.get(launch.kernel)) for launch in counts.launches])


def _launch(launch: LaunchWork, gpu: GPU, usage: ResourceUsage | None) -> LaunchTimes:
    blocks = math.prod(launch.grid)
    share = -(-blocks // gpu.multiprocessors) / blocks
    touched = sum(tensor.sectors_read + tensor.sectors_written for tensor in launch.tensors)
    device = touched * SECTOR_BYTES / gpu.bandwidth
    lines = [
        LineTimes(
            device * line.sectors / launch.sectors if launch.sectors else 0.0,
            *_on_chip(line, gpu, share),
            line.file,
            line.line,
            line.statement,
        )
        for line in launch.lines
    ]
    return LaunchTimes(device, *_on_chip(launch, gpu, share), launch.kernel, blocks, usage, dict(launch.flop), lines)


def _on_chip(work: Work, gpu: GPU, share: float) -> tuple[float, float, float]:
    """Returns the times of shared memory, tensor cores and issue."""
    rows = sum(work.shared[kind].bytes for kind in _WHOLE_ROWS if kind in work.shared)
    wavefronts = sum(traffic.wavefronts for traffic in work.shared.values())
    shared = (wavefronts + rows / _SHARED_BYTES_PER_CLOCK) / gpu.clock
    issued = sum(count for kind, count in work.instructions.items() if kind != "move")
    tensor = sum(flop / _rate(gpu, kind) for kind, flop in work.flop.items()) * gpu.multiprocessors
    return shared * share, tensor * share, issued / _ISSUED_PER_CLOCK / gpu.clock * share


def _rate(gpu: GPU, kind: str) -> float:
    """Returns flop per second for an instruction and a type, such as "wgmma float16"."""
    dtype = kind.split()[1]
    if dtype not in gpu.flop:
        raise TargetError(f"the tensor cores of {gpu.name} do not multiply {dtype}")
    return gpu.flop[dtype]


def shown(seconds: float) -> str:
    """Returns a time with its unit."""
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
