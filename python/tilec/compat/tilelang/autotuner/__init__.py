"""`tilelang.autotuner`: finding the fastest configuration of a kernel."""

from __future__ import annotations

import functools

from ....autotuner.decorator import TunedFunction
from ....autotuner.decorator import autotune as _autotune
from ....autotuner.inputs import get_autotune_inputs as get_autotune_inputs
from ....autotuner.inputs import set_autotune_inputs as set_autotune_inputs
from ....autotuner.result import AutotuneResult as AutotuneResult
from ....autotuner.tuner import AutoTuner as _AutoTuner
from ....jit import JITFunction
from ....supply import TensorSupplyType
from ....typed import TYPE_CHECKING, cast
from ....types import as_tuple
from .. import options

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


class AutoTuneImpl:
    """What `@tilelang.autotune` makes of a function."""

    def __init__(self, tuned: TunedFunction, jit_impl: Any) -> None:
        functools.update_wrapper(self, jit_impl, updated=())
        self.tuned = tuned
        self.jit_impl = jit_impl

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the best kernel of a lazy function; runs an eager one with the best configuration."""
        if kwargs.pop("__return_kernel", False):
            return self.compile(*args, **kwargs)
        return self.tuned(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the best kernel without running it."""
        return self.tuned.compile(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("tuned", "jit_impl"):
            raise AttributeError(name)
        return getattr(self.tuned, name, None) or getattr(self.jit_impl, name)


def autotune(
    func: Any = None,
    *,
    configs: Any = None,
    warmup: float = 25,
    rep: float = 100,
    timeout: float = 100,
    supply_type: TensorSupplyType = TensorSupplyType.Auto,
    ref_prog: Callable[..., Any] | None = None,
    supply_prog: Callable[..., Any] | None = None,
    rtol: float = 1e-2,
    atol: float = 1e-2,
    max_mismatched_ratio: float = 0.01,
    skip_check: bool = False,
    manual_check_prog: Callable[..., Any] | None = None,
    cache_input_tensors: bool = False,
    do_not_specialize: Sequence[str] | None = None,
    early_stop: bool = False,
    early_stop_factor: float = 2.0,
) -> Any:
    """Finds the best values of some parameters of a `@tilelang.jit` function when it is called.

    Arguments are as for `tilec.autotune`. Configurations are compiled and measured in processes of their own, and what
    was found is kept for the next time.
    """

    def decorate(jitted: Any) -> AutoTuneImpl:
        if not isinstance(jitted, JITFunction):
            raise AssertionError("The @autotune decorator can only be applied to @tilelang.jit functions.")
        tuned = _autotune(
            configs=_configs(configs),
            do_not_specialize=do_not_specialize,
            warmup=warmup,
            rep=rep,
            timeout=timeout,
            supply_type=supply_type,
            ref_prog=ref_prog,
            supply_prog=supply_prog,
            rtol=rtol,
            atol=atol,
            max_mismatched_ratio=max_mismatched_ratio,
            skip_check=skip_check,
            manual_check_prog=manual_check_prog,
            cache_input_tensors=cache_input_tensors,
            early_stop=early_stop,
            early_stop_factor=early_stop_factor,
        )(jitted)
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

    def set_profile_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        warmup: float = 25,
        rep: float = 100,
        timeout: float = 30,
        supply_type: TensorSupplyType = TensorSupplyType.Auto,
        ref_prog: Callable[..., Any] | None = None,
        supply_prog: Callable[..., Any] | None = None,
        rtol: float = 1e-2,
        atol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        skip_check: bool = False,
        manual_check_prog: Callable[..., Any] | None = None,
        cache_input_tensors: bool = False,
        backend: str = "event",
    ) -> AutoTuner:
        """Sets how to measure; arguments as for `tilelang.autotune`. `backend` is always by events."""
        super().set_profile_args(
            warmup=warmup,
            rep=rep,
            timeout=timeout,
            supply_type=supply_type,
            ref_prog=ref_prog,
            supply_prog=supply_prog,
            rtol=rtol,
            atol=atol,
            max_mismatched_ratio=max_mismatched_ratio,
            skip_check=skip_check,
            manual_check_prog=manual_check_prog,
            cache_input_tensors=cache_input_tensors,
        )
        return self

    def run(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        warmup: float = 25,
        rep: float = 100,
        timeout: float = 180,
        use_pipeline: bool = False,
        enable_grouped_compile: bool = False,
        group_compile_size: int = 2,
        benchmark_devices: Sequence[int] | None = None,
        benchmark_multi_gpu: bool = False,
        early_stop: bool = False,
        early_stop_factor: float = 2.0,
    ) -> AutotuneResult:
        """Tunes. Compiling and measuring overlap in any case; `use_pipeline` and grouped compiling have no effect."""
        return super().run(
            warmup=warmup,
            rep=rep,
            timeout=timeout,
            benchmark_devices=benchmark_devices,
            benchmark_multi_gpu=benchmark_multi_gpu,
            early_stop=early_stop,
            early_stop_factor=early_stop_factor,
        )
