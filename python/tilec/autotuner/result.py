"""What tuning returns."""

from __future__ import annotations

from ..typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..builder import PrimFunc
    from ..kernel import Kernel
    from .configs import Config
    from .records import Record


class AutotuneResult:
    """The best configuration of a kernel, and how the others did.

    - `latency`: of the best, the median in milliseconds.
    - `config`: what it was configured with.
    - `ref_latency`: of the reference, if there was one.
    - `kernel`, `func`, `out_idx`: the compiled kernel, its program, the numbers of its results.
    - `checked`: whether its results were compared with a reference's.
    - `key`: under which it is found again; `from_cache` says that it was.
    """

    def __init__(
        self,
        name: str,
        config: Config,
        latency: float,
        ref_latency: float | None,
        kernel: Kernel,
        records: Callable[[], Sequence[Record]],
        *,
        choice: dict[str, Any],
        checked: bool,
        key: str,
        from_cache: bool,
    ) -> None:
        self.name = name
        self.config = config
        self.latency = latency
        self.ref_latency = ref_latency
        self.kernel = kernel
        self.choice = choice
        """What is kept of it, as JSON."""
        self.checked = checked
        self.key = key
        self.from_cache = from_cache
        self._load = records
        self._records: list[Record] | None = None

    @property
    def func(self) -> PrimFunc:
        return self.kernel.function

    @property
    def out_idx(self) -> tuple[int, ...] | None:
        return self.kernel.outputs

    @property
    def libcode(self) -> str:
        """The best kernel's code as text."""
        return self.kernel.get_kernel_source()

    @property
    def records(self) -> list[Record]:
        """How each configuration did: the fastest first, those that failed last."""
        if self._records is None:
            self._records = sorted(self._load(), key=lambda r: (not r.is_ok, r.latency))
        return self._records

    @property
    def contenders(self) -> list[Record]:
        """The best, and those that may be as fast: their 95 % interval meets its."""
        timed = [record for record in self.records if record.is_ok]
        return [record for record in timed if record.low <= timed[0].high]

    def table(self) -> str:
        """Returns the records as text, one line each."""
        lines = [f"{'median ms':>10}  {'95 % interval':>20}  {'samples':>7}  configuration"]
        for record in self.records:
            if record.is_ok:
                bounds = f"{record.low:.4g} … {record.high:.4g}"
                lines.append(f"{record.latency:10.4g}  {bounds:>20}  {len(record.samples):7}  {record.config}")
            else:
                lines.append(f"{record.status:>10}  {'':>20}  {'':>7}  {record.config}: {record.reason}")
        return "\n".join(lines)

    def plot(self, path: str | None = None) -> Any:
        """Draws the configurations' medians with their intervals, fastest on top; returns Matplotlib's figure.

        With `path` the figure is saved there.
        """
        from ..tools.picture import new_figure

        timed = [record for record in self.records if record.is_ok]
        figure = new_figure("plot", 8, 1 + 0.25 * len(timed))
        axes = figure.subplots()
        spans = [[r.latency - r.low for r in timed], [r.high - r.latency for r in timed]]
        axes.errorbar([r.latency for r in timed], range(len(timed)), xerr=spans, fmt="o", capsize=3)
        axes.set_yticks(range(len(timed)), [_label(r.config) for r in timed], fontsize="small")
        axes.invert_yaxis()
        axes.set_xlabel("milliseconds")
        axes.set_title(f"{self.name} on {timed[0].device.get('name', '')}" if timed else self.name)
        if self.ref_latency is not None:
            axes.axvline(self.ref_latency, linestyle="--", label="reference")
            axes.legend()
        if path is not None:
            figure.savefig(path)
        return figure

    def __repr__(self) -> str:
        checked = "" if self.checked else ", unchecked"
        return f"<AutotuneResult of {self.name}: {self.latency:.4g} ms with {self.config}{checked}>"


def _label(config: Config) -> str:
    return " ".join(f"{key}={value}" for key, value in config.items())
