"""`@tilec.autotune`: functions that are tuned when they are called."""

from __future__ import annotations

from .. import log
from ..errors import ArgumentError, ConfigError, TuningError, quoted
from ..jit import JITFunction
from ..location import here
from ..tracebacks import ends_in_program
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from . import configs as configurations
from .configured import ConfiguredFunction
from .figures import extents_of
from .inputs import Given, get_autotune_inputs
from .opened import OpenFunction, space_of
from .profile import Profile, checked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..builder import PrimFunc
    from ..kernel import Kernel
    from .calls import Call
    from .configs import Config
    from .configured import Types
    from .result import AutotuneResult


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
      gets the arguments of the call and returns either. The key "pass_configs" holds options of `tilec.compile`. By
      default all combinations of what the function leaves open (`T.auto`).
    - `do_not_specialize`: names of parameters whose values share one configuration. Kernels are made for the actual
      values, whatever the configuration was found with.
    - `results`: files that `save_results` wrote, whose results are used without measuring.
    - the rest is documented at `tilec.autotuner.profile.Profile`.
    """
    if function is not None:
        with ends_in_program:
            raise ArgumentError(
                "`@tilec.autotune` takes its configurations in brackets: `@tilec.autotune(configs=[...])`",
                location=here(),
            )

    def decorate(jitted: Any) -> TunedFunction:
        with ends_in_program:
            return made_of(jitted)

    def made_of(jitted: Any) -> TunedFunction:
        space = configs
        if isinstance(jitted, OpenFunction):
            jitted, space = jitted.jitted, space_of(jitted, configs)
        if not isinstance(jitted, JITFunction):
            raise ArgumentError(f"`@tilec.autotune` goes over `@tilec.jit`, not on `{jitted!r}`")
        if space is None:
            raise ConfigError("`@tilec.autotune` needs `configs`, or parameters that are open (`T.auto`)")
        return TunedFunction(jitted, space, as_tuple(do_not_specialize or ()), as_tuple(results or ()), profile)

    return decorate


class TunedFunction(ConfiguredFunction):
    """A function that is tuned for the arguments that it is called with."""

    _found: dict[Any, AutotuneResult]

    def __init__(
        self,
        function: JITFunction,
        configs: Any,
        do_not_specialize: Sequence[str],
        results: Sequence[str],
        profile: dict[str, Any],
    ) -> None:
        super().__init__(function, configs, do_not_specialize)
        self.given_profile = profile
        self._profile = Profile(**checked(profile))
        unknown = sorted(self._shared - self._parameters.keys())
        if unknown:
            raise ConfigError(f"`do_not_specialize` names `{unknown[0]}`, no parameter of `{self.name}`")
        self._results = results
        self._shipped: list[Any] | None = None
        self._warned = False

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

    def _mark(self, kernel: Kernel, result: AutotuneResult) -> None:
        kernel.tuning = result

    def _best(self, call: Call) -> AutotuneResult | None:
        """Returns the best configuration for a call, with what is known of it; None if the caller chose himself."""
        if callable(self.configs) and not self._tunables:
            _ = call.candidates  # which say what is tunable
        chosen = self._tunables & call.bound.keys()
        if chosen:
            self._warn(chosen)
            return None
        return self._result(call)

    def _warn(self, chosen: set[str]) -> None:
        if self._warned:
            return
        self._warned = True
        names = quoted(sorted(chosen))
        log.warning(f"`{self.name}` is given {names}, which it would be tuned for: nothing is tuned")

    def _find(self, call: Call, types: Types) -> AutotuneResult:
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
            extents=extents_of(call.bound, types),
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
