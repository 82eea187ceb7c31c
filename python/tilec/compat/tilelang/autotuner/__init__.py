"""`tilelang.autotuner`: finding the fastest configuration of a kernel."""

from __future__ import annotations

import functools

from ....autotuner.decorator import TunedFunction
from ....autotuner.decorator import autotune as _autotune
from ....autotuner.inputs import get_autotune_inputs as get_autotune_inputs
from ....autotuner.inputs import set_autotune_inputs as set_autotune_inputs
from ....autotuner.profile import checked
from ....autotuner.result import AutotuneResult as AutotuneResult
from ....autotuner.tuner import AutoTuner as _AutoTuner
from ....jit import JITFunction, JITMethod
from ....supply import TensorSupplyType
from ....targets import gpu_chip
from ....typed import TYPE_CHECKING, cast
from ....types import as_tuple
from .. import options
from ..engine.param import KernelParam
from ..jit.kernel import JITKernel, plain
from ..utils.tensor import load_torch, meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

__all__ = [
    "AutoTuneImpl",
    "AutoTuner",
    "AutotuneResult",
    "autotune",
    "get_autotune_inputs",
    "set_autotune_inputs",
]


def _meant(config: Any) -> Any:
    """Returns a configuration whose pass configurations are options of `tilec.compile`."""
    if not isinstance(config, dict) or "pass_configs" not in config:
        return cast("Any", config)
    values = cast("dict[str, Any]", config)
    given = values["pass_configs"]
    for one in as_tuple(given):
        options.refuse_source_flags(one)
    if not isinstance(given, list):
        return {**values, "pass_configs": options.passes(given)}
    return {**values, "pass_configs": [options.passes(one) for one in as_tuple(given)]}  # of a dictionary of lists


def _configs(given: Any) -> Any:
    """Returns configurations in any of their forms, with pass configurations that are ours."""
    if callable(given):

        @functools.wraps(given)
        def made(*args: Any, **kwargs: Any) -> Any:
            return _configs(given(*args, **kwargs))

        return made
    return [_meant(one) for one in as_tuple(given)] if isinstance(given, list | tuple) else _meant(given)


def _supplied(supply_prog: Callable[..., Any], parameters: Sequence[Any]) -> Any:
    """Calls `supply_prog` with what it knows of parameters."""
    return supply_prog([KernelParam(p.parameter) for p in parameters])


_DEFAULTS: dict[str, Any] = {
    "timeout": 100,
    "max_mismatched_ratio": 0.01,
    "cache_input_tensors": False,
    "early_stop": False,
    "supply_type": TensorSupplyType.Auto,
}
"""What TileLang takes for arguments of `Profile` that are not given, where that is something else than ours."""

_WITHOUT_EFFECT = frozenset(("backend", "use_pipeline", "enable_grouped_compile", "group_compile_size"))
"""Arguments of TileLang's: measured is always by events, and compiling overlaps with measuring in any case."""


_ORDER = (
    "warmup", "rep", "timeout", "supply_type", "ref_prog", "supply_prog", "rtol", "atol", "max_mismatched_ratio",
    "skip_check", "manual_check_prog", "cache_input_tensors", "backend",
)  # fmt: skip
"""The arguments of `AutoTuner.set_profile_args`, which programs may give in order."""

_ORDER_OF_RUN = (*_ORDER[:3], "use_pipeline", "enable_grouped_compile", "group_compile_size", "benchmark_devices")


