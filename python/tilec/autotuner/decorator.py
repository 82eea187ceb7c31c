"""`@tilec.autotune`: functions that are tuned when they are called."""

from __future__ import annotations

import functools

from .. import log
from ..errors import ArgumentError, ConfigError, TuningError, quoted
from ..jit import JITFunction, JITMethod
from ..once import Lock
from ..tracebacks import ends_in_program
from ..typed import TYPE_CHECKING
from ..types import TensorType, as_tuple
from . import calls
from . import configs as configurations
from .calls import Call
from .identity import frozen
from .inputs import Given, get_autotune_inputs
from .profile import Profile, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..builder import PrimFunc
    from ..kernel import Kernel
    from .configs import Config
    from .result import AutotuneResult

    Types = Mapping[str, TensorType]
    _Chosen = tuple[JITFunction, Config, AutotuneResult | None]


def autotune(
    function: Any = None,
    /,
    *,
    configs: Any = None,
    do_not_specialize: str | Sequence[str] | None = None,
    results: str | Sequence[str] | None = None,
    **profile: Any,
) -> Any:
    """Finds the best values of some parameters of a `@tilec.jit` function when it is called.

        @tilec.autotune(configs={"block": [32, 64, 128]}, ref_prog=lambda a: a + 1)
        @tilec.jit(out_idx=-1)
        def add_one(n: int, block: int = 64): ...

    Lazy functions return the best kernel; eager ones run it. Each set of arguments is tuned once, on this machine or on
    any that the cache is shared with.

    - `configs`: a list of dictionaries, a dictionary of lists that stands for all combinations, or a callable that
      gets the arguments of the call and returns either. The key "pass_configs" holds options of `tilec.compile`.
    - `do_not_specialize`: names of parameters whose values share one configuration. Kernels are made for the actual
      values, whatever the configuration was found with.
    - `results`: files that `save_results` wrote, whose results are used without measuring.
    - the rest is documented at `tilec.autotuner.profile.Profile`.
    """
    if function is not None:
        raise ArgumentError("`@tilec.autotune` takes its configurations in brackets: `@tilec.autotune(configs=[...])`")
    if configs is None:
        raise ConfigError("`@tilec.autotune` needs `configs`")

    def decorate(jitted: Any) -> TunedFunction:
        if not isinstance(jitted, JITFunction):
            raise ArgumentError(f"`@tilec.autotune` goes over `@tilec.jit`, not on `{jitted!r}`")
        return TunedFunction(jitted, configs, as_tuple(do_not_specialize or ()), as_tuple(results or ()), profile)

    return decorate


def _tuned(kernel: Kernel, result: AutotuneResult | None) -> Kernel:
    """Says in a kernel what tuning found for it."""
    if result is not None:
        kernel.tuning = result
    return kernel


