"""What a function reads besides its arguments, and what tells one value from another.

A kernel depends on everything that the function which makes it looks at: arguments, globals, variables of enclosing
functions, attributes of modules, classes and objects, modules that it imports, and what the functions that it calls
look at. One walk over all of this makes

- a *key*: two values with one key make the same kernel;
- *guards*: places which, as long as they hold what they hold now, leave the key as it is; C++ looks at them;
- as `stable` renders the key, JSON that means the same in another process.

What must hold: a key names the contents of a value, never only the object, unless the contents cannot change. What is
not known to be told by what was looked at has no key: `UnknownError`, and the function has to be run again to see.
Whatever can change and has no guard is said by `is_fixed`. Python's modules, installed packages and our own are taken
not to change while a process runs. What a function reads from files or the environment is its own affair, and what the
bytecode does not show (`tilec.bytecode`) is not seen.
"""

from __future__ import annotations

import builtins
import collections
import functools
import importlib.util
import sys
import threading
import types
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType

from . import _tl
from .buffers import Buffer
from .builder import FunctionBuilder, PrimFunc
from .bytecode import code_parts, reads_of
from .dtypes import DType
from .ir import Block, Op, Value
from .operators import Operators
from .typed import TYPE_CHECKING, cast
from .types import Const, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .bytecode import Read

    Guard = tuple[Any, ...]
    """A dictionary and a key, or an object and an attribute, and what was there, if anything was."""

_ABSENT = object()
"""In the place of something that is not there."""


class UnknownError(Exception):
    """No key can tell a value from what it may be later."""


def guard(holder: Any, name: Any) -> Guard:
    """Returns the guard of a place for what it holds now."""
    value: Any
    if isinstance(holder, dict):
        value = cast("dict[Any, Any]", holder).get(name, _ABSENT)
    else:
        try:
            value = getattr(holder, name, _ABSENT)
        except ValueError:  # a variable of an enclosing function that is not set yet
            value = _ABSENT
    place = cast("Any", holder), name
    return place if value is _ABSENT else (*place, value)


def frozen(value: Any) -> Any:
    """Returns a key of a value: equal keys, equal kernels. Types count, and so do the signs of zeros."""
    return _Walk().freeze(value)


def read_by(function: FunctionType) -> Any:
    """Returns a key of everything that a function reads besides its arguments."""
    return _Walk().freeze(function)


def guards(function: FunctionType) -> tuple[Guard, ...] | None:
    """Returns places which, as long as they hold what they hold now, leave `read_by` as it is; None if there are others
    that matter, such as the contents of a list."""
    walk = _Walk()
    try:
        walk.freeze(function)
    except UnknownError:
        return None
    return walk.guards if walk.is_fixed else None


# The walk -------------------------------------------------------------------------------------------------------------

_ATOMS = frozenset((types.NoneType, bool, int, str, bytes, types.EllipsisType, types.NotImplementedType))
"""Types whose objects are what they are equal to."""

_NATIVE: dict[Any, Any] = {
    int: int.__index__,
    str: str.__str__,
    bytes: bytes.__bytes__,
    float: float.__float__,
    complex: complex.__complex__,
    list: list.__iter__,
    tuple: tuple.__iter__,
    set: set.__iter__,
    frozenset: frozenset.__iter__,
    dict: dict.items,
    collections.defaultdict: dict.items,
    collections.OrderedDict: collections.OrderedDict.items,
    object: None,
    types.SimpleNamespace: None,
}
"""Types of Python's that classes derive from, and what gives what is in their objects besides attributes."""

_UNCHANGING = (int, str, bytes, float, complex, tuple, frozenset)

_C_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)

_BOOKKEEPING = frozenset((
    "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__",
    "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__match_args__",
    "__module__", "__orig_bases__", "__parameters__", "__qualname__", "__slots__", "__static_attributes__",
    "__type_params__", "__weakref__", "_abc_impl",
))  # fmt: skip
"""Attributes of classes that say what others say too, or nothing of what the class does."""

