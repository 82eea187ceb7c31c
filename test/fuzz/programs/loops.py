"""Draws the bodies of `T.Parallel`: scalar programs of an iteration, free of races by how their stores are placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .elements import is_float, is_unsigned
from .expressions import Expressions, Index, Scope, const
from .program import (
    Alloc,
    Assign,
    Binary,
    Buffer,
    Cast,
    Compare,
    Const,
    Expr,
    If,
    Jump,
    Let,
    Load,
    Loop,
    Name,
    Parallel,
    Stmt,
    While,
    is_static,
)


@dataclass
class Target:
    """What a loop writes: a buffer, or the block's part of a tensor, which begins at `base`."""

    buffer: Buffer
    base: tuple[Expr, ...]
    extents: tuple[int, ...]


class Bodies:
    """Draws loops over elements."""

    def __init__(self, expressions: Expressions, fresh: Callable[[str], str]) -> None:
        self._e = expressions
        self._fresh = fresh
        self._borrowed: set[str] = set()
        """Variables of the kernel that the loop which is drawn assigns."""

    def parallel(self, targets: list[Target], scope: Scope, is_defined: bool) -> Parallel:
        """Returns a loop that writes every element of `targets`, which have equal extents, once.

        `is_defined`: whether they have been written before, so that a loop may read them or leave elements out.
        """
        e = self._e
        extents = targets[0].extents
        order = list(range(len(extents)))
        is_free = e.features.fragments_anywhere or all(t.buffer.space != "fragment" for t in targets)
        if is_free and e.chance(0.25):
            e.rng.shuffle(order)
        box = [extents[d] for d in order]
        names = [self._fresh("i") for _ in box]
        inner = scope.inner(in_parallel=True)
        inner.indices += [Index(Name("index", n), 0, x - 1) for n, x in zip(names, box, strict=True)]
        variables: list[Expr] = [const(0)] * len(extents)
        for name, dimension in zip(names, order, strict=True):
            index = Name("index", name)
            variables[dimension] = self._mirrored(index, extents[dimension]) if is_free else index
        for target in targets:
            inner.own[target.buffer.name] = self._place(target, variables)
            inner.tiles = [t for t in inner.tiles if t.name != target.buffer.name]
            if is_defined:
                inner.tiles.append(target.buffer)
        chosen = self._another_dimension(names, box, inner) if is_free and e.chance(0.06) else None
        body = self._body(targets, inner, is_defined, chosen)
        e.spent |= self._borrowed
        return Parallel(tuple(names), tuple(box), body)

    def _another_dimension(self, names: list[str], box: list[int], scope: Scope) -> Expr:
        """Adds a dimension that no store uses; returns the condition that one of its indices does the stores."""
        e = self._e
        extent, name = e.rng.randint(1, 8), self._fresh("i")
        position = e.rng.randint(0, len(names))
        names.insert(position, name)
        box.insert(position, extent)
        scope.indices.append(Index(Name("index", name), 0, extent - 1))
        return Compare("==", Name("index", name), const(e.rng.randrange(extent)))

    def _mirrored(self, name: Name, extent: int) -> Expr:
        return Binary("-", const(extent - 1), name) if self._e.chance(0.06) else name

    @staticmethod
    def _place(target: Target, variables: list[Expr]) -> tuple[Expr, ...]:
        out: list[Expr] = []
        for base, variable in zip(target.base, variables, strict=True):
            out.append(variable if base == const(0) else Binary("+", base, variable))
        return tuple(out)

    # Bodies -----------------------------------------------------------------------------------------------------------

    def _body(self, targets: list[Target], scope: Scope, is_defined: bool, chosen: Expr | None) -> list[Stmt]:
        e = self._e
        body: list[Stmt] = []
        self._borrowed = set()
        for _ in range(e.rng.choice((0, 0, 0, 1, 1, 2))):
            self._prelude(body, scope)
        stores = [s for target in targets for s in self._stores(target, scope, is_defined)]
        return [*body, *(stores if chosen is None else [If(chosen, stores)])]

    def _prelude(self, body: list[Stmt], scope: Scope) -> None:
        """Adds something that the stores then may use."""
        features = self._e.features
        draws: list[Callable[[list[Stmt], Scope], None]] = [self._let]
        if features.variables:
            draws += [self._variable, self._borrow]
            if features.inner_loops:
                draws.append(self._accumulate)
            if features.while_loops:
                draws.append(self._while)
        if features.local_arrays and features.inner_loops:
            draws.append(self._array)
        self._e.pick(draws)(body, scope)

    def _let(self, body: list[Stmt], scope: Scope) -> None:
        dtype = self._scalar()
        value = self._e.value(dtype, scope, 2)
        if is_static(value):
            return
        name = Name(dtype, self._fresh("x"))
        self._remember(name.name, value)
        body.append(Let(name.name, value))
        scope.values.append(name)

    def _remember(self, name: str, value: Expr) -> None:
        self._e.fuzzy.add(name)  # a product may be contracted, so its value has bounds

    def _scalar(self) -> str:
        return self._e.pick(("float32", "int32", "float16", "int64", "int8", "float32"))

    def _variable(self, body: list[Stmt], scope: Scope) -> None:
        e = self._e
        dtype = self._scalar()
        variable = Buffer(self._fresh("v"), dtype, (1,), "var")
        e.fuzzy.add(variable.name)
        body.append(Alloc(variable, e.constant(dtype)))
        store: Stmt = Assign(variable, (), e.value(dtype, scope, 2))
        scope.tiles.append(variable)
        if e.features.branches and e.chance(0.6):
            other: list[Stmt] = []
            if e.chance(0.5):
                other.append(Assign(variable, (), e.value(dtype, scope, 1), self._op(dtype)))
            store = If(e.condition(scope, 1), [store], other)
        body.append(store)

    def _borrow(self, body: list[Stmt], scope: Scope) -> None:
        """Assigns to a variable of the kernel, which is then the iteration's own (P3)."""
        e = self._e
        known = [b for b in scope.tiles if b.space == "var" and b.name[0] == "w" and b.name not in e.spent]
        if known and not scope.in_loop:
            variable = e.pick(known)
            e.fuzzy.add(variable.name)
            body.append(Assign(variable, (), e.value(variable.dtype, scope, 2), e.pick(("", self._op(variable.dtype)))))
            self._borrowed.add(variable.name)

    def _op(self, dtype: str) -> str:
        return self._e.pick(("+", "-")) if is_float(dtype) else self._e.pick(("+", "-", "^"))

    def _accumulate(self, body: list[Stmt], scope: Scope) -> None:
        """Adds up in a variable, in a loop whose bounds may depend on the iteration."""
        e = self._e
        dtype = self._scalar()
        variable = Buffer(self._fresh("v"), dtype, (1,), "var")
        e.fuzzy.add(variable.name)
        body.append(Alloc(variable, e.constant(dtype)))
        loop, inner = self._loop(scope)
        value = e.value(dtype, inner, 1)
        loop.body.append(Assign(variable, (), value, self._op(dtype)))
        if e.features.jumps and e.chance(0.35):
            jump = If(e.condition(inner, 1), [Jump(e.pick(("break", "continue")))])
            loop.body.insert(e.rng.randint(0, 1), jump)
        body.append(loop)
        scope.tiles.append(variable)

    def _loop(self, scope: Scope) -> tuple[Loop, Scope]:
        e = self._e
        name = self._fresh("k")
        limit = e.rng.randint(1, 5)
        stop: Expr = const(limit)
        kind = e.pick(("serial", "range", "unroll") if e.features.unrolled else ("serial", "range"))
        if kind != "unroll" and e.chance(0.4):
            bound = e.inside(limit + 1, scope, 1)
            stop = bound
        inner = scope.inner()
        inner.indices.append(Index(Name("index", name, kind == "unroll"), 0, limit - 1))
        return Loop(kind, name, const(0), stop, []), inner

    def _while(self, body: list[Stmt], scope: Scope) -> None:
        """Counts down in a variable."""
        e = self._e
        dtype = e.pick(("int32", "int64", "int8", "uint8" if e.features.unsigned else "int16"))
        count = Buffer(self._fresh("v"), dtype, (1,), "var")
        result = Buffer(self._fresh("v"), "int32", (1,), "var")
        start = e.value(dtype, scope.inner(is_fuzzy=False), 1)
        if is_static(start):
            return
        body.append(Alloc(count, Binary("%", start, Const(dtype, e.rng.randint(2, 7)))))
        body.append(Alloc(result, e.constant("int32")))
        inner = scope.inner()
        inner.tiles += [count, result]
        step: Stmt = Assign(count, (), Const(dtype, 1), "-")
        if e.chance(0.4):
            step = Assign(count, (), Binary("//", Load(count), Const(dtype, 2)))
        added_value = e.value("int32", inner.inner(is_fuzzy=False), 1)
        work: Stmt = Assign(result, (), added_value, e.pick(("+", "-", "^")))
        inside = [work, step]
        if e.features.jumps and e.chance(0.3):
            word = e.pick(("break", "continue"))
            # `continue` behind the step: the loop ends in any case.
            chosen = e.condition(inner.inner(is_fuzzy=False), 1)
            inside = [step, If(chosen, [Jump(word)]), work]
        body.append(While(Compare(">", Load(count), Const(dtype, 0)), inside))
        scope.tiles.append(result)

    def _array(self, body: list[Stmt], scope: Scope) -> None:
        """Fills a local array in a loop, to be read at any index, and writes to it at one that may be outside."""
        e = self._e
        dtype = self._scalar()
        array = Buffer(self._fresh("L"), dtype, (e.rng.randint(1, 6),), "local")
        e.fuzzy.add(array.name)
        body.append(Alloc(array))
        name = self._fresh("k")
        kind = e.pick(("serial", "unroll") if e.features.unrolled else ("serial",))
        index = Name("index", name, kind == "unroll")
        inner = scope.inner()
        inner.indices.append(Index(index, 0, array.shape[0] - 1))
        store = Assign(array, (index,), e.value(dtype, inner, 1))
        body.append(Loop(kind, name, const(0), const(array.shape[0]), [store]))
        anywhere = e.anywhere(array.shape[0], scope)
        # That all iterations assign to an element of their own is refused.
        if e.chance(0.5) and not is_static(anywhere) and not isinstance(anywhere, Name):
            body.append(Assign(array, (anywhere,), e.value(dtype, scope, 1)))
        scope.tiles.append(array)

    # Stores -----------------------------------------------------------------------------------------------------------

    def _stores(self, target: Target, scope: Scope, is_defined: bool) -> list[Stmt]:
        e = self._e
        buffer = target.buffer
        place = scope.own[buffer.name]
        if buffer.dtype != "bool":
            e.fuzzy.add(buffer.name)

        def store(depth: int) -> Stmt:
            can_update = is_defined and e.features.read_modify_write and buffer.dtype in ("float32", "int32", "int16")
            if can_update and e.chance(0.2):
                return Assign(buffer, place, e.value(buffer.dtype, scope, depth), self._op(buffer.dtype))
            return Assign(buffer, place, self._stored(buffer.dtype, scope, depth))

        if not e.features.branches or e.chance(0.7):
            return [store(3)]
        if is_defined and e.chance(0.4):
            return [If(e.condition(scope, 2), [store(2)])]
        first: list[Stmt] = [store(2)]
        second: list[Stmt] = [store(2)]
        if e.chance(0.2):
            second = [If(e.condition(scope, 1), [store(1)], [store(1)])]
        return [If(e.condition(scope, 2), first, second)]

    def _stored(self, dtype: str, scope: Scope, depth: int) -> Expr:
        """Returns the value of a store, which may leave its conversion to the language."""
        e = self._e
        if dtype in ("float16", "bfloat16", "float32") and e.chance(0.15):
            return Cast(dtype, e.value("float32" if dtype != "float32" else "float16", scope, depth), implicit=True)
        if dtype.removeprefix("u").startswith("int") and e.chance(0.15):
            other = e.pick(("int32", "int64", "int8"))
            if other != dtype and not (is_unsigned(dtype) and not e.features.unsigned):
                value = e.value(other, scope, depth)
                return value if is_static(value) and value.dtype == dtype else self._implicit(dtype, value)
        return e.value(dtype, scope, depth)

    @staticmethod
    def _implicit(dtype: str, value: Expr) -> Expr:
        return Cast(dtype, value, implicit=not is_static(value))
