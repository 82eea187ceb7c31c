"""`tilelang.logger`, and how much it says."""

from __future__ import annotations

import logging

logger = logging.getLogger("tilelang")


def set_log_level(level: str | int) -> None:
    """Sets from which level on messages are shown: "DEBUG", "INFO" and so on, or a number."""
    logger.setLevel(level.upper() if isinstance(level, str) else level)