class TunedFunction:
    """A function that is tuned for the arguments that it is called with."""

    def __init__(
        self,
        function: JITFunction,
        configs: Any,
        do_not_specialize: Sequence[str],
        results: Sequence[str],
        profile: dict[str, Any],
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self.name = function.name
        self.is_eager = function.is_eager
        """Whether calling it runs it, rather than returning a kernel."""
        self._parameters = function.signature.parameters
        self._defaults = {n: p.default for n, p in self._parameters.items() if p.default is not p.empty}
        self._positional = tuple(self._parameters)
        self.configs = configs
        self.given_profile = profile
        self._profile = Profile(**checked(profile))
        self._shared = frozenset(do_not_specialize)
        unknown = sorted(self._shared - self._parameters.keys())
        if unknown:
            raise ConfigError(f"`do_not_specialize` names `{unknown[0]}`, no parameter of `{self.name}`")
        self._results = results
        self._shipped: list[Any] | None = None
        self._tunables: set[str] = set()
        self._found: dict[Any, AutotuneResult] = {}
        self._guard = Lock()
        self._busy: dict[Any, Lock] = {}
        self._variants: dict[Any, JITFunction] = {}
        """The function with the options of configurations that have some."""
        self._calls: dict[Any, _Chosen] = {}
        """What to call with what, for calls that were made before in the very same form."""
        self._types: dict[Any, Types] = {}
        """The tensors of programs for eager calls of one form."""
        self._warned = False
        if not callable(configs):
            self._expanded((), {})

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """A function of a class is a method of its objects."""
        return self if instance is None else JITMethod(self, instance)

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return self._function, self.configs

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs an eager function with the best configuration; returns the best kernel of a lazy one."""
        with ends_in_program:
            jitted, chosen, result = self._chosen(args, kwargs)
            called = jitted(*args, **kwargs, **chosen)
            return called if self.is_eager else _tuned(called, result)

    def compile(self, /, *args: Any, **kwargs: Any) -> Kernel:
        """Returns the best kernel for these arguments without running it.

        They are those of `JITFunction.compile`: an eager function can be given extents in place of tensors.
        """
        with ends_in_program:
            jitted, chosen, result = self._chosen(args, kwargs)
            return _tuned(jitted.compile(*args, **kwargs, **chosen), result)

    def tune(self, /, *args: Any, **kwargs: Any) -> AutotuneResult:
        """Returns what tuning for these arguments found."""
        with ends_in_program:
            return self._result(self._call(args, kwargs))

    def save_results(self, path: str) -> None:
        """Writes what was found so far, in this process, to a file that `results` takes."""
        import json

        choices = {id(result): result.choice for result in self._found.values()}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"results": list(choices.values())}, file, indent=1, sort_keys=True)

    # Arguments -------------------------------------------------------------------------------------------------------

    def _chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Chosen:
        """Returns what to call, what to add to a call's arguments, and what tuning found."""
        form = None
        if get_autotune_inputs() is None:
            form = self._quick_form(args, kwargs)
            try:
                known = self._calls.get(form)
            except TypeError:
                form = known = None
            if known is not None:
                return known
        result = self._best(self._call(args, kwargs))
        config = {} if result is None else result.config
        found = self._jitted(config), configurations.parameters(config), result
        if form is not None:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[form] = found
        return found

    def _quick_form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        scalars = self._function.scalars
        if scalars:
            args = tuple(None if n in scalars else v for n, v in zip(self._positional, args, strict=False))
        positional = tuple(map(calls.quick_form, args))
        if not kwargs:
            return positional, ()
        return positional, tuple((n, None if n in scalars else calls.quick_form(v)) for n, v in kwargs.items())

    def _best(self, call: Call) -> AutotuneResult | None:
        """Returns the best configuration for a call, with what is known of it; None if the caller chose himself."""
        if callable(self.configs) and not self._tunables:
            _ = call.candidates  # which say what is tunable
        chosen = self._tunables & call.bound.keys()
        if chosen:
            self._warn(chosen)
            return None
        return self._result(call)

    def _jitted(self, config: Config) -> JITFunction:
        """Returns what compiles a configuration: the function itself, unless it has options of its own."""
        options = config.get(configurations.RESERVED)
        if not options:
            return self._function
        return self._variants.setdefault(frozen(options), self._function.with_options(options))

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if len(args) > len(self._positional):
            raise ArgumentError(f"`{self.name}` takes {len(self._positional)} arguments, and {len(args)} are given")
        bound = dict(zip(self._positional, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                raise ArgumentError(f"`{self.name}`: multiple values for argument `{name}`")
            bound[name] = value
        return Call(args, kwargs, bound, self._expanded)

    def _key(self, call: Call, types: Types) -> Any:
        """Returns what tells calls apart: arguments that are specialised on, however they were passed, and inputs."""
        from .problem import inputs_identity

        given = get_autotune_inputs()
        inputs = None if given is None else frozen(inputs_identity(given))
        return calls.frozen_items(self._specialised(call, types)), inputs

    def _specialised(self, call: Call, types: Types) -> dict[str, Any]:
        """Returns what has a choice of its own: arguments, and the layouts of tensors, given or not."""
        left = self._tunables | self._shared | self._function.scalars
        values = {n: calls.described(v, types.get(n)) for n, v in self._complete(call).items() if n not in left}
        if not types or call.has_tensors:
            return values
        layouts = {n: calls.described_type(kind) for n, kind in types.items() if n in self._parameters}
        return {**layouts, **{n: v for n, v in values.items() if n in self._parameters}}

    def _complete(self, call: Call) -> dict[str, Any]:
        """Returns the arguments of a call by name, defaults included."""
        return {**self._defaults, **call.bound}

    def _traced(self, call: Call) -> Types:
        """Returns the tensors of the program that an eager call makes, which say what of them is dynamic.

        It is traced once for calls that differ in the extents of tensors alone.
        """
        if not self.is_eager:
            return {}
        form = calls.form(call, self._function.scalars)
        found = self._types.get(form)
        if found is None and (found := self._trace_any(call)):
            self._types[form] = found
        return found

    def _trace_any(self, call: Call) -> Types:
        for config in call.candidates:
            try:
                program, _ = self._function.trace(**{**call.bound, **configurations.parameters(config)})
            except Exception:  # tuning says what is wrong with it
                continue
            return {p.name: p.type for p in program.parameters if isinstance(p.type, TensorType)}
        return {}

    def _check(self, call: Call) -> None:
        """Raises if the function cannot be called so, whatever the configuration."""
        if not self.is_eager or call.has_tensors:
            self._function.bind((), {**call.bound, **configurations.parameters(call.candidates[0])})

    def _warn(self, chosen: set[str]) -> None:
        if self._warned:
            return
        self._warned = True
        names = quoted(sorted(chosen))
        log.warning(f"`{self.name}` is given {names}, which it would be tuned for: nothing is tuned")

    # Tuning ----------------------------------------------------------------------------------------------------------

    def _expanded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Config]:
        name = self.name
        found = configurations.expand(self.configs, name, args, kwargs)
        configurations.check(found, self._function.function, name)
        self._tunables |= configurations.names(found)
        return found

    def _result(self, call: Call) -> AutotuneResult:
        """Returns what is known for these arguments, or tunes; threads that want the same wait for the first."""
        types = self._traced(call)
        found = self._found.get(self._key(call, types))
        if found is not None:
            return found
        self._check(call)
        key = self._key(call, types)  # what is tuned is known by now
        with self._guard:
            busy = self._busy.setdefault(key, Lock())
        with busy:
            if key not in self._found:
                result = self._tune(call, types)
                self._found[key] = result
                # Later calls need not repeat the inputs that it was measured with.
                self._found.setdefault((key[0], None), result)
        return self._found[key]

    def _tune(self, call: Call, types: Types) -> AutotuneResult:
        from .problem import Problem, full_name, inputs_identity
        from .tuning import tune

        function = self._function

        def trace(config: Config) -> tuple[PrimFunc, Any]:
            return function.trace(**{**call.bound, **configurations.parameters(config)})

        def build(config: Config) -> Kernel:
            return self._jitted(config).compile(**{**call.bound, **configurations.parameters(config)})

        given = get_autotune_inputs()
        supplied = Given(given) if given is not None else self._of_call(call)
        values = self._complete(call)
        problem = Problem(
            full_name(self._function),
            function,
            trace,
            build,
            call.candidates,
            function.options,
            self._profile,
            arguments=self._specialised(call, types),
            named={n: v for n, v in values.items() if n not in self._tunables},
            shared={n: v for n, v in values.items() if n in self._shared},
            given=supplied,
            inputs=None if given is None else inputs_identity(given),
            shipped=self._load_shipped(),
        )
        return tune(problem)

    def _of_call(self, call: Call) -> Any:
        """Returns the tensors and scalars of an eager call to measure with, unless the user supplies others."""
        if not self.is_eager or self._profile.supply_prog is not None:
            return None
        return Given(self._complete(call))

    def _load_shipped(self) -> list[Any]:
        if self._shipped is None:
            self._shipped = [choice for path in self._results for choice in _read_results(path, self.name)]
        return self._shipped


def _read_results(path: str, name: str) -> list[Any]:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            return list(json.load(file)["results"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TuningError(f"the results of `{name}` cannot be read from `{path}`: {error}") from None


_MOST_CALLS = 4096
