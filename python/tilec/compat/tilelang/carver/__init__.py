"""`tilelang.carver`: what it knows of chips, and configurations that are worth trying."""

from __future__ import annotations

from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any

_LAZY = {
    "CUDA": ".arch.cuda",
    "ElementwiseTemplate": ".template",
    "GEMVTemplate": ".template",
    "GeneralReductionTemplate": ".template",
    "Hint": ".roller",
    "MatmulTemplate": ".template",
}
"""The module of each name; the others of TileLang's schedule TVM's programs, and are not here."""

_MODULES = ("arch", "roller", "template")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _LAZY:
        raise missing(f"tilelang.carver.{name}", _LAZY)
    return getattr(import_module(_LAZY[name], __name__), name)
