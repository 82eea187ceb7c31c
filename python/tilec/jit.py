"""Functions that are compiled when they are called: what `@tilec.jit` makes."""

from __future__ import annotations

import ast
import functools
import inspect
from types import FunctionType

from . import _tl, dtypes, env, postproc, reads
from .buffers import Buffer
from .builder import FunctionBuilder, PrimFunc
from .compiler import compile
from .dtypes import DType
from .errors import ArgumentError, MissingNameError, UnsupportedError, grid_in_brackets, wrong_arguments
from .frontend.eager import DescribedTensor, EagerTensor, ImaginedTensor, result_numbers
from .frontend.functions import definition, evaluated_annotations, explained, require_tensors
from .frontend.modes import eager_tree
from .frontend.rewrite import parse, rewrite
from .location import here
from .once import Lock, OnceTable
from .parameters import argument
from .tensors import alignment, is_tensor, strides
from .tracebacks import ends_in_program
from .typed import TYPE_CHECKING
from .types import ScalarType, TensorType, annotation_type, as_tuple, checked_extent, is_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from concurrent.futures import Future
    from typing import Any, NoReturn

    from .kernel import Kernel
    from .types import Extent

_UNCHANGING = frozenset((int, float, bool, str, type(None), DType))
"""Types of constants that are told apart in C++."""

_ABSENT = object()
"""In place of a tensor, where a function is compiled without any."""

_tracing_eagerly = Lock()
"""A `T.const` outside of functions has one value at a time, whichever of them are traced."""


