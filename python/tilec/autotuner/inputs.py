"""What configurations are measured with: tensors that were given, or that are made up, in a file in memory.

Processes that measure read tensors from a file, which outlives any of them: one that was killed is replaced, and its
successor has the same data at no cost. The file has no name but that of its descriptor, and is gone when the process
that made it is, however that ends.
"""

from __future__ import annotations

import os
import threading

from .. import dtypes
from ..errors import ConfigError, quoted
from ..supply import TensorSupplyType, concrete_shape, from_storage, storage_type, supply, to_storage
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType, as_tuple
from .identity import canonical, digest
from .strided import is_dense, span, strides_of, view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..builder import Parameter, PrimFunc
    from ..dtypes import DType
    from ..supply import Storage

_local = threading.local()


class set_autotune_inputs:
    """Says what tensors and scalars kernels are measured with: `with set_autotune_inputs(a, b): ...`.

    They are those of the kernel's parameters that are not results, in order. Inside another `with`, the inner one
    holds; every thread has its own.
    """

    def __init__(self, *tensors: Any) -> None:
        is_list = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
        self._tensors = as_tuple(tensors[0]) if is_list else tensors

    def __enter__(self) -> tuple[Any, ...]:
        _stack().append(self._tensors)
        return self._tensors

    def __exit__(self, *_: object) -> None:
        _stack().pop()


def _stack() -> list[tuple[Any, ...]]:
    return _local.__dict__.setdefault("stack", [])


def get_autotune_inputs() -> tuple[Any, ...] | None:
    """Returns what the innermost `set_autotune_inputs` of this thread gave, or None."""
    stack = _stack()
    return stack[-1] if stack else None


class KernelParam:
    """What `supply_prog` is told of a parameter."""

    def __init__(self, name: str, dtype: DType, shape: tuple[Any, ...]) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape

    def __repr__(self) -> str:
        return f"<{self.name}: {self.shape} of {self.dtype}>"


class StoredTensor:
    """A tensor in a file."""

    def __init__(
        self, path: str, offset: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None
    ) -> None:
        self.place = path, offset
        """Which file, and where in it."""
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        """In elements, or None for a contiguous tensor."""

    def read(self) -> Storage:
        """Returns its elements, which share the file's memory and cannot be written."""
        return self.memory() if self.strides is None else view(self.memory(), self.shape, self.strides)

    def memory(self) -> Storage:
        """Returns the same for a contiguous tensor, and for another all that lies where its elements do, in a row."""
        import numpy as np

        if 0 in self.shape:
            return np.empty(self.shape, storage_type(self.dtype))
        path, offset = self.place
        shape = self.shape if self.strides is None else (span(self.shape, self.strides),)
        return np.memmap(path, storage_type(self.dtype), "r", offset, shape)


