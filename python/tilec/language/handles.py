"""Tensors whose shape and type are said in the body of a function, of parameters that are annotated as pointers."""

from __future__ import annotations

from ..buffers import Handle
from ..builder import current
from ..errors import ArgumentError, ShapeError, TLSyntaxError
from ..parameters import tensor
from ..typed import TYPE_CHECKING
from ..types import PointerType, StridedTensorType, Symbol, TensorType, as_tuple, checked_extent
from ..values import Expr, binary, simplify
from .prints import device_assert

if TYPE_CHECKING:
    from typing import Any

    from ..buffers import Buffer
    from ..types import Extent

__all__ = ["handle", "make_tensor", "match_buffer", "ptr"]

ptr = PointerType
handle = PointerType


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Buffer:
    """Returns the tensor that a parameter of the type `T.ptr` stands for; it is passed as a tensor of this shape.

    - `ptr`: the parameter, of which one tensor is made.
    - `shape`: numbers, symbols, and numbers that are computed of arguments; the tensor has just these extents, which
      the call raises an error for if it has not.
    - `dtype`: the element type.
    - `strides`: in elements, as the shape; contiguous if not given.

    >>> @T.prim_func
    ... def double(a: T.ptr, b: T.ptr):
    ...     A = T.make_tensor(a, (64,), "float32")
    ...     B = T.make_tensor(b, (64,), "float32")
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             B[i] = A[i] * 2
    """
    return _declare("T.make_tensor", ptr, shape, dtype, strides)


def match_buffer(
    param: Any,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
) -> Buffer:
    """Returns the tensor that a parameter of the type `T.handle` stands for: the same as `T.make_tensor`.

    - `param`, `shape`, `dtype`, `strides`: as of `T.make_tensor`.
    - `data`, `elem_offset`, `offset_factor`: what tensors of calls say by themselves; not there.
    - `scope`: "global".
    - `align`: the alignment of the first element that callers guarantee, in bytes; 16 if it is not positive.

    >>> @T.prim_func
    ... def double(a: T.handle, b: T.handle):
    ...     A = T.match_buffer(a, (64,), "float32")
    ...     B = T.match_buffer(b, (64,), "float32")
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             B[i] = A[i] * 2
    """
    if data is not None or elem_offset is not None or offset_factor:
        raise ArgumentError(
            "`T.match_buffer` has no `data`, `elem_offset` and `offset_factor`: a tensor begins where the call says",
            location=current().here(),
        )
    if scope != "global":
        raise ArgumentError(
            f'`scope` of `T.match_buffer` is "global", not `{scope}`: `T.alloc_buffer` makes tiles on the chip',
            location=current().here(),
        )
    return _declare("T.match_buffer", param, shape, dtype, strides, align if align > 0 else 16)


def _declare(function: str, given: Any, shape: Any, dtype: Any, strides: Any, align: int = 16) -> Buffer:
    builder = current()
    if not isinstance(given, Handle):
        raise TLSyntaxError(
            f"`{function}` needs a parameter that is annotated with `T.ptr` or `T.handle`, not `{given!r}`",
            location=builder.here(),
        )
    if given.tensor is not None:
        raise TLSyntaxError(
            f"`{given.name}` is a tensor already, and one parameter is one tensor: use `T.reshape` or `T.view` of it",
            location=builder.here(),
        )
    if given.dtype is not None and TensorType((), dtype).dtype is not given.dtype:
        raise TLSyntaxError(
            f"`{given.name}` is a pointer to `{given.dtype}`, and `{function}` says `{dtype}`", location=builder.here()
        )
    if isinstance(given, Handle) and isinstance(shape, Expr):
        shape = (shape,)
    extents = [_extent(given.name, f"shape{d}", extent) for d, extent in enumerate(as_tuple(shape))]
    steps = None
    if strides is not None:
        steps = [_extent(given.name, f"stride{d}", step) for d, step in enumerate(as_tuple(strides))]
    made = (
        TensorType(extents, dtype, align=align)
        if steps is None
        else StridedTensorType(extents, steps, dtype, align=align)
    )
    given.tensor = tensor(builder, given.name, made)
    wanted = zip((*extents, *(steps or ())), (*as_tuple(shape), *as_tuple(strides or ())), strict=True)
    for known, computed in [(k, c) for k, c in wanted if not isinstance(c, Symbol) and isinstance(simplify(c), Expr)]:
        builder.require_in_kernels(lambda known=known, computed=computed: _hold(given.name, known, computed))
    return given.tensor


def _extent(name: str, what: str, value: Any) -> Extent:
    """Returns an extent or a stride; what is computed when the function is called is asked of the tensor."""
    number = value if isinstance(value, Symbol) else simplify(value)
    if not isinstance(number, Expr):
        return checked_extent(value, f"an extent of `{name}`")
    if not number.dtype.is_integer:
        raise ShapeError(f"an extent of `{name}` is an integer, not of `{number.dtype}`", location=current().here())
    return Symbol(f"{name}_{what}")


def _hold(name: str, extent: Any, computed: Any) -> None:
    """Asserts that a tensor has the extent that the program computed."""
    device_assert(binary("eq", extent, computed), f"`{name}` has another shape than the program says")
