"""Functions that are called by their names in C++: of CUDA's mathematical library, and of the program's sources."""

from __future__ import annotations

import functools

from .. import _ops, dtypes
from ..builder import current
from ..errors import ArgumentError, DTypeError, ShapeError, UnsupportedError, suggestion
from ..expr import Expr, place
from ..typed import TYPE_CHECKING
from ..values import absolute, binary, cast, expr, known, select, simplify
from . import functions, neighbours, scalar
from .bits import clz, popcount
from .kernel import Kernel, opened_kernel, source_text
from .pointers import Pointer
from .warps import __ffs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..dtypes import DType

__all__ = ["call_extern", "call_pure_extern", "import_source"]

_NOTHING = (None, "", "handle", "void")
"""What programs write for the type of a function that returns nothing."""

_MOST_ELEMENTS = 64
"""Behind one pointer: they are in registers."""


def import_source(source: str | None = None) -> None:
    """Compiles CUDA C++ in front of the kernel, whose `__device__` functions `T.call_extern` then calls.

    - `source`: the text, not a file; more than one come in the order of the calls. It may include headers of CUDA.

    Constraints: CUDA targets only, which then need NVRTC or `nvcc`. The text is part of the kernel's identity.

    >>> T.import_source("__device__ float twice(float x) { return 2 * x; }")
    """
    kernel = opened_kernel("`T.import_source`")
    if source is not None:
        kernel.sources.append(source_text(source, "`source` of `T.import_source`"))


def call_extern(*args: Any, dtype: Any = None, span: Any = None) -> Any:
    """Returns what a function of C++ gives: one of `T.import_source`, or of CUDA's mathematical library.

    Its arguments are the type, the function's name and the arguments of the function; the type may also be given by
    name, and then the function's name stands first.

    - `dtype`: the type that the result is converted to; "handle" or "void" for a function that returns nothing.
    - `func_name`: the function; of a source as C++ names it, such as `ns::decode<4>`. Functions of CUDA's library, such
      as `fminf` and `__expf`, are there on every target; names that end in `f` are of `float32`, others of `float64`.
    - `args`: its arguments. For a source's function an integer without a type is an `int32`, a float a `float32`, and
      `T.access_ptr(A[i], "r", 8)` is a pointer to a copy of eight neighbours along the last dimension, which with "w"
      and "rw" is copied back; where no number is given it has all that follow in a tile.
    - `span`: a place in a program, which is known here by itself.

    A function of a source must be one of its arguments and of what is behind its pointers (rule X1): a kernel calls it
    for an element as often as it needs, in any thread.

    >>> C[bx, by] = T.call_extern("float32", "fminf", A[bx, by], 0.5)
    """
    if dtype is None:
        dtype, args = (args[0], args[1:]) if args else (None, ())
    if not args or not isinstance(args[0], str):
        raise ArgumentError(
            "`T.call_extern` takes the type of the result, the name of the function and its arguments, as in "
            '`T.call_extern("float32", "fminf", x, y)`',
            location=place(),
        )
    func_name, *rest = args
    args = tuple(rest)
    if _is_imported(func_name):
        return _call_source(None if _is_void(func_name) else dtype, func_name, args)
    found = _FUNCTIONS.get(func_name)
    if found is None:
        remedy = ": give its source by `T.import_source` in the kernel, before the call, or write it as a `T.macro`"
        raise UnsupportedError(
            f"`T.call_extern` calls functions of `T.import_source` and of CUDA's mathematical library, and "
            f"`{func_name}` is none{suggestion(str(func_name), _FUNCTIONS) or remedy}",
            location=place(),
        )
    function, count, taken = found
    if len(args) != count:
        raise ArgumentError(f"`{func_name}` has {count} arguments, and gets {len(args)}", location=place())
    return cast(function(*(expr(cast(argument, taken)) for argument in args)), dtype)


def call_pure_extern(*args: Any, dtype: Any = None, span: Any = None) -> Any:
    """Returns what a function of C++ gives: the same as `T.call_extern`.

    >>> C[bx, by] = T.call_pure_extern("float32", "rsqrtf", A[bx, by])
    """
    return call_extern(*args, dtype=dtype)


# Functions of sources -------------------------------------------------------------------------------------------------


def _is_imported(name: Any) -> bool:
    """Returns whether the sources of the kernel that is being built have a function of this name.

    For most names a word is enough, since macros make functions too. A name of CUDA's library is that of the library
    unless a source defines it: one that calls `pow` has no `pow`.
    """
    word = _word(name)
    pattern = rf"[\w>&*]\s+[&*]?{word}\s*\([^;{{}}]*\)\s*\{{" if name in _FUNCTIONS else word
    return _are_sources_like(pattern)


