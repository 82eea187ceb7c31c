"""`tilelang.language.dtypes`: the element types, by their names."""

from __future__ import annotations

from ....dtypes import dtype as dtype
from ....typed import TYPE_CHECKING
from .. import dtypes as _dtypes

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(_dtypes, name)
