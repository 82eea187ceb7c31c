"""Kernels of thread level with one line changed.

A mutant lacks a barrier, wait, fence, commit or arrival, or has another parity, count, place or descriptor. It has as
many lines as the kernel, so that reports of both are of the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ORDERS = re.compile(
    r"^\s*(gpu\.barrier|nvvm\.cluster\.(?:arrive|wait)|nvvm\.barrier\S*|nvvm\.bar\.warp\.sync|nvvm\.fence\.\S+|nvvm\.mbarrier\.arrive\S*"
    r"|nvvm\.mbarrier\.try_wait\S*|nvvm\.cp\.async\.(?:bulk\.)?(?:commit|wait)\S+|tl\.wgmma_wait)\b"
)
"""What orders memory, and gives nothing that others use."""


@dataclass(frozen=True)
class Mutant:
    line: int
    """From 0 on."""
    text: str
    what: str
    """How it differs, in words."""

    def apply(self, lines: list[str]) -> list[str]:
        return [*lines[: self.line], self.text, *lines[self.line + 1 :]]


def find_mutants(lines: list[str]) -> list[Mutant]:
    """Returns all mutants of a kernel."""
    found: list[Mutant] = []
    constants = {
        match[1]: int(match[2])
        for line in lines
        if (match := re.match(r"\s*(%c\S+) = arith\.constant (-?\d+) : i32", line))
    }
    for number, line in enumerate(lines):
        if match := ORDERS.match(line):
            found.append(Mutant(number, "", f"without {match[1]}"))
        changes = (_waits_for_less(line), _other_parity(line), _other_count(line, constants), _other_line(line))
        found += [Mutant(number, text, what) for change in changes if change for text, what in [change]]
    return [*found, *_find_other_places(lines), *_find_other_slots(lines)]


def _waits_for_less(line: str) -> tuple[str, str] | None:
    match = re.match(r"(.*(?:tl\.wgmma_wait|nvvm\.cp\.async\.(?:bulk\.)?wait.group) )(\d+)(.*)", line)
    return (f"{match[1]}{int(match[2]) + 1}{match[3]}", "waits for one group less") if match else None


def _other_parity(line: str) -> tuple[str, str] | None:
    match = re.match(r"\s*nvvm\.mbarrier\.try_wait\.parity %\S+, (%\S+),", line)
    if not match:
        return None
    opposite = f"%mutant_1 = arith.constant 1 : i32 %mutant = arith.xori {match[1]}, %mutant_1 : i32 "
    return opposite + line.replace(f" {match[1]},", " %mutant,", 1), "waits for the other parity"


def _other_count(line: str, constants: dict[str, int]) -> tuple[str, str] | None:
    match = re.match(r"\s*nvvm\.mbarrier\.(arrive\.expect_tx|init) %\S+, (%\S+) ", line)
    if not match or match[2] not in constants:
        return None
    expects = match[1] != "init"
    count = constants[match[2]] // 2 if expects else constants[match[2]] + 1
    text = f"%mutant = arith.constant {count} : i32 " + line.replace(f" {match[2]} ", " %mutant ", 1)
    return text, "expects half of the bytes" if expects else "counts one arrival more"


def _other_line(line: str) -> tuple[str, str] | None:
    match = re.match(r"(\s*)(%\S+ = tl\.wgmma .*?n\(\d+\) %\S+, )(%\w+)(,.*)", line)
    if not match:
        return None
    moved = f"%mutant_8 = arith.constant 8 : i64 %mutant = arith.addi {match[3]}, %mutant_8 : i64 "
    return f"{match[1]}{moved}{match[2]}%mutant{match[4]}", "a descriptor one line of 128 bytes further"


ACCESS = re.compile(
    r"\s*(?:nvvm\.cp\.async\.bulk\.tensor\.shared\.cluster\.global|nvvm\.cp\.async\.shared\.global"
    r"|nvvm\.mbarrier\.(?:arrive\.expect_tx|try_wait\.parity)) (%\S+?)(?:,| )"
)


def _find_other_places(lines: list[str]) -> Iterator[Mutant]:
    """Copies that land, and mbarriers that lie, where something else in shared memory does."""
    pointers: list[tuple[int, str]] = []  # with how far in they are defined
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        pointers = [known for known in pointers if known[0] <= indent]  # a name of another region may be another value
        if match := ACCESS.match(line):
            others = [pointer for _, pointer in pointers[-6:] if pointer != match[1]]
            if others:
                text = re.sub(re.escape(match[1]) + r"\b", others[0], line, count=1)
                yield Mutant(number, text, f"another place than {match[1]}")
        if match := re.match(r"\s*(%\S+) = llvm\.getelementptr .*\(!llvm\.ptr<3>", line):
            pointers.append((indent, match[1]))


def _find_other_slots(lines: list[str]) -> Iterator[Mutant]:
    """Uses of the slot that a loop fills where it means that which it empties, and the other way round.

    Slots of rings are numbers that a loop carries. What is made of the loop's own number is none.
    """
    loops: list[tuple[int, list[str]]] = []  # how far in, and what they carry that is an index
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        loops = [loop for loop in loops if loop[0] < indent]
        if match := re.match(r".* = scf\.for .* iter_args\((.*)\) -> \((.*)\) \{", line):
            names = re.findall(r"(%\w+) = ", match[1])
            types = match[2].split(", ")
            loops.append((indent, [name for name, kind in zip(names, types, strict=False) if kind == "index"]))
        elif re.match(r"\s*%\S+ = arith\.(muli|addi|index_cast) ", line):
            for _, slots in loops:
                used = next((slot for slot in slots if re.search(slot + r"\b", line)), None)
                other = next((slot for slot in slots if slot != used), None)
                if used and other:
                    yield Mutant(number, re.sub(used + r"\b", other, line), f"another slot than {used}")
