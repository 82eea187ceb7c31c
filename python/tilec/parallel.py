"""Compiling on several threads: the compiler does its work without the interpreter's lock."""

from __future__ import annotations

import functools
import os
import threading
from contextvars import copy_context

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Any

    from .builder import PrimFunc
    from .kernel import Kernel
    from .module import Module

_guard = threading.Lock()
_pool: tuple[int, ThreadPoolExecutor] | None = None


def processors() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def submit(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls a function on a thread of the pool that asynchronous compilations share."""
    from concurrent.futures import ThreadPoolExecutor

    global _pool
    with _guard:
        if _pool is None or _pool[0] != os.getpid():  # a pool's threads are not there after a fork
            _pool = (os.getpid(), ThreadPoolExecutor(processors(), "tilec-compile"))
        return _pool[1].submit(copy_context().run, function, *args, **kwargs)


def run(calls: Sequence[Callable[[], Any]], *, num_workers: int | None = None, ignore_error: bool = False) -> list[Any]:
    """Makes all calls on several threads and returns the results in order.

    The first failure is raised when all calls have ended; with `ignore_error` its result is None instead.
    """
    from concurrent.futures import ThreadPoolExecutor

    if not calls:
        return []
    with ThreadPoolExecutor(min(len(calls), num_workers or processors())) as pool:
        futures = [pool.submit(copy_context().run, call) for call in calls]
    return [None if ignore_error and future.exception() else future.result() for future in futures]


def compile_async(func: PrimFunc | Module, *args: Any, **options: Any) -> Future[Kernel]:
    """Starts `tilec.compile` with these arguments on another thread.

    >>> future = tilec.compile_async(matmul, target="sm_90a")
    >>> kernel = future.result()  # waits, and raises what `compile` raised
    """
    from . import compiler

    return submit(compiler.compile, func, *args, **options)


def par_compile(
    funcs: Iterable[PrimFunc | Module],
    *args: Any,
    num_workers: int | None = None,
    ignore_error: bool = False,
    **options: Any,
) -> list[Kernel | None]:
    """Compiles several functions at once and returns their kernels in order.

    - `num_workers`: how many threads; as many as there are processors by default.
    - `ignore_error`: whether a function that cannot be compiled gives None, rather than an exception.
    - other arguments are those of `tilec.compile`.
    """
    from . import compiler

    calls = [functools.partial(compiler.compile, func, *args, **options) for func in funcs]
    return run(calls, num_workers=num_workers, ignore_error=ignore_error)
