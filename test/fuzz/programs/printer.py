"""Writes a program down as Python: a `@T.prim_func`, or a script that runs it and says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import program as ir
from . import turns
from .aliases import with_aliases
from .elements import bits
from .literals import IMPORT, with_types
from .places import with_slots
from .wordings import reworded

_FUNCTIONS = ("min", "max", "ceildiv", "truncdiv", "truncmod", "fmod", "nextafter")


def source(program: ir.Program) -> str:
    """Returns the program as a definition of `fuzzed`, which needs `tilec.language` as `T`."""
    program = with_types(program) if program.by_tilelang else program
    lines = [f'{name} = T.dynamic("{name}")' for name in program.extents()]
    parameters = [_parameter(t) for t in program.tensors] + [f"{s.name}: T.{s.dtype}" for s in program.scalars]
    lines += ["@T.prim_func", "def fuzzed(", *(f"    {p}," for p in parameters), "):"]
    for kernel in program.kernels:
        lines += _kernel(kernel)
    text = with_aliases(with_slots("\n".join(lines) + "\n", program.slots), program)
    return (IMPORT if program.by_tilelang else "") + reworded(text, program.wordings, program.seed)


def _parameter(tensor: ir.Tensor) -> str:
    buffer = tensor.buffer
    computed = {symbol: _extent(symbol, *form) for symbol, _, form in tensor.named_extents()}
    symbols = tensor.symbols or ("",) * len(buffer.shape)
    extents = "".join(f"{computed.get(s, e)}, " for s, e in zip(symbols, buffer.shape, strict=True))
    align = f", align={tensor.align}" if tensor.align != 16 else ""
    if tensor.gap:
        strides = [str(stride) for stride in tensor.strides()]
        if tensor.tells_stride:
            strides[-2] = f'T.dynamic("s_{buffer.name}")'
        return f'{buffer.name}: T.StridedTensor(({extents}), ({", ".join(strides)}), "{buffer.dtype}"{align})'
    return f'{buffer.name}: T.Tensor(({extents}), "{buffer.dtype}"{align})'


def _extent(symbol: str, factor: int, addend: int) -> str:
    """Returns an extent that is computed of a symbol."""
    times = f"{symbol} * {factor}" if factor != 1 else symbol
    return times if not addend else f"{times} {'+' if addend > 0 else '-'} {abs(addend)}"


def _kernel(kernel: ir.Kernel) -> list[str]:
    grid = ", ".join(expr(e) for e in kernel.grid)
    threads = kernel.threads[0] if len(kernel.threads) == 1 else kernel.threads
    names = kernel.names[0] if len(kernel.names) == 1 else f"({', '.join(kernel.names)})"
    order = [f"        T.use_swizzle({kernel.swizzle})"] if kernel.swizzle else []
    if kernel.outside:
        pairs = ", ".join(f"{name}: {expr(value)}" for name, value in kernel.outside.items())
        order.append(f"        T.annotate_safe_value({{{pairs}}})")
    clusters = f", cluster_dims={kernel.cluster}" if kernel.cluster else ""
    return [f"    with T.Kernel({grid}, threads={threads}{clusters}) as {names}:", *order, *block(kernel.body, 2)]


# Statements -----------------------------------------------------------------------------------------------------------


def block(body: list[ir.Stmt], depth: int) -> list[str]:
    """Returns the lines of a list of statements."""
    lines = [line for statement in body for line in _statement(statement, depth)]
    return lines or ["    " * depth + "pass"]


def _statement(statement: ir.Stmt, depth: int) -> list[str]:
    if isinstance(statement, ir.Threads):
        return _threads(statement, depth)
    if isinstance(statement, ir.Exchange):
        return ["    " * depth + line for line in _exchange(statement)]
    if isinstance(statement, ir.Ring):
        value = "" if statement.value is None else expr(statement.value)
        return ["    " * depth + line for line in turns.ring(statement, value)]
    if isinstance(statement, ir.Pipeline):
        return ["    " * depth + line for line in turns.written(statement, lambda body: block(body, 0))]
    lines: list[str] = []
    for body in _compound(statement):
        lines += ["    " * depth + body] if isinstance(body, str) else block(body, depth + 1)
    return lines


def _exchange(exchange: ir.Exchange) -> list[str]:
    other = f"(T.block_rank_in_cluster() + {exchange.shift}) % T.get_cluster_size()"
    side = "src_block" if exchange.pulls else "dst_block"
    copied = f"T.copy_cluster({exchange.source.name}, {exchange.target.name}, {side}={other})"
    behind = ["T.cluster_arrive()", "T.cluster_wait()"] if exchange.split else ["T.cluster_sync()"]
    return [*(["T.cluster_sync()"] if exchange.pulls else []), copied, *behind]


def _threads(statement: ir.Threads, depth: int) -> list[str]:
    indent, shape = "    " * depth, statement.block
    coordinates = [f"T.get_thread_binding({d}) * {math.prod(shape[:d])}" for d in range(1, len(shape))]
    lines = [f"{indent}{statement.name} = {' + '.join(['T.get_thread_binding()', *coordinates])}"]
    store = statement.body[0]
    if not (isinstance(store, ir.Assign) and isinstance(store.value, ir.Combined) and store.value.along):
        return [*lines, *block(statement.body, depth)]
    given, total = f"{statement.name}_given", f"{statement.name}_total"
    combined = store.value
    lines += [f'{indent}{n} = T.alloc_local((1,), "{combined.dtype}")' for n in (given, total)]
    lines.append(f"{indent}{given}[0] = {expr(combined.value, True)}")
    combine = {"add": "x + y", "max": "T.max(x, y)", "xor": "x ^ y"}[combined.function]
    lines.append(f'{indent}with T.attr(T.comm_reducer(lambda x, y: {combine}, [0]), "reduce_scope", None):')
    along = ", ".join(f"T.get_thread_binding({d})" for d in combined.along)
    lines.append(f"{indent}    T.tvm_thread_allreduce(T.uint32(1), {given}[0], True, {total}[0], {along})")
    return [*lines, f"{indent}{_element(store.buffer.name, store.indices)} = {total}[0]"]


def _compound(statement: ir.Stmt) -> list[str | list[ir.Stmt]]:
    """Returns a statement's line, the statements inside of it, and so on."""
    if isinstance(statement, ir.Parallel):
        extents = ", ".join(map(str, statement.extents))
        return [f"for {', '.join(statement.names)} in T.Parallel({extents}):", statement.body]
    if isinstance(statement, ir.Loop):
        return [f"for {statement.name} in {_range(statement)}:", statement.body]
    if isinstance(statement, ir.Persistent):
        options = f"{list(statement.domain)}, {statement.waves}, {expr(statement.index)}, {statement.group}"
        return [f"for {', '.join(statement.names)} in T.Persistent({options}):", statement.body]
    if isinstance(statement, ir.While):
        return [f"while {expr(statement.condition)}:", statement.body]
    if isinstance(statement, ir.If):
        other: list[str | list[ir.Stmt]] = ["else:", statement.other] if statement.other else []
        return [f"if {expr(statement.condition)}:", statement.then, *other]
    return [_simple(statement)]


