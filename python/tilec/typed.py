"""What modules need of `typing` when they run; importing `typing` itself takes as long as half of this package."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import cast as cast
else:

    def cast(_, value):
        return value
