"""What rewritten functions call: Python's control flow, for values that are known now and for values of the kernel.

Where everything is known, each of these does what Python does. Where a value of the kernel decides, it builds the
operation, and watches the names that are assigned in it: tracing runs a body once, so a name that carries a value from
one iteration to the next, or out of a branch, would silently be wrong. Such uses are errors.
"""

from __future__ import annotations

import builtins
import operator

from .. import values
from ..buffers import Buffer, Var
from ..builder import advice, current, current_or_none, unsupported
from ..errors import ArgumentError, TLSyntaxError
from ..language import loops, scalar
from ..language.choices import choose as choose
from ..language.choices import is_speculatable, join, splice, trace
from ..operators import Operators
from ..typed import TYPE_CHECKING
from ..types import TensorType
from ..values import Expr, Lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    _Locals = Mapping[str, Any]

_MISSING = object()


# Names ---------------------------------------------------------------------------------------------------------------


def assign(name: str, value: Any, scope: _Locals) -> Any:
    """Returns what `name` is to be bound to; an assignment to a variable of the kernel writes to it."""
    builder = current_or_none()
    if builder is None:
        return value
    builder.assignments[name] = builder.here()
    old = scope.get(name)
    fresh = isinstance(value, Var) and not value.is_bound
    if isinstance(old, Var) and not fresh:
        if value is not old:
            old.set(value)
        return old
    if isinstance(value, Var) and not fresh:
        value = value.load()
    if isinstance(value, Var):
        value.is_bound = True
        _hint(value.buffer, name)
    else:
        _hint(value, name)
    return value


def elements(value: Iterable[Any]) -> list[Any]:
    """Returns what an assignment to several targets unpacks; variables are read before any of them is written."""
    return [v.load() if isinstance(v, Var) and v.is_bound else v for v in value]


def name(name: str, value: Any) -> None:
    """Notes what the program calls a loop variable or coordinate."""
    _hint(value, name)


def _hint(value: Any, name: str) -> None:
    if isinstance(value, Buffer) or (isinstance(value, Expr) and value.const is None):
        target = value.value
        if not target.hint or target in target.block.arguments:
            target.hint = name


def declare(name: str, value: Any, annotation: Any) -> Any:
    """Gives a tensor that an eager function was called with its type."""
    from .eager import EagerTensor

    if isinstance(annotation, TensorType) and not isinstance(value, EagerTensor | Buffer | Expr):
        raise ArgumentError(f"`{name}` must be a tensor, not `{value!r}`", location=current().here())
    if not isinstance(value, EagerTensor):
        raise TLSyntaxError(
            f"`{name}` has a type already: annotations without a value are for the tensors of eager functions",
            location=current().here(),
        )
    return value.declare(annotation)


class _Watch:
    """Compares the names that a construct assigns before and after."""

    def __init__(self, construct: str, assigned: Sequence[str], scope: _Locals) -> None:
        self.construct = construct
        self.assigned = assigned
        self.entry = dict(scope)

    def has_changed(self, name: str, scope: _Locals) -> bool:
        before, after = self.entry.get(name, _MISSING), scope.get(name, _MISSING)
        if before is after:
            return False
        plain = (int, float, bool, str)
        return not (type(before) is type(after) and isinstance(before, plain) and before == after)

    def lost(self, name: str) -> Lost:
        return Lost(name, self.construct, current().assignments.get(name))

    def merged(self, scopes: Iterable[_Locals]) -> tuple[Any, ...]:
        """Returns the names' bindings after the construct."""
        ends = list(scopes)
        return tuple(
            self.lost(n) if n not in self.entry or any(self.has_changed(n, end) for end in ends) else self.entry[n]
            for n in self.assigned
        )

    def reject_carried(self, carried: Iterable[str], scope: _Locals) -> None:
        """Raises if a name brings a value from one iteration to the next."""
        for n in carried:
            if n in self.entry and self.has_changed(n, scope):
                remedy = f"make it before the loop with `{n} = T.alloc_var(dtype, value)`"
                raise TLSyntaxError(
                    f"`{n}` carries a value from one iteration of {self.construct} to the next; "
                    f"{advice(self.construct, remedy)}",
                    location=current().assignments.get(n) or current().here(),
                )


# Jumps ---------------------------------------------------------------------------------------------------------------


def enter_function() -> int:
    """Returns a mark for `jump`."""
    builder = current_or_none()
    return len(builder.control) if builder else 0


