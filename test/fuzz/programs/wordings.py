"""Says programs in other words that mean the same, by the rules of the language.

Each wording rewrites the text of a program where it can, at some of the places, so that programs with names that other
compilers know, with pointers, views and hints are held to the reference of the program without them. What is chosen
depends on the program's seed only, and a wording can be left out to make a finding small.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .elements import ALL, PACKED, bits


def wordings() -> tuple[str, ...]:
    """Returns the names of all wordings."""
    return tuple(_WORDINGS)


def draw_wordings(rng: random.Random) -> tuple[str, ...]:
    """Returns some of those that are for all programs."""
    return tuple(rng.sample([n for n in wordings() if n not in ("loops", "clusters")], rng.choice((1, 1, 2, 3))))


def reworded(source: str, chosen: tuple[str, ...], seed: int) -> str:
    """Returns the text of a program in other words."""
    if not chosen:
        return source
    tree = ast.parse(source)
    for name in (n for n in wordings() if n in chosen):
        _WORDINGS[name](random.Random(f"{seed} {name}")).visit(tree)
        ast.fix_missing_locations(tree)
    return ast.unparse(tree) + "\n"


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _name_of(node: ast.AST) -> str:
    """Returns `copy` of `T.copy`, or "" of what is no name of the language."""
    is_name = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "T"
    return node.attr if is_name else ""


def called(node: ast.AST) -> str:
    """Returns `copy` of `T.copy(...)`, or ""."""
    return _name_of(node.func) if isinstance(node, ast.Call) else ""


def _kernel_bodies(function: ast.AST) -> list[list[ast.stmt]]:
    return [
        n.body for n in ast.walk(function) if isinstance(n, ast.With) and called(n.items[0].context_expr) == "Kernel"
    ]


class _Wording(ast.NodeTransformer):
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def _chance(self) -> bool:
        return self._rng.random() < 0.5


# Other names ----------------------------------------------------------------------------------------------------------

_SAME = {
    "copy": ("async_copy",),
    "gemm": ("wgmma_gemm", "wgmma_mma"),
    "gemm_sp": ("wgmma_gemm_sp",),
    "serial": ("Serial",),
    "unroll": ("Unroll",),
    "max": ("Max",),
    "min": ("Min",),
    "ceildiv": ("cdiv",),
    "alloc_shared": ("alloc_buffer", "allocate"),
}
"""What else names of the language are called."""

_TYPES = {
    "bool": ("bool_",),
    "int8": ("char",),
    "int16": ("short",),
    "int32": ("int",),
    "int64": ("long",),
    "uint8": ("uchar",),
    "uint16": ("ushort",),
    "uint32": ("uint",),
    "uint64": ("ulong",),
    "float16": ("half",),
    "float32": ("float",),
    "float64": ("double",),
    "float8_e4m3": ("float8_e4m3fn",),
}


_SHUFFLES = {
    "shfl_sync": "tvm_warp_shuffle",
    "shfl_up": "tvm_warp_shuffle_up",
    "shfl_down": "tvm_warp_shuffle_down",
}
"""Functions of values, and the same with their arguments in another order."""


class _Names(_Wording):
    """Calls things by the other names that they have."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = called(node)
        if name in _SAME and self._chance() and isinstance(node.func, ast.Attribute):
            node.func.attr = self._rng.choice(_SAME[name])
        elif name == "get_thread_binding" and not node.args and self._chance():
            return _expression("T.get_thread_bindings()[0]")
        elif name in _SHUFFLES and len(node.args) == 2 and self._chance():
            function = _expression(f"T.{_SHUFFLES[name]}")
            return ast.Call(function, [ast.Constant(0xFFFFFFFF), *node.args, ast.Constant(32), ast.Constant(32)], [])
        elif name in ("ieee_mul", "ieee_fmaf") and ast.unparse(node.args[-1]) == "'rn'" and self._chance():
            function = {"ieee_mul": "fmul", "ieee_fmaf": "fma"}[name]
            return ast.Call(_expression(f"T.{function}"), node.args[:-1], [])
        elif name == "min" and len(node.args) == 2 and called(node.args[0]) == "max" and self._chance():
            inner = node.args[0]
            assert isinstance(inner, ast.Call), "it is `T.max`"
            return ast.Call(_expression("T.clamp"), [*inner.args, node.args[1]], [])
        elif name == "cast" and self._chance():
            return ast.Call(_expression("T.Cast"), [node.args[1], node.args[0]], node.keywords)
        elif name.startswith("reduce_") and self._chance():
            kind = ast.Constant(name.removeprefix("reduce_"))
            return ast.Call(_expression("T.reduce"), [*node.args, kind], node.keywords)
        elif name == "cumsum" and len(node.args) == 2 and self._chance():
            node.keywords.append(ast.keyword("dst", node.args.pop()))
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if node.value not in ALL or not isinstance(node.value, str) or not self._chance():
            return node
        return _expression(f"T.{self._rng.choice((node.value, *_TYPES.get(node.value, ())))}")


