"""What a function reads besides its arguments, and what tells one value from another.

A kernel depends on everything that the function which makes it looks at: arguments, globals, variables of enclosing
functions, attributes of modules, classes and objects, and what the functions that it calls look at. `frozen` makes a
key of a value, such that two values with one key make the same kernel; where no key can say that it raises
`UnknownError`, and the function has to be run again to see.

What must hold: a key names the contents of a value, never only the object, unless the contents cannot change. What a
function reads is found in its bytecode: names in `eval` and attributes by `getattr` are not seen. Python's modules,
installed packages and our own are taken not to change while a process runs. What a function reads from files or the
environment is its own affair.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

from .dtypes import DType
from .typed import TYPE_CHECKING, cast
from .types import Const, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Read = tuple[str, tuple[str, ...]]
    """A name, and the attributes that are taken of it: `config.tile.m` is ("config", ("tile", "m"))."""

    Guard = tuple[Any, ...]
    """A dictionary and a key, or an object and an attribute, and what was there, if anything was."""

_FUTURE_ANNOTATIONS = 0x1000000
"""The flag of code whose annotations are strings."""

_FIXED = (type(None), bool, int, str, bytes, DType, enum.Enum, type(Ellipsis))
"""Types whose objects never change."""

_ABSENT = object()
"""In the place of something that is not there."""


def guard(holder: Any, name: Any) -> Guard:
    """Returns the guard of a place for what it holds now."""
    value: Any = holder.get(name, _ABSENT) if _is_dictionary(holder) else getattr(holder, name, _ABSENT)
    return (holder, name) if value is _ABSENT else (holder, name, value)


def _is_dictionary(holder: object) -> bool:
    return isinstance(holder, dict)


class UnknownError(Exception):
    """No key can tell a value from what it may be later."""


def frozen(value: Any) -> Any:
    """Returns a key of a value: equal keys, equal kernels. Types count, and so do the signs of zeros."""
    return _Freezer().freeze(value)


def read_by(function: FunctionType) -> Any:
    """Returns a key of everything that a function reads besides its arguments."""
    return tuple(_Freezer().function(function))


def guards(function: FunctionType) -> tuple[Guard, ...] | None:
    """Returns places which, as long as they hold what they hold now, leave `read_by` as it is; None if there are others
    that matter, such as the contents of a list."""
    freezer = _Freezer()
    try:
        for _ in freezer.function(function):
            pass
    except UnknownError:
        return None
    return tuple(freezer.guards) if freezer.is_fixed else None


class _Freezer:
    """Makes one key. An object inside of itself is named by how many objects are around it."""

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.is_fixed = True
        """Whether nothing was met but places that the guards name and values that cannot change."""
        self._around: dict[int, int] = {}

    def freeze(self, value: Any) -> Any:
        kind = cast("type[Any]", type(value))
        if kind is float:
            return kind, value.hex()  # tells zeros apart, and finds NaN again
        if kind is complex:
            return kind, value.real.hex(), value.imag.hex()
        if isinstance(value, Symbol | Const):
            return kind, value.name
        if isinstance(value, (*_FIXED, type)) or _belongs(kind.__module__, "tilec"):
            return kind, value
        if id(value) in self._around:
            return kind, self._around[id(value)]
        self._around[id(value)] = len(self._around)
        try:
            return (kind, *self._contents(value))
        finally:
            del self._around[id(value)]

    def _contents(self, value: Any) -> Iterator[Any]:
        if isinstance(value, FunctionType):
            return self.function(value)
        if isinstance(value, tuple):
            return map(self.freeze, cast("tuple[Any, ...]", value))
        if isinstance(value, BuiltinFunctionType):  # a function of a module, or a method of an object
            owner = value.__self__
            return iter((value.__name__, owner.__name__ if isinstance(owner, ModuleType) else self.freeze(owner)))
        self.is_fixed = False
        if isinstance(value, list):
            return map(self.freeze, cast("list[Any]", value))
        if isinstance(value, frozenset | set):
            return iter((frozenset(map(self.freeze, cast("set[Any]", value))),))
        if isinstance(value, dict):
            return ((self.freeze(k), self.freeze(v)) for k, v in cast("dict[Any, Any]", value).items())
        if isinstance(value, functools.partial):
            partial = cast("functools.partial[Any]", value)
            return map(self.freeze, (partial.func, partial.args, partial.keywords))
        if isinstance(value, MethodType):
            return map(self.freeze, (value.__func__, value.__self__))
        if hasattr(value, "dtype") and getattr(value, "shape", None) == () and hasattr(value, "tobytes"):
            return iter((str(value.dtype), value.tobytes()))  # a number of NumPy's
        return self._object(value)

    def _object(self, value: Any) -> Iterator[Any]:
        """The attributes of an object, and those of its classes."""
        kind = cast("type[Any]", type(value))
        if isinstance(value, ModuleType) or hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
            raise UnknownError(kind.__name__)
        held = {n: getattr(value, n) for c in kind.__mro__ for n in _slots(c) if hasattr(value, n)}
        held.update(getattr(value, "__dict__", {}))
        if not held and _is_installed(kind.__module__):
            yield _opaque(value)
        for name, attribute in sorted(held.items()):
            yield name, self.freeze(attribute)
        for c in kind.__mro__:
            if not _is_installed(c.__module__):
                yield from self._class(c)

    def _class(self, kind: type[Any]) -> Iterator[Any]:
        """What a class of the user's defines: methods and values."""
        for name, value in sorted(vars(kind).items()):
            value = getattr(value, "__func__", value)
            value = value.fget if isinstance(value, property) else value
            is_data = not name.startswith("__") and isinstance(value, (*_FIXED, float, tuple, list, dict))
            if is_data or isinstance(value, FunctionType):
                yield name, self.freeze(value)

    # Functions --------------------------------------------------------------------------------------------------------

    def function(self, function: FunctionType) -> Iterator[Any]:
        """The code of a function, its defaults, and all that they read."""
        # A decorator of ours adds nothing of its own: what counts is what it was put on.
        while _is_installed(_module_of(function)) and isinstance(
            inner := getattr(function, "__wrapped__", None), FunctionType
        ):
            function = inner
        yield function.__code__
        if _is_installed(_module_of(function)):
            return
        yield self.freeze(function.__defaults__)
        for default in (function.__kwdefaults__ or {}).items():
            yield self.freeze(default)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name, attributes in _reads_of(function):
            if name in cells:
                yield from self._place(cells[name], "cell_contents", attributes)
            elif name in function.__globals__ or not hasattr(builtins, name):
                yield from self._place(function.__globals__, name, attributes)

    def _place(self, holder: Any, name: str, attributes: tuple[str, ...]) -> Iterator[Any]:
        """What `name` of `holder` is; of modules and classes only the attributes that are read."""
        place = guard(holder, name)
        self.guards.append(place)
        if len(place) < 3:
            yield name, None
            return
        value = place[2]
        if isinstance(value, ModuleType) and _is_installed(value.__name__):
            yield value.__name__
        elif isinstance(value, ModuleType) and attributes:
            yield from self._place(vars(value), attributes[0], attributes[1:])
        elif isinstance(value, type) and attributes and not _is_installed(value.__module__):
            yield value
            yield from self._place(value, attributes[0], attributes[1:])
        elif isinstance(value, type) and not _is_installed(value.__module__):
            self.is_fixed = False
            yield value, tuple(self._class(value))
        else:
            yield name, self.freeze(value)


