"""Names that annotate parameters, and classes whose methods are built into kernels."""

from __future__ import annotations

from types import FunctionType

from ..buffers import Buffer as _Buffer
from ..errors import ArgumentError
from ..expr import place
from ..frontend.functions import macro
from ..location import here
from ..tracebacks import ends_in_program
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType, dynamic
from .views import view

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Buffer", "FragmentBuffer", "LocalBuffer", "Ref", "SharedBuffer", "Tensor", "Var", "inline", "meta_class"]


_TAKEN = "it takes `shape`, `dtype`, `data`, `align`"


class Tensor(TensorType):
    __doc__ = f"""{TensorType.__doc__}
    Inside a kernel `T.Tensor(shape, dtype, A.data)` is `T.view(A, shape, dtype)`.
    """

    def __new__(
        cls, shape: Any = (), dtype: Any = "float32", data: Any = None, *, align: int = 16, **others: Any
    ) -> Any:
        with ends_in_program:
            for name in others:
                takes = "use `T.StridedTensor(shape, strides, dtype)`" if name == "strides" else _TAKEN
                raise ArgumentError(f"`T.Tensor` has no `{name}`: {takes}", location=here())
        return super().__new__(cls) if data is None else view(data, shape, dtype)

    def __init__(
        self, shape: Any = (), dtype: Any = "float32", data: Any = None, *, align: int = 16, **others: Any
    ) -> None:
        with ends_in_program:
            super().__init__(shape, dtype, align=align)


class _BufferKind(type):
    """What tells tensors and tiles from other arguments: `isinstance(A, T.Buffer)`."""

    spaces: tuple[str, ...] = ()

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Buffer) and (not cls.spaces or instance.space in cls.spaces)


class Buffer(metaclass=_BufferKind):
    """A tensor or tile. `T.Buffer((m, 1024), "float16")` annotates a tensor parameter, as `T.Tensor` does.

    >>> @T.macro
    ... def double(tile: T.Buffer((64, 64), "float32")):
    ...     for i, j in T.Parallel(64, 64):
    ...         tile[i, j] = 2 * tile[i, j]
    >>> double(As)
    """

    def __new__(cls, shape: Any, dtype: Any = "float32", data: Any = None) -> Any:
        return Tensor(shape, dtype, data)

    def __class_getitem__(cls, items: Any) -> Any:
        return TensorType[items]  # pyright: ignore[reportInvalidTypeArguments]


class FragmentBuffer(Buffer):
    """Annotates a parameter of a macro that is a fragment; nothing is checked.

    >>> @T.macro
    ... def double(tile: T.FragmentBuffer((64, 64), "float32")):
    ...     for i, j in T.Parallel(64, 64):
    ...         tile[i, j] = 2 * tile[i, j]
    >>> double(acc)
    """

    spaces = ("fragment",)


class SharedBuffer(Buffer):
    """Annotates a parameter of a macro that is a tile in shared memory; nothing is checked.

    >>> @T.macro
    ... def double(tile: T.SharedBuffer((64, 64), "float32")):
    ...     for i, j in T.Parallel(64, 64):
    ...         tile[i, j] = 2 * tile[i, j]
    >>> double(As)
    """

    spaces = ("shared",)


class LocalBuffer(Buffer):
    """Annotates a parameter of a macro that is a local array; nothing is checked.

    >>> @T.macro
    ... def first(array: T.LocalBuffer((4,), "float32")):
    ...     array[0] = 1.0
    >>> array = T.alloc_local((4,), "float32")
    >>> first(array)
    """

    spaces = ("local",)


class Ref:
    """Annotates a parameter of a macro that it assigns to: a variable, an element such as `A[i, j]`, or a buffer.

    An element is read and written where it was when the macro was called. Buffers and variables are passed as they are
    without it, too.

    >>> @T.macro
    ... def advance(place: T.Ref):
    ...     place = place + 1
    >>> place = T.alloc_var("int32", 0)
    >>> advance(place)
    >>> advance(n[0])
    """

    is_reference = True

    def __class_getitem__(cls, items: Any) -> type[Ref]:
        return cls


class _SymbolKind(type):
    """What tells symbols from other extents: `isinstance(A.shape[0], T.Var)`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Symbol)


class Var(metaclass=_SymbolKind):
    """A symbol, an extent that is known when the kernel is called: `T.Var("m")` is the same as `T.dynamic("m")`.

    >>> m = T.Var("m")
    >>> T.Tensor((m, 64), "float32")
    """

    def __new__(cls, name: str, dtype: Any = "int32") -> Any:
        found = dynamic(name, dtype)
        if not isinstance(found, Symbol):
            raise ArgumentError(
                f"`T.Var` makes one symbol, and `{name}` are several: use `T.dynamic`", location=place()
            )
        return found


inline = macro
"""The same as `T.macro`."""


def meta_class(cls: type[Any]) -> type[Any]:
    """Makes the methods of a class such as can be called in kernels: each is a `T.macro`.

    Objects keep what their constructor gives them; attributes that are variables of `T.alloc_var` are written to when
    they are assigned.

    >>> @T.meta_class
    ... class Counter:
    ...     def __init__(self):
    ...         self.n = T.alloc_var("int32", 0)
    ...     def step(self, by):
    ...         self.n = self.n + by
    >>> @T.prim_func
    ... def main(A: T.Tensor((1,), "int32")):
    ...     with T.Kernel(1):
    ...         counter = Counter()
    ...         counter.step(2)
    ...         A[0] = counter.n
    """
    for name, function in list(vars(cls).items()):
        if isinstance(function, FunctionType):
            setattr(cls, name, macro(function))
    return cls
