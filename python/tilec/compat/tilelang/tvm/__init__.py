"""What programs use of the TVM that TileLang carries along and that needs none of it: names of types and targets."""

from __future__ import annotations

from ....errors import CompileError as TVMError
from ....typed import TYPE_CHECKING
from ..absent import missing
from .datatype import DataType as DataType

if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataType", "TVMError"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("error", "target", "tirx"):
        return import_module(f".{name}", __name__)
    raise missing(f"tvm.{name}")
