"""The decorators `@T.prim_func` and `@T.macro`."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import ChainMap
from types import CodeType, FrameType, FunctionType, TracebackType

from .. import location as locations
from ..buffers import Element, Handle, Reference
from ..builder import FunctionBuilder, current
from ..errors import (
    ArgumentError,
    DTypeError,
    MissingNameError,
    RangeError,
    TLError,
    TLSyntaxError,
    UndefinedNameError,
    UnsupportedError,
    quoted,
    suggestion,
)
from ..location import Location
from ..operators import Operators
from ..parameters import argument
from ..tracebacks import ends_in_program
from ..typed import TYPE_CHECKING
from ..types import annotation_type
from .eager import DeclaredTensor, result_numbers

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import Any

    from ..builder import PrimFunc


_VARIADIC = 0x04 | 0x08
"""The flags of code with `*args` and with `**kwargs`."""


_OTHER_WORDS = {
    "axis": "dim",
    "keepdims": "dim",
    "trans_a": "transpose_A",
    "trans_b": "transpose_B",
    "stages": "num_stages",
}
"""What other libraries call arguments."""

_REMEDIES = {
    "num_warps": "`threads` says how many threads a block has, 32 for each warp",
    "num_stages": "it is an argument of `T.Pipelined`",
    "mask": "what is outside of a tensor is zero and is not written; for other conditions use `T.if_then_else` or `if`",
    "other": "`T.if_then_else(condition, A[i], other)` has another value where there is none",
}
"""What is done otherwise here."""


def prim_func(func: Callable[..., Any] | None = None, *, eager_jit: bool = False) -> Any:
    """Builds a function of the `tl` dialect from a Python function, a `T.PrimFunc`.

    The parameters are annotated with `T.Tensor`, `T.StridedTensor` or a scalar type, tensors also by statements of the
    body, `A: T.Tensor((64,), "float32")`; results may be made by `T.empty` and returned. The body is run once, now;
    `for`, `while`, `if`, `and`, `or`, `not` and comparisons of values that are known only when the kernel runs become
    the kernel's.

    - `func`: the function; `@T.prim_func()` is the same as `@T.prim_func`.
    - `eager_jit`: a hint for another compiler, which must be False: functions of `@tilec.jit` need no decorator.

    >>> @T.prim_func
    ... def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    ...     with T.Kernel(1):
    ...         for i in T.Parallel(64):
    ...             B[i] = A[i] + 1
    """
    with ends_in_program:
        return decorated(func, eager_jit, sys._getframe(1).f_locals)


def decorated(func: Any, eager_jit: bool, scope: Mapping[str, Any], *, for_tilelang: bool = False) -> Any:
    """Returns what `@T.prim_func` with these arguments is; the rest is as for `trace`."""
    if eager_jit:
        raise ArgumentError(
            "`eager_jit` of `T.prim_func` has no counterpart: put `@tilec.jit` on the function",
            location=locations.here(),
        )

    def decorate(function: Any) -> PrimFunc:
        with ends_in_program:
            return trace(plain_function(function, "T.prim_func"), scope, for_tilelang=for_tilelang)

    return decorate if func is None else decorate(func)


def trace(function: FunctionType, scope: Mapping[str, Any], *, for_tilelang: bool = False) -> PrimFunc:
    """Runs a function on a new builder.

    - `scope`: names that annotations may use.
    - `for_tilelang`: as of the builder.
    """
    return _trace(function, evaluated_annotations(function, scope), for_tilelang, lambda builder: None)


def _trace(
    function: FunctionType,
    annotations: Mapping[str, Any],
    for_tilelang: bool,
    prepare: Callable[[FunctionBuilder], None],
) -> PrimFunc:
    from .rewrite import annotated_in_body, original, rewrite

    code = original(function).__code__
    if code.co_kwonlyargcount:
        name = code.co_varnames[code.co_argcount]
        raise ArgumentError(
            f"`{name}` of `{function.__name__}` is given by its name only, which a kernel does not know: take the `*` "
            f"out",
            location=definition(function),
        )
    if code.co_flags & _VARIADIC:
        raise ArgumentError(
            f"`{function.__name__}` takes a variable number of arguments, which a kernel cannot: name each tensor",
            location=definition(function),
        )
    parameters = code.co_varnames[: code.co_argcount]
    if function.__defaults__:
        raise ArgumentError(
            f"`{parameters[-1]}` of `{function.__name__}` has a default, which calls of a kernel do not know: give it "
            f"at each call, or make it a parameter of the function around this one",
            location=definition(function),
        )
    made = rewrite(function)
    builder = FunctionBuilder(
        function.__name__, location=definition(function), root=made.__code__, for_tilelang=for_tilelang
    )
    prepare(builder)
    in_body = annotated_in_body(function) if any(name not in annotations for name in parameters) else frozenset[str]()
    try:
        arguments = [
            DeclaredTensor(builder, n)
            if n in in_body and n not in annotations
            else argument(builder, n, annotation_type(n, annotations.get(n)))
            for n in parameters
        ]
    except DTypeError as error:
        error.location = error.location or definition(function)
        raise
    with builder.active(), explained():
        result = made(*arguments)
        builder.end_alone()
    for given in arguments:
        if isinstance(given, DeclaredTensor):
            given.require()
    require_tensors(builder, arguments)
    builder.order_parameters(parameters)
    if result is not None and not builder.outputs:
        raise TLSyntaxError(
            f"`{function.__name__}` returns a value; a kernel function writes its results to tensor parameters, which "
            f"calls return that are named by `out_idx`, or to tensors of `T.empty`, which it returns",
            location=builder.location,
        )
    finished = builder.finish()
    finished.results = tuple(result_numbers(builder, result))
    finished.retrace = functools.partial(_trace, function, annotations, for_tilelang)
    return finished


def require_tensors(builder: FunctionBuilder, arguments: Iterable[Any]) -> None:
    """Raises unless the body has said of which tensor each pointer is."""
    for given in arguments:
        if isinstance(given, Handle) and given.tensor is None:
            raise TLSyntaxError(
                f"`{given.name}` of `{builder.name}` is a pointer of which no tensor is made: write "
                f"`T.make_tensor({given.name}, shape, dtype)` in front of the kernel",
                location=builder.location,
            )


@contextlib.contextmanager
def explained() -> Generator[None]:
    """Says in the language's words, and with the place, what Python says of wrong calls, names and places in arrays."""
    try:
        yield
    except (TypeError, AttributeError, LookupError, NameError, ValueError) as error:
        found = None if isinstance(error, TLError) else _in_our_words(error)
        if found is None:
            raise
        raise found.with_traceback(error.__traceback__) from None


