"""Types of parameters: what stands behind the annotations `T.Tensor`, `T.StridedTensor`, `T.int32` and so on."""

from __future__ import annotations

import operator

from . import dtypes
from .errors import DTypeError, RankError, ShapeError
from .location import here
from .operators import Operators
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from .dtypes import DType


class Symbol(Operators):
    """An extent or stride that is known when a kernel is called, such as `T.dynamic("m")`.

    Symbols of one name are one symbol. Inside a function a symbol is its value.
    """

    def __init__(self, name: str) -> None:
        if not name.isidentifier():
            raise ShapeError(
                f"a symbol's name must be an identifier, and `{name}` is not; an extent that is known is a number",
                location=here(),
            )
        self.name = name

    def symbols(self) -> Iterator[Symbol]:
        """Yields what its value follows from, which no computation makes."""
        yield self

    def value(self, extents: Mapping[str, Any]) -> Any:
        """Returns its value where the symbols of these names have these values, or None if that is not enough."""
        return extents.get(self.name)

    def __repr__(self) -> str:
        return self.name


class Computed(Symbol):
    """An extent that follows from symbols when a kernel is called, such as `T.dynamic("m") // 2`.

    Its name is its text. Inside of a function it is the extent that a tensor has, and each call is asked whether that
    is the extent that was computed (`tilec.extents`).
    """

    def __init__(self, op: str, left: Extent, right: Extent) -> None:
        self._op = op
        self._operands = left, right
        a, b = (f"({e})" if isinstance(e, Computed) and not e._is_call else str(e) for e in self._operands)
        self.name = f"{op}({a}, {b})" if self._is_call else f"{a} {_OPERATORS[op][0]} {b}"

    @property
    def _is_call(self) -> bool:
        return not _OPERATORS[self._op][0]

    @classmethod
    def half(cls, extent: Extent) -> Computed:
        """Returns the extent of which a symbol is twice as much: that of the bytes that two elements share each."""
        return cls("exactdiv", extent, 2)

    def symbols(self) -> Iterator[Symbol]:
        for operand in self._operands:
            if isinstance(operand, Symbol):
                yield from operand.symbols()

    def value(self, extents: Mapping[str, Any]) -> Any:
        a, b = (e.value(extents) if isinstance(e, Symbol) else e for e in self._operands)
        if a is None or b is None:
            return None
        try:
            return _OPERATORS[self._op][1](a, b)
        except ZeroDivisionError:
            raise ShapeError(f"`{self}` divides by zero") from None

    def parts(self) -> tuple[str, tuple[Extent, Extent]]:
        """Returns the operator and what it is computed of."""
        return self._op, self._operands

    def with_symbols(self, replacements: Mapping[str, Extent]) -> Computed:
        """Returns the same of other symbols, given by their names."""

        def replaced(operand: Extent) -> Extent:
            if isinstance(operand, Computed):
                return operand.with_symbols(replacements)
            return replacements.get(operand.name, operand) if isinstance(operand, Symbol) else operand

        left, right = self._operands
        return Computed(self._op, replaced(left), replaced(right))

    def solve(self, is_known: Callable[[str], bool], value: Symbol) -> tuple[str, Computed] | None:
        """Returns the name of the one symbol that is not known, and what it is where this is `value`; None if there
        is no such symbol, or if more than one number may be its value.

        Of `n * 0` any number may. So may it of `m * n` where `m` is zero: then it is taken for zero.
        """
        unknown = [not all(is_known(s.name) for s in e.symbols()) for e in self._operands if isinstance(e, Symbol)]
        left, right = self._operands
        if sum(unknown) != 1 or self._op not in ("add", "sub", "mul", "exactdiv"):
            return None
        is_left = isinstance(left, Symbol) and unknown[0]
        wanted, other = (left, right) if is_left else (right, left)
        if isinstance(other, Computed) or not isinstance(wanted, Symbol):
            return None
        if self._op == "add":
            rest = Computed("sub", value, other)
        elif self._op == "sub":
            rest = Computed("add", value, other) if is_left else Computed("sub", other, value)
        elif self._op == "exactdiv":
            rest = Computed("mul", value, other)
        elif isinstance(other, int) and other < 1:
            return None
        else:
            rest = Computed("floordiv", value, other if isinstance(other, int) else Computed("max", other, 1))
        return wanted.solve(is_known, rest) if isinstance(wanted, Computed) else (wanted.name, rest)


