"""`tilelang.utils.target`: what programs ask of a target before they choose what to build."""

from __future__ import annotations

import os

from ....targets import resolve
from ....typed import TYPE_CHECKING
from .. import options
from ..tvm.target import Target

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "determine_target", "target_get_warp_size", "target_has_async_copy", "target_has_bulk_copy", "target_has_ldmatrix",
    "target_has_stmatrix", "target_is_ampere", "target_is_cuda", "target_is_hopper", "target_is_turing",
    "target_is_volta",
]  # fmt: skip


def determine_target(target: Any = "auto", return_object: bool = False) -> Any:
    """Returns a target: the one that is given, or for "auto" that of this machine.

    - `return_object`: whether to return a `tvm.target.Target`, and not a text.

    >>> determine_target("c")
    'c'
    """
    if target is None or target == "auto":
        target = os.environ.get("TILELANG_DEFAULT_TARGET") or "auto"
    if target == "auto" and (around := Target.current()) is not None:
        target = around
    elif target == "auto":
        chip = resolve("auto", "auto").chip
        target = "c" if chip == "cpu" else f"cuda -arch={chip}"
    found = Target(target)
    return found if return_object else str(found)


def _capability(target: Any) -> int:
    """Returns the compute capability of a target, such as 90; 0 for what is no GPU of NVIDIA."""
    chip = resolve(options.target(target), "auto").chip
    return int("".join(filter(str.isdigit, chip))) if chip.startswith("sm_") else 0


def target_is_cuda(target: Any) -> bool:
    """Returns whether a target is a GPU of NVIDIA."""
    return _capability(target) > 0


def target_is_volta(target: Any) -> bool:
    """Returns whether a target is `sm_70` or `sm_72`."""
    return 70 <= _capability(target) < 75


def target_is_turing(target: Any) -> bool:
    """Returns whether a target is `sm_75`."""
    return 75 <= _capability(target) < 80


def target_is_ampere(target: Any) -> bool:
    """Returns whether a target is `sm_80` to `sm_89`."""
    return 80 <= _capability(target) < 90


def target_is_hopper(target: Any) -> bool:
    """Returns whether a target is `sm_90`."""
    return 90 <= _capability(target) < 100


def target_has_async_copy(target: Any) -> bool:
    """Returns whether a target has `cp.async`."""
    return _capability(target) >= 80


def target_has_ldmatrix(target: Any) -> bool:
    """Returns whether a target has `ldmatrix`."""
    return _capability(target) >= 75


def target_has_stmatrix(target: Any) -> bool:
    """Returns whether a target has `stmatrix`."""
    return _capability(target) >= 90


def target_has_bulk_copy(target: Any) -> bool:
    """Returns whether a target has the copy engine of `sm_90`."""
    return _capability(target) >= 90


def target_get_warp_size(target: Any) -> int:
    """Returns how many threads a warp has: 32."""
    return 32
