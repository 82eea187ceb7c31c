"""Extents that are computed of others, such as `T.dynamic("m") // 2`: what a call is asked before it is made.

To the compiler such an extent is a symbol of its own, which has the value that the tensor says: nothing relies on how
it follows from others. So that a tensor of another shape is a mistake that is told, and not a result that is wrong,
each call computes it and compares.

A symbol that is no extent itself may follow from one: of `n * 4` it is a quarter. Then it is computed of what the
tensor says, in the kernel and by each call, which compares as well: an extent of 7 is no `n * 4`.
"""

from __future__ import annotations

from .errors import ArgumentError, ShapeError
from .ranges import EXTENTS
from .typed import TYPE_CHECKING
from .types import Computed, Given, Symbol, TensorType, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .builder import Parameter, PrimFunc

    Place = tuple[int, int | None]
    """A parameter, and its dimension, or that it is a number itself."""


def computed_extents(parameters: Sequence[Parameter]) -> list[tuple[str, int, Computed]]:
    """Returns each parameter's name and dimension that has a computed extent, and the extent."""
    return [
        (parameter.name, d, extent)
        for parameter in parameters
        if isinstance(parameter.type, TensorType)
        for d, extent in enumerate(parameter.type.shape)
        if isinstance(extent, Computed)
    ]


def places(parameters: Sequence[Parameter]) -> dict[str, Place]:
    """Returns the first parameter and dimension where each symbol stands, computed ones included, and where integers
    are given."""
    found: dict[str, Place] = {}
    for i, parameter in enumerate(parameters):
        if parameter.type.dtype.is_integer and not isinstance(parameter.type, TensorType):
            found[Given(parameter.name).name] = (i, None)
        if isinstance(parameter.type, TensorType):
            for d, extent in enumerate(parameter.type.shape):
                if isinstance(extent, Symbol):
                    found.setdefault(extent.name, (i, d))
    return found


def solved(parameters: Sequence[Parameter]) -> dict[str, Computed]:
    """Returns what the symbols that stand in computed extents only follow from, by their names: what tensors tell, in
    an order in which each follows from those before it.

    A symbol follows from an extent where it stands once, in sums, differences and products with what is known. It
    does not from `n // 2`, which is 1 for an `n` of 2 and of 3. Of the bytes of elements that share
    them by two it is twice as many.
    """
    types = [p.type for p in parameters if isinstance(p.type, TensorType)]
    strides = {stride.name for t in types for stride in t.strides or () if isinstance(stride, Symbol)}
    told = places(parameters)
    found: dict[str, Computed] = {}
    extents = [extent for _, _, extent in computed_extents(parameters)]
    while True:
        for extent in extents:
            solution = extent.solve(lambda name: name in told or name in found, Told(extent))
            if solution is not None and solution[0] not in strides:
                found[solution[0]] = solution[1]
                break
        else:
            return found


def check_computed(function: PrimFunc) -> None:
    """Raises if an extent is computed of a symbol that no extent tells."""
    known = {**places(function.declared), **solved(function.declared)}
    for name, _, extent in computed_extents(function.parameters):
        missing = next((s.name for s in extent.symbols() if s.name not in known), None)
        if missing is not None:
            raise ShapeError(
                f"the extent `{extent}` of `{name}` follows from `{missing}`, which is no "
                f"extent of a parameter of `{function.name}`, and follows from none: use `{missing}` as one, or give "
                f"the extent a symbol of its own",
                location=function.op.location,
            )


def check_strides(function: PrimFunc) -> None:
    """Raises if a symbol is a stride of numbers of 4 bits and something else, too: no call compares the two."""
    types = [(p.name, p.type) for p in function.parameters if isinstance(p.type, TensorType)]
    others = {stride.name for _, t in types for stride in t.strides or () if isinstance(stride, Symbol)}
    others |= {s.name for _, t in types for e in t.shape if isinstance(e, Symbol) for s in e.symbols()}
    for name, kind in types:
        for stride in kind.strides or ():
            symbol = next(stride.of.symbols()).name if isinstance(stride, Told) else ""
            if symbol in others:
                raise ShapeError(
                    f"`{symbol}` is a stride of `{name}`, a tensor whose elements share bytes, and an extent or a "
                    f"stride of others, with which calls do not compare it: give the stride a symbol of its own",
                    location=function.op.location,
                )


class Relations:
    """How the extents of parameters that are computed, and the symbols that follow from them, hang together."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.computed = computed_extents(parameters)
        self.solved = solved(parameters)

    def complete(self, extents: dict[str, Any]) -> None:
        """Adds the symbols that follow from the extents that tensors gave to others, as far as these are there."""
        for name, formula in self.solved.items():
            value = formula.value(extents)
            if value is not None:
                extents.setdefault(name, value)

    def wrong(self, extents: dict[str, Any]) -> str | None:
        """Returns what is wrong with the extents that tensors gave to symbols, computed ones included, if anything is.
        What follows from them is added."""
        self.complete(extents)
        for name in self.solved:
            if extents.get(name, 0) not in EXTENTS:
                return f"`{name}` is {extents[name]} for tensors of these shapes, which no extent is"
        for name, d, extent in self.computed:
            actual, wanted = extents.get(extent.name), extent.value(extents)
            if actual is not None and wanted is not None and actual != wanted:
                because = self._because(extent, extents)
                return f"dimension {d} of `{name}` is {actual}, and `{extent}` is {wanted}{because}"
        return None

    def _because(self, extent: Computed, extents: Mapping[str, Any]) -> str:
        names = [s.name for s in extent.symbols() if s.name in self.solved]
        return "".join(f", where `{name}` is {extents[name]}" for name in dict.fromkeys(names))


class CheckedExtents:
    """Calls a function with all its parameters if their computed extents are those that their tensors have."""

    def __init__(self, parameters: Sequence[Parameter], launch: Callable[..., Any]) -> None:
        self._parameters = parameters
        self._launch = launch
        self._relations = Relations(parameters)
        self._places = places(parameters)

    def __call__(self, *values: Any) -> Any:
        extents = {name: self._extent(values[i], i, d) for name, (i, d) in self._places.items()}
        if wrong := self._relations.wrong(extents):
            raise ShapeError(wrong)
        return self._launch(*values)

    def _extent(self, value: Any, parameter: int, dimension: int | None) -> int | None:
        """Returns an extent of an argument, or what it is, or nothing of one that the launch refuses."""
        if dimension is None:
            return int(value) if hasattr(value, "__index__") else None
        shape = getattr(value, "shape", None)
        if shape is None:
            name = self._parameters[parameter].name
            raise ArgumentError(f"`{name}` has no `shape`, of which extents of other tensors are computed")
        return int(shape[dimension]) if dimension < len(shape) else None
