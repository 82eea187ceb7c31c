"""A page that shows a kernel at every level, linked line by line."""

from __future__ import annotations

import itertools
import json
import linecache
import re
from pathlib import Path

from ..errors import TargetError, TLError
from ..resources import ResourceUsage
from ..typed import TYPE_CHECKING
from .differences import compared
from .levels import OF_IR, levels
from .stages import Stages

if TYPE_CHECKING:
    from typing import Any

    from ..analysis.counts import Counts
    from ..errors import Diagnostic
    from ..kernel import Kernel
    from .levels import Level
    from .lines import Line

_AROUND = 3
"""Lines of source that are shown before the first and behind the last that something came from."""

_COUNTED = (
    ("instructions", "SASS", re.compile(r"/\*[0-9a-f]{4,}\*/")),
    ("spills", "SASS", re.compile(r"\b(STL|LDL)\b")),
    ("waits", "PTX", re.compile(r"\b(bar(rier)?\.(cta\.)?sync|mbarrier\.try_wait|cp\.async\.wait|wgmma\.wait)")),
)
"""What is counted for each line of the program: its name, where, and by what it is known."""


def explain(kernel: Kernel, path: str | Path, against: Kernel | None = None, counts: Counts | None = None) -> Path:
    """Writes the page of a kernel (`Kernel.explain`)."""
    stages, other = _stages(kernel), against and _stages(against)
    shown, notes = levels(kernel, stages)
    others = levels(against, other)[0] if against and other else []
    tables = _Tables([*shown, *others], [k for k in (kernel, against) if k])
    data: dict[str, Any] = {
        "title": f"{kernel.name} for {kernel.target}",
        "notes": notes,
        "counts": {**tables.counts(shown), **(tables.work(counts) if counts else {})},
        "messages": [*_chosen(kernel), *(tables.message(message) for message in stages.messages)],
        "kernels": [_resources(kernel, described) for described in stages.kernels],
        "others": [],
    }
    if against and other:
        data["title"] += f" against {against.name} for {against.target}"
        data["others"] = [_resources(against, described) for described in other.kernels]
        shown = compared(shown, others)
    data["levels"] = [tables.level(level) for level in shown]
    page = Path(path)
    page.write_text(_filled(data | tables.data()), encoding="utf-8")
    return page


def _chosen(kernel: Kernel) -> list[dict[str, Any]]:
    """Returns what was chosen for open parameters, as a message of the compiler."""
    return [{"madeBy": "T.auto", "text": str(kernel.choice), "places": []}] if kernel.choice else []


def _stages(kernel: Kernel) -> Stages:
    if kernel.target == "cpu":
        raise TargetError(
            f"`{kernel.name}` was compiled for the CPU, and `explain` shows kernels of GPUs: compile it for one, such "
            f'as `target="sm_90a"`, which need not be there'
        )
    return Stages(kernel)


