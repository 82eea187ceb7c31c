"""The cost model that chooses: how long a tile program takes, before it is compiled. Formulas, and no measurement.

`tilec.analysis.roofline` says what a kernel takes at least, of what the simulator counted; this says about how long it
will take, of the program's text alone, so that many configurations can be compared in a moment. What a block does is
read off the program (`tilec.analysis.tile_work`), whatever it is: there is no word of GEMMs below. With the figures of
`tilec.analysis.gpus`, for each launch:

    resident    blocks on a multiprocessor, by shared memory, registers and threads
    rounds      ceil(blocks / (multiprocessors * resident))
    busiest     ceil(blocks / multiprocessors): what the multiprocessor with the most blocks executes of them

    multiply    busiest * clocks of a block's products / _BUSY
    power       flop of all blocks / (_POWER * published flop in a second)
    in order    rounds * (steps * _STEP + clocks of a block's products / _BUSY + waits), a step being one of a ring
    rings       rounds * steps / (stages - 1) * (_ROUND_TRIP + bytes of a slot / _FED): it is asked for, and comes
    blocks      rounds * (_BEGIN + _LATENCY + elements + reductions * _REDUCE), of a launch without rings
    feed        busiest * bytes that a block loads / _FED
    cache       lines that all blocks load / (multiprocessors * _CACHE)
    elements    busiest * (elements / 128 + functions / 16), the lanes of a multiprocessor
    memory      bytes / (_REACHED * bandwidth) * uneven * max(1, wanted / on the way) + _COLD
    end         bytes that the blocks of a round store / (multiprocessors * _STORED)
    seconds     (_BEGIN + end) * (rounds if resident is 1, else 1) + main + rounds * steps * _ISSUE
    main        rings, blocks, memory, and the greatest of the others, added as fourth powers

- `memory` does not wait for `_ISSUE`, which the copies ahead hide.
- Products: `wgmma` multiplies 64 rows and 32 bytes of K by N columns in N / 2 clocks, or as long as its operands take
  from shared memory at 128 bytes a clock: (64 + N) / 4. Rows are rounded up to 64, columns to 8. `mma.sync` reaches
  _MMA of the published rate, and waits _MMA_WAIT clocks for each 32 bytes of K.
- Lines: the cache gives lines of 128 bytes, so that rows that begin elsewhere are asked for twice.
- Bytes of memory: each tensor once, or again in each round that finds it no more. What a round loads is what its
  blocks load of different places at one time; a tensor that takes less than half of the cache stays there.
- `uneven`: places of all rounds / blocks, if there is more than one. `on the way`: (stages - 1) slots and what is asked
  for at once outside of rings, of all resident blocks; `wanted`: _LATENCY of a multiprocessor's share of the bandwidth.

Two things that take nearly as long hinder each other, which is why `main` is no maximum. Of fragments besides the
largest a quarter counts as registers: not all are held at one time.

Where the constants are from: some as said at each. `_BEGIN`, `_STEP`, `_ISSUE`, `_ROUND_TRIP`, `_CACHE`, `_STORED`,
`_COLD`, `_BUSY` and `_MMA_WAIT` were fitted together, to 772 medians of two GEMM programs, softmax and RMSNorm with 6
to 17 tiles each, on an H100, in 66 races: for times to be right, and the best tile of each race to come first. They are
in test/python/recorded_races.json, and test/python/test_cost.py says what the model makes of them: it is off by 10 % in
the mean, and the tile that it puts first takes 1.03 times as long as the best, in the geometric mean, and 1.33 times at
most, of 96 columns. Chips before Hopper have the same formulas, and nothing was measured there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..resources import blocks_that_fit
from ..typed import TYPE_CHECKING
from . import tile_work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..builder import PrimFunc
    from .gpus import GPU
    from .tile_work import Launch, Product

_MEMORY = "device memory"
_APART = ("rings", "blocks in order", _MEMORY)

_BUSY = 0.842
"""Of the clocks, in which a multiprocessor's tensor cores are busy at most."""
_POWER = 0.77
"""Of the published rate, what the power of a card allows with random data: cuBLAS and we from 2048 x 2048 x 2048, which
is fastest, to 8192 x 8192 x 8192 (docs/Performance.md, "GEMM beside cuBLAS")."""
_STEP = 8
"""Clocks that a step of a ring takes besides its products: a barrier, and the products' first results."""
_ISSUE = 21
"""Clocks of a step that nothing hides."""
_ROUND_TRIP = 0.32e-6
"""Seconds from asking for a slot to having it, under load."""
_FED = 64
"""Bytes that the L2 cache gives one multiprocessor in a clock."""
_CACHE = 42.4
"""The same of one where all ask at once."""
_STORED = 13.7
"""Bytes that it takes from one multiprocessor in a clock, where all store at once."""
_REACHED = 0.9
"""Of the published bandwidth of device memory: copies reach it (docs/Performance.md, "Rows")."""
_LATENCY = 0.8e-6
"""Seconds of device memory that is busy."""
_COLD = 0.95e-6
"""Seconds more until the first bytes are there, if they come from device memory."""
_BEGIN = 0.745e-6
"""Seconds until a block's first bytes are there, and from its last product to its last byte."""
_MMA = 0.6
"""Of the published rate, what `mma.sync` reaches on Hopper (docs/Performance.md, the row of `sm_90`)."""
_MMA_WAIT = 6.5
"""Clocks of a step of `mma.sync`, which nothing hides."""
_REDUCE = 300
"""Clocks in which the threads of a block combine what each of them has: two barriers, and shuffles between them."""
_LANES, _SPECIAL = 128, 16
"""Lanes of a multiprocessor, and those of them that compute special functions: CUDA C++ Programming Guide, "Arithmetic
Instructions"."""
_OTHER_REGISTERS = 20
"""Registers of a thread besides those of fragments, in kernels that were looked at."""
_MOST_REGISTERS = 255
_MOST_SHARED = {"80": 163, "89": 99, "90": 227}
"""KiB that a block can have, by compute capability: CUDA C++ Programming Guide, "Technical Specifications"."""
_RING_BYTES = 1024
"""Bytes of shared memory for the barriers of rings, and for aligning them."""


