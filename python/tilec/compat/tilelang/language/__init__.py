"""`tilelang.language`: the language, under the name by which programs import it.

Five things differ. Beside a narrower number an integer of Python is an `int32` there and a float a `float32`, where
rule I6 of the language gives it the other one's type; each number of a vector of indices counts from the end if it is
negative, where rule M4 has that of constants alone; what stands outside of kernels is a kernel of one thread;
variables that are given no first value begin with zero; and greatest and least elements of 16-bit floats are found
without NaNs, unless `nan_propagate` is given. Programs that are decorated by the names of this package are built so.
"""

from __future__ import annotations

import sys

from .... import language as _language
from ....frontend.functions import decorated as _decorated
from ....tracebacks import ends_in_program as _ends_in_program
from ....typed import TYPE_CHECKING
from .. import dtypes as dtypes
from . import reductions as _reductions
from . import variables as _variables
from .fp8 import determine_fp8_type as determine_fp8_type
from .fp8 import determine_torch_fp8_type as determine_torch_fp8_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__tilelang_dialect__ = "cuda"
"""What tells TileLang's languages for several chips apart."""

globals().update({name: value for name, value in vars(_language).items() if not name.startswith("__")})
globals().update(
    {
        name: getattr(_language, name)
        for name in vars(_language)
        if name.startswith("__") and name[2:3].isalpha() and not name.endswith("__")
    }
)
for _name in ("reduce", "reduce_absmax", "reduce_max", "reduce_min"):
    globals()[_name] = getattr(_reductions, _name)
for _name in ("alloc_var", "let"):
    globals()[_name] = getattr(_variables, _name)


def prim_func(func: Callable[..., Any] | None = None, *, eager_jit: bool = False) -> Any:
    """Builds a function from a Python function; see `tilec.language.prim_func`."""
    with _ends_in_program:
        return _decorated(func, eager_jit, sys._getframe(1).f_locals, for_tilelang=True)


def __getattr__(name: str) -> Any:
    return getattr(_language, name)  # which says of names that are not there why
