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
    is_cupys = False
    if tensor is not None:
        device = tensor.__dlpack_device__()[1]
        is_cupys = type(tensor).__module__.partition(".")[0] == "cupy"
    torch: Any = sys.modules.get("torch")
    if torch is not None and not is_cupys and torch.cuda.is_initialized():
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # without an object for the stream
        return raw(device) if raw else torch.cuda.current_stream(device).cuda_stream
    cupy: Any = sys.modules.get("cupy")
    return 0 if cupy is None else cupy.cuda.get_current_stream(device).ptr


def is_capturing() -> bool:
    """Whether PyTorch or CuPy is recording a CUDA graph on the current stream."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        return True
    cupy: Any = sys.modules.get("cupy")
    return cupy is not None and bool(cupy.cuda.get_current_stream().is_capturing())