class JITFunction(_tl.FastCallable):
    """A function that compiles what it says when it is called."""

    for_tilelang = False
    """As of a builder, for functions that are themselves the program."""

    def __init__(self, function: FunctionType, scope: Mapping[str, Any], out_idx: Any, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = inspect.signature(function)
        self._scope = scope
        self._options = options
        self._out_idx = out_idx
        self._kernels = OnceTable(lambda kernel: kernel.files_read.is_current())
        self._specialisations: dict[Any, list[_Asked]] = {}
        """For arguments of one form, what the functions built for it depend on; almost always one."""
        self._calls = _tl.CallTable()
        self.set_fast(self._calls)
        self._tracing = Lock()
        self._tree, self._lacks_source = eager_tree(function)
        if self._tree is not None and out_idx is not None:
            raise ArgumentError("`out_idx` is for functions that return a `@T.prim_func`; here return a `T.empty`")

    def __reduce__(self) -> str:
        """Travels by its name, as functions do."""
        return self._function.__qualname__

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """A function of a class is a method of its objects."""
        return self if instance is None else JITMethod(self, instance)

    def __getitem__(self, grid: object) -> NoReturn:
        with ends_in_program:
            raise grid_in_brackets(self._function.__name__, here())

    def __getattr__(self, name: str) -> NoReturn:
        remedy = _ELSEWHERE.get(name)
        if remedy is None:
            raise AttributeError(f"a `@tilec.jit` function has no `{name}`")
        function = object.__getattribute__(self, "__name__")
        raise MissingNameError(f"`{function}` has no `{name}`: {remedy.format(function=function)}", location=here())

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return self._function, self._out_idx, *sorted(self._options.items())

    @property
    def is_eager(self) -> bool:
        """Whether calling it runs it, rather than returning a kernel."""
        return self._tree is not None

    def _call_slowly(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls that are not like one that was made before."""
        with ends_in_program:
            if any(isinstance(argument, Buffer) for argument in (*args, *kwargs.values())):
                raise _kernel_in_kernel(self.name)
            bound = self.bind(args, kwargs)
            if self._tree is None:
                kernel, asked = self._lazy_kernel(bound), ()
            else:
                kernel, asked = self._eager_kernel(bound, {})
            self._remember(args, kwargs, bound, kernel, asked)
            return kernel(*(bound[name] for name in kernel.argument_names)) if self.is_eager else kernel

    def _remember(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], bound: dict[str, Any], kernel: Kernel, asked: _Asked
    ) -> None:
        """Spares the next such call the way through Python, if its arguments can be told apart in C++."""
        guards = self._guards(kernel)
        if self._plain is None or guards is None:
            return
        scalars = self.scalars
        constants = [v for n, v in bound.items() if n not in scalars and not (self.is_eager and is_tensor(v))]
        if any(type(v) not in _UNCHANGING for v in constants):
            return
        given = [*list(bound)[: len(args)], *kwargs]
        names = [*given, *(n for n in bound if n not in given)]
        facts = {n: tuple((what == "stride", d) for name, what, d in asked if name == n) for n in given}
        self._calls.remember(
            (*args, *kwargs.values()),
            tuple(kwargs),
            tuple(None if n in scalars else facts[n] for n in given),
            kernel,
            [names.index(n) for n in kernel.argument_names] if self.is_eager else None,
            tuple(bound[n] for n in names[len(given) :]),
            guards,
        )

    def _guards(self, kernel: Kernel) -> tuple[reads.Guard, ...] | None:
        """Returns the places that `kernel` depends on besides the arguments, and what they hold; None if C++ cannot see
        whether it still is the right one."""
        if kernel.files_read or any(postproc.registered(g) for g in postproc.GENERATORS):
            return None
        found = reads.guards(self._function)
        return None if found is None else (*found, *env.guards(), *postproc.guards())

    def compile(self, /, *args: Any, **kwargs: Any) -> Kernel:
        """Returns the kernel for these arguments without running it.

        An eager function is compiled for tensors, or types in their place, or without any for extents: those of its
        `T.const`s, by name, which may be symbols.

        >>> kernel = matmul.compile(a, b)
        >>> kernel = matmul.compile(T.Tensor((64, 32), "float16"), T.Tensor((32, 64), "float16"))
        >>> kernel = matmul.compile(M=T.dynamic("m"), N=4096, K=4096)
        """
        with ends_in_program:
            if self._tree is None:
                return self._lazy_kernel(self.bind(args, kwargs))
            return self._eager_kernel(*self._bind_extents(args, kwargs))[0]

    @property
    def function(self) -> FunctionType:
        """What was decorated."""
        return self._function

    @functools.cached_property
    def scalars(self) -> frozenset[str]:
        """The parameters of an eager function that are scalars of its kernels, which are not made for their values."""
        if not self.is_eager:
            return frozenset()
        annotations = evaluated_annotations(self._function, self._scope)
        return frozenset(n for n, annotation in annotations.items() if isinstance(annotation, DType))

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

    def trace(self, /, *args: Any, **kwargs: Any) -> tuple[PrimFunc, Any]:
        """Returns the program for these arguments, and the numbers of its results, without compiling it."""
        if self._tree is None:
            return self._make(self.bind(args, kwargs)), self._out_idx
        function, outputs, _ = self._trace(*self._bind_extents(args, kwargs))
        return function, outputs or None

    def with_options(self, options: Mapping[str, Any]) -> JITFunction:
        """Returns the same function, compiled with these options over its own."""
        return JITFunction(self._function, self._scope, self._out_idx, {**self._options, **options})

    def compile_async(self, /, *args: Any, **kwargs: Any) -> Future[Kernel]:
        """Starts `compile` on another thread and returns its future."""
        from .parallel import submit

        return submit(self.compile, *args, **kwargs)

    def par_compile(
        self, configs: Iterable[Any], *, num_workers: int | None = None, ignore_error: bool = False
    ) -> list[Kernel | None]:
        """Compiles for several sets of arguments at once, and returns the kernels in that order.

        - `configs`: for each kernel the arguments: a dict of them by name, or a tuple in order.
        - `num_workers`: how many threads; as many as there are processors by default.
        - `ignore_error`: whether a kernel that cannot be compiled is None, rather than an exception.
        """
        from .parallel import run

        calls = [
            functools.partial(self.compile, **config)
            if isinstance(config, dict)
            else functools.partial(self.compile, *as_tuple(config))
            for config in configs
        ]
        return run(calls, num_workers=num_workers, ignore_error=ignore_error)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Returns all arguments by name, defaults included."""
        if self._plain is not None:
            names, defaults = self._plain
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            if len(given) == len(args) + len(kwargs) and given.keys() <= names.keys():
                given = {**defaults, **given}
                if len(given) == len(names):
                    return {name: given[name] for name in names}
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise wrong_arguments(self._function.__name__, error, self._signature.parameters, here()) from None
        bound.apply_defaults()
        return dict(bound.arguments)

    @functools.cached_property
    def _plain(self) -> tuple[dict[str, None], dict[str, Any]] | None:
        """The parameters' names in order, and their defaults; None if arguments cannot simply be put beside them."""
        parameters = self._signature.parameters.values()
        if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
            return None
        return {p.name: None for p in parameters}, {p.name: p.default for p in parameters if p.default is not p.empty}

    def _lazy_kernel(self, bound: dict[str, Any]) -> Kernel:
        self._refuse_tensors(bound)

        def make() -> Kernel:
            return compile(self._make(bound), self._out_idx, **self._options)

        try:
            arguments, surroundings = reads.frozen(bound), self._surroundings()
            kernel = self._kernels.get((arguments, surroundings), make)
            # What the function itself has changed, such as a list of its calls, is no reason to run it again.
            if (after := self._surroundings()) != surroundings:
                self._kernels.add((arguments, after), kernel)
        except reads.UnknownError:
            return make()
        return kernel

    def _refuse_tensors(self, bound: dict[str, Any]) -> None:
        for name, value in bound.items():
            if is_tensor(value):
                if self._lacks_source is not None:
                    raise self._lacks_source
                raise ArgumentError(
                    f"`{name}` of `{self.name}` is a tensor: `{self.name}` makes a kernel for sizes, types and other "
                    f"constants; call the kernel that it returns with tensors"
                )

    def _surroundings(self) -> Any:
        """Returns a key of what a kernel depends on besides the arguments."""
        hooks = tuple(postproc.registered(g) for g in postproc.GENERATORS)
        chosen = env.target(), env.execution_backend(), env.are_checks_on()
        return reads.read_by(self._function), *chosen, reads.frozen(hooks)

    def _make(self, bound: dict[str, Any]) -> PrimFunc:
        call = inspect.BoundArguments(self._signature, bound)  # pyright: ignore[reportArgumentType]
        with self._tracing:
            made = self._function(*call.args, **call.kwargs)
        if not isinstance(made, PrimFunc):
            raise ArgumentError(
                f"`{self._function.__name__}` must return a `@T.prim_func`, not `{made!r}`; or write the "
                f"kernel directly in it, with annotated tensors"
            )
        return made

    # Eager functions -------------------------------------------------------------------------------------------------

    def _bind_extents(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Extent]]:
        """Returns what to compile an eager function for: tensors, or extents by name in place of all tensors."""
        if any(is_tensor(v) or isinstance(v, TensorType) for v in (*args, *kwargs.values())):
            bound = self.bind(args, kwargs)
            return {n: DescribedTensor(n, v) if isinstance(v, TensorType) else v for n, v in bound.items()}, {}
        parameters = self._signature.parameters
        extents = {n: checked_extent(v, f"`{n}`") for n, v in sorted(kwargs.items()) if n not in parameters}
        try:
            bound = self._signature.bind_partial(*args, **{n: v for n, v in kwargs.items() if n in parameters})
        except TypeError as error:
            raise wrong_arguments(self.name, error, parameters, here()) from None
        bound.apply_defaults()
        return {n: bound.arguments.get(n, _ABSENT) for n in parameters}, extents

    def _eager_kernel(self, bound: dict[str, Any], extents: dict[str, Extent]) -> tuple[Kernel, _Asked]:
        """Returns the kernel for these arguments, and what it depends on besides their form."""
        try:
            form: Any = (self._form(bound), reads.frozen(extents), self._surroundings())
        except reads.UnknownError:
            with self._tracing:
                function, outputs, asked = self._trace(bound, extents)
            return compile(function, outputs or None, **self._options), asked
        for asked in self._specialisations.get(form, ()):
            found = self._kernels.find((form, asked, _answers(bound, asked)))
            if found is not None:
                return found, asked
        with self._tracing:
            function, outputs, asked = self._trace(bound, extents)
            known = self._specialisations.setdefault(form, [])
            if asked not in known:
                known.append(asked)
            form = (*form[:2], self._surroundings())  # without what the function itself has changed
            self._specialisations.setdefault(form, known)
        key = (form, asked, _answers(bound, asked))
        return self._kernels.get(key, lambda: compile(function, outputs or None, **self._options)), asked

    def _form(self, bound: dict[str, Any]) -> Any:
        """Returns what all kernels depend on: constants, and the ranks, element types and alignments of tensors."""
        scalars = self.scalars
        return tuple(
            (n, _tensor_form(v) if _is_like_a_tensor(v) else reads.frozen(v))
            for n, v in bound.items()
            if n not in scalars
        )

    def _trace(self, bound: dict[str, Any], extents: dict[str, Extent]) -> tuple[PrimFunc, list[int], _Asked]:
        """Builds the function for the tensors, or extents, and constants given.

        Returns it with the numbers of its results and what it wanted to know of the tensors.
        """
        annotations = evaluated_annotations(self._function, self._scope)
        made = rewrite(self._function, parse(self._function))
        builder = FunctionBuilder(
            self.name,
            location=definition(self._function),
            root=made.__code__,
            for_tilelang=self.for_tilelang,
        )
        builder.constants = extents
        with _tracing_eagerly, builder.active(), explained():
            _set_extents(annotations.values(), builder)
            tensors = {n: t for n, v in bound.items() if (t := _eager_tensor(builder, n, v, annotations.get(n)))}
            builder.places_of_constants = _places_of_constants(self._tree, tensors)
            arguments = {n: _argument(builder, n, tensors.get(n, v), annotations.get(n)) for n, v in bound.items()}
            results = made(**arguments)
            builder.end_alone()
            require_tensors(builder, arguments.values())
            if unknown := sorted(extents.keys() - builder.named):
                raise ArgumentError(f"`{self.name}` has no parameter and no `T.const` that is called `{unknown[0]}`")
            builder.order_parameters(bound)
            function = builder.finish()
        asked = tuple((n, *what) for n, tensor in tensors.items() for what in sorted(tensor.asked))
        return function, result_numbers(builder, results), asked


def _kernel_in_kernel(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"`{name}` is a kernel of its own, and a kernel cannot call another: make what both need a `T.macro`",
        location=here(),
    )


class JITMethod:
    """A `@tilec.jit` function of a class, tuned or not, for one of its objects: all that takes a call's arguments gets
    the object first."""

    def __init__(self, function: Any, instance: Any) -> None:
        self.__func__ = function
        self.__self__ = instance

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return self.__func__, self.__self__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(self.__self__, *args, **kwargs)

    def compile(self, /, *args: Any, **kwargs: Any) -> Any:
        """Returns the kernel for these arguments without running it; see `JITFunction.compile`."""
        return self.__func__.compile(self.__self__, *args, **kwargs)

    compile_async, par_compile = JITFunction.compile_async, JITFunction.par_compile  # which call `compile`

    def with_options(self, options: Mapping[str, Any]) -> JITMethod:
        """Returns the same method, compiled with these options over its own."""
        return JITMethod(self.__func__.with_options(options), self.__self__)

    def __getattr__(self, name: str) -> Any:
        if name in ("__func__", "__self__"):
            raise AttributeError(name)  # while it is being made
        found = getattr(self.__func__, name)
        return functools.partial(found, self.__self__) if name in _OF_CALLS else found

    def __repr__(self) -> str:
        return f"<tilec.jit method {self.__func__.name} of {self.__self__!r}>"


_ELSEWHERE = {
    "get_tir": "the program for some arguments is `{function}.compile(...).function`",
    "get_kernel_source": "the source for some arguments is `{function}.compile(...).get_kernel_source()`",
    "get_profiler": "measure the kernel for some arguments, `{function}.compile(...).get_profiler()`",
    "run": "call it, `{function}(...)`; its grid is in `T.Kernel(...)`",
    "warmup": "`{function}.compile(...)` makes the kernel for some arguments without running it",
}
"""What functions of other libraries have, and what it is here."""

_OF_CALLS = frozenset(("trace", "tune", "get_tir", "get_kernel_source"))
"""What else takes the arguments of a call."""

_Asked = tuple[tuple[str, str, int], ...]
"""Extents and strides of arguments: ("A", "shape", 0) and the like."""


def _answers(bound: dict[str, Any], asked: _Asked) -> tuple[int, ...]:
    return tuple(bound[n].shape[d] if what == "shape" else strides(bound[n])[d] for n, what, d in asked)


def _is_like_a_tensor(value: Any) -> bool:
    return is_tensor(value) or isinstance(value, DescribedTensor)


def _tensor_form(value: Any) -> Any:
    return (len(value.shape), value.dtype, _alignment(value))


def _alignment(value: Any) -> int:
    return value.align if isinstance(value, DescribedTensor) else alignment(value)


def _eager_tensor(builder: FunctionBuilder, name: str, value: Any, annotation: Any) -> EagerTensor | None:
    """Returns what stands for an argument that is a tensor, or would be; None for others."""
    if value is _ABSENT:
        return None if isinstance(annotation, DType) or is_pointer(annotation) else ImaginedTensor(builder, name)
    if not _is_like_a_tensor(value) or is_pointer(annotation):
        return None
    name_of_type = _dtype_name(value.dtype)
    if isinstance(value.dtype, DType):
        dtype = value.dtype
    else:  # PyTorch has a type of bytes that two numbers share
        dtype = dtypes.pair if name_of_type == "torch.float4_e2m1fn_x2" else dtypes.dtype(name_of_type)
    shape = [int(e) for e in value.shape]
    return EagerTensor(builder, name, shape, lambda: strides(value), dtype, _alignment(value))


def _argument(builder: FunctionBuilder, name: str, value: Any, annotation: Any) -> Any:
    """Returns what stands for an argument: a parameter of the kernel, or the constant itself."""
    if isinstance(value, EagerTensor):
        # A class says that it is a tensor, and no more: `A: T.Tensor`, `A: torch.Tensor`.
        return value if annotation is None or isinstance(annotation, type) else value.declare(annotation)
    if is_pointer(annotation):
        return argument(builder, name, annotation_type(name, annotation))
    if isinstance(annotation, TensorType):
        raise ArgumentError(f"`{name}` must be a tensor, not `{value!r}`")
    if isinstance(annotation, DType):
        return argument(builder, name, ScalarType(annotation))
    return value


def _dtype_name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype))


