"""`tilelang.transform.simplify`: programs are simplified while they are built."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from . import simplify_prim_func as simplify_prim_func

if TYPE_CHECKING:
    from typing import Any


def apply_simplify(stmt: Any, inline_let: bool = False) -> Any:
    """Returns the program as it is.

    - `inline_let`: of no effect.
    """
    return stmt
