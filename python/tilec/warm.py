"""Compiles kernels ahead of time, in parallel: `python -m tilec.warm`.

    python -m tilec.warm kernels.json --target sm_90a
    python -m tilec.warm my_kernels:gemm my_kernels.py:softmax

A kernel is named by its module, or its file, and its name there. That is a `@T.prim_func`, a `@tilec.jit` function, or
any function that returns one of the former or a compiled kernel. `kernels.json` gives the arguments of those that take
some:

    [
      {"kernel": "my_kernels:gemm", "args": [4096, 4096, 4096], "kwargs": {"dtype": "float16"}},
      {"kernel": "my_kernels:add", "args": [{"tensor": [1024], "dtype": "float32"}]},
      {"kernel": "my_kernels:scale", "options": {"target": "sm_80", "fast_math": true}}
    ]

An object with `tensor` stands for a tensor of that shape, for functions that are compiled for the tensors they are
called with. `options` are those of `tilec.compile`, for what is compiled here and not by a decorator of its own. What
is warmed lies in the cache (`TL_CACHE_DIR`), and is there for every program that compiles the same for the same target.

Anyone may have written a manifest. It names `@T.prim_func`s, `@tilec.jit` functions, and functions that have a
`@T.prim_func` in them or call `tilec.compile`, of modules that import `tilec`: of the search path, or files below the
current directory. Nothing else is imported or called, and options that name places on disk are refused. On the command
line any function may stand that can be called without arguments.

The exit status is 1 if something could not be compiled or stored. The rest is compiled all the same.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from . import cache, compiler, dtypes
from .autotuner.opened import OpenFunction
from .builder import PrimFunc
from .errors import ArgumentError, DTypeError
from .jit import JITFunction
from .kernel import Kernel
from .untrusted import MAX_BYTES, read_json, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .dtypes import DType

_MAX_SOURCE = 16 << 20

_MEMBERS = ("kernel", "args", "kwargs", "options")
_OPTIONS = ("out_idx", "target", "backend", "assembler", "line_info", "fast_math")
"""Of `tilec.compile`; the others name places on disk, or functions."""


class TensorLike:
    """Stands for a contiguous tensor that a function is compiled for, and has no elements."""

    __slots__ = ("dtype", "shape")  # a tensor is told by what its class has

    def __init__(self, shape: Sequence[int], dtype: str) -> None:
        self.shape = tuple(shape)
        self.dtype: DType = dtypes.dtype(dtype)

    def __dlpack__(self, **_: object) -> Any:
        raise ArgumentError("this tensor has a shape and a type to compile for, and no elements")


class Spec:
    """One kernel to compile: where it is, and its arguments."""

    def __init__(
        self,
        kernel: str,
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.is_listed = False
        """Whether a manifest names it, and not who runs this."""
        self.args = [_argument(a) for a in args]
        self.kwargs = {name: _argument(a) for name, a in (kwargs or {}).items()}
        self.options = options or {}
        given = [*map(json.dumps, args), *(f"{n}={json.dumps(a)}" for n, a in (kwargs or {}).items())]
        self.title = f"{kernel}({', '.join(given)})" if given else kernel

    @staticmethod
    def from_json(value: Any) -> Spec:
        """Returns the kernel that an object of a manifest speaks of."""
        if not isinstance(value, dict) or "kernel" not in value:
            raise ArgumentError(f'a kernel of a manifest is an object with "kernel", not `{json.dumps(value)}`')
        members = cast("dict[str, Any]", value)
        if unknown := sorted(members.keys() - set(_MEMBERS)):
            raise ArgumentError(
                f"`{shown(members['kernel'])}`: unknown `{shown(unknown[0])}`; known are {', '.join(_MEMBERS)}"
            )
        if not isinstance(members["kernel"], str) or not isinstance(members.get("args", []), list):
            raise ArgumentError(f'`{shown(members["kernel"])}`: "kernel" is a text, and "args" are a list')
        if any(not isinstance(members.get(name, {}), dict) for name in ("kwargs", "options")):
            raise ArgumentError(f'`{shown(members["kernel"])}`: "kwargs" and "options" are objects')
        if unknown := sorted(members.get("options", {}).keys() - set(_OPTIONS)):
            raise ArgumentError(
                f"`{shown(members['kernel'])}`: manifests have no option `{shown(unknown[0])}`; they have "
                f"{', '.join(_OPTIONS)}"
            )
        spec = Spec(**members)
        spec.is_listed = True
        return spec

    def find(self) -> Any:
        """Returns what it names."""
        if self.is_listed:
            _check_place(self.kernel)
        found = find(self.kernel)
        if self.is_listed:
            _check_kind(self.kernel, found)
        return found

    def compile(self) -> Kernel:
        """Compiles it, or takes it from the cache."""
        found = self.find()
        if isinstance(found, JITFunction | OpenFunction):
            if self.options:
                raise ArgumentError(f"`{self.kernel}`: the options of a `@tilec.jit` function stand in its decorator")
            return found.compile(*self.args, **self.kwargs)
        if not isinstance(found, PrimFunc):
            found = cast("Callable[..., Any]", found)(*self.args, **self.kwargs)
        elif self.args or self.kwargs:
            raise ArgumentError(f"`{self.kernel}` is a `@T.prim_func`, which takes no arguments to compile it")
        if isinstance(found, PrimFunc):
            return compiler.compile(found, **self.options)
        if isinstance(found, Kernel):
            return found
        raise ArgumentError(f"`{self.kernel}` must return a `@T.prim_func` or a kernel, not `{found!r}`")


def _argument(value: Any) -> Any:
    """Returns what an argument of a manifest stands for."""
    if not isinstance(value, dict) or "tensor" not in value:
        return cast("Any", value)
    members = cast("dict[str, Any]", value)
    shape, dtype = members["tensor"], members.get("dtype", "float32")
    if not isinstance(shape, list) or not all(type(extent) is int for extent in cast("list[Any]", shape)):
        raise ArgumentError(f'"tensor" is a list of extents, not `{json.dumps(shape)}`')
    if not isinstance(dtype, str):
        raise ArgumentError(f'"dtype" is a text, not `{json.dumps(dtype)}`')
    try:
        return TensorLike(cast("list[int]", shape), dtype)
    except DTypeError as error:
        raise ArgumentError(shown(error)) from None


def find(name: str) -> Any:
    """Returns what `module:name` or `file.py:name` names."""
    place, colon, attribute = name.rpartition(":")
    if not colon:
        raise ArgumentError(f"`{name}`: name a kernel as `module:name` or `file.py:name`")
    try:
        module = _load_file(place) if place.endswith(".py") else importlib.import_module(place)
    except (ImportError, FileNotFoundError) as error:
        raise ArgumentError(f"`{name}` cannot be imported: {error}") from error
    if not hasattr(module, attribute):
        raise ArgumentError(f"`{place}` has no `{attribute}`")
    return getattr(module, attribute)


def _check_place(name: str) -> None:
    """Checks that what a manifest names is in a module of kernels: one that imports this package and is no part of it.
    To import a module runs it, so that its text is looked at first."""
    place, colon, _ = name.rpartition(":")
    if not colon:
        return  # `find` says what is wrong
    if place.endswith(".py"):
        file = place
        if os.path.relpath(os.path.realpath(file)).startswith(os.pardir):
            raise ArgumentError(f"`{shown(name)}`: manifests name files below the current directory, and no others")
    else:
        file = _module_file(place)
    if file is None or not os.path.exists(file):
        raise ArgumentError(f"`{shown(name)}` cannot be imported: there is no such module")
    if place.split(".")[0] == "tilec" or not _imports_tilec(file):
        raise ArgumentError(f"`{shown(name)}`: manifests name kernels of modules that import `tilec`, and no others")


def _module_file(name: str) -> str | None:
    """Returns the file of a module, without running any of the packages that it is in; None if there is none."""
    from importlib.machinery import PathFinder

    path: Sequence[str] | None = None
    spec = None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, path)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec.origin if spec is not None and (spec.origin or "").endswith(".py") else None


def _imports_tilec(file: str) -> bool:
    import ast

    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read(_MAX_SOURCE))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "tilec" for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "tilec":
            return True
    return False


def _check_kind(name: str, found: Any) -> None:
    """Checks that what a manifest names is a kernel, or a function of its module that makes one."""
    module = sys.modules.get(getattr(found, "__module__", ""))
    is_own = isinstance(found, FunctionType) and found.__globals__ is getattr(module, "__dict__", None)
    place = name.rpartition(":")[0]
    if is_own and found.__module__ in (place, _file_module(place)) and _makes_kernels(found):
        return
    if not isinstance(found, PrimFunc | JITFunction | OpenFunction):
        raise ArgumentError(
            f"`{shown(name)}`: manifests name `@T.prim_func`s, `@tilec.jit` functions, and functions of their module "
            f"with a `@T.prim_func` in them or a call of `tilec.compile`"
        )


def _makes_kernels(function: FunctionType) -> bool:
    names = function.__code__.co_names
    return "prim_func" in names or ("tilec" in names and "compile" in names)


def _file_module(path: str) -> str:
    """Returns what a file is called as a module."""
    return f"tilec_warm_{os.path.abspath(path)}"


def _load_file(path: str) -> Any:
    import importlib.util

    name = _file_module(path)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "the name ends in .py"
    assert spec.loader is not None, "a file has a loader"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


def warm(specs: Sequence[Spec], jobs: int | None = None, done: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Compiles kernels into the cache, `jobs` at once (by default, as many as there are processors).

    Returns {"kernels": [{"kernel", "cached", "path", "seconds", "error"}], "compiled", "cached", "failed"}: the last
    three are numbers of kernels. `done` is called with the title of each as it is done.
    """
    results: dict[int, dict[str, Any]] = {}
    for spec in specs:  # imports are not for threads
        _quietly(spec.find)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        running = {pool.submit(_warm_one, spec): i for i, spec in enumerate(specs)}
        for future in as_completed(running):
            results[running[future]] = future.result()
            if done is not None:
                done(specs[running[future]].title)
    kernels = [results[i] for i in range(len(specs))]
    failed = sum(k["error"] is not None for k in kernels)
    cached = sum(k["cached"] for k in kernels)
    return {"kernels": kernels, "compiled": len(kernels) - failed - cached, "cached": cached, "failed": failed}


