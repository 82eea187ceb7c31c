"""`sim`: kernels for NVIDIA GPUs, executed by a simulator on the host (docs/Simulator.md)."""

from __future__ import annotations

import contextlib

from .. import env
from ..typed import TYPE_CHECKING
from . import register
from .base import Backend
from .kernel_cache import KernelCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..analysis.counts import Counts
    from ..analysis.timeline import MbarrierStop, Trace
    from ..kernel import Kernel
    from ..prints import Stop


# The seed, whether there are checks and whether schedules are shortened, once somebody has decided.
_options: tuple[int, bool, bool] | None = None


_ALL = (1 << 64) - 1


def set_options(*, seed: int = 0, checks: bool = True, shrink: bool = False) -> None:
    """Decides how calls are simulated from now on, in the whole process.

    - `seed`: decides the order of everything that has none. The same seed gives the same execution.
    - `checks`: look for races and other mistakes that a GPU would let pass. Without it is several times faster.
    - `shrink`: run what fails again, up to 200 times, for the shortest schedule that does, which the error says.

    Until it is called, `TL_SIM_SEED` and `TL_SIM_CHECKS` say so.
    """
    from .. import _tl

    global _options
    _options = seed, checks, shrink
    _tl.set_simulator_options(seed, checks, shrink)


def run_until(kernel: Kernel, line: int | str, *arguments: Any, block: int | Sequence[int] | None = None) -> list[Stop]:
    """Returns what a kernel held each time that it reached a line; see `tilec.debug.run_until`."""
    from ..debug import run_until

    return run_until(kernel, line, *arguments, block=block)


def count(kernel: Kernel, *arguments: Any, blocks: int | None = None) -> Counts:
    """Runs a kernel with copies of its arguments, and returns what it moved, multiplied and executed, by line.

    - `arguments`: as for a call; results that a call would make are not given.
    - `blocks`: how many blocks of each launch to execute, evenly spaced, for grids that would take too long. What they
      do is scaled up to the grid. They must not wait for others. By default all are executed.

    ```python
    counts = sim.count(kernel, A, B)
    print(counts)
    assert counts.line("B[i]").conflicts == 0
    ```

    A kernel of another backend is compiled for the simulator, for the same GPU. Nothing is checked meanwhile.
    Counts are the same under all seeds.
    """
    from .. import _tl
    from ..analysis.counts import Counts
    from ..errors import ArgumentError

    if blocks is not None and blocks < 1:
        raise ArgumentError(f"`blocks` is {blocks}, and at least one block is to be counted")
    call = _prepared(kernel, arguments, "work is counted")
    _tl.begin_simulator_counts(_ALL if blocks is None else blocks)
    try:
        call()
    finally:
        text = _tl.end_simulator_counts()
    return Counts.parse(text)


def trace(kernel: Kernel, *arguments: Any, block: int = 0) -> list[Trace]:
    """Runs one block of each launch with copies of the arguments, and returns what its warps did and waited for.

    - `arguments`: as for a call.
    - `block`: its number; x counts fastest.

    What the steps of the result are is told in docs/Analysis.md; `tilec.tools.plot_timeline` draws them.
    """
    from ..analysis.timeline import traces_of

    return traces_of(_listed(kernel, arguments, block, 0), block)


def read_mbarriers(kernel: Kernel, line: int | str, *arguments: Any, block: int = 0) -> list[MbarrierStop]:
    """Runs one block of each launch, and returns the states of its mbarriers each time that a warp came to a line.

    - `line`: the number of a line of the program, or a part of its text.
    - `arguments`, `block`: as for `trace`.

    Also those mbarriers are there that the compiler put in. They are those of one execution, that of the seed;
    `print(stop)` shows one.

    ```python
    for stop in sim.read_mbarriers(kernel, "T.gemm", A, B, C):
        print(stop)
    ```
    """
    from ..analysis.timeline import stops_of
    from ..debug import find_line

    number = find_line(kernel.function, line) if isinstance(line, str) else line
    return stops_of(_listed(kernel, arguments, block, number))


def replay(kernel: Kernel, schedule: str, *arguments: Any) -> None:
    """Runs the schedule that a `SimulationError` ends with again: the block that failed, by the same decisions.

    - `schedule`: `error.schedule`, such as "seed 3, launch 0, block 5: order[0]=1".
    - `arguments`: as they were when the call began that failed.

    Raises the same `SimulationError`, or returns if nothing is wrong with the kernel any more. Launches behind the one
    that failed are not run.
    """
    from .. import _tl
    from ..errors import ArgumentError

    _simulated(kernel, "schedules are replayed").launcher()
    if not (schedule and _tl.set_simulator_replay(schedule)):
        raise ArgumentError(f"`{schedule}` is no schedule of the simulator; `SimulationError.schedule` is one")
    try:
        kernel(*arguments)
    finally:
        _tl.set_simulator_replay("")


def _simulated(kernel: Kernel, what: str) -> Kernel:
    """Returns a kernel as the simulator takes it; `what` is done with it there."""
    from ..errors import ArgumentError

    if kernel.target == "cpu":
        raise ArgumentError(
            f"`{kernel.name}` is compiled for the CPU, and {what} for GPUs only: compile it with a target "
            f'such as `target="sm_90a"`'
        )
    return kernel if isinstance(kernel.backend, SimBackend) else kernel.compiled_by("sim")


def _prepared(kernel: Kernel, arguments: tuple[Any, ...], what: str) -> Callable[[], Any]:
    """Returns a call in the simulator, with copies of the arguments."""
    from ..prints import PrintingLaunch
    from ..supply import from_storage, to_storage

    simulated = _simulated(kernel, what)
    copies = [from_storage(*to_storage(a), cuda=None) if hasattr(a, "shape") else a for a in arguments]
    launch = simulated.launcher()

    def call() -> None:
        with launch.running_once() if isinstance(launch, PrintingLaunch) else contextlib.nullcontext():
            simulated(*copies)

    return call


def _listed(kernel: Kernel, arguments: tuple[Any, ...], block: int, line: int) -> str:
    from .. import _tl

    call = _prepared(kernel, arguments, "steps are listed")
    _tl.begin_simulator_timeline(block, line)
    try:
        call()
    finally:
        text = _tl.end_simulator_timeline()
    return text


def try_seeds(kernel: Kernel, *arguments: Any, seeds: int = 8) -> None:
    """Calls a kernel under the seeds from 0 on, with checks, each time with arrays that hold what they hold now.

    The first seed under which something is wrong ends it with a `SimulationError`, which names the seed, and says on
    which decisions of the schedule the mistake depends. In the end the arrays hold what the last run wrote.
    """
    before = _options
    arrays = [argument for argument in arguments if hasattr(argument, "shape")]
    copies = [array.clone() if hasattr(array, "clone") else array.copy() for array in arrays]
    try:
        for seed in range(seeds):
            for array, copy in zip(arrays, copies, strict=True):
                array[...] = copy
            set_options(seed=seed, shrink=True)
            kernel(*arguments)
    finally:
        if before:
            set_options(seed=before[0], checks=before[1], shrink=before[2])


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
        if _options is None:
            set_options(seed=env.sim_seed(), checks=env.are_sim_checks_on())
        return super().load(kernel)
