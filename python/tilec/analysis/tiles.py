"""Which tiles a product with few rows is fast with: formulas, and no measurement.

C = A @ B.T for A of M rows, computed as C.T: a block has a tile of `rows` rows of B and `columns` rows of A, of which
it holds `depth` columns in each of `stages` slots, and `splits` blocks share the sum along K of one tile. With the
figures of `tilec.analysis.gpus`:

    blocks      ceil(N / rows) * ceil(M / columns) * splits
    places      multiprocessors * blocks that fit on one, by shared memory
    uneven      waves / (blocks / places), if there is more than one wave
    on the way  what a multiprocessor has asked for: (stages - 1) slots of each of its blocks
    wanted      0.8 µs of a multiprocessor's share of what memory gives: 27 KB on an H200
    reading     bytes of B / (0.9 * bandwidth) * uneven * wanted / on the way, the last if that is more than 1
    cache       what all blocks load, (rows + columns) * K / splits elements each, over the L2 cache's rate
    feeding     what the multiprocessor with the most blocks loads, at 64 bytes in a clock
    adding up   8 bytes * splits * M * N over the rate of sums, and a trip to memory and back, if `splits` is not 1
    seconds     begin + max(reading, cache, feeding) + adding up

The constants below were fitted to measurements on an H100 with cold weights, of 1 and 128 rows and three shapes of B.
In another run, with 16 and 64 rows too and kernels that are launched early, the tile with the least estimate of those
measured was 0.947 to 1.000 times as fast as the best one of its shape. Products of more rows are bound by the tensor
cores, which have no part here.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ..errors import ArgumentError
from ..typed import TYPE_CHECKING
from .gpus import find

if TYPE_CHECKING:
    from .gpus import GPU

_REACHED = 0.9
"""Of the published bandwidth of device memory."""
_LATENCY = 0.8e-6
"""Of device memory that is busy, in seconds."""
_CACHE_RATE = 9e12
"""Bytes that the L2 cache gives all multiprocessors in a second."""
_FED_PER_CLOCK = 64
"""Bytes that it gives one multiprocessor in a clock."""
_BEGIN = 2.5e-6
"""Seconds until a kernel's first bytes are there."""
_RATE_OF_SUMS = 2.5e12
"""Bytes in a second that sums are written and read with."""
_TRIP = 1.5e-6
"""Seconds for a sum to get to memory, and to whoever adds it up."""
_SHARED_BYTES = 227 * 1024
_BARRIER_BYTES = 1024
_FEW_STAGES = 4
_LONG_RING = 1280
"""Columns of K in all slots beyond which more do no good."""
_MOST_ROWS = 128
"""Rows of A up to which this is about memory."""


@dataclass(frozen=True)
class Tile:
    """A tile, as above, and the threads of a block."""

    rows: int
    columns: int
    depth: int
    stages: int
    splits: int = 1
    threads: int = 128

    def slot_bytes(self, itemsize: int) -> int:
        """Returns the bytes of one slot, with elements of `itemsize` bytes."""
        return (self.rows + self.columns) * self.depth * itemsize

    def resident(self, itemsize: int) -> int:
        """Returns how many blocks fit on a multiprocessor: none if the tile is too large."""
        sums = 4 * self.rows * self.columns
        return _SHARED_BYTES // (max(self.stages * self.slot_bytes(itemsize), sums) + _BARRIER_BYTES)

    def seconds(self, M: int, N: int, K: int, itemsize: int, gpu: GPU) -> float:
        """Returns how long the product of `M`, `N` and `K` takes by the formulas above."""
        blocks = -(-N // self.rows) * -(-M // self.columns) * self.splits
        places = self.resident(itemsize) * gpu.multiprocessors
        waves = -(-blocks // places)
        uneven = waves * places / blocks if waves > 1 else 1.0
        ahead = (self.stages - 1) * self.slot_bytes(itemsize)
        on_way = min(self.resident(itemsize), blocks / gpu.multiprocessors) * ahead
        wanted = _LATENCY * _REACHED * gpu.bandwidth / gpu.multiprocessors
        reading = N * K * itemsize / (_REACHED * gpu.bandwidth) * max(1.0, wanted / on_way) * uneven
        loaded = (self.rows + self.columns) * K / self.splits * itemsize
        cache = blocks * loaded / _CACHE_RATE
        feeding = -(-blocks // gpu.multiprocessors) * loaded / (_FED_PER_CLOCK * gpu.clock)
        adding = 8 * self.splits * M * N / _RATE_OF_SUMS + _TRIP if self.splits > 1 else 0.0
        return _BEGIN + max(reading, cache, feeding) + adding


def thin_tiles(M: int, N: int, K: int, itemsize: int = 2, gpu: str = "H200", count: int = 4) -> list[Tile]:
    """Returns `count` tiles for a product, the one first that the formulas say to be the fastest.

    They differ in more than the ring: of tiles with the same rows, columns and splits there is the best one. Of equals
    that is one with 4 slots or more, and as many columns of K in all of them as do good; a longer ring is no faster.

    - `M`, `N`, `K`: rows of A, at most 128, rows of B, and columns of both.
    - `itemsize`: bytes of an element.
    - `gpu`: a GPU of `tilec.analysis.gpus`.

    Raises an ArgumentError for more rows.

    >>> thin_tiles(16, 4096, 4096, count=1)
    [Tile(rows=32, columns=16, depth=256, stages=5, splits=1, threads=128)]
    """
    if not 1 <= M <= _MOST_ROWS:
        raise ArgumentError(f"these formulas are for 1 to {_MOST_ROWS} rows, and there are {M}")
    found = find(gpu)
    whole = -(-M // 8) * 8
    tiles = [
        Tile(rows, columns, depth, stages, splits, 256 if rows > 64 else 128)
        for rows, columns, depth, stages, splits in itertools.product(
            (32, 64, 128), sorted({whole, min(whole, 64)}), (64, 128, 256), range(3, 13), (1, 2, 4)
        )
        if splits * depth * 2 <= K
    ]
    fitting = [tile for tile in tiles if tile.resident(itemsize) > 0]
    fitting.sort(
        key=lambda tile: (
            tile.seconds(M, N, K, itemsize, found),
            tile.stages < _FEW_STAGES,
            -min(tile.depth * tile.stages, _LONG_RING),
            -tile.depth,
        )
    )
    chosen: dict[tuple[int, int, int], Tile] = {}
    for tile in fitting:
        chosen.setdefault((tile.rows, tile.columns, tile.splits), tile)
    return list(chosen.values())[:count]
