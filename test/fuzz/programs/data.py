"""What tensors hold before a program runs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .elements import (
    FLOAT4,
    Array,
    bits,
    carrier,
    encoded,
    format_of,
    has_infinity,
    integer_range,
    is_float,
    limited,
    rounded,
)
from .program import Tensor

KINDS = ("small", "sixteenths", "wide", "special", "full", "extreme", "poison")


def contents(tensor: Tensor) -> Array:
    """Returns the elements that a tensor begins with, as `elements.Number` holds them."""
    buffer = tensor.buffer
    if buffer.dtype == "bool" and tensor.kind == "special":
        return (_truths(tensor) != 0).reshape(buffer.shape)
    random = np.random.default_rng(tensor.seed)
    if is_float(buffer.dtype):
        return _floats(random, buffer.shape, buffer.dtype, tensor.kind)
    return _integers(random, buffer.shape, buffer.dtype, tensor.kind)


def memory(tensor: Tensor) -> NDArray[np.uint8]:
    """Returns the bytes that a tensor begins with."""
    if tensor.buffer.dtype == "bool" and tensor.kind == "special":
        return _truths(tensor)
    return encoded(contents(tensor), tensor.buffer.dtype)


def _truths(tensor: Tensor) -> NDArray[np.uint8]:
    """Returns bytes of which any but 0 is true (I5)."""
    random = np.random.default_rng(tensor.seed)
    size = math.prod(tensor.buffer.shape)
    return np.where(random.random(size) < 0.4, 0, random.integers(0, 256, size)).astype(np.uint8)


def _integers(random: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: str) -> Array:
    least, greatest = integer_range(dtype)
    if kind == "poison":
        return np.full(shape, 0x5A5A5A5A5A5A5A5A & greatest if dtype != "bool" else True, carrier(dtype))
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if kind == "wide":
        return random.integers(least, greatest, shape, dtype=carrier(dtype), endpoint=True)
    values = random.integers(max(-8, least), min(9, greatest + 1), shape, dtype=np.int64)
    if kind == "special":
        edges = np.array([least, least + 1, greatest, greatest - 1, 0, 1], carrier(dtype))
        chosen = edges[random.integers(0, len(edges), shape)]
        return np.where(random.random(shape) < 0.2, chosen, values.astype(carrier(dtype)))
    return values.astype(carrier(dtype))


def _full(random: np.random.Generator, shape: tuple[int, ...], dtype: str, is_extreme: bool) -> Array:
    """Returns floats of all bits of their type, near to each other or of any size; none is zero."""
    precision, least, greatest = format_of(dtype)
    ends = (least - precision, math.frexp(greatest)[1]) if is_extreme else (-4, 4)
    sizes = np.ldexp(random.integers(1 << 51, 1 << 53, shape), random.integers(*ends, shape) - 52)
    step = np.ldexp(1.0, least - precision + 1)
    sizes = np.clip(rounded(sizes, dtype), step, greatest)
    # Neighbours of powers of two: those of which something is lost but for its sign.
    near = np.ldexp(1.0, np.frexp(sizes)[1] - 1) * (1 + random.integers(-1, 2, shape) * 2.0 ** (1 - precision))
    sizes = np.where(random.random(shape) < 0.3, np.clip(rounded(near, dtype), step, greatest), sizes)
    return np.where(random.random(shape) < 0.5, -sizes, sizes)


def _floats(random: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: str) -> Array:
    if kind == "poison":
        return np.full(shape, 6.0 if dtype == FLOAT4 else np.nan)
    if kind in ("full", "extreme"):
        return _full(random, shape, dtype, kind == "extreme")
    if kind == "wide":
        powers = np.ldexp(1.0, random.integers(-6, 7, shape))
        values = np.where(random.random(shape) < 0.5, -powers, powers)
        return rounded(limited(values, dtype) if dtype == FLOAT4 else values, dtype)
    if bits(dtype) == 8:
        values = random.integers(-8, 9, shape) * 1.0
    elif kind == "sixteenths":
        values = random.integers(-64, 65, shape) / 16.0
    else:
        values = random.integers(-8, 9, shape) * 1.0
    if kind == "special":
        edges = np.array([np.nan, np.inf, -np.inf, -0.0] if has_infinity(dtype) else [np.nan, -0.0])
        values = np.where(random.random(shape) < 0.1, edges[random.integers(0, len(edges), shape)], values)
    return rounded(limited(values, dtype) if dtype == FLOAT4 else values, dtype)
