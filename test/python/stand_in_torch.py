"""Tensors that are laid out as PyTorch's are, in a package of that name, for tests where PyTorch is not.

    install(folder)

builds the package's library in `folder` and puts the package where `import torch` finds it. It has no device but the
CPU, and the element types float32 and int64. With `negation_finder=1` the library has PyTorch's function that finds
lazy negations, with another number one that does not find any.
"""

import ctypes
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

made: list[tuple[tuple[int, ...], str]] = []
"""The shapes and element types that `new_empty` was asked for."""
memory: dict[int, np.ndarray] = {}
"""What it returned, by the words of the tensors."""

asked: list[int] = []
"""The words of the tensors whose `is_neg` was called."""

DTYPES = {"float32": 6, "int64": 4, "complex64": 9}


class Implementation(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 8),
        ("strides", ctypes.c_int64 * 8),
        ("dtype", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("index", ctypes.c_int32),
        ("negated", ctypes.c_int32),
    )


class Tensor:
    """Its one slot is the word that `_cdata` names."""

    __module__ = "torch"
    __slots__ = ("implementation",)

    def __init__(self, array: np.ndarray) -> None:
        it = self.implementation = Implementation()
        it.data, it.rank = array.ctypes.data, array.ndim
        it.shape[: array.ndim] = array.shape
        it.strides[: array.ndim] = [s // array.itemsize for s in array.strides]
        it.dtype, it.layout, it.device, it.index = DTYPES[array.dtype.name], 3, 1, -1

    @property
    def _cdata(self) -> int:
        return id(self.implementation)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.implementation.shape[: self.implementation.rank])

    def is_neg(self) -> bool:
        asked.append(self._cdata)
        return bool(self.implementation.negated)

    def new_empty(self, shape: tuple[int, ...], dtype: str) -> "Tensor":
        made.append((shape, dtype))
        array = np.zeros(shape, dtype)
        tensor = Tensor(array)
        memory[id(tensor.implementation)] = array
        return tensor


class Parameter(Tensor):
    __module__ = "torch.nn.parameter"
    __slots__ = ()


def negation(of: Tensor) -> Tensor:
    """Returns a lazy negation: the same memory, marked."""
    tensor = Tensor(np.zeros(0, np.float32))
    ctypes.pointer(tensor.implementation)[0] = of.implementation
    tensor.implementation.negated = 1
    return tensor


def install(folder: Path, negation_finder: int | None = None) -> None:
    library = folder / f"stand_in_torch_{negation_finder}.so"
    source = Path(__file__).with_suffix(".c")
    flags = [] if negation_finder is None else [f"-DNEGATION={negation_finder}"]
    subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", library, source], check=True)
    package = ModuleType("torch")
    package._C = SimpleNamespace(__file__=str(library), handle=ctypes.CDLL(str(library)))
    package.Tensor = Tensor
    package.float32, package.int64 = "float32", "int64"
    package.nn = SimpleNamespace(Parameter=Parameter)
    package.empty = lambda shape, device: Tensor(np.zeros(shape, np.float32))
    package._neg_view = negation
    sys.modules["torch"] = package
