"""Which mistakes a function of the language answers to, read from its source: the errors that it raises."""

import ast
import inspect
import sys
import textwrap
from functools import cache

DEPTH = 2
"""How many calls away, in the same module, an error may be raised."""


def of(function) -> list[tuple[str, str]]:
    """Returns the kinds of the errors that a function raises itself, and their messages with `…` for values."""
    function = inspect.unwrap(function)
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    # What is no function, such as a key of annotations, raises nothing.
    if module is None or not hasattr(module, "__file__") or not hasattr(function, "__name__"):
        return []
    functions = definitions(module.__file__)
    found: dict[tuple[str, str], None] = {}
    names, seen = [function.__name__], set()
    for _ in range(DEPTH):
        for name in [n for n in names if n in functions and n not in seen]:
            seen.add(name)
            found.update(dict.fromkeys(raised(functions[name])))
            names += called(functions[name])
    return list(found)


@cache
def definitions(file: str) -> dict[str, ast.AST]:
    """Returns the functions and classes of a file by name."""
    with open(file) as text:
        tree = ast.parse(text.read())
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def raised(node: ast.AST) -> list[tuple[str, str]]:
    """Returns kind and message of each error that a function's own statements raise."""
    found = []
    for statement in ast.walk(node):
        if isinstance(statement, ast.Raise) and isinstance(statement.exc, ast.Call):
            kind = ast.unparse(statement.exc.func)
            text = message(statement.exc.args[0]) if statement.exc.args else ""
            if kind.endswith("Error") and text.strip("… "):
                found.append((kind.rpartition(".")[2], text))
    return found


def called(node: ast.AST) -> list[str]:
    """Returns the names of the private functions that a function calls."""
    calls = [n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return [name for name in calls if name.startswith("_") and not name.startswith("__")]


def message(node: ast.AST) -> str:
    """Returns a message as a reader sees it, with `…` for what is known only when it is raised."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(message(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return message(node.left) + message(node.right)
    return "…"


def shown(function) -> str:
    """Returns the errors of a function as a list in Markdown."""
    lines = [f"- `{kind}`: {textwrap.shorten(text, 240, placeholder=' …')}" for kind, text in of(function)]
    return "\n".join(lines)
