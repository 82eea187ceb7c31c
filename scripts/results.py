"""Counts test results in JUnit's format, which lit, GoogleTest, CTest and pytest all write.

`record FILE NAME STATUS` writes the result of one command; `summarize FOLDER` prints a line for each file, the names of
what failed, and last the sum, and exits with 1 if anything failed or nothing ran.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree


class Counts(NamedTuple):
    """How many tests ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, other: Counts) -> Counts:
        """Returns the sums."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def outcome(case: ElementTree.Element) -> Counts:
    """Returns how one test ended."""
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return Counts(failed=1)
    # GoogleTest and CTest say so in an attribute, lit and pytest with an element.
    if case.find("skipped") is not None or "notrun" in (case.get("status"), case.get("result")):
        return Counts(skipped=1)
    return Counts(passed=1)


def cases(file: Path) -> list[tuple[str, Counts]]:
    """Returns the tests of a file with their outcomes."""
    found = ElementTree.parse(file).iter("testcase")
    return [(f"{case.get('classname', '')}.{case.get('name')}", outcome(case)) for case in found]


def collect(folder: Path) -> dict[str, list[tuple[str, Counts]]]:
    """Returns the tests of each suite.

    CTest counts executables, GoogleTest their cases. So an executable is counted only where its cases do not show what
    happened: it could not start, or it crashed, and left none, or it failed although none of them did.
    """
    suites = {file.stem: cases(file) for file in sorted(folder.glob("*.xml"))}
    unit = {file.stem: cases(file) for file in sorted((folder / "gtest").glob("*.xml"))}
    executables: list[tuple[str, Counts]] = []
    for name, result in suites.pop("ctest", []):
        found = unit.get(name.rpartition(".")[2], [])
        if not result.passed and not any(r.failed for _, r in found):
            executables.append((name, Counts(failed=1)))
    suites["unit"] = [*executables, *(case for found in unit.values() for case in found)]
    return suites


def summarize(folder: Path) -> int:
    """Prints the counts; returns the exit code."""
    total = Counts()
    print("== results")
    for suite, found in collect(folder).items():
        counts = Counts()
        for name, result in found:
            counts = counts.plus(result)
            if result.failed:
                print(f"FAILED {suite}: {name}")
        print(f"{suite:<20} {counts}")
        total = total.plus(counts)
    print(total)
    return 1 if total.failed or not total.passed else 0


def record(file: Path, name: str, status: int) -> None:
    """Writes the result of one command."""
    suite = ElementTree.Element("testsuite", name="checks")
    case = ElementTree.SubElement(suite, "testcase", classname="checks", name=name)
    if status:
        ElementTree.SubElement(case, "failure", message=f"exit status {status}")
    ElementTree.ElementTree(suite).write(file)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", file, name, status]:
            record(Path(file), name, int(status))
        case ["summarize", folder]:
            raise SystemExit(summarize(Path(folder)))
        case _:
            raise SystemExit(__doc__)
