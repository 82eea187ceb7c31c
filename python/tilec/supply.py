"""Data for kernels that are tried out: what tensors are filled with, and how their elements are stored.

NumPy lacks `bfloat16` and the 8-bit floats. Here an element type's *storage* is an array of NumPy's own types of the
same width, and `decode` and `encode` go between storage and numbers.
"""

from __future__ import annotations

import enum
import functools

from .constants import code_of, numbers_of
from .dtypes import Format
from .errors import ArgumentError
from .typed import TYPE_CHECKING
from .types import Symbol, TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy

    from .builder import Parameter
    from .dtypes import DType

    Storage = numpy.ndarray[Any, Any]

PERIOD = 16_777_213
"""Random values repeat after this many, a prime, so that no two rows of a matrix are alike and large ones are cheap."""


class TensorSupplyType(enum.Enum):
    """What the tensors of a benchmark are filled with."""

    Auto = "auto"
    """`Normal` for floats, `Integer` for the rest. Zeros would flatter: a GPU that flips fewer bits runs faster."""
    Integer = "integer"
    """Small integers: -3 to 3, or 0 to 3 without a sign."""
    Uniform = "uniform"
    """Between -1 and 1."""
    Normal = "normal"
    """The standard normal distribution."""
    Randn = "randn"
    """The same as `Normal`, under PyTorch's name."""
    Zero = "zero"
    One = "one"


def storage_type(dtype: DType) -> Any:
    """Returns the type of NumPy that stores the elements."""
    import numpy as np

    if isinstance(dtype, Format):
        return np.dtype("uint8")
    names = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8", "tfloat32": "float32"}
    return np.dtype(names.get(dtype.name, dtype.name))


def decode(storage: Storage, dtype: DType) -> Storage:
    """Returns the numbers that are stored: 16-bit and narrower floats as `float32`, all else as it is."""
    import numpy as np

    if isinstance(dtype, Format):
        return np.array(numbers_of(dtype), np.float32)[storage]
    if dtype.name == "bfloat16":
        return (storage.astype(np.uint32) << 16).view(np.float32)
    if dtype.name.startswith("float8"):
        return _float8_values(dtype.name)[storage]
    return storage.astype(np.float32) if dtype.name == "float16" else storage


def encode(values: Storage, dtype: DType) -> Storage:
    """Returns how numbers are stored, rounded to nearest, ties to even."""
    import numpy as np

    if isinstance(dtype, Format):
        codes = [code_of(float(number), dtype) for number in np.asarray(values, np.float64).flat]
        return np.array(codes, np.uint8).reshape(np.shape(values))
    if dtype.name == "bfloat16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
    if dtype.name.startswith("float8"):
        return _encode_float8(np.asarray(values, np.float32), dtype.name)
    return np.asarray(values).astype(storage_type(dtype))


@functools.cache
def _float8_values(name: str) -> Storage:
    """Returns the value of each of the 256 codes (OCP 8-bit Floating Point Specification, revision 1.0)."""
    import numpy as np

    codes = np.arange(256)
    mantissa_bits, bias = (3, 7) if name == "float8_e4m3fn" else (2, 15)
    exponent = (codes & 0x7F) >> mantissa_bits
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    values = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1 + fraction, exponent.astype(int) - bias))
    if name == "float8_e4m3fn":
        values[(codes & 0x7F) == 0x7F] = np.nan
    else:
        values[(exponent == 31) & (fraction == 0)] = np.inf
        values[(exponent == 31) & (fraction != 0)] = np.nan
    return np.where(codes & 0x80, -values, values).astype(np.float32)


def _encode_float8(values: Storage, name: str) -> Storage:
    """Finds the nearest code; what is too large becomes the largest finite value, as saturating conversions do."""
    import numpy as np

    table = _float8_values(name)[:128]
    finite = table[np.isfinite(table)]
    magnitude = np.minimum(np.abs(values), finite[-1])
    above = np.searchsorted(finite, magnitude).clip(1, len(finite) - 1)
    low, high = finite[above - 1], finite[above]
    middle = (low + high) / 2
    up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    code = np.where(up, above, above - 1) | np.where(np.signbit(values), 0x80, 0)
    return np.where(np.isnan(values), 0x7F, code).astype(np.uint8)


