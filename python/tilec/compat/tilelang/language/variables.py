"""`T.alloc_var`, whose variables begin with zero unless told otherwise, and `T.let`, which gives one its value."""

from __future__ import annotations

from .... import operators
from ....buffers import Var, VectorVar
from ....errors import TLSyntaxError
from ....language import tile as _tile
from ....location import here
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


operators.provide_variables(alloc_var)


def let(var: Any, value: Any) -> None:
    """Gives a variable its value: `n = T.int32()` makes one, and `T.let(n, i * 2)` says what it is from there on.

    - `var`: what `T.int32()` or a type like it has made, without an argument, or `T.alloc_var`.
    - `value`: a number.
    """
    if not isinstance(var, Var | VectorVar):
        raise TLSyntaxError(
            f"`T.let` gives a variable its value, such as `n = T.int32()`, and `{var!r}` is none: write `n = ...`",
            location=here(),
        )
    var.set(value)