def _range(loop: ir.Loop) -> str:
    start = "" if loop.start == ir.Const("index", 0) and loop.step == 1 else f"{expr(loop.start)}, "
    if loop.kind == "pipelined":
        return f"T.Pipelined({start}{expr(loop.stop)}, num_stages={loop.stages})"
    function = loop.kind if loop.kind == "range" else f"T.{loop.kind}"
    step = "" if loop.step == 1 else f", {loop.step}"
    return f"{function}({start}{expr(loop.stop)}{step})"


def _simple(statement: ir.Stmt) -> str:
    if isinstance(statement, ir.Alloc):
        return _alloc(statement)
    if isinstance(statement, ir.Let):
        return f"{statement.name} = {expr(statement.value, True)}"
    if isinstance(statement, ir.Assign):
        return f"{_element(statement.buffer.name, statement.indices)} {statement.op}= {expr(statement.value)}"
    if isinstance(statement, ir.Atomic):
        place = _element(statement.buffer.name, statement.indices)
        head, tail = (f"{statement.name} = ", ", return_prev=True") if statement.name else ("", "")
        if statement.order:
            tail += f', memory_order="{statement.order}"'
        if statement.scope:
            tail += f', scope="{statement.scope}"'
        return f"{head}T.atomic_{statement.op}({place}, {expr(statement.value)}{tail})"
    if isinstance(statement, ir.Fill):
        filled = _side(statement.part) if statement.part else statement.buffer.name
        return f"T.clear({filled})" if statement.value is None else f"T.fill({filled}, {expr(statement.value)})"
    if isinstance(statement, ir.Copy):
        return f"T.copy({_side(statement.source)}, {_side(statement.target)})"
    if isinstance(statement, ir.Gemm):
        return _gemm(statement)
    if isinstance(statement, ir.SparseGemm):
        options = ("transpose_a", "transpose_e", "transpose_b", "clear")
        names = ("transpose_A", "transpose_E", "transpose_B", "clear_accum")
        chosen = "".join(f", {n}=True" for n, o in zip(names, options, strict=True) if getattr(statement, o))
        operands = (statement.kept, statement.where, statement.b, statement.c)
        return f"T.gemm_sp({', '.join(b.name for b in operands)}{chosen})"
    if isinstance(statement, ir.Reduce):
        clear = "" if statement.clear else ", clear=False"
        skip = ", nan_propagate=False" if statement.skips_nan else ""
        name = f"T.reduce_{statement.kind}"
        return f"{name}({statement.source.name}, {statement.target.name}, dim={statement.dim}{clear}{skip})"
    if isinstance(statement, ir.Scan):
        into = "" if statement.source == statement.target else f", {statement.target.name}"
        reverse = ", reverse=True" if statement.reverse else ""
        return f"T.{statement.kind}({statement.source.name}{into}, dim={statement.dim}{reverse})"
    if isinstance(statement, ir.Jump):
        return statement.word
    if isinstance(statement, ir.Print):
        place = (
            statement.buffer.name if statement.indices is None else _element(statement.buffer.name, statement.indices)
        )
        return f"T.print({place})"
    assert isinstance(statement, ir.Sync), "every statement is printed"
    return f"T.sync_threads({', '.join(map(str, statement.group or ()))})"


