"""`tilelang.engine.callback`: functions that edit the source of kernels."""

from __future__ import annotations

from .... import postproc
from ....errors import TargetError
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


def register_cuda_postproc(func: Callable[[str, Any], str], override: bool = True) -> None:
    """Makes a function edit the CUDA C++ of all kernels from now on; it gets the source and the target.

    - `override`: whether it takes the place of another one; if it may not, the one that is there stays.
    """
    if override or postproc.registered("cuda") is None:
        postproc.register_cuda_postproc(func)


def register_cuda_postproc_callback(func: Callable[[str, Any], str] | bool | None = None, override: bool = True) -> Any:
    """The same as a decorator, with or without brackets: `@register_cuda_postproc_callback(override=False)`."""
    if callable(func):
        register_cuda_postproc(func, override)
        return func

    def decorate(given: Callable[[str, Any], str]) -> Callable[[str, Any], str]:
        register_cuda_postproc(given, func if isinstance(func, bool) else override)
        return given

    return decorate


def _refuse(name: str, whose: str) -> Callable[..., NoReturn]:
    def refused(func: Any = None, override: bool = True) -> NoReturn:
        raise TargetError(f"`{name}` is for {whose}, and kernels here are for GPUs of NVIDIA and for CPUs")

    refused.__doc__ = f"Raises a `TargetError`: it is for {whose}."
    return refused


register_hip_postproc = _refuse("register_hip_postproc", "GPUs of AMD")
register_hip_postproc_callback = _refuse("register_hip_postproc_callback", "GPUs of AMD")
register_metal_postproc = _refuse("register_metal_postproc", "GPUs of Apple")
register_metal_postproc_callback = _refuse("register_metal_postproc_callback", "GPUs of Apple")
register_c_postproc = _refuse("register_c_postproc", "C that TileLang generates for CPUs")
register_c_postproc_callback = _refuse("register_c_postproc_callback", "C that TileLang generates for CPUs")
