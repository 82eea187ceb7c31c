"""`tilelang.layout`: where elements lie. The compiler chooses that here; layouts are hints that it may leave."""

from __future__ import annotations

from ....language.layouts import Fragment as Fragment
from ....language.layouts import Layout as Layout
from ....language.layouts import make_swizzled_layout as make_swizzled_layout
from ....typed import TYPE_CHECKING
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Fragment", "Layout", "make_swizzled_layout"]


def __getattr__(name: str) -> Any:
    from .... import language

    try:
        return getattr(language, name)
    except AttributeError:
        raise missing(f"tilelang.layout.{name}", __all__) from None
