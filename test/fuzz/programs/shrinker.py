"""Makes a program that fails small: takes things away as long as what is left is valid and fails in the same way."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import program as ir
from .elements import is_float
from .program import bodies, children, is_static, walk

Fails = Callable[[ir.Program], bool]


def shrink(program: ir.Program, fails: Fails, seconds: float) -> ir.Program:
    """Returns the smallest program found within a time, for which `fails` holds, as it does for `program`."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for step in (_kernels, _statements, _unwrapped, _expressions, _extents, _settings):
            candidates = step(program)
            while time.monotonic() < end:
                candidate = next(candidates, None)
                if candidate is None:
                    break
                candidate = _without_unused(candidate)
                if fails(candidate):
                    program, smaller = candidate, True
                    candidates = step(program)  # what was tried before is tried again, but on less
    return program


def _without_unused(program: ir.Program) -> ir.Program:
    """Drops allocations and parameters that nothing uses."""
    program = copy.deepcopy(program)
    used: set[str] = set()
    for kernel in program.kernels:
        nodes = [n for s in kernel.body for n in walk(s) if not isinstance(s, ir.Alloc)]
        nodes += [n for e in kernel.grid for n in walk(e)]
        nodes += [n for s in kernel.body if isinstance(s, ir.Alloc) and s.value for n in walk(s.value)]
        names = {n.name for n in nodes if isinstance(n, ir.Buffer | ir.Name)}
        kernel.body = [s for s in kernel.body if not isinstance(s, ir.Alloc) or s.buffer.name in names]
        used |= names
    program.tensors = [t for t in program.tensors if t.buffer.name in used or used & set(t.symbols)]
    left = {t.buffer.name for t in program.tensors}
    program.aliases = {n: way for n, way in program.aliases.items() if n in left}
    for kernel in program.kernels:
        kernel.outside = {n: value for n, value in kernel.outside.items() if n in left}
    program.scalars = [s for s in program.scalars if s.name in used]
    return program


def _kernels(program: ir.Program) -> Iterator[ir.Program]:
    for i in range(len(program.kernels)):
        if len(program.kernels) > 1:
            yield dataclasses.replace(program, kernels=[k for j, k in enumerate(program.kernels) if j != i])


def _lists(program: ir.Program) -> list[list[ir.Stmt]]:
    """Returns every list of statements, outer ones first."""
    out: list[list[ir.Stmt]] = []
    stack = [k.body for k in program.kernels]
    while stack:
        body = stack.pop(0)
        out.append(body)
        for statement in body:
            stack += bodies(statement)
    return out


def _statements(program: ir.Program) -> Iterator[ir.Program]:
    """Takes statements away, many at a time at first."""
    for number, body in enumerate(_lists(program)):
        size = len(body)
        while size >= 1:
            for start in range(0, len(body), size):
                smaller = copy.deepcopy(program)
                del _lists(smaller)[number][start : start + size]
                yield smaller
            size //= 2


def _unwrapped(program: ir.Program) -> Iterator[ir.Program]:
    """Puts what is inside of a branch or loop in its place."""
    for number, body in enumerate(_lists(program)):
        for i, statement in enumerate(body):
            if not isinstance(statement, ir.If | ir.Loop | ir.Persistent | ir.While):
                continue
            for inner in range(len(bodies(statement))):
                smaller = copy.deepcopy(program)
                within = _lists(smaller)[number]
                within[i : i + 1] = bodies(within[i])[inner]
                if isinstance(statement, ir.Loop):
                    name = ir.Name("index", statement.name, statement.kind == "unroll")
                    within[:] = [replaced(s, name, statement.start) for s in within]
                if isinstance(statement, ir.Persistent):
                    for name in statement.names:
                        zero = ir.Const("index", 0)
                        within[:] = [replaced(s, ir.Name("index", name), zero) for s in within]
                yield smaller


def replaced(node: Any, old: Any, new: Any) -> Any:
    """Returns a tree with every occurrence of a node replaced."""
    if node == old:
        return new
    if isinstance(node, list | tuple):
        return type(node)(replaced(n, old, new) for n in node)
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    changes = {f.name: replaced(getattr(node, f.name), old, new) for f in dataclasses.fields(node)}
    return dataclasses.replace(node, **changes)


