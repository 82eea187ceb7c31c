"""Reading and showing what strangers may have written: entries of the cache, what servers and other processes say."""

from __future__ import annotations

from . import _tl
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 16 << 20
"""Longer JSON is not read."""


def read_json(data: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """Returns what JSON says. What is no JSON, too long, too deep, or has numbers that are none, is a ValueError."""
    import json

    if why := _tl.check_json(data, max_bytes):
        raise ValueError(f"the text {why}")

    def refuse(constant: str) -> Any:
        raise ValueError(f"`{constant}` is not JSON")

    return json.loads(data, parse_constant=refuse)


def shown(text: object, *, keep_lines: bool = False) -> str:
    """Returns a text as it may go to a terminal: what a terminal obeys instead of showing it is "?".

    - `keep_lines`: for text of several lines; those after the first are indented, so that none passes for another
      message.
    """
    return _tl.show_text(str(text).encode(errors="replace"), keep_lines)
