"""`@tilec.jit`: functions that are compiled when they are called."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import threading
from types import FunctionType

from . import dtypes
from .buffers import Buffer
from .builder import FunctionBuilder, PrimFunc
from .compiler import compile
from .dtypes import DType
from .errors import ArgumentError, TLSyntaxError
from .frontend.eager import EagerTensor
from .frontend.functions import definition, evaluated_annotations
from .frontend.rewrite import parse, rewrite
from .typed import TYPE_CHECKING, cast
from .types import Const, ScalarType, TensorType, as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, overload

    from .kernel import Kernel

    @overload
    def jit(function: Callable[..., Any], /) -> JITFunction: ...
    @overload
    def jit(
        *, out_idx: Any = None, target: str = "auto", **options: Any
    ) -> Callable[[Callable[..., Any]], JITFunction]: ...


def jit(
    function: Callable[..., Any] | None = None, /, *, out_idx: Any = None, target: str = "auto", **options: Any
) -> Any:
    """Compiles a function when it is called.

    *Lazy*: the function makes and returns a `@T.prim_func`; calling it returns a `Kernel`. One kernel is kept for
    each set of arguments.

    *Eager*: the function is itself the program. Calling it with tensors compiles it for them and runs it; results are
    made with `T.empty` and returned.

    Options are those of `tilec.compile`.
    """
    scope = sys._getframe(1).f_locals

    def decorate(plain: Callable[..., Any]) -> JITFunction:
        if not isinstance(plain, FunctionType):
            raise ArgumentError(f"`@tilec.jit` goes on a function, not on `{plain!r}`")
        return JITFunction(plain, scope, out_idx, {"target": target, **options})

    return decorate if function is None else decorate(function)


class JITFunction:
    """A function that compiles what it says when it is called."""

    def __init__(self, function: FunctionType, scope: Mapping[str, Any], out_idx: Any, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = inspect.signature(function)
        self._scope = scope
        self._options = options
        self._out_idx = out_idx
        self._kernels: dict[Any, Kernel] = {}
        self._lock = threading.RLock()
        self._tree = _eager_tree(function)
        if self._tree is not None and out_idx is not None:
            raise ArgumentError("`out_idx` is for functions that return a `@T.prim_func`; here return a `T.empty`")

    @property
    def is_eager(self) -> bool:
        """Whether calling it runs it, rather than returning a kernel."""
        return self._tree is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._tree is None:
            return self.compile(*args, **kwargs)
        bound = self._bind(args, kwargs)
        kernel = self._eager_kernel(bound)
        return kernel(**{p.name: bound[p.name] for p in kernel.function.parameters if p.name in bound})

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        """Returns the kernel for these arguments without running it."""
        bound = self._bind(args, kwargs)
        if self._tree is not None:
            return self._eager_kernel(bound)
        key = _freeze(bound)
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = compile(self._make(bound), self._out_idx, **self._options)
            return self._kernels[key]

    @property
    def function(self) -> FunctionType:
        """What was decorated."""
        return self._function

    @property
    def name(self) -> str:
        """The function's name."""
        return self._function.__name__

    @property
    def signature(self) -> inspect.Signature:
        """The parameters of the function."""
        return self._signature

    @property
    def options(self) -> dict[str, Any]:
        """What `tilec.compile` is called with, besides the program."""
        return dict(self._options)

    def trace(self, *args: Any, **kwargs: Any) -> tuple[PrimFunc, Any]:
        """Returns the program for these arguments, and the numbers of its results, without compiling it."""
        bound = self._bind(args, kwargs)
        if self._tree is not None:
            with self._lock:
                function, outputs = self._trace(bound)
            return function, outputs or None
        return self._make(bound), self._out_idx

    def _make(self, bound: dict[str, Any]) -> PrimFunc:
        made = self._function(**bound)
        if not isinstance(made, PrimFunc):
            raise ArgumentError(
                f"`{self._function.__name__}` must return a `@T.prim_func`, not `{made!r}`; or write the "
                f"kernel directly in it, with annotated tensors"
            )
        return made

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"`{self._function.__name__}`: {error}") from None
        bound.apply_defaults()
        return dict(bound.arguments)

    # Eager functions -------------------------------------------------------------------------------------------------

    def _eager_kernel(self, bound: dict[str, Any]) -> Kernel:
        key = tuple((n, _tensor_key(v) if is_tensor(v) else _freeze(v)) for n, v in bound.items())
        with self._lock:
            if key not in self._kernels:
                function, outputs = self._trace(bound)
                self._kernels[key] = compile(function, outputs or None, **self._options)
            return self._kernels[key]

    def _trace(self, bound: dict[str, Any]) -> tuple[PrimFunc, list[int]]:
        """Builds the function for the tensors and constants given; returns it with the numbers of its results."""
        annotations = evaluated_annotations(self._function, self._scope)
        made = rewrite(self._function, parse(self._function))
        name = self._function.__name__
        builder = FunctionBuilder(name, location=definition(self._function), root=made.__code__)
        builder.outputs = []
        _forget_extents(annotations.values())
        with builder.active():
            arguments = {n: _argument(builder, n, v, annotations.get(n)) for n, v in bound.items()}
            results = made(**arguments)
        return builder.finish(), _result_numbers(builder, results)