def _in_our_words(error: Exception) -> TLError | None:
    import re

    frames: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    user = next((frame for frame in reversed(frames) if not locations.is_own(frame.tb_frame)), None)
    if user is None:
        return None
    place = locations.of_frame(user.tb_frame.f_code, user.tb_lasti)
    if isinstance(error, AttributeError):
        ours = r"there is no `T\.|`T\.\w+` |a (tensor or tile|value of the kernel) has no|module `tilec`"
        is_ours = re.match(ours, str(error))
        return MissingNameError(str(error), location=place) if is_ours else None
    if isinstance(error, NameError):
        return _unknown_name(error, user.tb_frame, place) if user is frames[-1] else None
    if isinstance(error, ValueError):
        return (_wrong_count(error, place) or _wrong_text(error, place)) if user is frames[-1] else None
    if isinstance(error, KeyError):
        key = error.args[0] if error.args else None
        if not isinstance(key, Operators):
            return _lacking(f"this dictionary has no key `{key!r}`", place) if user is frames[-1] else None
        return UnsupportedError(
            f"a key of a dictionary must be known now, and `{key!r}` is known only when the kernel runs: take elements "
            f"of a tensor or of `T.alloc_local`",
            location=place,
        )
    if isinstance(error, LookupError):
        if str(error) in ("list index out of range", "tuple index out of range"):
            has = f"this {str(error).partition(' ')[0]} of Python's has no element of that number"
            return _lacking(has, place) if user is frames[-1] else None
        if not str(error).startswith("only integers, slices"):
            return None
        return UnsupportedError(
            "an index of NumPy's arrays needs a number that is known now: pass the array to the kernel as a tensor",
            location=place,
        )
    return _wrong_call(error, place) if user is frames[-1] else None


