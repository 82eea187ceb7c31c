"""`tilelang.engine.param`: what programs ask of what was compiled."""

from __future__ import annotations

import functools

from ....results import torch_dtype
from ....typed import TYPE_CHECKING
from ....types import Symbol, TensorType
from ..absent import missing

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ....builder import Parameter
    from ....dtypes import DType
    from ..jit.kernel import JITKernel


class KernelParam:
    """A parameter of a kernel: `dtype`, and `shape`, which is empty for a scalar."""

    def __init__(self, parameter: Parameter) -> None:
        self.name = parameter.name
        self.tilelang_dtype: DType = parameter.type.dtype
        self._is_tensor = isinstance(parameter.type, TensorType)
        self.shape: list[int | Symbol] = list(parameter.type.shape) if isinstance(parameter.type, TensorType) else []

    @property
    def dtype(self) -> Any:
        """Its element type: PyTorch's."""
        return torch_dtype(self.tilelang_dtype)

    def torch_dtype(self) -> Any:
        """Returns PyTorch's element type."""
        return torch_dtype(self.tilelang_dtype)

    def is_scalar(self) -> bool:
        """Whether it is no tensor."""
        return not self._is_tensor

    def is_unsigned(self) -> bool:
        """Whether its elements are integers without a sign."""
        return self.tilelang_dtype.kind == "uint"

    def is_float8(self) -> bool:
        """Whether its elements are floats of 8 bits."""
        return self.tilelang_dtype.name.startswith("float8")

    def is_float4(self) -> bool:
        """Whether its elements are floats of 4 bits, which there are none of."""
        return False

    def is_boolean(self) -> bool:
        """Whether its elements are truth values."""
        return self.tilelang_dtype.kind == "bool"

    def __repr__(self) -> str:
        return f"<KernelParam {self.name}: {self.tilelang_dtype} {self.shape}>"


class CompiledArtifact:
    """What a program was compiled to: `kernel_source` and `params`. Its modules were TVM's, and are not there."""

    def __init__(self, kernel: JITKernel) -> None:
        self.kernel = kernel

    @functools.cached_property
    def kernel_source(self) -> str:
        """The kernels' source."""
        return self.kernel.get_kernel_source()

    @property
    def params(self) -> list[KernelParam]:
        """The parameters."""
        return self.kernel.params

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("host_mod", "device_mod", "rt_mod"):
            raise missing(f"tilelang.tvm.{name}")
        raise AttributeError(f"what `tilelang.lower` returns has no `{name}`")