_MEMBERS_OF_ENUM = frozenset((
    "_generate_next_value_", "_member_map_", "_member_names_", "_member_type_", "_new_member_", "_unhashable_values_",
    "_unhashable_values_map_", "_hashable_values_", "_use_args_", "_value2member_map_", "_value_repr_",
    "__objclass__", "_sort_order_", "_singles_mask_", "_all_bits_", "_flag_mask_", "_inverted_", "_boundary_",
    "__new_member__",
))  # fmt: skip
"""What `enum` keeps of the members, which are attributes themselves."""

_REPORTING = frozenset(("_io", "logging", "warnings"))
"""Modules whose objects let a function report, and do not change what it makes."""

_LOCKS = (type(threading.Lock()), type(threading.RLock()))

_IN_PROGRAMS = (Operators, Buffer, FunctionBuilder, Block, Op, Value)
"""What belongs to a program that is being built."""


class _Walk:
    """Makes one key. An object inside of itself is named by how many objects are around it."""

    def __init__(self) -> None:
        self.is_fixed = True
        """Whether nothing was met but places that the guards name and values that cannot change."""
        self._guards: dict[tuple[int, Any], Guard] = {}
        self._around: dict[int, int] = {}
        self._met: dict[int, tuple[int, Any]] = {}
        """Functions and classes that were walked, or are being walked: they may name one another."""

    @property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(self._guards.values())

    def freeze(self, value: Any) -> Any:
        """Returns a key of a value."""
        kind = cast("type[Any]", type(value))
        if kind in _ATOMS:
            return kind, value
        if kind is float:
            return kind, value.hex()  # tells zeros apart, and finds NaN again
        if kind is complex:
            return kind, value.real.hex(), value.imag.hex()
        if isinstance(value, DType | Symbol | Const):
            return kind, value.name
        if isinstance(value, CodeType | PrimFunc):
            return kind, value
        if isinstance(value, FunctionType):
            return self._once(value, self._function)
        if isinstance(value, type):
            return self._once(value, self._class)
        if id(value) in self._around:
            return kind, "inside", self._around[id(value)]
        self._around[id(value)] = len(self._around)
        try:
            return (kind, *self._contents(value))
        finally:
            del self._around[id(value)]

    def _once(self, value: Any, walk: Callable[[Any], Iterator[Any]]) -> Any:
        """Walks a function or a class where it is first met."""
        if id(value) in self._met:
            return "met", self._met[id(value)][0]
        self._met[id(value)] = len(self._met), value
        return (type(value), *walk(value))

    # Values -----------------------------------------------------------------------------------------------------------

    def _contents(self, value: Any) -> Iterator[Any]:
        kind = cast("type[Any]", type(value))
        if isinstance(value, ModuleType):
            if not _is_installed(value.__name__):
                raise UnknownError(f"the module `{value.__name__}`")
            yield value.__name__
        elif _belongs(kind.__module__, "tilec"):
            yield from self._own(value)
        elif isinstance(value, functools.partial):
            self.is_fixed = False
            partial = cast("functools.partial[Any]", value)
            yield from map(self.freeze, (partial.func, partial.args, partial.keywords, *vars(partial).items()))
            yield from self._classes(kind)
        elif isinstance(value, MethodType):
            yield from map(self.freeze, (value.__func__, value.__self__))
        elif isinstance(value, BuiltinFunctionType | types.MethodWrapperType):
            owner = value.__self__  # a module, or the object whose method it is
            yield value.__name__, owner.__name__ if isinstance(owner, ModuleType) else self.freeze(owner)
        elif isinstance(value, slice | range):
            yield from map(self.freeze, cast("tuple[Any, ...]", (value.start, value.stop, value.step)))
        elif isinstance(value, staticmethod | classmethod):
            yield self.freeze(cast("Any", value).__func__)
        elif isinstance(value, property):
            yield from map(self.freeze, (value.fget, value.fset, value.fdel))
        elif isinstance(value, _C_DESCRIPTORS) or kind.__name__ == "_tuplegetter":
            yield getattr(value, "__name__", None)
        elif all(hasattr(kind, n) for n in ("dtype", "shape", "tobytes")) and value.shape == ():
            self.is_fixed &= not hasattr(kind, "__setitem__")
            yield from (str(value.dtype), value.tobytes())  # a number of NumPy's
        elif hasattr(kind, "__dlpack__") or hasattr(kind, "__array__"):
            raise UnknownError(kind.__name__)
        else:
            yield from self._object(value)

    def _own(self, value: Any) -> Iterator[Any]:
        """What counts of an object of ours; none of them changes once a program can see it."""
        kind = cast("type[Any]", type(value))
        if parts := getattr(kind, "key_parts", None):
            yield from map(self.freeze, parts(value))
        elif isinstance(value, _tl.FastCallable):
            yield value  # a kernel
        elif isinstance(value, _IN_PROGRAMS) or hasattr(value, "__dlpack__"):
            raise UnknownError(kind.__name__)
        else:
            yield from self._attributes(value)
            yield from self._native(value, _native_base(kind))

    def _object(self, value: Any) -> Iterator[Any]:
        """What is in an object, its attributes, and those of its classes."""
        kind = cast("type[Any]", type(value))
        base = _native_base(kind)
        if base is object and _is_constant_member(value):
            yield value.name, self.freeze(value.value)
            return
        if kind is object or kind in _LOCKS or kind.__module__ in _REPORTING:
            yield value
            return
        if kind.__module__.partition(".")[0] == "pathlib":
            yield str(value)
            return
        if kind not in _NATIVE and _is_installed(kind.__module__) and (name := _constant_name(value)):
            yield name
            return
        if base not in _NATIVE:
            yield _opaque(value)
            return
        self.is_fixed &= kind in _UNCHANGING
        yield from self._native(value, base)
        if kind.__module__ != "builtins":
            yield from self._attributes(value)
            yield from self._classes(kind)

    def _native(self, value: Any, base: type[Any]) -> Iterator[Any]:
        """What is in an object besides attributes."""
        if base not in _NATIVE:
            raise UnknownError(type(value).__name__)
        inside: Any = _NATIVE[base] and _NATIVE[base](value)
        if issubclass(base, dict):
            yield from ((self.freeze(k), self.freeze(v)) for k, v in inside)
        elif issubclass(base, set | frozenset):
            yield frozenset(map(self.freeze, inside))
        elif issubclass(base, list | tuple):
            yield from map(self.freeze, inside)
        elif inside is not None:
            yield self.freeze(inside)

    def _attributes(self, value: Any) -> Iterator[Any]:
        held = {
            n: slot.__get__(value)
            for c in type(value).__mro__
            for n, slot in vars(c).items()
            if isinstance(slot, types.MemberDescriptorType) and hasattr(value, n)
        }
        held.update(getattr(value, "__dict__", {}))
        for name, attribute in sorted(held.items()):
            if name not in _MEMBERS_OF_ENUM:
                yield name, self.freeze(attribute)

    # Classes ----------------------------------------------------------------------------------------------------------

    def _classes(self, kind: type[Any]) -> Iterator[Any]:
        """The class of an object, unless it is one that does not change."""
        if not _is_constant_class(kind):
            yield self.freeze(kind)

    def _class(self, kind: type[Any]) -> Iterator[Any]:
        """What a class of the user's and those that it derives from define; others are what they are."""
        yield kind
        if _is_constant_class(kind):
            return
        self.is_fixed = False
        if not _is_constant_class(type(kind)):
            yield self.freeze(type(kind))
        for c in kind.__mro__:
            if _is_constant_class(c):
                yield c
                continue
            for name, value in sorted(vars(c).items()):
                if name not in _BOOKKEEPING and name not in _MEMBERS_OF_ENUM:
                    yield name, self.freeze(value)

    # Functions --------------------------------------------------------------------------------------------------------

    def _function(self, function: FunctionType) -> Iterator[Any]:
        """The code of a function, its defaults, and all that they read; of an installed one what it was made with."""
        # A decorator of ours adds nothing of its own: what counts is what it was put on.
        while _belongs(_module_of(function), "tilec") and hasattr(function, "__wrapped__"):
            inner = self._look(function, "__wrapped__")
            if not isinstance(inner, FunctionType):
                yield self.freeze(inner)
                return
            function = inner
        is_installed = _is_installed(_module_of(function))
        if is_installed and (name := _constant_name(function)):
            yield name
            return
        if not is_installed:
            self._look(function, "__code__")
        yield function.__code__
        yield from self._defaults(function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if is_installed:
            for name, cell in cells.items():
                yield self._place(cell, "cell_contents", name, ())
            return
        for name, annotation in function.__annotations__.items():
            if _belongs(type(annotation).__module__, "tilec"):
                self._look(function.__annotations__, name)
                yield name, self.freeze(annotation)
        for read in reads_of(function):
            yield self._read(function, read, cells)

    def _defaults(self, function: FunctionType) -> Iterator[Any]:
        """The defaults of a function, if it has parameters that can have some."""
        code = function.__code__
        if code.co_argcount:
            yield self.freeze(self._look(function, "__defaults__"))
        if code.co_kwonlyargcount:
            defaults = self._look(function, "__kwdefaults__")
            for name in code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount] if defaults else ():
                yield self._place(defaults, name, name, ())

    def _read(self, function: FunctionType, read: Read, cells: dict[str, Any]) -> Any:
        """The key of one thing that a function reads."""
        names = function.__globals__
        if read.is_import:
            module = _absolute(read.name, names.get("__package__"))
            if _is_installed(module):
                return "module", module
            return self._place(sys.modules, module, module, read.attributes)
        if read.name in cells:
            return self._place(cells[read.name], "cell_contents", read.name, read.attributes)
        if read.name not in names and hasattr(builtins, read.name):
            self._look(names, read.name)  # it may come to hide what Python has under this name
            return "builtin", read.name
        return self._place(names, read.name, read.name, read.attributes)

    # Places -----------------------------------------------------------------------------------------------------------

    def _look(self, holder: Any, name: str) -> Any:
        """Returns what a place holds, and guards it."""
        place = self._guards.get((id(holder), name))
        if place is None:
            place = self._guards[id(holder), name] = guard(holder, name)
        return place[2] if len(place) > 2 else _ABSENT

    def _place(self, holder: Any, name: str, label: str, attributes: tuple[str, ...]) -> Any:
        """The key of what a place holds; of modules and classes only that of the attributes which are read."""
        value = self._look(holder, name)
        return (label, "absent") if value is _ABSENT else (label, self._reached(value, attributes))

    def _reached(self, value: Any, attributes: tuple[str, ...]) -> Any:
        if isinstance(value, ModuleType) and _is_installed(value.__name__):
            return "module", value.__name__
        if not attributes:
            return self.freeze(value)
        name, *rest = attributes
        if isinstance(value, ModuleType):
            if name not in vars(value) and (type(value) is not ModuleType or "__getattr__" in vars(value)):
                raise UnknownError(f"`{name}` of the module `{value.__name__}`")
            return "module", value.__name__, self._place(vars(value), name, name, tuple(rest))
        if isinstance(value, type) and not _is_constant_class(value):
            held = _attribute_of_class(value, name)
            if held is not _ABSENT:
                self._look(value, name)
                return value, name, self._reached(held, tuple(rest))
        if isinstance(value, FunctionType) and name in vars(value):
            return self.freeze(value), self._place(vars(value), name, name, tuple(rest))
        return self.freeze(value)


