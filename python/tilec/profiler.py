"""Measuring how long kernels take: `kernel.get_profiler()` and `do_bench`.

A sample is one run between two events of the GPU, queued behind a write to more memory than the L2 cache holds: the
kernel starts cold, and the write hides what launching costs. On the CPU a sample is wall time. What is reported is the
median, and how far it can be trusted: a 95 % interval found by resampling.
"""

from __future__ import annotations

import time

from .assertions import tell_failures
from .errors import ArgumentError
from .supply import TensorSupplyType
from .typed import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from . import _tl
    from .kernel import Kernel

    class Stopwatch(Protocol):
        """Takes samples of what a call costs, in milliseconds."""

        def samples(
            self, run: Callable[[], object], count: int, prepare: Callable[[], object] | None = None
        ) -> list[float]: ...


RETURN_MODES = ("median", "mean", "min", "max", "samples")


class HostStopwatch:
    """Wall time of calls that return when they have finished."""

    def samples(
        self, run: Callable[[], object], count: int, prepare: Callable[[], object] | None = None
    ) -> list[float]:
        """Returns the milliseconds that each of `count` runs takes; `prepare` runs before each, and does not count."""
        found: list[float] = []
        for _ in range(count):
            if prepare is not None:
                prepare()
            start = time.perf_counter()
            run()
            found.append((time.perf_counter() - start) * 1e3)
        return found


class DeviceStopwatch:
    """Time between two events on the current stream of a GPU."""

    def __init__(self, device: int = 0, *, flush_l2: bool = True) -> None:
        import json

        from . import _tl
        from .array import Array

        self._device = device
        cache: int = json.loads(_tl.cuda_device_info(device))["l2_cache"]
        # Twice its size, and no less than a write that takes longer than the launch it hides.
        self._flushed = Array.empty((max(2 * cache, 64 << 20),), "uint8", cuda=device) if flush_l2 else None
        self._events: list[tuple[_tl.Event, _tl.Event]] = []

    def samples(
        self, run: Callable[[], object], count: int, prepare: Callable[[], object] | None = None
    ) -> list[float]:
        """Returns the milliseconds that each of `count` runs takes; `prepare` runs before each, and does not count."""
        from . import _tl
        from .streams import current_stream

        while len(self._events) < count:
            self._events.append((_tl.Event(self._device), _tl.Event(self._device)))
        pairs = self._events[:count]
        for start, end in pairs:
            stream = current_stream(self._device)
            if prepare is not None:
                prepare()
            if self._flushed is not None:
                _tl.cuda_fill(self._device, self._flushed.address, 0, self._flushed.nbytes, stream)
            start.record(stream)
            run()
            end.record(stream)
        return [end.since(start) for start, end in pairs]


def stopwatch(device: int | None, *, flush_l2: bool = True) -> Stopwatch:
    """Returns what measures on a GPU, or on the CPU for None."""
    return HostStopwatch() if device is None else DeviceStopwatch(device, flush_l2=flush_l2)