_INSTEAD = {
    "break": "write a `while` loop with a variable in its condition, such as `while k < n and not found:`",
    "continue": "put the rest of the body into an `if` with the opposite condition",
    "return": "assign the result to a variable (`T.alloc_var`), or use `T.if_then_else`, and put the rest into an `if`",
}


def jump(word: str, mark: int = 0) -> None:
    """Raises if a `break`, `continue` or `return` would leave a construct of the kernel."""
    builder = current_or_none()
    if builder is None:
        return
    while len(builder.control) > mark:
        construct = builder.control[-1]
        if construct.is_staged:
            raise unsupported(f"`{word}` cannot leave {construct.construct} of the kernel; {_INSTEAD[word]}")
        if word != "return":
            return
        builder.control.pop()


def check(chosen: Any, message: Callable[[], Any]) -> None:
    """Implements `assert`, which is evaluated when the kernel is built."""
    found = values.condition(chosen)
    if isinstance(found, Expr):
        raise unsupported("`assert` is evaluated when the kernel is built, and this is known only when it runs")
    if not found:
        raise TLSyntaxError(str(message()), location=current().here())


# Branches ------------------------------------------------------------------------------------------------------------


class Branch:
    """An `if` statement."""

    construct = "an `if`"

    def __init__(self, chosen: Any, assigned: Sequence[str], scope: _Locals) -> None:
        found = values.condition(chosen)
        self.is_staged = isinstance(found, Expr)
        self._found = found
        self._watch = _Watch(self.construct, assigned, scope if self.is_staged else {})
        self._ends: list[_Locals] = []
        self._frame: loops.If | loops.Else

    def enter(self, side: bool) -> bool:
        """Returns whether the branch is to be executed now."""
        if not self.is_staged:
            return self._found is side
        self._frame = loops.If(self._found) if side else loops.Else()
        self._frame.__enter__()
        current().control.append(self)
        return True

    def leave(self, scope: _Locals) -> None:
        """Ends a branch."""
        if self.is_staged:
            current().control.pop()
            self._frame.__exit__(None)
            self._ends.append(dict(scope))

    def before(self, _: _Locals) -> tuple[Any, ...]:
        """Returns the names' bindings at the beginning of the second branch."""
        entry = self._watch.entry
        return tuple(entry[n] if n in entry else self._watch.lost(n) for n in self._watch.assigned)

    def after(self, _: _Locals) -> tuple[Any, ...]:
        """Returns the names' bindings after the statement."""
        return self._watch.merged(self._ends)


# Loops ---------------------------------------------------------------------------------------------------------------


class For:
    """A `for` statement: over a loop of the kernel, or over anything that Python can iterate over."""

    def __init__(
        self, iterable: Any, assigned: Sequence[str], carried: Sequence[str], targets: Sequence[str], scope: _Locals
    ) -> None:
        if isinstance(iterable, Lost):
            iterable.fail()
        if isinstance(iterable, Operators):
            raise unsupported(f"a number cannot be iterated over: write `for ... in range({iterable!r})`")
        self._iterable = iterable
        self.is_staged = isinstance(iterable, loops.Loop)
        self.construct = f"`{iterable.label}`" if isinstance(iterable, loops.Loop) else "a loop"
        self._watch = _Watch(self.construct, assigned, scope if self.is_staged else {})
        self._carried = carried
        self._depth = _control_depth()

    def __iter__(self) -> Iterator[Any]:
        if (builder := current_or_none()) is not None:
            builder.control.append(self)
        if not isinstance(self._iterable, loops.Loop):
            yield from self._iterable
            return
        value = self._iterable.__enter__()
        yield value
        self._iterable.__exit__(None)

    def leave(self, scope: _Locals) -> None:
        """Ends the body."""
        if self.is_staged:
            self._watch.reject_carried(self._carried, scope)

    def close(self) -> None:
        """Ends the loop, however it was left."""
        _close_control(self._depth)

    def after(self, scope: _Locals) -> tuple[Any, ...]:
        """Returns the names' bindings after the loop."""
        return self._watch.merged([scope])


