"""`tilelang.JITKernel`: a compiled kernel, as programs for TileLang know it."""

from __future__ import annotations

import functools
import sys

from .... import _tl, compiler
from ....array import Array
from ....builder import PrimFunc
from ....errors import ArgumentError, BackendError, TargetError
from ....expr import shortened
from ....kernel import Kernel
from ....location import here
from ....typed import TYPE_CHECKING
from ....types import as_tuple
from .. import options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any, Literal

    from ....supply import TensorSupplyType
    from ..engine.param import KernelParam
    from ..profiler import Profiler

    Which = Literal["kernel", "host", "both"]


class JITKernel(_tl.FastCallable):
    """A compiled kernel: called with its tensors it runs, and returns its results if it has `out_idx`.

    One result is returned as it is, several are a list.

    `kernel` is the `tilec.Kernel` that does it; what it has, this has too.

    - `func`: a `@T.prim_func`, which is compiled, or a kernel.
    - `out_idx`, `others`: as of `tilelang.compile`, for a program.
    """

    def __init__(self, func: PrimFunc | Kernel, out_idx: list[int] | int | None = None, **others: Any) -> None:
        self.kernel: Kernel = func if isinstance(func, Kernel) else compiled(func, out_idx, **others)
        self.return_lists()

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        expected = len(self.kernel.argument_names)
        if len(args) + len(kwargs) != expected and len(args) + len(kwargs) != len(self.kernel.function.declared):
            raise ValueError(f"Kernel expected {expected} inputs, but {len(args) + len(kwargs)} are provided.")
        like = self._like
        results = self.kernel(*args, **kwargs) if like is None else self.kernel.call_like(like, *args, **kwargs)
        found = as_pytorch(results)
        is_plain = all(a is b for a, b in zip(as_tuple(found), as_tuple(results), strict=True))
        if not kwargs and is_plain and self.kernel.fast is not None:
            self.set_fast(self.kernel.fast)  # what it cannot do comes here, to be counted
        return found

    @property
    def _like(self) -> Any:
        """A tensor of PyTorch as results are to be of calls without a tensor, or None if PyTorch has none like them.

        Its memory comes from PyTorch's pool. What `tilec.Array` allocates of a GPU, and frees again, is asked of the
        driver at each call, which waits for the GPU.
        """
        torch = sys.modules.get("torch")
        if torch is None or not self._has_results_alone:
            return None
        if not self.kernel.is_cuda:
            return torch.empty(0, device="cpu")
        return torch.empty(0, device="cuda") if torch.cuda.is_available() else None

    @functools.cached_property
    def _has_results_alone(self) -> bool:
        """Whether calls make tensors and take none."""
        taken = self.kernel.argument_names
        tensors = [p for p in self.kernel.function.parameters if p.is_tensor]
        return bool(tensors) and all(p.name not in taken for p in tensors)

    def __getattr__(self, name: str) -> Any:
        if name == "kernel":
            raise AttributeError(name)  # while it is being made
        return getattr(self.kernel, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return JITKernel, (self.kernel,)

    def __repr__(self) -> str:
        return f"<JITKernel {self.kernel.summary()}>"

    # Source ----------------------------------------------------------------------------------------------------------

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """Returns the kernels' source: CUDA C++ for a GPU, assembly for the CPU.

        - `kernel_only`: whether the host's side is left out.
        """
        return self.kernel_source if kernel_only else f"{self.host_source}\n{self.kernel_source}"

    @functools.cached_property
    def kernel_source(self) -> str:
        """The kernels' source: CUDA C++ for a GPU, assembly for the CPU."""
        kernel = self.kernel
        if kernel.is_cuda and kernel.source_file != "device_kernel.cu":
            try:
                return kernel.compiled_by("nvrtc").get_kernel_source()
            except BackendError:
                pass  # no compiler for it is here
        return kernel.get_kernel_source()

    def get_host_source(self) -> str:
        """Returns the host's side as C++."""
        return self.kernel.get_host_source()

    @property
    def host_source(self) -> str:
        """The host's side as C++."""
        return self.kernel.get_host_source()

    def _sources(self, which: Which) -> str:
        if which not in ("kernel", "host", "both"):
            raise ValueError(f'`which` is "kernel", "host" or "both", not {which!r}')
        parts = {"host": [self.get_host_source], "kernel": [self.get_kernel_source]}
        return "\n".join(part() for part in parts.get(which, [*parts["host"], *parts["kernel"]]))

    def show_source(self, which: Which = "kernel") -> None:
        """Prints the source of the kernels, of the host's side, or both."""
        print(self._sources(which))

    def print_source_code(self, which: Which = "kernel", file: str | None = None) -> None:
        """Prints the source, or writes it to a file."""
        if file is None:
            self.show_source(which)
        else:
            _write(file, self._sources(which))

    def export_sources(self, kernel_path: str | Path | None = None, host_path: str | Path | None = None) -> None:
        """Writes the source of the kernels, of the host's side, or both, to files."""
        if kernel_path is None and host_path is None:
            raise ValueError("give `kernel_path`, `host_path`, or both")
        for path, text in ((kernel_path, self.get_kernel_source), (host_path, self.get_host_source)):
            if path is not None:
                _write(path, text())

    def show_ptx(self) -> None:
        """Prints the PTX."""
        print(self.kernel.get_ptx())

    def show_sass(self) -> None:
        """Prints the machine code as text."""
        print(self.kernel.get_sass())

    def export_library(self, kernel_file: str | Path) -> None:
        """Writes a shared library of the kernel to a file; `tilec.Kernel.export_library` writes a whole package."""
        import shutil
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            self.kernel.export_library(folder)
            found = sorted(Path(folder).rglob("*.so"))
            if not found:
                raise TargetError(f"`{self.kernel.name}` has no library for {self.kernel.target}")
            shutil.copy(found[0], kernel_file)

    # Parameters and tuning -------------------------------------------------------------------------------------------

    @property
    def prim_func(self) -> PrimFunc:
        """The program."""
        return self.kernel.function

    @property
    def func(self) -> PrimFunc:
        """The program."""
        return self.kernel.function

    @property
    def out_idx(self) -> list[int]:
        """The numbers of the parameters that calls return."""
        return list(self.kernel.outputs or ())

    @property
    def params(self) -> list[KernelParam]:
        """The parameters."""
        from ..engine.param import KernelParam

        return [KernelParam(p) for p in self.kernel.function.declared]

    @property
    def execution_backend(self) -> str:
        """What runs it, as programs name it: "tvm_ffi" for what is chosen if they name none."""
        name = self.kernel.backend.name
        return "tvm_ffi" if name in ("cpu", "nvptx") else name

    @property
    def artifact(self) -> Any:
        """What it was compiled to."""
        from ..engine.param import CompiledArtifact

        return CompiledArtifact(self)

    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None) -> Profiler:
        """Returns what measures and checks it, on tensors of the given kind."""
        from ..profiler import Profiler
        from ..utils.tensor import TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Runs the kernel, or `func`, once on made-up tensors."""
        return self.get_profiler().run_once(func)

    def update_tuner_result(self, latency: float, config: dict[str, Any], ref_latency: float | None) -> JITKernel:
        """Notes what tuning found."""
        self._tuned = (latency, config, ref_latency)
        return self

    def get_tuner_result(self) -> dict[str, Any]:
        """Returns what tuning found: "latency", "config" and "ref_latency"."""
        if self.latency is None:
            raise ValueError("Tuning results are not available. Please tune the kernel first.")
        return {"latency": self.latency, "config": self.config, "ref_latency": self.ref_latency}

    _tuned: tuple[float | None, dict[str, Any] | None, float | None] | None = None

    @property
    def tuning(self) -> Any:
        """What the autotuner found, if it chose this kernel."""
        return self.kernel.tuning

    @tuning.setter
    def tuning(self, result: Any) -> None:
        self.kernel.tuning = result

    @property
    def latency(self) -> float | None:
        """The milliseconds that a run took while it was tuned, or None."""
        return self._tuned[0] if self._tuned else self.kernel.latency

    @property
    def config(self) -> dict[str, Any] | None:
        """The configuration that tuning chose, or None."""
        return self._tuned[1] if self._tuned else self.kernel.config

    @property
    def ref_latency(self) -> float | None:
        """The milliseconds that the reference took, or None."""
        return self._tuned[2] if self._tuned else self.kernel.ref_latency


def compiled(
    func: Any,
    out_idx: list[int] | int | None = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: list[str] | str | None = None,
) -> Kernel:
    """Compiles a program as `tilelang.compile` does."""
    if not isinstance(func, PrimFunc):
        name = getattr(func, "__name__", "it")
        remedy = f"decorate `{name}` with it, or give what `{name}(...)` returns" if callable(func) else "give one"
        raise ArgumentError(
            f"`tilelang.compile` takes a `@T.prim_func`, not `{shortened(func)}`: {remedy}", location=here()
        )
    if out_idx is not None and func.results:
        raise ValueError(
            f"Out index conflict: `{func.name}` returns what it makes with `T.empty`, and `out_idx={out_idx!r}` names "
            f"parameters: leave `out_idx` out"
        )
    meant = options.of_compile(target, execution_backend, verbose, pass_configs, compile_flags)
    func = options.with_source_flags(func, pass_configs, compile_flags)
    return compiler.compile(func, out_idx, **meant)


def as_pytorch(results: Any) -> Any:
    """Returns results, several as a list; those that no argument gave a library as tensors of PyTorch, if imported."""
    torch = sys.modules.get("torch")

    def converted(result: Any) -> Any:
        return torch.from_dlpack(result) if torch is not None and isinstance(result, Array) else result

    return [converted(result) for result in as_tuple(results)] if isinstance(results, tuple) else converted(results)


def _write(path: str | Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def plain(kernel: Kernel | JITKernel) -> Kernel:
    """Returns the `tilec.Kernel` of either."""
    if isinstance(kernel, JITKernel):
        return kernel.kernel
    if not hasattr(kernel, "argument_names"):
        raise ArgumentError(f"a kernel is needed, not `{kernel!r}`")
    return kernel
