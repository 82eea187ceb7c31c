"""Hooks that edit a kernel's source between the code generator and what compiles it further.

A hook takes the source and the chip, and returns the source to use:

    @tilec.register_ptx_postproc
    def shout(source: str, target: str) -> str:
        return source.replace("// a comment", "// A COMMENT")

What a hook does is part of the cache's key: its code, constants, names, defaults, closure, and the globals it reads.
Only functions and simple values have a fingerprint. A hook that depends on anything else (an object, a list, a module
that is not Python's own) may do something else tomorrow, so that its kernels are compiled every time. What a hook reads
from files or the environment is its own affair: nothing knows of it.
"""

from __future__ import annotations

from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from .errors import ArgumentError
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from . import _tl
    from .reads import Guard

    Hook = Callable[[str, str], str]

GENERATORS = ("ptx", "cuda")
"""The code generators whose source can be edited."""

_registered: dict[str, Hook | None] = dict.fromkeys(GENERATORS)
"""The hook of each code generator."""


def register_ptx_postproc(hook: Hook | None) -> Hook | None:
    """Makes a hook edit the PTX of all kernels that are compiled from now on; None for no hook. A decorator."""
    return _register("ptx", hook)


def register_cuda_postproc(hook: Hook | None) -> Hook | None:
    """Makes a hook edit the CUDA C++ of all kernels that are compiled from now on; None for no hook. A decorator."""
    return _register("cuda", hook)


def _register(generator: str, hook: Hook | None) -> Hook | None:
    _registered[generator] = None if hook is None else check(hook)
    return hook


def registered(generator: str) -> Hook | None:
    """Returns the hook for what a code generator makes, if there is one."""
    return _registered.get(generator)


def guards() -> tuple[Guard, ...]:
    """Returns the places that say which hooks are registered, and what they hold."""
    from .reads import guard

    return tuple(guard(_registered, generator) for generator in GENERATORS)


def check(hook: Any) -> Hook:
    """Returns the hook, or raises an error if it cannot be called."""
    if not callable(hook):
        raise ArgumentError(f"a post-processing hook is a function of source and target, not `{hook!r}`")
    return cast("Hook", hook)


class PostProcessor:
    """A hook, and the name that says what it does."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook
        self.name = getattr(hook, "__qualname__", None) or repr(hook)
        self.id = ""
        self.obstacle: str | None = None
        """Why it has no fingerprint, and its kernels are not cached; None if it has one."""
        try:
            self.id = fingerprint(hook)
        except _NoFingerprintError as error:
            self.obstacle = str(error)
            # No two of these are taken for the same: each names the object, which lives as long as the compilation.
            self.id = f"object-{id(hook):x}"

    def handle(self) -> _tl.PostProcessor:
        """Returns what the compiler is given."""
        from . import _tl

        return _tl.PostProcessor(self.id, self.hook)


class _NoFingerprintError(Exception):
    """A hook depends on something that cannot be told apart from what it may be later."""


def fingerprint(function: object) -> str:
    """Returns a digest of everything that a function does."""
    import hashlib

    out: list[str] = []
    _Printer(out).value("the hook", function)
    return hashlib.sha256("\n".join(out).encode()).hexdigest()


_SIMPLE = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


class _Printer:
    """Prints what a function is made of, so that two that differ print differently."""

    def __init__(self, out: list[str]) -> None:
        import sys

        self._out = out
        self._seen: dict[int, int] = {}
        """Functions that are printed, or are being printed, by their number: they may call each other."""
        self._python = sys.implementation.cache_tag
        out.append(str(self._python))  # what bytecode means, and Python's own modules do

    def value(self, what: str, value: object) -> None:
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, CodeType):
            self._code(value)
        elif type(value) in _SIMPLE:
            self._out.append(f"{type(value).__name__} {value!r}")
        elif type(value) in (tuple, frozenset):
            self._collection(what, cast("tuple[object, ...] | frozenset[object]", value))
        elif isinstance(value, ModuleType):
            self._module(what, value)
        elif isinstance(value, (type, BuiltinFunctionType)) and _is_pythons_own(value.__module__):
            self._out.append(f"python {value.__module__}.{value.__qualname__}")
        else:
            raise _NoFingerprintError(f"{what} is of type `{type(value).__name__}`, which has no fingerprint")

    def _collection(self, what: str, values: tuple[object, ...] | frozenset[object]) -> None:
        """Prints a collection that cannot change; the order of a set's members means nothing."""
        parts: list[str] = []
        for i, value in enumerate(values):
            part: list[str] = []
            inner = _Printer(part)
            inner._seen = self._seen
            inner.value(f"element {i} of {what}", value)
            parts.append("\n".join(part))
        if isinstance(values, frozenset):
            parts.sort()
        self._out += [f"{type(values).__name__} of {len(parts)}", *parts]

    def _module(self, what: str, module: ModuleType) -> None:
        if not _is_pythons_own(module.__name__):
            raise _NoFingerprintError(f"{what} is the module `{module.__name__}`, whose code may change")
        self._out.append(f"module {module.__name__}")

    def _function(self, function: FunctionType) -> None:
        if id(function) in self._seen:
            self._out.append(f"function number {self._seen[id(function)]}")
            return
        self._seen[id(function)] = len(self._seen)
        name = f"`{function.__qualname__}`"
        self._out.append("function")
        self._code(function.__code__)
        self.value(f"the defaults of {name}", function.__defaults__)
        defaults: dict[str, object] = function.__kwdefaults__ or {}
        for key, value in sorted(defaults.items()):
            self._out.append(f"default {key}")
            self.value(f"the default of `{key}` of {name}", value)
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._out.append(f"closure {variable}")
            try:
                content = cell.cell_contents
            except ValueError:
                raise _NoFingerprintError(f"`{variable}` of {name} has no value yet") from None
            self.value(f"`{variable}` in the closure of {name}", content)
        for variable in sorted(_globals_of(function.__code__)):
            self._global(name, variable, function.__globals__)

    def _global(self, name: str, variable: str, scope: dict[str, Any]) -> None:
        import builtins

        self._out.append(f"global {variable}")
        if variable in scope:
            self.value(f"the global `{variable}` that {name} reads", scope[variable])
        elif hasattr(builtins, variable):
            self._out.append("builtin")
        else:
            raise _NoFingerprintError(f"the global `{variable}` that {name} reads has no value yet")

    def _code(self, code: CodeType) -> None:
        """Prints a code object without its places in the file: comments and blank lines change nothing."""
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self._out.append(f"code {counts} {names} {code.co_code.hex()} {code.co_exceptiontable.hex()}")
        self.value(f"a constant of `{code.co_name}`", code.co_consts)
        for module in _imports_of(code):
            if not _is_pythons_own(module):
                raise _NoFingerprintError(f"`{code.co_name}` imports `{module}`, whose code may change")


def _is_pythons_own(module: str | None) -> bool:
    """Whether a module belongs to Python, so that Python's version says what it does."""
    import sys

    return module is not None and module.partition(".")[0] in sys.stdlib_module_names and module != "__main__"


def _globals_of(code: CodeType) -> set[str]:
    """Returns the names of the globals that a code object, or one inside it, reads."""
    import dis

    found = {str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _globals_of(constant)
    return found


def _imports_of(code: CodeType) -> list[str]:
    """Returns the modules that a code object imports when it runs."""
    import dis

    return [str(i.argval) or "." for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME"]
