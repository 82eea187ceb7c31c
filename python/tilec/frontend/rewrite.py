"""Rewrites the control flow of a Python function into calls that can build it.

Tracing sees values, not statements: `if` and `for` of a value that is known only in the kernel, `and`, `or`, `not`,
chained comparisons and assignments must become calls. Each is rewritten so that it still means what it meant where
everything is known at once. `staging.py` holds what is called; the rewritten code finds it as `__tl`.

Positions in the source are kept, so that frames, tracebacks and errors show the user's program.
"""

from __future__ import annotations

import ast
import linecache
from types import CellType, CodeType, FunctionType

from ..errors import TLSyntaxError, UnsupportedError
from ..location import Location, of_span
from ..typed import TYPE_CHECKING
from . import names, staging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    _Node = TypeVar("_Node", bound=ast.AST)

_UNSUPPORTED: dict[type[ast.AST], str] = {
    ast.AsyncFor: "`async for`",
    ast.AsyncFunctionDef: "`async def`",
    ast.AsyncWith: "`async with`",
    ast.Await: "`await`",
    ast.ClassDef: "`class`",
    ast.Delete: "`del`",
    ast.Global: "`global`",
    ast.Match: "`match`",
    ast.NamedExpr: "`:=`",
    ast.Nonlocal: "`nonlocal`",
    ast.Try: "`try`",
    ast.TryStar: "`try`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
}

_INSTEAD: dict[type[ast.AST], str] = {
    ast.Delete: "leave it out; tiles last as long as the kernel",
    ast.Global: "write what is to be kept to a tensor",
    ast.Match: "use `if` and `elif`",
    ast.NamedExpr: "assign in a line before",
    ast.Nonlocal: "write what is to be kept to a tensor",
    ast.Try: "nothing is raised while a kernel runs; test with `if`, or `T.device_assert`",
    ast.TryStar: "nothing is raised while a kernel runs; test with `if`, or `T.device_assert`",
    ast.Yield: "write results to a tensor",
    ast.YieldFrom: "write results to a tensor",
}
"""What programs write in place of what is not supported."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip


_NO_ELSE = (
    "`else` of a loop is not supported in a kernel function: set a variable where the loop is left by `break`, and ask "
    "for it behind the loop"
)


def annotated_in_body(function: FunctionType) -> frozenset[str]:
    """Returns the names that statements of a function annotate without a value, as parameters of eager functions are.

    Of a function without source there are none: rewriting it says so.
    """
    try:
        tree = parse(function)
    except TLSyntaxError:
        return frozenset()
    found = [s for s in tree.body if isinstance(s, ast.AnnAssign) and s.value is None]
    return frozenset(s.target.id for s in found if isinstance(s.target, ast.Name))


def parse(function: FunctionType) -> ast.FunctionDef:
    """Returns the syntax tree of a function, with the positions that it has in its file."""
    code = original(function).__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    if not lines:
        raise TLSyntaxError(
            f"the source of `{function.__name__}` is not at hand, as for code made by `exec` or typed at Python's "
            f"prompt: put it into a file or a notebook's cell, enter the text in `linecache.cache` under the name "
            f"`{code.co_filename}`, or build the function with `T.Module`, which needs no source"
        )
    for end in _possible_ends(lines) if code.co_name != "<lambda>" else ():
        try:
            tree = _parse_at(lines[:end], code.co_firstlineno)
        except SyntaxError:
            continue  # the end is inside of a string, say
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
                return node
            if isinstance(node, ast.AsyncFunctionDef) and node.name == function.__name__:
                raise TLSyntaxError(
                    f"`{function.__name__}` is an `async def`: write `def`, because a kernel waits for nothing",
                    location=Location(code.co_filename, node.lineno, node.col_offset + 1),
                )
        break
    raise TLSyntaxError(
        f"`{function.__name__}` is not a function that `def` made, and the body of a kernel is one: write `def`",
        location=Location(code.co_filename, code.co_firstlineno),
    )


def _possible_ends(lines: Sequence[str]) -> Iterator[int]:
    """Yields the numbers of lines that the definition which begins here may have, the least first.

    It ends at a line that is indented no more than its first one is. `inspect` would break all of it into tokens.
    """
    margin = len(lines[0]) - len(lines[0].lstrip())
    has_begun = False  # decorators go before `def`
    for number, line in enumerate(lines):
        text = line.lstrip()
        if len(line) - len(text) > margin or not text or text[0] in "#)]}":
            continue
        if has_begun:
            yield number
        has_begun = has_begun or text.startswith(("def", "async"))
    yield len(lines)


def _parse_at(lines: Sequence[str], first: int) -> ast.Module:
    """Parses lines of a file, of which the first is number `first`; nodes get the positions that they have there."""
    # An enclosing `if` keeps the columns; dedenting would not, and breaks strings of several lines.
    opening = ["if True:\n"] if lines[0][:1] in (" ", "\t") else []
    return ast.parse("".join(["\n" * (first - 1 - len(opening)), *opening, *lines]))


def original(function: Any) -> FunctionType:
    """Returns the function that stands in the source, behind decorators that keep it as `__wrapped__`."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def rewrite(function: FunctionType, tree: ast.FunctionDef | None = None) -> Callable[..., Any]:
    """Returns a function that builds what `function` says, in the same globals and closure."""
    tree = tree or parse(function)
    file = function.__code__.co_filename
    code = _compile(_Rewriter(file).function(tree), file, function.__code__)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells["__tl"] = CellType(staging)
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[n] for n in code.co_freevars)
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def _compile(tree: ast.FunctionDef, file: str, code: CodeType) -> CodeType:
    """Compiles what became of a function's `code`; its free variables are the same, and `__tl`."""
    outer = ast.parse(f"def outer({', '.join(('__tl', *code.co_freevars))}): pass")
    definition = outer.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = [tree]
    # By its own name it finds what the name stands for where it was defined, not the definition here.
    tree.name = "__tl_function"
    module = compile(outer, file, "exec", dont_inherit=True)
    outer_code = next(c for c in module.co_consts if isinstance(c, CodeType))
    made = next(c for c in outer_code.co_consts if isinstance(c, CodeType) and c.co_name == tree.name)
    return made.replace(co_name=code.co_name)


