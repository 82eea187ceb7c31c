"""Extents that are computed of others, such as `T.dynamic("m") // 2`: what a call is asked before it is made.

To the compiler such an extent is a symbol of its own, which has the value that the tensor says: nothing relies on how
it follows from others. So that a tensor of another shape is a mistake that is told, and not a result that is wrong,
each call computes it and compares.
"""

from __future__ import annotations

from .errors import ArgumentError, ShapeError
from .typed import TYPE_CHECKING
from .types import Computed, Symbol, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .builder import Parameter, PrimFunc


def computed_extents(parameters: Sequence[Parameter]) -> list[tuple[str, int, Computed]]:
    """Returns each parameter's name and dimension that has a computed extent, and the extent."""
    return [
        (parameter.name, d, extent)
        for parameter in parameters
        if isinstance(parameter.type, TensorType)
        for d, extent in enumerate(parameter.type.shape)
        if isinstance(extent, Computed)
    ]


def places(parameters: Sequence[Parameter]) -> dict[str, tuple[int, int]]:
    """Returns the first parameter and dimension where each symbol stands, computed ones included."""
    found: dict[str, tuple[int, int]] = {}
    for i, parameter in enumerate(parameters):
        if isinstance(parameter.type, TensorType):
            for d, extent in enumerate(parameter.type.shape):
                if isinstance(extent, Symbol):
                    found.setdefault(extent.name, (i, d))
    return found


def check_computed(function: PrimFunc) -> None:
    """Raises if an extent is computed of a symbol that is no extent itself."""
    known = places(function.declared)
    for name, _, extent in computed_extents(function.parameters):
        missing = next((s.name for s in extent.symbols() if s.name not in known), None)
        if missing is not None:
            raise ShapeError(
                f"the extent `{extent}` of `{name}` follows from `{missing}`, which is no "
                f"extent of a parameter of `{function.name}`: use `{missing}` as one, or give it a symbol of its own",
                location=function.op.location,
            )


def check_values(computed: Sequence[tuple[str, int, Computed]], extents: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with the extents that tensors gave to symbols, computed ones included, if anything is."""
    for name, d, extent in computed:
        actual, wanted = extents.get(extent.name), extent.value(extents)
        if actual is not None and wanted is not None and actual != wanted:
            return f"dimension {d} of `{name}` is {actual}, and `{extent}` is {wanted}"
    return None


class CheckedExtents:
    """Calls a function with all its parameters if their computed extents are those that their tensors have."""

    def __init__(self, parameters: Sequence[Parameter], launch: Callable[..., Any]) -> None:
        self._parameters = parameters
        self._launch = launch
        self._computed = computed_extents(parameters)
        self._places = places(parameters)

    def __call__(self, *values: Any) -> Any:
        extents = {name: self._extent(values[i], i, d) for name, (i, d) in self._places.items()}
        if wrong := check_values(self._computed, extents):
            raise ShapeError(wrong)
        return self._launch(*values)

    def _extent(self, value: Any, parameter: int, dimension: int) -> int | None:
        """Returns an extent of an argument, or nothing of one that the launch refuses."""
        shape = getattr(value, "shape", None)
        if shape is None:
            name = self._parameters[parameter].name
            raise ArgumentError(f"`{name}` has no `shape`, of which extents of other tensors are computed")
        return int(shape[dimension]) if dimension < len(shape) else None