def _alloc(alloc: ir.Alloc) -> str:
    buffer = alloc.buffer
    if buffer.space == "var":
        if isinstance(alloc.value, ir.Const) and alloc.value.style == "silent":
            return f'{buffer.name} = T.alloc_var(dtype="{buffer.dtype}")'
        value = "" if alloc.value is None else f", {expr(alloc.value)}"
        return f'{buffer.name} = T.alloc_var("{buffer.dtype}"{value})'
    extents = "".join(f"{e}, " for e in buffer.shape)
    return f'{buffer.name} = T.alloc_{buffer.space}(({extents}), "{buffer.dtype}")'


def _gemm(gemm: ir.Gemm) -> str:
    options = "".join(
        f", {name}=True"
        for name, is_set in (("transpose_A", gemm.transpose_a), ("transpose_B", gemm.transpose_b))
        if is_set
    )
    if gemm.policy != "Square":
        options += f", policy=T.GemmWarpPolicy.{gemm.policy}"
    if gemm.clear is not False:
        options += f", clear_accum={gemm.clear if gemm.clear is True else expr(gemm.clear)}"
    a, b = (
        tile.name + ("" if box is None else f"[{', '.join(f'{s.start}:{s.stop}' for s in box)}]")
        for tile, box in gemm.factors()
    )
    return f"T.gemm({a}, {b}, {gemm.c.name}{options})"


def _side(side: ir.Side) -> str:
    name = side.buffer.name
    if side.style == "whole":
        return name
    if side.style == "position":
        return f"{name}[{', '.join(expr(o) for o in side.offsets)}]"
    is_index = side.is_index or (False,) * len(side.extents)
    lengths = [
        ir.Const("index", extent) if length is None else length
        for extent, length in zip(side.extents, side.lengths or (None,) * len(side.extents), strict=True)
    ]
    parts = [
        expr(o) if single else f"{expr(o)} : {expr(ir.Binary('+', o, length))}"
        for o, length, single in zip(side.offsets, lengths, is_index, strict=True)
    ]
    return f"{name}[{', '.join(parts)}]"