@dataclass
class LaunchCost:
    """What one launch takes, by the formulas above.

    - `resident`, `rounds`: blocks on a multiprocessor, and how often all places are taken.
    - `parts`: seconds by name; the greatest bounds.
    """

    resident: int
    rounds: int
    seconds: float
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> str:
        """The name of the greatest part."""
        return max(self.parts, key=lambda part: self.parts[part])


@dataclass
class Cost:
    """How long a program takes, about.

    - `refusal`: why it will not do, or "": more shared memory than a block can have, or registers than a thread.
    """

    launches: list[LaunchCost]
    refusal: str = ""

    @property
    def seconds(self) -> float:
        """Of all launches, one after the other; infinite if the program will not do."""
        return math.inf if self.refusal else sum(launch.seconds for launch in self.launches)

    @property
    def bound(self) -> str:
        """What bounds the launch that takes longest, or ""."""
        return max(self.launches, key=lambda launch: launch.seconds).bound if self.launches else ""

    def __str__(self) -> str:
        if self.refusal:
            return self.refusal
        longest = max(self.launches, key=lambda launch: launch.seconds)
        rounds = f"{longest.rounds} round{'s' if longest.rounds > 1 else ''} of {longest.resident} on a multiprocessor"
        return f"about {self.seconds * 1e6:.4g} µs, bound by {longest.bound}, {rounds}"


def cost(program: PrimFunc, gpu: GPU, extents: Mapping[str, int] | None = None, *, in_cache: bool = False) -> Cost:
    """Returns about how long a program takes on a GPU.

    - `extents`: those of symbols, by name; one that is missing counts as `tile_work.UNKNOWN_EXTENT`.
    - `in_cache`: whether everything is in the L2 cache before.

    >>> cost(gemm(4096, 4096, 4096), gpus.find("H100")).bound
    'power'
    """
    target = f"sm_{gpu.capability}"

    def wave(launch: Launch) -> int:
        return gpu.multiprocessors * max(1, _resident(launch, target))

    launches = tile_work.read(program, extents or {}, wave)
    for launch in launches:
        if refusal := _refusal(launch, gpu):
            return Cost([], refusal)
    return Cost([launch_cost(launch, gpu, in_cache=in_cache) for launch in launches])


def _resident(launch: Launch, target: str) -> int:
    others = (launch.registers - launch.largest) // 4  # which are not all held at one time
    registers = min(_MOST_REGISTERS, launch.largest + others + _OTHER_REGISTERS)
    shared = launch.shared + (_RING_BYTES if launch.rings else 0)
    return min(blocks_that_fit(target, launch.threads, registers, shared).values())


def _refusal(launch: Launch, gpu: GPU) -> str:
    most = _MOST_SHARED[gpu.capability]
    if launch.shared + (_RING_BYTES if launch.rings else 0) > most * 1024:
        return f"a block would have {launch.shared / 1024:.4g} KiB of shared memory, and there are {most}"
    if launch.largest + _OTHER_REGISTERS > _MOST_REGISTERS:
        return f"a thread would have {launch.largest} registers for one fragment, and there are {_MOST_REGISTERS}"
    return ""


