"""The examples in the docstrings of the language, as programs.

An example that shows a result, or that is a whole function, is run as Python. Any other stands in the kernel of
`docs/language/reference.md`, which has what examples take as given.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import linecache
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tilec
import tilec.language as T
from tilec.contents import public_names
from tilec.errors import TLError

PAGE = Path(__file__).parents[2] / "docs" / "language" / "reference.md"


def kernel(dtype: str) -> str:
    """Returns the kernel that examples stand in, as the page shows it, with another element type."""
    shown = PAGE.read_text().split("```python\n")[1].split("```")[0]
    first = 'dtype, sums = "float32", "float32"'
    assert first in shown
    return shown.replace(first, f'dtype, sums = "{dtype}", "{accumulator(dtype)}"')


def names() -> list[str]:
    """Returns the public names that have a docstring of their own, without aliases and element types."""
    found: dict[int, str] = {}
    for name in public_names(T.__doc__ or ""):
        value = getattr(T, name)
        if not isinstance(value, T.DType):
            found.setdefault(id(value), name)
    return list(found.values())


def examples(name: str) -> list[doctest.Example]:
    """Returns the examples in the docstring of a name."""
    return doctest.DocTestParser().get_examples(inspect.getdoc(getattr(T, name)) or "")


def is_python(found: list[doctest.Example]) -> bool:
    """Returns whether examples are run as they stand, and not in a kernel."""
    text = "".join(example.source for example in found)
    return any(e.want for e in found) or "@T.prim_func" in text or "@tilec.jit" in text


def functions(name: str, dtype: str = "float32") -> Iterator[tilec.PrimFunc]:
    """Yields the functions of an example, and raises an `AssertionError` if one has another result than it shows."""
    found = examples(name)
    if not is_python(found):
        yield in_kernel(name, dtype)
        return
    scope: dict[str, Any] = {"T": T, "tilec": tilec}
    for number, example in enumerate(found):
        if example.want:
            assert repr(eval(example.source, scope)) + "\n" == example.want, example.source
        else:
            run(f"{name}.{number}", example.source, scope)
    yield from (value for value in scope.values() if isinstance(value, tilec.PrimFunc))


def in_kernel(name: str, dtype: str) -> tilec.PrimFunc:
    """Returns the kernel of the reference with an example in it."""
    return run(name, kernel(dtype) + textwrap.indent(body(name) or "", " " * 8))["example"]


def kept(name: str) -> tilec.PrimFunc | None:
    """Returns the kernel of the reference with an example in it, and the number that this is about in row 63 of `C`.

    None if the example does not stand in it, or ends otherwise than by giving a number a name.
    """
    found = body(name)
    last = ast.parse(found).body[-1] if found else None
    if found is None or not isinstance(last, ast.Assign) or not isinstance(last.targets[0], ast.Name):
        return None
    t, value = "T.get_thread_binding()", last.targets[0].id
    store = f'if {t} < 64:\n    C[63, {t}] = T.cast({value}, "float32")\n'
    try:
        return run(name, kernel("float32") + textwrap.indent(found + store, " " * 8))["example"]
    except TLError:  # it is a tile, or a text
        return None


def accumulator(dtype: str) -> str:
    """Returns the type that products of a type are summed in."""
    element = T.dtype(dtype)
    if element.is_float:
        return "float64" if dtype == "float64" else "float32"
    return "int32" if element.bits <= 32 else dtype


def arguments(seed: int | None = None) -> list[Any]:
    """Returns arrays for the kernel that examples stand in: ones, or numbers that are drawn."""
    import numpy as np

    shapes = [(64, 64), (64, 64), (64, 64), (1, 8, 8, 16), (64,)]
    if seed is None:
        return [*(np.ones(shape, np.float32) for shape in shapes), np.ones(64, np.int32)]
    random = np.random.default_rng(seed)
    floats = [random.uniform(0.1, 0.9, shape).astype(np.float32) for shape in shapes]
    return [*floats, random.integers(1, 8, 64, dtype=np.int32)]


TYPES = [
    "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
TARGETS = ["cpu", "sm_80", "sm_90a"]


def depends_on_type(name: str) -> bool:
    """Returns whether an example works on elements of the type that the kernel of the reference is made with."""
    found = body(name)
    return found is not None and bool(
        set(re.findall(r"\w+", found)) & {"A", "B", "C", "As", "Bs", "acc", "v", "x", "image"}
    )


def body(name: str) -> str | None:
    """Returns what of an example stands in the kernel; of a call with numbers the same call with elements."""
    found = examples(name)
    if not is_python(found):
        return "".join(e.source for e in found)
    call = ast.parse(found[0].source).body[0]
    if len(found) != 1 or not isinstance(call, ast.Expr) or not isinstance(call.value, ast.Call):
        return None
    numbers = [ast.unparse(a) for a in call.value.args]
    if not isinstance(call.value.func, ast.Attribute) or call.value.keywords or not all(map(is_number, numbers)):
        return None
    has_floats = any("." in number for number in numbers)
    taken = [number if has_floats and "." not in number else f"A[0, {place}]" for place, number in enumerate(numbers)]
    return f"value = T.{name}({', '.join(taken)})\n"


def is_number(text: str) -> bool:
    """Returns whether a text is a number of Python."""
    return re.fullmatch(r"-?[\d.]+", text) is not None


def support(name: str) -> dict[str, list[str]]:
    """Returns the types that an example works with on each target: it is built and compiled."""
    works: dict[str, list[str]] = {target: [] for target in TARGETS}
    for dtype in TYPES:
        try:
            function = in_kernel(name, dtype)
        except TLError:
            continue
        for target in TARGETS:
            with contextlib.suppress(TLError):
                tilec.compile(function, target=target, **({} if target == "cpu" else {"assembler": "none"}))
                works[target].append(dtype)
    return works


def run(name: str, text: str, scope: dict[str, Any] | None = None) -> dict[str, Any]:
    """Runs a text whose functions can be read back, as those of a file can."""
    file = f"<example of {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"T": T, "tilec": tilec} if scope is None else scope
    exec(compile(text, file, "exec"), scope)
    return scope
