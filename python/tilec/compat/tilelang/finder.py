"""Makes `import tilelang` find this package.

A name such as `tilelang.jit.kernel` is an alias: the module is loaded once, as `tilec.compat.tilelang.jit.kernel`, and
stands under both names in `sys.modules`. What TileLang carries along of TVM goes the same way.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec, spec_from_loader

from .absent import missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, NoReturn

_PACKAGE = __name__.rpartition(".")[0]


def _own_name(name: str) -> str | None:
    """Returns the module that stands behind a name that a program imports, or None if that is not of TileLang."""
    first, dot, rest = name.partition(".")
    if first == "tilelang":
        return f"{_PACKAGE}{dot}{rest}"
    return f"{_PACKAGE}.tvm{dot}{rest}" if first == "tvm" else None


def _their_name(own: str) -> str | None:
    """Returns what programs call a module of this package, or None for others."""
    if not own.startswith(f"{_PACKAGE}."):
        return None
    rest = own.removeprefix(f"{_PACKAGE}.")
    return rest if rest.partition(".")[0] == "tvm" else f"tilelang.{rest}"


class _Finder:
    """Finds the modules of TileLang and says of those that are not there why."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        own = _own_name(name)
        if own is None:
            return None
        try:
            found = find_spec(own)
        except ModuleNotFoundError:  # what it would be in is no package
            found = None
        if found is None:
            raise ImportError(str(missing(name)), name=name)
        loader: Any = self
        return spec_from_loader(name, loader, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        own = _own_name(module.__name__)
        assert own is not None, "it was found by us"
        found: Any = import_module(own)
        if not hasattr(found, "__path__"):
            # Python looks for what a module has not among the modules in it, if it is a package: `_REMARK` says then
            # what is missing, which is otherwise told by the names and places of our files.
            found.__path__ = []
        if "__getattr__" not in vars(found):
            found.__getattr__ = partial(_refuse, module.__name__, found)
        sys.modules[module.__name__] = found


def _refuse(theirs: str, module: ModuleType, name: str) -> NoReturn:
    """Says what of a module is not there by the name that programs know it by."""
    raise missing(f"{theirs}.{name}", vars(module))


class _Remark:
    """Stands last, and says of what nobody has found why it is not there: `from tilelang.layout import other`."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        theirs = _their_name(name)
        if theirs is not None:
            raise ImportError(str(missing(theirs)), name=name)


_FINDER = _Finder()
_REMARK = _Remark()


def install() -> None:
    """Makes `import tilelang` and `import tvm` find what is here, in this process; once is enough."""
    if _FINDER in sys.meta_path:
        return
    there = sys.modules.get("tilelang")
    if there is not None:
        raise ImportError(
            f"`tilelang` is imported already, from `{getattr(there, '__file__', '?')}`: call "
            f"`tilec.compat.tilelang.install()` before that"
        )
    sys.meta_path.insert(0, _FINDER)
    sys.meta_path.append(_REMARK)


def uninstall() -> None:
    """Undoes `install`, for tests; modules that were imported stay in use where they are."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
        sys.meta_path.remove(_REMARK)
    for name in [n for n in sys.modules if n.partition(".")[0] in ("tilelang", "tvm")]:
        del sys.modules[name]
