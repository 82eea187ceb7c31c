"""What the cost model is asked with: which GPU's figures, and the extents that a call says."""

from __future__ import annotations

from ..analysis import gpus
from ..errors import TLError
from ..tensors import is_tensor
from ..typed import TYPE_CHECKING
from ..types import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..analysis.gpus import GPU
    from ..types import TensorType

USUAL_GPU = "H100"
"""Whose figures stand for chips of which none are known, such as the CPU: it gets the program that a GPU would get."""


def gpu_for(options: Mapping[str, Any]) -> GPU:
    """Returns the GPU whose figures stand for what a function is compiled for."""
    from .. import targets

    chip = targets.resolve(options.get("target", "auto"), options.get("backend", "auto")).chip
    if chip == targets.gpu_chip():
        try:
            return gpus.find(_name_of_the_first())
        except TLError:
            pass
    capability = chip.removeprefix("sm_").rstrip("af")
    return next((gpu for gpu in gpus.GPUS if gpu.capability == capability), gpus.find(USUAL_GPU))


def _name_of_the_first() -> str:
    import json

    from .. import _tl

    return json.loads(_tl.cuda_device_info(0))["name"]


def extents_of(bound: Mapping[str, Any], types: Mapping[str, TensorType]) -> dict[str, int]:
    """Returns the extents of symbols, as far as the tensors of a call say them."""
    found: dict[str, int] = {}
    for name, kind in types.items():
        value = bound.get(name)
        if value is not None and is_tensor(value):
            pairs = zip(kind.shape, value.shape, strict=False)
            found |= {symbol.name: int(extent) for symbol, extent in pairs if isinstance(symbol, Symbol)}
    return found