def median(samples: Sequence[float]) -> float:
    """Returns the middle value, or the mean of the two in the middle."""
    ordered = sorted(samples)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def interval(samples: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Returns the bounds between which the median lies, by the percentile bootstrap with 1000 resamples.

    The resampling starts from a fixed seed: equal samples have equal intervals.
    """
    import numpy as np

    if len(samples) < 2:
        return (0.0, float("inf")) if not samples else (samples[0], samples[0])
    values = np.asarray(samples)
    picks = np.random.default_rng(0).integers(0, len(values), (1000, len(values)))
    medians = np.median(values[picks], axis=1)
    low, high = np.quantile(medians, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    *,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "median",
    flush_l2: bool = True,
    device: int | str | None = "auto",
    warmup_runs: int | None = None,
    runs: int | None = None,
) -> Any:
    """Returns how many milliseconds `fn()` takes.

    - `warmup`, `rep`: for how many milliseconds to run it before, and while, it is measured.
    - `warmup_runs`, `runs`: how often to run it instead.
    - `quantiles`: returns these of the samples, as a list, instead of one number.
    - `return_mode`: "median", "mean", "min", "max", or "samples" for all of them.
    - `flush_l2`: whether every run starts with a cold L2 cache; for GPUs.
    - `device`: the number of the GPU whose current stream `fn` uses, None for the CPU, or "auto": the first GPU if
      there is one.
    """
    if return_mode not in RETURN_MODES:
        raise ArgumentError(f"unknown `return_mode` `{return_mode}`; known are {', '.join(RETURN_MODES)}")
    if device == "auto":
        from . import targets

        device = None if targets.gpu_chip() is None else 0
    watch = stopwatch(cast("int | None", device), flush_l2=flush_l2)
    if warmup_runs is None or runs is None:
        fn()
        estimate = max(median(watch.samples(fn, 3)), 1e-4)
        warmup_runs = _runs(warmup, estimate) if warmup_runs is None else warmup_runs
        runs = max(3, _runs(rep, estimate)) if runs is None else runs
    for _ in range(warmup_runs):
        fn()
    return _summary(watch.samples(fn, runs), quantiles, return_mode)


def _runs(budget: float, estimate: float) -> int:
    """Returns how many runs fit into a number of milliseconds; no more than the driver's queue holds."""
    return min(int(budget / estimate), 500)


def _summary(samples: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    if quantiles is not None:
        ordered = sorted(samples)
        return [ordered[min(int(q * len(ordered)), len(ordered) - 1)] for q in quantiles]
    if return_mode == "samples":
        return samples
    if return_mode == "mean":
        return sum(samples) / len(samples)
    return {"median": median, "min": min, "max": max}[return_mode](samples)


class Profiler:
    """Runs a kernel on tensors that are made for it; see `Kernel.get_profiler`."""

    def __init__(
        self,
        kernel: Kernel,
        tensor_supply_type: TensorSupplyType = TensorSupplyType.Auto,
        *,
        seed: int = 0,
        device: int = 0,
    ) -> None:
        self.kernel = kernel
        self.supply_type = tensor_supply_type
        self.seed = seed
        self.device = device if kernel.is_cuda else None

    def inputs(self) -> list[Any]:
        """Makes a tensor for each parameter that is not a result; all of the program's shapes must be static."""
        from .array import Array
        from .strided import strides_of
        from .supply import concrete_shape, supply
        from .types import TensorType

        if self.kernel.function.reaches_addresses:
            raise ArgumentError(
                f"`{self.kernel.name}` makes tensors at addresses, which are no random numbers: pass `inputs`"
            )
        made: list[Any] = []
        for i, parameter in enumerate(self.kernel.function.taken(self.kernel.outputs)):
            if not isinstance(parameter.type, TensorType):
                raise ArgumentError(f"`{self.kernel.name}` takes the scalar `{parameter.name}`: pass `inputs`")
            dtype, shape = parameter.type.dtype, concrete_shape(parameter, {}, "pass the tensors as `inputs=[...]`")
            if strides_of(parameter.type, shape) is not None:
                raise ArgumentError(f"`{self.kernel.name}` takes `{parameter.name}` with gaps: pass `inputs`")
            storage = supply(shape, dtype, self.supply_type, (self.seed, i))
            made.append(Array.from_numpy(storage, dtype, cuda=self.device))
        return made

    def do_bench(
        self,
        func: Callable[..., object] | None = None,
        warmup: float = 25,
        rep: float = 100,
        *,
        inputs: Sequence[Any] | None = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "median",
        flush_l2: bool = True,
        warmup_runs: int | None = None,
        runs: int | None = None,
    ) -> Any:
        """Returns how many milliseconds the kernel takes, or `func` on the same tensors; arguments as for `do_bench`.

        Results are allocated once, and not in what is measured.
        """
        given = self.inputs() if inputs is None else list(inputs)
        run = self._bound(given) if func is None else lambda: func(*given)
        result = do_bench(
            run,
            warmup,
            rep,
            quantiles=quantiles,
            return_mode=return_mode,
            flush_l2=flush_l2,
            device=self.device,
            warmup_runs=warmup_runs,
            runs=runs,
        )
        tell_failures()
        return result

    def _bound(self, inputs: list[Any]) -> Callable[[], object]:
        """Returns a call of the kernel that allocates and copies nothing: arrays of NumPy are on the GPU before it."""
        from .results import is_numpy_array
        from .strided import HostCopy

        taken = self.kernel.function.taken(self.kernel.outputs)
        copies = [
            HostCopy(value, parameter, cuda=self.device) if self.device is not None and is_numpy_array(value) else None
            for parameter, value in zip(taken, inputs, strict=True)
        ]
        on_gpu = [value if copy is None else copy.tensor for value, copy in zip(inputs, copies, strict=True)]
        arguments = self.kernel.with_results(on_gpu)
        launch = self.kernel.launcher()

        def run() -> None:
            assert launch(*arguments) is not NotImplemented, "nothing is left to be copied"

        return run

    def run_once(self, func: Callable[..., object] | None = None) -> Any:
        """Runs the kernel, or `func`, once and returns its results."""
        return (func or self.kernel)(*self.inputs())

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.0,
    ) -> None:
        """Raises `AssertionError` unless the kernel's results are those of `reference_program` on the same tensors.

        The reference takes the tensors that are not results, of PyTorch if it is imported and else of NumPy, and
        returns what the kernel returns; for a kernel without results it changes its arguments, or returns those that
        the kernel writes.
        """
        from .supply import from_storage, to_storage
        from .verify import compare, expected, written

        inputs = self.inputs() if input_tensors is None else list(input_tensors)
        copies = [from_storage(*to_storage(v), cuda=self.device) if hasattr(v, "shape") else v for v in inputs]
        reference = expected(self.kernel.function, self.kernel.outputs, reference_program, copies)
        arguments = self.kernel.with_results(inputs)
        self.kernel.launch(arguments)
        for i, wanted in zip(written(self.kernel.function, self.kernel.outputs), reference, strict=True):
            name = self.kernel.function.parameters[i].name
            problem = compare(name, to_storage(arguments[i]), wanted, rtol, atol, max_mismatched_ratio)
            if problem:
                raise AssertionError(f"`{self.kernel.name}`: {problem}")
