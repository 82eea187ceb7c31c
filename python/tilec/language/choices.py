"""Choices between values of which only one may be computed, such as a read that would be out of bounds.

Both sides are built in blocks of their own. If all of their operations can be executed where nobody needs the result,
they are, and a `select` chooses; else they become the branches of an `if`. A tensor that no kernel writes may be read
where nobody needs it, too, and a division is then one by one; but only the compiler knows of the one, and a checked
program must not report the other. So these become an `if` that is marked `tl.total`, of which the compiler may make a
`select` (lib/Dialect/TL/Transforms/SpeculateChoices.cpp). The mark is owed for each operation that is none of memory:
it means something for all operands.
"""

from __future__ import annotations

from .. import _ops
from ..buffers import BufferType
from ..builder import current
from ..operators import Operators
from ..typed import TYPE_CHECKING
from ..values import Expr, as_chosen, cast, common_type, condition, select, simplify, typed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..builder import FunctionBuilder
    from ..ir import Block, Op, Value

    Traced = tuple[Block, Any]
    """Operations, and the value that they compute."""


def choose(chosen: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Implements `a if chosen else b`: a condition of Python's own chooses as it does there."""
    if isinstance(chosen, Operators):
        return either(chosen, a, b)
    return a() if condition(chosen) else b()


def either(chosen: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Returns one of two numbers; what cannot be computed for nothing is computed only where it is needed."""
    found = condition(chosen)
    builder = current()
    if isinstance(found, Expr):
        return join(builder, found, trace(builder, a, "a branch"), trace(builder, b, "a branch"))
    # In the order in which they stand: places that draw random numbers are counted, those that are left out too.
    if found:
        value = a()
        return _beside(value, _left_out(b))
    left_out = _left_out(a)
    return _beside(b(), left_out)


def _left_out(side: Callable[[], Any]) -> Any:
    """Returns what a condition that is known now does not choose, and drops its operations; None if it has no value."""
    try:
        return trace(current(), side, "a branch")[1]
    except Exception:  # what is not computed need not mean anything: a division by zero, or an element of None
        return None


def _beside(value: Any, left_out: Any) -> Any:
    """Returns a number in the type of it and of what is left out, and anything else as it is."""
    if not isinstance(value, Operators | int | float):
        return value
    try:
        return as_chosen(*typed(value, left_out))
    except Exception:  # the two have no type in common
        return value


def trace(builder: FunctionBuilder, function: Callable[[], Any], label: str) -> Traced:
    """Runs a function with its operations in a block of their own."""
    block = builder.new_block(label)
    with builder.inside(block):
        value = function()
        if isinstance(value, Operators):
            value = simplify(value)
    return block, value


def join(builder: FunctionBuilder, chosen: Expr, yes: Traced, no: Traced) -> Any:
    """Builds the choice between two values, of operations that are in no block yet."""
    a, b = typed(yes[1], no[1])
    if all(is_speculatable(op) for block, _ in (yes, no) for op in block.ops):
        for block, _ in (yes, no):
            splice(builder, block)
        return select(chosen, a, b)
    attributes = {_TOTAL: ""} if all(_is_total(op) for block, _ in (yes, no) for op in block.ops) else {}
    dtype = common_type(a, b)
    numbers: list[Expr] = []
    for block, value in ((yes[0], a), (no[0], b)):
        with builder.inside(block):
            numbers.append(cast(value, dtype))
            _ops.scf_yield([numbers[-1].value])
    op = _ops.scf_if(
        chosen.value, then_region=yes[0], else_region=no[0], result_types=[dtype.mlir], attributes=attributes
    )
    return Expr(op.results[0], dtype, bounds=numbers[0].range.union(numbers[1].range) if dtype.is_integer else None)


_TOTAL = "tl.total"
_DIVISIONS = ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui")


def is_speculatable(op: Op) -> bool:
    """Returns whether an operation can be executed where its result is not needed, whatever else the kernel does."""
    if op.name == "tl.load":
        # A tensor may be written by others; on-chip memory has no guard at its ends, and a variable needs none.
        buffer, *indices = op.operands
        return "<private>" in buffer.type and all(map(_is_constant, indices))
    if op.name.removeprefix("arith.") in _DIVISIONS:
        return _is_constant(op.operands[1])
    return op.name.startswith(("arith.", "math.")) or op.name == "gpu.thread_id"


def _is_total(op: Op) -> bool:
    """Returns whether an operation can be executed where its result is not needed, if nobody writes what it reads."""
    if op.name == "tl.load":
        return not isinstance(op.operands[0].type, BufferType) or is_speculatable(op)
    return _TOTAL in op.attributes or op.name.startswith("arith.") or is_speculatable(op)


def _is_constant(value: Value) -> bool:
    """Returns whether a value is a constant of the program, which was checked where it was written."""
    return any(value is constant for constant in value.block.constants.values())


def splice(builder: FunctionBuilder, block: Block) -> None:
    """Moves the operations of a block to the end of the current one."""
    for op in block.ops:
        for value in op.results:
            value.block = builder.block
        for region in op.regions:
            region.parent = builder.block
        builder.block.ops.append(op)
    block.ops = []
    for key, value in block.constants.items():
        builder.block.constants.setdefault(key, value)