def _opaque(value: Any) -> Any:
    """An object of a library that shows nothing of itself: what it is equal to tells it from others."""
    try:
        hash(value)
    except TypeError:
        raise UnknownError(type(value).__name__) from None
    return value


def _belongs(module: str | None, package: str) -> bool:
    return module is not None and (module == package or module.startswith(package + "."))


@functools.cache
def _is_installed(module: str | None) -> bool:
    """Whether a module is Python's, ours, or of an installed package."""
    if module is None or module == "__main__":
        return False
    top = module.partition(".")[0]
    if top == "tilec" or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _module_of(function: FunctionType) -> str | None:
    """Where a function was written; `__module__` is what a decorator says."""
    return function.__globals__.get("__name__")


def _slots(kind: type[Any]) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _reads_of(function: FunctionType) -> list[Read]:
    """Returns what a function reads from outside, in its body and in annotations that are strings."""
    reads = list(_reads_of_code(function.__code__))
    for annotation in function.__annotations__.values():
        if type(annotation) is str:
            reads += _reads_of_text(annotation)
    return list(dict.fromkeys(reads))


@functools.lru_cache(maxsize=1024)
def _reads_of_code(code: CodeType) -> tuple[Read, ...]:
    found: dict[Read, None] = {}
    _collect(code, frozenset(code.co_freevars), found)
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def _reads_of_text(text: str) -> tuple[Read, ...]:
    """Returns what an annotation in quotes reads; nothing if it is none."""
    try:
        return _reads_of_code(compile(text, "<annotation>", "eval"))
    except (SyntaxError, ValueError):
        return ()


_NAMES = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_SILENT = frozenset(("CACHE", "PRECALL", "NOP", "EXTENDED_ARG", "PUSH_NULL"))


def _collect(code: CodeType, free: frozenset[str], found: dict[Read, None]) -> None:
    """Adds what code reads, and the functions inside it; `free` are the variables of functions around all of it."""
    name: str | None = None
    attributes: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in _SILENT:
            continue
        if name is not None and instruction.opname in _ATTRIBUTES:
            attributes.append(str(instruction.argval))
            continue
        if name is not None:
            found[name, tuple(attributes)] = None
        name, attributes = None, []
        if instruction.opname in _NAMES and ("DEREF" not in instruction.opname or instruction.argval in free):
            name = str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _collect(constant, free & frozenset(constant.co_freevars), found)
        elif code.co_flags & _FUTURE_ANNOTATIONS and isinstance(constant, tuple):
            # The annotations of a function inside.
            for text in cast("tuple[object, ...]", constant):
                if isinstance(text, str):
                    found.update(dict.fromkeys(_reads_of_text(text)))
