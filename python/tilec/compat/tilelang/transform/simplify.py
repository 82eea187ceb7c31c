"""`tilelang.transform.simplify`: programs are simplified while they are built, but for what they take."""

from __future__ import annotations

import functools

from ....builder import PrimFunc
from ....errors import ArgumentError
from ....location import here
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def apply_simplify(stmt: Any, inline_let: bool = False) -> PrimFunc:
    """Returns a program without the tensors that it takes and does not touch, so that calls do not take them.

    - `stmt`: a `@T.prim_func`. Tensors with an extent of a symbol stay: they say what the symbol is.
    - `inline_let`: of no effect.
    """
    if not isinstance(stmt, PrimFunc):
        raise ArgumentError(f"`apply_simplify` takes a `@T.prim_func`, not `{stmt!r}`", location=here())
    return stmt.without_unused()


def simplify_prim_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function return its program without the tensors that it does not touch. A decorator.

    All else of programs is simplified while they are built.
    """

    @functools.wraps(func)
    def simplified(*args: Any, **kwargs: Any) -> Any:
        return apply_simplify(func(*args, **kwargs))

    return simplified
