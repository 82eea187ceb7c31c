"""What a call of kernels did, as the simulator counted it: see `tilec.backends.sim.count`.

The simulator counts ops of thread level; here they become lines of the program, and kinds of what is moved.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field

from ..errors import ArgumentError
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

SECTOR_BYTES = 32
"""What device memory moves at once (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory")."""

_NAMES = {
    "llvm.load": "load",
    "llvm.store": "store",
    "tl.atom": "atomic",
    "tl.ldmatrix": "ldmatrix",
    "tl.stmatrix": "stmatrix",
    "tl.wgmma": "wgmma",
    "tl.mma": "mma",
    "nvvm.cp.async.shared.global": "cp.async",
    "nvvm.cp.async.bulk.tensor.shared.cluster.global": "bulk load",
    "nvvm.cp.async.bulk.tensor.global.shared.cta": "bulk store",
    "nvvm.cp.async.bulk.tensor.reduce": "bulk store",
}
"""What ops of thread level that move or multiply something are called. Others have the names of their ops."""

_OF_EACH_ELEMENT = ("float", "function", "integer")
"""Instructions that a vector takes one of for each element."""


@dataclass
class DeviceTraffic:
    """Accesses to device memory.

    - `requests`: instructions of warps, or bulk copies.
    - `bytes`: what threads asked for.
    - `sectors`: pieces of 32 bytes that were moved for it; threads of one request share them.
    """

    requests: int = 0
    bytes: int = 0
    sectors: int = 0

    def __str__(self) -> str:
        return f"{self.bytes:,} bytes in {self.sectors:,} sectors"


@dataclass
class SharedTraffic:
    """Accesses to shared memory.

    - `requests`, `bytes`: as for device memory.
    - `wavefronts`: how often the banks were busy, each with at most one word of four bytes. Bulk copies and `wgmma`
      take whole rows of tiles, and have none.
    - `least_wavefronts`: how often without bank conflicts.
    """

    requests: int = 0
    bytes: int = 0
    wavefronts: int = 0
    least_wavefronts: int = 0

    @property
    def conflicts(self) -> int:
        """Wavefronts that are there for bank conflicts only."""
        return self.wavefronts - self.least_wavefronts

    def __str__(self) -> str:
        text = f"{self.bytes:,} bytes"
        if self.wavefronts:
            text += f" in {self.wavefronts:,} wavefronts"
        if self.conflicts:
            text += f", {self.conflicts:,} of them for bank conflicts"
        return text


@dataclass
class Work:
    """What a part of a program did.

    - `device`: accesses to device memory by kind: "load", "store", "atomic", "cp.async", "bulk load", "bulk store".
    - `shared`: to shared memory: the same, "ldmatrix", "stmatrix" and "wgmma".
    - `instructions`: what warps executed, by kind: "float", "function", "integer", "memory", "address", "matrix",
      "copy", "order", "thread", "control", and "move" for what only names registers. They are ops of thread level, of
      vectors one for each element; machine code has fewer or more.
    - `flop`: multiplications and additions of tensor cores by instruction and type, such as "wgmma float16".
    """

    device: dict[str, DeviceTraffic] = field(default_factory=dict)
    shared: dict[str, SharedTraffic] = field(default_factory=dict)
    instructions: dict[str, int] = field(default_factory=dict)
    flop: dict[str, int] = field(default_factory=dict)

    @property
    def sectors(self) -> int:
        """Sectors of device memory that were moved, by accesses of all kinds."""
        return sum(traffic.sectors for traffic in self.device.values())

    @property
    def conflicts(self) -> int:
        """Wavefronts of shared memory that are there for bank conflicts only."""
        return sum(traffic.conflicts for traffic in self.shared.values())

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as objects, lists and numbers, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._rows())

    def _rows(self) -> Iterator[str]:
        yield from (f"  device memory   {kind} {traffic}" for kind, traffic in self.device.items())
        yield from (f"  shared memory   {kind} {traffic}" for kind, traffic in self.shared.items())
        yield from (f"  tensor cores    {kind} {flop:,} flop" for kind, flop in self.flop.items())
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.instructions.items()))
        if kinds:
            yield f"  instructions    {kinds}"

    def _add(self, other: Work) -> None:
        for kind, device in other.device.items():
            ours = self.device.setdefault(kind, DeviceTraffic())
            ours.requests += device.requests
            ours.bytes += device.bytes
            ours.sectors += device.sectors
        for kind, shared in other.shared.items():
            mine = self.shared.setdefault(kind, SharedTraffic())
            mine.requests += shared.requests
            mine.bytes += shared.bytes
            mine.wavefronts += shared.wavefronts
            mine.least_wavefronts += shared.least_wavefronts
        for kind, count in other.instructions.items():
            self.instructions[kind] = self.instructions.get(kind, 0) + count
        for kind, flop in other.flop.items():
            self.flop[kind] = self.flop.get(kind, 0) + flop


@dataclass
class LineWork(Work):
    """What one line of the program did. What the compiler adds without a line has the number 0."""

    file: str = ""
    line: int = 0
    statement: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line else "no line"
        return "\n".join([f"{where}: {self.statement}" if self.statement else where, *self._rows()])