def supply(shape: Sequence[int], dtype: DType, kind: TensorSupplyType, seed: Sequence[int]) -> Storage:
    """Returns the storage of a tensor that is filled as `kind` says; the same for the same seed, on every machine."""
    import math

    import numpy as np

    count = math.prod(shape)
    if kind in (TensorSupplyType.Zero, TensorSupplyType.One):
        values = np.full(1, kind is TensorSupplyType.One)
    else:
        values = _random(min(count, PERIOD), dtype, kind, np.random.default_rng(list(seed)))
    return np.resize(encode(values, dtype), tuple(shape)) if count else np.empty(tuple(shape), storage_type(dtype))


def _random(count: int, dtype: DType, kind: TensorSupplyType, random: numpy.random.Generator) -> Storage:
    import numpy as np

    if kind is TensorSupplyType.Uniform and dtype.is_float:
        return random.random(count, np.float32) * 2 - 1
    if dtype.is_float and kind is not TensorSupplyType.Integer:
        return random.standard_normal(count, np.float32)
    low, high = max(-3, int(dtype.range[0])) if not dtype.is_float else -3, 1 if dtype.kind == "bool" else 3
    return random.integers(low, high + 1, count)


def concrete_shape(
    parameter: Parameter,
    extents: Mapping[str, int],
    remedy: str = "give tensors to measure with, as in `with set_autotune_inputs(a, b): ...`",
) -> tuple[int, ...]:
    """Returns the shape of a tensor parameter, with its symbols replaced; `remedy` says what gives those."""
    assert isinstance(parameter.type, TensorType), "scalars have no shape"
    shape = [e.value(extents) if isinstance(e, Symbol) else e for e in parameter.type.shape]
    unknown = [e for e, number in zip(parameter.type.shape, shape, strict=True) if number is None]
    if unknown:
        raise ArgumentError(f"the extent `{unknown[0]}` of `{parameter.name}` is not known before a call: {remedy}")
    return tuple(shape)


def to_storage(tensor: Any) -> tuple[Storage, DType]:
    """Returns a copy of a tensor's elements on the host, and their type. Any library's tensors, on any device."""
    import sys

    import numpy as np

    from . import dtypes
    from .array import Array

    if isinstance(tensor, Array):
        target = np.empty(tensor.shape, storage_type(tensor.dtype))
        tensor.copy_into(target.reshape(-1).view("u1"))
        return target, tensor.dtype
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        element = dtypes.dtype(tensor.dtype)
        host = tensor.detach().to("cpu", copy=True).contiguous()
        flat = host.reshape(-1).view(torch.uint8).numpy() if host.numel() else np.empty(0, np.uint8)
        return flat.view(storage_type(element)).reshape(tuple(tensor.shape)), element
    cupy: Any = sys.modules.get("cupy")
    host = cupy.asnumpy(tensor) if cupy is not None and isinstance(tensor, cupy.ndarray) else np.array(tensor)
    element = dtypes.dtype(host.dtype.name)
    return np.ascontiguousarray(host).view(storage_type(element)).reshape(host.shape), element


def from_storage(storage: Storage, dtype: DType, *, cuda: int | None) -> Any:
    """Returns a tensor for a user's function: PyTorch's where PyTorch is imported, else NumPy's, else an `Array`."""
    import sys

    from .array import Array, numpy_dtype
    from .errors import DTypeError
    from .results import torch_dtype

    torch: Any = sys.modules.get("torch")
    if torch is not None:
        tensor = torch.from_numpy(storage.flatten().view("u1")).view(torch_dtype(dtype)).reshape(storage.shape)
        return tensor if cuda is None else tensor.to(f"cuda:{cuda}")
    try:
        return storage.copy().view(numpy_dtype(dtype))
    except DTypeError:
        return Array.from_numpy(storage, dtype)