_EXPRESSIONS = (ir.Load, ir.Name, ir.Const)


def _places(node: Any) -> Iterator[tuple[Any, str, int | None]]:
    """Yields where expressions stand: the node, its field, and the position in it."""
    for below in walk(node):
        for entry in dataclasses.fields(below):
            value = getattr(below, entry.name)
            if _is_expression(value):
                yield below, entry.name, None
            elif isinstance(value, tuple):
                yield from ((below, entry.name, i) for i, v in enumerate(value) if _is_expression(v))


def _is_expression(value: Any) -> bool:
    return hasattr(value, "dtype") and not isinstance(value, ir.Buffer)


def _simpler(expr: Any) -> Iterator[Any]:
    """Yields expressions of the same type that say less."""
    if isinstance(expr, ir.Const):
        return
    for below in children(expr):
        if _is_expression(below) and below.dtype == expr.dtype and not isinstance(expr, ir.Load):
            yield below
    if expr.dtype == "bool":
        yield from (ir.Compare("==", ir.Const("index", 0), ir.Const("index", n)) for n in (0, 1))
    elif not isinstance(expr, ir.Name):
        yield ir.Const(expr.dtype, 1.0 if is_float(expr.dtype) else 1)
        yield ir.Const(expr.dtype, 0.0 if is_float(expr.dtype) else 0)
    elif expr.dtype == "index":
        yield ir.Const("index", 0)


def _expressions(program: ir.Program) -> Iterator[ir.Program]:
    for k, kernel in enumerate(program.kernels):
        for i, statement in enumerate(kernel.body):
            for node, field, position in list(_places(statement)):
                old = getattr(node, field) if position is None else getattr(node, field)[position]
                for new in _simpler(old):
                    body = list(kernel.body)
                    body[i] = _substituted(statement, node, field, position, new)
                    if not _is_plain(body[i]):
                        continue
                    kernels = list(program.kernels)
                    kernels[k] = dataclasses.replace(kernel, body=body)
                    yield dataclasses.replace(program, kernels=kernels)


def _is_plain(statement: ir.Stmt) -> bool:
    """Whether no operation has operands that are all known while the kernel is built: Python would compute it."""
    for node in walk(statement):
        if _is_expression(node) and not isinstance(node, _EXPRESSIONS) and not isinstance(node, ir.Compare):
            below = [c for c in children(node) if _is_expression(c)]
            if below and all(is_static(c) for c in below):
                return False
    return True


def _substituted(tree: Any, node: Any, field: str, position: int | None, new: Any) -> Any:
    """Returns a tree in which one field of one node, which is found by identity, is another."""
    if tree is node:
        if position is None:
            return dataclasses.replace(node, **{field: new})
        values = list(getattr(node, field))
        values[position] = new
        return dataclasses.replace(node, **{field: tuple(values)})
    if isinstance(tree, list | tuple):
        return type(tree)(_substituted(t, node, field, position, new) for t in tree)
    if not dataclasses.is_dataclass(tree) or isinstance(tree, type | ir.Buffer):
        return tree
    changes = {
        f.name: _substituted(getattr(tree, f.name), node, field, position, new) for f in dataclasses.fields(tree)
    }
    return dataclasses.replace(tree, **changes)


# Extents --------------------------------------------------------------------------------------------------------------