_OPERATORS: dict[type, str] = {
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
}


class _Operators(_Wording):
    """Calls functions in the place of operators, and asks conditions in other words; no side of one has an effect."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = _OPERATORS.get(type(node.op))
        if name is None or not self._chance():
            return node
        return ast.Call(_expression(f"T.{name}"), [node.left, node.right], [])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        names = {ast.Not: "Not", ast.Invert: "bitwise_not"}
        name = names.get(type(node.op))
        return ast.Call(_expression(f"T.{name}"), [node.operand], []) if name and self._chance() else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if not self._chance():
            return node
        names = ("And", "all") if isinstance(node.op, ast.And) else ("Or", "any")
        name = self._rng.choice(names) if len(node.values) == 2 else names[1]
        return ast.Call(_expression(f"T.{name}"), node.values, [])

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self._chance():
            node.test = ast.Call(_expression("T.likely"), [node.test], [])
        return node


class _Blocks(_Wording):
    """Writes branches and loops as blocks that are entered."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        leaves = _leaves(node)
        self.generic_visit(node)
        if leaves or not self._chance():
            return node
        entered = ast.With([ast.withitem(ast.Call(_expression("T.If"), [node.test], []))], node.body)
        other = [ast.With([ast.withitem(_expression("T.Else()"))], node.orelse)] if node.orelse else []
        if self._chance():
            entered.body = [ast.With([ast.withitem(_expression("T.Then()"))], node.body), *other]
            return entered
        return [entered, *other]

    def visit_While(self, node: ast.While) -> ast.AST:
        leaves = _leaves(node)
        self.generic_visit(node)
        if leaves or not self._chance():
            return node
        is_plain = isinstance(node.test, ast.Compare | ast.BoolOp) and self._chance()
        test = node.test if is_plain else ast.Lambda(_arguments(), node.test)
        return ast.With([ast.withitem(ast.Call(_expression("T.While"), [test], []))], node.body)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return _statements("T.loop_break()")[0] if self._chance() else node

    def visit_For(self, node: ast.For) -> ast.AST:
        leaves = _leaves(node)
        self.generic_visit(node)
        call = node.iter
        if isinstance(call, ast.Call) and called(call) == "serial" and len(call.args) == 1 and not leaves:
            call.func = _expression(self._rng.choice(("T.grid", "T.serial")))
        return node


def _leaves(node: ast.AST) -> bool:
    """Whether something in a statement leaves a loop, which is one of Python's then."""
    return any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(node))


def _arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


# Other declarations ---------------------------------------------------------------------------------------------------


