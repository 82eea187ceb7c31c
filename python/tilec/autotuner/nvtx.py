"""Ranges that NVIDIA's profilers show (NVTX): which configuration a process compiles, checks or measures.

They are there where a profiler listens, which says so in the environment, and where a library is that tells it: NVTX's
own, or PyTorch. Elsewhere nothing is loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from importlib import import_module

from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any


@contextlib.contextmanager
def marked(text: str) -> Generator[None]:
    """Calls what is done inside `text`, for a profiler that listens."""
    found = _functions()
    if found is None:
        yield
        return
    begin, end = found
    begin(text)
    try:
        yield
    finally:
        end()


@functools.cache
def _functions() -> tuple[Callable[[str], Any], Callable[[], Any]] | None:
    """Returns what begins a range of a name and what ends it; None if nobody would be told."""
    if "NVTX_INJECTION64_PATH" not in os.environ:
        return None
    with contextlib.suppress(OSError):
        library = ctypes.CDLL("libnvToolsExt.so.1")
        library.nvtxRangePushA.argtypes = [ctypes.c_char_p]
        return lambda text: library.nvtxRangePushA(text.encode()), library.nvtxRangePop
    with contextlib.suppress(ImportError):
        nvtx: Any = import_module("torch.cuda.nvtx")
        with contextlib.suppress(RuntimeError):  # of a PyTorch that was built without
            nvtx.mark("tilec")
            return nvtx.range_push, nvtx.range_pop
    return None
