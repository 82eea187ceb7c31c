"""What a kernel takes on a GPU beside what the cost model says: see `Kernel.profile`.

Hardware counters come from NVIDIA's `ncu`. It profiles processes, so that a process of its own calls the kernel once
more: `python -m tilec.analysis.measured FILE`, with a file of the kernel and its arguments.
"""

from __future__ import annotations

import csv
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import env
from ..errors import TargetError
from ..toolkit import find_tool
from ..typed import TYPE_CHECKING
from .roofline import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..dtypes import DType
    from ..kernel import Kernel
    from .roofline import Estimate

METRICS = {
    "gpu__time_duration.sum": "nanoseconds",
    "dram__bytes_read.sum": "bytes read from device memory",
    "dram__bytes_write.sum": "bytes written to device memory",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "wavefronts of shared memory",
    "smsp__inst_executed.sum": "instructions of warps",
}
"""What `ncu` is asked for (Nsight Compute, "Metrics Reference"), in its own units without prefixes."""


@dataclass
class KernelCounters:
    """What `ncu` counted of one launch: a number for each of `METRICS` that the GPU has."""

    kernel: str
    values: dict[str, float]

    def __str__(self) -> str:
        rows = (f"  {METRICS[metric]}: {value:,.0f}" for metric, value in self.values.items())
        return "\n".join([f"kernel `{self.kernel}`, by ncu", *rows])


@dataclass
class Profile:
    """What a call takes on a GPU.

    - `seconds`: the median of runs that begin with a cold L2 cache; `interval` is where it lies with 95 % confidence.
    - `estimate`: what the cost model says.
    - `counters`: of each launch what `ncu` counted; nothing if it did not, and then `remark` says why.
    """

    seconds: float
    interval: tuple[float, float]
    estimate: Estimate
    counters: list[KernelCounters]
    remark: str = ""

    def __str__(self) -> str:
        low, high = self.interval
        part = self.estimate.seconds / self.seconds
        head = f"measured: {shown(self.seconds)} ({shown(low)} to {shown(high)}); the estimate is {part:.0%} of it"
        return "\n".join([head, *map(str, self.counters), *filter(None, [self.remark]), str(self.estimate)])


def measure(kernel: Kernel, arguments: Sequence[Any]) -> Profile:
    """Runs a kernel on the first GPU, and returns what that takes; see `Kernel.profile`."""
    import json

    from .. import _tl, targets
    from ..profiler import interval, median

    if not kernel.is_cuda or targets.gpu_chip() is None:
        where = "there is no GPU here" if kernel.is_cuda else f"it is compiled for `{kernel.backend.name}`"
        raise TargetError(
            f"`{kernel.name}` cannot be measured: {where}; `kernel.analyze` estimates what it takes without one"
        )
    gpu: str = json.loads(_tl.cuda_device_info(0))["name"]
    estimate = kernel.analyze(*arguments, gpu=gpu)
    samples = kernel.get_profiler().do_bench(inputs=_on_gpu(_stored(arguments)), return_mode="samples")
    seconds = [sample / 1e3 for sample in samples]
    counters, remark = count(kernel, arguments)
    return Profile(median(seconds), interval(seconds), estimate, counters, remark)


# Hardware counters ----------------------------------------------------------------------------------------------------


def count(kernel: Kernel, arguments: Sequence[Any]) -> tuple[list[KernelCounters], str]:
    """Returns what `ncu` counts of one call, or nothing and why."""
    ncu = find_tool("ncu")
    if ncu is None:
        return [], "no hardware counters: there is no `ncu` here, which comes with Nsight Compute"
    with tempfile.TemporaryDirectory() as folder:
        call = Path(folder) / "call"
        call.write_bytes(pickle.dumps((kernel, _stored(arguments))))
        options = ["--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(METRICS)]
        run = subprocess.run(
            [ncu, *options, sys.executable, "-m", __name__, str(call)],
            env=env.for_worker()[0],
            capture_output=True,
            text=True,
            check=False,
        )
    names = {launch["kernel"] for launch in kernel.compile_info["functions"][kernel.name]["launches"]}
    counters = [found for found in parse(run.stdout) if found.kernel in names]
    if counters:
        return counters, ""
    said = (run.stdout + run.stderr).strip().splitlines() or ["it printed nothing"]
    return [], f"no hardware counters: `{ncu}` ended with {run.returncode}: {said[-1]}"


def parse(text: str) -> list[KernelCounters]:
    """Returns what is in the CSV of `ncu --page raw`: a line of names, one of units, and one for each launch.

    Before it come lines of `ncu` and of the program that it ran.
    """
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if begin is None:
        return []
    found: list[KernelCounters] = []
    for row in list(csv.DictReader(lines[begin:]))[1:]:
        numbers = {metric: (row.get(metric) or "").replace(",", "") for metric in METRICS}
        values = {metric: float(number) for metric, number in numbers.items() if number and number != "n/a"}
        found.append(KernelCounters(row["Kernel Name"], values))
    return found


def _stored(arguments: Sequence[Any]) -> list[tuple[Any, DType | None]]:
    """Returns arguments so that another process can have them: tensors as arrays of the host, with their types."""
    from ..supply import to_storage

    return [to_storage(value) if hasattr(value, "shape") else (value, None) for value in arguments]


def _on_gpu(stored: Sequence[tuple[Any, DType | None]]) -> list[Any]:
    from ..supply import from_storage

    return [value if dtype is None else from_storage(value, dtype, cuda=0) for value, dtype in stored]


def _main(call: str) -> None:
    from .. import _tl

    kernel, stored = pickle.loads(Path(call).read_bytes())
    kernel(*_on_gpu(stored))
    _tl.cuda_synchronize(0)


if __name__ == "__main__":
    _main(sys.argv[1])
