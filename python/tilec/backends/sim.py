"""`sim`: kernels for NVIDIA GPUs, executed by a simulator on the host (docs/Simulator.md)."""

from __future__ import annotations

from .. import env
from ..typed import TYPE_CHECKING
from . import register
from .base import Backend
from .kernel_cache import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..kernel import Kernel


_are_options_chosen = False


def set_options(*, seed: int = 0, checks: bool = True) -> None:
    """Decides how calls are simulated from now on, in the whole process.

    - `seed`: decides the order of everything that has none. The same seed gives the same execution.
    - `checks`: look for races and other mistakes that a GPU would let pass. Without it is several times faster.

    Until it is called, `TL_SIM_SEED` and `TL_SIM_CHECKS` say so.
    """
    from .. import _tl

    global _are_options_chosen
    _are_options_chosen = True
    _tl.set_simulator_options(seed, checks)


class SimKernelCache(KernelCache):
    """A function is its launch plan and its kernels as IR, which the compiler stores, trusted like code of the host."""

    host_code = True


@register
class SimBackend(Backend):
    """Runs the kernels of a GPU on the host, in all orders that a seed can choose, and reports what is wrong."""

    name = "sim"
    targets = ("cuda",)
    generator = "thread-level IR"
    pipeline = "sim"
    source_file = "kernel.sim.mlir"
    chip = "sm_90a"
    runs_on_gpu = False
    loader = "a simulator in the process"
    kernel_cache = SimKernelCache

    def load(self, kernel: Kernel) -> Callable[..., Any]:
        if not _are_options_chosen:
            set_options(seed=env.sim_seed(), checks=env.are_sim_checks_on())
        return super().load(kernel)
