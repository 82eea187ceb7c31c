"""What the tests share: a cache of their own, and ways to look at a program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tilec
from tilec.builder import FunctionBuilder

STATE = os.environ.get("TL_TEST_CACHE")
"""What the cache holds, of which `scripts/test.sh` tries three states (docs/Testing.md)."""

ONCE = [
    "autotuner/*",
    "test_arithmetic.py",
    "test_checks.py",
    "test_conversions.py",
    "test_documentation.py",
    "test_examples.py",
    "test_explain.py",
    "test_extremes.py",
    "test_formats.py",
    "test_functions.py",
    "test_hostile_cache.py",
    "test_random_programs.py",
    "test_reference.py",
    "test_simulator.py",
    "test_simulator_instructions.py",
    "test_site.py",
    "test_small_float_gemms.py",
    "test_small_floats.py",
    "test_suite_in_the_simulator.py",
    "test_tools.py",
    "test_warps.py",
]
"""Tests with caches of their own, or with many programs that are compiled as those of other files are."""

if STATE in ("warm", "off"):
    collect_ignore_glob = ONCE

_programs: dict[str, tilec.PrimFunc] = {}


@pytest.fixture(scope="session")
def programs() -> dict[str, tilec.PrimFunc]:
    """Every program that the tests of this session have built so far, by its text without places."""
    return _programs


def pytest_configure() -> None:
    """Has every finished program noted."""
    finish = FunctionBuilder.finish

    def note(builder: FunctionBuilder) -> tilec.PrimFunc:
        function = finish(builder)
        _programs.setdefault(function.script(), function)
        return function

    FunctionBuilder.finish = note


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts those last that look at what the others have built; the first run does."""
    if STATE in ("warm", "off"):
        items[:] = [item for item in items if "programs" not in getattr(item, "fixturenames", ())]
    items.sort(key=lambda item: "programs" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Uses the cache that `TL_TEST_CACHE` speaks of (docs/Testing.md), or without it one of the tests' own."""
    if STATE is None:
        os.environ["TL_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
        os.environ.pop("TL_DISABLE_CACHE", None)
    for name in ("TL_TARGET", "TL_VERBOSE"):
        os.environ.pop(name, None)
    found = _entries()
    yield
    if STATE == "warm":
        assert _entries() == found, "a warm cache has everything"


def _entries() -> set[str]:
    """Returns the keys of the tests' common cache; tests of the cache itself have others."""
    return {path.name for path in Path(os.environ["TL_CACHE_DIR"]).glob("v1/??/*")}


@pytest.fixture(params=["cpu", "gpu"])
def run(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compiles a program for each target in turn and calls it with NumPy arrays."""
    from edge_cases import runner

    return runner(request.param)


@pytest.fixture
def cache_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what the cache does, whichever state the others run in."""
    monkeypatch.delenv("TL_DISABLE_CACHE", raising=False)


@pytest.fixture
def ir() -> Callable[[tilec.PrimFunc], str]:
    """Returns a program in MLIR's pretty form, after the compiler has verified it."""
    from tilec import _tl

    def parse(function: tilec.PrimFunc) -> str:
        module, messages = _tl.parse(function.script(locations=True), "test.mlir")
        assert module is not None, messages
        return module.print()

    return parse


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., str]:
    """Runs a program in a fresh interpreter and returns what it prints."""

    def run(program: str, *options: str, **environment: str) -> str:
        file = tmp_path / "program.py"
        file.write_text(program)
        path = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(
            [sys.executable, *options, str(file)],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
