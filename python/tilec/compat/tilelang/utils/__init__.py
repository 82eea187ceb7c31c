"""`tilelang.utils`: the data that kernels are tried out with, comparing tensors, and what targets are."""

from __future__ import annotations

from ..language.fp8 import determine_fp8_type as determine_fp8_type
from ..language.fp8 import determine_torch_fp8_type as determine_torch_fp8_type
from .target import determine_target as determine_target
from .tensor import TensorSupplyType as TensorSupplyType
from .tensor import get_tensor_supply as get_tensor_supply
from .tensor import map_torch_type as map_torch_type
from .tensor import torch_assert_close as torch_assert_close

__all__ = [
    "TensorSupplyType", "determine_fp8_type", "determine_target", "determine_torch_fp8_type", "get_tensor_supply",
    "map_torch_type", "torch_assert_close",
]  # fmt: skip