def _eager_tree(function: FunctionType) -> ast.FunctionDef | None:
    """Returns the function's syntax if it is a program itself, and None if it makes one."""
    try:
        tree = parse(function)
    except TLSyntaxError:
        return None  # no source at hand: it can only make a program
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.With) and any(_is_kernel(item.context_expr) for item in node.items):
            return None if _opens_module(tree) else tree
        stack += ast.iter_child_nodes(node)
    return None


def _is_kernel(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and ((node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id) == "Kernel")
    )


def _opens_module(tree: ast.FunctionDef) -> bool:
    """Whether the function builds with `module.function(...)`, whose kernels are not its own."""
    return any(
        isinstance(node, ast.withitem)
        and isinstance(node.context_expr, ast.Call)
        and isinstance(node.context_expr.func, ast.Attribute)
        and node.context_expr.func.attr == "function"
        for node in ast.walk(tree)
    )


def is_tensor(value: Any) -> bool:
    """Whether an argument is a tensor, of whatever library."""
    return hasattr(value, "__dlpack__") and hasattr(value, "shape") and hasattr(value, "dtype")


def _tensor_key(value: Any) -> Any:
    return (tuple(value.shape), str(value.dtype))


def _argument(builder: FunctionBuilder, name: str, value: Any, annotation: Any) -> Any:
    """Returns what stands for an argument: a parameter of the kernel, or the constant itself."""
    if is_tensor(value):
        dtype = value.dtype if isinstance(value.dtype, DType) else dtypes.dtype(_dtype_name(value.dtype))
        tensor = EagerTensor(builder, name, [int(e) for e in value.shape], dtype)
        return tensor if annotation is None else tensor.declare(annotation)
    if isinstance(annotation, TensorType):
        raise ArgumentError(f"`{name}` must be a tensor, not `{value!r}`")
    if isinstance(annotation, DType):
        return builder.add_parameter(name, ScalarType(annotation))
    return value


def _dtype_name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype))


def _forget_extents(annotations: Any) -> None:
    """Makes extents of `T.const` in the signature unknown again, for the next set of tensors."""
    for annotation in annotations:
        for extent in annotation.raw_shape if isinstance(annotation, TensorType) else ():
            if isinstance(extent, Const):
                extent.value = None


def _result_numbers(builder: FunctionBuilder, results: Any) -> list[int]:
    if results is None:
        results = ()
    numbers: list[int] = []
    for result in as_tuple(results):
        if not isinstance(result, Buffer) or not any(result is o for o in builder.outputs or ()):
            raise TLSyntaxError(f"`{builder.name}` can return tensors made by `T.empty` only, not `{result!r}`")
        numbers.append(next(i for i, p in enumerate(builder.parameters) if p is result.parameter))
    if len(numbers) != len(builder.outputs or ()):
        raise TLSyntaxError(f"`{builder.name}` must return every tensor that it makes with `T.empty`")
    return numbers


def _freeze(value: Any) -> Any:
    """Returns a hashable stand-in for an argument."""
    if isinstance(value, dict):
        return tuple((k, _freeze(v)) for k, v in cast("dict[Any, Any]", value).items())
    if isinstance(value, list | tuple):
        return tuple(map(_freeze, as_tuple(value)))
    if isinstance(value, set):
        return frozenset(map(_freeze, cast("set[Any]", value)))
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(f"`{value!r}` cannot be told apart from other arguments: it is not hashable") from None
    return (type(value), value)
