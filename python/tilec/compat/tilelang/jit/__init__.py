"""`tilelang.jit`, `tilelang.compile` and `tilelang.par_compile`."""

from __future__ import annotations

import sys
from types import FunctionType

from .... import compiler
from ....builder import PrimFunc
from ....errors import ArgumentError
from ....jit import JITFunction
from ....typed import TYPE_CHECKING
from .. import options
from .kernel import JITKernel as JITKernel
from .kernel import as_pytorch, compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

__all__ = ["JITImpl", "JITKernel", "compile", "jit", "par_compile"]


def compile(
    func: PrimFunc | None = None,
    out_idx: list[int] | int | None = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: list[str] | str | None = None,
    **others: Any,
) -> JITKernel:
    """Compiles a program; what was compiled before, by any process, comes from the cache.

    - `func`: a `@T.prim_func`.
    - `out_idx`: the parameters, by number, that calls allocate and return.
    - `execution_backend`: "auto", "tvm_ffi", "cython", "nvrtc" or "cutedsl"; what runs kernels is our own.
    - `target`: "auto", "cuda", "llvm" or "c" for the CPU, with options as in "cuda -arch=sm_90a", a dictionary, or a
      chip.
    - `target_host`: this machine, whatever is said.
    - `verbose`: whether to say what is done.
    - `pass_configs`, `compile_flags`: fast math, source lines and dumps have an effect; a warning names the others.
    """
    options.refuse(others, "`tilelang.compile`", compile)
    return JITKernel(
        compiled(func, out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags)
    )


def par_compile(
    funcs: Iterable[PrimFunc],
    out_idx: list[int] | int | None = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: list[str] | str | None = None,
    num_workers: int | None = None,
    ignore_error: bool = False,
) -> list[JITKernel | None]:
    """Compiles several programs at once, and returns the kernels in that order; arguments as for `compile`.

    - `num_workers`: how many threads.
    - `ignore_error`: whether a program that cannot be compiled is None rather than an exception.
    """
    import functools

    from ....parallel import run

    rest = (out_idx, execution_backend, target, target_host, verbose, pass_configs, compile_flags)
    calls = [functools.partial(compile, func, *rest) for func in funcs]
    return run(calls, num_workers=num_workers, ignore_error=ignore_error)


class JITImpl(JITFunction):
    """What `@tilelang.jit` makes of a function."""

    for_tilelang = True

    def __init__(
        self, function: FunctionType, scope: Mapping[str, Any], out_idx: Any, given: dict[str, Any], asked: Any = None
    ) -> None:
        try:
            super().__init__(function, scope, out_idx, given)
        except ArgumentError:
            raise ValueError(
                "out_idx is only supported in lazy mode. In eager mode, use T.empty() to declare output tensors "
                "instead."
            ) from None
        self._asked: dict[str, Any] = asked or {}
        """The options as the program gave them."""
        self.return_lists()

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return *super().key_parts(), *sorted(self._asked.items())

    def __getattr__(self, name: str) -> Any:
        if name == "_asked" or name not in self._asked:
            raise AttributeError(f"what `@tilelang.jit` makes has no `{name}`")
        return self._asked[name]

    @property
    def func(self) -> FunctionType:
        """What was decorated."""
        return self.function

    @property
    def out_idx(self) -> Any:
        """The numbers of the results."""
        return self._out_idx

    @property
    def mode(self) -> str:
        """ "lazy" for a function that returns a program, "eager" for one that is a program."""
        return "eager" if self.is_eager else "lazy"

    def is_lazy_mode(self) -> bool:
        """Whether the function returns a program."""
        return not self.is_eager

    def initialize_jit_mode(self, /, *args: Any, **kwargs: Any) -> str:
        """Returns the mode, which is known from the start."""
        return self.mode

    def _lazy_kernel(self, bound: dict[str, Any]) -> Any:
        return self._wrap(super()._lazy_kernel(bound))

    def _wrap(self, kernel: Any) -> JITKernel:
        """Returns the one object that stands for a kernel."""
        if kernel.wrapper is None:
            kernel.wrapper = JITKernel(kernel)
        return kernel.wrapper

    def _make(self, bound: dict[str, Any]) -> PrimFunc:
        return self._with_source_flags(super()._make(bound))

    def _trace(self, bound: Any, extents: Any) -> Any:
        function, *rest = super()._trace(bound, extents)
        return self._with_source_flags(function), *rest

    def _with_source_flags(self, function: PrimFunc) -> PrimFunc:
        return options.with_source_flags(function, self._asked.get("pass_configs"), self._asked.get("compile_flags"))

    def compile(self, /, *args: Any, **kwargs: Any) -> Any:
        """Returns the kernel for these arguments without running it."""
        kernel = super().compile(*args, **_public(kwargs))
        return kernel if isinstance(kernel, JITKernel) else self._wrap(kernel)

    def _call_slowly(self, /, *args: Any, **kwargs: Any) -> Any:
        tuned, is_kernel_wanted = kwargs.pop("__tune_params", None), kwargs.pop("__return_kernel", False)
        kwargs.update(tuned or {})
        if is_kernel_wanted:
            return self.compile(*args, **kwargs)
        return as_pytorch(super()._call_slowly(*args, **kwargs))

    def _eager_kernel(self, bound: Any, extents: Any) -> Any:
        kernel, asked = super()._eager_kernel(bound, extents)
        takes_tensors = any(p.is_tensor for p in kernel.function.parameters if p.name in kernel.argument_names)
        # What says of no result whose it is; a `JITKernel` knows.
        return kernel if takes_tensors else self._wrap(kernel), asked

    def get_tir(self, /, *args: Any, **kwargs: Any) -> PrimFunc:
        """Returns the program for these arguments."""
        return self.trace(*args, **kwargs)[0]

    def get_kernel_source(self, /, *args: Any, **kwargs: Any) -> str:
        """Returns the source of the kernel for these arguments."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def with_options(self, options: Mapping[str, Any]) -> JITImpl:
        """Returns the same function, compiled with these options over its own."""
        return JITImpl(self._function, self._scope, self._out_idx, {**self._options, **options}, self._asked)


def _public(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if not name.startswith("__")}


def jit(
    func: Callable[..., Any] | PrimFunc | None = None,
    *,
    out_idx: list[int] | int | None = None,
    target: Any = None,
    target_host: Any = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: list[str] | str | None = None,
    **others: Any,
) -> Any:
    """Compiles a function when it is called: one that returns a program gives a kernel, and one that is a program runs.

    - `debug_root_path`: a folder for the IR after every pass.
    - the rest as for `compile`.
    """
    options.refuse(others, "`@tilelang.jit`", jit)
    scope = sys._getframe(1).f_locals
    asked = {
        "target": target,
        "target_host": target_host,
        "execution_backend": execution_backend,
        "verbose": verbose,
        "pass_configs": pass_configs,
        "debug_root_path": debug_root_path,
        "compile_flags": compile_flags,
    }

    def decorate(given: Any) -> Any:
        meant = options.of_compile(target, execution_backend, verbose, pass_configs, compile_flags)
        if debug_root_path is not None:
            meant["dump_dir"] = debug_root_path
        if isinstance(given, PrimFunc):
            given = options.with_source_flags(given, pass_configs, compile_flags)
            return JITKernel(compiler.compile(given, out_idx, **meant))
        if not isinstance(given, FunctionType):
            raise ArgumentError(f"`@tilelang.jit` goes on a function, not on `{given!r}`")
        return JITImpl(given, scope, out_idx, meant, asked)

    return decorate if func is None else decorate(func)
