"""`tilelang.language`: the language, under the name by which programs import it."""

from __future__ import annotations

from .... import language as _language
from ....typed import TYPE_CHECKING
from .. import dtypes as dtypes
from .fp8 import determine_fp8_type as determine_fp8_type
from .fp8 import determine_torch_fp8_type as determine_torch_fp8_type

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    return getattr(_language, name)  # which says of names that are not there why
