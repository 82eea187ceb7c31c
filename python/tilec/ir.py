"""A small tree of typed operations that prints as MLIR's generic form.

The tree knows nothing of any dialect: operations are names, operands, attributes in MLIR's text, result types, regions.
Verification is the compiler's; the tree only makes sure that every operand is visible where it is used.
"""

from __future__ import annotations

from .location import quote
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .location import Location


class Value:
    """A result of an operation or an argument of a block."""

    __slots__ = ("block", "hint", "type", "uses")

    def __init__(self, type: str, block: Block, *, hint: str = "") -> None:
        self.type = type
        self.block = block
        self.uses = 0
        self.hint = hint
        """The name that the user's program gives to it."""


class Op:
    """An operation. `properties` are the attributes that its definition has, `attributes` are extra ones."""

    __slots__ = ("attributes", "location", "name", "operands", "properties", "regions", "results")

    def __init__(
        self,
        name: str,
        operands: tuple[Value, ...],
        results: tuple[Value, ...],
        properties: dict[str, str],
        attributes: dict[str, str],
        regions: tuple[Block, ...],
        location: Location,
    ) -> None:
        self.name = name
        self.operands = operands
        self.results = results
        self.properties = properties
        self.attributes = attributes
        self.regions = regions
        self.location = location


class Block:
    """The only block of a region: its arguments and its operations."""

    def __init__(self, parent: Block | None = None, label: str = "", *, is_kernel: bool = False) -> None:
        self.parent = parent
        self.label = label
        """What the user would call it, such as "`T.Kernel`"."""
        self.arguments: list[Value] = []
        self.ops: list[Op] = []
        self.constants: dict[tuple[str, str], Value] = {}
        self.is_kernel = is_kernel
        self.frame: object = None
        """What the front end knows of a kernel or a loop."""

    def add_argument(self, type: str, hint: str = "") -> Value:
        value = Value(type, self, hint=hint)
        self.arguments.append(value)
        return value

    def ancestors(self) -> Iterator[Block]:
        """Yields this block and those that contain it, inside out."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent

    def is_visible_from(self, other: Block) -> bool:
        return any(block is self for block in other.ancestors())


class Printer:
    """Prints operations in MLIR's generic form."""

    def __init__(self, *, locations: bool) -> None:
        self._locations = locations
        self._names: dict[Value, str] = {}
        self._lines: list[str] = []

    def print(self, ops: Sequence[Op]) -> str:
        for op in ops:
            self._op(op, "")
        return "\n".join(self._lines) + "\n"

    def _name(self, value: Value) -> str:
        return self._names.setdefault(value, f"%{len(self._names)}")

    def _op(self, op: Op, indent: str) -> None:
        head = indent
        if op.results:
            head += ", ".join(map(self._name, op.results)) + " = "
        head += f'"{op.name}"({", ".join(map(self._name, op.operands))})'
        if op.properties:
            head += f" <{{{_dictionary(op.properties)}}}>"
        self._lines.append(head)
        if op.regions:
            self._lines[-1] += " ({"
            for i, region in enumerate(op.regions):
                if i:
                    self._lines.append(indent + "}, {")
                self._block(region, indent)
            self._lines.append(indent + "})")
        tail = f" {{{_dictionary(op.attributes)}}}" if op.attributes else ""
        results = ", ".join(v.type for v in op.results)
        if len(op.results) != 1:
            results = f"({results})"
        tail += f" : ({', '.join(v.type for v in op.operands)}) -> {results}"
        self._lines[-1] += tail + self._loc(op.results[0].hint if op.results else "", op.location)

    def _block(self, block: Block, indent: str) -> None:
        if block.arguments:
            arguments = ", ".join(map(self._argument, block.arguments))
            self._lines.append(f"{indent}^bb0({arguments}):")
        for op in block.ops:
            self._op(op, indent + "  ")

    def _argument(self, value: Value) -> str:
        place = f" loc({quote(value.hint)})" if value.hint and self._locations else ""
        return f"{self._name(value)}: {value.type}{place}"

    def _loc(self, hint: str, location: Location) -> str:
        if not self._locations:
            return ""
        place = location.mlir()
        return f" loc({quote(hint)}({place}))" if hint else f" loc({place})"


def _dictionary(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name} = {text}" if text else name for name, text in sorted(attributes.items()))


def integers(values: Sequence[int], type: str = "i64") -> str:
    """Returns a dense array attribute."""
    return f"array<{type}: {', '.join(map(str, values))}>" if values else f"array<{type}>"
