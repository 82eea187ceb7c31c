"""What functions that kernels call take of `tvm.tirx`: constants, conversions, names of kinds of values."""

from __future__ import annotations

from ..... import language as _language
from .....builder import PrimFunc as PrimFunc
from .....dtypes import dtype as _dtype
from .....typed import TYPE_CHECKING
from .....values import Expr as PrimExpr
from ...absent import missing

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Buffer", "PrimExpr", "PrimFunc", "Var", "const"]

Buffer = _language.Buffer
Var = _language.Var

_NAMES = """
    And Cast Max Min Not Or Select abs all any bitwise_and bitwise_not bitwise_or bitwise_xor ceil ceildiv copysign cos
    erf exp exp2 floor floordiv floormod if_then_else infinity isfinite isinf isnan log log2 max max_value min min_value
    popcount pow reinterpret round rsqrt shift_left shift_right sigmoid sin sqrt tanh trunc truncdiv truncmod"""
_FUNCTIONS = frozenset(_NAMES.split())
"""Functions that mean the same in the language."""


def const(value: Any, dtype: Any = "int32", span: Any = None) -> Any:
    """Returns a number of an element type."""
    return _dtype(dtype)(value)


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(_language, name)
    raise missing(f"tvm.tirx.{name}")
