"""Functions whose parameters get values when they are called: by tuning, or by the cost model."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod

from ..errors import ArgumentError
from ..jit import JITMethod
from ..once import Lock
from ..tracebacks import ends_in_program
from ..typed import TYPE_CHECKING
from ..types import TensorType
from . import calls
from . import configs as configurations
from .calls import Call
from .identity import frozen
from .inputs import get_autotune_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..jit import JITFunction
    from ..kernel import Kernel
    from .configs import Config

    Types = Mapping[str, TensorType]
    _Chosen = tuple[JITFunction, Config, Any]


class ConfiguredFunction(ABC):
    """A `@tilec.jit` function some of whose parameters calls leave out, and which finds their values.

    What finds them is `_find` of a subclass, and `_mark` says in a kernel what was found.
    """

    def __init__(self, function: JITFunction, configs: Any, do_not_specialize: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self.name = function.name
        self.is_eager = function.is_eager
        """Whether calling it runs it, rather than returning a kernel."""
        self._parameters = function.signature.parameters
        self._defaults = {n: p.default for n, p in self._parameters.items() if p.default is not p.empty}
        self._positional = tuple(self._parameters)
        self.configs = configs
        self._shared = frozenset(do_not_specialize)
        self._tunables: set[str] = set()
        self._found: dict[Any, Any] = {}
        self._guard = Lock()
        self._busy: dict[Any, Lock] = {}
        self._variants: dict[Any, JITFunction] = {}
        """The function with the options of configurations that have some."""
        self._calls: dict[Any, _Chosen] = {}
        """What to call with what, for calls that were made before in the very same form."""
        self._types: dict[Any, Types] = {}
        """The tensors of programs for eager calls of one form."""
        if not callable(configs):
            self._expanded((), {})

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """A function of a class is a method of its objects."""
        return self if instance is None else JITMethod(self, instance)

    def key_parts(self) -> tuple[Any, ...]:
        """What of it decides what it makes."""
        return self._function, self.configs

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs an eager function with the best configuration; returns the best kernel of a lazy one."""
        with ends_in_program:
            jitted, chosen, result = self._chosen(args, kwargs)
            called = jitted(*args, **kwargs, **chosen)
            return called if self.is_eager else self._marked(called, result)

    def compile(self, /, *args: Any, **kwargs: Any) -> Kernel:
        """Returns the best kernel for these arguments without running it.

        They are those of `JITFunction.compile`: an eager function can be given extents in place of tensors.
        """
        with ends_in_program:
            jitted, chosen, result = self._chosen(args, kwargs)
            return self._marked(jitted.compile(*args, **kwargs, **chosen), result)

    @abstractmethod
    def _find(self, call: Call, types: Types) -> Any:
        """Returns what is found for a call: an object with the best `config`."""

    @abstractmethod
    def _mark(self, kernel: Kernel, result: Any) -> None:
        """Says in a kernel what was found for it."""

    def _marked(self, kernel: Kernel, result: Any) -> Kernel:
        if result is not None:
            self._mark(kernel, result)
        return kernel

    # Arguments -------------------------------------------------------------------------------------------------------

    def _chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Chosen:
        """Returns what to call, what to add to a call's arguments, and what tuning found."""
        form = None
        if get_autotune_inputs() is None:
            form = self._quick_form(args, kwargs)
            try:
                known = self._calls.get(form)
            except TypeError:
                form = known = None
            if known is not None:
                return known
        result = self._best(self._call(args, kwargs))
        config: Config = {} if result is None else result.config
        found = self._jitted(config), configurations.parameters(config), result
        if form is not None:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[form] = found
        return found

    def _quick_form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        scalars = self._function.scalars
        if scalars:
            args = tuple(None if n in scalars else v for n, v in zip(self._positional, args, strict=False))
        positional = tuple(map(calls.quick_form, args))
        if not kwargs:
            return positional, ()
        return positional, tuple((n, None if n in scalars else calls.quick_form(v)) for n, v in kwargs.items())

    def _best(self, call: Call) -> Any:
        """Returns what was found for a call, or None if there is nothing to find."""
        return self._result(call)

    def _jitted(self, config: Config) -> JITFunction:
        """Returns what compiles a configuration: the function itself, unless it has options of its own."""
        options = config.get(configurations.RESERVED)
        if not options:
            return self._function
        return self._variants.setdefault(frozen(options), self._function.with_options(options))

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        if len(args) > len(self._positional):
            raise ArgumentError(f"`{self.name}` takes {len(self._positional)} arguments, and {len(args)} are given")
        bound = dict(zip(self._positional, args, strict=False))
        for name, value in kwargs.items():
            if name in bound:
                raise ArgumentError(f"`{self.name}`: multiple values for argument `{name}`")
            bound[name] = value
        return Call(args, kwargs, bound, self._expanded)

    def _key(self, call: Call, types: Types) -> Any:
        """Returns what tells calls apart: arguments that are specialised on, however they were passed, and inputs."""
        from .problem import inputs_identity

        given = get_autotune_inputs()
        inputs = None if given is None else frozen(inputs_identity(given))
        return calls.frozen_items(self._specialised(call, types)), inputs

    def _specialised(self, call: Call, types: Types) -> dict[str, Any]:
        """Returns what has a choice of its own: arguments, and the layouts of tensors, given or not."""
        left = self._tunables | self._shared | self._function.scalars
        values = {n: calls.described(v, types.get(n)) for n, v in self._complete(call).items() if n not in left}
        if not types or call.has_tensors:
            return values
        layouts = {n: calls.described_type(kind) for n, kind in types.items() if n in self._parameters}
        return {**layouts, **{n: v for n, v in values.items() if n in self._parameters}}

    def _complete(self, call: Call) -> dict[str, Any]:
        """Returns the arguments of a call by name, defaults included."""
        return {**self._defaults, **call.bound}

    def _traced(self, call: Call) -> Types:
        """Returns the tensors of the program that an eager call makes, which say what of them is dynamic.

        It is traced once for calls that differ in the extents of tensors alone.
        """
        if not self.is_eager:
            return {}
        form = calls.form(call, self._function.scalars)
        found = self._types.get(form)
        if found is None and (found := self._trace_any(call)):
            self._types[form] = found
        return found

    def _trace_any(self, call: Call) -> Types:
        for config in call.candidates:
            try:
                program, _ = self._function.trace(**{**call.bound, **configurations.parameters(config)})
            except Exception:  # tuning says what is wrong with it
                continue
            return {p.name: p.type for p in program.parameters if isinstance(p.type, TensorType)}
        return {}

    def _check(self, call: Call) -> None:
        """Raises if the function cannot be called so, whatever the configuration."""
        if not self.is_eager or call.has_tensors:
            self._function.bind((), {**call.bound, **configurations.parameters(call.candidates[0])})

    def _expanded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Config]:
        name = self.name
        found = configurations.expand(self.configs, name, args, kwargs)
        configurations.check(found, self._function.function, name)
        self._tunables |= configurations.names(found)
        return found

    def _result(self, call: Call) -> Any:
        """Returns what is known for these arguments, or finds it; threads that want the same wait for the first."""
        types = self._traced(call)
        found = self._found.get(self._key(call, types))
        if found is not None:
            return found
        self._check(call)
        key = self._key(call, types)  # what is tuned is known by now
        with self._guard:
            busy = self._busy.setdefault(key, Lock())
        with busy:
            if key not in self._found:
                result = self._find(call, types)
                self._found[key] = result
                # Later calls need not repeat the inputs that it was measured with.
                self._found.setdefault((key[0], None), result)
        return self._found[key]


_MOST_CALLS = 4096
