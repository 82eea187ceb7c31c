"""What rewritten functions call: Python's control flow, for values that are known now and for values of the kernel.

Where everything is known, each of these does what Python does. Where a value of the kernel decides, it builds the
operation, and watches the names that are assigned in it: tracing runs a body once, so a name that carries a value from
one iteration to the next, or out of a branch, would silently be wrong. Such uses are errors.
"""

from __future__ import annotations

import builtins
import operator

from .. import values
from ..barriers import Barriers
from ..buffers import Buffer, Reference, Region, Var, VectorVar
from ..builder import advice, current, current_or_none, unsupported
from ..errors import ArgumentError, TLSyntaxError, UnsupportedError
from ..expr import shortened
from ..ir import Block
from ..language import loops, scalar, tile
from ..language.choices import choose as choose
from ..language.choices import is_speculatable, join, splice, trace
from ..language.prints import device_assert
from ..operators import Operators
from ..typed import TYPE_CHECKING, cast
from ..types import TensorType, as_tuple
from ..values import Expr, Lost
from ..vectors import Vector

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
    if isinstance(old, Var | VectorVar) and _is_of_ended_kernel(old, builder.block):
        old = None  # the next kernel may have another thing of that name
    if isinstance(value, Reference) and value is not old:
        value = value.load()
    fresh = isinstance(value, Var | VectorVar) and not value.is_bound
    if isinstance(old, Var | VectorVar | Reference) and not fresh:
        if value is not old:
            old.set(value)
        return old
    if isinstance(value, Var | VectorVar) and not fresh:
        value = value.load()
    if isinstance(value, Var | VectorVar):
        value.is_bound = True
        for variable in value.variables if isinstance(value, VectorVar) else (value,):
            _hint(variable.buffer, name)
    else:
        _hint(value, name)
    return value


def _is_of_ended_kernel(variable: Var | VectorVar, block: Block) -> bool:
    first = variable.variables[0] if isinstance(variable, VectorVar) else variable
    kernel = next((around for around in first.buffer.value.block.ancestors() if around.is_kernel), None)
    return kernel is not None and not kernel.is_visible_from(block)


def assign_attribute(value: Any, holder: Any, name: str) -> None:
    """Assigns to an attribute; one that is a variable of the kernel is written to."""
    if isinstance(holder, Buffer | Region | Operators | Vector):
        raise TLSyntaxError(
            f"`{name}` is assigned to as an attribute of `{shortened(holder)}`, which does not change: assign to "
            f"elements, as in `S[i, j] = x`, to a number of a vector, `v[0] = x`, or to a variable, `v = x`",
            location=current().here(),
        )
    old = getattr(holder, name, None)
    fresh = isinstance(value, Var | VectorVar) and not value.is_bound
    if isinstance(old, Var | VectorVar) and not fresh and current_or_none() is not None:
        if value is not old:
            old.set(value)
        return
    if isinstance(value, Reference) or (isinstance(value, Var | VectorVar) and not fresh):
        value = value.load()
    if isinstance(value, Var | VectorVar):
        value.is_bound = True
    setattr(holder, name, value)


def elements(value: Iterable[Any]) -> list[Any]:
    """Returns what an assignment to several targets unpacks; variables are read before any of them is written."""
    return [
        v.load() if isinstance(v, Reference) or (isinstance(v, Var | VectorVar) and v.is_bound) else v for v in value
    ]


def name(name: str, value: Any) -> None:
    """Notes what the program calls a loop variable or coordinate."""
    _hint(value, name)


def _hint(value: Any, name: str) -> None:
    if isinstance(value, Barriers):
        value.name = value.name or name
    if isinstance(value, Buffer) or (isinstance(value, Expr) and value.const is None):
        target = value.value
        if not target.hint or target in target.block.arguments:
            target.hint = name


def declare(name: str, value: Any, annotated: Callable[[], Any]) -> Any:
    """Gives a tensor that an eager function was called with its type, in which `annotated` has extents, not numbers."""
    from .eager import EagerTensor

    with current().annotating():
        annotation = annotated()
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
                remedy = (
                    f"tiles do not change names while the kernel runs: give one a dimension more, `{n}[k % 2, ...]`, "
                    f"or loop by `T.unroll`"
                    if isinstance(self.entry[n], Buffer)
                    else f"make it before the loop with `{n} = T.alloc_var(dtype, value)`"
                )
                raise TLSyntaxError(
                    f"`{n}` carries a value from one iteration of {self.construct} to the next; "
                    f"{advice(self.construct, remedy)}",
                    location=current().assignments.get(n) or current().here(),
                )


def check_count(value: Any, count: int, label: str) -> None:
    """Raises unless a loop or kernel gives as many numbers as names take it apart."""
    given = len(cast("Sequence[Any]", value)) if isinstance(value, tuple) else 1
    if count and value is not None and count != given:
        raise TLSyntaxError(
            f"`{label}` gives {given} number{'s' if given > 1 else ''} here, for as many extents, and {count} names "
            f"take them: give as many extents as names",
            location=current().here(),
        )


