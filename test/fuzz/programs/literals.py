"""Writes programs by TileLang's names, where Python's numbers have types of their own beside narrower ones.

There `x + 3` of an `int8` is computed in `int32`. So some operations with a number are drawn wider, with what makes
them so left out, and all other numbers say their types: the program means the same by the rules of the language. Some
variables begin with the zero that they have there when nothing is said.
"""

from __future__ import annotations

import dataclasses
import random
from dataclasses import replace
from typing import Any

from .elements import FLOATS, INTEGERS, bits, is_float
from .program import Alloc, Binary, Cast, Const, Name, Program, Reduce, Side, is_static

IMPORT = "from tilec.compat.tilelang import language as T\n"


def draw_literals(program: Program, rng: random.Random) -> None:
    """Makes a program one by TileLang's names."""
    program.by_tilelang = True
    for kernel in program.kernels:
        kernel.body = _mapped(kernel.body, lambda node: _widened(node, rng))


def with_types(program: Program) -> Program:
    """Returns a program whose numbers say their types, where they are not meant to have those of TileLang."""
    kernels = [replace(k, body=_mapped(k.body, _typed)) for k in program.kernels]
    return replace(program, kernels=kernels)


def _typed(node: Any) -> Any:
    is_said = isinstance(node, Const) and node.dtype != "index" and not node.style
    return replace(node, style="typed") if is_said else node


def _widened(node: Any, rng: random.Random) -> Any:
    """Returns an operation of a narrow type with a number as the wider one that it is by TileLang's names.

    And greatest and least elements as they are found there: without NaNs in 16-bit floats alone.
    """
    if isinstance(node, Reduce) and node.kind in ("max", "min", "absmax"):
        return replace(node, skips_nan=node.source.dtype in ("float16", "bfloat16"))
    if isinstance(node, Alloc) and isinstance(node.value, Const) and rng.random() < 0.5:
        return replace(node, value=replace(node.value, value=type(node.value.value)(0), style="silent"))
    if not isinstance(node, Binary) or not isinstance(node.b, Const) or is_static(node.a):
        return node
    dtype = node.dtype
    usual = "float32" if is_float(dtype) else "int32"
    is_narrow = dtype in (*FLOATS, *INTEGERS) and bits(dtype) < 32 and node.op not in ("fmod", "nextafter")
    if not is_narrow or node.b.style or rng.random() < 0.3:
        return node
    wide = Cast(usual, node.a, mixed=True)
    return Cast(dtype, Binary(node.op, wide, Const(usual, node.b.value, "usual")))


def _mapped(node: Any, change: Any) -> Any:
    """Returns a tree whose expressions, from below, are changed; places of tiles and names are as they were."""
    if isinstance(node, list | tuple):
        return type(node)(_mapped(n, change) for n in node)
    if not dataclasses.is_dataclass(node) or isinstance(node, type | Side | Name):
        return node
    fields = {f.name: _mapped(getattr(node, f.name), change) for f in dataclasses.fields(node)}
    return change(replace(node, **fields))