class _Pointers(_Wording):
    """Passes tensors as pointers, of which the body makes tensors."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        made: list[ast.stmt] = []
        for argument in node.args.args:
            kind = argument.annotation
            if not isinstance(kind, ast.Call) or called(kind) != "Tensor" or not self._chance():
                continue
            name, (shape, dtype) = argument.arg, kind.args
            argument.arg = f"{name}_pointer"
            what, function = self._rng.choice((("ptr", "make_tensor"), ("handle", "match_buffer")))
            argument.annotation = _expression(f"T.{what}")
            call = ast.Call(_expression(f"T.{function}"), [ast.Name(argument.arg), shape, dtype], [])
            if kind.keywords:
                call.func = _expression("T.match_buffer")
                call.keywords = kind.keywords
            made.append(ast.Assign([ast.Name(name, ast.Store())], call))
        node.body = [*made, *node.body]
        return node


class _Views(_Wording):
    """Allocates tiles in another shape, or of another type, as wide or half of that, and works on a view of them."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        call, target = node.value, node.targets[0]
        is_tile = called(call) in ("alloc_shared", "alloc_fragment", "alloc_local")
        if not is_tile or not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or not self._chance():
            return node
        shape, dtype = call.args
        if not isinstance(shape, ast.Tuple) or not isinstance(dtype, ast.Constant):
            return node
        extents = [ast.literal_eval(e) for e in shape.elts]
        other, kept = self._other_shape(extents), ast.unparse(shape)
        size = bits(str(dtype.value))
        view = f"T.reshape({target.id}_memory, {kept})"
        if str(dtype.value) not in ("bool", *PACKED) and self._rng.random() < 0.3:
            view = f'T.view({target.id}_memory, {kept}, "{dtype.value}")'
            if size in (16, 32, 64) and self._chance():
                other, size = (*other[:-1], other[-1] * 2), size // 2
            call.args[1] = ast.Constant(f"int{size}")
        call.args[0] = _expression(repr(other))
        return [ast.Assign([ast.Name(f"{target.id}_memory", ast.Store())], call), *_statements(f"{target.id} = {view}")]

    def _other_shape(self, extents: list[int]) -> tuple[int, ...]:
        total = 1
        for extent in extents:
            total *= extent
        divisors = [d for d in (1, 2, 3, 4, 8, 16, 32) if total % d == 0]
        first = self._rng.choice(divisors)
        return (total,) if self._chance() else (first, total // first)


class _Coordinates(_Wording):
    """Asks for the coordinates of the block where they are needed."""

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        names = node.items[0].optional_vars
        if called(node.items[0].context_expr) != "Kernel" or names is None:
            return node
        listed = names.elts if isinstance(names, ast.Tuple) else [names]
        asked = [f"{ast.unparse(n)} = T.get_block_binding({d})" for d, n in enumerate(listed)]
        if self._chance():
            asked = [f"{', '.join(ast.unparse(n) for n in listed)}, = T.get_block_bindings()[:{len(listed)}]"]
        node.items[0].optional_vars = None
        node.body = [*_statements("\n".join(asked)), *node.body]
        return node


@dataclass
class _Vector:
    """Variables of one type that become the numbers of a vector; some of its numbers are nobody's."""

    name: str
    type: str
    lanes: int
    numbers: dict[str, int]
    """Which number each variable is."""
    is_assigned: bool = True
    """Whether all of the variables begin with a value."""
    is_in_parallel: bool = False
    begun: list[int] = field(default_factory=list)
    """The numbers of those that have been declared."""


class _Vectors(_Wording):
    """Makes variables numbers of vectors, which are also assigned as a whole."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._vectors: dict[str, _Vector] = {}
        self._is_in_parallel = False
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse"):
            if isinstance(body := getattr(node, name, None), list):
                self._vectors |= self._draw(body)
        return super().generic_visit(node)

    def _draw(self, body: list[ast.stmt]) -> dict[str, _Vector]:
        """Returns vectors of what is declared in one list of statements, by the names of the variables."""
        vectors: dict[str, _Vector] = {}
        open_: dict[str, _Vector] = {}  # by the type of its numbers
        for statement in body:
            call = statement.value if isinstance(statement, ast.Assign) else None
            if called(call or statement) != "alloc_var" or not isinstance(call, ast.Call) or self._rng.random() < 0.1:
                continue
            if not call.args:  # it begins with zero by itself, which others of the vector may not
                continue
            name, dtype = ast.unparse(statement.targets[0]), str(ast.literal_eval(call.args[0]))
            vector = open_.get(dtype)
            if vector is None or len(vector.numbers) == vector.lanes or self._rng.random() < 0.3:
                lanes = self._rng.randint(2, 4)
                vector = open_[dtype] = _Vector(f"{name}_vector", dtype, lanes, {})
            vector.numbers[name] = self._rng.choice(sorted({*range(vector.lanes)} - {*vector.numbers.values()}))
            vector.is_assigned &= len(call.args) > 1
            vectors[name] = vector
        return vectors

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        target = node.targets[0]
        vector = self._vectors.get(target.id) if isinstance(target, ast.Name) else None
        if vector is None or not isinstance(target, ast.Name):
            return self.generic_visit(node)
        if isinstance(node.value, ast.Call) and called(node.value) == "alloc_var":
            return self._begin(vector, vector.numbers[target.id], [self.visit(a) for a in node.value.args[1:]])
        # In a parallel loop an assignment makes all of the vector each iteration's own, and undefined behind the loop.
        is_own = self._is_in_parallel == vector.is_in_parallel
        if not vector.is_assigned or not is_own or not self._chance():
            return self.generic_visit(node)
        value = ast.unparse(self.visit(node.value))
        numbers = [f"{vector.name}[{k}]" if k in vector.begun else "0" for k in range(vector.lanes)]
        numbers[vector.numbers[target.id]] = value
        return _statements(f"{vector.name} = T.{vector.type}x{vector.lanes}({', '.join(numbers)})")

    def _begin(self, vector: _Vector, number: int, init: list[ast.expr]) -> list[ast.stmt]:
        """Returns what declares a vector, unless it is, and gives one of its numbers a value, if it has one."""
        first = ast.unparse(init[0]) if init else ""
        lines: list[str] = []
        if not vector.begun:
            vector.is_in_parallel = self._is_in_parallel
            everywhere = f", {first}" if first and self._chance() else ""
            lines.append(f'{vector.name} = T.alloc_var("{vector.type}x{vector.lanes}"{everywhere})')
            first = "" if everywhere else first
        if first:
            lines.append(f"{vector.name}[{number}] = {first}")
        vector.begun.append(number)
        return _statements("\n".join(lines))

    def visit_For(self, node: ast.For) -> ast.AST:
        outer = self._is_in_parallel
        self._is_in_parallel |= called(node.iter) == "Parallel"
        made = self.generic_visit(node)
        self._is_in_parallel = outer
        return made

    def visit_Name(self, node: ast.Name) -> ast.AST:
        vector = self._vectors.get(node.id)
        if vector is None:
            return node
        return ast.Subscript(ast.Name(vector.name), ast.Constant(vector.numbers[node.id]), node.ctx)


# Loops ----------------------------------------------------------------------------------------------------------------


class _Loops(_Wording):
    """Writes parallel loops as loops in each other, whose indices begin anywhere, and leaves iterations by `continue`;
    and puts loops beside them that run nothing.
    """

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        call, targets = node.iter, node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if called(call) != "Parallel" or not isinstance(call, ast.Call) or len(call.args) != len(targets):
            return node
        if not all(isinstance(a, ast.Constant) for a in call.args) or not all(isinstance(t, ast.Name) for t in targets):
            return node
        names, extents = [ast.unparse(t) for t in targets], [int(ast.literal_eval(a)) for a in call.args]
        empty = self._empty(node, extents) if self._rng.random() < 0.2 else []
        if self._chance():
            node.body = self._with_jumps(node.body)
        cuts = sorted(self._rng.sample(range(1, len(names)), self._rng.randrange(len(names))))
        body = node.body
        for first, last in reversed(list(zip([0, *cuts], [*cuts, len(names)], strict=True))):
            body = self._level(names[first:last], extents[first:last], body)
        return [*empty, *body]

    def _level(self, names: list[str], extents: list[int], body: list[ast.stmt]) -> list[ast.stmt]:
        """Returns one loop of a nest, in which there may be a jump in front of the body."""
        begin = self._rng.choice((0, 0, 1, 7)) if len(names) == 1 and self._chance() else None
        variables = ", ".join(names)
        head = f"for {variables} in T.Parallel({', '.join(map(str, extents))}):"
        if begin is not None:
            bounds = f"{begin}, {begin + extents[0]}" if begin or self._chance() else f"{extents[0]}"
            head = f"for {variables} in T.parallel({bounds}):"
        made = _statements(f"{head}\n    pass")
        loop = made[0]
        assert isinstance(loop, ast.For), "it is the text of one"
        own = f"({variables} - {begin})" if begin else variables
        if begin:
            body = [_Renamed(variables, own).visit(statement) for statement in body]
        if self._rng.random() < 0.2:  # of a part of the loop that has no iterations
            own = own if len(names) == 1 else names[0]
            body = [*_statements(f"if {own} * 3 + 1 > {extents[0] * 3 + 1}:\n    continue"), *body]
        loop.body = body
        return made

    def _with_jumps(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Returns the body of a loop with a jump in the place of a branch, or behind it."""
        last = body[-1]
        if isinstance(last, ast.If) and not last.orelse and self._chance():
            leave = ast.If(ast.UnaryOp(ast.Not(), last.test), [ast.Continue()], [])
            return [*body[:-1], leave, *last.body]
        return [*body, ast.Continue()]

    def _empty(self, node: ast.For, extents: list[int]) -> list[ast.stmt]:
        """Returns a loop like another one without iterations, if none of its statements assigns a variable."""
        if not all(isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript) for s in node.body):
            return []
        made = copy.deepcopy(node)
        zero = self._rng.randrange(len(extents))
        assert isinstance(made.iter, ast.Call), "it is a loop of the language"
        made.iter.args[zero] = ast.Constant(self._rng.choice((0, 0, -3)))
        return [made]


