"""Functions that are called as the modules are which define them.

Importing a module binds its name in the package that it is in. `tilelang.jit` is a decorator, and
`import tilelang.jit.kernel` must leave it one.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Package(type(sys)):  # pyright: ignore[reportUntypedBaseClass]
    """A package some of whose names no module takes."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.kept_functions or not isinstance(value, type(sys)):
            super().__setattr__(name, value)


def keep_functions(package: str, *names: str) -> None:
    """Keeps names of a package from being bound to modules that are called so, too."""
    module: Any = sys.modules[package]
    module.kept_functions = frozenset(names)
    module.__class__ = _Package
