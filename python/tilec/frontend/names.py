"""Which names a piece of Python assigns, and which it reads before it has assigned them."""

from __future__ import annotations

import ast

from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """Returns the names that the statements assign in their own scope, in order of first appearance."""
    found: dict[str, None] = {}
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = None
        if not isinstance(node, _SCOPES):
            stack += list(ast.iter_child_nodes(node))[::-1]
    return list(found)


def exposed(body: Sequence[ast.stmt], before: Iterable[str] = ()) -> set[str]:
    """Returns the names that statements may read before they have certainly assigned them.

    `before` are names that are assigned already. In a loop these are the names whose value comes from outside, or from
    the iteration before.
    """
    analysis = _Exposed()
    analysis.run(body, set(before))
    return analysis.found


def read(node: ast.AST) -> set[str]:
    """Returns the names that an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def jumps(body: Iterable[ast.stmt]) -> list[str]:
    """Returns the words, of "break" and "continue", with which statements may leave the loop around them."""
    found: dict[str, None] = {}
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break) or is_loop_break(node):
            found["break"] = None
        elif isinstance(node, ast.Continue):
            found["continue"] = None
        elif not isinstance(node, (ast.For, ast.While, ast.expr, *_SCOPES)):
            stack += ast.iter_child_nodes(node)
    return sorted(found)


def is_loop_break(node: ast.AST) -> bool:
    """Returns whether a statement is `T.loop_break()`, which stands for `break`."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "loop_break"


class _Exposed:
    def __init__(self) -> None:
        self.found: set[str] = set()

    def run(self, body: Sequence[ast.stmt], known: set[str]) -> set[str]:
        """Follows the statements with the names `known` to be assigned; returns those known after."""
        for statement in body:
            known = self._statement(statement, known)
        return known

    def _reads(self, node: ast.AST | None, known: set[str]) -> None:
        if node is not None:
            self.found |= read(node) - known

    def _statement(self, node: ast.stmt, known: set[str]) -> set[str]:
        if isinstance(node, ast.If):
            self._reads(node.test, known)
            return self.run(node.body, known) & self.run(node.orelse, known)
        if isinstance(node, ast.For):
            self._reads(node.iter, known)
            self.run(node.body, known | set(assigned([node.target])))
            return known
        if isinstance(node, ast.While):
            self._reads(node.test, known)
            self.run(node.body, known)
            return known
        if isinstance(node, ast.With):
            for item in node.items:
                self._reads(item.context_expr, known)
                known = known | set(assigned([item.optional_vars] if item.optional_vars else []))
            return self.run(node.body, known)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.found |= {node.target.id} - known
        self._reads(node, known)
        return known | set(assigned([node]))
