"""`T.alloc_var`, whose variables begin with zero unless told otherwise."""

from __future__ import annotations

from ....language import tile as _tile
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def alloc_var(dtype: Any, *args: Any, scope: str = "local.var", init: Any = None) -> Any:
    """Makes a scalar that can be assigned to; see `tilec.language.alloc_var`.

    - `init`: its first value, which may also stand behind the type; zero if not given.
    """
    if init is None and all(isinstance(given, str) for given in args):
        init = 0
    return _tile.alloc_var(dtype, *args, scope=scope, init=init)