class _Renamed(ast.NodeTransformer):
    """Puts an expression in the place of a name."""

    def __init__(self, name: str, value: str) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _expression(self._value) if node.id == self._name else node


# Clusters -------------------------------------------------------------------------------------------------------------


class _Clusters(_Wording):
    """Says in other words where blocks are, and has barriers say when tiles have come."""

    def visit_With(self, node: ast.With) -> ast.AST:
        call = node.items[0].context_expr
        dims = (
            next((k.value for k in call.keywords if k.arg == "cluster_dims"), None)
            if isinstance(call, ast.Call)
            else None
        )
        if called(call) != "Kernel" or not isinstance(call, ast.Call) or dims is None:
            return node
        extents = ast.literal_eval(dims)
        threads = next(k.value for k in call.keywords if k.arg == "threads")
        self._ranks = ["T.block_rank_in_cluster()"]
        rank, begun = "0", "0"
        for d, extent in reversed(list(enumerate(extents))):
            at = f"T.get_block_binding({d})"
            rank = f"({rank}) * {extent} + {at} % T.get_cluster_dims()[{d}]"
            begun = f"({begun}) * {extent} + {at} - T.get_cluster_id({d}) * {extent}"
        many = re.sub(r"T.get_cluster_id\((\d)\)", r"T.get_cluster_ids()[\1]", begun)
        last = r"T.min(T.get_cluster_id(\1), T.get_cluster_extent(\1) - 1)"
        fewer = re.sub(r"T.get_cluster_id\((\d)\)", last, begun)
        again = fewer.replace("T.get_cluster_extent(0)", "T.get_cluster_extents()[0]")
        self._ranks += [rank, begun, many, fewer, again]
        self._threads = ast.unparse(threads)
        if self._chance():
            call.func = _expression("T.ClusterKernel")
        barriers: list[ast.stmt] = []
        body: list[ast.stmt] = []
        for statement in node.body:
            body += self._said(statement, body, barriers)
        node.body = [*barriers, *body]
        if barriers:  # where a barrier is must be seen to follow from the block's number in the cluster
            self._ranks = self._ranks[:2]
        return self.generic_visit(node)

    def _said(self, statement: ast.stmt, before: list[ast.stmt], barriers: list[ast.stmt]) -> list[ast.stmt]:
        """Returns a statement of a kernel, or what a barrier has to do with what comes behind a copy."""
        what = called(statement.value) if isinstance(statement, ast.Expr) else ""
        copied = before[-1] if before else statement
        call = copied.value if isinstance(copied, ast.Expr) else None
        if what == "cluster_arrive" and self._chance():
            return _statements("T.cluster_arrive_relaxed()")
        if what != "cluster_sync" or called(call or statement) != "copy_cluster" or not self._chance():
            return [statement]
        assert isinstance(call, ast.Call), "it is the copy in front"
        name, other = f"came_{len(barriers)}", call.keywords[0]
        block = ast.unparse(other.value)
        if other.arg == "dst_block" and self._chance():
            call.keywords.append(ast.keyword("remote_barrier", ast.Name(name)))
            count, arrivals = "1", []
        else:
            arrive = self._rng.choice(("T.mbarrier_arrive({}, {})", "T.ptx_arrive_cluster_barrier({}, {})"))
            count, arrivals = f"T.get_thread_extent(0) * {self._rest()}", _statements(arrive.format(name, block))
        made = f"{name} = T.alloc_cluster_barrier({count})"
        if self._chance():
            made = f"{name} = T.alloc_cluster_barrier(7)\nT.ptx_init_barrier_thread_count({name}, {count})"
        barriers += _statements(made)
        return [*arrivals, *_statements(f"T.mbarrier_wait_parity({name}, 0)")]

    def _rest(self) -> str:
        """Returns how many threads a block has for each along the first dimension."""
        threads = ast.literal_eval(self._threads)
        return str(1 if isinstance(threads, int) else threads[1] * (threads[2] if len(threads) > 2 else 1))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = called(node)
        if name == "block_rank_in_cluster":
            return _expression(self._rng.choice(self._ranks))
        if name == "get_cluster_size" and self._chance():
            dims = "T.get_cluster_dims()"
            return _expression(f"({dims}[0] * {dims}[1] * {dims}[2])")
        return node