def _attribute_of_class(kind: type[Any], name: str) -> Any:
    """Returns what an attribute of a class is, if asking for it runs nothing and always gives the same object."""
    if type(kind).__getattribute__ is not type.__getattribute__ or hasattr(type(kind), name):
        return _ABSENT
    held: Any = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), _ABSENT)
    held = cast("Any", held).__func__ if isinstance(held, staticmethod) else held
    if isinstance(held, FunctionType):
        return held
    return _ABSENT if hasattr(cast("type[Any]", type(held)), "__get__") else held


def _native_base(kind: type[Any]) -> type[Any]:
    """Returns the class written in C that says what is in an object besides attributes; `object` if nothing is."""
    for base in kind.__mro__:
        if not base.__flags__ & _HEAP_TYPE:
            return base
        new = base.__new__
        if isinstance(new, BuiltinFunctionType) and new.__self__ is base:
            return base
    return object


_HEAP_TYPE = 1 << 9
"""The flag of types that were made while Python runs, such as those of `class`."""


def _is_constant_member(value: Any) -> bool:
    """Whether a value is a member of an `enum.Enum` that has nothing but members."""
    enum = sys.modules.get("enum")
    kind = cast("type[Any]", type(value))
    if enum is None or not issubclass(kind, enum.Enum):
        return False
    if _is_constant_class(kind):
        return True
    plain = {"_value_", "_name_", "__objclass__", "_sort_order_"}
    names = {n for c in kind.__mro__ if not _is_constant_class(c) for n in vars(c)}
    known: set[str] = {*kind.__members__, "__new__", *_BOOKKEEPING, *_MEMBERS_OF_ENUM}
    own: set[str] = set(value.__dict__)
    return names <= known and own <= plain and type(value.value) in _ATOMS


