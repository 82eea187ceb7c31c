"""A kernel to tune, for one set of arguments, and what tells it from others."""

from __future__ import annotations

import math

from ..errors import TLError, TuningError
from ..typed import TYPE_CHECKING
from .identity import canonical, device, fingerprint, key_of
from .records import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..builder import PrimFunc
    from ..kernel import Kernel
    from .configs import Config
    from .inputs import Given
    from .profile import Profile


class Problem:
    """A kernel to tune, for one set of arguments."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        trace: Callable[[Config], tuple[PrimFunc, Any]],
        build: Callable[[Config], Kernel],
        candidates: list[Config],
        options: Mapping[str, Any],
        profile: Profile,
        *,
        arguments: Mapping[str, Any],
        named: Mapping[str, Any],
        shared: Mapping[str, Any] | None = None,
        given: Given | None = None,
        inputs: Any = None,
        shipped: Sequence[Mapping[str, Any]] = (),
        extents: Mapping[str, int] | None = None,
    ) -> None:
        from .. import postproc, targets

        self.name = name
        self.trace = trace
        self.build = build
        self.profile = profile
        self.given = given
        choice = targets.resolve(options.get("target", "auto"), options.get("backend", "auto"))
        self.chip = choice.chip
        self.options = {**options, "target": choice.chip, "backend": choice.backend.name}
        self.postproc: Any = options.get("postproc") or postproc.registered(choice.compiler.generator)
        self.named = named
        self.shared = canonical(dict(shared or {}))
        """The arguments that share a choice: one is confirmed for those alone that it was made with."""
        self.candidates = candidates
        self.shipped = shipped
        self.inputs = inputs
        self._extents = extents or {}
        """Of symbols, as far as the tensors of a call say them."""
        self.components, self.is_certain = self._components(function, arguments)
        """Also whether the components say all that decides what tuning finds. If not, only times are taken from earlier
        tunings: what is right and what is best is found again."""
        self.key = key_of(self.components)
        self.key_without_inputs = key_of({**self.components, "inputs": None})
        """Under which what was found with inputs is found when none are given."""

    def _components(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        from .. import _tl

        rules = fingerprint(self.profile.prune_configs_by)
        configs = fingerprint(self.candidates)
        # Of the function itself, and of what edits sources, the program and the kernels tell the rest.
        components = {
            "format": FORMAT,
            "function": self.name,
            "code": fingerprint(getattr(function, "__wrapped__", function))[0],
            "arguments": canonical(dict(arguments)),
            "inputs": self.inputs,
            "configs": configs[0],
            "options": canonical({k: v for k, v in self.options.items() if k not in ("verbose", "postproc")}),
            "postproc": fingerprint(self.postproc)[0] if self.postproc else None,
            "device": self.device_identity,
            "compiler": _tl.build_id(),
            "profile": self.profile.identity(),
            "search": [
                self.profile.search,
                self.profile.trials,
                self.profile.early_stop,
                float(self.profile.early_stop_factor),
                rules[0],
            ],
        }
        return components, rules[1] and configs[1] and self.profile.is_certain

    def estimate(self, config: Config) -> float:
        """Returns the seconds that a configuration takes by the cost model; infinite for one that makes no program."""
        from ..analysis.cost import cost
        from .figures import gpu_for

        try:
            return cost(self.trace(config)[0], gpu_for(self.options), self._extents).seconds
        except Exception:  # tracing says what is wrong with it, if it comes to that
            return math.inf

    @property
    def is_cuda(self) -> bool:
        return self.chip != "cpu"

    @property
    def devices(self) -> list[int | None]:
        """Where to measure."""
        if not self.is_cuda:
            return [None]
        if self.profile.benchmark_devices:
            return list(self.profile.benchmark_devices)
        from .. import _tl

        return list(range(_tl.cuda_device_count())) if self.profile.benchmark_multi_gpu else [0]

    @property
    def device_identity(self) -> dict[str, Any]:
        try:
            return device(self.devices[0])
        except TLError as error:
            raise TuningError(
                f"`{self.name}` is tuned for {self.chip}, which takes a GPU to measure on: {error.message}"
            ) from None


def inputs_identity(given: Sequence[Any]) -> list[Any]:
    """Returns what of given inputs is part of a key."""
    from .supplier import data_digest

    return [[canonical(v), data_digest(v)] if hasattr(v, "__dlpack__") else canonical(v) for v in given]


def full_name(function: Any) -> str:
    """Returns what a function is called in keys: its name in its module.

    Not the module's name, which is `__main__` where it is the program that tunes, and another where it is imported.
    """
    return str(getattr(function, "__qualname__", type(function).__qualname__))
