"""Reaches tensors by second names: at their addresses, as views of memory of another width, and as views of views.

A program whose tensor has two names means what it does with one: statements are ordered as if both were one tensor
(M13), and an element has the same bits whatever the type of the memory that it lies in (M7). So only its text changes.
A call has a parameter more, the addresses of those tensors, in their order.
"""

from __future__ import annotations

import ast
import math
import random

from .elements import PACKED, bits
from .program import Alias, Assign, Atomic, Buffer, Copy, Program, Tensor, statements
from .wordings import called

PARAMETER = "addresses"


def draw_aliases(program: Program, rng: random.Random) -> dict[str, Alias]:
    """Returns by what some tensors of a program are reached, too."""
    said = {name for k in program.kernels for name in k.outside}  # what is said of one name
    tensors = [t for t in program.tensors if t.buffer.name not in said and rng.random() < 0.5]
    ways = {t.buffer.name: possible_aliases(program, t) for t in tensors}
    return {name: rng.choice(possible) for name, possible in ways.items() if possible}


def possible_aliases(program: Program, tensor: Tensor) -> list[Alias]:
    """Returns by what a tensor of a program may be reached."""
    ways: list[Alias] = ["address"]
    buffer = tensor.buffer
    if buffer.dtype in PACKED or tensor.gap:
        return []
    size = bits(buffer.dtype)
    if any(tensor.symbols):
        return ways
    ways.append("reshaped")
    if buffer.dtype == "bool":
        return ways
    if size > 8:
        ways.append("narrow")
    # Who reads a part of an element reads all of it, and so the neighbour that another iteration may write.
    if size < 64 and not _is_written(program, buffer) and buffer.shape[-1] % 2 == 0 and tensor.align >= size // 4:
        ways.append("wide")
    return ways


def _is_written(program: Program, buffer: Buffer) -> bool:
    written: list[Buffer] = []
    for statement in (s for kernel in program.kernels for s in statements(kernel.body)):
        if isinstance(statement, Assign | Atomic):
            written.append(statement.buffer)
        elif isinstance(statement, Copy):
            written.append(statement.target.buffer)
    return buffer in written


def with_aliases(source: str, program: Program) -> str:
    """Returns the text of a program whose tensors are reached by second names at some of the places."""
    if not program.aliases:
        return source
    tree = _Aliases(program).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


_PLACES = ("copy", "atomic", "ldg", "address_of")
"""What begins the names of functions whose operands are places, not numbers."""

_OF_THE_BLOCK = ("copy", "gemm", "Parallel")
"""What only the whole block does."""


class _Aliases(ast.NodeTransformer):
    def __init__(self, program: Program) -> None:
        self._rng = random.Random(f"{program.seed} aliases")
        self._aliases = program.aliases
        self._tensors = {t.buffer.name: t for t in program.tensors}
        self._shapes: dict[str, str] = {}
        self._seconds: dict[str, list[str]] = {}
        """The second names that there are where it is."""
        self._kept: set[str] = set()
        """Those that keep their first names where it is."""
        self._count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        for argument in node.args.args:
            if isinstance(argument.annotation, ast.Call):
                self._shapes[argument.arg] = ast.unparse(argument.annotation.args[0])
        kind = ast.parse(f'T.Tensor(({len(self._aliases)},), "int64")', mode="eval").body
        node.args.args.append(ast.arg(PARAMETER, kind))
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        if called(node.items[0].context_expr) != "Kernel":
            return self.generic_visit(node)
        self._seconds = {}
        made = self._made(list(self._aliases))
        self.generic_visit(node)
        node.body = [*made, *node.body]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """Makes some tensors anew in loops of the block, where only they have those names."""
        outer = self._seconds
        self._seconds = {name: list(seconds) for name, seconds in outer.items()}
        is_of_the_block = any(called(n) in _OF_THE_BLOCK for s in node.body for n in ast.walk(s))
        made: list[ast.stmt] = []
        if is_of_the_block and called(node.iter) != "Parallel":
            made = self._made([n for n in self._aliases if self._rng.random() < 0.1])
        self.generic_visit(node)
        node.body = [*made, *node.body]
        self._seconds = outer
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = called(node)
        if name == "print":  # a program that prints is the same otherwise
            return node
        if not name.startswith(_PLACES):
            return self.generic_visit(node)
        kept = self._kept
        views = {n for n, way in self._aliases.items() if way != "address" and (name != "copy" or way != "reshaped")}
        self._kept = kept | views
        if name == "copy":  # what one reads and writes by two names is undefined (M13)
            source, target = (self._names(a) for a in node.args)
            self._kept |= source & target
        self.generic_visit(node)
        self._kept = kept
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.slice = self.visit(node.slice)
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        is_read = isinstance(node.ctx, ast.Load)
        if is_read or self._aliases.get(name) != "wide":
            node.value = self.visit(node.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        is_renamed = node.id in self._aliases and node.id not in self._kept and self._rng.random() < 0.5
        return ast.Name(self._rng.choice(self._seconds[node.id]), node.ctx) if is_renamed else node

    @staticmethod
    def _names(node: ast.AST) -> set[str]:
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}

    def _made(self, names: list[str]) -> list[ast.stmt]:
        """Returns statements that make tensors, under names of their own."""
        made: list[ast.stmt] = []
        for name in names:
            self._count += 1
            second = f"{name}_at{self._count}"
            self._seconds.setdefault(name, []).append(second)
            made += ast.parse(f"{second} = {self._text(name)}").body
        return made

    def _text(self, name: str) -> str:
        tensor, way, shape = self._tensors[name], self._aliases[name], self._shapes[name]
        dtype = tensor.buffer.dtype
        place = f"{PARAMETER}[{list(self._aliases).index(name)}]"
        if self._rng.random() < 0.3:
            place = f'T.cast({place}, "uint64")'
        if way == "address":
            return f'T.make_tensor_from_addr({place}, {shape}, "{dtype}", align={tensor.align})'
        if way == "reshaped":
            return f"T.reshape(T.reshape({name}, {self._other_shape(tensor.buffer.shape)}), {shape})"
        *outer, last = tensor.buffer.shape
        size = bits(dtype)
        last, size = (last * 2, size // 2) if way == "narrow" else (last // 2, size * 2)
        memory = f'T.make_tensor_from_addr({place}, {(*outer, last)}, "int{size}", align={tensor.align})'
        return f'T.view({memory}, {shape}, "{dtype}")'

    def _other_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns a shape of as many elements: often with the last dimensions of this one."""
        kept = self._rng.randrange(len(shape)) if self._rng.random() < 0.7 else 0
        count = math.prod(shape[: len(shape) - kept])
        other: list[int] = []
        while len(other) < 2 and self._rng.random() < 0.6:
            other.append(self._rng.choice([d for d in range(1, min(count, 64) + 1) if count % d == 0]))
            count //= other[-1]
        return (count, *other, *shape[len(shape) - kept :])
