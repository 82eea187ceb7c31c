"""From a function of the `tl` dialect to a kernel that can be called."""

from __future__ import annotations

import time
from types import FunctionType

from . import cache, env, log, postproc, targets
from .builder import PrimFunc
from .errors import (
    ArgumentError,
    BackendError,
    CompileError,
    Diagnostic,
    IdleThreadsWarning,
    TargetError,
    quoted,
    suggestion,
)
from .expr import shortened
from .kernel import Kernel
from .location import here
from .module import Module
from .tracebacks import ends_in_program
from .typed import TYPE_CHECKING
from .types import as_tuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .backends.base import Backend
    from .backends.literals import BackendName
    from .postproc import Hook, PostProcessor

ASSEMBLERS = ("auto", "nvjitlink", "ptxas", "driver", "none")

OPTIONS = (
    "target", "backend", "assembler", "line_info", "fast_math", "checks", "postproc", "dump_dir", "verbose",
)  # fmt: skip
"""What `compile` takes besides the function and the numbers of results."""

_OTHER_OPTIONS = {
    "pass_configs": ": passes have no options that programs set",
    "compile_flags": ": give options such as `fast_math`",
    "execution_backend": ": it is called `backend`",
    "target_host": ": the host is this machine",
    "debug_root_path": ": it is called `dump_dir`",
    "num_warps": ": give `threads=` to `T.Kernel`",
    "num_stages": ": give `num_stages=` to `T.Pipelined`",
}
"""What is said of options that programs give to other compilers."""


def check_options(names: Iterable[str], whose: str) -> None:
    """Raises for what is no option of `compile`, before anything is compiled."""
    for name in names:
        if name not in OPTIONS:
            known = f"; it takes `out_idx`, {quoted(OPTIONS)}"
            said = _OTHER_OPTIONS.get(name) or suggestion(name, [*OPTIONS, "out_idx"]) or known
            raise ArgumentError(f"{whose} has no `{name}`{said}", location=here())


def compile(
    func: PrimFunc | Module,
    out_idx: int | Sequence[int] | None = None,
    target: str | None = "auto",
    backend: BackendName | None = "auto",
    *,
    assembler: str = "auto",
    line_info: bool = False,
    fast_math: bool = False,
    checks: bool | None = None,
    postproc: Hook | None = None,
    dump_dir: str | None = None,
    verbose: bool | None = None,
    **others: Any,
) -> Kernel:
    """Compiles a function; what was compiled before, by any process, comes from the cache.

    - `func`: a `@T.prim_func`, or a `T.Module` of one function.
    - `out_idx`: the parameters, by number, that calls allocate and return instead of taking them.
    - `target`: "auto" or None (`TL_TARGET`, else this machine's GPU, else the CPU), "cpu", "cuda", or a chip such as
      "sm_90a", which needs no GPU.
    - `backend`: "auto" or None (`TL_EXECUTION_BACKEND`, else the first that fits the target and is available), or a
      backend's name; `python -m tilec.backends` lists them.
    - `assembler`: what makes a cubin of PTX: "auto", "nvjitlink", "ptxas", "driver", or "none".
    - `line_info`: keep source lines in PTX and cubin, for profilers.
    - `fast_math`: allow approximate division, square root and exponential.
    - `checks`: whether calls raise a `CheckError` if the program divides by zero, leaves a buffer, or reads on-chip
      memory that nothing has written (docs/language/checks.md); by default as `TL_CHECKS` says.
    - `postproc`: a function of source and target that returns the source to use, called before the generated source is
      compiled further; see `tilec.postproc`. It takes the place of a registered one.
    - `dump_dir`: where to write the IR after every pass.
    - `verbose`: whether to say what is done; by default as `TL_VERBOSE` says.
    """
    with ends_in_program:
        check_options(others, "`tilec.compile`")
        function = _single(func)
        if assembler not in ASSEMBLERS:
            raise TargetError(f"unknown assembler `{assembler}`; known are {', '.join(f'`{a}`' for a in ASSEMBLERS)}")
        choice = targets.resolve(target, backend)
        _check_option(choice, "assembler", assembler != "auto")
        _check_option(choice, "postproc", postproc is not None)
        request = Request(
            function,
            choice,
            output_indices(function, out_idx),
            assembler=assembler,
            line_info=line_info,
            fast_math=fast_math,
            checks=env.are_checks_on() if checks is None else checks,
            postproc=_post_processor(choice.compiler, postproc),
            dump_dir=dump_dir,
            verbose=verbose,
        )
        return choice.backend.kernels.kernel(request)