def _filled(data: dict[str, Any]) -> str:
    """Returns the page with all that it needs inside."""
    folder = Path(__file__).parent / "page"
    html, css, js = ((folder / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    # Text of a program must not look like the end of the script that it stands in.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return html.replace("/* page.css */", css).replace("/* page.js */", js).replace("/* data */", text)


def _resources(kernel: Kernel, described: dict[str, Any]) -> dict[str, Any]:
    """Returns what a kernel needs of a multiprocessor, in words."""
    try:
        usage = ResourceUsage(kernel.target, described)
    except TLError as error:
        return {"name": described["name"], "needs": [str(error)]}
    return {
        "name": described["name"],
        "needs": [
            f"{usage.threads} threads",
            f"{usage.registers} registers for each",
            f"{usage.spill_loads + usage.spill_stores} bytes spilled",
            f"{usage.shared} bytes of shared memory",
            f"{usage.blocks} blocks on a multiprocessor, occupancy {usage.occupancy:.0%}",
        ],
    }


class _Tables:
    """Texts and places, each of which is in the page once, and is named by its number."""

    def __init__(self, shown: list[Level], kernels: list[Kernel]) -> None:
        # Code may come from the cache, and anyone may have made it. The IR was made here.
        own = (level for level in shown if level.title in OF_IR)
        lines = (line for level in own for version in level.versions for line in version.lines)
        read = (file for kernel in kernels for file in kernel.compile_info["files_read"] or ())
        self._program = {*read, *(file for line in lines for file, _ in line.places)}
        """The files that are opened to show their lines."""
        self._whole = sorted(file for file in self._program if Path(file).is_absolute())
        self._texts: dict[str, int] = {}
        self._places: dict[tuple[str, int], int] = {}
        self._files: dict[str, str | None] = {}

    def level(self, level: Level) -> dict[str, Any]:
        """Returns a level; a line is the number of its text, and those of its places."""
        versions = [
            {
                "madeBy": version.made_by,
                "lines": [[self._text(line.text), *self._numbers(line)] for line in version.lines],
                "changes": dict(version.changes),
            }
            for version in level.versions
        ]
        return {"title": level.title, "versions": versions}

    def counts(self, shown: list[Level]) -> dict[str, dict[int, int]]:
        """Returns how often each line of the program has what is counted."""
        counts: dict[str, dict[int, int]] = {}
        for name, title, pattern in _COUNTED:
            of_place = counts.setdefault(name, {})
            versions = [version for level in shown if level.title == title for version in level.versions]
            counted = [line for version in versions for line in version.lines if pattern.search(line.text)]
            for number in itertools.chain.from_iterable(map(self._numbers, counted)):
                of_place[number] = of_place.get(number, 0) + 1
        return counts

    def work(self, counts: Counts) -> dict[str, dict[int, int]]:
        """Returns what was counted of each line when a call was simulated."""
        done: dict[str, dict[int, int]] = {"bank conflicts": {}, "sectors of device memory": {}}
        for line in itertools.chain.from_iterable(launch.lines for launch in counts.launches):
            number = self._number(line.file, line.line)
            if number is None:
                continue
            for of_place, count in zip(done.values(), (line.conflicts, line.sectors), strict=True):
                if count:
                    of_place[number] = of_place.get(number, 0) + count
        return done

    def message(self, message: Diagnostic) -> dict[str, Any]:
        """Returns a message of the compiler; remarks say which pass they are of."""
        remark = re.fullmatch(r'\[\w+\] .*? \| Category:(\S+) \|.*? Remark="(.*)"', message.message, flags=re.DOTALL)
        number = self._number(message.file, message.line)
        return {
            "madeBy": remark[1] if remark else message.severity,
            "text": remark[2] if remark else message.message,
            "places": [] if number is None else [number],
        }

    def data(self) -> dict[str, Any]:
        """Returns the tables, and the part of each file of the program that they speak of."""
        files: list[dict[str, Any]] = []
        for name in sorted({file for file, _ in self._places}):
            numbers = [line for file, line in self._places if file == name]
            source = linecache.getlines(name)
            first, last = max(min(numbers) - _AROUND, 1), min(max(numbers) + _AROUND, len(source))
            files.append(
                {"name": name, "first": first, "lines": [line.rstrip("\n") for line in source[first - 1 : last]]}
            )
        return {"texts": list(self._texts), "places": list(self._places), "files": files}

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _numbers(self, line: Line) -> list[int]:
        numbers = (self._number(file, at) for file, at in line.places)
        return [number for number in numbers if number is not None]

    def _number(self, file: str, line: int) -> int | None:
        """Returns the number of a place, or None if it is in no file of the program."""
        if file not in self._files:
            self._files[file] = self._find(file)
        found = self._files[file]
        return None if found is None else self._places.setdefault((found, line), len(self._places))

    def _find(self, file: str) -> str | None:
        """Returns the file of the program that is meant: artifacts have its name relative to the program's folder."""
        if file not in self._program:
            return next((whole for whole in self._whole if whole.endswith(f"/{file}")), None)
        return file if linecache.getlines(file) else None
