"""`@tilec.jit` functions with parameters that are open (`T.auto`), which get values by the cost model.

Nothing is measured, and nothing is kept: what is chosen depends on the program and on figures that are published, so
that every process chooses the same, in the time that it takes to trace the combinations. The model is not asked whether
a kernel is right, as every combination is; nor is it believed that one can be had: combinations are compiled in the
order of their estimates, until one compiles and does not spill.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import env, log
from ..auto import spaces
from ..errors import CompileError, ConfigError, TLError, quoted
from ..jit import JITFunction
from ..typed import TYPE_CHECKING
from . import configs as configurations
from .calls import frozen_items
from .configured import ConfiguredFunction
from .figures import extents_of, gpu_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from typing import Any

    from ..analysis.gpus import GPU
    from ..builder import PrimFunc
    from ..kernel import Kernel
    from .calls import Call
    from .configs import Config
    from .configured import Types


@dataclass
class Considered:
    """A combination, and what is said of it.

    - `seconds`: the estimate; infinite if there is none.
    - `said`: the estimate in words, or why it is passed over.
    """

    config: Config
    seconds: float
    said: str


class AutoChoice:
    """What the cost model chose for a call.

    - `config`: the values of the open parameters.
    - `gpu`: the name of the GPU whose figures it was chosen by.
    - `considered`: all combinations, the least estimate first.
    """

    def __init__(self, name: str, config: Config, gpu: str, considered: Sequence[Considered]) -> None:
        self.name = name
        self.config = config
        self.gpu = gpu
        self.considered = list(considered)

    def __str__(self) -> str:
        """What was chosen, and why, in one sentence."""
        chosen = next(c for c in self.considered if c.config == self.config)
        others = len(self.considered) - 1
        return f"of {others + 1} combinations {_shown(self.config)} is chosen for {self.gpu}: {chosen.said}"

    def table(self) -> str:
        """Returns all combinations as text, one line each."""
        lines = [f"{'estimate':>10}  combination"]
        for one in self.considered:
            time = "" if math.isinf(one.seconds) else f"{one.seconds * 1e6:.4g} µs"
            lines.append(f"{time:>10}  {_shown(one.config)}: {one.said}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<AutoChoice for {self.name}: {_shown(self.config)} of {len(self.considered)} for {self.gpu}>"


def _shown(config: Config) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in config.items())


class OpenFunction(ConfiguredFunction):
    """A function whose open parameters get values when it is called."""

    def __init__(self, function: JITFunction) -> None:
        parameters = function.signature.parameters
        self.spaces = spaces({name: parameter.default for name, parameter in parameters.items()})
        """The values of each open parameter."""
        super().__init__(function, self._combinations)
        self._tunables = set(self.spaces)

    @property
    def jitted(self) -> JITFunction:
        """The function itself, whose open parameters all calls must give."""
        return self._function

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return (self._function,)

    def trace(self, /, *args: Any, **kwargs: Any) -> tuple[PrimFunc, Any]:
        """Returns the chosen program for these arguments, and the numbers of its results."""
        jitted, chosen, _ = self._chosen(args, kwargs)
        return jitted.trace(*args, **kwargs, **chosen)

    def compile_async(self, /, *args: Any, **kwargs: Any) -> Future[Kernel]:
        """Starts `compile` on another thread and returns its future."""
        from ..parallel import submit

        return submit(self.compile, *args, **kwargs)

    def par_compile(
        self, configs: Iterable[Any], *, num_workers: int | None = None, ignore_error: bool = False
    ) -> list[Kernel | None]:
        """Compiles for several sets of arguments at once; see `JITFunction.par_compile`."""
        return JITFunction.par_compile(self, configs, num_workers=num_workers, ignore_error=ignore_error)  # pyright: ignore[reportArgumentType]

    def with_options(self, options: Mapping[str, Any]) -> OpenFunction:
        """Returns the same function, compiled with these options over its own."""
        return OpenFunction(self._function.with_options(options))

    def _combinations(self, *args: Any, **kwargs: Any) -> list[Config]:
        """Returns the combinations of the parameters that a call leaves out."""
        given = {*kwargs, *self._positional[: len(args)]}
        left = {name: values for name, values in self.spaces.items() if name not in given}
        return configurations.expand(left, self.name) if left else [{}]

    def _quick_form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return super()._quick_form(args, kwargs), env.target()

    def _key(self, call: Call, types: Types) -> Any:
        given = {name: value for name, value in call.bound.items() if name in self.spaces}
        what, _ = super()._key(call, types)  # and not what tensors hold, which the model does not ask
        return (what, env.target(), frozen_items(given)), None

    def _expanded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Config]:
        return self._combinations(*args, **kwargs)

    def _find(self, call: Call, types: Types) -> AutoChoice:
        function = self._function

        def arguments(config: Config) -> dict[str, Any]:
            return {**call.bound, **config}

        found = choose(
            self.name,
            lambda config: function.trace(**arguments(config))[0],
            lambda config: function.compile(**arguments(config)),
            call.candidates,
            gpu_for(function.options),
            extents_of(call.bound, types),
        )
        log.info(lambda: f"`{self.name}`: {found}", function.options.get("verbose"))
        return found

    def _mark(self, kernel: Kernel, result: AutoChoice) -> None:
        kernel.choice = result


def choose(
    name: str,
    trace: Callable[[Config], PrimFunc],
    build: Callable[[Config], Kernel],
    candidates: Sequence[Config],
    gpu: GPU,
    extents: Mapping[str, int],
) -> AutoChoice:
    """Returns the combination with the least estimate of those that compile.

    - `trace`, `build`: make the program of a combination, and the kernel.
    - `extents`: of symbols, by name, as far as they are known.

    Raises what compiling the first combination raises if none makes a program, and a CompileError if none compiles.
    """
    considered, mistakes = _estimated(trace, candidates, gpu, extents)
    if len(mistakes) == len(candidates):
        build(candidates[0])
        raise mistakes[0]
    considered.sort(key=lambda one: one.seconds)
    traced = [one for one in considered if not one.said.startswith(_NO_PROGRAM)]
    spilling: Considered | None = None
    for one in traced:
        try:
            spilled = _spilled(build(one.config))
        except TLError as error:
            one.said = f"it does not compile: {error.message}"
            continue
        if not spilled:
            return AutoChoice(name, one.config, gpu.name, considered)
        one.said += f"; it spills {spilled} bytes of registers"
        spilling = spilling or one
    if spilling is not None:
        return AutoChoice(name, spilling.config, gpu.name, considered)
    reasons = "\n".join(f"  {_shown(one.config)}: {one.said}" for one in traced[:10])
    raise CompileError(f"no combination of the open parameters of `{name}` compiles:\n{reasons}")


_NO_PROGRAM = "it makes no program: "


def _estimated(
    trace: Callable[[Config], PrimFunc], candidates: Sequence[Config], gpu: GPU, extents: Mapping[str, int]
) -> tuple[list[Considered], list[Exception]]:
    """Returns all combinations with their estimates, and what those raised that make no program."""
    from ..analysis.cost import cost

    considered: list[Considered] = []
    mistakes: list[Exception] = []
    for config in candidates:
        try:
            found = cost(trace(config), gpu, extents)
        except Exception as error:  # whatever a program raises that is not for these values
            mistakes.append(error)
            considered.append(Considered(config, math.inf, f"{_NO_PROGRAM}{error}"))
        else:
            considered.append(Considered(config, found.seconds, str(found)))
    return considered, mistakes


def _spilled(kernel: Kernel) -> int:
    """Returns the bytes that a thread spills, or 0 where nobody knows."""
    if kernel.target == "cpu":
        return 0
    try:
        return kernel.n_spills
    except TLError:
        return 0


def space_of(function: OpenFunction, configs: Any) -> Any:
    """Returns the configurations to tune an open function with: those given, or all that is open.

    Raises a ConfigError if those given leave a parameter open.
    """
    if configs is None:
        return function.spaces
    if not callable(configs):
        listed = configurations.names(configurations.expand(configs, function.name))
        if left := sorted(function.spaces.keys() - listed):
            raise ConfigError(f"the configurations of `{function.name}` leave {quoted(left)} open (`T.auto`)")
    return configs
