"""`AutoTuner`: tuning step by step."""

from __future__ import annotations

from ..builder import PrimFunc
from ..errors import ConfigError, quoted
from ..jit import JITFunction
from ..typed import TYPE_CHECKING
from . import configs as configurations
from .inputs import Given, get_autotune_inputs
from .opened import OpenFunction
from .problem import Problem, full_name, inputs_identity
from .profile import Profile, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..kernel import Kernel
    from .configs import Config
    from .result import AutotuneResult


class AutoTuner:
    """Tunes step by step: `AutoTuner(fn, configs).set_compile_args(...).set_profile_args(...).run()`.

    - `fn`: a function of a configuration's values that returns a `@T.prim_func`, or a `@tilec.jit` function; an eager
      one is tuned for the arguments that `set_autotune_inputs` gives, in the order of those that are not configured.
    - `configs`: a list of dictionaries, a dictionary of lists, or a callable that returns either.
    """

    def __init__(self, fn: Callable[..., Any], configs: Any) -> None:
        self.fn: Any = fn.jitted if isinstance(fn, OpenFunction) else fn
        self.configs = configs
        self._out_idx: Any = None
        self._options: dict[str, Any] = {}
        self._profile: dict[str, Any] = {}

    @classmethod
    def from_kernel(cls, kernel: Callable[..., Any], configs: Any) -> AutoTuner:
        """The same as the constructor."""
        return cls(kernel, configs)

    def set_compile_args(
        self,
        out_idx: Any = None,
        target: str = "auto",
        *,
        pass_configs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> AutoTuner:
        """Sets how to compile: arguments as for `tilec.compile`; `pass_configs` are more of its options."""
        merged = {"target": target, **(pass_configs or {}), **options}
        unknown = sorted(merged.keys() - configurations.compile_options() - {"verbose"})
        if unknown:
            raise ConfigError(f"`tilec.compile` has no option {quoted(unknown)}")
        self._out_idx, self._options = out_idx, merged
        return self

    def set_profile_args(self, **profile: Any) -> AutoTuner:
        """Sets how to measure: arguments as for `Profile`."""
        self._profile = checked(profile)
        return self

    def run(self, **profile: Any) -> AutotuneResult:
        """Tunes; arguments are as for `set_profile_args`, and go before those."""
        from .tuning import tune

        fn, name = self.fn, getattr(self.fn, "__name__", "the kernel")
        found = configurations.expand(self.configs, name)
        configurations.check(found, getattr(fn, "__wrapped__", fn), name)
        options = {**fn.options, **self._options} if isinstance(fn, JITFunction) else self._options
        given = get_autotune_inputs()
        bound = _arguments(fn, configurations.names(found), given)

        def trace(config: Config) -> tuple[PrimFunc, Any]:
            values = configurations.parameters(config)
            if not isinstance(fn, JITFunction):
                return _program(fn(**values), name), self._out_idx
            function, out_idx = fn.trace(**bound, **values)
            return function, out_idx if self._out_idx is None else self._out_idx

        def build(config: Config) -> Kernel:
            from .. import compiler

            function, out_idx = trace(config)
            return compiler.compile(function, out_idx, **configurations.options(config, options))

        return tune(
            Problem(
                full_name(fn),
                fn,
                trace,
                build,
                found,
                options,
                Profile(**{**self._profile, **checked(profile)}),
                arguments={"out_idx": self._out_idx},
                named={},
                given=None if given is None else Given(bound or given),
                inputs=None if given is None else inputs_identity(given),
            )
        )


def _program(made: Any, name: str) -> PrimFunc:
    if not isinstance(made, PrimFunc):
        raise ConfigError(f"`{name}` must return a `@T.prim_func`, not `{made!r}`")
    return made


def _arguments(fn: Any, configured: set[str], given: tuple[Any, ...] | None) -> dict[str, Any]:
    """Returns what an eager function is called with besides a configuration's values; nothing for others."""
    if not isinstance(fn, JITFunction) or not fn.is_eager:
        return {}
    names = [n for n in fn.signature.parameters if n not in configured]
    if given is None:
        raise ConfigError(
            f"`{fn.name}` is eager, and is tuned for tensors: give them, as in `with set_autotune_inputs(...)`, or "
            f"tune it for extents with `@tilec.autotune`"
        )
    if len(given) > len(names):
        raise ConfigError(f"`{fn.name}` is tuned for {len(given)} arguments, expected {quoted(names)}")
    return dict(zip(names, given, strict=False))