def _opaque(value: Any) -> Any:
    """An object of a library that shows nothing of itself: what it is equal to tells it from others."""
    kind = cast("type[Any]", type(value))
    if not _is_installed(kind.__module__) or kind.__hash__ is object.__hash__:
        raise UnknownError(kind.__name__)
    try:
        hash(value)
    except TypeError:
        raise UnknownError(kind.__name__) from None
    return value


def _constant_name(value: Any) -> str | None:
    """Returns the name under which an installed module holds an object, which is then the package's, not the user's."""
    module = getattr(value, "__module__", None) if callable(value) else None
    found = sys.modules.get(module or cast("type[Any]", type(value)).__module__)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if found is None or not _is_installed(found.__name__):
        return None
    if isinstance(name, str):
        held = functools.reduce(lambda v, n: getattr(v, n, None), name.split("."), found)
        return f"{found.__name__}.{name}" if held is value else None
    holds = dict(vars(found))
    return next((f"{found.__name__}.{n}" for n, v in holds.items() if v is value), None)


@functools.cache
def _is_constant_class(kind: type[Any]) -> bool:
    """Whether a class is Python's, ours, or of an installed package; those that programs make are not of `types`."""
    return _is_installed(kind.__module__) and (kind.__module__ != "types" or hasattr(types, kind.__name__))


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