def _is_void(name: str) -> bool:
    """Returns whether the sources say that a function returns nothing; programs may name a type all the same."""
    return _are_sources_like(rf"\bvoid\s+{_word(name)}\s*\(")


def _word(name: Any) -> str:
    """Returns the pattern of a function's name, without its namespace and template arguments."""
    import re

    stem = re.split(r"[<(]", str(name))[0].rsplit("::")[-1].strip()
    return rf"\b{re.escape(stem)}\b" if stem else r"\b\B"


def _are_sources_like(pattern: str) -> bool:
    """Returns whether a source of the kernel that is being built has what a pattern says."""
    import re

    block = current().kernel_block
    sources = block.frame.sources if block is not None and isinstance(block.frame, Kernel) else []
    return any(re.search(pattern, source) for source in sources)


def _call_source(dtype: Any, name: str, args: tuple[Any, ...]) -> Any:
    """Calls a function of the kernel's sources; returns what it returns, and writes what it leaves behind pointers."""
    parameters = [_Parameter(name, number, argument) for number, argument in enumerate(args, 1)]
    returned = None if dtype in _NOTHING else dtypes.dtype(dtype)
    if returned is None and not any(p.is_written for p in parameters):
        raise ArgumentError(
            f"`{name}` returns nothing, and has no pointer of `T.access_ptr` to write to: it would do nothing",
            location=place(),
        )
    values = [value for p in parameters for value in p.values]
    types = [_signed(p.dtype, name) for p in parameters]
    sources = list(opened_kernel("`T.call_extern`").sources)

    def number(at: int, of: DType) -> Expr:
        op = _ops.call_source(
            values,
            function=name,
            sources=sources,
            params=types,
            counts=[p.count for p in parameters],
            place=at,
            returned=None if returned is None else _signed(returned, name),
            result_type=of.mlir,
        )
        return Expr(op.results[0], of)

    result = None if returned is None else number(-1, returned)
    left: list[tuple[Pointer, int, Expr]] = []
    first = 0
    for p in parameters:
        if p.is_written:
            left += [(p.pointer, k, number(first + k, p.dtype)) for k in range(p.count)]
        first += len(p.values)
    for pointer, k, value in left:
        pointer.buffer[pointer.at(k)] = value
    return result


class _Parameter:
    """An argument of a function of a source: a number, or neighbours behind a pointer."""

    def __init__(self, function: str, number: int, argument: Any) -> None:
        what = f"argument {number} of `{function}`"
        self.count = 0
        self.is_written = False
        if isinstance(argument, Pointer):
            self.pointer = argument
            self.dtype = argument.buffer.dtype
            self.count = _count(argument, what)
            self.is_written = argument.is_written
            self.values = [expr(argument.buffer[argument.at(k)]).value for k in range(self.count)]
            return
        if isinstance(argument, str | list | tuple):
            raise ArgumentError(
                f"{what} is a number or a pointer of `T.access_ptr`, not `{argument!r}`", location=place()
            )
        given = simplify(argument)
        if not isinstance(given, Expr):
            given = expr(given, dtypes.float32 if isinstance(given, float) else dtypes.int32)
        elif given.dtype is dtypes.index:
            given = expr(cast(given, dtypes.int32))
        self.dtype = given.dtype
        self.values = [given.value]


def _count(pointer: Pointer, what: str) -> int:
    """Returns how many elements are behind a pointer: as many as it says, or all of a tile's that follow."""
    count = pointer.count
    remedy = 'say how many elements it has, as in `T.access_ptr(A[i, j], "r", 8)`'
    if count is None:
        extent, at = known(pointer.buffer.shape[-1]), known(pointer.place[-1])
        if pointer.buffer.space == "global" or not isinstance(extent, int) or not isinstance(at, int):
            raise ShapeError(f"{what} points into `{pointer.buffer.name}`: {remedy}", location=place())
        count = extent - at
    if not 1 <= count <= _MOST_ELEMENTS:
        raise ShapeError(
            f"{what} points to {count} elements of `{pointer.buffer.name}`, which go through registers, from 1 to "
            f"{_MOST_ELEMENTS} of them: {remedy}",
            location=place(),
        )
    return count


def _signed(dtype: DType, function: str) -> str:
    """Returns an element type as `tl.call_source` has it: integers have a sign."""
    if dtype.kind in ("int", "uint") and dtype.bits in (8, 16, 32, 64):
        return f"{'s' if dtype.kind == 'int' else 'u'}i{dtype.bits}"
    if dtype.mlir in ("f16", "bf16", "f32", "f64", "i1", "f8E4M3FN", "f8E5M2"):
        return dtype.mlir
    raise DTypeError(f"`{function}` cannot be given `{dtype}`, which C++ has no type for", location=place())


# Functions of CUDA's library ------------------------------------------------------------------------------------------


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
