"""Which stream a call belongs to: the current one of the framework in use. No framework is imported for it."""

from __future__ import annotations

import sys

from .typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def current_stream(device: int, tensor: Any = None) -> int:
    """Returns the address of the stream that GPU `device` is used on now; 0 is the default stream.

    `tensor` comes from a framework that the extension cannot ask itself: its device counts, and CuPy's stream if it is
    CuPy's. Other frameworks hand their tensors over to whatever stream is current elsewhere.
    """
    if tensor is not None:
        device = tensor.__dlpack_device__()[1]
    torch: Any = sys.modules.get("torch")
    cupy: Any = sys.modules.get("cupy")
    is_cupys = type(tensor).__module__.partition(".")[0] == "cupy"
    if torch is not None and not is_cupys and torch.cuda.is_initialized():
        return torch.cuda.current_stream(device).cuda_stream
    if cupy is not None:
        return cupy.cuda.get_current_stream(device).ptr
    return 0
