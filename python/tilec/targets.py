"""What kernels can be compiled for, and what this machine has. Target and backend are resolved here alone."""

from __future__ import annotations

import functools

from . import backends, env
from .errors import BackendError, TargetError, TLError
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from .backends.base import Backend


class Choice:
    """What a function is compiled for, and by which backend."""

    __slots__ = ("backend", "chip", "chosen", "compiler")

    def __init__(self, chip: str, backend: Backend, chosen: tuple[str, ...]) -> None:
        self.chip = chip
        """ "cpu", or a GPU's such as "sm_90a"."""
        self.backend = backend
        self.compiler = backend.compiler("cpu" if chip == "cpu" else "cuda")
        """The backend that makes its kernels."""
        self.chosen = chosen
        """What nobody asked for by name, for the log: of "target", "backend"."""


def resolve(target: str | None = None, backend: str | None = None) -> Choice:
    """Returns what target and backend stand for. What is "auto" or None is taken from the environment, then chosen.

    - `target`: "auto" is `TL_TARGET`; without it the chip that the backend is for, if there is one, else that of the
      first GPU, or "cpu" where there is none. "cuda" is the first GPU's chip.
    - `backend`: "auto" is `TL_EXECUTION_BACKEND`; without it the first backend of the target that is available.
    """
    if not isinstance(target, str | None):
        raise TargetError(f'a target is a text such as "sm_90a" or "cpu", not `{target!r}`')
    wanted, target_from = _wanted(target, env.target(), "TL_TARGET")
    name, backend_from = _wanted(backend, env.execution_backend(), "TL_EXECUTION_BACKEND")
    given = None if name is None else backends.find(name)
    chip = _chip(wanted, given)
    kind = "cpu" if chip == "cpu" else "cuda"
    if given is not None:
        _check_pair(given, kind, f"`{name}`{backend_from}", f"`{chip}`{target_from}")
    found = given or _first_available(kind)
    chosen = tuple(what for what, who in (("target", wanted), ("backend", name)) if who is None)
    return Choice(chip, found, chosen)


def _wanted(given: str | None, environment: str | None, variable: str) -> tuple[str | None, str]:
    """Returns what was asked for, if anything was, and a remark on where if it was not said in the program."""
    if given not in (None, "auto"):
        return given, ""
    if environment not in (None, "auto"):
        return environment, f" (of {variable})"
    return None, ""


def _chip(target: str | None, backend: Backend | None) -> str:
    if target is None:
        if backend is not None and "cpu" not in backend.targets:
            return backend.chip or gpu_chip() or _no_gpu(f"the backend `{backend.name}`")
        if backend is not None and "cuda" not in backend.targets:
            return "cpu"
        return gpu_chip() or "cpu"
    if target == "cuda":
        return gpu_chip() or _no_gpu('target "cuda"')
    if target != "cpu" and not _is_chip(target):
        raise TargetError(f'unknown target `{target}`: use "auto", "cpu", "cuda", or a chip such as "sm_90a"')
    return target


def _check_pair(backend: Backend, kind: str, name: str, target: str) -> None:
    if kind not in backend.targets:
        valid = ", ".join(f"`{n}`" for n in backends.names(backends.serving(kind)))
        served = " and ".join(f"`{t}`" for t in backend.targets)
        raise BackendError(
            f"the backend {name} is for {served}, and the target is {target}; backends for it are {valid}"
        )
    if missing := backend.missing():
        raise BackendError(f"the backend {name} is not available here: {_lack(backend, missing[0].name)}")


def _lack(backend: Backend, need: str) -> str:
    remedy = next(n.remedy for n in backend.needs if n.name == need)
    return f"there is no `{need}`; {remedy}"


def _first_available(kind: str) -> Backend:
    for backend in backends.serving(kind):
        if backend.is_available():
            return backend
    lacks = "; ".join(f"`{b.name}`: {_lack(b, b.missing()[0].name)}" for b in backends.serving(kind))
    raise BackendError(f"no backend for `{kind}` is available here ({lacks})")


@functools.cache
def _is_chip(target: str) -> bool:
    import re

    return re.fullmatch(r"sm_\d{2,3}[af]?", target) is not None


def _no_gpu(what: str) -> str:
    raise TargetError(f'{what} needs a GPU to be compiled for; name a chip such as "sm_90a" to compile without one')


@functools.cache
def gpu_chip() -> str | None:
    """Returns the chip of the first GPU, or None if there is no driver or no GPU."""
    import json

    from . import _tl

    try:
        if _tl.cuda_device_count() == 0:
            return None
        major, minor = json.loads(_tl.cuda_device_info(0))["compute_capability"]
    except TLError:
        return None
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"
