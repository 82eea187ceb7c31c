"""What a kernel needs of a multiprocessor, and how many of its blocks fit on one."""

from __future__ import annotations

from .errors import TargetError
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_NEEDED = frozenset(("registers", "spill_loads", "spill_stores", "stack"))

_LIMITS = {
    "75": (32, 16, 64),
    "80": (64, 32, 164),
    "86": (48, 16, 100),
    "87": (48, 16, 164),
    "89": (48, 24, 100),
    "90": (64, 32, 228),
    "100": (64, 32, 228),
    "103": (64, 32, 228),
    "110": (48, 24, 228),
    "120": (48, 24, 100),
    "121": (48, 24, 100),
}
"""For each compute capability the warps, blocks and KiB of shared memory of a multiprocessor: CUDA C++ Programming
Guide, "Technical Specifications per Compute Capability"."""

_REGISTERS = 64 * 1024
_REGISTER_UNIT = 256
"""Registers are given to a warp in such units."""
_WARP_UNIT = 4
"""Each of the four parts of a multiprocessor has its own registers."""
_SHARED_UNIT = 128
_RESERVED_SHARED = 1024
"""What the system takes of shared memory for each block; nothing before compute capability 8.0."""


class ResourceUsage:
    """What one compiled kernel needs.

    - `registers`: for each thread.
    - `spill_loads`, `spill_stores`, `stack`: bytes for each thread in local memory.
    - `shared`: bytes of dynamic shared memory for each block, without what the host adds at launch.
    - `threads`: of a block.
    - `limits`: how many blocks fit on a multiprocessor by its "registers", "shared memory", "threads" and "blocks".
    - `blocks`: how many fit, the least of these. `limited_by` says which that is.
    - `occupancy`: the warps of these blocks, as a fraction of those that a multiprocessor can hold.
    """

    def __init__(self, target: str, kernel: dict[str, Any]) -> None:
        found = kernel.get("resources", {})
        if not found.keys() >= _NEEDED:
            raise TargetError(
                f"nothing is known of the registers of `{kernel['name']}`: it was compiled for {target} without an "
                f"assembler"
            )
        self.registers: int = found["registers"]
        self.spill_loads: int = found["spill_loads"]
        self.spill_stores: int = found["spill_stores"]
        self.stack: int = found["stack"]
        self.shared: int = kernel["shared"]
        self.threads = 1
        for extent in kernel["block"]:
            self.threads *= extent
        self.limits = blocks_that_fit(target, self.threads, self.registers, self.shared)
        self.blocks = min(self.limits.values())
        self.occupancy = self.blocks * -(-self.threads // 32) / _limits(target)[0]

    @property
    def limited_by(self) -> str:
        """What it would need more of for more blocks: "registers", or "registers and threads" if they bind together."""
        return " and ".join(name for name, blocks in self.limits.items() if blocks == self.blocks)

    def __repr__(self) -> str:
        spills = f", {self.spill_loads + self.spill_stores} bytes spilled" if self.spill_loads else ""
        return (
            f"<{self.registers} registers, {self.shared} bytes of shared memory{spills}: {self.blocks} blocks of "
            f"{self.threads} threads on a multiprocessor, limited by {self.limited_by}, occupancy {self.occupancy:.0%}>"
        )


def blocks_that_fit(target: str, threads: int, registers: int, shared: int) -> dict[str, int]:
    """Returns how many blocks fit on a multiprocessor by its "registers", "shared memory", "threads" and "blocks".

    - `threads`: of a block, each with so many `registers`.
    - `shared`: bytes of shared memory of a block.
    """
    most_warps, most_blocks, capacity = _limits(target)
    warps = -(-threads // 32)
    reserved = 0 if target == "sm_75" else _RESERVED_SHARED
    return {
        "registers": _fitting_warps(registers) // warps,
        "shared memory": capacity * 1024 // max(_rounded(shared + reserved, _SHARED_UNIT), 1),
        "threads": most_warps // warps,
        "blocks": most_blocks,
    }


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _fitting_warps(registers: int) -> int:
    warp = _rounded(max(registers, 1) * 32, _REGISTER_UNIT)
    return _REGISTERS // _WARP_UNIT // warp * _WARP_UNIT


def _limits(target: str) -> tuple[int, int, int]:
    capability = target.removeprefix("sm_").rstrip("af")
    if capability not in _LIMITS:
        raise TargetError(f"how many blocks fit on a multiprocessor of {target} is not known")
    return _LIMITS[capability]