def _profile(given: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Returns the arguments of `Profile` for those of TileLang's tuners."""
    found = {**defaults, **{n: v for n, v in given.items() if n not in _WITHOUT_EFFECT}}
    if isinstance(found.get("supply_type"), TensorSupplyType):
        found["supply_type"] = meant(found["supply_type"])
    if found.get("ref_prog") is not None and gpu_chip() is not None:
        load_torch()
    if found.get("supply_prog") is not None:
        found["supply_prog"] = functools.partial(_supplied, found["supply_prog"])
    return checked(found)


class AutoTuneImpl:
    """What `@tilelang.autotune` makes of a function."""

    def __init__(self, tuned: TunedFunction, jit_impl: Any) -> None:
        functools.update_wrapper(self, jit_impl, updated=())
        self.tuned = tuned
        self.jit_impl = jit_impl

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Returns the best kernel of a lazy function; runs an eager one with the best configuration."""
        if kwargs.pop("__return_kernel", False):
            return self.compile(*args, **kwargs)
        return self.tuned(*args, **kwargs)

    def compile(self, /, *args: Any, **kwargs: Any) -> Any:
        """Returns the best kernel without running it."""
        return self.tuned.compile(*args, **kwargs)

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """A function of a class is a method of its objects."""
        return self if instance is None else JITMethod(self, instance)

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return (self.tuned,)

    def get_tunner(self) -> AutoTuner:
        """Returns what tunes the function step by step, over the same configurations and by the same measure."""
        return AutoTuner(self.jit_impl, self.tuned.configs).set_profile_args(**self.tuned.given_profile)

    def __getattr__(self, name: str) -> Any:
        if name in ("tuned", "jit_impl"):
            raise AttributeError(name)
        return getattr(self.tuned if hasattr(self.tuned, name) else self.jit_impl, name)


def autotune(
    func: Any = None, *, configs: Any = None, do_not_specialize: Sequence[str] | None = None, **profile: Any
) -> Any:
    """Finds the best values of some parameters of a `@tilelang.jit` function when it is called.

    Arguments are as for `tilec.autotune`. Configurations are compiled and measured in processes of their own, and what
    was found is kept for the next time.
    """
    meant = _profile(profile, **_DEFAULTS)

    def decorate(jitted: Any) -> AutoTuneImpl:
        if not isinstance(jitted, JITFunction):
            raise AssertionError("The @autotune decorator can only be applied to @tilelang.jit functions.")
        tuned = _autotune(configs=_configs(configs), do_not_specialize=do_not_specialize, **meant)(jitted)
        return AutoTuneImpl(tuned, jitted)

    return decorate if func is None else decorate(func)


class AutoTuner(_AutoTuner):
    """Tunes step by step: `AutoTuner.from_kernel(fn, configs).set_compile_args(...).set_profile_args(...).run()`."""

    def __init__(self, fn: Callable[..., Any], configs: Any) -> None:
        super().__init__(fn, _configs(configs))

    def set_compile_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        out_idx: Any = None,
        target: Any = None,
        execution_backend: str | None = None,
        target_host: Any = None,
        verbose: bool | None = None,
        pass_configs: Mapping[Any, Any] | None = None,
    ) -> AutoTuner:
        """Sets how to compile; arguments as for `tilelang.compile`."""
        meant = options.of_compile(target, execution_backend, verbose, pass_configs, None)
        super().set_compile_args(out_idx, meant.pop("target"), **meant)
        return self

    def set_profile_args(self, *args: Any, **profile: Any) -> AutoTuner:
        """Sets how to measure; arguments as for `tilelang.autotune`, in the order of TileLang's."""
        profile |= zip(_ORDER, args, strict=False)
        super().set_profile_args(**_profile(profile, **{**_DEFAULTS, "timeout": 30}))
        return self

    def run(self, *args: Any, **profile: Any) -> AutotuneResult:
        """Tunes; what is given here goes before what was set. The result's `kernel` is a `tilelang.JITKernel`."""
        profile |= zip(_ORDER_OF_RUN, args, strict=False)
        if not self._profile:
            self.set_profile_args(timeout=180)
        found = super().run(**_profile(profile))
        kernel = JITKernel(plain(found.kernel))
        found.kernel = cast("Any", kernel.update_tuner_result(found.latency, found.config, found.ref_latency))
        return found
