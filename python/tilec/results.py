"""Tensors that calls allocate: results, which they return, and workspaces."""

from __future__ import annotations

import functools
import sys

from . import _tl
from .errors import ArgumentError, DTypeError, LaunchError, RankError, ShapeError
from .extents import places, solved
from .typed import TYPE_CHECKING
from .types import Computed, Symbol, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .builder import Parameter, PrimFunc
    from .dtypes import DType
    from .extents import Place


class Results:
    """What calls of a function allocate, which tells the other parameters, its arguments, apart from it.

    - `function`: the function.
    - `outputs`: the numbers of the results, in the order in which they are returned.
    """

    def __init__(self, function: PrimFunc, outputs: Sequence[int] | None) -> None:
        parameters = function.parameters
        numbers = [*(outputs or ()), *range(len(function.declared), len(parameters))]
        self.arguments = function.taken(outputs)
        self._known = places(self.arguments)
        self._solved: dict[str, Computed] = {}
        for name, formula in solved(self.arguments).items():
            self._solved[name] = formula.with_symbols(self._solved)
        self.made = [self._result(parameters[i]) for i in numbers]
        """The results, and then the workspaces."""
        self.count = len(outputs or ())
        """How many results there are."""
        self._first_tensor = next((i for i, p in enumerate(self.arguments) if p.is_tensor), None)
        # Inserted in this order, each result comes to stand at its parameter's place.
        self._places = sorted(zip(numbers, range(len(numbers)), strict=True))

    def like(self, arguments: Sequence[Any]) -> Any:
        """Returns the argument whose framework and device the results are of, or None."""
        return None if self._first_tensor is None else arguments[self._first_tensor]

    def allocate(self, arguments: Sequence[Any], *, is_cuda: bool, like: Any = None) -> list[Any]:
        """Returns empty tensors; `like` is as an argument would be, where none is a tensor."""
        if self._first_tensor is not None:
            like = self.like(arguments)
        return [result.allocate(arguments, like, is_cuda=is_cuda) for result in self.made]

    def fast(self, launch: Callable[..., Any], arguments: Sequence[Any]) -> _tl.ResultCall | None:
        """Returns what allocates in C++, calls `launch` and returns the results; None unless they are PyTorch's, of
        extents that arguments have."""
        torch: Any = sys.modules.get("torch")
        like = self._first_tensor
        if not self.made or like is None or torch is None or not isinstance(arguments[like], torch.Tensor):
            return None
        numbers = {result: place for place, result in self._places}
        made: list[tuple[int, Any, Sequence[int | tuple[int, int]]]] = []
        for i, result in enumerate(self.made):
            extents: list[int | tuple[int, int]] = []
            for extent in result.extents:
                if isinstance(extent, int):
                    extents.append(extent)
                elif isinstance(extent, Formula) or extent[1] is None:  # it is computed, or given, at each call
                    return None
                else:
                    extents.append((extent[0], extent[1]))
            made.append((numbers[i], result.torch_dtype, extents))
        kinds = [torch.Tensor, torch.nn.Parameter]
        return _tl.ResultCall(launch, len(self.arguments), like, kinds, made, self.count)

    def insert(self, arguments: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Returns the value of every parameter, in order."""
        values = list(arguments)
        for place, number in self._places:
            values.insert(place, results[number])
        return values

    def returned(self, made: Sequence[Any]) -> Any:
        """Returns what a call returns of what it has allocated: nothing, the result, or a tuple of them."""
        results = made[: self.count]
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _result(self, parameter: Parameter) -> Result:
        assert isinstance(parameter.type, TensorType), "`out_idx` was checked"
        extents = [self._extent(parameter.name, extent) for extent in parameter.type.shape]
        return Result(parameter, self.arguments, extents)

    def _extent(self, result: str, extent: int | Symbol) -> Extent:
        """Returns an extent as a number, as an argument and its dimension, or as what is computed of such."""
        if not isinstance(extent, Symbol):
            return extent
        if extent.name in self._known:
            return self._known[extent.name]
        formula = extent.with_symbols(self._solved) if isinstance(extent, Computed) else self._solved.get(extent.name)
        if formula is not None and all(s.name in self._known for s in formula.symbols()):
            return Formula(extent.name, formula, {s.name: self._known[s.name] for s in formula.symbols()})
        raise ShapeError(f"the extent `{extent.name}` of the result `{result}` does not follow from the arguments")


class Formula:
    """An extent that is computed of arguments' extents, each by its argument and dimension."""

    def __init__(self, name: str, extent: Computed, places: Mapping[str, Place]) -> None:
        self._name = name
        self._extent = extent
        self._places = places

    def value(self, find: Callable[[Place], Any]) -> Any:
        """Returns it; `find` returns an extent of an argument."""
        found = self._extent.value({name: find(place) for name, place in self._places.items()})
        if (isinstance(found, int) and found < 0) or isinstance(found, float):
            raise ShapeError(f"the extent `{self._name}` of a result is {found}")
        return found


if TYPE_CHECKING:
    Extent = int | Place | Formula


class Result:
    """One of them. Its extents are numbers, or follow from those of arguments."""

    def __init__(self, parameter: Parameter, arguments: Sequence[Parameter], extents: Sequence[Extent]) -> None:
        self._parameter = parameter
        self._arguments = arguments
        self.extents = extents
        self._constant = tuple(extents) if all(isinstance(e, int) for e in extents) else None

    def shape(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the extents that it has for these arguments; they may be symbols of PyTorch."""
        shape = self._constant or tuple([self._extent(e, arguments) for e in self.extents])
        if any(isinstance(e, int) and e < 0 for e in shape):
            raise ShapeError(f"the result `{self._parameter.name}` would have the shape {shape}")
        return shape

    def allocate(self, arguments: Sequence[Any], like: Any, *, is_cuda: bool) -> Any:
        """Returns an empty tensor of the framework and on the device of `like`, or an `Array`."""
        shape = self.shape(arguments)
        torch: Any = sys.modules.get("torch")
        if torch is not None and isinstance(like, torch.Tensor):
            return like.new_empty(shape, dtype=self.torch_dtype)
        try:
            if self._parameter.is_workspace:  # nobody sees it, so that NumPy needs no type for its elements
                return _array(shape, self._parameter.type.dtype, like, is_cuda=is_cuda)
            return _allocate(shape, self._parameter.type.dtype, like, is_cuda=is_cuda)
        except DTypeError as error:
            raise DTypeError(f"the result `{self._parameter.name}`: {error.message}") from None
        except (MemoryError, ValueError):
            what = "the workspace" if self._parameter.is_workspace else "the result"
            raise LaunchError(
                f"{what} `{self._parameter.name}` of {shape} `{self._parameter.type.dtype}` is too large for the "
                f"memory that there is"
            ) from None

    @functools.cached_property
    def torch_dtype(self) -> Any:
        """PyTorch's object for its element type."""
        return torch_dtype(self._parameter.type.dtype)

    def _extent(self, extent: Extent, arguments: Sequence[Any]) -> Any:
        if isinstance(extent, int):
            return extent
        if isinstance(extent, Formula):
            return extent.value(lambda place: self._extent(place, arguments))
        place, dim = extent
        if dim is None:
            return self._given(self._arguments[place].name, arguments[place])
        try:
            return arguments[place].shape[dim]
        except (AttributeError, IndexError):
            name, result = self._arguments[place].name, self._parameter.name
            raise RankError(f"`{name}` has no dimension {dim}, whose extent the result `{result}` is to have") from None

    def _given(self, name: str, value: Any) -> Any:
        """Returns an integer that an extent follows from, which may be a symbol of PyTorch."""
        if not hasattr(value, "__index__"):
            result = self._parameter.name
            raise ArgumentError(f"`{name}` must be an integer, of which `{result}` is made, not `{value!r}`")
        return value


def _allocate(shape: tuple[int, ...], dtype: DType, like: Any, *, is_cuda: bool) -> Any:
    from .array import numpy_dtype

    if is_numpy_array(like):
        return sys.modules["numpy"].empty(shape, numpy_dtype(dtype))
    return _array(shape, dtype, like, is_cuda=is_cuda)


def _array(shape: tuple[int, ...], dtype: DType, like: Any, *, is_cuda: bool) -> Any:
    from .array import Array

    device = like.__dlpack_device__()[1] if is_on_gpu(like) else 0
    return Array.empty(shape, dtype, cuda=device if is_cuda else None)


def torch_dtype(dtype: DType) -> Any:
    """Returns PyTorch's object for an element type."""
    from importlib import import_module

    return getattr(import_module("torch"), dtype.library_name)


def is_numpy_array(value: Any) -> bool:
    """Whether an argument is an array of NumPy, which is not imported to find out."""
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_on_gpu(value: Any) -> bool:
    """Whether an argument is a tensor on a GPU."""
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] == 2
