"""What programs are measured with: tensors that were given, or that are made up, and what they should compute."""

from __future__ import annotations

from ..errors import ConfigError, UnsupportedError
from ..strided import is_dense, strides_of
from ..supply import TensorSupplyType, concrete_shape, from_storage, supply, to_storage
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType, as_tuple
from .identity import canonical, digest
from .inputs import Given, extents_of
from .tensors import StoredTensor, TensorFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..builder import Parameter, PrimFunc
    from ..dtypes import DType


class KernelParam:
    """What `supply_prog` is told of a parameter."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.name = parameter.name
        self.dtype: DType = parameter.type.dtype
        self.shape = parameter.type.shape if isinstance(parameter.type, TensorType) else ()

    def __repr__(self) -> str:
        return f"<{self.name}: {self.shape} of {self.dtype}>"


class Arguments:
    """What a program is called with, in order: tensor files, scalars, and for results the shape and type alone."""

    def __init__(self, values: list[Any], expected: list[StoredTensor] | None) -> None:
        self.values = values
        self.expected = expected
        """What a reference computes, of the parameters of `verify.written`."""


class Blank:
    """A result: a tensor that the kernel fills."""

    def __init__(self, shape: tuple[int, ...], dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype


class Supplier:
    """Makes the arguments of programs; programs with the same parameters get the same."""

    def __init__(
        self,
        file: TensorFile,
        given: Given | None,
        supply_type: TensorSupplyType,
        supply_prog: Callable[..., Any] | None,
        ref_prog: Callable[..., Any] | None,
        *,
        device: int | None,
        share: bool,
    ) -> None:
        self._file = file
        self._given = given
        self._supply_type = supply_type
        self._supply_prog = supply_prog
        self._ref_prog = ref_prog
        self._device = device
        self._share = share
        self._made: dict[Any, Arguments] = {}
        self._files: dict[Any, StoredTensor] = {}
        self.ref_latency: float | None = None

    def arguments(self, function: PrimFunc, outputs: Sequence[int] | None, number: int) -> Arguments:
        """Returns the arguments for configuration `number`."""
        generation = 0 if self._share else number
        key = (
            generation,
            tuple(outputs or ()),
            tuple((p.name, repr(p.type), p.is_written) for p in function.parameters),
        )
        if key not in self._made:
            self._made[key] = self._make(function, outputs, generation)
        return self._made[key]

    def describe(self, function: PrimFunc, outputs: Sequence[int] | None) -> list[Any]:
        """Returns what of the arguments may decide how long a program takes, as JSON, without making them."""
        named = self._given.by_name(function, outputs) if self._given else {}
        extents = extents_of(function, named)
        found: list[Any] = []
        for parameter in function.parameters:
            value = named.get(parameter.name)
            if not isinstance(parameter.type, TensorType):
                found.append(canonical(value))
                continue
            numbers = [e.value(extents) if isinstance(e, Symbol) else e for e in parameter.type.shape]
            shape = [str(e) if n is None else n for e, n in zip(parameter.type.shape, numbers, strict=True)]
            made_up = "null" if parameter.name in named else self._supply_type.value
            data = made_up if value is None else data_digest(value)
            steps = None if value is None else _steps(parameter, value)
            found.append({"shape": shape, "dtype": parameter.type.dtype.name, "data": data, "strides": steps})
        return found

    def _make(self, function: PrimFunc, outputs: Sequence[int] | None, generation: int) -> Arguments:
        if function.reaches_addresses:
            raise UnsupportedError(
                f"`{function.name}` makes tensors at addresses, and the processes that measure have other memory: call "
                f"it with configurations of your own, and measure it with `kernel.get_profiler().do_bench(inputs=...)`"
            )
        given = self._given or self._from_program(function, outputs)
        named = given.by_name(function, outputs) if given else {}
        extents = extents_of(function, named)
        values: list[Any] = []
        for i, parameter in enumerate(function.parameters):
            if i in (outputs or ()) or parameter.is_workspace:
                assert isinstance(parameter.type, TensorType), "results and workspaces are tensors"
                values.append(Blank(concrete_shape(parameter, extents), parameter.type.dtype))
            elif parameter.name in named:
                values.append(self._stored(named[parameter.name], parameter, is_lasting=given is self._given))
            else:
                values.append(self._made_up(parameter, extents, (generation, i)))
        return Arguments(values, self._expected(function, outputs, values))

    def _from_program(self, function: PrimFunc, outputs: Sequence[int] | None) -> Given | None:
        if self._supply_prog is None:
            return None
        return Given(as_tuple(self._supply_prog(_described(function, outputs))))

    def _stored(self, value: Any, parameter: Parameter, *, is_lasting: bool) -> Any:
        """Returns a scalar as it is, and a tensor in the file; one that lasts as long as this is put there once."""
        from ..tensors import is_tensor

        if not is_tensor(value):
            return value
        steps = _steps(parameter, value)
        key = id(value), steps
        if is_lasting and key in self._files:
            return self._files[key]
        stored = self._file.add(*to_storage(value), steps)
        if is_lasting:
            self._files[key] = stored
        return stored

    def _made_up(self, parameter: Parameter, extents: dict[str, int], seed: tuple[int, int]) -> StoredTensor:
        if not isinstance(parameter.type, TensorType):
            raise ConfigError(
                f"`{parameter.name}` is a scalar, and no value can be made up for it: give the inputs to measure with, "
                f"as in `with set_autotune_inputs(...)`"
            )
        shape, dtype = concrete_shape(parameter, extents), parameter.type.dtype
        steps = strides_of(parameter.type, shape)
        key = (shape, dtype.name, seed, steps)
        if key not in self._files:
            self._files[key] = self._file.add(supply(shape, dtype, self._supply_type, seed), dtype, steps)
        return self._files[key]

    def _expected(
        self, function: PrimFunc, outputs: Sequence[int] | None, values: list[Any]
    ) -> list[StoredTensor] | None:
        if self._ref_prog is None:
            return None
        from ..profiler import do_bench
        from ..verify import expected

        def tensors() -> list[Any]:
            taken = [v for v in values if not isinstance(v, Blank)]
            return [
                from_storage(v.read(), v.dtype, cuda=self._device) if isinstance(v, StoredTensor) else v for v in taken
            ]

        found = [self._file.add(*r) for r in expected(function, outputs, self._ref_prog, tensors())]
        if self.ref_latency is None:
            reference, inputs = self._ref_prog, tensors()
            self.ref_latency = float(do_bench(lambda: reference(*inputs), 5, 20, device=self._device))
        return found


def data_digest(tensor: Any) -> str:
    """Returns a digest of the elements of integer tensors, which steer what a kernel does, as tables and lengths do.

    Floats steer nothing, and are many: all of them have one digest.
    """
    storage, dtype = to_storage(tensor) if not _is_float(tensor) else (None, None)
    return "floats" if storage is None or dtype is None or dtype.is_float else digest(storage.tobytes())


def _is_float(tensor: Any) -> bool:
    name = str(getattr(tensor.dtype, "name", tensor.dtype))
    return "float" in name


def _described(function: PrimFunc, outputs: Sequence[int] | None) -> list[KernelParam]:
    return [KernelParam(p) for p in function.taken(outputs)]


def _steps(parameter: Parameter, tensor: Any) -> tuple[int, ...] | None:
    """Returns a tensor's strides if it is not contiguous, and need not be."""
    from ..tensors import strides

    assert isinstance(parameter.type, TensorType), "scalars have no strides"
    steps = strides(tensor)
    if parameter.type.strides is None or is_dense(tensor.shape, steps) or min(steps) < 0:
        return None
    return steps
