"""What the package says while it works: records of the logger `tilec`, and lines on stderr for those who asked.

`logging` takes longer to import than the rest of the package. Until the program imports it nobody can have asked for
its records, so they are made only once it is there; warnings alone import it.
"""

from __future__ import annotations

import sys

from . import env
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

_INFO = 20


def info(message: str | Callable[[], str], verbose: bool | None = None) -> None:
    """Says what is done: to the logger, and on stderr if `verbose`, by default as `TL_VERBOSE` says.

    Nobody is told twice: a logger that shows the record is enough. A message that is costly to make is a function,
    which is called if somebody listens.
    """
    logger = _logger()
    if logger is not None and logger.isEnabledFor(_INFO):
        logger.info("%s", message if isinstance(message, str) else message())
        if logger.hasHandlers():
            return
    if env.is_verbose() if verbose is None else verbose:
        print(f"tilec: {message if isinstance(message, str) else message()}", file=sys.stderr)


def warning(message: str) -> None:
    """Says that something did not go as it should; shown on stderr unless the program configured `logging`."""
    import logging

    logging.getLogger("tilec").warning("%s", message)


def _logger() -> logging.Logger | None:
    if "logging" not in sys.modules:
        return None
    import logging

    return logging.getLogger("tilec")
