"""What `same_text.py` measured: which kernels of two runs of a program are the same, their rows, and tables of them."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Called:
    """A kernel that a program called: its name, and the types and extents of the tensors that it was given."""

    name: str
    tensors: str


@dataclasses.dataclass(frozen=True)
class Row:
    """A kernel that both ran.

    - `theirs`, `ours`: seconds of a call, in the median.
    - `spread`: the greatest sample over the least, of whichever varied more.
    - `graph`: whether graphs launched the calls: "yes", or "no" and why.
    - `note`: what went wrong with the program that it is of.
    """

    unit: str
    kernel: str
    tensors: str
    theirs: float
    ours: float
    spread: float = 1.0
    graph: str = "yes"
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times as fast ours is."""
        return self.theirs / self.ours


def matched(theirs: Sequence[Called], ours: Sequence[Called]) -> tuple[list[tuple[int, int]], list[str]]:
    """Returns the numbers of the kernels that are the same in two runs, and what is said of the others.

    Several of one name and with the same tensors, as of a program with other tiles, are matched in their order; those
    that are left by their tensors and their order, as a kernel may have another name.

    >>> a, b, c = Called("a", "float16[4]"), Called("b", "float16[4]"), Called("b", "float16[8]")
    >>> matched([a, a, b, c], [a, b, a])
    ([(0, 0), (1, 2), (2, 1)], ['only theirs has 1: b float16[8]'])
    >>> matched([a], [b])
    ([(0, 0)], [])
    """
    pairs: list[tuple[int, int]] = []
    said: list[str] = []
    left = [list(range(len(theirs))), list(range(len(ours)))]
    for whole in (True, False):
        groups = [_grouped(numbers, kernels, whole) for numbers, kernels in zip(left, (theirs, ours), strict=True)]
        for key, numbers in groups[0].items():
            others = groups[1].get(key, [])
            pairs += zip(numbers, others, strict=False)
            if whole and others and len(numbers) != len(others):
                said.append(f"{key[0]} {key[1]}: theirs {len(numbers)} times, ours {len(others)}")
        taken = [{pair[side] for pair in pairs} for side in (0, 1)]
        left = [[n for n in left[side] if n not in taken[side]] for side in (0, 1)]
    for side, (name, kernels) in enumerate((("theirs", theirs), ("ours", ours))):
        if left[side]:
            names = dict.fromkeys(f"{kernels[n].name} {kernels[n].tensors}" for n in left[side])
            said.append(f"only {name} has {len(left[side])}: {'; '.join(names)}")
    return sorted(pairs), said


def _grouped(numbers: Iterable[int], kernels: Sequence[Called], whole: bool) -> dict[tuple[str, str], list[int]]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for n in numbers:
        groups[kernels[n].name if whole else "", kernels[n].tensors].append(n)
    return groups


HEADER = ("ratio", "theirs us", "ours us", "spread", "graph", "unit", "kernel", "tensors", "note")


def line(row: Row) -> str:
    """Returns a row as a line with tabs.

    >>> line(Row("a.py", "main", "float16[4]", 3e-6, 2e-6))
    '1.500\\t3.000\\t2.000\\t1.00\\tyes\\ta.py\\tmain\\tfloat16[4]\\t'
    """
    times = (f"{row.ratio:.3f}", f"{row.theirs * 1e6:.3f}", f"{row.ours * 1e6:.3f}", f"{row.spread:.2f}")
    return "\t".join([*times, row.graph, row.unit, row.kernel, row.tensors, *[" ".join(row.note.split())]])


def read(files: Iterable[Path]) -> list[Row]:
    """Returns the rows of files, the last of which may end within a line."""
    rows: list[Row] = []
    for file in files:
        for text in file.read_text().splitlines():
            cells = text.split("\t")
            if len(cells) == len(HEADER) and tuple(cells) != HEADER:
                theirs, ours, spread = (float(cell) for cell in cells[1:4])
                unit, kernel, tensors = cells[5:8]
                rows.append(Row(unit, kernel, tensors, theirs * 1e-6, ours * 1e-6, spread, cells[4], cells[8]))
    return rows


def mean(ratios: Sequence[float]) -> float:
    """Returns the geometric mean.

    >>> mean([0.5, 2.0, 1.0])
    1.0
    """
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def programs(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Returns the rows of each program, the one that is the most behind first."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.unit].append(row)
    return dict(sorted(groups.items(), key=lambda item: mean([row.ratio for row in item[1]])))


def summary(rows: Sequence[Row], outcomes: Mapping[str, int] | None = None) -> str:
    """Returns how far ahead or behind ours is, of kernels and of programs, and a table of the programs.

    - `outcomes`: how many programs ended in which way.
    """
    said = [f"{outcome}: {count}" for outcome, count in sorted((outcomes or {}).items())]
    if not rows:
        return "\n".join([*said, "nothing was timed in both"])
    groups = programs(rows)
    ratios = {unit: mean([row.ratio for row in of_unit]) for unit, of_unit in groups.items()}
    lines = ["| ratio | kernels | least | greatest | program |", "| --- | --- | --- | --- | --- |"]
    for unit, of_unit in groups.items():
        each = sorted(row.ratio for row in of_unit)
        mark = " (!)" if any(row.note for row in of_unit) else ""
        lines.append(f"| {ratios[unit]:.3f} | {len(each)} | {each[0]:.3f} | {each[-1]:.3f} | {unit}{mark} |")
    counted = [_counted("kernels", [row.ratio for row in rows]), _counted("programs", [*ratios.values()])]
    return "\n".join([*said, *counted, "", *lines])


def _counted(what: str, ratios: Sequence[float]) -> str:
    ahead = sum(ratio >= 1.0 for ratio in ratios)
    return (
        f"{what}: {len(ratios)}, at least as fast {ahead}, geometric mean {mean(ratios):.3f}, least {min(ratios):.3f}"
    )
