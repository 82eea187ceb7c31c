"""`torch`: functions as operators of PyTorch, which `torch.compile`, `torch.export` and CUDA graphs take as they are.

Kernels are compiled as without it. What it adds is the operator: a schema that says which arguments are written, a
kernel for fake tensors that says what the results look like, and a way from PyTorch's dispatcher to our launcher.

The operator is defined with `torch.library.Library`: one Python function below the dispatcher, where
`torch.library.custom_op` has several (docs/rationale/torch-operators.md).
"""

from __future__ import annotations

from ..errors import ArgumentError, ShapeError, UnsupportedError
from ..extents import Relations
from ..kernel import Kernel
from ..once import Lock
from ..ranges import EXTENTS
from ..results import Results, torch_dtype
from ..typed import TYPE_CHECKING
from ..types import Symbol, TensorType
from . import find, register
from .base import Backend, Package
from .kernel_cache import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..builder import Parameter
    from ..compiler import Request

NAMESPACE = "tilec"
"""Operators are `torch.ops.tilec.<function>_<what tells it from others>`."""


class TorchKernelCache(KernelCache):
    """A function is its launch plan and its kernels, which the compiler stores; operators live in the process."""


class TorchKernel(Kernel):
    """A compiled function whose calls go through PyTorch's dispatcher.

    It takes tensors of PyTorch only, and numbers. `op` is its operator, for `torch.library.register_autograd` and for
    whoever wants to name it in a graph.
    """

    op: Any
    """The operator, a `torch._ops.OpOverload`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)


@register
class TorchBackend(Backend):
    """Compiles as `nvptx` or `cpu` does, and registers the function with PyTorch."""

    name = "torch"
    targets = ("cuda", "cpu")
    loader = "an operator of PyTorch, `torch.ops.tilec.…`"
    needs = (Package("torch", "torch"),)
    kernel_cache = TorchKernelCache

    def compiler(self, target: str) -> Backend:
        return find("cpu" if target == "cpu" else "nvptx")

    def compile(self, request: Request) -> Kernel:
        if request.function.reaches_addresses:
            raise UnsupportedError(
                f"`{request.function.name}` makes tensors at addresses, and an operator of PyTorch says what it reads "
                f"and writes: compile it for another backend, or pass the tensors as arguments"
            )
        kernel = request.compile(TorchKernel)
        assert isinstance(kernel, TorchKernel)
        kernel.op = _operators.get(_name(kernel), kernel)
        return kernel

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        return self.compiler("cuda" if kernel.is_cuda else "cpu").load(kernel)


def _name(kernel: Kernel) -> str:
    """Returns the operator's name: the same in every process, another for every other plan, kernel or `out_idx`."""
    import hashlib
    import json

    info = kernel.compile_info
    digest = hashlib.sha256(json.dumps([kernel.target, kernel.outputs, info["functions"]], sort_keys=True).encode())
    for made in info["kernels"]:
        # Not the key that it is cached by, which there is none of without a cache.
        for file in sorted(made["files"]):
            digest.update(kernel.file(file, made["name"]) or b"")
    return f"{kernel.name}_{digest.hexdigest()[:12]}"


