"""From a function of the `tl` dialect to a kernel that can be called."""

from __future__ import annotations

import sys
import threading
import time

from . import cache, env, targets
from .builder import Module, PrimFunc
from .errors import ArgumentError, CompileError, Diagnostic, TargetError
from .kernel import Kernel
from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

ASSEMBLERS = ("auto", "nvjitlink", "ptxas", "driver", "none")


_Options = tuple[str, str, bool, bool, str | None]
"""Everything that a compilation depends on, besides the program: chip, assembler, line information, fast arithmetic and
where to dump."""

_Key = tuple[str, _Options, tuple[int, ...] | None]

_table: dict[_Key, Kernel] = {}
_pending: dict[_Key, threading.Lock] = {}
_guard = threading.Lock()


def compile(
    func: PrimFunc | Module,
    out_idx: int | Sequence[int] | None = None,
    target: str = "auto",
    backend: str = "auto",
    *,
    assembler: str = "auto",
    line_info: bool = False,
    fast_math: bool = False,
    dump_dir: str | None = None,
    verbose: bool | None = None,
) -> Kernel:
    """Compiles a function; what was compiled before, by any process, comes from the cache.

    - `func`: a `@T.prim_func`, or a `T.Module` of one function.
    - `out_idx`: the parameters, by number, that calls allocate and return instead of taking them.
    - `target`: "auto" (this machine's GPU, else the CPU), "cpu", "cuda", or a chip such as "sm_90a", which needs no
      GPU.
    - `backend`: "auto", or the one backend of the target: "cpu" or "nvptx".
    - `assembler`: what makes a cubin of PTX: "auto", "nvjitlink", "ptxas", "driver", or "none".
    - `line_info`: keep source lines in PTX and cubin, for profilers.
    - `fast_math`: allow approximate division, square root and exponential.
    - `dump_dir`: where to write the IR after every pass.
    - `verbose`: whether to say what is done; by default as `TL_VERBOSE` says.
    """
    function = _single(func)
    if assembler not in ASSEMBLERS:
        raise TargetError(f"unknown assembler `{assembler}`; known are {', '.join(f'`{a}`' for a in ASSEMBLERS)}")
    options = (targets.resolve(target, backend), assembler, line_info, fast_math, dump_dir)
    outputs = output_indices(function, out_idx)
    verbose = env.is_verbose() if verbose is None else verbose
    text = function.script(locations=True)
    key = (text, options, outputs)
    if not cache.is_enabled() or dump_dir is not None:
        return _compile(function, text, options, outputs, verbose)
    with _guard:
        pending = _pending.setdefault(key, threading.Lock())
    with pending:  # threads that want the same kernel wait for the first
        found = _table.get(key)
        if found is None:
            found = _table[key] = _compile(function, text, options, outputs, verbose)
    with _guard:
        _pending.pop(key, None)
    return found


def _single(func: Any) -> PrimFunc:
    if isinstance(func, PrimFunc):
        return func
    if isinstance(func, Module):
        if len(func.functions) != 1:
            raise ArgumentError(f"the module has {len(func.functions)} functions: compile one of them, `module[name]`")
        return next(iter(func.functions.values()))
    raise ArgumentError(f"`tilec.compile` takes a `@T.prim_func`, not `{func!r}`")


def output_indices(function: PrimFunc, out_idx: int | Sequence[int] | None) -> tuple[int, ...] | None:
    """Returns the checked numbers of the parameters that calls return."""
    if out_idx is None:
        return None
    count = len(function.parameters)
    wanted = [out_idx] if isinstance(out_idx, int) else list(out_idx)
    for index in wanted:
        if not -count <= index < count:
            raise ArgumentError(f"`out_idx` {index}: `{function.name}` has {count} parameters")
        if not function.parameters[index].is_tensor:
            raise ArgumentError(f"`out_idx` {index}: `{function.parameters[index].name}` is not a tensor")
    found = tuple(index % count for index in wanted)
    if len(set(found)) != len(found):
        raise ArgumentError(f"`out_idx` names a parameter twice: {out_idx}")
    return found


def _compile(
    function: PrimFunc, text: str, options: _Options, outputs: tuple[int, ...] | None, verbose: bool
) -> Kernel:
    from . import _tl

    chip, assembler, line_info, fast_math, dump_dir = options
    if verbose:
        print(f"tilec: compiling `{function.name}` for {chip}", file=sys.stderr)
    start = time.perf_counter()
    module, messages = _tl.parse(text, f"{function.name}.mlir")
    _report(function, module is None, messages, verbose)
    assert module is not None, "failures were raised"
    parsed = time.perf_counter()
    compiled, messages = module.compile(
        chip=chip,
        assembler=assembler,
        cache_dir=cache.directory() if cache.is_enabled() else "",
        use_cache=cache.is_enabled(),
        line_info=line_info,
        fast_math=fast_math,
        dump_dir=dump_dir,
    )
    _report(function, compiled is None, messages, verbose)
    assert compiled is not None, "failures were raised"
    seconds = {"parse": parsed - start, "compile": time.perf_counter() - parsed}
    kernel = Kernel(function, module, compiled, seconds, chip, outputs)
    if verbose:
        print(f"tilec: {kernel.summary()}", file=sys.stderr)
    return kernel


def _report(function: PrimFunc, failed: bool, messages: str, verbose: bool) -> None:
    diagnostics = _diagnostics(messages)
    if failed:
        raise CompileError(f"`{function.name}` cannot be compiled", diagnostics)
    for diagnostic in diagnostics:
        if diagnostic.severity == "warning":
            import warnings

            warnings.warn(diagnostic.render(), stacklevel=4)
        elif verbose:
            print(diagnostic.render(), file=sys.stderr)


def _diagnostics(messages: str) -> list[Diagnostic]:
    if messages in ("", "[]"):
        return []
    import json

    return [Diagnostic.from_json(message) for message in json.loads(messages)]


def forget() -> None:
    """Drops the table of this process's kernels; those in use live on."""
    with _guard:
        _table.clear()
