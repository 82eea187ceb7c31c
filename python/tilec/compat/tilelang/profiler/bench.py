"""`tilelang.profiler.do_bench`: how long a function takes."""

from __future__ import annotations

from ....errors import ArgumentError
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
    counts: dict[str, Any] = (
        {"warmup_runs": _n_warmup, "runs": max(_n_repeat, 1)} if _n_warmup > 0 or _n_repeat > 0 else {}
    )
    found = _do_bench(fn, warmup, rep, quantiles=quantiles, return_mode=return_mode, device=_number(device), **counts)
    return found[0] if quantiles is not None and len(quantiles) == 1 else found


def _number(device: Any) -> int | str | None:
    """Returns the device of `tilec.do_bench` that a number, a name or PyTorch's device means."""
    if device is None:
        return "auto"
    if isinstance(device, int):
        return device
    kind, _, number = str(device).partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise ArgumentError(f'a device is a number, "cuda:0", "cpu" or the like, not `{device!r}`')
    return int(number or 0) if kind == "cuda" else None
