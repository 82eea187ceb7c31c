"""`tilelang.profiler.do_bench`: how long a function takes."""

from __future__ import annotations

from ....profiler import DeviceStopwatch, HostStopwatch, median
from ....profiler import do_bench as _do_bench
from ....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

BACKENDS = ("event", "cupti", "cudagraph")


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: str = "event",
    return_mode: str = "mean",
    device: Any = None,
    cache_size: int = 256,
    early_stop_baseline: float | None = None,
) -> Any:
    """Returns how many milliseconds `fn()` takes.

    - `warmup`, `rep`: for how many milliseconds to run it before, and while, it is measured.
    - `_n_warmup`, `_n_repeat`: how often instead, if not 0.
    - `quantiles`: returns these of the samples instead; one alone as a number.
    - `backend`: "event", "cupti" or "cudagraph"; all are measured by events on the stream.
    - `return_mode`: "mean", "median", "min" or "max".
    - `device`: the number of the GPU, or PyTorch's device; the current one by default.
    - `fast_flush`, `cache_size`: the L2 cache is flushed by its own size.
    - `early_stop_baseline`: without effect.
    """
    if backend not in BACKENDS:
        raise ValueError(f"Unknown profiler backend: {backend}")
    number = getattr(device, "index", device)
    if _n_warmup > 0 or _n_repeat > 0:
        return _counted(fn, _n_warmup, max(_n_repeat, 1), quantiles, return_mode, number)
    found = _do_bench(
        fn,
        warmup,
        rep,
        quantiles=quantiles,
        return_mode=return_mode,
        device="auto" if number is None else number,
    )
    return found[0] if quantiles is not None and len(quantiles) == 1 else found


def _counted(
    fn: Callable[[], object],
    warmup: int,
    repeat: int,
    quantiles: Sequence[float] | None,
    return_mode: str,
    device: int | None,
) -> Any:
    from .... import targets

    has_gpu = targets.gpu_chip() is not None
    watch = DeviceStopwatch(device or 0) if has_gpu else HostStopwatch()
    for _ in range(warmup):
        fn()
    samples = watch.samples(fn, repeat)
    if quantiles is not None:
        ordered = sorted(samples)
        found = [ordered[min(int(q * repeat), repeat - 1)] for q in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "mean":
        return sum(samples) / len(samples)
    return {"median": median, "min": min, "max": max}[return_mode](samples)
