"""How to measure, and what is right: the arguments that tuning takes."""

from __future__ import annotations

from dataclasses import dataclass

from .. import cache, env
from ..errors import ConfigError, quoted
from ..supply import TensorSupplyType
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from .identity import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How to measure, and what is right.

    - `warmup`, `rep`: milliseconds that a configuration runs before, and while, it is measured.
    - `timeout`: seconds that compiling a configuration, checking it, or a round of its samples may take.
    - `supply_type`, `supply_prog`: what tensors hold when none are given; a function of the list of parameters that
      returns them.
    - `ref_prog`: computes what kernels shall, from the same arguments. Without it results are unchecked.
    - `rtol`, `atol`, `max_mismatched_ratio`: an element is wrong if it is off by more than `atol + rtol * |expected|`;
      a configuration is wrong if more than this share of the elements is.
    - `skip_check`: whether not to check.
    - `manual_check_prog`: a function of the results and of the expected ones that raises `AssertionError` or returns
      False if they are wrong; in place of the comparison.
    - `cache_input_tensors`: whether all configurations get the same data.
    - `early_stop`: whether configurations that are slower beyond doubt, or `early_stop_factor` times as slow as the
      best, get no more samples.
    - `reset_to_zero`, `restore_value`: tensors, by name, that are zeroed, or have their first values again, before each
      run; for kernels that change what they read.
    - `pre_hook`: called with a dictionary of the arguments before each run, in the process that measures.
    - `prune_configs_by`: see `configs.prune`.
    - `search`, `trials`: "exhaustive", or "optuna" with the number of configurations to try.
    - `benchmark_devices`: the numbers of the GPUs to measure on; `benchmark_multi_gpu` takes all there are.
    - `executor`: "local", or "ray" for the machines of a Ray cluster.
    - `workers`: how many processes compile; by default one for each processor.
    - `frozen`: whether to raise rather than to measure; by default as `TL_AUTOTUNE_FROZEN` says.
    """

    warmup: float = 25
    rep: float = 100
    timeout: float = 30
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[..., Any] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.0
    skip_check: bool = False
    manual_check_prog: Callable[[list[Any], list[Any]], Any] | None = None
    cache_input_tensors: bool = True
    early_stop: bool = True
    early_stop_factor: float = 2.0
    reset_to_zero: str | Sequence[str] = ()
    restore_value: str | Sequence[str] = ()
    pre_hook: Callable[[dict[str, Any]], object] | None = None
    prune_configs_by: Mapping[str, Any] | None = None
    search: str = "exhaustive"
    trials: int | None = None
    benchmark_devices: Sequence[int] | None = None
    benchmark_multi_gpu: bool = False
    executor: str = "local"
    workers: int | None = None
    frozen: bool | None = None

    def __post_init__(self) -> None:
        least = {"warmup": 0, "rep": 0, "rtol": 0, "atol": 0, "early_stop_factor": 1, "trials": 1, "workers": 1}
        for name, lowest in least.items():
            value = getattr(self, name)
            if value is not None and value < lowest:
                raise ConfigError(f"`{name}` must be at least {lowest}, and {value:g} is not")
        if self.timeout <= 0:
            raise ConfigError(f"`timeout` must be positive, and {self.timeout:g} is not")
        if self.executor not in ("local", "ray"):
            raise ConfigError(f"unknown executor `{self.executor}`; known are `local`, `ray`")
        if self.trials is not None and self.search != "optuna":
            raise ConfigError('`trials` is for `search="optuna"`, and nothing else')
        if not isinstance(self.supply_type, TensorSupplyType):
            raise ConfigError(f"`supply_type` must be a `tilec.TensorSupplyType`, not `{self.supply_type!r}`")
        if self.skip_check:
            object.__setattr__(self, "ref_prog", None)
            object.__setattr__(self, "manual_check_prog", None)
        object.__setattr__(self, "reset_to_zero", as_tuple(self.reset_to_zero))
        object.__setattr__(self, "restore_value", as_tuple(self.restore_value))

    @property
    def is_checked(self) -> bool:
        """Whether results are compared with anything."""
        return self.ref_prog is not None or self.manual_check_prog is not None

    @property
    def is_frozen(self) -> bool:
        """Whether results must be there; what may not be compiled cannot be measured either."""
        if cache.is_required():
            return True
        return env.is_autotune_frozen() if self.frozen is None else self.frozen

    @property
    def is_certain(self) -> bool:
        """Whether `identity` tells all that the user's programs do, and records of it hold for them still."""
        return all(found is None or found[1] for found in self._programs())

    def _programs(self) -> list[tuple[str, bool] | None]:
        named = (self.ref_prog, self.supply_prog, self.manual_check_prog, self.pre_hook)
        return [None if f is None else fingerprint(f) for f in named]

    def identity(self) -> dict[str, Any]:
        """Returns what decides what a measurement says of one configuration, as JSON."""
        tolerance = (self.rtol, self.atol, self.max_mismatched_ratio)
        return {
            # 100 and 100.0 are one number, and two texts.
            "time": [float(self.warmup), float(self.rep)],
            "supply": self.supply_type.value,
            "tolerance": [float(t) for t in tolerance] if self.ref_prog else [],
            "programs": [found and found[0] for found in self._programs()],
            "changes": [list(self.reset_to_zero), list(self.restore_value)],
        }


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """Returns arguments of `Profile`, or raises if one is none."""
    known = Profile.__dataclass_fields__
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise ConfigError(f"there is no argument {quoted(unknown)} for tuning; known are {quoted(known)}")
    return given