def launch_cost(launch: Launch, gpu: GPU, *, in_cache: bool = False) -> LaunchCost:
    """Returns about how long one launch takes; see `cost`."""
    clock = gpu.clock
    resident = max(1, _resident(launch, f"sm_{gpu.capability}"))
    rounds = -(-launch.blocks // (gpu.multiprocessors * resident))
    busiest = -(-launch.blocks // gpu.multiprocessors)
    steps = sum(ring.trips for ring in launch.rings)
    products = sum(times * _clocks(product, launch, gpu) for product, times in launch.products) / _BUSY
    waits = sum(times * _waits(product, launch, gpu) for product, times in launch.products)
    loads = [t for t in launch.transfers if not t.is_store]
    sectors, lines = sum(t.sectors for t in loads), sum(t.lines for t in loads)
    stored = sum(t.bytes for t in launch.transfers if t.is_store)
    moved = 0.0 if in_cache else _device_bytes(launch, gpu)
    # The first slot comes before the first product, and the last product after the last slot.
    fill = sectors / steps / _FED if steps else 0.0
    drain = products / steps if steps else 0.0
    parts = {
        "tensor cores": busiest * products + fill,
        "steps in order": rounds * (steps * _STEP + products + waits) + fill,
        "L2 to one multiprocessor": busiest * sectors / _FED + drain,
        "L2 cache": launch.blocks * lines / (gpu.multiprocessors * _CACHE) + drain,
        "elements": busiest * (launch.elements / _LANES + launch.functions / _SPECIAL),
    }
    parts = {name: clocks / clock for name, clocks in parts.items()}
    turns = sum(ring.trips / (ring.stages - 1) for ring in launch.rings)
    parts["rings"] = rounds * turns * (_ROUND_TRIP + (sectors / steps / _FED / clock if steps else 0.0))
    parts["power"] = sum(
        launch.blocks * times * _flop(product) / (_POWER * _rate(product, gpu)) for product, times in launch.products
    )
    parts = {name: seconds + rounds * steps * _ISSUE / clock for name, seconds in parts.items() if seconds}
    if moved:
        parts[_MEMORY] = _memory(launch, gpu, resident, rounds, moved)
    together = min(launch.blocks, gpu.multiprocessors * resident)
    end = together * stored / (gpu.multiprocessors * _STORED * clock)
    alone = rounds if resident == 1 and launch.rings else 1
    if not launch.rings:
        work = launch.elements / _LANES + launch.functions / _SPECIAL + launch.reductions * _REDUCE
        parts["blocks in order"] = rounds * (_BEGIN + _LATENCY + work / clock)
    others = max((seconds for name, seconds in parts.items() if name not in _APART), default=0.0)
    main = sum(seconds**4 for seconds in (others, *(parts.get(name, 0.0) for name in _APART))) ** 0.25
    return LaunchCost(resident, rounds, alone * (_BEGIN + end) + main, parts)


def _memory(launch: Launch, gpu: GPU, resident: int, rounds: int, moved: float) -> float:
    places = rounds * gpu.multiprocessors * resident
    uneven = places / launch.blocks if rounds > 1 else 1.0
    ahead = sum((ring.stages - 1) * ring.slot for ring in launch.rings) + launch.straight
    on_way = min(resident, launch.blocks / gpu.multiprocessors) * ahead
    wanted = _LATENCY * _REACHED * gpu.bandwidth / gpu.multiprocessors
    slow = max(1.0, wanted / on_way) if on_way else 1.0
    return moved / (_REACHED * gpu.bandwidth) * uneven * slow + _COLD


def _device_bytes(launch: Launch, gpu: GPU) -> float:
    """Returns the bytes that come from device memory, and go there."""
    total = 0.0
    for is_store in (False, True):
        tensors = {t.tensor: t.tensor_bytes for t in launch.transfers if t.is_store == is_store}
        for tensor, whole in tensors.items():
            moved = [t for t in launch.transfers if t.is_store == is_store and t.tensor == tensor]
            all_bytes = launch.blocks * sum(t.bytes for t in moved)
            once = min(whole, all_bytes)
            again = launch.blocks * sum(t.bytes * t.distinct for t in moved)
            if whole > gpu.cache / 2:
                total += once if is_store else max(once, min(again, all_bytes))
            elif not moved[0].is_workspace:
                total += once
    return total


def _has_wgmma(product: Product, launch: Launch, gpu: GPU) -> bool:
    return gpu.capability == "90" and product.m >= 64 and product.bits <= 32 and launch.threads % 128 == 0


def _clocks(product: Product, launch: Launch, gpu: GPU) -> float:
    """Returns the clocks that a product keeps a multiprocessor's tensor cores busy."""
    if not _has_wgmma(product, launch, gpu):
        share = _MMA if gpu.capability == "90" else 1.0
        return _flop(product) / (share * _rate(product, gpu) / gpu.multiprocessors / gpu.clock)
    rows, columns = -(-product.m // 64), -(-product.n // 8) * 8
    from_shared = ((64 if product.reads_shared else 0) + columns) / 4
    return rows * max(columns / 2, from_shared) * _pieces(product)


def _waits(product: Product, launch: Launch, gpu: GPU) -> float:
    return 0.0 if _has_wgmma(product, launch, gpu) else _MMA_WAIT * _pieces(product)


def _pieces(product: Product) -> float:
    """Returns the instructions' steps along K, of 32 bytes each."""
    return product.k * product.bits / 256


def _flop(product: Product) -> int:
    return 2 * product.m * product.n * product.k


def _rate(product: Product, gpu: GPU) -> float:
    """Returns the published flop in a second. Types of one size have one rate."""
    if product.bits == 64:
        return gpu.flop["float64"]
    return gpu.flop["float16"] * 16 / product.bits
