"""Parameters of functions, and what stands for them in the body."""

from __future__ import annotations

from .buffers import Buffer, Handle
from .packed import packed_tensor
from .typed import TYPE_CHECKING
from .types import Given, PointerType, TensorType, as_tuple
from .values import Expr

if TYPE_CHECKING:
    from typing import Any

    from .builder import FunctionBuilder
    from .types import ScalarType


def argument(
    builder: FunctionBuilder, name: str, declared: TensorType | ScalarType | PointerType
) -> Buffer | Expr | Handle:
    """Adds a parameter to a function and returns what stands for it in the body."""
    if isinstance(declared, PointerType):
        return Handle(name, declared.dtype)
    if isinstance(declared, TensorType):
        return tensor(builder, name, declared)
    found = Expr(builder.add_parameter(name, declared).value, declared.dtype)
    if declared.dtype.is_integer:
        found.extent = Given(name)
    return found


def tensor(builder: FunctionBuilder, name: str, declared: TensorType) -> Buffer:
    """Adds a tensor parameter to a function and returns what stands for it in the body."""
    if declared.dtype.bits == 4:
        return packed_tensor(builder, name, declared)
    parameter = builder.add_parameter(name, declared)
    return Buffer(parameter.value, declared.shape, declared.dtype, "global", parameter=parameter)


def known_extents(shape: Any) -> tuple[Any, ...]:
    """Returns the extents of a tensor that calls allocate: what is computed in front of a kernel is known to them."""
    return tuple(e.extent if isinstance(e, Expr) and e.extent is not None else e for e in as_tuple(shape))