_OF_CUDA = {
    "threadIdx": "the number of a thread is `T.get_thread_binding()`; tile operations and `T.Parallel` need none",
    "blockIdx": "the number of a block is what `with T.Kernel(...) as b` gives",
    "blockDim": "the number of threads is what `threads=` of `T.Kernel` says",
    "gridDim": "the number of blocks is what `T.Kernel` says",
    "__syncthreads": "it is `T.sync_threads()`; tile operations need none",
    "tl": "`import tilec.language as T`, and write `T.`",
}
"""What programs for CUDA and Triton bring along."""


def _unknown_name(error: NameError, frame: FrameType, place: Location) -> UndefinedNameError | None:
    """Returns the error for a name that Python does not find in the program."""
    import re

    found = re.search(r"'(\w+)'", str(error))
    if found is None:
        return None
    name = found[1]
    if "not associated with a value" in str(error):
        other = f", or call that which is assigned in `{frame.f_code.co_name}` by another name"
        return UndefinedNameError(
            f"`{name}` has no value yet: assign it in a line before{other if name in frame.f_globals else ''}",
            location=place,
        )
    if name in _OF_CUDA:
        return UndefinedNameError(f"there is no `{name}` here: {_OF_CUDA[name]}", location=place)
    present = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    remedy = suggestion(name, present) or ": assign it in front of the kernel, or make it a parameter"
    return UndefinedNameError(f"there is no `{name}` here{remedy}", location=place)


def _lacking(what: str, place: Location) -> RangeError:
    """Returns the error for what a list or a dictionary of the program does not hold."""
    return RangeError(
        f"{what}: it is filled while the kernel is built, and what stands in a loop of `T` is built once; keep what "
        f"iterations compute in a tile or in `T.alloc_local`, or loop by `T.unroll`",
        location=place,
    )


def _wrong_count(error: ValueError, place: Location) -> TLSyntaxError | None:
    """Returns the error for a tuple that has not as many values as names take them."""
    import re

    pattern = r"(not enough|too many) values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?\)"
    found = re.match(pattern, str(error))
    if found is None:
        return None
    values = f"{found[3]} values" if found[1] == "not enough" else "more values than that"
    return TLSyntaxError(f"{found[2]} names take {values}: write as many names as there are values", location=place)


def _wrong_text(error: ValueError, place: Location) -> UnsupportedError | None:
    """Returns the error for a number made of the text of a value that is not known yet."""
    import re

    found = re.search(r"<\w+ value[^<>]*>", str(error))
    if found is None:
        return None
    return UnsupportedError(
        f"`{found[0]}` is known only when the kernel runs, and its text is no number: use the value itself, or "
        f"`.astype(...)`",
        location=place,
    )


def _wrong_call(error: Exception, place: Location) -> ArgumentError | None:
    """Returns the error for a call of one of our functions that Python refused, if it is one."""
    import re

    found = re.match(r"(?:\w+\.)?(\w+)(?:\.__init__)?\(\) (missing|got|takes)", str(error))
    if found is None:
        return None
    language = sys.modules["tilec.language"]  # which imports this module
    called = str(error).partition("(")[0].split(".")[0]
    function = getattr(language, called, None) if called in vars(language) else None
    if function is None:
        return None
    from inspect import signature

    known = [n for n in signature(function).parameters if n not in ("self", "args")]
    wrong = re.search(r"keyword argument '(\w+)'", str(error))
    meant = _OTHER_WORDS.get(wrong[1]) if wrong else None
    guess = f"; it is called `{meant}`" if meant in known else suggestion(wrong[1], known) if wrong else ""
    text = str(error).partition("() ")[2].replace("'", "`")
    if wrong and wrong[1] in _REMEDIES:
        guess = f"; {_REMEDIES[wrong[1]]}"
    if called in ("max", "min") and "missing" in text:
        guess = f"; it compares numbers: of a tile use `T.reduce_{called}(tile, out)`"
    return ArgumentError(f"`T.{called}` {text}{guess or f'; it takes {quoted(known)}'}", location=place)