def _check_option(choice: targets.Choice, option: str, is_given: bool) -> None:
    if is_given and option not in choice.compiler.options:
        raise BackendError(f"the backend `{choice.backend.name}` for `{choice.chip}` has no option `{option}`")


def _post_processor(backend: Backend, hook: Hook | None) -> PostProcessor | None:
    hook = postproc.registered(backend.generator) if hook is None else postproc.check(hook)
    return None if hook is None else postproc.PostProcessor(hook)


class Request:
    """One compilation: a function, and everything else that its result depends on."""

    __slots__ = (
        "assembler",
        "backend",
        "checks",
        "chip",
        "choice",
        "dump_dir",
        "fast_math",
        "function",
        "line_info",
        "outputs",
        "postproc",
        "text",
        "verbose",
    )

    def __init__(
        self,
        function: PrimFunc,
        choice: targets.Choice,
        outputs: tuple[int, ...] | None,
        *,
        assembler: str,
        line_info: bool,
        fast_math: bool,
        checks: bool,
        postproc: PostProcessor | None,
        dump_dir: str | None,
        verbose: bool | None,
    ) -> None:
        self.function = function
        self.text = function.text
        self.choice = choice
        self.backend = choice.backend
        self.chip = choice.chip
        self.outputs = outputs
        self.assembler = assembler
        self.line_info = line_info
        self.fast_math = fast_math
        self.checks = checks
        self.postproc = postproc
        self.dump_dir = dump_dir
        self.verbose = verbose

    @property
    def key(self) -> tuple[object, ...]:
        """What tells requests to one backend apart."""
        edit = self.postproc and self.postproc.id
        options = (self.assembler, self.line_info, self.fast_math, self.checks)
        return (self.text, self.chip, self.outputs, *options, edit)

    @property
    def why_uncached(self) -> str | None:
        """Why the result is neither looked up nor kept; None if it is."""
        if self.postproc is not None and self.postproc.obstacle is not None:
            return f"the hook `{self.postproc.name}` has no fingerprint, because {self.postproc.obstacle}"
        if self.dump_dir is not None:
            return "every pass must run, to be dumped to `dump_dir`"
        return None if cache.is_enabled() else "the cache is disabled"

    def compile(self, made: type[Kernel] = Kernel) -> Kernel:
        """Compiles the function, or takes its kernels from the cache; `made` is what comes of it."""
        from . import _tl

        name = self.function.name
        is_cached = self.why_uncached is None
        self._say_what_was_chosen()
        start = time.perf_counter()
        module, messages = _tl.parse(self.text, f"{name}.mlir")
        _report(self, module is None, messages)
        assert module is not None, "failures were raised"
        parsed = time.perf_counter()
        compiled, messages = module.compile(
            chip=self.chip,
            backend=self.choice.compiler.pipeline,
            assembler=self.assembler,
            cache_dir=cache.prepare() if is_cached else "",
            use_cache=is_cached,
            require_cached=is_cached and cache.is_required(),
            line_info=self.line_info,
            fast_math=self.fast_math,
            checks=self.checks,
            dump_dir=self.dump_dir,
            post_processor=self.postproc and self.postproc.handle(),
        )
        _report(self, compiled is None, messages)
        assert compiled is not None, "failures were raised"
        seconds = {"parse": parsed - start, "compile": time.perf_counter() - parsed}
        kernel = made(self.function, module, compiled, seconds, self.choice, self.outputs, self._options(), again)
        kernel.dump_dir = self.dump_dir
        kernel.layouts = _layouts(messages)
        return kernel

    def _options(self) -> dict[str, Any]:
        """Returns the options of `compile` that make the same kernel elsewhere."""
        return {
            "target": self.chip,
            "backend": self.backend.name,
            "assembler": self.assembler,
            "line_info": self.line_info,
            "fast_math": self.fast_math,
            "checks": self.checks,
            "postproc": self.postproc and self.postproc.hook,
        }

    def _say_what_was_chosen(self) -> None:
        name = self.function.name
        values = {"target": self.chip, "backend": self.backend.name}
        if chosen := [f"{what} `{values[what]}`" for what in self.choice.chosen]:
            log.info(f"`{name}`: {' and '.join(chosen)}, because no other was asked for", self.verbose)
        if self.postproc is not None and self.postproc.obstacle is not None:
            log.info(f"`{name}` is not cached: {self.why_uncached}", self.verbose)


