"""Functions that are built for the very tensors that they are called with."""

from __future__ import annotations

from ..buffers import Buffer
from ..builder import current
from ..errors import DTypeError, RankError, ShapeError, TLSyntaxError
from ..typed import TYPE_CHECKING
from ..types import Const, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from .. import dtypes
    from ..builder import FunctionBuilder


class EagerTensor:
    """A tensor argument of an eager function that has not been annotated yet; its shape and element type are known."""

    def __init__(self, builder: FunctionBuilder, name: str, shape: Sequence[int], dtype: dtypes.DType) -> None:
        self._builder = builder
        self.name = name
        self.shape = tuple(shape)
        self.dtype = dtype

    def declare(self, annotation: Any) -> Buffer:
        """Makes it a parameter of the type that the annotation says; extents of `T.const` are found on the way."""
        if not isinstance(annotation, TensorType):
            raise DTypeError(f"`{self.name}` is a tensor: annotate it with `T.Tensor[shape, dtype]`")
        if annotation.rank != len(self.shape):
            raise RankError(f"`{self.name}` has {len(self.shape)} dimensions, and its annotation {annotation.rank}")
        if annotation.dtype != self.dtype and annotation.dtype.mlir != self.dtype.mlir:
            raise DTypeError(f"`{self.name}` is of `{self.dtype}`, and its annotation says `{annotation.dtype}`")
        for d, (extent, actual) in enumerate(zip(annotation.raw_shape, self.shape, strict=True)):
            if not isinstance(extent, Const):
                continue
            if extent.value is None:
                extent.value = actual
            elif extent.value != actual:
                raise ShapeError(
                    f"dimension {d} of `{self.name}` is {actual}, and `{extent.name}` is {extent.value} "
                    f"by another tensor"
                )
        parameter = self._builder.add_parameter(self.name, annotation)
        assert isinstance(parameter, Buffer), "tensor types make buffers"
        return parameter

    def _reject(self) -> NoReturn:
        raise TLSyntaxError(
            f"annotate `{self.name}` before it is used, as in `{self.name}: T.Tensor[[M, N], dtype]`",
            location=self._builder.here(),
        )

    def __getitem__(self, item: Any) -> NoReturn:
        self._reject()

    def __setitem__(self, item: Any, value: Any) -> NoReturn:
        self._reject()


def empty(shape: Any, dtype: Any = "float32") -> Buffer:
    """Makes a tensor for a result of an eager function, which returns it.

    - `shape`: extents, which may be of `T.const` or `T.dynamic`.
    - `dtype`: the element type.
    """
    builder = current()
    if builder.outputs is None:
        raise TLSyntaxError(
            "`T.empty` makes results of eager `@tilec.jit` functions; here take the tensor as a parameter",
            location=builder.here(),
        )
    parameter = builder.add_parameter(f"out{len(builder.outputs)}", TensorType(shape, dtype))
    assert isinstance(parameter, Buffer), "tensor types make buffers"
    builder.outputs.append(parameter)
    return parameter