def _extents(program: ir.Program) -> Iterator[ir.Program]:
    """Makes grids and the extents of buffers and loops smaller, all of one value at once."""
    for k, kernel in enumerate(program.kernels):
        for d, extent in enumerate(kernel.grid):
            if extent != ir.Const("index", 1):
                grid = tuple(ir.Const("index", 1) if i == d else e for i, e in enumerate(kernel.grid))
                yield _with_kernel(program, k, dataclasses.replace(kernel, grid=grid))
    values = sorted({e for e in _all_extents(program) if e > 1}, reverse=True)
    for value in values:
        for smaller in dict.fromkeys((1, 2, 4, value // 4, value // 2, value - 1)):
            if 0 < smaller < value:
                yield _resized(program, value, smaller)


def _with_kernel(program: ir.Program, number: int, kernel: ir.Kernel) -> ir.Program:
    kernels = list(program.kernels)
    kernels[number] = kernel
    return dataclasses.replace(program, kernels=kernels)


def _all_extents(program: ir.Program) -> Iterator[int]:
    for kernel in program.kernels:
        for statement in kernel.body:
            for node in walk(statement):
                if isinstance(node, ir.Buffer):
                    yield from node.shape
                elif isinstance(node, ir.Parallel):
                    yield from node.extents


def _resized(program: ir.Program, old: int, new: int) -> ir.Program:
    def change(node: Any) -> Any:
        if isinstance(node, tuple) and node and all(isinstance(n, int) and not isinstance(n, bool) for n in node):
            return tuple(new if n == old else n for n in node)
        if isinstance(node, list | tuple):
            return type(node)(change(n) for n in node)
        if isinstance(node, ir.Const):
            if node.dtype == "index" and node.value in (old, old - 1):
                return ir.Const("index", int(node.value) - old + new)
            return node
        if isinstance(node, ir.Kernel):
            grid, body = change(node.grid), change(node.body)
            return dataclasses.replace(node, grid=grid, body=body)
        if not dataclasses.is_dataclass(node) or isinstance(node, type):
            return node
        return dataclasses.replace(node, **{f.name: change(getattr(node, f.name)) for f in dataclasses.fields(node)})

    return dataclasses.replace(
        program, tensors=[change(t) for t in program.tensors], kernels=[change(k) for k in program.kernels]
    )


def _settings(program: ir.Program) -> Iterator[ir.Program]:
    """Makes everything else plain: wordings, threads, symbols, alignment, stages, policies."""
    for wording in program.wordings:
        yield dataclasses.replace(program, wordings=tuple(w for w in program.wordings if w != wording))
    for name in program.aliases:
        yield dataclasses.replace(program, aliases={n: w for n, w in program.aliases.items() if n != name})
    for k, kernel in enumerate(program.kernels):
        for name in kernel.outside:
            kept = {n: value for n, value in kernel.outside.items() if n != name}
            yield _with_kernel(program, k, dataclasses.replace(kernel, outside=kept))
        for threads in (32, 128):
            if kernel.threads != (threads,) and kernel.threads[0] > threads:
                yield _with_kernel(program, k, dataclasses.replace(kernel, threads=(threads,)))
    for i, tensor in enumerate(program.tensors):
        plain = dataclasses.replace(tensor, symbols=(), forms=(), shift=0, align=16)
        tight = dataclasses.replace(tensor, gap=0)
        for candidate in (plain, tight, dataclasses.replace(tensor, kind="small")):
            if candidate != tensor and tensor.kind != "poison":
                yield dataclasses.replace(
                    program, tensors=[candidate if j == i else t for j, t in enumerate(program.tensors)]
                )
    for number, body in enumerate(_lists(program)):
        for i, statement in enumerate(body):
            for simpler in _plainer(statement):
                smaller = copy.deepcopy(program)
                _lists(smaller)[number][i] = simpler
                yield smaller


def _plainer(statement: ir.Stmt) -> Iterator[ir.Stmt]:
    if isinstance(statement, ir.Loop):
        if statement.kind == "pipelined":
            if statement.stages > 2:
                yield dataclasses.replace(statement, stages=2)
            yield dataclasses.replace(statement, kind="serial")
        if statement.start != ir.Const("index", 0):
            yield dataclasses.replace(statement, start=ir.Const("index", 0))
        if not isinstance(statement.stop, ir.Const):
            yield dataclasses.replace(statement, stop=ir.Const("index", 2))
    if isinstance(statement, ir.Gemm) and (statement.policy != "Square"):
        yield dataclasses.replace(statement, policy="Square")
    if isinstance(statement, ir.Reduce) and not statement.clear:
        yield dataclasses.replace(statement, clear=True)
    if isinstance(statement, ir.Scan) and statement.reverse:
        yield dataclasses.replace(statement, reverse=False)
    if isinstance(statement, ir.Assign) and statement.op:
        yield dataclasses.replace(statement, op="")
    if isinstance(statement, ir.Copy):
        buffer = statement.target.buffer
        if buffer.space != "global" and statement.target.style == "whole":
            value = ir.Const(buffer.dtype, 1.0 if is_float(buffer.dtype) else buffer.dtype == "bool" or 1)
            yield ir.Fill(buffer, value)
