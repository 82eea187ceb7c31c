"""`tilelang.dtypes`: the element types, by their names, as in `tilelang.dtypes.float16`."""

from __future__ import annotations

from ...dtypes import DType
from ...dtypes import dtype as dtype
from ...typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def _elements() -> dict[str, Any]:
    from ... import language

    return {name: value for name, value in vars(language).items() if isinstance(value, DType)}


globals().update(_elements())


def __getattr__(name: str) -> Any:
    from ... import language

    return getattr(language, name)  # which says of types that are not there why
