"""`tilelang.cuda.intrinsics.sparse_layout`: how numbers that say which elements are kept are packed (`T.gemm_sp`)."""

from __future__ import annotations

from ..... import dtypes
from .....dtypes import dtype as _dtype
from .....typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from .....dtypes import DType

GROUP_CONFIG: dict[DType, tuple[int, int]] = {
    dtypes.float32: (1, 2),
    **dict.fromkeys(
        (dtypes.float16, dtypes.bfloat16, dtypes.int8, dtypes.uint8, dtypes.float8_e4m3, dtypes.float8_e5m2), (2, 4)
    ),
}
"""For a type of elements, how many of how many neighbours are kept."""

_BITS_OF_GROUP = 4


def get_e_factor(a_dtype: Any, meta_dtype: Any) -> int:
    """Returns for how many elements, with those left out, one number says which are kept."""
    return _dtype(meta_dtype).bits // _BITS_OF_GROUP * GROUP_CONFIG[_dtype(a_dtype)][1]


def get_e_replicate_factor(a_dtype: Any) -> int:
    """Returns how many neighbouring threads an instruction gives the same such number."""
    return 1 if _dtype(a_dtype).bits <= 8 else 2
