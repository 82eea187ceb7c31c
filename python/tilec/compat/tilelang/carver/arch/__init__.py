"""`tilelang.carver.arch`: what it knows of chips."""

from __future__ import annotations

from .cdna import CDNA as CDNA
from .cdna import is_cdna_arch as is_cdna_arch
from .cuda import CUDA as CUDA
from .cuda import auto_infer_current_arch as auto_infer_current_arch
from .cuda import get_arch as get_arch
from .cuda import is_ada_arch as is_ada_arch
from .cuda import is_ampere_arch as is_ampere_arch
from .cuda import is_hopper_arch as is_hopper_arch
from .cuda import is_volta_arch as is_volta_arch