def _quietly(function: Callable[[], object]) -> None:
    """Calls a function; whatever is wrong is said when the kernel's turn comes."""
    try:
        function()
    except Exception:
        return


def _warm_one(spec: Spec) -> dict[str, Any]:
    start = time.perf_counter()
    result: dict[str, Any] = {"kernel": spec.title, "cached": False, "path": None, "error": None}
    try:
        kernel = spec.compile()
    except Exception as error:  # one kernel of many; the message is the user's own, whatever it is
        result["error"] = f"{type(error).__name__}: {error}"
    else:
        result["cached"] = kernel.cached
        result["path"] = str(kernel.cache_path) if kernel.cache_path else None
        if result["path"] is None and kernel.get_kernel_source():
            result["error"] = f"compiled, but not stored: the cache `{cache.directory()}` cannot be written"
    result["seconds"] = time.perf_counter() - start
    return result


class _ProgressBar:
    """How far the work is, on stderr if that is a terminal."""

    WIDTH = 30

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0

    def advance(self, title: str) -> None:
        self.done += 1
        if sys.stderr.isatty():
            filled = "#" * (self.done * self.WIDTH // self.total)
            end = "\n" if self.done == self.total else ""
            print(f"\r\x1b[K[{filled:<{self.WIDTH}}] {self.done}/{self.total} {shown(title)}", file=sys.stderr, end=end)
            sys.stderr.flush()


def _read(names: Sequence[str]) -> list[Spec]:
    """Returns the kernels that the command line names, those of manifests included."""
    specs: list[Spec] = []
    for name in names:
        if not name.endswith(".json"):
            specs.append(Spec(name))
            continue
        try:
            with open(name, "rb") as file:
                listed: Any = read_json(file.read(MAX_BYTES + 1))
        except (OSError, ValueError) as error:
            raise ArgumentError(f"cannot read `{name}`: {error}") from None
        if not isinstance(listed, list):
            raise ArgumentError(f"`{name}` must be a list of kernels")
        specs += [Spec.from_json(value) for value in cast("list[Any]", listed)]
    return specs


def _positive(text: str) -> int:
    """Returns a number that an option must have."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of 1 or more")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tilec.warm", description="Compile kernels ahead of time.")
    parser.add_argument("kernels", nargs="+", help="module:name, file.py:name, or a manifest kernels.json")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="how many at once; by default, all processors")
    parser.add_argument("--target", help="the target of kernels that do not say theirs, such as sm_90a")
    parser.add_argument("--backend", help="the backend of kernels that do not say theirs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    for variable, value in (("TL_TARGET", options.target), ("TL_EXECUTION_BACKEND", options.backend)):
        if value is not None:
            os.environ[variable] = value
    if not cache.is_enabled():
        parser.error("the cache is disabled by `TL_DISABLE_CACHE`, so that there is nothing to warm")
    sys.path.insert(0, "")  # as for `python -m`
    try:
        specs = _read(options.kernels)
    except ArgumentError as error:
        parser.error(str(error))
    answer = warm(specs, options.jobs, _ProgressBar(len(specs)).advance)
    if options.json:
        print(json.dumps(answer, indent=2))
    else:
        _print(answer)
    return 1 if answer["failed"] else 0


def _print(answer: dict[str, Any]) -> None:
    for kernel in answer["kernels"]:
        title = shown(kernel["kernel"])
        if kernel["error"] is not None:
            print(f"{title}: error: {shown(kernel['error'], keep_lines=True)}", file=sys.stderr)
        else:
            print(f"{title}: {'was there' if kernel['cached'] else 'compiled'}, {kernel['path']}")
    print(f"{answer['compiled']} compiled, {answer['cached']} were there, {answer['failed']} failed")


if __name__ == "__main__":
    sys.exit(main())
