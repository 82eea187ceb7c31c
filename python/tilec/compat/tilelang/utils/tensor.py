"""`tilelang.utils.tensor`: the data that kernels are tried out with, and comparing tensors."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module

from .... import supply as _supply
from ....dtypes import dtype
from ....supply import TensorSupplyType as TensorSupplyType
from ....tensors import strides
from ....typed import TYPE_CHECKING
from ....verify import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ....dtypes import DType

__all__ = ["TensorSupplyType", "get_tensor_supply", "map_torch_type", "torch_assert_close"]


def map_torch_type(intype: Any) -> Any:
    """Returns PyTorch's type for an element type, or for its name."""
    return dtype(intype).as_torch()


def meant(supply_type: TensorSupplyType) -> TensorSupplyType:
    """Returns what a type of TileLang's says: of `Auto` floats are between -1 and 1 there, and normal ones in `tilec`.

    Programs that sum in `float16` count on it: sums of greater numbers are rounded more coarsely.
    """
    return TensorSupplyType.Uniform if supply_type is TensorSupplyType.Auto else supply_type


def supply(shape: Sequence[int], dtype: DType, supply_type: TensorSupplyType, seed: Sequence[int]) -> Any:
    """Returns the storage of a tensor as TileLang fills it: its normal numbers have the mean -1."""
    storage = _supply.supply(shape, dtype, meant(supply_type), seed)
    if supply_type is TensorSupplyType.Normal and dtype.is_float:
        return _supply.encode(_supply.decode(storage, dtype) - 1, dtype)
    return storage


def load_torch() -> None:
    """Imports PyTorch if it is installed.

    It is imported with TileLang, so that programs that do not import it have references of its tensors on a GPU all
    the same. Here this is done where such tensors are made.
    """
    with suppress(ImportError):
        import_module("torch")


def get_tensor_supply(supply_type: TensorSupplyType = TensorSupplyType.Integer) -> Callable[[Any], Any]:
    """Returns a function that makes a tensor for a parameter of a kernel, one of `kernel.params`."""
    made: list[None] = []

    def make(param: Any) -> Any:
        made.append(None)
        storage = supply(tuple(param.shape), param.tilelang_dtype, supply_type, (0, len(made)))
        return _supply.from_storage(storage, param.tilelang_dtype, cuda=_cuda())

    return make


def _cuda() -> int | None:
    """Returns the GPU that PyTorch would put tensors on, if it has one."""
    torch = sys.modules.get("torch")
    return torch.cuda.current_device() if torch is not None and torch.cuda.is_available() else None


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 1e-3,
    verbose: bool = False,
    equal_nan: bool = True,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    base_name: str = "LHS",
    ref_name: str = "RHS",
) -> bool:
    """Raises `AssertionError` unless two tensors are close, of any library, and returns True.

    - `rtol`, `atol`: an element is wrong if it is off by more than `atol + rtol * |tensor_b|`.
    - `max_mismatched_ratio`: the share of elements that may be wrong.
    - `verbose`: whether to print how many are.
    - `equal_nan`: whether NaN equals NaN.
    - `check_device`, `check_dtype`, `check_layout`, `check_stride`: what else must be the same.
    - `base_name`, `ref_name`: what messages call the two.
    """
    same = {"device": check_device, "dtype": check_dtype, "layout": check_layout}
    for what in [what for what, is_checked in same.items() if is_checked]:
        left, right = getattr(tensor_a, what, None), getattr(tensor_b, what, None)
        if left != right:
            raise AssertionError(f"the {what} differs: {base_name} has {left}, and {ref_name} {right}")
    steps = strides(tensor_a), strides(tensor_b)
    if check_stride and steps[0] != steps[1]:
        raise AssertionError(f"the strides differ: {base_name} has {steps[0]}, and {ref_name} {steps[1]}")
    left, right = _supply.to_storage(tensor_a), _supply.to_storage(tensor_b)
    if not equal_nan:
        numbers = _supply.decode(*left)
        if (numbers != numbers).any():
            raise AssertionError(f"{base_name} has elements that are no numbers")
    problem = compare(base_name, left, right, rtol, atol, max_mismatched_ratio)
    if problem:
        raise AssertionError(f"{problem}: {base_name} and {ref_name} are not close")
    if verbose:
        print(f"{base_name} and {ref_name} are close")
    return True