# Other statements -----------------------------------------------------------------------------------------------------


class _Words(_Wording):
    """Writes elements as words, and copies tiles word by word or by copies of a few elements."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._types: dict[str, str] = {}
        self._tiles: dict[str, tuple[int, ...]] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.arg) and isinstance(inner.annotation, ast.Call):
                self._note(inner.arg, inner.annotation)
            elif isinstance(inner, ast.Assign) and called(inner.value) == "alloc_shared":
                tile, call = inner.targets[0], inner.value
                if isinstance(tile, ast.Name) and isinstance(call, ast.Call):
                    self._note(tile.id, call)
                    self._tiles[tile.id] = ast.literal_eval(call.args[0])
        return self.generic_visit(node)

    def _note(self, name: str, call: ast.Call) -> None:
        if len(call.args) == 2 and isinstance(call.args[1], ast.Constant):
            self._types[name] = str(call.args[1].value)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return node
        name = target.value.id
        dtype = self._types.get(name, "bool")
        is_plain = not isinstance(node.value, ast.Constant | ast.UnaryOp)
        if dtype == "bool" or bits(dtype) not in (32, 64) or not is_plain or not self._chance():
            return node
        space = "s" if name in self._tiles else "g"
        place: ast.expr = ast.Subscript(target.value, target.slice, ast.Load())
        if self._chance():
            place = ast.Call(_expression("T.address_of"), [place], [])
        value = ast.Call(_expression("T.cast"), [node.value, ast.Constant(dtype)], [])
        return ast.Expr(ast.Call(_expression(f"T.st{space}{bits(dtype)}"), [place, value], []))

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        call = node.value
        if called(call) != "copy" or not isinstance(call, ast.Call) or not self._chance():
            return node
        source, target = call.args
        if isinstance(source, ast.Subscript) and isinstance(target, ast.Name):
            return self._by_words(source, target, is_load=True) or node
        if isinstance(source, ast.Name) and isinstance(target, ast.Subscript):
            return self._by_words(target, source, is_load=False) or node
        return node

    def _by_words(self, place: ast.Subscript, tile: ast.Name, *, is_load: bool) -> list[ast.stmt] | None:
        """Returns the copy between a tile and the part of a tensor that begins at a place; None if it is another."""
        shape = self._tiles.get(tile.id)
        tensor = ast.unparse(place.value)
        offsets = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
        dtype = self._types.get(tile.id, "bool")
        if shape is None or dtype in ("bool", *PACKED) or self._types.get(tensor) != dtype or tensor in self._tiles:
            return None
        if len(offsets) < len(shape) or any(isinstance(o, ast.Slice) for o in offsets):
            return None
        widths = [w for w in (32, 64, 128) if w >= bits(dtype) and shape[-1] % (w // bits(dtype)) == 0]
        if not widths:
            return None
        width = self._rng.choice(widths)
        lanes = width // bits(dtype)
        names = [f"{tile.id}_{d}" for d in range(len(shape))]
        extents = (*shape[:-1], shape[-1] // lanes)
        own = [*names[:-1], f"{names[-1]} * {lanes}"]
        lead = len(offsets) - len(shape)
        theirs = [ast.unparse(o) for o in offsets[:lead]]
        theirs += [f"({ast.unparse(o)}) + {i}" for o, i in zip(offsets[lead:], own, strict=True)]
        inside, outside = f"{tile.id}[{', '.join(own)}]", f"{tensor}[{', '.join(theirs)}]"
        body = f"T.stg{width}({outside}, T.lds{width}({inside}))"
        if is_load and self._chance():
            body = (
                f'T.ptx_cp_async(T.access_ptr({inside}, "w", {lanes}), T.access_ptr({outside}, "r", {lanes}), {lanes})'
            )
        elif is_load:
            body = f"T.sts{width}(T.address_of({inside}), T.ldg{width}({outside}))"
        loop = f"for {', '.join(names)} in T.Parallel({', '.join(map(str, extents))}):\n    {body}"
        return _statements(loop)


_IN_FRONT = (
    "T.annotate_restrict_buffers()",
    "T.annotate_min_blocks_per_sm(1)",
    'T.annotate_compile_flags(["-O3"])',
    'T.annotate_pass_configs({"tl.disable_tma_lower": True})',
    "T.annotate_producer_reg_dealloc(24)",
    "T.annotate_consumer_reg_alloc(240)",
    "T.no_set_max_nreg()",
    "T.disable_warp_group_reg_alloc()",
    "T.pdl_sync()",
)

_BETWEEN = (
    "T.pdl_sync()",
    "T.pdl_trigger()",
    "T.ptx_commit_group()",
    "T.ptx_wait_group(0)",
    "T.wait_wgmma(0)",
    "T.warpgroup_arrive()",
    "T.warpgroup_commit_batch()",
    "T.warpgroup_wait(0)",
    "T.fence_proxy_async()",
    "T.set_max_nreg(240, 1)",
    "T.inc_max_nreg(240)",
    "T.dec_max_nreg(24)",
    "T.tma_store_arrive()",
    "T.tma_store_wait()",
)


_OF_TENSORS = ("annotate_l2_hit_ratio({{{}: 0.5}})", "annotate_safe_value({{{}: 0}})")


class _Hints(_Wording):
    """Adds hints, which change nothing (S8), to kernels, and layouts to their tiles."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        tensors = [a.arg for a in ast.walk(node) if isinstance(a, ast.arg) and called(a.annotation or a) == "Tensor"]
        for body in _kernel_bodies(node):
            front = [self._rng.choice(_IN_FRONT), *self._layouts(body)]
            # A program's own numbers for what is outside stay.
            if tensors and not any("annotate_safe_value" in ast.unparse(s) for s in body):
                front.append(f"T.{self._rng.choice(_OF_TENSORS).format(self._rng.choice(tensors))}")
            for _ in range(self._rng.randint(0, 4)):
                place = self._rng.randint(0, len(body))
                body[place:place] = _statements(self._rng.choice(_BETWEEN))
            allocated = [i for i, s in enumerate(body) if "T.alloc_" in ast.unparse(s)]
            place = allocated[-1] + 1 if allocated else 0
            if self._chance():
                front.append(self._schedule(body, place))
            body[place:place] = _statements("\n".join(front))
        return node

    def _schedule(self, body: list[ast.stmt], first: int) -> str:
        """Gives names to statements from `first` on, and returns a hint that shares them among two roles."""
        roles: dict[str, list[str]] = {"fill": [], "read": []}
        for number, statement in enumerate(body[first:], first):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(statement, ast.For | ast.If) and called(call or statement) not in ("copy", "gemm"):
                continue
            name = f"step{number}"
            self._rng.choice(list(roles.values())).append(name)
            if isinstance(call, ast.Call) and self._chance():
                call.keywords.append(ast.keyword("annotations", _expression(f'{{T.WSID: "{name}"}}')))
            else:
                body[number] = ast.With([ast.withitem(_expression(f'T.ws_op("{name}")'))], [statement])
        tiles = [
            ast.unparse(s.targets[0]) for s in body if isinstance(s, ast.Assign) and called(s.value) == "alloc_shared"
        ]
        made = '[T.WSRole("fill", warps_lo=0, warps_hi=1), T.WSRole("read", warps_lo=4, warps_hi=8)]'
        bodies = (
            f'{{"fill": [T.WSSync.producer_acquire("ring"), *{roles["fill"]}, T.WSSync.producer_commit("ring")], '
            f'"read": [T.WSSync.consumer_wait("ring"), *{roles["read"]}, T.WSSync.consumer_release("ring")]}}'
        )
        scopes = f"[T.WSScope(T.WSScope.ROOT, {bodies})]"
        ring = f'[T.WSPipeline("ring", [{", ".join(tiles)}], depth=2)]'
        return f"T.annotate_ws_schedule(T.WSSchedule(8, {made}, {ring}, {scopes}))"

    def _layouts(self, body: list[ast.stmt]) -> list[str]:
        """Returns hints for the tiles that a kernel allocates first."""
        hints: list[str] = []
        for statement in body:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call) or not self._chance():
                continue
            kind, name = called(statement.value), ast.unparse(statement.targets[0])
            if kind not in ("alloc_shared", "alloc_fragment") or not isinstance(statement.value.args[0], ast.Tuple):
                continue
            extents = [ast.literal_eval(e) for e in statement.value.args[0].elts]
            if kind == "alloc_fragment":
                hints.append(f"T.warpgroup_fence_operand({name})")
                hints.append(f"T.annotate_layout({{{name}: T.make_fully_replicated_layout_fragment({name}, 32)}})")
                continue
            names = "ijkl"[: len(extents)]
            backwards = ", ".join(f"{e - 1} - {n}" for n, e in zip(names, extents, strict=True))
            layouts = [
                f"T.Layout({extents}, lambda {', '.join(names)}: ({backwards},))",
                f"T.make_linear_layout({name})",
            ]
            if len(extents) == 2:
                layouts.append(f"T.make_swizzled_layout({name})")
            hints.append(f"T.annotate_layout({{{name}: {self._rng.choice(layouts)}}})")
        return hints


_WORDINGS: dict[str, Callable[[random.Random], ast.NodeTransformer]] = {
    "vectors": _Vectors,
    "names": _Names,
    "operators": _Operators,
    "blocks": _Blocks,
    "coordinates": _Coordinates,
    "words": _Words,
    "hints": _Hints,
    "views": _Views,
    "pointers": _Pointers,
    "loops": _Loops,
    "clusters": _Clusters,
}
"""All of them, in the order in which they are applied."""
