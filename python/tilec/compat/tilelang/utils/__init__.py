"""`tilelang.utils`: the data that kernels are tried out with, and comparing tensors."""

from __future__ import annotations

from .tensor import TensorSupplyType as TensorSupplyType
from .tensor import torch_assert_close as torch_assert_close

__all__ = ["TensorSupplyType", "torch_assert_close"]
