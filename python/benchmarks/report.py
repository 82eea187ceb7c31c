"""What was measured, as a table, as JSON and as a picture."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

from tilec.profiler import interval, median


@dataclasses.dataclass(frozen=True)
class Row:
    """One case.

    - `l2`: "cold" or "warm".
    - `times`: seconds of each contender, one for each round.
    - `ours`: which contenders are ours, by the name of the backend.
    - `chosen`: the number of the program that was the fastest, for each of ours; it counts all programs of the case.
    - `differs`: how far ours, that was chosen first, is from each peer's result, in parts of its greatest number.
    - `bytes`, `flop`: of the case.
    - `clocks`: the medians of what `Device.watch` saw in the race.
    - `against`: what each of our programs was compared with before it was timed: a peer, "reference", or "CHECKED",
      which is the reference of the example's small cases.
    - `graph`: whether graphs launched the calls of all contenders: "yes", or "no" and why.
    - `notes`: who is not timed, and why.
    - `wrong`: our programs that compute something else, which are not timed.
    """

    case: str
    l2: str
    times: dict[str, list[float]]
    ours: list[str]
    chosen: dict[str, int]
    differs: dict[str, float]
    bytes: int
    flop: int
    clocks: dict[str, float]
    against: str = ""
    graph: str = "no"
    notes: list[str] = dataclasses.field(default_factory=list[str])
    wrong: list[str] = dataclasses.field(default_factory=list[str])


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float, float]:
    """Returns how many times as fast we are: the median of the rounds' ratios, and the bounds of its 95 % interval.

    >>> ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    (2.0, 2.0, 2.0)
    """
    each = [a / b for a, b in zip(theirs, ours, strict=True)]
    return (median(each), *interval(each))


def rate(row: Row, seconds: float) -> str:
    """Returns a time as what it means for the case: TFLOP/s where products count, else TB/s."""
    if row.flop > 100 * row.bytes:
        return f"{row.flop / seconds * 1e-12:.1f} TFLOP/s"
    return f"{row.bytes / seconds * 1e-12:.3f} TB/s" if row.bytes else ""


def peers(row: Row) -> list[str]:
    """Returns the contenders that are not ours, or ours but the first if there is nothing else."""
    return [name for name in row.times if name not in row.ours] or row.ours[1:]


def line(row: Row) -> str:
    """Returns a row as one line of text."""
    parts = []
    for name, times in row.times.items():
        low, high = interval(times)
        text = f"{name} {median(times) * 1e6:.1f} us [{low * 1e6:.1f}, {high * 1e6:.1f}] {rate(row, median(times))}"
        if row.ours and name != row.ours[0]:
            text += " (ratio {:.3f} [{:.3f}, {:.3f}])".format(*ratio(times, row.times[row.ours[0]]))
        parts.append(text.replace("  ", " "))
    said = [*parts, f"graph: {row.graph}", *row.notes, *(f"wrong: {name}" for name in row.wrong)]
    return f"{row.case}, L2 {row.l2}: " + ", ".join(said)


def table(rows: Sequence[Row]) -> str:
    """Returns all rows as a table of Markdown; ratios are those to the first of ours."""
    lines = [
        "| case | L2 | ours | | beside | ratio | 95 % | differs | against | graph | MHz |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        if not row.ours:
            continue
        ours = row.times[row.ours[0]]
        clock = row.clocks.get("clocks.sm")
        for name in peers(row) or [""]:
            middle, low, high = ratio(row.times[name], ours) if name else (0.0, 0.0, 0.0)
            cells = [
                row.case,
                row.l2,
                f"{median(ours) * 1e6:.1f} us",
                rate(row, median(ours)),
                name,
                f"{middle:.3f}" if name else "",
                f"{low:.3f} to {high:.3f}" if name else "",
                f"{row.differs[name]:.1e}" if name in row.differs else "",
                row.against,
                row.graph.partition(":")[0],
                f"{clock:.0f}" if clock else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write(file: Path, device: str, rows: Sequence[Row], problems: Sequence[str], left_out: Sequence[str]) -> None:
    """Writes everything that was measured, for other programs; what the file held stays whole until then."""
    values = {"device": device, "rows": [dataclasses.asdict(row) for row in rows]}
    values |= {"problems": list(problems), "left_out": list(left_out)}
    whole = file.with_name(file.name + ".new")
    whole.write_text(json.dumps(values, indent=1))
    whole.replace(file)


def plot(rows: Sequence[Row], file: Path) -> None:
    """Draws how many times as fast as its peers each case is; the name of the file says the format."""
    from matplotlib.figure import Figure

    bars = [
        (f"{row.case}, {row.l2}, beside {name}", *ratio(row.times[name], row.times[row.ours[0]]))
        for row in rows
        if row.ours
        for name in peers(row)
    ]
    figure = Figure(figsize=(10, 1 + 0.25 * len(bars)), layout="constrained")
    axes = figure.subplots()
    names, middles, lows, highs = zip(*reversed(bars), strict=True) if bars else ((), (), (), ())
    errors = [[m - a for m, a in zip(middles, lows, strict=True)], [b - m for m, b in zip(middles, highs, strict=True)]]
    axes.barh(range(len(names)), middles, xerr=errors)
    axes.set_yticks(range(len(names)), names)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("times as fast")
    figure.savefig(file)
