"""`tilelang.math`: numbers that tile sizes are computed with."""

from __future__ import annotations

__all__ = ["cdiv", "next_power_of_2"]


def next_power_of_2(x: int) -> int:
    """Returns the least power of two that is not below `x`; 1 for zero and less."""
    return 1 << max(x - 1, 0).bit_length()


def cdiv(a: int, b: int) -> int:
    """Returns `a / b`, rounded up."""
    return -(a // -b)
