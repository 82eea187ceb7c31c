"""Tensors of numbers of 4 bits, of which two neighbours along the last dimension share a byte, the first one lowest."""

from __future__ import annotations

from . import _ops, dtypes, formats
from .buffers import Buffer
from .builder import current
from .errors import ShapeError, UnsupportedError
from .expr import Expr, simplify, typed_constant
from .typed import TYPE_CHECKING
from .typed import cast as _typed
from .types import Computed, StridedTensorType, Symbol, TensorType, Told
from .values import binary, cast, index_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from .builder import FunctionBuilder
    from .ir import Op
    from .types import Extent
    from .values import Number


def packed_tensor(builder: FunctionBuilder, name: str, declared: TensorType) -> Packed:
    """Adds a tensor of numbers of 4 bits to a function: a parameter of half as many bytes."""
    *outer, last = declared.shape or (0,)
    if not declared.rank or (isinstance(last, int) and last % 2):
        raise ShapeError(
            f"`{name}` is a tensor of `{declared.dtype}`, of which two share a byte: its last extent is an even "
            f"number, or a symbol, not `{last}`",
            location=builder.here(),
        )
    shape = (*outer, _half(last))
    bytes_ = TensorType(shape, dtypes.pair, align=declared.align)
    if declared.strides is not None:
        bytes_ = StridedTensorType(shape, _strides_of_bytes(builder, name, declared), dtypes.pair, align=declared.align)
    parameter = builder.add_parameter(name, bytes_)
    # What symbols are that stand for themselves follows from the bytes when they are asked for (`tilec.extents`).
    if isinstance(last, Computed):
        builder.bind_twice(last, _typed("Computed", shape[-1]))
    for stride, half in zip(declared.strides or (), bytes_.strides or (), strict=True):
        if isinstance(stride, Symbol):
            builder.bind_twice(stride, _typed("Symbol", half))
    stored = Buffer(parameter.value, bytes_.shape, dtypes.uint8, "global", parameter=parameter)
    return Packed(stored, declared.shape, _typed("dtypes.Format", declared.dtype))


def _half(extent: Extent) -> Extent:
    return Computed.half(extent) if isinstance(extent, Symbol) else extent // 2


def _strides_of_bytes(builder: FunctionBuilder, name: str, declared: TensorType) -> list[Extent]:
    """Returns the strides of the bytes: rows begin with whole ones, and the two elements of one are neighbours."""
    *rows, last = declared.strides or (0,)
    if isinstance(last, Symbol) or last != 1 or any(isinstance(stride, int) and stride % 2 for stride in rows):
        raise ShapeError(
            f"`{name}` is a tensor of `{declared.dtype}`, of which two share a byte: its last stride is 1, and the "
            f"others are even numbers, or symbols, not `{declared.strides}`",
            location=builder.here(),
        )
    return [*(Told(Computed.half(s)) if isinstance(s, Symbol) else s // 2 for s in rows), 1]


class Packed(Buffer):
    """A tensor of which two elements share a byte of another one."""

    is_view = True

    def __init__(self, stored: Buffer, shape: Sequence[Any], dtype: dtypes.Format) -> None:
        super().__init__(stored.value, shape, dtype, "global", parameter=stored.parameter)
        self._stored = stored
        self._format = dtype

    def load_element(self, indices: list[Number | Expr]) -> Op:
        """Emits the read of an element; a byte outside of the tensor is zero, and so are both elements."""
        byte = Expr(self._stored.load_element(self._byte(indices)).results[0], dtypes.uint8)
        amount = cast(binary("mul", binary("mod", indices[-1], 2), 4), dtypes.uint32)
        element = formats.kept(binary("shr", cast(byte, dtypes.uint32), amount), self._format)
        # An operation of the element's own, which is taken away where only its place is meant.
        return current().emit("arith.bitcast", [element.value], ["i8"])

    def store_pair(self, first: Expr, second: Expr, indices: list[Number | Expr]) -> None:
        """Emits the write of two elements, the first of which stands at an even place."""
        low, high = (binary("and", formats.bits(number), 15) for number in (first, second))
        byte = cast(binary("or", low, binary("shl", high, 4)), dtypes.uint8)
        _ops.store(byte.value, self._stored.value, [index_value(i) for i in self._byte(indices)])

    def store_element(self, value: Expr, indices: list[Number | Expr]) -> None:
        """Emits the write of an element, which leaves its neighbour alone, whoever writes that at the same time: the
        bits of the one are cleared, and then set, by atomic operations on the byte."""
        amount = cast(binary("mul", binary("mod", indices[-1], 2), 4), dtypes.uint32)
        kept = binary("xor", binary("shl", typed_constant(15, dtypes.uint32), amount), 255)
        added = binary("shl", binary("and", formats.bits(value), 15), amount)
        place = [index_value(i) for i in self._byte(indices)]
        kinds: tuple[tuple[Literal["and", "or"], Any], ...] = (("and", kept), ("or", added))
        for kind, word in kinds:
            byte = _typed("Expr", cast(word, dtypes.uint8))
            _ops.atomic(byte.value, self._stored.value, place, None, kind=kind, old_type="i8")

    def locate(self, indices: list[Number | Expr]) -> tuple[Buffer, list[Number | Expr]]:
        raise UnsupportedError(
            f"an element of `{self.name}` has no place of its own, since two `{self.dtype}` share a byte: read it, or "
            f"assign to it",
            location=current().here(),
        )

    def _byte(self, indices: list[Number | Expr]) -> list[Number | Expr]:
        *outer, last = indices
        return [*outer, simplify(binary("floordiv", last, 2))]