@dataclass
class TensorWork:
    """What a launch touched of one tensor: sectors, each counted once however often it was read or written."""

    name: str
    bytes: int
    sectors_read: int
    sectors_written: int


@dataclass
class LaunchWork(Work):
    """What one launch of a kernel did, in all and by line.

    `blocks` is how many blocks were counted. If the grid has more, numbers are what all make if they are alike.
    """

    kernel: str = ""
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    blocks: int = 0
    shared_bytes: int = 0
    lines: list[LineWork] = field(default_factory=list)
    tensors: list[TensorWork] = field(default_factory=list)

    def __str__(self) -> str:
        shared = f"{self.shared_bytes:,} bytes of shared memory"
        head = f"kernel `{self.kernel}`, grid {self.grid}, block {self.block}, {shared}"
        if self.blocks < math.prod(self.grid):
            head += f", as {self.blocks} of its blocks do"
        # Constants that a loop carries come from lines of the language's own files.
        shown = (line for line in self.lines if line.instructions.keys() != {"move"})
        return "\n".join([head, *self._rows(), *map(str, shown)])


@dataclass
class Counts(Work):
    """What a call did: the sum of its launches, and each of them.

    `print(counts)` shows all; `counts.line(12)` is what one line did.
    """

    launches: list[LaunchWork] = field(default_factory=list)

    @staticmethod
    def parse(text: str) -> Counts:
        """Makes them of what the simulator says (`tlSimulatorEndCounts`)."""
        counts = Counts(launches=[_launch(launch) for launch in json.loads(text)])
        for launch in counts.launches:
            counts._add(launch)
        return counts

    def line(self, line: int | str) -> LineWork:
        """Returns what a line did in all launches: by its number, or a part of its text."""
        found: dict[tuple[str, int], LineWork] = {}
        for work in (work for launch in self.launches for work in launch.lines):
            if line in work.statement if isinstance(line, str) else line == work.line:
                found.setdefault(
                    (work.file, work.line), LineWork(file=work.file, line=work.line, statement=work.statement)
                )
                found[work.file, work.line]._add(work)
        if not found:
            raise ArgumentError(f"the kernels did nothing in a line with `{line}`; `print(counts)` shows the lines")
        if len(found) > 1:
            places = " and ".join(f"{file}:{number}" for file, number in found)
            raise ArgumentError(f"`{line}` stands in {places}: give the number of one line")
        return next(iter(found.values()))

    def __str__(self) -> str:
        return "\n".join(map(str, self.launches))


def _launch(launch: dict[str, Any]) -> LaunchWork:
    blocks = math.prod(launch["grid"])

    def scale(number: int) -> int:
        """Returns what all blocks make of what those that were counted made."""
        return round(number * blocks / launch["blocks"])

    work = LaunchWork(
        kernel=launch["kernel"],
        grid=tuple(launch["grid"]),
        block=tuple(launch["block"]),
        blocks=launch["blocks"],
        shared_bytes=launch["shared_bytes"],
        lines=_lines(launch["ops"], scale),
        tensors=sorted((_tensor(tensor, scale) for tensor in launch["tensors"]), key=lambda tensor: tensor.name),
    )
    for line in work.lines:
        work._add(line)
    return work


def _tensor(tensor: dict[str, Any], scale: Callable[[int], int]) -> TensorWork:
    # Blocks may touch the same, but all of them not more than there is.
    most = -(-tensor["bytes"] // SECTOR_BYTES)
    read, written = (min(scale(tensor[sectors]), most) for sectors in ("sectors_read", "sectors_written"))
    return TensorWork(tensor["name"], tensor["bytes"], read, written)


def _lines(ops: Sequence[dict[str, Any]], scale: Callable[[int], int]) -> list[LineWork]:
    """Returns the ops' work by line, in the order of the program."""
    lines: dict[tuple[str, int], LineWork] = {}
    for op in ops:
        new = LineWork(file=op["file"], line=op["line"], statement=op["statement"])
        line = lines.setdefault((new.file, new.line), new)
        # Ops that an expression is made of have no statement of their own.
        line.statement = line.statement or new.statement
        line._add(_op(op, scale))
    return [lines[place] for place in sorted(lines)]


def _op(op: dict[str, Any], scale: Callable[[int], int]) -> Work:
    op_name: str = op["op"]
    kind: str = op["kind"]
    name = _NAMES.get(op_name, op_name)
    executed = op["executed"] * (op["elements"] if kind in _OF_EACH_ELEMENT else 1)
    work = Work(instructions={kind: scale(executed)})
    if "device" in op:
        work.device[name] = DeviceTraffic(**{what: scale(number) for what, number in op["device"].items()})
    if "shared" in op:
        work.shared[name] = SharedTraffic(**{what: scale(number) for what, number in op["shared"].items()})
    if "products" in op:
        products = op["products"]
        work.flop[f"{name} {products['type']}"] = scale(products["flop"])
    return work