def _absolute(module: str, package: str | None) -> str:
    """Returns the name of a module that is imported from inside a package."""
    if not module.startswith("."):
        return module
    try:
        return importlib.util.resolve_name(module, package)
    except ImportError:
        raise UnknownError(f"the module `{module}`") from None


# Other processes ------------------------------------------------------------------------------------------------------


def stable(key: Any) -> Any:
    """Returns a key of `frozen` as JSON that says the same in every process; raises `UnknownError` if it cannot."""
    if key is None or isinstance(key, bool | int | str):
        return key
    if isinstance(key, type):
        return f"{key.__module__}.{key.__qualname__}" if _is_constant_class(key) else key.__qualname__
    if isinstance(key, bytes):
        return key.hex()
    if isinstance(key, CodeType):
        return _digest(stable(frozen(tuple(code_parts(key)))))
    if isinstance(key, PrimFunc):
        return _digest(key.whole_text())
    if isinstance(key, frozenset):
        import json

        return sorted(map(stable, cast("frozenset[Any]", key)), key=json.dumps)
    if not isinstance(key, tuple):
        return _text(key)
    parts = cast("tuple[Any, ...]", key)
    return _stable_value(parts[0], parts[1:]) if parts and isinstance(parts[0], type) else list(map(stable, parts))


def _stable_value(kind: type[Any], parts: tuple[Any, ...]) -> Any:
    """Returns what is said of a value of a type: plain values are themselves."""
    if kind in (types.NoneType, bool, int, str):
        return parts[0]
    if kind is float:
        return repr(float.fromhex(parts[0]))
    if kind in (list, tuple):
        return list(map(stable, parts))
    if kind in (set, frozenset):
        return stable(parts[0])
    if kind is dict and all(name[0] is str for name, _ in parts):
        return {name[1]: stable(value) for name, value in parts}
    if issubclass(kind, DType | Symbol | Const):
        return {kind.__name__: parts[0]}
    said = list(map(stable, parts))
    if kind is FunctionType:
        return {"code": _digest(said)}
    return {str(stable(kind)): said[0] if len(said) == 1 else said}


def _digest(said: Any) -> str:
    """Returns a digest of JSON, of 32 hexadecimal digits."""
    import json
    from _blake2 import blake2b

    return blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


def _text(value: Any) -> str:
    """Returns the text of an object that is told by what it is equal to."""
    text = repr(value)
    if type(value) is object or " at 0x" in text:
        raise UnknownError(type(value).__name__)
    return f"{type(value).__qualname__} {text}"
