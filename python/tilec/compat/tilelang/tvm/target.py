"""`tvm.target.Target`: what a target of programs says."""

from __future__ import annotations

from contextvars import ContextVar

from ....errors import TargetError
from ....typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import Any


class Kind:
    """The kind of a target: `name` is "cuda" and the like."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


_around: ContextVar[tuple[Target, ...]] = ContextVar("targets around", default=())
"""The targets of the `with` statements that are being executed, outermost first."""


class Target:
    """A target: a text such as "cuda -arch=sm_90a", or a dictionary with "kind".

    `with Target("c"):` makes it the one that "auto" stands for.
    """

    def __init__(self, target: Any, host: Any = None) -> None:
        self.host = host
        self.attrs: dict[str, str] = {}
        """What it says beside its kind, such as "arch"."""
        if isinstance(target, Target):
            self.kind, self.attrs = target.kind, dict(target.attrs)
        elif isinstance(target, str) and target.split():
            kind, *words = target.split()
            self.kind = Kind(kind)
            for word in words:
                name, _, value = word.lstrip("-").partition("=")
                self.attrs[name] = value
        elif isinstance(target, dict) and "kind" in target:
            pairs = cast("dict[str, Any]", target)
            self.kind = Kind(str(pairs["kind"]))
            self.attrs = {name: str(value) for name, value in pairs.items() if name != "kind"}
        else:
            raise TargetError(f'a target is "cuda", "cpu" or the like, or a dictionary with "kind", not `{target!r}`')

    @property
    def arch(self) -> str:
        """The chip, such as "sm_90a", or nothing."""
        return self.attrs.get("arch") or self.attrs.get("mcpu") or ""

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Returns the target of the innermost `with` statement.

        - `allow_none`: whether there may be none; else that is an error.
        """
        around = _around.get()
        if not around and not allow_none:
            raise ValueError("no target is set: compile in `with Target(...):`, or name one")
        return around[-1] if around else None

    def __enter__(self) -> Target:
        _around.set((*_around.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _around.set(_around.get()[:-1])

    def __str__(self) -> str:
        return " ".join([self.kind.name, *(f"-{name}={value}" for name, value in self.attrs.items())])
