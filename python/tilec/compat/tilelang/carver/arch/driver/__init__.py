"""`tilelang.carver.arch.driver`: what the driver says of a GPU. Where there is none, the processor stands for it."""

from __future__ import annotations

from ...... import _tl, targets
from ......errors import TargetError
from ......typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def _info(device_id: int) -> dict[str, Any]:
    import json

    if targets.gpu_chip() is None:
        raise TargetError("there is no GPU here to ask")
    return json.loads(_tl.cuda_device_info(device_id))


def get_num_sms(device_id: int = 0) -> int:
    """Returns how many multiprocessors a GPU has; without a GPU, how many processors there are."""
    import os

    if targets.gpu_chip() is None:
        return os.cpu_count() or 1
    return int(_info(device_id)["multiprocessors"])


def get_device_name(device_id: int = 0) -> str:
    """Returns what a GPU is called."""
    return str(_info(device_id)["name"])


def get_shared_memory_per_block(device_id: int = 0, format: str = "bytes") -> int:
    """Returns how much shared memory a block can have, in "bytes", "kb" or "mb"."""
    return int(_info(device_id)["shared_memory_per_block"]) // {"bytes": 1, "kb": 1 << 10, "mb": 1 << 20}[format]


def get_max_dynamic_shared_size_bytes(device_id: int = 0, format: str = "bytes") -> int:
    """Returns how much shared memory a block can have, in "bytes", "kb" or "mb"."""
    return get_shared_memory_per_block(device_id, format)
