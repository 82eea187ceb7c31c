"""What tensors hold before a program runs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .elements import Array, bits, carrier, encoded, has_infinity, integer_range, is_float, rounded
from .program import Tensor

KINDS = ("small", "sixteenths", "wide", "special", "poison")


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
    values = random.integers(max(-8, least), 9, shape, dtype=np.int64)
    if kind == "special":
        edges = np.array([least, least + 1, greatest, greatest - 1, 0, 1], carrier(dtype))
        chosen = edges[random.integers(0, len(edges), shape)]
        return np.where(random.random(shape) < 0.2, chosen, values.astype(carrier(dtype)))
    return values.astype(carrier(dtype))


def _floats(random: np.random.Generator, shape: tuple[int, ...], dtype: str, kind: str) -> Array:
    if kind == "poison":
        return np.full(shape, np.nan)
    if kind == "wide":
        powers = np.ldexp(1.0, random.integers(-6, 7, shape))
        return rounded(np.where(random.random(shape) < 0.5, -powers, powers), dtype)
    if bits(dtype) == 8:
        values = random.integers(-8, 9, shape) * 1.0
    elif kind == "sixteenths":
        values = random.integers(-64, 65, shape) / 16.0
    else:
        values = random.integers(-8, 9, shape) * 1.0
    if kind == "special":
        edges = np.array([np.nan, np.inf, -np.inf, -0.0] if has_infinity(dtype) else [np.nan, -0.0])
        values = np.where(random.random(shape) < 0.1, edges[random.integers(0, len(edges), shape)], values)
    return rounded(values, dtype)