class Told(Symbol):
    """A computed extent or stride as the tensor says it, which is computed no more."""

    def __init__(self, extent: Computed) -> None:
        self.name = extent.name
        self.of = extent
        """How it would be computed."""


class Given(Symbol):
    """An integer that a call is given as a scalar parameter, as an extent of what it allocates."""

    def __init__(self, parameter: str) -> None:
        self.name = f"int({parameter})"


def _divided(a: Any, b: Any) -> Any:
    """Divides exactly: what is no integer is a number that no extent is."""
    return a // b if a % b == 0 else a / b


_OPERATORS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "floordiv": ("//", operator.floordiv),
    "exactdiv": ("/", _divided),
    "mod": ("%", operator.mod),
    "ceildiv": ("", lambda a, b: -(-a // b)),
    "min": ("", min),
    "max": ("", max),
}
"""How extents are computed of extents, and how that is written; as a call if there is no operator. Programs do not
write `exactdiv`."""


def makes_extents(op: str) -> bool:
    """Whether there are extents that are computed by an operator."""
    return op in _OPERATORS


def computed(op: str, left: Any, right: Any) -> Computed:
    """Returns the extent that an operator makes of symbols outside of a function."""
    if op not in _OPERATORS:
        remedy = (
            ": divide with `//`"
            if op == "div"
            else f"; extents are computed by {', '.join(o for o in _OPERATORS if o != 'exactdiv')}"
        )
        raise ShapeError(f"`{left}` and `{right}` make no extent here by `{op}`{remedy}", location=here())
    return Computed(op, *(_operand(operand) for operand in (left, right)))


def _operand(value: Any) -> Extent:
    if isinstance(value, Const) and isinstance(value.value, Symbol):
        return value.value
    if isinstance(value, Symbol):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ShapeError(f"extents are computed of integers and symbols, not of `{value!r}`", location=here())
    return int(value.__index__())


class Const(Operators):
    """An extent that eager functions take from the tensors they are called with, such as `T.const("M")`.

    `compile(M=...)` gives it a value without a tensor, which may be a symbol.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Extent | None = None

    def __repr__(self) -> str:
        return self.name if self.value is None else str(self.value)

    def __int__(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.__index__()

    def __float__(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        return float(self.__index__())

    def __index__(self) -> int:
        if self.value is None:
            raise ShapeError(
                f"the value of `{self.name}` is unknown here: annotate a tensor with it first, as in "
                f"`A: T.Tensor[[{self.name}], ...]`; in a `@T.prim_func` use `T.dynamic`",
                location=here(),
            )
        if isinstance(self.value, Symbol):
            raise ShapeError(f"a number is needed here, and `{self.name}` is known only when the kernel is called")
        return self.value


def is_symbol(value: Any) -> bool:
    """Whether a value is a symbol, or stands for one."""
    return isinstance(value, Symbol) or (isinstance(value, Const) and isinstance(value.value, Symbol))


Extent = int | Symbol


def dynamic(name: str, dtype: Any = "int32") -> Any:
    """Returns a symbol, or a tuple of symbols for several names separated by commas or spaces.

    - `name`: "m", or "m, n".
    - `dtype`: an integer type, which says nothing more: symbols are as wide as extents of tensors are.

    >>> T.dynamic("m")
    m
    >>> T.dynamic("m, n")
    (m, n)

    Extents may be computed of symbols by `+`, `-`, `*`, `//`, `%`, `T.ceildiv`, `T.min` and `T.max`, of which a call
    is a `ShapeError` whose tensors have others:

    >>> T.Tensor((T.dynamic("m") // 2, 8), "uint8")
    T.Tensor((m // 2, 8), T.uint8)

    A symbol needs not be an extent itself: of `m * 4`, `m - 1` or `64 - m` it follows. It does not of `m // 2`.
    """
    found = tuple(Symbol(one) for one in name.replace(",", " ").split())
    if not found:
        raise ShapeError("`T.dynamic` needs a name")
    if not dtypes.dtype(dtype).is_integer:
        raise DTypeError(f"a symbol is an integer, not of `{dtype}`", location=here())
    return found[0] if len(found) == 1 else found


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Returns a list or tuple as a tuple, and a single value as a tuple of it."""
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else (value,)


def checked_extent(value: Any, what: str) -> Extent:
    """Returns an extent or a stride as a number or a symbol; a name stands for a symbol."""
    if isinstance(value, dtypes.DType):
        raise ShapeError(
            f"{what} must be an integer or a symbol, not the element type `{value!r}`: the shape comes first",
            location=here(),
        )
    if isinstance(value, str):
        return Symbol(value)
    if isinstance(value, Const) and isinstance(value.value, Symbol):
        return value.value
    if isinstance(value, Symbol):
        return value
    if (isinstance(value, bool | Operators) or not hasattr(value, "__index__")) and not isinstance(value, Const):
        raise ShapeError(f"{what} must be an integer or a `T.dynamic` symbol, not `{value!r}`", location=here())
    number = value.__index__()
    if number < 0:
        raise ShapeError(f"{what} must not be negative, and {number} is", location=here())
    return number


def _checked_stride(value: Any) -> Extent:
    """Returns a stride as a number or a symbol."""
    stride = checked_extent(value, "a stride")
    if isinstance(stride, Computed):
        raise ShapeError(
            f"a stride must be an integer or a `T.dynamic` symbol, and `{stride}` is computed: give it a symbol of its "
            f'own, such as `T.dynamic("ld")`, which is whatever the tensor has',
            location=here(),
        )
    return stride


class TensorType:
    """Annotates a contiguous, row-major tensor parameter: `T.Tensor((m, 1024), "float16")`.

    - `shape`: integers and symbols.
    - `dtype`: the element type; `T.ptr` for addresses, which are of `int64`.
    - `align`: the alignment of the first element that callers guarantee, in bytes.

    `T.Tensor[[m, 1024], "float16"]` and `T.Tensor[m, 1024, T.float16]` mean the same.

    >>> @T.prim_func
    ... def scale(A: T.Tensor((T.dynamic("m"), 64), "float32"), factor: T.float32):
    ...     with T.Kernel(A.shape[0]) as b:
    ...         for j in T.Parallel(64):
    ...             A[b, j] = A[b, j] * factor
    """

    def __init__(self, shape: Any, dtype: Any = "float32", *, align: int = 16) -> None:
        self.raw_shape = as_tuple(shape)
        if any(isinstance(extent, dtypes.DType) for extent in self.raw_shape):
            _ = self.shape  # raises
        self.dtype: DType = dtypes.int64 if is_pointer(dtype) else dtypes.dtype(dtype)
        if align < 1 or align & (align - 1):
            raise ShapeError(f"`align` must be a power of two, and {align} is not")
        self.align = align

    def __class_getitem__(cls, items: Any) -> TensorType:
        if not isinstance(items, tuple) or not items:
            return cls(items)
        if isinstance(items[0], tuple | list):
            return cls(*items)
        *extents, last = cast("tuple[Any, ...]", items)
        return cls(extents, last) if isinstance(last, dtypes.DType) else cls(items)

    @property
    def shape(self) -> tuple[Extent, ...]:
        return tuple(checked_extent(e, "an extent") for e in self.raw_shape)

    @property
    def strides(self) -> tuple[Extent, ...] | None:
        """Strides in elements, or None for a contiguous tensor."""
        return None

    @property
    def rank(self) -> int:
        return len(self.raw_shape)

    def with_alignment(self, align: int) -> TensorType:
        """Returns the same type with another alignment of the first element, in bytes."""
        from copy import copy

        other = copy(self)
        other.align = align
        return other

    def resolved(self) -> TensorType:
        """Returns the same type with today's values of every `T.const`."""
        from copy import copy

        other = copy(self)
        other.raw_shape = self.shape
        return other

    @property
    def constants(self) -> tuple[Const, ...]:
        """The extents and strides that are `T.const`."""
        return tuple(e for e in self.raw_shape if isinstance(e, Const))

    @staticmethod
    def symbol_names(extents: Sequence[Extent]) -> list[str]:
        """Returns each dimension's symbol, "" for one that is static."""
        return [e.name if isinstance(e, Symbol) else "" for e in extents]

    def mlir(self) -> str:
        extents = "".join(f"{_static_or_unknown(e)}x" for e in self.shape)
        if self.strides is None:
            return f"memref<{extents}{self.dtype.mlir}>"
        strides = ", ".join(map(_static_or_unknown, self.strides))
        return f"memref<{extents}{self.dtype.mlir}, strided<[{strides}]>>"

    def __repr__(self) -> str:
        return f"T.Tensor({self.raw_shape}, {self.dtype!r})"


class StridedTensorType(TensorType):
    """Annotates a tensor parameter with given strides, in elements: `T.StridedTensor((m, n), (ld, 1), "float16")`.

    >>> @T.prim_func
    ... def clear(A: T.StridedTensor((64, 32), (T.dynamic("ld"), 1), "float16")):
    ...     with T.Kernel(1):
    ...         for i, j in T.Parallel(64, 32):
    ...             A[i, j] = 0.0
    """

    def __init__(self, shape: Any, strides: Any, dtype: Any = "float32", *, align: int = 16) -> None:
        super().__init__(shape, dtype, align=align)
        self.raw_strides = tuple(strides)
        if len(self.raw_strides) != self.rank:
            raise RankError(f"a tensor of {self.rank} dimensions needs as many strides, not {len(self.raw_strides)}")

    @property
    def strides(self) -> tuple[Extent, ...] | None:
        return tuple(_checked_stride(s) for s in self.raw_strides)

    def resolved(self) -> TensorType:
        other = super().resolved()
        assert isinstance(other, StridedTensorType), "it is a copy"
        other.raw_strides = tuple(_checked_stride(s) for s in self.raw_strides)
        return other

    @property
    def constants(self) -> tuple[Const, ...]:
        return (*super().constants, *(s for s in self.raw_strides if isinstance(s, Const)))

    def __repr__(self) -> str:
        return f"T.StridedTensor({self.raw_shape}, {self.raw_strides}, {self.dtype!r})"


def _static_or_unknown(extent: Extent) -> str:
    return "?" if isinstance(extent, Symbol) else str(extent)


class ScalarType:
    """The type of a scalar parameter."""

    def __init__(self, dtype: Any) -> None:
        self.dtype: DType = dtypes.dtype(dtype)
        if isinstance(self.dtype, dtypes.Format):
            raise DTypeError(
                f"a parameter that is a number is not of `{self.dtype}`, which tensors and tiles hold: pass a "
                f"`{self.dtype.value!r}`",
                location=here(),
            )

    def mlir(self) -> str:
        return self.dtype.mlir

    def __repr__(self) -> str:
        return repr(self.dtype)


class PointerType:
    """Annotates a parameter that is a tensor, whose shape the body says: by `T.make_tensor`, or `T.match_buffer`.

    `T.ptr`, `T.handle` and `T.ptr("float32")` all do.

    - `dtype`: the element type, which the body then says too.
    - `storage_scope`: "global".
    - `is_size_var`: whether it is never negative, as no pointer is.

    >>> @T.prim_func
    ... def clear(a: T.ptr):
    ...     A = T.make_tensor(a, (64,), "float32")
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             A[i] = 0.0
    """

    def __init__(self, dtype: Any = None, storage_scope: str = "global", *, is_size_var: bool = False) -> None:
        self.dtype: DType | None = None if dtype is None else dtypes.dtype(dtype)
        if storage_scope != "global":
            raise DTypeError(f'a parameter points to "global" memory, not `{storage_scope}`', location=here())


def is_pointer(annotation: Any) -> bool:
    """Whether an annotation is that of a pointer, `T.ptr` or `T.ptr(dtype)`."""
    return annotation is PointerType or isinstance(annotation, PointerType)


def annotation_type(name: str, annotation: Any) -> TensorType | ScalarType | PointerType:
    """Returns the type that a parameter's annotation stands for."""
    if isinstance(annotation, TensorType | ScalarType):
        return annotation
    if is_pointer(annotation):
        return annotation if isinstance(annotation, PointerType) else PointerType()
    try:
        return ScalarType(annotation)
    except DTypeError:
        if isinstance(annotation, dtypes.Format):
            raise
        if name in ("self", "cls") and annotation is None:
            raise DTypeError(
                f"a kernel is no method, and `{name}` is no tensor: leave it out and put `@staticmethod` above, or "
                f"define the kernel inside of a method, where it may use `{name}`",
                location=here(),
            ) from None
        raise DTypeError(
            f"parameter `{name}` needs a type: annotate it with `T.Tensor(shape, dtype)` or a scalar type such as "
            f"`T.int32`, not `{annotation!r}`",
            location=here(),
        ) from None
