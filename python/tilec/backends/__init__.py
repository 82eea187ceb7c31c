"""The execution backends: the one list of them.

A backend is a module of this package with a class that says what it is (`base.Backend`). What `tilec.compile` accepts,
the errors that list what there is, `python -m tilec.backends` and the table in docs/Backends.md are made from it.
"""

from __future__ import annotations

import itertools
from importlib import import_module

from ..errors import BackendError
from ..once import Lock
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .base import Backend

MODULES = ("nvptx", "nvrtc", "nvcc", "cpu", "tvm_ffi", "torch", "cutedsl", "sim")
"""The modules, in the order in which "auto" tries their backends. A new backend is a module, and its name here; a
module is loaded when its backend is asked for, because most programs use one."""

_classes: list[type[Backend]] = []
_instances: dict[type[Backend], Backend] = {}
_known: tuple[Backend, ...] = ()
"""All of them, in order; empty until they are asked for, and after one came or went."""
_guard = Lock()


def register(backend: type[Backend]) -> type[Backend]:
    """Adds a backend: a decorator for its class. A program's own backends come after the package's."""
    global _known
    with _guard:
        for name in (backend.name, *backend.aliases):
            for other in _classes:
                if name in (other.name, *other.aliases):
                    raise BackendError(f"there are two backends `{name}`: {other.__qualname__}, {backend.__qualname__}")
        _classes.append(backend)
        _known = ()
    return backend


def unregister(backend: type[Backend]) -> None:
    """Takes a program's own backend out of the list."""
    global _known
    with _guard:
        _classes.remove(backend)
        _instances.pop(backend, None)
        _known = ()


def known() -> tuple[Backend, ...]:
    """Returns all backends, in order of preference."""
    global _known
    if found := _known:
        return found
    for module in MODULES:
        _load(module)
    with _guard:
        # A program's own may have come first.
        _classes.sort(key=_preference)
        _known = tuple(map(_instance, _classes))
        return _known


def _load(module: str) -> Backend:
    """Returns the backend of a module of this package, which has its name."""
    import_module(f".{module}", __name__)  # without the lock, which the module takes to register
    with _guard:
        return _instance(next(c for c in _classes if c.name == module))


def _instance(backend: type[Backend]) -> Backend:
    if backend not in _instances:
        _instances[backend] = backend()
    return _instances[backend]


def _preference(backend: type[Backend]) -> int:
    package, _, module = backend.__module__.rpartition(".")
    return MODULES.index(module) if package == __name__ and module in MODULES else len(MODULES)


def find(name: str) -> Backend:
    """Returns the backend of this name or alias."""
    if name in MODULES:
        return _load(name)
    for backend in known():
        if name == backend.name or name in backend.aliases:
            return backend
    listed = ", ".join(f"`{name}`" for name in ("auto", *names()))
    raise BackendError(f"unknown backend `{name}`; known are {listed}")


def serving(target: str) -> Iterator[Backend]:
    """Yields the backends for a kind of target ("cpu", "cuda"), in order of preference; none is loaded too early."""
    for backend in itertools.chain(map(_load, MODULES), _own()):
        if target in backend.targets:
            yield backend


def _own() -> Iterator[Backend]:
    """Yields the program's own."""
    yield from known()[len(MODULES) :]


def names(backends: Iterable[Backend] | None = None) -> list[str]:
    """Returns all names that backends answer to, each with its aliases."""
    chosen = known() if backends is None else backends
    return [name for backend in chosen for name in (backend.name, *backend.aliases)]


def table() -> str:
    """Returns the backends as a Markdown table: generator × backend × target, and what each needs."""
    rows: list[tuple[str, ...]] = [("backend", "also called", "target", "generator", "loaded by", "needs")]
    for backend in known():
        needs = ", ".join(f"`{need.name}` ({need.remedy})" for need in backend.needs) or "nothing else"
        generators = [backend.compiler(target).generator for target in backend.targets]
        columns = (backend.aliases, backend.targets, generators)
        quoted = (", ".join(f"`{x}`" for x in xs) or "—" for xs in columns)
        rows.append((f"`{backend.name}`", *quoted, backend.loader, needs))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)
