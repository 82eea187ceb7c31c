"""Functions that are built for the very tensors that they are called with."""

from __future__ import annotations

from .. import dtypes
from ..buffers import Buffer
from ..builder import current, current_or_none
from ..errors import ArgumentError, DTypeError, RankError, ShapeError, TLSyntaxError
from ..location import here
from ..parameters import known_extents, tensor
from ..tensors import dense_strides
from ..typed import TYPE_CHECKING, cast
from ..types import Const, StridedTensorType, TensorType, as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from ..builder import FunctionBuilder


class EagerTensor:
    """A tensor argument of an eager function that has not been annotated yet.

    It remembers what the function wants to know of it: a kernel that is built for the answers serves every tensor that
    gives the same ones.
    """

    def __init__(
        self,
        builder: FunctionBuilder,
        name: str,
        shape: Sequence[int],
        strides: Callable[[], Sequence[int]],
        dtype: dtypes.DType,
        alignment: int,
    ) -> None:
        self._builder = builder
        self._shape = tuple(shape)
        self._strides = strides
        self._alignment = alignment
        self.name = name
        self.dtype = dtype
        self.asked: set[tuple[str, int]] = set()
        """The extents and strides that the kernel depends on: ("shape", 0) and the like."""

    def __repr__(self) -> str:
        return f"{self.name}, which has no annotation yet: write `{self.name}: T.Tensor[[...], dtype]` before"

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's extents. Who reads them gets a kernel for this very shape."""
        self.asked.update(("shape", d) for d in range(len(self._shape)))
        return self._shape

    def extent(self, dimension: int, count: int = 1) -> int | None:
        """Returns one of the extents, for which the kernel is then made; None if there are not so many.

        - `count`: how many of the elements that the annotation speaks of one element of the tensor holds.
        """
        if dimension >= len(self._shape):
            return None
        self.asked.add(("shape", dimension))
        return self._shape[dimension] * count

    def declare(self, annotation: Any) -> Buffer:
        """Makes it a parameter of the type that the annotation says; extents of `T.const` are found on the way."""
        if not isinstance(annotation, TensorType):
            raise DTypeError(f"`{self.name}` is a tensor: annotate it with `T.Tensor[shape, dtype]`")
        if annotation.rank != len(self._shape):
            count = len(self._shape)
            raise RankError(
                f"`{self.name}` has {count} dimension{'s' if count != 1 else ''}, and its annotation "
                f"{annotation.rank}: pass a tensor of as many, or annotate it so",
                location=self._builder.here(),
            )
        is_packed = annotation.dtype.bits == 4
        stands_for_bits = isinstance(annotation.dtype, dtypes.Format) and not is_packed
        if annotation.dtype != self.dtype and (annotation.dtype.mlir != self.dtype.mlir or stands_for_bits):
            raise DTypeError(
                f"`{self.name}` is of `{self.dtype}`, and its annotation says `{annotation.dtype}`: convert the "
                f"tensor, or annotate it so",
                location=self._builder.here(),
            )
        shape = (*self._shape[:-1], 2 * self._shape[-1]) if is_packed else self._shape
        self._solve("shape", annotation.raw_shape, shape)
        if isinstance(annotation, StridedTensorType) and any(isinstance(s, Const) for s in annotation.raw_strides):
            strides = self._strides()
            if is_packed:
                strides = [*(2 * stride for stride in strides[:-1]), *strides[-1:]]
            self._solve("stride", annotation.raw_strides, strides)
        if annotation.align > self._alignment:
            annotation = annotation.with_alignment(self._alignment)
        return tensor(self._builder, self.name, annotation)

    def _solve(self, what: str, wanted: Sequence[Any], actual: Sequence[int]) -> None:
        """Gives every `T.const` its value, or compares it with the value that another tensor gave."""
        for d, (extent, number) in enumerate(zip(wanted, actual, strict=True)):
            if not isinstance(extent, Const):
                continue
            self.asked.add((what, d))
            if extent.value is None:
                extent.value = number
            elif extent.value != number:
                place = "dimension" if what == "shape" else "stride"
                raise ShapeError(
                    f"{place} {d} of `{self.name}` is {number}, and `{extent.name}` is {extent.value} by another "
                    f"tensor: make the two agree, or give them names of their own",
                    location=self._builder.here(),
                )

    def _reject(self) -> NoReturn:
        raise TLSyntaxError(
            f"annotate `{self.name}` before it is used, as in `{self.name}: T.Tensor[[M, N], dtype]`",
            location=self._builder.here(),
        )

    def __getitem__(self, item: Any) -> NoReturn:
        self._reject()

    def __setitem__(self, item: Any, value: Any) -> NoReturn:
        self._reject()


