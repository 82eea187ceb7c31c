"""Element types, and numbers of them as the reference computes with: NumPy arrays, floats as intervals.

Integers are arrays of their own type, `index` is `int32`. A float is a `float64` array of values that its type can
hold. Where the language leaves room, in a contracted product, in the order of a sum, in the last bits of a function, it
is two such arrays, between which every right result lies. So a tolerance is never chosen: it follows from the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SMALL_FLOATS = ("float8_e4m3", "float8_e5m2")
"""Floats of 8 bits that are multiplied."""
STORED_FLOATS = ("float8_e4m3fnuz", "float8_e5m2fnuz")
"""Those that are only stored: without infinities and a negative zero, whose bits are those of the only NaN."""
NARROW_FLOATS = (*SMALL_FLOATS, *STORED_FLOATS)
FLOAT4 = "float4_e2m1fn"
"""The only one of 4 bits: without infinities and NaN, which becomes the greatest number."""
PACKED = ("int4", "uint4", FLOAT4)
"""Numbers of 4 bits: two neighbours in device memory share a byte, and on the chip each has one (M12)."""
NARROW = (*NARROW_FLOATS, *PACKED)
"""Types that are moved and converted, and not computed in."""
FLOATS = ("float16", "bfloat16", "float32", "float64")
ALL = ("bool", *INTEGERS, *FLOATS, *NARROW)

# Of each float: bits of the significand, the least exponent, the greatest finite number.
_FORMATS = {
    FLOAT4: (2, 0, 6.0),
    "float8_e4m3": (4, -6, 448.0),
    "float8_e5m2": (3, -14, 57344.0),
    "float8_e4m3fnuz": (4, -7, 240.0),
    "float8_e5m2fnuz": (3, -15, 57344.0),
    "float16": (11, -14, 65504.0),
    "bfloat16": (8, -126, 3.3895313892515355e38),
    "float32": (24, -126, 3.4028234663852886e38),
    "float64": (53, -1022, 1.7976931348623157e308),
}


def is_float(dtype: str) -> bool:
    return dtype in _FORMATS


def is_integer(dtype: str) -> bool:
    return dtype in (*INTEGERS, "int4", "uint4", "index")


def is_unsigned(dtype: str) -> bool:
    return dtype.startswith("uint")


def bits(dtype: str) -> int:
    """Returns the size on the chip."""
    if dtype in ("bool", *NARROW):
        return 8
    if dtype == "index":
        return 32
    return int("".join(c for c in dtype.removeprefix("b") if c.isdigit()))


def carrier(dtype: str) -> np.dtype[np.generic]:
    """Returns the type of the arrays that hold numbers of a type."""
    if is_float(dtype):
        return np.dtype(np.float64)
    return np.dtype({"bool": "bool", "index": "int32", "int4": "int8", "uint4": "uint8"}.get(dtype, dtype))


def integer_range(dtype: str) -> tuple[int, int]:
    """Returns the least and the greatest integer of a type."""
    if dtype == "bool":
        return 0, 1
    size = 4 if dtype in PACKED else bits(dtype)
    return (0, (1 << size) - 1) if is_unsigned(dtype) else (-(1 << (size - 1)), (1 << (size - 1)) - 1)


def format_of(dtype: str) -> tuple[int, int, float]:
    """Returns the bits of a float's significand, its least exponent, and its greatest finite number."""
    return _FORMATS[dtype]


def significand(dtype: str) -> int:
    return _FORMATS[dtype][0]


def rounded(values: Array, dtype: str) -> Array:
    """Rounds `float64` values to the nearest that a type holds, ties to even (C2)."""
    if dtype == "float64":
        return values
    if dtype == "float32":
        return values.astype(np.float32).astype(np.float64)
    if dtype == "float16":
        return values.astype(np.float16).astype(np.float64)
    precision, least, greatest = _FORMATS[dtype]
    _, exponent = np.frexp(values)
    quantum = np.ldexp(1.0, np.maximum(exponent - 1, least) - (precision - 1))
    with np.errstate(invalid="ignore"):
        near = np.where(np.isfinite(values), np.rint(values / quantum) * quantum, values)
    if dtype in STORED_FLOATS:
        near = near + 0.0  # which has no sign where it is zero
    beyond = np.copysign(np.inf, near) if has_infinity(dtype) else np.nan
    return np.where(np.abs(near) > greatest, beyond, near)


def has_infinity(dtype: str) -> bool:
    return dtype not in ("float8_e4m3", *STORED_FLOATS, FLOAT4)


def limited(values: Array, dtype: str) -> Array:
    """Returns what a conversion to a type rounds: what is too large for 8 bits is the greatest number first (C2)."""
    if dtype not in NARROW:
        return values
    greatest = _FORMATS[dtype][2]
    limits = np.clip(values, -greatest, greatest)
    return np.where(np.isnan(limits), greatest, limits) if dtype == FLOAT4 else limits


def wrapped(values: Array, dtype: str) -> Array:
    """Returns integers as those of a type with the same lowest bits."""
    if dtype == "int4":
        return (((values & 15).astype(np.int8) ^ 8) - 8).astype(np.int8)
    return (values & 15 if dtype == "uint4" else values).astype(carrier(dtype))


def spacing(values: Array, dtype: str) -> Array:
    """Returns one unit in the last place."""
    precision, least, _ = _FORMATS[dtype]
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    return np.ldexp(1.0, np.maximum(exponent - 1, least) - (precision - 1))


