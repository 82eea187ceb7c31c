"""What tells one tuning from another: the function, its arguments, the machine."""

from __future__ import annotations

import functools
import json
import types

from .. import reads
from ..errors import ArgumentError
from ..typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def digest(text: str | bytes) -> str:
    """Returns a digest of 32 hexadecimal digits."""
    from _blake2 import blake2b

    return blake2b(text.encode() if isinstance(text, str) else text, digest_size=16).hexdigest()


def key_of(components: Mapping[str, Any]) -> str:
    """Returns the key that named components make."""
    return digest(json.dumps(components, sort_keys=True))


def plain(value: Any) -> Any:
    """Returns an argument as the language takes it: numbers of NumPy's as Python's, names of element types as types."""
    from .. import dtypes

    if isinstance(value, str):
        return dtypes.dtype(value) if dtypes.is_name(value) else value
    if isinstance(value, bool | int) or not hasattr(value, "dtype") or getattr(value, "shape", None) != ():
        return value
    return value.item() if hasattr(value, "item") else value


def _translated(value: Any) -> Any:
    """Returns what counts of an argument: of a tensor the shape and the element type, others as `plain` says."""
    value = plain(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "shape") and hasattr(value, "dtype"):
        return {"dtype": str(value.dtype).rpartition(".")[2], "shape": [int(e) for e in value.shape]}
    kind = cast("type[Any]", type(value))
    if kind in (list, tuple, set, frozenset):
        return cast("Any", kind(map(_translated, value)))
    if kind is dict:
        return {n: _translated(v) for n, v in sorted(value.items(), key=lambda item: str(item[0]))}
    return value


def frozen(value: Any) -> Any:
    """Returns a key of an argument; raises for one that none can be made of."""
    try:
        return reads.frozen(_translated(value))
    except reads.UnknownError:
        raise ArgumentError(
            f"`{value!r}` cannot be told apart from other arguments: its contents are not known"
        ) from None


def canonical(value: Any) -> Any:
    """Returns what JSON can say of an argument; equal for equal arguments, in every process."""
    return reads.stable(frozen(value))


def fingerprint(value: Any) -> tuple[str, bool]:
    """Returns a digest of what a function does, or of a list of them: its code, and all that it reads, as far as that
    can be seen. Neither its file nor its lines count.

    The second result is whether that is all of it. Where it is not, what was found out about the function is not
    certain to hold for it still.
    """
    try:
        said, is_whole = reads.stable(reads.frozen(value)), True
    except reads.UnknownError:
        said, is_whole = _outline(value), False
    return digest(json.dumps(said, sort_keys=True)), is_whole


def _outline(function: Any) -> Any:
    """Returns what can be said of every function: its code, or its type."""
    if isinstance(function, list | tuple):
        return list(map(_outline, cast("list[Any]", function)))
    for name in ("__wrapped__", "func", "__func__"):
        if not isinstance(function, types.FunctionType) and (inner := getattr(function, name, None)) is not None:
            return _outline(inner)
    code = getattr(function, "__code__", None)
    return type(function).__qualname__ if code is None else reads.stable(code)


@functools.cache
def device(number: int | None) -> dict[str, Any]:
    """Returns what makes two processors equally fast, as far as it can be asked: for a GPU, or for the CPU (None)."""
    from .. import _tl, parallel

    if number is not None:
        info: dict[str, Any] = json.loads(_tl.cuda_device_info(number))
        wanted = ("name", "compute_capability", "multiprocessors", "clock", "memory_clock", "l2_cache")
        return {**{k: info[k] for k in wanted}, "memory_gib": round(info["memory"] / 2**30)}
    return {"name": _cpu_name(), "threads": parallel.processors()}


def place(number: int | None) -> str:
    """Returns what a device is called by all processes of the machine, whichever GPUs they see."""
    if number is None:
        return "cpu"
    import os

    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return f"gpu-{visible[number] if number < len(visible) else number}"


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    import platform

    return platform.processor() or platform.machine()
