"""`tilelang.engine`: compiling to look at the source, and editing it."""

from __future__ import annotations

from ..shadow import keep_functions
from .callback import register_c_postproc as register_c_postproc
from .callback import register_cuda_postproc as register_cuda_postproc
from .callback import register_hip_postproc as register_hip_postproc
from .callback import register_metal_postproc as register_metal_postproc
from .lower import lower as lower
from .param import CompiledArtifact as CompiledArtifact
from .param import KernelParam as KernelParam

keep_functions(__name__, "lower")