class While:
    """A `while` statement."""

    construct = "`while`"

    def __init__(
        self, test: Callable[[], Any], assigned: Sequence[str], carried: Sequence[str], scope: _Locals
    ) -> None:
        self._test = test
        self.is_staged = False
        self._is_done = False
        self._watch = _Watch(self.construct, assigned, scope)
        self._carried = carried
        self._depth = _control_depth()
        self._frame: loops.While | None = None

    def enter(self) -> bool:
        """Returns whether the body is to be executed now."""
        builder = current_or_none()
        if builder is None:
            return bool(self._test())
        if self._frame is not None:
            self._frame.__exit__(None)
            return False
        block, found = trace(builder, lambda: values.condition(self._test()), "the condition of a loop")
        _close_control(self._depth)
        builder.control.append(self)
        if not isinstance(found, Expr):
            splice(builder, block)
            return found
        self.is_staged = True
        self._frame = loops.While(self._test)
        self._frame.open(block, found)
        return True

    def leave(self, scope: _Locals) -> None:
        """Ends the body."""
        if self.is_staged:
            self._watch.reject_carried(self._carried, scope)

    def close(self) -> None:
        """Ends the loop, however it was left."""
        _close_control(self._depth)

    def after(self, scope: _Locals) -> tuple[Any, ...]:
        """Returns the names' bindings after the loop."""
        return self._watch.merged([scope])


def _control_depth() -> int:
    builder = current_or_none()
    return len(builder.control) if builder else 0


def _close_control(depth: int) -> None:
    if (builder := current_or_none()) is not None:
        del builder.control[depth:]


def range_loop(function: Any, *bounds: Any) -> Any:
    """Returns what `for ... in range(...)` iterates over: a loop of the kernel, inside of one."""
    builder = current_or_none()
    if function is not builtins.range:
        return function(*bounds)
    if builder is None or builder.kernel_block is None:
        return range(*(values.static_int(b, "a bound of a loop outside of a kernel") for b in bounds))
    return loops.serial(*bounds)


# Conditions ----------------------------------------------------------------------------------------------------------


def all_of(first: Any, *rest: Callable[[], Any]) -> Any:
    """Implements `and`."""
    for later in rest:
        found = values.condition(first) if isinstance(first, Operators) else first
        if isinstance(found, Expr):
            first = _combine(found, later, "and")
        elif not found:
            return first
        else:
            first = later()
    return first


def any_of(first: Any, *rest: Callable[[], Any]) -> Any:
    """Implements `or`."""
    for later in rest:
        found = values.condition(first) if isinstance(first, Operators) else first
        if isinstance(found, Expr):
            first = _combine(found, later, "or")
        elif found:
            return first
        else:
            first = later()
    return first


def _combine(found: Expr, later: Callable[[], Any], op: str) -> Any:
    builder = current()
    traced = trace(builder, lambda: values.condition(later()), "a condition")
    block, other = traced
    if all(is_speculatable(o) for o in block.ops):
        splice(builder, block)
        if isinstance(other, bool):
            return found if other is (op == "and") else other
        return values.binary(op, found, other)
    skipped = (builder.new_block("a condition"), op == "or")
    return join(builder, found, traced, skipped) if op == "and" else join(builder, found, skipped, traced)


def negate(value: Any) -> Any:
    """Implements `not`."""
    found = values.condition(value) if isinstance(value, Operators) else value
    return values.binary("xor", found, True) if isinstance(found, Expr) else not found


def chain(left: Any, *rest: Any) -> Any:
    """Implements `a < b < c`, with each operand evaluated once."""
    result: Any = True
    for op, later in zip(rest[::2], rest[1::2], strict=True):
        right = later()
        found = values.binary(op, left, right) if _is_staged(left, right) else getattr(operator, op)(left, right)
        if isinstance(result, Expr) or isinstance(found, Expr):
            result = found if result is True else values.binary("and", result, found)
        elif not found:
            return found
        left = right
    return result


def _is_staged(*operands: Any) -> bool:
    return any(isinstance(o, Operators) for o in operands)


_AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd, "sub": operator.isub, "mul": operator.imul, "div": operator.itruediv,
    "floordiv": operator.ifloordiv, "mod": operator.imod, "pow": operator.ipow, "and": operator.iand,
    "or": operator.ior, "xor": operator.ixor, "shl": operator.ilshift, "shr": operator.irshift,
}  # fmt: skip


def augmented(op: str, value: Any, other: Any) -> Any:
    """Implements `value += other` and its kin."""
    return _AUGMENTED[op](value, other)


def builtin(function: Any) -> Any:
    """Returns what `min` or `max` is for values of the kernel."""
    known = {builtins.min: scalar.min, builtins.max: scalar.max}
    staged = known.get(function) if function in (builtins.min, builtins.max) else None
    if staged is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return staged(*args) if len(args) > 1 and not kwargs and _is_staged(*args) else function(*args, **kwargs)

    return call
