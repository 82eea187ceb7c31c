"""Which stream a call belongs to: the current one of the framework in use. No framework is imported for it."""

from __future__ import annotations

import sys

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def current_stream(device: int) -> int:
    """Returns the address of the stream that GPU `device` is used on now; 0 is the default stream."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return torch.cuda.current_stream(device).cuda_stream
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None:
        return cupy.cuda.get_current_stream().ptr
    return 0
