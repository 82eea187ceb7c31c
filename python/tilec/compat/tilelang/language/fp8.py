"""`tilelang.language.fp8`: the 8-bit floats of this machine."""

from __future__ import annotations

from ....errors import DTypeError
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_FORMATS = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def determine_fp8_type(fp8_format: str = "e4m3") -> str:
    """Returns the name of the 8-bit float that GPUs of NVIDIA have: "float8_e4m3fn" or "float8_e5m2"."""
    if fp8_format not in _FORMATS:
        raise DTypeError(f"Unsupported fp8 format: {fp8_format}; known are `e4m3`, `e5m2`")
    return _FORMATS[fp8_format]


def determine_torch_fp8_type(fp8_format: str = "e4m3") -> Any:
    """Returns PyTorch's type of the same name."""
    from importlib import import_module

    return getattr(import_module("torch"), determine_fp8_type(fp8_format))
