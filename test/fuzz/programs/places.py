"""Says otherwise where tiles are: a shared tile is a slot of a larger one, or one of a loop is allocated in it.

A slot holds the same elements whether it is reached as a tile of its own (`S[1, 0:64, 0:32]` as an operand) or by the
elements and regions of the whole buffer (`S[1, i, j]`), so that a program means the same when its tiles become slots:
only its text changes. A tile that is allocated in a loop holds nothing when an iteration begins; whether the program
relies on that, `reference` finds.
"""

from __future__ import annotations

import ast
import math
import random
from dataclasses import replace

from .elements import bits
from .program import Alloc, Buffer, Kernel, Loop, Program, Slot, Stmt, walk
from .shrinker import replaced

LARGEST = 8192
"""Bytes of a tile that becomes a slot: a buffer has room for up to three."""


# Slots ----------------------------------------------------------------------------------------------------------------


def draw_slots(program: Program, rng: random.Random) -> dict[str, Slot]:
    """Returns which tiles of a program are slots, two of one buffer perhaps."""
    slots: dict[str, Slot] = {}
    for kernel in program.kernels:
        tiles = [s.buffer for s in kernel.body if isinstance(s, Alloc) and s.buffer.space == "shared"]
        tiles = [b for b in tiles if len(b.shape) < 4 and math.prod(b.shape) * bits(b.dtype) // 8 <= LARGEST]
        if not tiles:
            continue
        first = rng.choice(tiles)
        like = [b for b in tiles if b.shape == first.shape and b.dtype == first.dtype and b.name != first.name]
        chosen = [first, *rng.sample(like, min(len(like), rng.randint(0, 2)))]
        count = max(len(chosen), rng.randint(1, 3))
        name = kernel.names[0]
        for buffer, number in zip(chosen, rng.sample(range(count), len(chosen)), strict=True):
            index = str(number) if rng.random() < 0.6 else f"{name} - {name} + {number}"
            slots[buffer.name] = Slot(f"{first.name}_all", index, count)
    return slots


def with_slots(source: str, slots: dict[str, Slot]) -> str:
    """Returns the text of a program whose tiles are slots."""
    if not slots:
        return source
    return ast.unparse(ast.fix_missing_locations(_Slots(slots).visit(ast.parse(source)))) + "\n"


class _Slots(ast.NodeTransformer):
    def __init__(self, slots: dict[str, Slot]) -> None:
        self._slots = slots
        self._shapes: dict[str, ast.Tuple] = {}
        self._made: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        slot = self._slots.get(target.id) if isinstance(target, ast.Name) else None
        if slot is None or not isinstance(target, ast.Name):
            return self.generic_visit(node)
        call = node.value
        assert isinstance(call, ast.Call), "a tile is assigned its allocation"
        shape = call.args[0]
        assert isinstance(shape, ast.Tuple), "a tile has a shape"
        self._shapes[target.id] = shape
        if slot.buffer in self._made:
            return None
        self._made.add(slot.buffer)
        call.args[0] = ast.Tuple([ast.Constant(slot.count), *shape.elts], ast.Load())
        return ast.Assign([ast.Name(slot.buffer, ast.Store())], call)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        slot = self._slots.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if slot is None:
            return self.generic_visit(node)
        inner = self.visit(node.slice)
        places = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return self._part(slot, places, node.ctx)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        slot = self._slots.get(node.id)
        if slot is None:
            return node
        return self._part(slot, [ast.Slice(ast.Constant(0), extent) for extent in self._shapes[node.id].elts], node.ctx)

    @staticmethod
    def _part(slot: Slot, places: list[ast.expr], context: ast.expr_context) -> ast.Subscript:
        index = ast.parse(slot.index, mode="eval").body
        return ast.Subscript(ast.Name(slot.buffer, ast.Load()), ast.Tuple([index, *places], ast.Load()), context)


# Tiles of loops -------------------------------------------------------------------------------------------------------


def allocate_in_loop(kernel: Kernel, rng: random.Random) -> Kernel:
    """Returns the kernel with a tile of one of its loops allocated in the loop, under a name of its own."""
    places = [(i, s) for i, s in enumerate(kernel.body) if isinstance(s, Loop) and s.kind != "unroll"]
    if not places:
        return kernel
    position, loop = rng.choice(places)
    known = {s.buffer for s in kernel.body if isinstance(s, Alloc) and s.buffer.space in ("shared", "fragment")}
    used = {n for s in loop.body for n in walk(s) if isinstance(n, Buffer)} & known
    if not used:
        return kernel
    outer = rng.choice(sorted(used, key=lambda b: b.name))
    inner = replace(outer, name=f"{outer.name}i")
    inside: list[Stmt] = replaced(loop.body, outer, inner)
    body = list(kernel.body)
    body[position] = replace(loop, body=[Alloc(inner), *inside])
    return replace(kernel, body=body)
