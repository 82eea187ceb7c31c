"""`@tilec.autotune`: functions that are tuned when they are called."""

from __future__ import annotations

import functools

from .. import log
from ..errors import ArgumentError, ConfigError, TuningError
from ..jit import JITFunction, is_tensor
from ..once import Lock
from ..typed import TYPE_CHECKING, cast
from ..types import Const, Symbol, TensorType, as_tuple
from . import configs as configurations
from .profile import Profile, checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..builder import PrimFunc
    from ..kernel import Kernel
    from .configs import Config
    from .result import AutotuneResult

    Dynamic = Mapping[str, tuple[bool, ...]]


def autotune(
    function: Any = None,
    /,
    *,
    configs: Any = None,
    do_not_specialize: Sequence[str] | None = None,
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
        return TunedFunction(jitted, configs, tuple(do_not_specialize or ()), as_tuple(results or ()), profile)

    return decorate


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
        self._parameters = function.signature.parameters
        self._defaults = {n: p.default for n, p in self._parameters.items() if p.default is not p.empty}
        self._positional = tuple(self._parameters)
        self._configs = configs
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
        self._calls: dict[Any, tuple[JITFunction, Config]] = {}
        """What to call with what, for calls that were made before in the very same form."""
        self._dynamic: dict[Any, Dynamic] = {}
        """Which extents of tensors of one form are dynamic."""
        self._warned = False
        if not callable(configs):
            self._expanded((), {})

    @property
    def is_eager(self) -> bool:
        return self._function.is_eager

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs an eager function with the best configuration; returns the best kernel of a lazy one."""
        jitted, chosen = self._chosen(args, kwargs)
        return jitted(*args, **kwargs, **chosen)

    def compile(self, *args: Any, **kwargs: Any) -> Kernel:
        """Returns the best kernel for these arguments without running it.

        They are those of `JITFunction.compile`: an eager function can be given extents in place of tensors.
        """
        jitted, chosen = self._chosen(args, kwargs)
        return jitted.compile(*args, **kwargs, **chosen)

    def tune(self, *args: Any, **kwargs: Any) -> AutotuneResult:
        """Returns what tuning for these arguments found."""
        bound = self._bind(args, kwargs)
        return self._result(bound, args, kwargs)

    def save_results(self, path: str) -> None:
        """Writes what was found so far, in this process, to a file that `results` takes."""
        import json

        from .records import Store

        choices = [Store().load(result.key) for result in self._found.values()]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"results": [c for c in choices if c is not None]}, file, indent=1, sort_keys=True)

    # Arguments -------------------------------------------------------------------------------------------------------

    def _chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[JITFunction, Config]:
        """Returns what to call, and what to add to a call's arguments."""
        from .inputs import get_autotune_inputs

        form = None
        if get_autotune_inputs() is None:
            form = tuple(map(_quick_form, args)), tuple((n, _quick_form(v)) for n, v in kwargs.items())
            try:
                known = self._calls.get(form)
            except TypeError:
                form = known = None
            if known is not None:
                return known
        config = self._config(args, kwargs)
        found = self._jitted(config), configurations.parameters(config)
        if form is not None:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[form] = found
        return found

    def _config(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """Returns the configuration for a call: an empty one if the caller chose himself."""
        bound = self._bind(args, kwargs)
        if callable(self._configs) and not self._tunables:
            self._expanded(args, kwargs)
        chosen = self._tunables & bound.keys()
        if chosen:
            self._warn(chosen)
            return {}
        return self._result(bound, args, kwargs).config

    def _jitted(self, config: Config) -> JITFunction:
        """Returns what compiles a configuration: the function itself, unless it has options of its own."""
        options = config.get(configurations.RESERVED)
        if not options:
            return self._function
        return self._variants.setdefault(_frozen(options), self._function.with_options(options))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments by name, those that were given alone."""
        if len(args) > len(self._positional):
            raise ArgumentError(f"`{self.name}` takes {len(self._positional)} arguments, and {len(args)} are given")
        bound = dict(zip(self._positional, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                raise ArgumentError(f"`{self.name}`: multiple values for argument `{name}`")
            bound[name] = value
        return bound

    def _key(self, bound: Mapping[str, Any], dynamic: Dynamic) -> Any:
        """Returns what tells calls apart: arguments that are specialised on, however they were passed, and inputs."""
        from .inputs import get_autotune_inputs

        values = [(n, _frozen(v)) for n, v in self._specialised(bound, dynamic).items()]
        given = get_autotune_inputs()
        return tuple(values), None if given is None else tuple(map(_frozen, given))

    def _specialised(self, bound: Mapping[str, Any], dynamic: Dynamic) -> dict[str, Any]:
        """Returns the arguments that have a choice of their own; of tensors what the choice depends on."""
        left = self._tunables | self._shared
        return {n: _described(v, dynamic.get(n)) for n, v in self._complete(bound).items() if n not in left}

    def _complete(self, bound: Mapping[str, Any]) -> dict[str, Any]:
        named = {n: bound.get(n, self._defaults.get(n)) for n in self._parameters if n in bound or n in self._defaults}
        extra = {n: bound[n] for n in sorted(bound.keys() - self._parameters.keys())}
        return {**named, **extra}

    def _dynamic_extents(self, bound: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Dynamic:
        """Returns for each tensor of an eager call which of its extents are dynamic.

        The program says so; it is traced once for arguments that differ in extents alone.
        """
        if not self.is_eager:
            return {}
        form = tuple((n, (len(v.shape), str(v.dtype)) if is_tensor(v) else _frozen(v)) for n, v in bound.items())
        found = self._dynamic.get(form)
        if found is None:
            found = self._dynamic[form] = self._traced_extents(bound, self._expanded(args, kwargs))
        return found

    def _traced_extents(self, bound: Mapping[str, Any], candidates: Sequence[Config]) -> Dynamic:
        for config in candidates:
            try:
                program, _ = self._function.trace(**{**bound, **configurations.parameters(config)})
            except Exception:  # tuning says what is wrong with it
                continue
            types = {p.name: p.type for p in program.parameters}
            return {
                name: tuple(isinstance(extent, Symbol) for extent in kind.shape)
                for name, kind in types.items()
                if isinstance(kind, TensorType)
            }
        return {}

    def _warn(self, chosen: set[str]) -> None:
        if self._warned:
            return
        self._warned = True
        names = ", ".join(f"`{n}`" for n in sorted(chosen))
        log.warning(f"`{self.name}` is given {names}, which it would be tuned for: nothing is tuned")

    # Tuning ----------------------------------------------------------------------------------------------------------

    def _expanded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Config]:
        name = self.name
        found = configurations.expand(self._configs, name, args, kwargs)
        configurations.check(found, self._function.function, name)
        self._tunables |= configurations.names(found)
        return found

    def _result(self, bound: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> AutotuneResult:
        """Returns what is known for these arguments, or tunes; threads that want the same wait for the first."""
        dynamic = self._dynamic_extents(bound, args, kwargs)
        key = self._key(bound, dynamic)
        found = self._found.get(key)
        if found is not None:
            return found
        candidates = self._expanded(args, kwargs)
        key = self._key(bound, dynamic)  # what is tuned is known by now
        with self._guard:
            busy = self._busy.setdefault(key, Lock())
        with busy:
            if key not in self._found:
                result = self._tune(bound, candidates, dynamic)
                self._found[key] = result
                # Later calls need not repeat the inputs that it was measured with.
                self._found.setdefault((key[0], None), result)
        return self._found[key]

    def _tune(self, bound: dict[str, Any], candidates: list[Config], dynamic: Dynamic) -> AutotuneResult:
        from .inputs import Given, get_autotune_inputs
        from .problem import Problem, full_name, inputs_identity
        from .tuning import tune

        function = self._function

        def trace(config: Config) -> tuple[PrimFunc, Any]:
            return function.trace(**{**bound, **configurations.parameters(config)})

        def build(config: Config) -> Kernel:
            return self._jitted(config).compile(**{**bound, **configurations.parameters(config)})

        given = get_autotune_inputs()
        supplied = Given(given) if given is not None else self._of_call(bound)
        problem = Problem(
            full_name(self._function),
            function,
            trace,
            build,
            candidates,
            function.options,
            self._profile,
            arguments=self._specialised(bound, dynamic),
            named=bound,
            shared={n: v for n, v in self._complete(bound).items() if n in self._shared},
            given=supplied,
            inputs=None if given is None else inputs_identity(given),
            shipped=self._load_shipped(),
        )
        return tune(problem)

    def _of_call(self, bound: Mapping[str, Any]) -> Any:
        """Returns the tensors and scalars of an eager call to measure with, unless the user supplies others."""
        from .inputs import Given

        if not self.is_eager or self._profile.supply_prog is not None:
            return None
        return Given({**self._defaults, **bound})

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


def _quick_form(value: Any) -> Any:
    """Returns what is at hand of an argument that tells it from others; it need not be hashable."""
    return (value.shape, value.dtype) if is_tensor(value) else (type(value), value)


def _described(value: Any, dynamic: tuple[bool, ...] | None) -> Any:
    """Returns what a choice depends on of an argument: of tensors type and shape, where dynamic extents count by the
    next power of two; others as they are."""
    if not is_tensor(value):
        return value
    shape = [int(e) for e in value.shape]
    if dynamic is not None and len(dynamic) == len(shape):
        shape = [_bucket(e) if free else e for e, free in zip(shape, dynamic, strict=True)]
    return {"dtype": str(value.dtype).rpartition(".")[2], "shape": shape}


def _bucket(extent: int) -> str:
    top = 1 << max(0, extent - 1).bit_length()
    return f"{top // 2 + 1}..{top}"


def _frozen(value: Any) -> Any:
    """Returns a hashable stand-in for an argument; a tensor's says its shape and type."""
    if is_tensor(value):
        return tuple(value.shape), str(value.dtype)
    if isinstance(value, Symbol | Const):
        return type(value).__name__, value.name
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in sorted(cast("dict[str, Any]", value).items()))
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, as_tuple(value)))
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(f"`{value!r}` cannot be told apart from other arguments: it is not hashable") from None
    return type(value), value