class TensorFile:
    """A temporary file of tensors; in memory where there is room."""

    ALIGNMENT = 64

    def __init__(self) -> None:
        import tempfile

        memory = "/dev/shm"
        roomy = os.path.isdir(memory) and os.access(memory, os.W_OK) and _free(memory) > 4 << 30
        self._file = tempfile.TemporaryFile(dir=memory if roomy else None)  # noqa: SIM115, `close` closes it
        self._path = f"/proc/{os.getpid()}/fd/{self._file.fileno()}"
        self._lock = threading.Lock()

    def add(self, storage: Storage, dtype: DType, strides: tuple[int, ...] | None = None) -> StoredTensor:
        """Writes a tensor, with these strides if it shall not be contiguous."""
        import numpy as np

        shape = storage.shape
        if strides is not None:
            dense, storage = storage, np.zeros(span(shape, strides), storage.dtype)
            view(storage, shape, strides)[...] = dense
        with self._lock:
            end = self._file.seek(0, os.SEEK_END)
            offset = self._file.seek(-(-end // self.ALIGNMENT) * self.ALIGNMENT)
            storage.tofile(self._file)
            self._file.flush()
        return StoredTensor(self._path, offset, shape, dtype, strides)

    def close(self) -> None:
        self._file.close()


def _free(path: str) -> int:
    import shutil

    return shutil.disk_usage(path).free


class Given:
    """Arguments that the user supplies: by position, of the parameters that are not results, or by name."""

    def __init__(self, values: Sequence[Any] | Mapping[str, Any]) -> None:
        self.values = values

    def by_name(self, function: PrimFunc, outputs: Sequence[int] | None) -> dict[str, Any]:
        """Returns the value of each parameter that has one."""
        if isinstance(self.values, dict):
            return {p.name: self.values[p.name] for p in function.parameters if p.name in self.values}
        values = tuple(self.values)
        taken = [p for i, p in enumerate(function.parameters) if i not in (outputs or ())]
        if len(values) == len(function.parameters) != len(taken):
            values = tuple(v for i, v in enumerate(values) if i not in (outputs or ()))
        if len(values) != len(taken):
            expected = quoted(p.name for p in taken)
            raise ConfigError(f"`{function.name}` is measured with {len(values)} inputs, expected {expected}")
        return {p.name: value for p, value in zip(taken, values, strict=True)}


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
        extents = _extents(function, named)
        found: list[Any] = []
        for parameter in function.parameters:
            value = named.get(parameter.name)
            if not isinstance(parameter.type, TensorType):
                found.append(canonical(value))
                continue
            shape = [extents.get(e.name, e.name) if isinstance(e, Symbol) else e for e in parameter.type.shape]
            made_up = "null" if parameter.name in named else self._supply_type.value
            data = made_up if value is None else data_digest(value)
            steps = None if value is None else _steps(parameter, value)
            found.append({"shape": shape, "dtype": parameter.type.dtype.name, "data": data, "strides": steps})
        return found

    def _make(self, function: PrimFunc, outputs: Sequence[int] | None, generation: int) -> Arguments:
        given = self._given or self._from_program(function, outputs)
        named = given.by_name(function, outputs) if given else {}
        extents = _extents(function, named)
        values: list[Any] = []
        for i, parameter in enumerate(function.parameters):
            if i in (outputs or ()):
                assert isinstance(parameter.type, TensorType), "results are tensors"
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
        from ..jit import is_tensor

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
    taken = [p for i, p in enumerate(function.parameters) if i not in (outputs or ())]
    return [KernelParam(p.name, p.type.dtype, p.type.shape if isinstance(p.type, TensorType) else ()) for p in taken]


def _steps(parameter: Parameter, tensor: Any) -> tuple[int, ...] | None:
    """Returns a tensor's strides if it is not contiguous, and need not be."""
    from ..jit import strides

    assert isinstance(parameter.type, TensorType), "scalars have no strides"
    steps = strides(tensor)
    if parameter.type.strides is None or is_dense(tensor.shape, steps) or min(steps) < 0:
        return None
    return steps


def _extents(function: PrimFunc, named: Mapping[str, Any]) -> dict[str, int]:
    """Returns the symbols that given tensors tell. Raises if one does not fit its parameter, which is no
    configuration's fault."""
    from ..jit import is_tensor

    found: dict[str, int] = {}
    for parameter in function.parameters:
        value = named.get(parameter.name)
        if value is None:  # it is made up, or a tensor that is not used
            continue
        what = f"`{parameter.name}` of `{function.name}`"
        if not isinstance(parameter.type, TensorType):
            if is_tensor(value) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
                raise ConfigError(f"{what} is a scalar, and cannot be measured with `{type(value).__name__}`")
            continue
        if not is_tensor(value):
            raise ConfigError(f"{what} is a tensor, and cannot be measured with `{type(value).__name__}`")
        _check_tensor(what, parameter.type, value, found)
    return found


def _check_tensor(what: str, expected: TensorType, tensor: Any, symbols: dict[str, int]) -> None:
    """Adds the symbols that a tensor tells; raises if it is not what its parameter expects."""
    dtype, shape = dtypes.dtype(tensor.dtype), tuple(int(e) for e in tensor.shape)
    if dtype is not expected.dtype and (expected.dtype.name, dtype.name) != ("tfloat32", "float32"):
        raise ConfigError(f"{what} is of {expected.dtype}, and the tensor to measure it with of {dtype}")
    if len(shape) != expected.rank:
        raise ConfigError(f"{what} has {expected.rank} dimensions, and the tensor to measure it with {len(shape)}")
    for dimension, (extent, actual) in enumerate(zip(expected.shape, shape, strict=True)):
        wanted = symbols.setdefault(extent.name, actual) if isinstance(extent, Symbol) else extent
        if wanted != actual:
            raise ConfigError(
                f"dimension {dimension} of {what} is {wanted}, and that of the tensor to measure it with {actual}"
            )