# Expressions ----------------------------------------------------------------------------------------------------------


def expr(node: ir.Expr, typed: bool = False) -> str:
    """Returns an expression; with `typed`, a constant says its type, because nothing beside it does."""
    return _PRINTERS[type(node)](node, typed)


def _const(node: ir.Const, typed: bool) -> str:
    if isinstance(node.value, float) and not math.isfinite(node.value):
        text = f'T.infinity("{node.dtype}")'
        return text if node.value > 0 else f"(-{text})"
    if (typed or node.style == "typed") and node.dtype != "index" and node.style != "usual":
        return f"T.{node.dtype}({node.value!r})"
    return repr(node.value) if node.value >= 0 else f"({node.value!r})"


def _operands(a: ir.Expr, b: ir.Expr) -> tuple[str, str]:
    """Prints two operands; one of them at least must say the type."""
    if isinstance(a, ir.Cast) and a.mixed and not ir.is_static(b):
        a = a.a
    elif isinstance(a, ir.Cast) and isinstance(b, ir.Const) and b.style == "usual":
        return expr(a.a, True), expr(b)
    elif isinstance(b, ir.Cast) and b.mixed and not ir.is_static(a):
        b = b.a
    is_const = [isinstance(e, ir.Const) for e in (a, b)]
    return expr(a, all(is_const)), expr(b, all(is_const))


def _binary(node: ir.Binary, typed: bool) -> str:
    a, b = _operands(node.a, node.b)
    if node.op in _FUNCTIONS:
        return f"T.{node.op}({a}, {b})"
    return f"({a} {node.op} {b})"


def _unary(node: ir.Unary, typed: bool) -> str:
    a = expr(node.a, True)
    if node.op == "round_away":
        return f'T.round({a}, "ties-away-from-zero")'
    return f"({node.op}{a})" if node.op in ("-", "~") else f"T.{node.op}({a})"


def _logic(node: ir.Logic, typed: bool) -> str:
    if node.b is None:
        return f"(not {expr(node.a, True)})"
    return f"({expr(node.a, True)} {node.op} {expr(node.b, True)})"


def _select(node: ir.Select, typed: bool) -> str:
    condition = expr(node.condition, True)
    if node.how == "python":  # where the condition is a constant, only one of the two is there
        return f"({expr(node.a, True)} if {condition} else {expr(node.b, True)})"
    a, b = _operands(node.a, node.b)
    return f"T.{'Select' if node.how == 'both' else 'if_then_else'}({condition}, {a}, {b})"


def _compare(node: ir.Compare, typed: bool) -> str:
    a, b = _operands(node.a, node.b)
    return f"({a} {node.op} {b})"


def _cast(node: ir.Cast, typed: bool) -> str:
    return expr(node.a, True) if node.implicit else f'T.cast({expr(node.a, True)}, "{node.dtype}")'


def _element(name: str, indices: tuple[ir.Expr, ...]) -> str:
    return f"{name}[{', '.join(expr(i) for i in indices)}]" if indices else name


def _load(node: ir.Load, typed: bool) -> str:
    buffer = node.buffer
    if not node.word:
        return _element(buffer.name, node.indices)
    *outer, last = node.indices
    first = ir.Binary("-", last, ir.Const("index", node.number)) if node.number else last
    read = f"T.ld{buffer.space[0]}{node.word}({_element(buffer.name, (*outer, first))})"
    count = node.word // bits(buffer.dtype)
    lanes, taken = (f"x{count}", f"[{node.number}]") if count > 1 else ("", "")
    return f'T.reinterpret({read}, "{buffer.dtype}{lanes}"){taken}'


_PRINTERS: dict[type, Callable[..., str]] = {
    ir.Const: _const,
    ir.Name: lambda node, typed: node.name,
    ir.Load: _load,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Cast: _cast,
    ir.Select: _select,
    ir.Rounded: lambda node, typed: (
        f'T.ieee_{node.function}({", ".join(expr(o, True) for o in node.operands)}, "{node.mode}")'
    ),
    ir.Shuffled: lambda node, typed: f"T.{node.function}({expr(node.value, True)}, {node.number})",
    ir.Combined: lambda node, typed: f"T.{node.function}({expr(node.value, True)})",
}