class Counted:
    """What a `with` enters whose value so many names take apart."""

    def __init__(self, frame: Any, count: int) -> None:
        self._frame = frame
        self._count = count

    def __enter__(self) -> Any:
        value = self._frame.__enter__()
        label = getattr(self._frame, "label", None)
        if not isinstance(label, str):
            return value
        check_count(value, self._count, label)
        return as_tuple(value) if self._count == 1 else value

    def __exit__(self, *exception: Any) -> Any:
        return self._frame.__exit__(*exception)


# Jumps ---------------------------------------------------------------------------------------------------------------


def enter_function() -> int:
    """Returns a mark for `jump`."""
    builder = current_or_none()
    return len(builder.control) if builder else 0


def jump(word: str, mark: int = 0) -> None:
    """Raises if a `return` would leave a construct of the kernel."""
    builder = current_or_none()
    if builder is None:
        return
    while len(builder.control) > mark:
        construct = builder.control[-1]
        if construct.is_staged:
            raise unsupported(
                f"`{word}` cannot leave {construct.construct} of the kernel; assign the result to a variable "
                f"(`T.alloc_var`), or use `T.if_then_else`, and put the rest into an `if`"
            )
        builder.control.pop()


class _Jumps:
    """The jumps of a loop that only the kernel knows to be taken: variables that say so.

    What stands behind a jump is executed where its variable is unset. A loop of the kernel that can be left is left
    when the variable of `break` is set; of one that Python runs the other iterations are skipped. That is what the jump
    means, exactly: nothing of an iteration is executed behind it, and no condition or iteration after it.
    """

    def __init__(self, construct: _Loop) -> None:
        self._construct = construct
        self._flags: dict[str, Var] = {}
        self._taken: set[str] = set()
        """Those that may have been taken before the statement that is being built."""
        builder = current_or_none()
        self._place = (builder.block, len(builder.block.ops)) if builder else None

    def flag(self, word: str) -> Var:
        """Returns the variable of a jump, which is made in front of the loop and begins unset."""
        if word not in self._flags:
            assert self._place is not None, "the loop is the kernel's"
            block, place = self._place
            # Constants of the block may stand further below, so that none is shared.
            made = Block(None, block.label, is_kernel=True)
            with current().inside(made):
                self._flags[word] = flag = tile.alloc_var("bool", False)
            flag.is_bound = True
            for op in made.ops:
                for value in op.results:
                    value.block = block
            block.ops[place:place] = made.ops
        return self._flags[word]

    def begin_iteration(self) -> None:
        """Unsets what says that the rest of an iteration is skipped."""
        if "continue" in self._flags:
            self._flags["continue"].set(False)
        self._taken.discard("continue")
        if self._construct.is_staged:
            self._taken.discard("break")

    def take(self, word: str) -> bool:
        """Takes a jump of the kernel; returns whether Python has to jump instead."""
        builder = current_or_none()
        if builder is None:
            return True
        around = builder.control
        inside = around[around.index(self._construct) + 1 :] if self._construct in around else []
        if not self._construct.is_staged and not any(construct.is_staged for construct in inside):
            return True
        if isinstance(self._construct, While) and not self._construct.is_staged:
            raise unsupported(
                f"`{word}` under a condition of the kernel cannot leave a `while` whose condition is known when the "
                f"kernel is built: write `while True`, or keep what it depends on in a `T.alloc_var`"
            )
        self.flag(word).set(True)
        self._taken.add(word)
        return False

    def goes_on(self) -> Any:
        """Returns whether no jump has been taken."""
        out: Any = True
        for word in sorted(self._taken):
            unset = negate(self._flags[word])
            out = unset if out is True else values.binary("and", out, unset)
        return out


def check(chosen: Any, message: Callable[[], Any]) -> None:
    """Implements `assert`: now if it is known now, else as `T.device_assert` does."""
    found = values.condition(chosen)
    if isinstance(found, Expr):
        device_assert(found, str(message()))
    elif not found:
        raise TLSyntaxError(str(message()) or "this assertion does not hold", location=current().here())


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

    def reject_raise(self) -> None:
        """Raises if the kernel decides whether a `raise` in a branch is executed."""
        if self.is_staged:
            raise UnsupportedError(
                "`raise` in a branch that only the running kernel decides is not supported: nothing is raised while a "
                "kernel runs; write `T.device_assert(condition)`",
                location=current().here(),
            )

    def before(self, _: _Locals) -> tuple[Any, ...]:
        """Returns the names' bindings at the beginning of the second branch."""
        entry = self._watch.entry
        return tuple(entry[n] if n in entry else self._watch.lost(n) for n in self._watch.assigned)

    def after(self, _: _Locals) -> tuple[Any, ...]:
        """Returns the names' bindings after the statement."""
        return self._watch.merged(self._ends)


