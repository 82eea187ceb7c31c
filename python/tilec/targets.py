"""What kernels can be compiled for, and what this machine has."""

from __future__ import annotations

import functools

from . import env
from .errors import TargetError, TLError


def resolve(target: str, backend: str = "auto") -> str:
    """Returns the chip that a target stands for: "cpu", or a GPU's such as "sm_90a".

    - "auto": `TL_TARGET`; without it the first GPU's chip, or "cpu" where there is none.
    - "cuda": the first GPU's chip.
    """
    if target == "auto" and (wanted := env.target()) is not None:
        target = wanted
    if target == "auto":
        target = gpu_chip() or "cpu"
    elif target == "cuda":
        target = gpu_chip() or _no_gpu()
    if target != "cpu" and not _is_chip(target):
        raise TargetError(f'unknown target `{target}`: use "auto", "cpu", "cuda", or a chip such as "sm_90a"')
    expected = "cpu" if target == "cpu" else "nvptx"
    if backend not in ("auto", expected):
        raise TargetError(f"the backend for `{target}` is `{expected}`, not `{backend}`")
    return target


def _is_chip(target: str) -> bool:
    import re

    return re.fullmatch(r"sm_\d{2,3}[af]?", target) is not None


def _no_gpu() -> str:
    raise TargetError(
        'target "cuda" needs a GPU to be compiled for; name a chip such as "sm_90a" to compile without one'
    )


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
