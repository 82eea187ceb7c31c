"""Tensors whose shape and type are said in the body of a function: of parameters that are annotated as pointers, and of
addresses that a kernel computes or loads."""

from __future__ import annotations

from .. import _ops, dtypes
from ..buffers import Buffer, Handle
from ..builder import current
from ..errors import ArgumentError, DTypeError, ShapeError, TLSyntaxError, UnsupportedError
from ..expr import shortened
from ..parameters import tensor
from ..ranges import Range
from ..typed import TYPE_CHECKING
from ..types import PointerType, StridedTensorType, Symbol, TensorType, as_tuple, checked_extent
from ..values import Expr, Scalar, binary, expr, index_value, simplify
from .prints import device_assert

if TYPE_CHECKING:
    from typing import Any

    from ..ir import Value
    from ..types import Extent

__all__ = ["handle", "make_tensor", "make_tensor_from_addr", "match_buffer", "ptr"]

ptr = PointerType
handle = PointerType

_GREATEST_EXTENT = dtypes.index.range[1]


def make_tensor(ptr: Any, shape: Any, dtype: Any = "float32", strides: Any = None) -> Buffer:
    """Returns the tensor that a parameter of the type `T.ptr` stands for; it is passed as a tensor of this shape.

    - `ptr`: the parameter, of which one tensor is made. Of an address in the kernel, such as an element of a
      `T.Tensor((n,), T.ptr)`, the tensor is that of `T.make_tensor_from_addr`.
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
    if isinstance(ptr, Scalar) or (isinstance(ptr, Expr) and ptr.dtype.is_integer):
        return make_tensor_from_addr(ptr, shape, dtype, strides)
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


def make_tensor_from_addr(
    addr: Any,
    shape: Any,
    dtype: Any = "float32",
    strides: Any = None,
    storage_scope: str = "global",
    *,
    align: int = 16,
) -> Buffer:
    """Returns the tensor in device memory that begins at an address, which the kernel computes or loads.

    It is an operand of everything that takes a tensor, reads as zero outside of its shape, and may share memory with
    other tensors. All of it has to be there when the statement is executed, and nobody checks that: at a wrong address
    the call fails as the device does, which may end the process. `T.make_tensor` is for tensors that a call is given.

    - `addr`: an integer of 64 bits, the address of the first element, in bytes. It is the same for all threads, and
      is known outside of `T.Parallel`.
    - `shape`: integers, known now or only in the kernel. A negative extent is 0, and one that no index can be is cut.
    - `dtype`: the element type, of 8 bits at least.
    - `strides`: in elements, as the shape, none negative; contiguous if not given.
    - `storage_scope`: "global".
    - `align`: a number of bytes that the address is a multiple of; a power of two.

    Raises `DTypeError` for an `addr` that is no integer of 64 bits, `ShapeError` for negative extents and strides, and
    others than integers, and `TLSyntaxError` outside of a kernel.

    >>> @T.prim_func
    ... def double(addresses: T.Tensor((4,), "int64"), sizes: T.Tensor((4,), "int32")):
    ...     with T.Kernel(4) as g:
    ...         n = sizes[g]
    ...         A = T.make_tensor_from_addr(T.cast(addresses[g], "uint64"), (n, 64), "float32")
    ...         for i in T.serial(n):
    ...             for j in T.Parallel(64):
    ...                 A[i, j] = A[i, j] * 2
    """
    function = "T.make_tensor_from_addr"
    builder = current()
    builder.require_kernel(f"`{function}`")
    if storage_scope != "global":
        raise ArgumentError(
            f'`storage_scope` of `{function}` is "global", not `{storage_scope}`: tiles on the chip have no address '
            f"that a program knows",
            location=builder.here(),
        )
    address = _address(function, addr)
    extents = [_known_or_symbol(f"an extent of `{function}`", "extent", e) for e in as_tuple(shape)]
    for extent, given in zip(extents, as_tuple(shape), strict=True):
        if isinstance(extent, Symbol) and extent is not given:
            builder.bind(extent, _extent_value(given), Range(0, _GREATEST_EXTENT))
    made = TensorType(extents, dtype, align=align)
    unknown: list[Any] = []
    if strides is not None:
        steps = [_known_or_symbol(f"a stride of `{function}`", "stride", s) for s in as_tuple(strides)]
        unknown = [given for step, given in zip(steps, as_tuple(strides), strict=True) if isinstance(step, Symbol)]
        made = StridedTensorType(extents, steps, dtype, align=align)
    if made.dtype.bits == 4:
        raise UnsupportedError(
            f"`{function}` makes no tensor of `{made.dtype}`, of which two share a byte: make one of `uint8` with half "
            f"as many columns, and take elements apart by `>>` and `&`",
            location=builder.here(),
        )
    op = _ops.tensor_at(
        address,
        [index_value(e) for e in extents if isinstance(e, Symbol)],
        [expr(s, dtypes.int64).value for s in unknown],
        alignment=max(align, made.dtype.bits // 8),
        tensor_type=made.mlir(),
    )
    return Buffer(op.results[0], made.shape, made.dtype, "global")


def _address(function: str, value: Any) -> Value:
    """Returns an address as an integer of 64 bits."""
    if isinstance(value, Handle):
        raise TLSyntaxError(
            f"`{value.name}` is a pointer that a call gives: use `T.make_tensor({value.name}, shape, dtype)`",
            location=current().here(),
        )
    try:
        number = simplify(value)
    except DTypeError:
        number = None
    if isinstance(number, bool | float | None) or (
        isinstance(number, Expr) and (not number.dtype.is_integer or number.dtype.bits != 64)
    ):
        given = number.dtype if isinstance(number, Expr) else shortened(value)
        raise DTypeError(
            f"`addr` of `{function}` is an integer of 64 bits, such as `T.cast(addresses[i], 'uint64')`, not `{given}`",
            location=current().here(),
        )
    return expr(number, None if isinstance(number, Expr) else dtypes.uint64).value


def _known_or_symbol(what: str, kind: str, value: Any) -> Extent:
    """Returns an extent or a stride: a number, or a symbol for what only the kernel knows."""
    number = value if isinstance(value, Symbol) else simplify(value)
    if not isinstance(number, Expr) or number.const is not None:
        return checked_extent(number.const if isinstance(number, Expr) else number, what)
    if not number.dtype.is_integer:
        raise ShapeError(f"{what} is an integer, not of `{number.dtype}`", location=current().here())
    return current().new_symbol(kind)


def _extent_value(value: Any) -> Value:
    """Returns an extent that the kernel computes as an index, which is none below 0, and none that no index can be."""
    number = expr(value)
    if number.range.high > _GREATEST_EXTENT:
        number = binary("min", number, _GREATEST_EXTENT)
    return index_value(binary("max", number, 0))


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
