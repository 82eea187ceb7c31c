"""`T.auto`: parameters of a `@tilec.jit` function that are left open."""

from __future__ import annotations

from .errors import ArgumentError
from .location import here
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["auto"]


class Auto:
    """What `T.auto` returns: the values that a parameter may have."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return self.values

    def __repr__(self) -> str:
        return f"T.auto({', '.join(map(repr, self.values))})"

    def _refuse(self, *_: object) -> NoReturn:
        raise ArgumentError(
            f"`{self!r}` is no value yet: it is the default of a parameter of a `@tilec.jit` function, whose calls "
            f"leave the parameter out",
            location=here(),
        )

    __index__ = __int__ = __float__ = __bool__ = __iter__ = __neg__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


def auto(*values: Any) -> Any:
    """Leaves a parameter of a `@tilec.jit` function open: the default of one that calls need not give.

    Of the combinations of all such parameters a call gets the one that takes the least time by a cost model
    (docs/Analysis.md, "Before anything is compiled"), for the arguments that it is made with. Nothing is measured. A
    combination that has too much shared memory, spills registers or does not compile is passed over.
    `kernel.choice` says what was chosen, and what of the others. With `@tilec.autotune` above the same values are
    measured instead.

    - `values`: those that the parameter may have, one at least.

    >>> @tilec.jit(out_idx=-1)
    ... def double(n: int, block: int = T.auto(256, 512, 1024)):
    ...     @T.prim_func
    ...     def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
    ...         with T.Kernel(T.ceildiv(n, block)) as b:
    ...             for i in T.Parallel(block):
    ...                 B[b * block + i] = A[b * block + i] * 2
    ...     return kernel
    """
    if not values:
        raise ArgumentError("`T.auto` needs the values that the parameter may have, one at least", location=here())
    return Auto(values)


def spaces(defaults: dict[str, Any]) -> dict[str, list[Any]]:
    """Returns the values of the parameters that are open, of the defaults of all."""
    return {name: list(value.values) for name, value in defaults.items() if isinstance(value, Auto)}
