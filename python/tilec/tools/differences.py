"""What two kernels differ in, at every level."""

from __future__ import annotations

import difflib
import re

from ..typed import TYPE_CHECKING
from .levels import Level, Version

if TYPE_CHECKING:
    from .lines import Line

_NUMBERED = re.compile(r"%[\w$.]+(#\d+)?|\bU?[RP]\d+\b|\$L__\w+|\.L_x_\d+|/\*[0-9a-f]+\*/|(?<=\w)_\d+\b")
"""Names of values, registers, labels and addresses, which change with every line that is put before them."""


def compared(levels: list[Level], others: list[Level]) -> list[Level]:
    """Returns levels whose versions have the lines of the others too, and say which ones only one of both has.

    Versions are compared if one pass made them, and the last ones in any case. Numbers of values, registers and labels
    do not count, nor do addresses.
    """
    by_title = {other.title: other.versions for other in others}
    return [Level(level.title, _versions(level.versions, by_title.get(level.title, []))) for level in levels]


def _versions(versions: list[Version], others: list[Version]) -> list[Version]:
    by_name = {other.made_by: other for other in others}
    found: list[Version] = []
    for version in versions:
        last = others[-1] if others and version is versions[-1] else None
        other = by_name.get(version.made_by, last)
        found.append(version if other is None else _merged(version, other))
    return found


def _merged(version: Version, other: Version) -> Version:
    """Returns all lines of both, those of `other` first where they differ."""
    keys = [[_NUMBERED.sub("", line.text) for line in each.lines] for each in (other, version)]
    lines: list[Line] = []
    changes: dict[int, str] = {}
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if kind != "equal":
            changes.update(dict.fromkeys(range(len(lines), len(lines) + b - a), "removed"))
            lines += other.lines[a:b]
            changes.update(dict.fromkeys(range(len(lines), len(lines) + d - c), "added"))
        lines += version.lines[c:d]
    return Version(version.made_by, lines, changes)
