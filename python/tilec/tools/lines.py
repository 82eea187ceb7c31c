"""Compiled text line by line, each with the places in the program that it came from.

Every form says it in a way of its own: IR in a location behind each operation, CUDA C++ in `#line`, PTX in `.loc`, the
disassembler in comments. What says it is left out of the lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING = r'"(?:[^"\\]|\\.)*"'
_LOCATION = re.compile(rf'{_STRING}| loc\(((?:[^()"]|{_STRING}|\((?:[^()"]|{_STRING})*\))*)\)')
"""A location in its first group, or a string, so that nothing inside of one is taken for a location."""
_STATEMENT = re.compile(rf"<\{{tl\.statement = {_STRING}\}}>")
_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+|#(loc\d*)\b')


class Line(NamedTuple):
    """A line, and the files and lines that it came from; the innermost one of a call is first."""

    text: str
    places: tuple[tuple[str, int], ...] = ()


def of_ir(text: str) -> list[Line]:
    """Reads a module printed with locations. The head of a region has the place that stands behind its end."""
    aliases = dict(re.findall(r"^#(loc\d*) = loc\((.*)\)$", text, flags=re.MULTILINE))
    lines: list[Line] = []
    heads: list[list[int]] = []
    for line in text.splitlines():
        if not line or line.startswith(("#loc", "// -----//")):
            continue
        at_end = [match[1] for match in _LOCATION.finditer(line) if match[1] and match.end() == len(line)]
        places = _resolve(at_end[0], aliases) if at_end else ()
        closed = heads.pop() if line.lstrip().startswith("}") else []
        if line.endswith("{"):
            heads.append([*closed, len(lines)])
        else:
            for head in closed:
                lines[head] = lines[head]._replace(places=places)
        lines.append(Line(_LOCATION.sub(lambda match: "" if match[1] else match[0], line), places))
    return lines


def _resolve(location: str, aliases: dict[str, str]) -> tuple[tuple[str, int], ...]:
    """Returns the places that a location is made of, names and aliases looked through."""
    places: dict[tuple[str, int], None] = {}
    for file, line, alias in _PLACE.findall(_STATEMENT.sub("", location)):
        if alias:
            places.update(dict.fromkeys(_resolve(aliases[alias], aliases)))
        else:
            places[file, int(line)] = None
    return tuple(places)


def of_cuda(text: str) -> list[Line]:
    """Reads CUDA C++. A `#line` is that of the next line alone: generated text has one for each statement."""
    lines: list[Line] = []
    places: tuple[tuple[str, int], ...] = ()
    for line in text.splitlines():
        if match := re.fullmatch(r'#line (\d{1,9}) "(.*)"', line):
            places = ((match[2], int(match[1])),)
        else:
            lines.append(Line(line, places))
            places = ()
    return lines


def of_ptx(text: str) -> list[Line]:
    """Reads PTX. A `.loc` holds up to the next one, or the end of the function; line 0 is none."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+) "(.*?)"', text, flags=re.MULTILINE))
    lines: list[Line] = []
    places: tuple[tuple[str, int], ...] = ()
    for line in text.splitlines():
        if ".loc" in line and (match := re.match(r"\s*\.loc\s+(\d+) (\d+)", line)):
            inlined = re.search(r"inlined_at (\d+) (\d+)", line)
            found = [(match[1], match[2]), *([(inlined[1], inlined[2])] if inlined else [])]
            places = tuple((files[number], int(at)) for number, at in found if at != "0")
        elif not re.match(r"\s*\.(file|section)\b", line):
            if line.startswith("}"):
                places = ()
            lines.append(Line(line, places))
    return lines


def of_sass(text: str) -> list[Line]:
    """Reads what `nvdisasm -g` prints. Comments hold up to the next ones; several in a row are a chain of calls."""
    lines: list[Line] = []
    places: tuple[tuple[str, int], ...] = ()
    was_comment = False
    for line in text.splitlines():
        is_comment = line.lstrip().startswith("//## File")
        if is_comment:
            found = tuple((file, int(at)) for file, at in re.findall(r'"(.*?)", line (\d+)', line))
            places = (*places, *found) if was_comment else found
        elif line.strip():
            if line.startswith(("//", ".text", "\t.section")):
                places = ()
            lines.append(Line(re.sub(r"^\s+(/\*\w+\*/)\s+", r"\1  ", line), places))
        was_comment = is_comment
    return lines
