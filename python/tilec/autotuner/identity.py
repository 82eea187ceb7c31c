"""What tells one tuning from another: the function, its arguments, the machine."""

from __future__ import annotations

import functools
import json
import types

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


def canonical(value: Any) -> Any:
    """Returns what JSON can say of an argument; equal for equal arguments, in every process."""
    from ..builder import PrimFunc
    from ..dtypes import DType
    from ..types import Const, Symbol

    value = plain(value)
    if isinstance(value, DType | Symbol | Const):
        return {type(value).__name__: value.name}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list | tuple):
        return [canonical(v) for v in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(k): canonical(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, set | frozenset):
        return sorted((canonical(v) for v in cast("set[Any]", value)), key=json.dumps)
    if hasattr(value, "__dlpack__") and hasattr(value, "shape") and hasattr(value, "dtype"):
        return {"dtype": str(value.dtype).rpartition(".")[2], "shape": [int(e) for e in value.shape]}
    if isinstance(value, PrimFunc):
        return {"program": digest(value.whole_text())}
    if callable(value):
        return {"code": fingerprint(value)}
    text = repr(value)
    return {type(value).__qualname__: text if " at 0x" not in text else canonical(vars(value))}


def fingerprint(function: Any) -> str:
    """Returns a digest of a function's code, and of the functions and constants that it uses, as far as they can be
    seen: its globals, what it encloses, its defaults. Neither its file nor its lines count.

    It decides what is looked up first, and no more: what is found is confirmed by the program that the function makes.
    """
    parts: list[str] = []
    _describe(function, parts, set())
    return digest("\n".join(parts))


def _describe(value: Any, parts: list[str], seen: set[int]) -> None:
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, functools.partial):
        partial = cast("functools.partial[Any]", value)
        parts.append(repr((partial.args, sorted(partial.keywords))))
        value = partial.func
    if isinstance(value, types.FunctionType):
        if id(value) not in seen and not (value.__module__ or "").startswith("tilec."):
            seen.add(id(value))
            _describe_function(value, parts, seen)
    elif isinstance(value, types.CodeType):
        parts.append(f"{value.co_code.hex()} {value.co_names} {value.co_varnames}")
        for constant in value.co_consts:
            _describe(constant, parts, seen)
    elif isinstance(value, bool | int | float | str | bytes | types.NoneType):
        parts.append(repr(value))
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            _describe(item, parts, seen)
    else:
        parts.append(f"{type(value).__qualname__} {getattr(value, '__qualname__', getattr(value, '__name__', ''))}")


def _describe_function(function: types.FunctionType, parts: list[str], seen: set[int]) -> None:
    _describe(function.__code__, parts, seen)
    _describe(function.__defaults__, parts, seen)
    for cell in function.__closure__ or ():
        try:
            _describe(cell.cell_contents, parts, seen)
        except ValueError:
            parts.append("unset")
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            parts.append(name)
            _describe(function.__globals__[name], parts, seen)


def _global_names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _global_names(constant)
    return found


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
