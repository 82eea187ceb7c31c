"""The compiler's own programs, on the path of who installs the package: `tl-opt` and its kin are files in `bin`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn


def _become(name: str) -> NoReturn:
    """Goes on as a program, with the arguments of this one."""
    path = os.path.join(os.path.dirname(__file__), "bin", name)
    os.execv(path, [path, *sys.argv[1:]])


def tl_cache() -> NoReturn:
    """Looks after the cache (docs/cache.md)."""
    _become("tl-cache")


def tl_lsp_server() -> NoReturn:
    """Serves editors of `.mlir` files."""
    _become("tl-lsp-server")


def tl_opt() -> NoReturn:
    """Runs passes on `.mlir` files."""
    _become("tl-opt")


def tl_translate() -> NoReturn:
    """Makes PTX and other code of `.mlir` files."""
    _become("tl-translate")
