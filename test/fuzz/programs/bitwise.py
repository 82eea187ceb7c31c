"""Compares what paths computed bit by bit, which is more than that each of them is right.

The language leaves open the last bits of sums and functions, the sign of some zeros and the bits of a NaN. What can be
said of a difference is of which kind it is, and whether the program has anything that leaves numbers open.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .arithmetic import OPEN_FUNCTIONS
from .elements import Array, bits, decoded, is_float, spacing
from .program import Assign, Binary, Cast, Combined, Copy, Gemm, Program, Reduce, Rounded, Scan, SparseGemm, Unary, walk

Bytes = NDArray[np.uint8]

KINDS = ("NaN", "zero", "rounding", "more")
"""Kinds of differences: between NaNs, between zeros, between neighbours of the type, and all others."""


@dataclass
class Comparison:
    """How many elements of a program were compared, and how many differ, of each kind."""

    elements: int = 0
    differing: dict[str, int] = field(default_factory=dict)
    first: str = ""
    """The first difference in words."""

    @property
    def worst(self) -> str:
        """The worst kind of difference, or "equal"."""
        return next((kind for kind in reversed(KINDS) if kind in self.differing), "equal")

    def add(self, name: str, dtype: str, one: Bytes, other: Bytes) -> None:
        """Compares the memory of a tensor on two paths."""
        size = bits(dtype) // 8
        a, b = (memory.reshape(-1, size) for memory in (one, other))
        self.elements += len(a)
        where = np.flatnonzero((a != b).any(axis=1))
        if not where.size:
            return
        x, y = (decoded(np.ascontiguousarray(memory[where]).reshape(-1), dtype) for memory in (a, b))
        for kind, count in zip(KINDS, _kinds(x, y, dtype), strict=True):
            if count:
                self.differing[kind] = self.differing.get(kind, 0) + count
        if not self.first:
            words = [memory[where[0]].tobytes()[::-1].hex() for memory in (a, b)]
            self.first = (
                f"`{name}`: {where.size} of {len(a)} differ; element {where[0]} is {x[0]!s} (bits {words[0]}), and "
                f"{y[0]!s} (bits {words[1]}) on the other path"
            )


def _kinds(x: Array, y: Array, dtype: str) -> list[int]:
    """Returns how many pairs, all of other bits, differ in each of `KINDS`."""
    if not is_float(dtype):
        return [0, 0, 0, len(x)]
    nan, zero = np.isnan(x) & np.isnan(y), (x == 0) & (y == 0)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= np.maximum(spacing(x, dtype), spacing(y, dtype))
    near &= ~(nan | zero)
    return [int(np.sum(pairs)) for pairs in (nan, zero, near, ~(nan | zero | near))]


CLASSES = ("integers and copies", "products of floats", "arithmetic of floats", "functions of floats")
"""What programs do: each may have all that is before it. With products goes arithmetic that cannot be contracted."""


def class_of(program: Program) -> str:
    """Returns the first of `CLASSES` that has all that a program does."""
    nodes = [node for kernel in program.kernels for statement in kernel.body for node in walk(statement)]
    if any(isinstance(node, Unary) and is_float(node.dtype) and node.op in OPEN_FUNCTIONS for node in nodes):
        return "functions of floats"
    if any(isinstance(node, Gemm | SparseGemm) and is_float(node.c.dtype) for node in nodes):
        return "arithmetic of floats" if _may_contract(nodes) else "products of floats"
    return "arithmetic of floats" if any(map(_computes_floats, nodes)) else "integers and copies"


def is_finding(program: Program, worst: str) -> bool:
    """Returns whether a program must not differ as it does.

    Integers and what is moved have no other bits. Products are added in one order, so that no more than the last
    rounding is open. Contracted sums and functions may be followed by anything.
    """
    return worst != "equal" if class_of(program) == CLASSES[0] else worst == "more" and class_of(program) == CLASSES[1]


def _computes_floats(node: object) -> bool:
    if isinstance(node, Unary | Binary | Rounded):
        return is_float(node.dtype)
    if isinstance(node, Combined):
        return is_float(node.value.dtype)
    if isinstance(node, Assign) and node.op:
        return is_float(node.buffer.dtype)
    if isinstance(node, Reduce | Scan):
        return is_float(node.source.dtype)
    types: tuple[str, ...] = ()
    if isinstance(node, Cast):
        types = (node.dtype, node.a.dtype)
    elif isinstance(node, Copy):
        types = (node.source.buffer.dtype, node.target.buffer.dtype)
    return len(set(types)) > 1 and any(map(is_float, types))


def _may_contract(nodes: list[object]) -> bool:
    """Returns whether a multiplication of floats may become one with an addition: a variable may be between them."""
    computed = [node for node in nodes if _computes_floats(node)]
    if any(isinstance(node, Rounded) for node in computed):
        return True
    multiplies = any(isinstance(node, Binary | Assign) and node.op == "*" for node in computed)
    adds = any(isinstance(node, Binary | Assign) and node.op in ("+", "-") for node in computed)
    return multiplies and (adds or any(isinstance(node, Reduce | Scan | Combined) for node in computed))
