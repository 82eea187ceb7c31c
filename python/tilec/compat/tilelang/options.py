"""What TileLang's ways to say how to compile mean for `tilec.compile`."""

from __future__ import annotations

import inspect
import os
import warnings

from ...errors import ArgumentError, BackendError, IgnoredHintWarning, TargetError, quoted, suggestion
from ...location import here
from ...typed import TYPE_CHECKING
from ...types import as_tuple
from .env import without_effect
from .transform import PassConfigKey
from .tvm.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from ...builder import PrimFunc

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

_SAID_ELSEWHERE = frozenset({"arch", "mcpu", "keys", "tag", "host"})
"""What targets say of the chip, and what they say too."""

_BY_ITSELF = "; the compiler decides by itself"

_shown: set[frozenset[str]] = set()
"""The sets of options that were warned of."""


def target(given: Any) -> str:
    """Returns the target of `tilec.compile` that a target of TileLang means.

    It may be a name with options ("cuda -arch=sm_90"), a dictionary of TVM's, or a `tvm.target.Target`. "auto" is that
    of a `with` statement around, if there is one.
    """
    if given is None or given == "auto":
        given = os.environ.get("TILELANG_DEFAULT_TARGET") or "auto"
    found = Target((Target.current() or given) if given == "auto" else given)
    kind = found.kind.name
    if kind in _CPU:
        return "cpu"
    if kind in _OTHER_CHIPS or kind == "webgpu":
        whose = f"GPUs of {_OTHER_CHIPS[kind]}" if kind in _OTHER_CHIPS else "WebGPU"
        raise TargetError(f"the target `{kind}` is for {whose}, and kernels here are for GPUs of NVIDIA and for CPUs")
    if kind in ("cuda", "nvptx", "cutedsl"):
        _warn([f"-{name}" for name in found.attrs if name not in _SAID_ELSEWHERE])
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

    Those that change nothing but the code are named in one warning. `source_flags` are left out here.
    """
    out: dict[str, Any] = {}
    ignored: list[str] = []
    for key, value in (pass_configs or {}).items():
        name = _name(key)
        if name == PassConfigKey.TL_ENABLE_FAST_MATH.value:
            out["fast_math"] = _flag(name, value)
        elif name == PassConfigKey.TL_DUMP_IR_DIR.value:
            if (pass_configs or {}).get(PassConfigKey.TL_ENABLE_DUMP_IR.value):
                out["dump_dir"] = str(value)
        elif name == PassConfigKey.TL_ENABLE_DUMP_IR.value:
            if _flag(name, value):
                out.setdefault("dump_dir", "./dump_ir")
        elif name not in _KNOWN_KEYS and (guess := suggestion(name, _KNOWN_KEYS)):
            _warn([name], "left out is the pass configuration", guess)
        elif name != _DEVICE_FLAGS and not (
            isinstance(value, bool | int | str | None) and value in _WITHOUT_EFFECT_IF_OFF
        ):
            ignored.append(name)
    for word in _split(pass_configs, compile_flags)[1]:
        if word.lstrip("-") == "use_fast_math":
            out["fast_math"] = True
        elif word.lstrip("-") in ("lineinfo", "generate-line-info"):
            out["line_info"] = True
        else:
            ignored.append(word)
    _warn(ignored)
    return out


_DEVICE_FLAGS = PassConfigKey.TL_DEVICE_COMPILE_FLAGS.value
_KNOWN_KEYS = frozenset(key.value for key in PassConfigKey)


def _name(key: Any) -> str:
    return key.value if isinstance(key, PassConfigKey) else str(key)


def _flag(name: str, value: Any) -> bool:
    """Returns a flag; a text is none, and would always be on."""
    if value is not None and not isinstance(value, bool | int):
        raise ArgumentError(f"the pass configuration `{name}` is True or False, not `{value!r}`", location=here())
    return bool(value)


_CHOOSING = ("-D", "-U", "-I", "-include", "--include", "-isystem", "-std", "--std", "--define", "--undefine")
"""How options of compilers begin that say what a text in CUDA C++ means, and not how to compile it."""


def _split(pass_configs: Mapping[Any, Any] | None, compile_flags: Any) -> tuple[list[str], list[str]]:
    """Returns the options of nvcc that say what a text means, and the others."""
    words = flags(compile_flags)
    for key, value in (pass_configs or {}).items():
        words += flags(value) if _name(key) == _DEVICE_FLAGS else []
    choosing: list[str] = []
    others: list[str] = []
    for i, word in enumerate(words):
        is_operand = i > 0 and words[i - 1] in _CHOOSING
        (choosing if is_operand or word.startswith(_CHOOSING) else others).append(word)
    return choosing, others


def with_source_flags(
    function: PrimFunc, pass_configs: Mapping[Any, Any] | None, compile_flags: Any = None
) -> PrimFunc:
    """Returns the program with options of nvcc for its kernels in CUDA C++ that have none of their own.

    Tiles are compiled from no text, which options such as `-D` could mean something to.
    """
    choosing, _ = _split(pass_configs, compile_flags)
    if not choosing:
        return function
    made = function.with_source_flags(*_without_folders(choosing))
    if made is None:
        _warn(choosing, why="; they are for `T.CUDASourceCodeKernel`, and there is none")
    return made or function


_FOLDERS = ("-isystem", "--include-path", "-I")


def _without_folders(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns options without those that name folders of headers, and the folders."""
    rest: list[str] = []
    folders: list[str] = []
    remaining = iter(words)
    for word in remaining:
        option = next((o for o in _FOLDERS if word.startswith(o)), None)
        if option is None:
            rest.append(word)
        else:
            folders.append(word.removeprefix(option).removeprefix("=") or next(remaining, ""))
    return rest, folders


def refuse_source_flags(pass_configs: Mapping[Any, Any] | None) -> None:
    """Raises for options of nvcc that say what a text means, where no text is."""
    choosing, _ = _split(pass_configs, None)
    if choosing:
        raise ArgumentError(
            f"configurations have no {quoted(choosing)}: give them to `T.CUDASourceCodeKernel`", location=here()
        )


def refuse(names: Iterable[str], whose: str, function: Callable[..., Any]) -> None:
    """Raises for the first of arguments that a function of TileLang's does not have."""
    known = [n for n in inspect.signature(function).parameters if n != "others"]
    for name in names:
        raise ArgumentError(
            f"{whose} has no `{name}`{suggestion(name, known) or f'; it takes {quoted(known)}'}", location=here()
        )


def _warn(ignored: Sequence[str], what: str = "no counterpart here, and left out:", why: str = _BY_ITSELF) -> None:
    if not ignored or frozenset(ignored) in _shown:
        return
    _shown.add(frozenset(ignored))
    place = here()
    warnings.warn_explicit(f"{what} {quoted(ignored)}{why}", IgnoredHintWarning, place.file, place.line)


def of_compile(
    given_target: Any,
    execution_backend: str | None,
    verbose: bool | None,
    pass_configs: Mapping[Any, Any] | None,
    compile_flags: Any,
) -> dict[str, Any]:
    """Returns the options of `tilec.compile` for those of `tilelang.compile`."""
    _warn(without_effect(), "no effect here have", "")
    return {
        "target": target(given_target),
        "backend": backend(execution_backend),
        "verbose": verbose,
        **passes(pass_configs, compile_flags),
    }
