"""Functions of CUDA's mathematical library, called by their names there."""

from __future__ import annotations

import functools

from .. import dtypes
from ..errors import ArgumentError, UnsupportedError, suggestion
from ..expr import place
from ..typed import TYPE_CHECKING
from ..values import absolute, binary, cast, expr, select
from . import functions, neighbours, scalar
from .bits import clz, popcount
from .warps import __ffs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..dtypes import DType

__all__ = ["call_extern", "call_pure_extern"]


def call_extern(dtype: Any, func_name: str, *args: Any, span: Any = None) -> Any:
    """Returns what a function of CUDA's mathematical library gives, on every target; `fminf`, `__expf`, `popcount`.

    - `dtype`: the type that the result is converted to.
    - `func_name`: a function of numbers. Names that end in `f` are of `float32`, and others of `float64`.
    - `args`: its arguments, which are converted to its types.
    - `span`: a place in a program, which is known here by itself.

    A function of the program's own is refused: kernels are no C++, and `T.CUDASourceCodeKernel` takes those that are.

    >>> C[bx, by] = T.call_extern("float32", "fminf", A[bx, by], 0.5)
    """
    found = _FUNCTIONS.get(func_name)
    if found is None:
        remedy = ": write it in the language, as a `T.macro`, or the kernel in CUDA C++, by `T.CUDASourceCodeKernel`"
        raise UnsupportedError(
            f"`T.call_extern` calls functions of CUDA's mathematical library, and `{func_name}` is none that is known "
            f"here{suggestion(str(func_name), _FUNCTIONS) or remedy}",
            location=place(),
        )
    function, count, taken = found
    if len(args) != count:
        raise ArgumentError(f"`{func_name}` has {count} arguments, and gets {len(args)}", location=place())
    return cast(function(*(expr(cast(argument, taken)) for argument in args)), dtype)


def call_pure_extern(dtype: Any, func_name: str, *args: Any, span: Any = None) -> Any:
    """Returns what a function of CUDA's mathematical library gives: the same as `T.call_extern`.

    >>> C[bx, by] = T.call_pure_extern("float32", "rsqrtf", A[bx, by])
    """
    return call_extern(dtype, func_name, *args)


def _number_of(op: str) -> Callable[[Any, Any], Any]:
    """Returns C's `fmin` or `fmax`: of a number and a NaN the number."""

    def extreme(x: Any, y: Any) -> Any:
        found = binary(op, x, y)
        return select(functions.isnan(x), y, select(functions.isnan(y), x, found))

    return extreme


_ONE = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "ceil", "floor", "trunc", "nearbyint",
)  # fmt: skip
_TWO = ("atan2", "hypot", "copysign", "fmod", "nextafter", "pow")
_FAST = ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan")


def _of(name: str) -> Callable[..., Any]:
    return next(
        found for module in (functions, neighbours, scalar) if (found := getattr(module, name, None)) is not None
    )


def _table() -> dict[str, tuple[Callable[..., Any], int, DType]]:
    """Returns each function by its name in C: what it is here, how many arguments it has, and their type."""
    single, double = dtypes.float32, dtypes.float64
    by_name: dict[str, tuple[Callable[..., Any], int]] = {
        **{name: (_of(name), 1) for name in _ONE},
        **{name: (_of(name), 2) for name in _TWO},
        "fabs": (absolute, 1),
        "rint": (_of("nearbyint"), 1),
        "fma": (_of("fma"), 3),
        "fmin": (_number_of("min"), 2),
        "fmax": (_number_of("max"), 2),
    }
    out = {f"{name}f": (function, count, single) for name, (function, count) in by_name.items()}
    out |= {name: (function, count, double) for name, (function, count) in by_name.items()}
    out |= {f"__{name}f": (_of(f"__{name}"), 1, single) for name in _FAST}
    out["__fdividef"] = (functools.partial(binary, "div"), 2, single)
    out |= {
        "abs": (absolute, 1, dtypes.int32),
        "__popc": (popcount, 1, dtypes.uint32),
        "__clz": (clz, 1, dtypes.uint32),
        "__ffs": (__ffs, 1, dtypes.int32),
    }
    return out


_FUNCTIONS = _table()
