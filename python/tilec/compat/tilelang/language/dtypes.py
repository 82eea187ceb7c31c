"""`tilelang.language.dtypes`: the element types, by their names."""

from __future__ import annotations

from importlib import import_module

from ....dtypes import dtype as dtype
from ....typed import TYPE_CHECKING
from .. import dtypes as _dtypes

if TYPE_CHECKING:
    from typing import Any

_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "_TORCH_DTYPE_TO_STR":  # by which programs look types up, for want of a function
        return _names_of_torch()
    return getattr(_dtypes, name)


def _names_of_torch() -> dict[Any, str]:
    """Returns the names of the element types that PyTorch has."""
    torch = import_module("torch")
    known = {name: getattr(torch, name, None) for name in _NAMES}
    return {theirs: name for name, theirs in known.items() if theirs is not None}
