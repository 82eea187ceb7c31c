"""Which configurations to try: all of them, or those that an optimiser asks for."""

from __future__ import annotations

from ..errors import ConfigError, MissingPackageError
from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Protocol

    from .configs import Config
    from .records import Record

    class Search(Protocol):
        """Proposes configurations in batches until it has seen enough."""

        def ask(self) -> list[Config]: ...
        def tell(self, records: Sequence[Record]) -> None: ...


class ExhaustiveSearch:
    """Every configuration, all at once."""

    def __init__(self, configs: list[Config]) -> None:
        self._configs = configs

    def ask(self) -> list[Config]:
        configs, self._configs = self._configs, []
        return configs

    def tell(self, records: Sequence[Record]) -> None:
        pass


class OptunaSearch:
    """As many configurations as `trials` says, chosen by Optuna's tree-structured Parzen estimator.

    The configurations span the space: for each key the values that occur. A combination that is not among the
    configurations is not tried, and one that failed counts as slow.
    """

    BATCH = 16

    def __init__(self, configs: list[Config], trials: int | None) -> None:
        try:
            import optuna  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MissingPackageError('`search="optuna"` needs the package `optuna`: `pip install optuna`') from None
        if trials is None:
            raise ConfigError('`search="optuna"` needs `trials`, the number of configurations to try')
        self._optuna: Any = optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study: Any = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, constant_liar=True))
        self._configs = configs
        self._left = min(trials, len(configs))
        self._axes = _axes(configs)
        self._tried: list[Config] = []
        self._pending: list[tuple[Any, Config]] = []

    def ask(self) -> list[Config]:
        self._pending = []
        attempts = 20 * self.BATCH  # combinations that are no configuration, or were tried, cost nothing but this
        while len(self._pending) < min(self.BATCH, self._left) and attempts > 0:
            attempts -= 1
            trial = self._study.ask()
            config = {k: values[trial.suggest_categorical(k, range(len(values)))] for k, values in self._axes.items()}
            if config in self._configs and config not in self._tried:
                self._tried.append(config)
                self._pending.append((trial, config))
            else:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        for config in self._configs:  # a space with holes: fill up in order
            if len(self._pending) >= min(self.BATCH, self._left):
                break
            if config not in self._tried:
                self._tried.append(config)
                self._pending.append((None, config))
        self._left -= len(self._pending)
        return [config for _, config in self._pending]

    def tell(self, records: Sequence[Record]) -> None:
        """Takes the outcome of each configuration of the last batch, in its order."""
        known = [r.latency for r in records if r.is_ok]
        worst = 10 * max(known, default=1.0)
        for (trial, _), record in zip(self._pending, records, strict=True):
            if trial is not None:
                self._study.tell(trial, record.latency if record.is_ok else worst)


def _axes(configs: Sequence[Config]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for config in configs:
        for key, value in config.items():
            values = found.setdefault(key, [])
            if value not in values:
                values.append(value)
    return found


def make(kind: str, configs: list[Config], trials: int | None) -> Search:
    """Returns the search of a name."""
    if kind == "exhaustive":
        return ExhaustiveSearch(configs)
    if kind == "optuna":
        return OptunaSearch(configs, trials)
    raise ConfigError(f"unknown search `{kind}`; known are `exhaustive`, `optuna`")
