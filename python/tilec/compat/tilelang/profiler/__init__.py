"""`tilelang.profiler`: measuring kernels and checking them on made-up tensors."""

from __future__ import annotations

from ....errors import ArgumentError, quoted
from ....profiler import Profiler as _Profiler
from ....supply import TensorSupplyType as TensorSupplyType
from ....supply import concrete_shape, from_storage, to_storage
from ....typed import TYPE_CHECKING
from ....types import Symbol, TensorType, as_tuple
from ..utils.tensor import load_torch, meant, supply
from .bench import do_bench as do_bench

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..jit.kernel import JITKernel

__all__ = ["Profiler", "TensorSupplyType", "do_bench"]


class Profiler:
    """Runs a kernel on tensors that are made for it: PyTorch's on a GPU if it is installed, as it is imported with
    TileLang, and on the CPU if the program has imported it; else NumPy's."""

    def __init__(self, kernel: JITKernel, supply_type: TensorSupplyType = TensorSupplyType.Auto) -> None:
        self.kernel = kernel
        self.supply_type = meant(supply_type)
        self._made = 0

    @property
    def params(self) -> list[Any]:
        """The parameters of the kernel."""
        return self.kernel.params

    @property
    def result_idx(self) -> list[int]:
        """The numbers of the results."""
        return self.kernel.out_idx

    @property
    def func(self) -> JITKernel:
        """The kernel."""
        return self.kernel

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)

    def _get_inputs(
        self, with_output: bool = False, dynamic_symbolic_constraints: Mapping[str, int] | None = None
    ) -> list[Any]:
        kernel = self.kernel.kernel
        wanted = dynamic_symbolic_constraints or {}
        known = {n for p in kernel.function.parameters if isinstance(p.type, TensorType) for n in _symbols(p.type)}
        if unknown := sorted(wanted.keys() - known):
            raise ArgumentError(
                f"`dynamic_symbolic_constraints` names {quoted(unknown)}, and the symbols of `{kernel.name}` are "
                f"{quoted(sorted(known)) or 'none'}"
            )
        if kernel.is_cuda:
            load_torch()
        made: list[Any] = []
        for i, parameter in enumerate(kernel.function.declared):
            if i in (kernel.outputs or ()) and not with_output:
                continue
            if not isinstance(parameter.type, TensorType):
                raise ArgumentError(f"`{kernel.name}` takes the scalar `{parameter.name}`: pass `input_tensors`")
            self._made += 1
            remedy = "pass `input_tensors`, or give it in `dynamic_symbolic_constraints`"
            shape = concrete_shape(parameter, wanted, remedy)
            storage = supply(shape, parameter.type.dtype, self.supply_type, (self._made,))
            made.append(from_storage(storage, parameter.type.dtype, cuda=0 if kernel.is_cuda else None))
        return made

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
    ) -> None:
        """Raises `AssertionError` unless the kernel's results are those of `reference_program` on the same tensors.

        - `input_tensors`: the tensors that are not results; made up by default.
        - `atol`, `rtol`: an element is wrong if it is off by more than `atol + rtol * |expected|`.
        - `max_mismatched_ratio`: the share of elements that may be wrong. It is 1 % as for TileLang; give 0.
        """
        inputs = self._get_inputs() if input_tensors is None else list(input_tensors)
        _Profiler(self.kernel.kernel, self.supply_type).assert_allclose(
            reference_program, inputs, atol, rtol, max_mismatched_ratio
        )

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any] | None,
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Callable[[list[Any], list[Any]], object] | None = None,
    ) -> None:
        """Calls `manual_check_prog` with the lists of the kernel's results and of the reference's."""
        if manual_check_prog is None:
            raise ArgumentError("`manual_assert_close` compares nothing by itself: give it `manual_check_prog`")
        inputs = self._get_inputs() if input_tensors is None else list(input_tensors)
        expected: Any = reference_program(*inputs) if reference_program is not None else ()
        manual_check_prog(_as_list(self.kernel(*inputs)), _as_list(expected))

    def assert_consistent(self, repeat: int = 10) -> None:
        """Raises `AssertionError` if runs on the same tensors differ in a bit."""
        inputs = self._get_inputs()
        first = [to_storage(r)[0].tobytes() for r in _as_list(self.kernel(*inputs))]
        for _ in range(repeat):
            again = [to_storage(r)[0].tobytes() for r in _as_list(self.kernel(*inputs))]
            if again != first:
                raise AssertionError(f"`{self.kernel.kernel.name}` gives other results when it runs again")

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Runs the kernel, or `func`, once, and returns its results."""
        return (func or self.kernel)(*self._get_inputs())

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[Any] | None = None,
        backend: str = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
        device: Any = None,
        early_stop_baseline: float | None = None,
    ) -> Any:
        """Returns how many milliseconds the kernel takes, or `func` on the same tensors.

        - `input_tensors`: what it is called with; made up by default.
        - `dynamic_symbolic_constraints`: the extents of symbols, by name, for tensors that are made up.
        - the rest as for `do_bench`.
        """
        inputs = input_tensors
        if inputs is None:
            inputs = self._get_inputs(dynamic_symbolic_constraints=dynamic_symbolic_constraints)
        if device is None and not self.kernel.kernel.is_cuda:
            device = "cpu"
        called = func or self.kernel
        return do_bench(
            lambda: called(*inputs),
            warmup,
            rep,
            n_warmup,
            n_repeat,
            quantiles,
            backend=backend,
            return_mode=return_mode,
            device=device,
            early_stop_baseline=early_stop_baseline,
        )


def _symbols(kind: TensorType) -> set[str]:
    return {extent.name for extent in kind.shape if isinstance(extent, Symbol)}


def _as_list(results: Any) -> list[Any]:
    return [] if results is None else list(as_tuple(results))
