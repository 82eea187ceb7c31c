"""The programs of a checkout of TileLang that `same_text.py` runs: which there are, found without importing them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from pathlib import Path

FOLDERS = ("examples", "benchmark", "testing/python")

USUAL = ("examples/", "testing/python/kernel/")
"""Where what is run is, unless words choose: the other tests look at the compiler, more than at what it makes."""

OTHER_CHIPS = ("amd", "cdna", "rocm", "metal", "webgpu", "sm70", "sm75", "sm100", "sm120", "tcgen")
"""Parts of the names of programs that are for another chip than the one here."""

NO_KERNELS = (
    "analyze",
    "autodd",
    "bitnet",
    "conftest",
    "fla_kda",
    "iket",
    "inference/",
    "layout",
    "triton",
)
"""Parts of the names of programs that run nothing, or what another program runs, or that need more than TileLang."""


@dataclasses.dataclass(frozen=True)
class Unit:
    """A program: a file that is run as a script, or a test of a file.

    - `file`: below the folder of the programs.
    - `test`: the name of the test; "" for a script.
    """

    file: str
    test: str = ""

    @property
    def name(self) -> str:
        """What it is called, as pytest calls it."""
        return f"{self.file}::{self.test}" if self.test else self.file


def units(folder: Path) -> list[Unit]:
    """Returns all programs below a folder: scripts before tests, which often run the same at smaller sizes."""
    files = [file for part in FOLDERS for file in sorted((folder / part).rglob("*.py"))]
    found = [unit for file in files for unit in of_file(file.relative_to(folder).as_posix(), file.read_text())]
    return sorted(found, key=lambda unit: unit.test != "")


def of_file(file: str, text: str) -> list[Unit]:
    """Returns the programs of a file with this text.

    >>> [unit.name for unit in of_file("a/test_b.py", "import tilelang\\ndef test_c(): ...")]
    ['a/test_b.py::test_c']
    >>> of_file("a/b.py", "import tilelang\\nif __name__ == '__main__': main()")
    [Unit(file='a/b.py', test='')]
    """
    if Path(file).name.startswith("test_"):
        tests = [statement.name for statement in ast.parse(text).body if isinstance(statement, ast.FunctionDef)]
        return [Unit(file, test) for test in tests if test.startswith("test")]
    is_program = "__main__" in text or Path(file).stem == "quickstart"
    return [Unit(file)] if is_program and "tilelang" in text else []


def chosen(found: Sequence[Unit], words: Sequence[str], start: int = 0, step: int = 1) -> list[Unit]:
    """Returns the units that have one of the words in their names, or the usual ones; of those a share.

    >>> all_of_them = [Unit("examples/a.py"), Unit("examples/amd/a.py"), Unit("testing/python/jit/test_a.py", "test_b")]
    >>> [unit.file for unit in chosen(all_of_them, [])]
    ['examples/a.py']
    >>> [unit.file for unit in chosen(all_of_them, ["a.py"], start=1, step=2)]
    ['examples/amd/a.py']
    """
    named = [unit for unit in found if (any(word in unit.name for word in words) if words else is_usual(unit))]
    return named[start::step]


def is_usual(unit: Unit) -> bool:
    """Returns whether a unit is run without being asked for."""
    name = unit.name.lower()
    return name.startswith(USUAL) and not any(part in name for part in (*OTHER_CHIPS, *NO_KERNELS))
