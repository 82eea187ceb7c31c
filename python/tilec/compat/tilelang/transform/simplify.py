"""`tilelang.transform.simplify`: programs are simplified while they are built, but for what they take."""

from __future__ import annotations

from ....builder import PrimFunc
from ....errors import ArgumentError
from ....location import here
from ....typed import TYPE_CHECKING
from . import simplify_prim_func as simplify_prim_func

if TYPE_CHECKING:
    from typing import Any


def apply_simplify(stmt: Any, inline_let: bool = False) -> PrimFunc:
    """Returns a program without the tensors that it takes and does not touch, so that calls do not take them.

    - `stmt`: a `@T.prim_func`. Tensors with an extent of a symbol stay: they say what the symbol is.
    - `inline_let`: of no effect.
    """
    if not isinstance(stmt, PrimFunc):
        raise ArgumentError(f"`apply_simplify` takes a `@T.prim_func`, not `{stmt!r}`", location=here())
    return stmt.without_unused()
