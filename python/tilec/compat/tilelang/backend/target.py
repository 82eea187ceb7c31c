"""`tilelang.backend.target`: which target "auto" is."""

from __future__ import annotations

from .... import targets
from ....typed import TYPE_CHECKING
from ..options import target as _meant
from ..tvm.target import Target

if TYPE_CHECKING:
    from typing import Any


def determine_target(target: Any = "auto", return_object: bool = False) -> Any:
    """Returns the target that is meant: "cuda", with the chip, or "c" where there is no GPU.

    - `return_object`: whether as a `tvm.target.Target`, or as a text.
    """
    meant = _meant(target)
    chip = targets.gpu_chip() if meant in ("auto", "cuda") else meant
    text = "c" if chip in (None, "cpu") else f"cuda -arch={chip}"
    if target in ("cuda", None) and chip is None:
        text = "cuda"
    return Target(text) if return_object else (text if return_object is None else text.split()[0])