def _with_condition(node: ast.expr) -> ast.expr:
    """Makes a function of the condition of `with T.While(n < 10):`, which is asked anew for each iteration.

    A name is left as it is: it may be that of a function, and what it says otherwise was computed before the loop.
    """
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return node
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    test = node.args[0]
    if called == "While" and isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.BinOp | ast.Subscript):
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        node.args[0] = ast.copy_location(ast.Lambda(empty, test), test)
    return node


def _count(target: ast.expr | None) -> int:
    """Returns how many names take a value apart; 0 if any number of them may."""
    if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
        return 0
    return len(target.elts)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, file: str) -> None:
        self._file = file
        self._count = 0
        self._parameters: set[str] = set()
        self._loops: list[str] = []
        """What stands for the loops around a statement, of its own function."""

    # Helpers ---------------------------------------------------------------------------------------------------------

    def _location(self, node: Any) -> Location:
        return of_span(self._file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def _error(self, node: ast.AST, message: str) -> UnsupportedError:
        return UnsupportedError(message, location=self._location(node))

    def _fresh(self) -> str:
        self._count += 1
        return f"__tl_{self._count}"

    def _at(self, node: ast.AST, made: _Node) -> _Node:
        """Gives new nodes the position of the node that they stand for.

        What is below a node that has a position has got its own before.
        """
        stack: list[ast.AST] = [made]
        while stack:
            new = stack.pop()
            if hasattr(new, "lineno"):
                continue
            if "lineno" in new._attributes:
                ast.copy_location(new, node)
            stack += ast.iter_child_nodes(new)
        return made

    def _call(self, node: ast.AST, function: str, *arguments: ast.expr) -> ast.Call:
        return self._at(node, ast.Call(self._attribute_of(node, "__tl", function), list(arguments), []))

    def _later(self, node: ast.expr) -> ast.Lambda:
        """Wraps an expression in a function, so that the callee decides when it is evaluated."""
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return self._at(node, ast.Lambda(empty, node))

    def _locals(self) -> ast.expr:
        return ast.Call(ast.Name("locals", ast.Load()), [], [])

    def _method(self, at: ast.AST, name: str, method: str, *arguments: ast.expr) -> ast.expr:
        return self._at(at, ast.Call(self._attribute_of(at, name, method), list(arguments), []))

    def _attribute_of(self, at: ast.AST, owner: str, name: str) -> ast.Attribute:
        """Returns `owner.name` in the line where a node begins: Python places a call of a method where that ends."""
        made = self._at(at, ast.Attribute(ast.Name(owner, ast.Load()), name, ast.Load()))
        for new in (made, made.value):
            new.end_lineno, new.end_col_offset = new.lineno, new.col_offset
        return made

    def _restore(self, at: ast.AST, name: str, method: str, assigned: Sequence[str]) -> list[ast.stmt]:
        """Makes `a, b = name.method(locals())`, done only where the construct is the kernel's."""
        if not assigned:
            return []
        targets = ast.Tuple([ast.Name(n, ast.Store()) for n in assigned], ast.Store())
        assign = ast.Assign([targets], self._method(at, name, method, self._locals()))
        staged = ast.Attribute(ast.Name(name, ast.Load()), "is_staged", ast.Load())
        return [self._at(at, ast.If(staged, [assign], []))]

    def _body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Rewrites statements; those behind a jump that may have been taken are executed where it was not."""
        out: list[ast.stmt] = []
        for i, statement in enumerate(statements):
            jumps = self._loops and names.jumps([statement])
            rest = statements[i + 1 :]
            made = self.visit(statement)
            out += made if isinstance(made, list) else [made]
            if isinstance(statement, ast.Break | ast.Continue) or (self._loops and names.is_loop_break(statement)):
                break  # nothing behind it is ever executed
            if jumps and rest:
                return [*out, *self._where_it_goes_on(statement, rest)]
        return out

    def _where_it_goes_on(self, at: ast.stmt, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Makes `if loop.goes_on(): statements`."""
        goes_on = self._method(at, self._loops[-1], "goes_on")
        return self._branch(at, goes_on, statements, [])

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if (what := _UNSUPPORTED.get(type(node))) is not None:
            instead = f": {_INSTEAD[type(node)]}" if type(node) in _INSTEAD else ""
            raise self._error(node, f"{what} is not supported in a kernel function{instead}")
        return super().generic_visit(node)

    # Functions -------------------------------------------------------------------------------------------------------

    def function(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        """Returns the rewritten function, without decorators, annotations and defaults, which the caller keeps."""
        arguments = tree.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self._parameters = {a.arg for a in every}
        plain = ast.arguments(
            posonlyargs=[ast.arg(a.arg) for a in arguments.posonlyargs],
            args=[ast.arg(a.arg) for a in arguments.args],
            vararg=ast.arg(arguments.vararg.arg) if arguments.vararg else None,
            kwonlyargs=[ast.arg(a.arg) for a in arguments.kwonlyargs],
            kw_defaults=[None] * len(arguments.kwonlyargs),
            kwarg=ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
            defaults=[],
        )
        body = [*self._enter(tree), *self._body(tree.body)]
        return self._at(tree, ast.FunctionDef(tree.name, plain, body, [], None))

    def _enter(self, tree: ast.FunctionDef) -> list[ast.stmt]:
        mark = ast.Assign([ast.Name("__tl_mark", ast.Store())], self._call(tree, "enter_function"))
        return [self._at(tree, mark)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.decorator_list:  # its decorator rewrites it, if it wants to
            return node
        outer = self._parameters, self._loops
        self._parameters, self._loops = set(), []
        node.body = [*self._enter(node), *self._body(node.body)]
        self._parameters, self._loops = outer
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        check = ast.Expr(self._call(node, "jump", ast.Constant("return"), ast.Name("__tl_mark", ast.Load())))
        return [self._at(node, check), super().generic_visit(node)]

    def _jump(self, node: ast.stmt, word: str) -> ast.stmt:
        """Makes `if loop.jump(word): break`, whose condition is false where the kernel has to jump, and not Python."""
        if not self._loops:
            return node  # Python says what is wrong
        chosen = self._method(node, self._loops[-1], "jump", ast.Constant(word))
        return self._at(node, ast.If(chosen, [self._at(node, ast.Break() if word == "break" else ast.Continue())], []))

    def visit_Break(self, node: ast.Break) -> Any:
        return self._jump(node, "break")

    def visit_Continue(self, node: ast.Continue) -> Any:
        return self._jump(node, "continue")

    # Statements ------------------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> Any:
        return self._branch(node, self.visit(node.test), node.body, node.orelse)

    def _branch(
        self, node: ast.stmt, test: ast.expr, chosen: Sequence[ast.stmt], other: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        name = self._fresh()
        assigned = names.assigned([*chosen, *other])
        begin = self._call(test, "Branch", test, self._names(assigned), self._locals())
        out: list[ast.stmt] = [self._at(node, ast.Assign([ast.Name(name, ast.Store())], begin))]
        for statements, side in ((chosen, True), (other, False)):
            if not statements:
                continue
            body = [] if side else self._restore(node, name, "before", assigned)
            for statement in statements:
                if isinstance(statement, ast.Raise):
                    body.append(self._at(statement, ast.Expr(self._method(statement, name, "reject_raise"))))
            body += self._body(statements)
            body.append(self._at(node, ast.Expr(self._method(node, name, "leave", self._locals()))))
            entered = self._method(node, name, "enter", ast.Constant(side))
            out.append(self._at(node, ast.If(entered, body, [])))
        return [*out, *self._restore(node, name, "after", assigned)]

    def visit_For(self, node: ast.For) -> Any:
        if node.orelse:
            raise self._error(node, _NO_ELSE)
        name = self._fresh()
        targets = names.assigned([node.target])
        assigned = list(dict.fromkeys([*targets, *names.assigned(node.body)]))
        carried = sorted(names.exposed(node.body, targets) & set(assigned))
        jumps = names.jumps(node.body)
        iterable = self._iterable(node.iter)
        begin = self._call(
            node.iter,
            "For",
            iterable,
            self._names(assigned),
            self._names(carried),
            self._names(jumps),
            ast.Constant(_count(node.target)),
            self._locals(),
        )
        body = [*self._named(node.target), *self._loop_body(name, node, jumps)]
        body.append(self._at(node, ast.Expr(self._method(node, name, "leave", self._locals()))))
        loop = ast.For(node.target, ast.Name(name, ast.Load()), body, [])
        return self._loop(node, name, begin, loop, assigned)

    def visit_While(self, node: ast.While) -> Any:
        if node.orelse:
            raise self._error(node, _NO_ELSE)
        jumps = names.jumps(node.body)
        if isinstance(node.test, ast.Constant) and node.test.value and "break" not in jumps:
            raise self._error(
                node.test,
                "this loop never ends: its condition is constant, and there is no `break`; write what ends it",
            )
        name = self._fresh()
        assigned = names.assigned(node.body)
        carried = sorted((names.exposed(node.body) | names.read(node.test)) & set(assigned))
        begin = self._call(
            node.test,
            "While",
            self._later(self.visit(node.test)),
            self._names(assigned),
            self._names(carried),
            self._names(jumps),
            ast.Constant(isinstance(node.test, ast.Constant) and bool(node.test.value)),
            self._locals(),
        )
        body = self._loop_body(name, node, jumps)
        body.append(self._at(node, ast.Expr(self._method(node, name, "leave", self._locals()))))
        loop = ast.While(self._method(node.test, name, "enter"), body, [])
        return self._loop(node, name, begin, loop, assigned)

    def _loop(
        self, node: ast.stmt, name: str, begin: ast.expr, loop: ast.stmt, assigned: Sequence[str]
    ) -> list[ast.stmt]:
        return [
            self._at(node, ast.Assign([ast.Name(name, ast.Store())], begin)),
            self._at(node, loop),
            self._at(node, ast.Expr(self._method(node, name, "close"))),
            *self._restore(node, name, "after", assigned),
        ]

    def _loop_body(self, name: str, node: ast.For | ast.While, jumps: Sequence[str]) -> list[ast.stmt]:
        """Rewrites the body of a loop. Where one can be left, iterations of a loop that Python runs may be skipped."""
        self._loops.append(name)
        body = self._where_it_goes_on(node, node.body) if jumps else self._body(node.body)
        self._loops.pop()
        return body

    def _iterable(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            arguments = [self.visit(a) for a in node.args]
            return self._call(node, "range_loop", node.func, *arguments) if not node.keywords else self.visit(node)
        return self.visit(node)

    def visit_With(self, node: ast.With) -> Any:
        named: list[ast.stmt] = []
        for item in node.items:
            item.context_expr = self.visit(_with_condition(item.context_expr))
            if count := _count(item.optional_vars):
                item.context_expr = self._call(item.context_expr, "Counted", item.context_expr, ast.Constant(count))
            named += self._named(item.optional_vars)
        node.body = [*named, *self._body(node.body)]
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return self._at(node, ast.Assign(node.targets, self._assigned(node, node.targets[0].id, value)))
        if len(node.targets) == 1 and isinstance(target := node.targets[0], ast.Attribute):
            return self._at(node, ast.Expr(self._attribute(node, target, value)))
        if len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple | ast.List):
            node.targets = [self.visit(t) for t in node.targets]
            node.value = value
            return node
        temporary = self._fresh()
        out: list[ast.stmt] = [self._at(node, ast.Assign([ast.Name(temporary, ast.Store())], value))]
        for target in node.targets:
            out += self._unpack(node, target, ast.Name(temporary, ast.Load()))
        return out

    def _attribute(self, node: ast.AST, target: ast.Attribute, value: ast.expr) -> ast.expr:
        """Assigns to an attribute, which may be a variable of the kernel; as in Python the value is evaluated first."""
        return self._call(node, "assign_attribute", value, self.visit(target.value), ast.Constant(target.attr))

    def _unpack(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Assigns to a target piece by piece, so that variables are written to and the rest is bound."""
        if isinstance(target, ast.Name):
            return [self._at(node, ast.Assign([target], self._assigned(node, target.id, value)))]
        if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
            return [self._at(node, ast.Assign([self.visit(target)], value))]
        temporaries = [self._fresh() for _ in target.elts]
        elements = self._call(node, "elements", value)
        unpack = ast.Assign([ast.Tuple([ast.Name(t, ast.Store()) for t in temporaries], ast.Store())], elements)
        out: list[ast.stmt] = [self._at(node, unpack)]
        for element, temporary in zip(target.elts, temporaries, strict=True):
            out += self._unpack(node, element, ast.Name(temporary, ast.Load()))
        return out

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        value = self.visit(node.value)
        is_attribute = isinstance(node.target, ast.Attribute) and isinstance(node.target.value, ast.Name)
        if isinstance(node.target, ast.Attribute) and is_attribute and type(node.op) in _ARITHMETIC:
            old = self._at(node, ast.Attribute(node.target.value, node.target.attr, ast.Load()))
            result = self._call(node, "augmented", ast.Constant(_ARITHMETIC[type(node.op)]), old, value)
            return self._at(node, ast.Expr(self._attribute(node, node.target, result)))
        if not isinstance(node.target, ast.Name):
            node.target = self.visit(node.target)
            node.value = value
            return node
        if type(node.op) not in _ARITHMETIC:
            raise self._error(node, "`@=` is not supported in a kernel function")
        target = ast.Name(node.target.id, ast.Load())
        result = self._call(node, "augmented", ast.Constant(_ARITHMETIC[type(node.op)]), self._at(node, target), value)
        return self._at(node, ast.Assign([node.target], self._assigned(node, node.target.id, result)))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if not isinstance(node.target, ast.Name):
            raise self._error(node, "only names can be annotated in a kernel function")
        name = node.target.id
        if node.value is not None:
            value = self._assigned(node, name, self.visit(node.value))
            return self._at(node, ast.Assign([ast.Name(name, ast.Store())], value))
        if name not in self._parameters:
            raise self._error(node, f"`{name}` is not a parameter: only parameters are annotated without a value")
        annotation = self._later(node.annotation)
        declared = self._call(node, "declare", ast.Constant(name), ast.Name(name, ast.Load()), annotation)
        return self._at(node, ast.Assign([ast.Name(name, ast.Store())], declared))

    def _assigned(self, node: ast.AST, name: str, value: ast.expr) -> ast.expr:
        return self._call(node, "assign", ast.Constant(name), value, self._locals())

    def _named(self, target: ast.expr | None) -> list[ast.stmt]:
        """Tells the values of loop variables and of `with ... as` what they are called."""
        found = names.assigned([target]) if target is not None else []
        return [
            self._at(target, ast.Expr(self._call(target, "name", ast.Constant(n), ast.Name(n, ast.Load()))))
            for n in found
            if target is not None
        ]

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._jump(node, "break") if names.is_loop_break(node) and self._loops else super().generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = self.visit(node.msg) if node.msg else ast.Constant("")
        return self._at(node, ast.Expr(self._call(node, "check", self.visit(node.test), self._later(message))))

    # Expressions -----------------------------------------------------------------------------------------------------

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        branches = (self._later(self.visit(b)) for b in (node.body, node.orelse))
        return self._call(node, "choose", self.visit(node.test), *branches)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        function = "all_of" if isinstance(node.op, ast.And) else "any_of"
        first, *rest = [self.visit(v) for v in node.values]
        return self._call(node, function, first, *(self._later(v) for v in rest))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self._call(node, "negate", self.visit(node.operand))
        return super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1 or any(type(op) not in _COMPARISONS for op in node.ops):
            return super().generic_visit(node)
        arguments: list[ast.expr] = [self.visit(node.left)]
        for op, operand in zip(node.ops, node.comparators, strict=True):
            arguments += [ast.Constant(_COMPARISONS[type(op)]), self._later(self.visit(operand))]
        return self._call(node, "chain", *arguments)

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        lazy = isinstance(function, ast.Attribute) and function.attr == "if_then_else" and len(node.args) == 3
        super().generic_visit(node)
        if lazy and not node.keywords:
            node.args = [node.args[0], *(self._later(a) for a in node.args[1:])]
        if isinstance(function, ast.Name) and function.id in ("min", "max", "print"):
            node.func = self._call(function, "builtin", function)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return super().generic_visit(node)

    def _names(self, found: Sequence[str]) -> ast.expr:
        return ast.Tuple([ast.Constant(n) for n in found], ast.Load())