def neighbour(values: Array, goals: Array, dtype: str) -> Array:
    """Returns what comes after each value of a type on the way to a goal."""
    kind = np.dtype("float32" if dtype == "bfloat16" else dtype)
    start, goal = np.broadcast_arrays(values.astype(kind), goals.astype(kind))
    found = np.nextafter(start, goal)
    if dtype == "bfloat16":  # the upper half of a `float32`: as many steps, of 2^16 each
        steps = (found.view(np.uint32) - start.view(np.uint32)) << 16
        smallest = (found.view(np.uint32) & 0x80000000) | 0x10000
        moved = np.where(start == 0, smallest, start.view(np.uint32) + steps).astype(np.uint32)
        found = np.where(np.isnan(found), np.nan, moved.view(np.float32))
    return np.where(start == goal, goal, found).astype(np.float64)


def widened(values: Array) -> Array:
    """Returns integers as `float64`, so that rounding them once more gives the nearest of any smaller
    float type; not of `float64` itself."""
    if values.dtype.itemsize < 8:
        return values.astype(np.float64)
    # Keep 52 bits and whether one below them is set: rounding to odd cannot be seen by a second rounding.
    magnitude = np.where(values < 0, np.uint64(0) - values.astype(np.uint64), values.astype(np.uint64))
    if values.dtype.kind == "u":
        magnitude = values
    low = np.uint64(0xFFF)
    sticky = np.where((magnitude & low) != 0, np.uint64(0x800), np.uint64(0))
    large = magnitude > np.uint64(1 << 53)
    kept = np.where(large, (magnitude & ~low) | sticky, magnitude).astype(np.float64)
    return np.where(values < 0, -kept, kept)


@dataclass
class Number:
    """A value of each element of a box: between `low` and `high`, or just `low` if `high` is None."""

    dtype: str
    low: Array
    high: Array | None = None

    @property
    def is_exact(self) -> bool:
        return self.high is None

    @property
    def top(self) -> Array:
        return self.low if self.high is None else self.high


def number(value: object, dtype: str) -> Number:
    """Returns a Python number as a number of a type."""
    return Number(dtype, np.asarray(value, carrier(dtype)))


def interval(dtype: str, low: Array, high: Array) -> Number:
    """Returns the number between two arrays; it is exact if they are one."""
    same = (low == high) | (np.isnan(low) & np.isnan(high))
    return Number(dtype, low) if bool(np.all(same)) else Number(dtype, low, high)


# Bytes of memory ------------------------------------------------------------------------------------------------------


def stored(shape: tuple[int, ...], dtype: str) -> tuple[tuple[int, ...], str]:
    """Returns the shape and the type of the memory that a call passes as a tensor."""
    return ((*shape[:-1], shape[-1] // 2), "uint8") if dtype in PACKED else (shape, dtype)


def encoded(values: Array, dtype: str) -> NDArray[np.uint8]:
    """Returns the bytes of an array, which `values` must fit."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if dtype in PACKED:
        codes = _float4_codes(flat) if dtype == FLOAT4 else flat.view(np.uint8) & 15
        return codes[::2] | codes[1::2] << 4
    if not is_float(dtype):
        return flat.astype(carrier(dtype)).view(np.uint8)
    if dtype == "bfloat16":
        return (flat.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    if dtype in NARROW:
        codes = decoded(np.arange(256, dtype=np.uint8), dtype)
        order = np.argsort(codes[~np.isnan(codes)], kind="stable")
        known = np.arange(256, dtype=np.uint8)[~np.isnan(codes)][order]
        position = np.searchsorted(codes[known], flat)
        found = known[np.minimum(position, len(known) - 1)]
        negative_zero = (flat == 0) & np.signbit(flat)
        found = np.where(flat == 0, np.where(negative_zero, 0x80, 0), found)
        return np.where(np.isnan(flat), 0x80 if dtype in STORED_FLOATS else 0x7F, found).astype(np.uint8)
    return flat.astype(dtype).view(np.uint8)


def decoded(memory: NDArray[np.uint8], dtype: str) -> Array:
    """Returns the numbers that stand in memory."""
    if dtype in PACKED:
        codes = np.stack([memory & 15, memory >> 4], -1).reshape(-1)
        return _FLOAT4[codes] if dtype == FLOAT4 else wrapped(codes, dtype)
    if not is_float(dtype):
        return memory.astype(bool) if dtype == "bool" else memory.view(dtype)
    if dtype == "bfloat16":
        return (memory.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in NARROW:
        return _small_float(memory, dtype)
    with np.errstate(invalid="ignore"):
        return memory.view(dtype).astype(np.float64)


_FLOAT4 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])
"""What each 4 bits stand for."""


def _float4_codes(values: Array) -> NDArray[np.uint8]:
    sizes = np.searchsorted(_FLOAT4[:8], np.abs(values))
    return (sizes | np.where(np.signbit(values), 8, 0)).astype(np.uint8)


def _small_float(memory: NDArray[np.uint8], dtype: str) -> Array:
    precision, least, _ = _FORMATS[dtype]
    fraction_bits = precision - 1
    exponent = (memory & 0x7F) >> fraction_bits
    fraction = (memory & ((1 << fraction_bits) - 1)).astype(np.float64)
    normal = exponent > 0
    scale = np.ldexp(1.0, np.where(normal, exponent.astype(np.int64) - 1, 0) + least - fraction_bits)
    value = (fraction + np.where(normal, 1 << fraction_bits, 0)) * scale
    if dtype in STORED_FLOATS:
        value = np.where(memory == 0x80, np.nan, value)
    elif dtype == "float8_e4m3":
        value = np.where((memory & 0x7F) == 0x7F, np.nan, value)
    else:
        value = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), value)
    return np.where(memory & 0x80, -value, value)