# Loops ---------------------------------------------------------------------------------------------------------------


class _Loop:
    """What `for` and `while` have in common: how they are left, and which names are bound behind them."""

    def __init__(
        self,
        construct: str,
        assigned: Sequence[str],
        carried: Sequence[str],
        jumps: Sequence[str],
        scope: _Locals,
        *,
        is_staged: bool,
    ) -> None:
        self.construct = construct
        self.is_staged = is_staged
        self._words = jumps
        self._jumps = _Jumps(self)
        self._watch = _Watch(construct, assigned, scope)
        self._carried = carried
        self._depth = _control_depth()

    def jump(self, word: str) -> bool:
        """Takes a `break` or `continue`; returns whether Python has to do it."""
        return self._jumps.take(word)

    def goes_on(self) -> Any:
        """Returns whether what follows a jump is executed."""
        return self._jumps.goes_on()

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


def _is_number(value: Any) -> bool:
    """Whether a value is a number of the kernel, and no loop."""
    return isinstance(value, Operators) and type(value).__iter__ is Operators.__iter__


class For(_Loop):
    """A `for` statement: over a loop of the kernel, or over anything that Python can iterate over."""

    def __init__(
        self,
        iterable: Any,
        assigned: Sequence[str],
        carried: Sequence[str],
        jumps: Sequence[str],
        count: int,
        scope: _Locals,
    ) -> None:
        if isinstance(iterable, Lost):
            iterable.fail()
        if isinstance(iterable, int | float) or _is_number(iterable):
            raise unsupported(f"a number cannot be iterated over: write `for ... in range({iterable!r})`")
        is_staged = isinstance(iterable, loops.Loop)
        construct = f"`{iterable.label}`" if is_staged else "a loop"
        super().__init__(construct, assigned, carried, jumps, scope if is_staged else {}, is_staged=is_staged)
        self._iterable = iterable
        self._count = count

    def __iter__(self) -> Iterator[Any]:
        if (builder := current_or_none()) is not None:
            builder.control.append(self)
        if not isinstance(self._iterable, loops.Loop):
            for value in self._iterable:
                self._jumps.begin_iteration()
                yield value
            return
        loop = self._iterable
        if "break" in self._words:
            loop = loops.until(loop, lambda: negate(self._jumps.flag("break")))
        value = loop.__enter__()
        check_count(value, self._count, self._iterable.label)
        if self._count == 1:
            value = as_tuple(value)
        if "continue" in self._words:
            self._jumps.flag("continue")
        self._jumps.begin_iteration()
        yield value
        loop.__exit__(None)


class While(_Loop):
    """A `while` statement."""

    def __init__(
        self,
        test: Callable[[], Any],
        assigned: Sequence[str],
        carried: Sequence[str],
        jumps: Sequence[str],
        is_endless: bool,
        scope: _Locals,
    ) -> None:
        super().__init__("`while`", assigned, carried, jumps, scope, is_staged=False)
        self._test = self._first_test = test
        self._is_endless = is_endless and current_or_none() is not None and current().kernel_block is not None
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
        if "break" in self._words and (isinstance(found, Expr) or self._is_endless):
            self._test = self._until_left
            block, found = trace(builder, lambda: values.condition(self._test()), "the condition of a loop")
        _close_control(self._depth)
        builder.control.append(self)
        if not isinstance(found, Expr):
            splice(builder, block)
            return found
        self.is_staged = True
        self._frame = loops.While(self._test)
        self._frame.open(block, found)
        if "continue" in self._words:
            self._jumps.flag("continue")
        self._jumps.begin_iteration()
        return True

    def _until_left(self) -> Any:
        """The condition of a loop that can be left: then it is not evaluated again."""
        return all_of(negate(self._jumps.flag("break")), self._first_test)


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
    """Returns what `min`, `max` or `print` is for values of the kernel."""
    if function is builtins.print:
        return _print
    known = {builtins.min: scalar.min, builtins.max: scalar.max}
    staged = known.get(function) if function in (builtins.min, builtins.max) else None
    if staged is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return staged(*args) if len(args) > 1 and not kwargs and _is_staged(*args) else function(*args, **kwargs)

    return call


def _print(*args: Any, **kwargs: Any) -> None:
    """Python's `print`, which runs when the kernel is built.

    Programs for TileLang print values of the kernel to see what they are made of; other programs mean `T.print`.
    """
    import re

    builder = current_or_none()
    for value in args:
        shown = re.search(r"<\w+ value[^<>]*>", value) if isinstance(value, str) else None
        is_late = shown or isinstance(value, Expr | Var | Buffer)
        if is_late and builder is not None and not builder.for_tilelang:
            raise unsupported(
                f"`print` runs when the kernel is built, and `{shown[0] if shown else repr(value)}` is known only when "
                f"it runs: use `T.print`, or write it to a tensor"
            )
    print(*args, **kwargs)
