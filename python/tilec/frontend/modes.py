"""Whether a function of `@tilec.jit` is a program itself, or makes one.

It is decided where it is decorated, by its syntax, and nothing of the user's is run for it: it is a program if it calls
what only programs call, or says that parameters are tensors.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
from collections import ChainMap

from ..errors import TLSyntaxError
from ..language.annotations import Buffer
from ..language.kernel import Kernel
from ..language.source import CUDASourceCodeKernel
from ..typed import TYPE_CHECKING
from ..types import TensorType
from .eager import const, empty
from .rewrite import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FunctionType
    from typing import Any


def eager_tree(function: FunctionType) -> tuple[ast.FunctionDef | None, TLSyntaxError | None]:
    """Returns the function's syntax if it is a program itself, and None if it makes one; and why it cannot be known."""
    try:
        tree = parse(function)
    except TLSyntaxError as error:
        return None, error  # no source at hand: it can only make a program
    own = list(_own_nodes(tree))
    names = _Names(function, own)
    calls = [names.find(node.func) for node in own if isinstance(node, ast.Call)]
    # Kernels in `with module.function(...)` are not the function's own.
    is_program = any(call is mark for call in calls for mark in _MARKS) or _declares_tensors(function, own, names)
    if not is_program or _opens_module(own) or _makes_program(tree):
        return None, None
    return tree, None


_MARKS = (Kernel, CUDASourceCodeKernel, const, empty)
"""What only programs call. The kernel itself may be in a macro."""


def _declares_tensors(function: FunctionType, nodes: Iterable[ast.AST], names: _Names) -> bool:
    """Whether parameters are said to be tensors, in the signature or by `A: T.Tensor[...]` in the body."""
    parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
    annotations = [function.__annotations__.get(name) for name in parameters]
    if any(isinstance(annotation, TensorType) for annotation in annotations):
        return True
    texts = [_parsed(annotation) for annotation in annotations if isinstance(annotation, str)]
    in_body = [
        node.annotation
        for node in nodes
        if isinstance(node, ast.AnnAssign)
        and node.value is None
        and isinstance(node.target, ast.Name)
        and node.target.id in parameters
    ]
    return any(names.is_tensor_type(annotation) for annotation in (*texts, *in_body))


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return ast.Constant(None)


def _makes_program(tree: ast.FunctionDef) -> bool:
    """Whether there is a `@T.prim_func` in the function."""
    decorators = (
        d for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n is not tree for d in n.decorator_list
    )
    return any("prim_func" in (getattr(d, "attr", ""), getattr(d, "id", "")) for d in decorators)


def _own_nodes(tree: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yields the syntax of a function without that of functions and classes inside it."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        yield node
        stack += ast.iter_child_nodes(node)


class _Names:
    """What names in a function stand for, as far as that is plain before it runs."""

    def __init__(self, function: FunctionType, nodes: Iterable[ast.AST]) -> None:
        self._known = ChainMap(_enclosing(function), function.__globals__, builtins.__dict__)
        self._aliases = {
            node.targets[0].id: node.value
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def find(self, node: ast.expr, depth: int = 8) -> Any:
        """Returns the object that an expression of names and attributes stands for, or None."""
        if isinstance(node, ast.Attribute):
            # Properties of the user's objects are not run.
            return inspect.getattr_static(self.find(node.value, depth), node.attr, None)
        if not isinstance(node, ast.Name):
            return None
        if node.id in self._aliases and depth:
            return self.find(self._aliases[node.id], depth - 1)
        return self._known.get(node.id)

    def is_tensor_type(self, annotation: ast.expr) -> bool:
        """Whether an annotation is `T.Tensor[...]`, `T.Buffer(...)` or something like it, or a name of one."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = _parsed(annotation.value)
        if isinstance(annotation, ast.Call):
            annotation = annotation.func
        elif isinstance(annotation, ast.Subscript):
            annotation = annotation.value
        found = self.find(annotation)
        if found is None and isinstance(annotation, ast.Name) and annotation.id in self._aliases:
            return self.is_tensor_type(self._aliases[annotation.id])
        return isinstance(found, TensorType) or (isinstance(found, type) and issubclass(found, TensorType | Buffer))


def _enclosing(function: FunctionType) -> dict[str, Any]:
    """Returns the variables of enclosing functions that are set already."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def _opens_module(nodes: Iterable[ast.AST]) -> bool:
    """Whether a function builds with `module.function(...)`, whose kernels are not its own."""
    return any(
        isinstance(node, ast.withitem)
        and isinstance(node.context_expr, ast.Call)
        and isinstance(node.context_expr.func, ast.Attribute)
        and node.context_expr.func.attr == "function"
        for node in nodes
    )
