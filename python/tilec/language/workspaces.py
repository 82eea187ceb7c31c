"""Memory of the device that a call has for itself."""

from __future__ import annotations

import math
from itertools import count

from ..builder import current
from ..errors import ArgumentError, ShapeError
from ..extents import places, solved
from ..parameters import known_extents, tensor
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType
from ..values import Expr

if TYPE_CHECKING:
    from typing import Any

    from ..buffers import Buffer
    from ..builder import FunctionBuilder

__all__ = ["alloc_global"]

_MOST_BYTES = 1 << 47
"""What a process can address."""


def alloc_global(shape: Any, dtype: Any, scope: str = "global") -> Buffer:
    """Returns a tensor that each call allocates, and that is gone when the call is done: a workspace.

    The kernels of the function use it as they do a parameter: what one writes the next ones read. Nothing has written
    it when the call begins. It may stand in front of the kernels, or in one; then all its blocks share it. Exported
    libraries take it as their last argument.

    - `shape`: numbers, and symbols of the shapes of parameters. In front of the kernels also what is computed of these,
      and of parameters that are integers, by the operators of extents: `T.alloc_global((T.ceildiv(m, 64),), dtype)`.
    - `dtype`: the element type.
    - `scope`: "global".

    >>> @T.prim_func
    ... def standardise(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    ...     squares = T.alloc_global((64,), "float32")
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             squares[i] = A[i] * A[i]
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             B[i] = A[i] / T.sqrt(squares[63 - i])
    """
    builder = current()
    extents = known_extents(shape)
    if any(isinstance(extent, Expr) for extent in extents):
        raise ShapeError(
            "an extent of `T.alloc_global` is a number, or an extent of a parameter, or, in front of the kernels, "
            "computed of these and of integers that are parameters: put it there, or take the workspace as a parameter",
            location=builder.here(),
        )
    declared = TensorType(extents, dtype)
    if scope != "global":
        raise ArgumentError(
            f'`scope` of `T.alloc_global` is "global", not `{scope}`: `T.alloc_buffer` makes tiles on the chip',
            location=builder.here(),
        )
    known = math.prod(extent for extent in declared.shape if isinstance(extent, int)) * declared.dtype.bytes
    if known >= _MOST_BYTES:
        raise ShapeError(
            f"this workspace has {known} bytes, which no memory has: `T.alloc_global` takes extents in elements, here "
            f"{declared.shape}",
            location=builder.here(),
        )
    _check_symbols(builder, declared)
    taken = {parameter.name for parameter in builder.parameters}
    name = next(name for number in count() if (name := f"workspace{number}") not in taken)
    result = tensor(builder, name, declared)
    builder.parameters[-1].is_workspace = True
    return result


def _check_symbols(builder: FunctionBuilder, declared: TensorType) -> None:
    parameters = [parameter for parameter in builder.parameters if not parameter.is_workspace]
    known = {**places(parameters), **solved(parameters)}
    for extent in declared.shape:
        if isinstance(extent, Symbol) and any(symbol.name not in known for symbol in extent.symbols()):
            raise ShapeError(
                f"the extent `{extent}` of this workspace is unknown: it is no extent of a parameter of "
                f"`{builder.name}`",
                location=builder.here(),
            )