def again(function: PrimFunc, outputs: tuple[int, ...] | None, options: dict[str, Any]) -> Kernel:
    """Compiles a function as before, with other options perhaps; in another process, too."""
    # Results made by `T.empty` are the function's own, not asked for by `out_idx`.
    return compile(function, None if function.results else outputs, **options)


def _single(func: Any) -> PrimFunc:
    if isinstance(func, PrimFunc):
        return func
    if isinstance(func, Module):
        if len(func.functions) != 1:
            raise ArgumentError(f"the module has {len(func.functions)} functions: compile one of them, `module[name]`")
        return next(iter(func.functions.values()))
    name = getattr(func, "__name__", None) or getattr(func, "name", "it")
    remedy = f"`{name}` is compiled when it is called, or by `{name}.compile(...)`" if hasattr(func, "compile") else ""
    remedy = remedy or (
        f"`{name}` is compiled already" if isinstance(func, Kernel) else "decorate it with `@T.prim_func`"
    )
    given = f"the function `{name}`" if isinstance(func, FunctionType) else f"`{shortened(func)}`"
    raise ArgumentError(f"`tilec.compile` takes a `@T.prim_func`, not {given}: {remedy}", location=here())


def output_indices(function: PrimFunc, out_idx: int | Sequence[int] | None) -> tuple[int, ...] | None:
    """Returns the checked numbers of the parameters that calls return."""
    if out_idx is None:
        return function.results or None
    if function.results:
        raise ArgumentError(
            f"`out_idx` is for functions that take their results; `{function.name}` returns those that it makes with "
            f"`T.empty`",
            location=here(),
        )
    count = len(function.declared)
    if isinstance(out_idx, str) or not all(isinstance(i, int) for i in as_tuple(out_idx)):
        raise ArgumentError(
            f"`out_idx` is the number of a parameter, or a list of them, not `{out_idx!r}`; did you mean "
            f"`target={out_idx!r}`?"
            if isinstance(out_idx, str)
            else f"`out_idx` is the number of a parameter, or a list of them, not `{out_idx!r}`",
            location=here(),
        )
    wanted = list(as_tuple(out_idx))
    for index in wanted:
        if not -count <= index < count:
            raise ArgumentError(
                f"`out_idx` {index}: `{function.name}` has {count} parameter{'s' if count != 1 else ''}, and the last "
                f"one is {count - 1} or -1",
                location=here(),
            )
        if not function.parameters[index].is_tensor:
            raise ArgumentError(f"`out_idx` {index}: `{function.parameters[index].name}` is not a tensor")
    found = tuple(index % count for index in wanted)
    if len(set(found)) != len(found):
        raise ArgumentError(f"`out_idx` names a parameter twice: {out_idx}")
    return found


def _report(request: Request, failed: bool, messages: str) -> None:
    diagnostics = _diagnostics(messages)
    if failed and any(diagnostic.kind == "not-cached" for diagnostic in diagnostics):
        raise cache.missing(request.function.name, [d for d in diagnostics if d.severity == "error"])
    if failed:
        said = [diagnostic for diagnostic in diagnostics if diagnostic.severity != "remark"]
        raise CompileError(f"`{request.function.name}` cannot be compiled", said)
    for diagnostic in diagnostics:
        if diagnostic.severity != "warning":
            log.info(diagnostic.render(), request.verbose)
        elif request.chip != "cpu" or diagnostic.category is not IdleThreadsWarning:
            _warn(diagnostic)


def _layouts(messages: str) -> dict[int, str]:
    """Returns the layouts that prints ask for, by their numbers."""
    if "layout | " not in messages:
        return {}
    import re

    found = (re.search(r"layout (\d+): (#tl\.\w+<.*>)", d.message) for d in _diagnostics(messages))
    return {int(match[1]): match[2] for match in found if match}


_shown: dict[str, dict[Any, Any]] = {}
"""For each file of the user's what was warned of, as `warnings` keeps it."""


def _warn(diagnostic: Diagnostic) -> None:
    """Warns at the user's line, so that filters by line, module and once per place do what they say."""
    import warnings

    file = diagnostic.file or "<unknown>"
    warnings.warn_explicit(
        diagnostic.render(), diagnostic.category, file, diagnostic.line or 1, registry=_shown.setdefault(file, {})
    )


def _diagnostics(messages: str) -> list[Diagnostic]:
    if messages in ("", "[]"):
        return []
    import json

    return [Diagnostic.from_json(message) for message in json.loads(messages)]
