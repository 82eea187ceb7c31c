"""What a function reads from outside of itself, as its bytecode says.

What must hold: every global, variable of an enclosing function, and attribute of a module that a function imports
itself is found, with the attributes that are taken of it there. Not seen are names in `eval`, attributes by `getattr`,
and modules by `importlib`.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import NamedTuple

from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

    _Places = dict[str, list["Read"]]
    """What local variables stand for that were imported; several, if several imports may have been made."""


class Read(NamedTuple):
    """A name, and the attributes that are taken of it: `config.tile.m` is ("config", ("tile", "m"))."""

    name: str
    attributes: tuple[str, ...] = ()
    is_import: bool = False
    """Whether it is a module by its name, with a dot in front for each level of a relative import."""


def reads_of(function: FunctionType) -> tuple[Read, ...]:
    """Returns what a function reads from outside, in its body and in annotations that are strings."""
    found = dict.fromkeys(reads_of_code(function.__code__))
    for annotation in function.__annotations__.values():
        if type(annotation) is str:
            found.update(dict.fromkeys(_reads_of_text(annotation)))
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def reads_of_code(code: CodeType) -> tuple[Read, ...]:
    """Returns what code reads, and the functions inside it."""
    found: dict[Read, None] = {}
    _collect(code, frozenset(code.co_freevars), {}, found)
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def _reads_of_text(text: str) -> tuple[Read, ...]:
    """Returns what an annotation in quotes reads; nothing if it is none."""
    try:
        return reads_of_code(compile(text, "<annotation>", "eval"))
    except (SyntaxError, ValueError):
        return ()


_FUTURE_ANNOTATIONS = 0x1000000
"""The flag of code whose annotations are strings."""

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR", "LOAD_FAST")
_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_SILENT = frozenset(("CACHE", "PRECALL", "NOP", "EXTENDED_ARG", "PUSH_NULL", "NOT_TAKEN"))
_AMONG_IMPORTS = frozenset(("SWAP", "ROT_TWO", "POP_TOP"))


def _collect(code: CodeType, free: frozenset[str], around: _Places, found: dict[Read, None]) -> None:
    """Adds what code reads, and the functions inside it.

    - `free`: the variables of functions around all of it.
    - `around`: variables of functions around this one that were imported there.
    """
    imported = {**around, **_imports(code)}
    names: list[str] = []
    attributes: list[str] = []

    def end() -> None:
        for i, name in enumerate(names):
            taken = tuple(attributes) if i == len(names) - 1 else ()
            for module in imported.get(name, ()):
                found[module._replace(attributes=(*module.attributes, *taken))] = None
            if name in free or name not in imported:
                found[Read(name, taken)] = None

    for instruction in dis.get_instructions(code):
        operation = instruction.opname
        if operation in _SILENT:
            continue
        if names and operation in _ATTRIBUTES:
            attributes.append(str(instruction.argval))
            continue
        end()
        names, attributes = _loaded(instruction, free, imported), []
    end()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = constant.co_freevars
            _collect(constant, free & frozenset(inner), {n: p for n, p in imported.items() if n in inner}, found)
        elif code.co_flags & _FUTURE_ANNOTATIONS and isinstance(constant, tuple):
            # The annotations of a function inside.
            for text in cast("tuple[object, ...]", constant):
                if isinstance(text, str):
                    found.update(dict.fromkeys(_reads_of_text(text)))


def _loaded(instruction: dis.Instruction, free: frozenset[str], imported: _Places) -> list[str]:
    """Returns the names that an instruction loads and that mean something outside, in their order.

    One instruction may load two variables, or store one and load another.
    """
    operation = instruction.opname
    operands = _operands(instruction)
    if operation.startswith("STORE"):
        operands = operands[1:] if "LOAD" in operation else ()
    elif not operation.startswith(_LOADS):
        operands = ()
    local = "FAST" in operation or "DEREF" in operation
    return [n for n in operands if not local or n in free or n in imported]


def _operands(instruction: dis.Instruction) -> tuple[str, ...]:
    value: object = instruction.argval
    return tuple(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else (str(value),)


def _imports(code: CodeType) -> _Places:
    """Returns the variables that hold modules, or what was taken of them by `from ... import`."""
    out: _Places = {}
    before: list[object] = []
    module = taken = None
    is_from = False
    for instruction in dis.get_instructions(code):
        operation, operand = instruction.opname, cast("object", instruction.argval)
        if operation in _SILENT:
            continue
        if operation == "IMPORT_NAME":
            level, wanted = (before[-2], before[-1]) if len(before) > 1 else (0, None)
            is_from = bool(wanted)
            name = "." * (level if isinstance(level, int) else 0) + str(operand)
            module = taken = Read(name if is_from else name.partition(".")[0] or name, (), is_import=True)
        elif module is None or operation in _AMONG_IMPORTS:
            pass
        elif operation == "IMPORT_FROM" and taken is not None:
            taken = (module if is_from else taken)._replace(
                attributes=(*(() if is_from else taken.attributes), str(operand))
            )
        elif operation.startswith("STORE_") and taken is not None:
            out.setdefault(_operands(instruction)[0], []).append(taken)
            module = module if is_from else None
        else:
            module = taken = None
        before.append(operand)
    return out


def code_parts(code: CodeType) -> Iterator[object]:
    """Yields what makes two codes do the same: all but names of their own, files and lines."""
    yield from (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    yield from (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    yield from (code.co_code, code.co_exceptiontable, code.co_consts)