def _places_of_constants(
    tree: ast.FunctionDef | None, tensors: Mapping[str, EagerTensor]
) -> dict[str, Callable[[], int | None]]:
    """Returns, for names that annotations in a function give to extents of tensors, what tells the extents.

    So a `T.const` can be computed with before the annotation that it stands in is reached: `half = K // 2` above
    `A: T.Tensor[[M, K], dtype]`. The annotation compares the two then.
    """
    out: dict[str, Callable[[], int | None]] = {}
    statements = tree.body if tree is not None else []
    shapes = {
        s.targets[0].id: s.value for s in statements if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
    }
    other_names = dict(_other_names(statements))
    for statement in statements:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        tensor = tensors.get(statement.target.id)
        if tensor is None or isinstance(tensor, ImaginedTensor):
            continue
        for dimension, name, count in _named_extents(statement.annotation, shapes):
            out.setdefault(other_names.get(name, name), functools.partial(tensor.extent, dimension, count))
    return out


def _other_names(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yields the names that statements such as `KH, KW = K, K` give to what has another one, and that."""
    for statement in statements:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            pair = (target, statement.value)
            both = [e.elts if isinstance(e, ast.Tuple) else [e] for e in pair]
            for new, old in zip(*both, strict=False):
                if isinstance(new, ast.Name) and isinstance(old, ast.Name):
                    yield new.id, old.id


def _named_extents(annotation: ast.expr, shapes: Mapping[str, ast.expr]) -> list[tuple[int, str, int]]:
    """Returns the extents of `T.Tensor[[M, 4], dtype]` or `T.Tensor((M, 4), dtype)` that are names, and how many of the
    annotation's elements one of the tensor's holds there: two of 4 bits along the last dimension.

    The shape may have a name, too, which `shapes` knows.
    """
    if isinstance(annotation, ast.Call):
        parts = [*annotation.args, *(keyword.value for keyword in annotation.keywords)]
    elif isinstance(annotation, ast.Subscript):
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    else:
        return []
    shape = parts[0] if parts else None
    shape = shapes.get(shape.id, shape) if isinstance(shape, ast.Name) else shape
    extents = shape.elts if isinstance(shape, ast.Tuple | ast.List) else parts[:1]
    last = len(extents) - 1
    count = 2 if any(map(_is_of_4_bits, parts[1:])) else 1
    return [
        (d, extent.id, count if d == last else 1) for d, extent in enumerate(extents) if isinstance(extent, ast.Name)
    ]


def _is_of_4_bits(written: ast.expr) -> bool:
    """Returns whether an element type is written that has 4 bits, as `T.int4` or its name."""
    name = written.attr if isinstance(written, ast.Attribute) else getattr(written, "value", None)
    return isinstance(name, str) and dtypes.is_name(name) and dtypes.dtype(name).bits == 4


def _set_extents(annotations: Iterable[Any], builder: FunctionBuilder) -> None:
    """Gives every `T.const` of the signature the value that it has without tensors, or none."""
    for annotation in annotations:
        for extent in annotation.constants if isinstance(annotation, TensorType) else ():
            extent.value = builder.constant_of(extent.name)