def definition(function: FunctionType) -> Location:
    """Returns where a function was defined."""
    return Location(function.__code__.co_filename, function.__code__.co_firstlineno)


def evaluated_annotations(function: FunctionType, scope: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the annotations of the parameters, evaluated where they are strings."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure: dict[str, Any] = {}
    for name, cell in cells.items():
        try:
            closure[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet, and hence not used by an annotation
    names = ChainMap(closure, dict(scope))
    out: dict[str, Any] = {}
    for name, annotation in function.__annotations__.items():
        if type(annotation) is not str:
            out[name] = annotation
            continue
        try:
            out[name] = eval(annotation, function.__globals__, names)
        except NameError as error:
            raise TLSyntaxError(
                f"the annotation `{annotation}` of `{name}` cannot be evaluated: {error}", location=definition(function)
            ) from None
    return out


def macro(func: Any = None) -> Any:
    """Makes a function that kernels can call; it is built into the kernel at each call.

    Loops, branches and conditions work as in a `@T.prim_func`. Arguments are passed as they are: buffers and
    variables can be written to. It may return values.

    - `func`: the function; `@T.macro()` is the same as `@T.macro`.

    >>> @T.macro
    ... def double(tile):
    ...     for i, j in T.Parallel(64, 64):
    ...         tile[i, j] = 2 * tile[i, j]
    >>> double(As)
    """
    return _macro if func is None else _macro(func)


def _macro(function: Any) -> Any:
    plain_function(function, "T.macro")
    made: dict[tuple[FunctionType, CodeType], Callable[..., Any]] = {}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        builder = current()
        plain: Any = call.__wrapped__  # which `%autoreload` replaces
        given = _bound(plain, args, kwargs)
        key = plain, plain.__code__
        if key not in made:
            from .rewrite import rewrite

            made.clear()
            made[key] = rewrite(plain)
        depth = len(builder.control)
        is_outermost = not builder.is_in_macro
        builder.is_in_macro = True
        try:
            result = made[key](*given.args, **given.kwargs)
        except RecursionError:
            if not is_outermost:
                raise  # the message has room further out, and no notes of every call
            raise TLSyntaxError(
                f"`{plain.__name__}` calls itself without an end: a macro is built into the kernel at each call, so "
                f"that what ends it must be known when the kernel is built",
                location=builder.here(),
            ) from None
        finally:
            builder.is_in_macro = not is_outermost
        del builder.control[depth:]
        return result

    return call


def _bound(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
    """Returns the arguments of a macro by name; an element that it may assign to is a variable in it."""
    import inspect

    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(
            f"the macro `{function.__name__}({', '.join(signature.parameters)})` is called wrongly: "
            f"{str(error).replace(chr(39), chr(96))}",
            location=current().here(),
        ) from None
    for name, value in given.arguments.items():
        if isinstance(value, Element) and _is_reference(signature.parameters[name].annotation):
            given.arguments[name] = Reference(value)
    return given


def _is_reference(annotation: Any) -> bool:
    """Whether an annotation, which may be a text, is `T.Ref`."""
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2] == "Ref"
    return getattr(annotation, "is_reference", False) is True


def plain_function(function: Any, decorator: str) -> FunctionType:
    """Returns what a decorator was put on; raises for what is no function."""
    if isinstance(function, FunctionType):
        return function
    what = f"the class `{function.__name__}`: put it on a method" if isinstance(function, type) else f"`{function!r}`"
    if isinstance(function, staticmethod | classmethod):
        kind = "staticmethod" if isinstance(function, staticmethod) else "classmethod"
        what = f"a `{kind}`: put `@{kind}` over it"
    raise ArgumentError(f"`@{decorator}` goes on a function, not on {what}", location=locations.here())
