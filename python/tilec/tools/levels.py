"""A kernel at every level: what there is to see of it, and what made it."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import NamedTuple

from .. import backends
from ..errors import TargetError, TLError
from ..toolkit import disassemble
from ..typed import TYPE_CHECKING
from . import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..kernel import Kernel
    from .lines import Line
    from .stages import Stages

OF_IR = ("Tiles", "Threads")
"""The levels that are IR."""
_FIRST_OF_THREADS = "tl-lower-tile-ops"
_LAST_OF_THREADS = "tl-verify-thread-level"


class Version(NamedTuple):
    """Text, and what made it: a pass, with the kernel's name where there are several.

    `changes` says of lines, by number, that they were "added" or "removed" against another kernel.
    """

    made_by: str
    lines: list[Line]
    changes: Mapping[int, str] = MappingProxyType({})


class Level(NamedTuple):
    """One form of a kernel, after each pass that changed it. The last version is the one that says most."""

    title: str
    versions: list[Version]


def levels(kernel: Kernel, stages: Stages) -> tuple[list[Level], list[str]]:
    """Returns every level that there is, from tiles to machine code, and why others are not."""
    names = list(stages.passes)
    tiles, threads, cuda, ptx, sass = (Level(title, []) for title in (*OF_IR, "CUDA C++", "PTX", "SASS"))
    notes: list[str] = []
    for name in names:
        whose = f"{name}: " if len(names) > 1 else ""
        for level, made_by, found in _ir(name, stages.passes[name]):
            (threads if level else tiles).versions.append(Version(f"{whose}{made_by}", found))
        if text := stages.compiled.file(name, "kernel.ptx"):
            ptx.versions.append(Version(name, lines.of_ptx(text.decode())))
        else:
            notes.append(f"There is no PTX: the backend `{kernel.backend.name}` makes none.")
        try:
            sass.versions.append(Version(name, _sass(name, stages)))
        except TLError as error:
            notes.append(f"There is no SASS: {error}")
    try:
        cuda.versions.extend(_cuda(kernel))
    except TLError as error:
        notes.append(f"There is no CUDA C++: {error}")
    return [level for level in (tiles, threads, cuda, ptx, sass) if level.versions], list(dict.fromkeys(notes))


def _ir(name: str, passes: list[tuple[str, str]]) -> Iterator[tuple[bool, str, list[Line]]]:
    """Yields whether it is of threads, the pass and the IR after it, for each pass that changed something."""
    is_of_threads = False
    before: list[Line] = []
    for made_by, text in passes:
        is_of_threads |= made_by == _FIRST_OF_THREADS
        found = _of_kernel(name, lines.of_ir(text))
        if found != before:
            yield is_of_threads, made_by, found
        before = found
        if made_by == _LAST_OF_THREADS:
            return


def _of_kernel(name: str, module: list[Line]) -> list[Line]:
    """Returns the lines of a kernel's own module."""
    first = next(i for i, line in enumerate(module) if re.match(rf"  gpu\.module @{re.escape(name)}\b", line.text))
    last = next(i for i, line in enumerate(module) if i > first and line.text.startswith("  }"))
    return [line._replace(text=line.text[2:]) for line in module[first : last + 1]]


def _sass(name: str, stages: Stages) -> list[Line]:
    cubin = stages.compiled.file(name, "kernel.cubin")
    if cubin is None:
        raise TargetError("nothing assembles PTX here; `python -m tilec.doctor` says what would")
    return lines.of_sass(disassemble(cubin, places=True))


def _cuda(kernel: Kernel) -> Iterator[Version]:
    """Yields the kernels as CUDA C++, which the backend `nvrtc` makes of the same IR of threads."""
    made = kernel.compiled_by("nvrtc", postproc=None, line_info=True)
    for described in made.compile_info["kernels"]:
        text = made.file(backends.find("nvrtc").source_file, described["name"])
        assert text is not None, "the backend makes it"
        yield Version(described["name"], lines.of_cuda(text.decode(errors="replace")))