class _Operators:
    """What this process has registered. An operator stays: graphs that name it may be run at any time."""

    def __init__(self) -> None:
        self._library: Any = None
        self._found: dict[str, Any] = {}
        self._guard = Lock()

    def get(self, name: str, kernel: Kernel) -> Any:
        """Returns the operator of this name, made of this kernel if there is none yet."""
        with self._guard:
            if name not in self._found:
                self._found[name] = self._register(name, kernel)
            return self._found[name]

    def _register(self, name: str, kernel: Kernel) -> Any:
        from importlib import import_module

        torch: Any = import_module("torch")
        if self._library is None:
            self._library = torch.library.Library(NAMESPACE, "FRAGMENT")
        made = _Operator(kernel, torch)
        # Inductor must hand over tensors with the strides that they were traced with.
        strides = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
        self._library.define(name + made.schema(), tags=(torch.Tag.pt2_compliant_tag, strides))
        # A key that also serves calls without a tensor. Tensors of a wrong device get the launcher's error.
        self._library.impl(name, made.run, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", made.run_fake, lib=self._library)
        return getattr(getattr(torch.ops, NAMESPACE), name).default


_operators = _Operators()


class _Operator:
    """The functions and the schema of a kernel's operator. Its arguments are the parameters that are no results."""

    def __init__(self, kernel: Kernel, torch: Any) -> None:
        self._torch = torch
        self._kernel = kernel
        self._results = Results(kernel.function, kernel.outputs)
        self._parameters = self._results.arguments
        self._written = [i for i, p in enumerate(self._parameters) if p.is_tensor and p.is_written]
        self._device = "cuda" if kernel.is_cuda else "cpu"

    def schema(self) -> str:
        """Returns the operator's signature."""
        taken = ", ".join(self._argument(i, p) for i, p in enumerate(self._parameters))
        count = self._results.count
        returned = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        return f"({taken}) -> {returned}"

    def run(self, *arguments: Any) -> Any:
        """Launches the kernels."""
        results = self._allocate(arguments)
        self._kernel.launch(self._results.insert(arguments, results))
        for i in self._written:
            # For autograd, which may have kept the tensor as it was.
            self._torch.autograd.graph.increment_version(arguments[i])
        return self._results.returned(results)

    def run_fake(self, *arguments: Any) -> Any:
        """Makes tensors like the results, of extents that may be symbols, and checks what a call would check."""
        extents: dict[str, Any] = {}
        for parameter, argument in zip(self._parameters, arguments, strict=True):
            if isinstance(parameter.type, TensorType):
                self._check(parameter.name, parameter.type, argument, extents)
        relations = Relations(self._parameters)
        relations.complete(extents)
        for name in relations.solved:
            extent = extents.get(name, 0)
            for holds in (extent >= EXTENTS.low, extent <= EXTENTS.high):
                self._torch._check(holds, lambda name=name: f"`{name}` is no extent for tensors of these shapes")
        for name, d, extent in relations.computed:
            self._torch._check(
                extents[extent.name] == extent.value(extents),
                lambda name=name, d=d, extent=extent: f"dimension {d} of `{name}` must be `{extent}`, and is not",
            )
        return self._results.returned(self._allocate(arguments))

    def _allocate(self, arguments: Sequence[Any]) -> list[Any]:
        like = self._results.like(arguments)
        device = self._device if like is None else like.device
        made = self._results.made
        return [self._torch.empty(r.shape(arguments), dtype=r.torch_dtype, device=device) for r in made]

    def _argument(self, index: int, parameter: Parameter) -> str:
        if parameter.is_tensor:
            return f"Tensor(a{index}!) {parameter.name}" if index in self._written else f"Tensor {parameter.name}"
        dtype = parameter.type.dtype
        kind = "float" if dtype.is_float else "bool" if dtype.kind == "bool" else "SymInt"
        return f"{kind} {parameter.name}"

    def _check(self, name: str, expected: TensorType, tensor: Any, extents: dict[str, Any]) -> None:
        dtype = torch_dtype(expected.dtype)
        if tensor.dtype != dtype:
            raise ArgumentError(f"`{name}` must be of {dtype}, not {tensor.dtype}")
        if tensor.dim() != expected.rank:
            raise ShapeError(f"`{name}` must have {expected.rank} dimensions, not {tensor.dim()}")
        for d, (extent, actual) in enumerate(zip(expected.shape, tensor.shape, strict=True)):
            wanted = extents.setdefault(extent.name, actual) if isinstance(extent, Symbol) else extent
            # Also tells the compiler that symbolic extents are equal.
            self._torch._check(
                actual == wanted,
                lambda d=d, extent=extent: f"dimension {d} of `{name}` must be {extent}, and is not",
            )
