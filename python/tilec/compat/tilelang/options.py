"""What TileLang's ways to say how to compile mean for `tilec.compile`."""

from __future__ import annotations

import os
import warnings

from ...errors import BackendError, IgnoredHintWarning, TargetError, quoted
from ...location import here
from ...typed import TYPE_CHECKING
from ...types import as_tuple
from .env import apply
from .transform import PassConfigKey
from .tvm.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_CPU = ("c", "llvm", "cpu")
_OTHER_CHIPS = {"hip": "AMD", "rocm": "AMD", "metal": "Apple"}

_BACKENDS = {
    "auto": "auto",
    "tvm_ffi": "auto",
    "cython": "auto",
    "ctypes": "auto",
    "dlpack": "auto",
    "nvrtc": "nvrtc",
    "cutedsl": "cutedsl",
}
"""TileLang's execution backends. How kernels are launched is the same for most; two also generate other code."""

_WITHOUT_EFFECT_IF_OFF = frozenset({False, None, ""})

_shown: set[frozenset[str]] = set()
"""The sets of options that were warned of."""


def target(given: Any) -> str:
    """Returns the target of `tilec.compile` that a target of TileLang means.

    It may be a name with options ("cuda -arch=sm_90"), a dictionary of TVM's, or a `tvm.target.Target`.
    """
    if given is None or given == "auto":
        given = os.environ.get("TILELANG_DEFAULT_TARGET") or "auto"
    found = Target(given)
    kind = found.kind.name
    if kind in _CPU:
        return "cpu"
    if kind in _OTHER_CHIPS or kind == "webgpu":
        whose = f"GPUs of {_OTHER_CHIPS[kind]}" if kind in _OTHER_CHIPS else "WebGPU"
        raise TargetError(f"the target `{kind}` is for {whose}, and kernels here are for GPUs of NVIDIA and for CPUs")
    if kind in ("cuda", "nvptx", "cutedsl"):
        return found.arch or "cuda"
    return kind


def backend(given: str | None) -> str:
    """Returns the backend of `tilec.compile` for an execution backend of TileLang."""
    name = given or os.environ.get("TILELANG_EXECUTION_BACKEND") or "auto"
    if name not in _BACKENDS:
        raise BackendError(
            f"unknown execution backend `{name}`; known are {quoted(_BACKENDS)}"
            + (", and `torch` is for GPUs of Apple" if name == "torch" else "")
        )
    return _BACKENDS[name]


def flags(given: str | Sequence[str] | None) -> list[str]:
    """Returns options of a compiler as a list of words."""
    texts = given.split() if isinstance(given, str) else as_tuple(given or ())
    return [word for text in texts for word in str(text).split()]


def passes(pass_configs: Mapping[Any, Any] | None, compile_flags: Any = None) -> dict[str, Any]:
    """Returns the options of `tilec.compile` that pass configurations and options of nvcc mean.

    Those that change nothing but the code are named in one warning.
    """
    out: dict[str, Any] = {}
    ignored: list[str] = []
    words = flags(compile_flags)
    for key, value in (pass_configs or {}).items():
        name = key.value if isinstance(key, PassConfigKey) else str(key)
        if name == PassConfigKey.TL_ENABLE_FAST_MATH.value:
            out["fast_math"] = bool(value)
        elif name == PassConfigKey.TL_DEVICE_COMPILE_FLAGS.value:
            words += flags(value)
        elif name == PassConfigKey.TL_DUMP_IR_DIR.value:
            if (pass_configs or {}).get(PassConfigKey.TL_ENABLE_DUMP_IR.value):
                out["dump_dir"] = str(value)
        elif name == PassConfigKey.TL_ENABLE_DUMP_IR.value:
            if value:
                out.setdefault("dump_dir", "./dump_ir")
        elif not (isinstance(value, bool | int | str | None) and value in _WITHOUT_EFFECT_IF_OFF):
            ignored.append(name)
    for word in words:
        if word.lstrip("-") == "use_fast_math":
            out["fast_math"] = True
        elif word.lstrip("-") in ("lineinfo", "generate-line-info"):
            out["line_info"] = True
        else:
            ignored.append(word)
    _warn(ignored)
    return out


def _warn(ignored: Sequence[str]) -> None:
    if not ignored or frozenset(ignored) in _shown:
        return
    _shown.add(frozenset(ignored))
    place = here()
    warnings.warn_explicit(
        f"no counterpart here, and left out: {quoted(ignored)}; the compiler decides by itself",
        IgnoredHintWarning,
        place.file,
        place.line,
    )


def of_compile(
    given_target: Any,
    execution_backend: str | None,
    verbose: bool | None,
    pass_configs: Mapping[Any, Any] | None,
    compile_flags: Any,
) -> dict[str, Any]:
    """Returns the options of `tilec.compile` for those of `tilelang.compile`."""
    apply()
    return {
        "target": target(given_target),
        "backend": backend(execution_backend),
        "verbose": verbose,
        **passes(pass_configs, compile_flags),
    }
