"""Lists of configurations: what users write, and what they must not."""

from __future__ import annotations

import inspect
import itertools

from .. import reads
from ..errors import ConfigError, quoted
from ..typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Config = dict[str, Any]
    Configs = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | Callable[..., Any]

RESERVED = "pass_configs"
"""The key of a configuration that holds options of `tilec.compile` instead of a parameter."""


def expand(
    configs: Any, name: str, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> list[Config]:
    """Returns the configurations as a list of dictionaries, each once.

    A dictionary of lists stands for all combinations; a callable gets a call's arguments, as the caller wrote them.
    """
    if callable(configs):
        configs = configs(*args, **(kwargs or {}))
    if isinstance(configs, dict):
        configs = _grid(cast("dict[str, Any]", configs), name)
    if not isinstance(configs, list | tuple):
        raise ConfigError(
            f"the configurations of `{name}` must be a list, a dictionary or a callable, not `{configs!r}`"
        )
    found: list[Config] = []
    seen: set[Any] = set()
    for config in cast("Sequence[Any]", configs):
        if not isinstance(config, dict):
            raise ConfigError(f"a configuration of `{name}` must be a dictionary, not `{config!r}`")
        if (key := _key(cast("Config", config))) is None or key not in seen:
            found.append(cast("Config", config))
        seen.add(key)
    if not any(found):
        raise ConfigError(f"there are no configurations to tune `{name}` with: give `configs` a dictionary at least")
    return found


def _key(config: Config) -> Any:
    """Returns what tells a configuration from those that Python calls equal; None if nothing can."""
    try:
        return reads.frozen(sorted(config.items(), key=lambda item: item[0]))
    except reads.UnknownError:
        return None


def _grid(axes: dict[str, Any], name: str) -> list[Config]:
    for axis, values in axes.items():
        if not isinstance(values, list | tuple):
            raise ConfigError(f"the values of `{axis}` for `{name}` must be a list, not `{values!r}`")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def names(configs: Sequence[Config]) -> set[str]:
    """Returns the names of the tunable parameters."""
    return {key for config in configs for key in config if key != RESERVED}


def parameters(config: Config) -> Config:
    """Returns what a configuration says of the function's parameters."""
    return {key: value for key, value in config.items() if key != RESERVED}


def options(config: Config, common: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what to compile a configuration with: the common options, and those of its own over them."""
    return {**common, **(config.get(RESERVED) or {})}


def check(configs: Sequence[Config], function: Callable[..., Any], name: str) -> None:
    """Raises unless the function has a parameter for every key, and the compiler every option."""
    accepted = inspect.signature(function).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in accepted.values()):
        unused = sorted(names(configs) - accepted.keys())
        if unused:
            raise ConfigError(
                f"unused keys in config of `{name}`: {quoted(unused)}; its parameters are {quoted(accepted)}"
            )
    known = compile_options()
    for config in configs:
        own: Any = config.get(RESERVED) or {}
        if not isinstance(own, dict):
            raise ConfigError(f"`{RESERVED}` of a config of `{name}` must be a dictionary, not `{own!r}`")
        unknown = sorted(cast("dict[str, Any]", own).keys() - known)
        if unknown:
            known_names = quoted(sorted(known))
            raise ConfigError(f"unused keys in `{RESERVED}` of `{name}`: {quoted(unknown)}; known are {known_names}")


def compile_options() -> set[str]:
    """Returns the names of the options that `tilec.compile` takes."""
    from ..compiler import OPTIONS

    return {*OPTIONS} - {"verbose"}


def prune(
    configs: list[Config],
    rules: Mapping[str, Any] | None,
    arguments: Mapping[str, Any],
    name: str,
    estimate: Callable[[Config], float],
) -> list[Config]:
    """Leaves out configurations as the rules of `prune_configs_by` say.

    - `early_config_prune(configs, named_args)` returns those to keep.
    - `perf_model(**named_args, **config)` estimates the time of each, by default the cost model of
      `tilec.analysis.cost`, here `estimate`; the `top_k` fastest stay: a number, or a share of the list if it is a
      float.
    """
    if not rules:
        return configs
    unknown = sorted(rules.keys() - {"early_config_prune", "perf_model", "top_k"})
    if unknown:
        raise ConfigError(f"unused keys in `prune_configs_by` of `{name}`: {quoted(unknown)}")
    if early := rules.get("early_config_prune"):
        configs = list(early(configs, dict(arguments)))
    if "perf_model" in rules or "top_k" in rules:
        model = rules.get("perf_model")
        wanted = rules.get("top_k", 1.0)
        count = max(1, int(len(configs) * wanted)) if isinstance(wanted, float) else int(wanted)
        others = {k: v for k, v in arguments.items() if k not in names(configs)}

        def said(config: Config) -> Any:
            return estimate(config) if model is None else model(**others, **parameters(config))

        configs = sorted(configs, key=said)[:count]
    if not configs:
        raise ConfigError(f"`prune_configs_by` leaves no configurations to tune `{name}` with")
    return configs