class DescribedTensor:
    """What is in place of an argument of which only the type is given: `f.compile(T.Tensor((64, 64), "float16"))`."""

    def __init__(self, name: str, kind: TensorType) -> None:
        steps = kind.strides if kind.strides is not None else ()
        if not all(isinstance(number, int) for number in (*kind.shape, *steps)):
            raise ArgumentError(
                f"`{name}` is described by a type with symbols: give the numbers, or compile without tensors for the "
                f"extents of every `T.const`"
            )
        # As the tensors that a call gets: two numbers of 4 bits are a byte.
        is_packed = kind.dtype.bits == 4
        shape = cast("tuple[int, ...]", kind.shape)
        self.shape = (*shape[:-1], shape[-1] // 2) if is_packed else shape
        self.dtype = dtypes.int8 if is_packed else kind.dtype
        self.align = kind.align
        self._strides = cast("tuple[int, ...]", steps) if steps else dense_strides(self.shape)

    def stride(self) -> tuple[int, ...]:
        """Strides in elements."""
        return self._strides


class ImaginedTensor(EagerTensor):
    """A tensor argument that is not there: the function is compiled for what its annotation says."""

    def __init__(self, builder: FunctionBuilder, name: str) -> None:
        self._builder = builder
        self.name = name
        self.asked = set()

    @property
    def shape(self) -> tuple[int, ...]:
        raise ShapeError(
            f"the shape of `{self.name}` is read, and there is no tensor: compile `{self._builder.name}` for tensors"
        )

    def declare(self, annotation: Any) -> Buffer:
        """Makes it a parameter of the type that the annotation says."""
        if not isinstance(annotation, TensorType):
            raise DTypeError(f"`{self.name}` is a tensor: annotate it with `T.Tensor[shape, dtype]`")
        for extent in annotation.constants:
            if extent.value is None:
                raise ArgumentError(
                    f"the extent `{extent.name}` of `{self.name}` is unknown: give it, as in "
                    f"`{self._builder.name}.compile({extent.name}=1024)`, or compile for tensors"
                )
        return tensor(self._builder, self.name, annotation)

    def __repr__(self) -> str:
        return f"{self.name}, which is not given"


class DeclaredTensor(EagerTensor):
    """A tensor parameter of a function that is compiled before it is called, whose type its body says."""

    def __init__(self, builder: FunctionBuilder, name: str) -> None:
        self._builder = builder
        self.name = name
        self.asked = set()
        self._is_declared = False

    @property
    def shape(self) -> tuple[int, ...]:
        self._reject()

    def declare(self, annotation: Any) -> Buffer:
        """Makes it a parameter of the type that the annotation says."""
        if not isinstance(annotation, TensorType):
            raise DTypeError(
                f"`{self.name}` is a tensor: annotate it with `T.Tensor[shape, dtype]`", location=self._builder.here()
            )
        for extent in annotation.constants:
            if extent.value is not None:
                continue
            raise ShapeError(
                f"`{extent.name}` of `{self.name}` is a `T.const`, which functions of `@tilec.jit` take from tensors: "
                f"use a number, or `T.dynamic`",
                location=self._builder.here(),
            )
        self._is_declared = True
        return tensor(self._builder, self.name, annotation)

    def require(self) -> None:
        """Raises unless its type was said."""
        if not self._is_declared:
            self._reject()


def const(names: str) -> Any:
    """Returns an extent that is fixed when an eager function is called, or a tuple of them for several names.

    >>> @tilec.jit
    ... def double(A):
    ...     N = T.const("N")
    ...     A: T.Tensor[[N], T.float32]
    ...     B = T.empty((N,), T.float32)
    ...     with T.Kernel(T.ceildiv(N, 64)) as b:
    ...         for i in T.Parallel(64):
    ...             B[b * 64 + i] = 2 * A[b * 64 + i]
    ...     return B
    """
    found = tuple(Const(name) for name in names.replace(",", " ").split())
    builder = current_or_none()
    if builder is not None:
        for extent in found:
            extent.value = builder.constant_of(extent.name)
            if extent.value is None and (place := builder.places_of_constants.get(extent.name)) is not None:
                extent.value = place()
    if not found:
        raise ShapeError("`T.const` needs a name")
    return found[0] if len(found) == 1 else found


def empty(*shape: Any, dtype: Any = None) -> Buffer:
    """Makes a tensor for a result of a function, which returns it.

    Calls of the compiled function return it, too, and do not take it; it is the function's last parameter.

    - `shape`: extents, which may be of `T.const` or `T.dynamic`: `T.empty((M, N), T.float16)`, or one by one,
      `T.empty(M, N, dtype=T.float16)`. They may be computed of these, and of parameters that are integers, by the
      operators of extents, in front of the kernel: `T.empty((2 * m + 1,), T.float16)`.
    - `dtype`: the element type, which may also stand behind the shape; `float32` if none is given.

    >>> @tilec.jit
    ... def ones(A):
    ...     N = T.const("N")
    ...     A: T.Tensor[[N], T.float32]
    ...     B = T.empty((N,), T.float32)
    ...     with T.Kernel(T.ceildiv(N, 64)) as b:
    ...         for i in T.Parallel(64):
    ...             B[b * 64 + i] = A[b * 64 + i] + 1
    ...     return B
    """
    extents, element = _shape_and_type(shape, dtype)
    builder = current()
    result = tensor(builder, f"out{len(builder.outputs)}", TensorType(known_extents(extents), element))
    builder.outputs.append(builder.parameters[-1])
    return result


def _shape_and_type(shape: tuple[Any, ...], dtype: Any) -> tuple[tuple[Any, ...], Any]:
    is_whole = bool(shape) and isinstance(shape[0], tuple | list)
    extents = as_tuple(shape[0]) if is_whole else shape
    rest = shape[1:] if is_whole else ()
    if not is_whole and len(shape) > 1 and isinstance(shape[-1], str):
        extents, rest = shape[:-1], shape[-1:]
    if len(rest) > 1 or (rest and dtype is not None):
        raise ArgumentError(f"`T.empty` takes a shape and a type, not {', '.join(map(repr, shape))}", location=here())
    return extents, (*rest, dtype or "float32")[0]


def result_numbers(builder: FunctionBuilder, results: Any) -> list[int]:
    """Returns which parameters are the tensors that a function returns."""
    if results is None:
        results = ()
    numbers: list[int] = []
    for result in as_tuple(results):
        if not isinstance(result, Buffer) or not any(result.parameter is o for o in builder.outputs):
            raise TLSyntaxError(
                f"`{builder.name}` can return tensors made by `T.empty` only, not `{result!r}`: what it writes to its "
                f"arguments is there when the call is done",
                location=builder.location,
            )
        numbers.append(next(i for i, p in enumerate(builder.parameters) if p is result.parameter))
    if len(set(numbers)) != len(numbers):
        raise TLSyntaxError(
            f"`{builder.name}` returns a tensor twice: make another one with `T.empty`, and copy to it",
            location=builder.location,
        )
    if len(numbers) != len(builder.outputs):
        raise TLSyntaxError(
            f"`{builder.name}` must return every tensor that it makes with `T.empty`: it makes {len(builder.outputs)}, "
            f"and returns {len(numbers)}; add them to its `return`, or use `T.alloc_global` for a workspace",
            location=builder.location,
        )
    return numbers
