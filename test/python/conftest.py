"""What the tests share: a cache of their own, and ways to look at a program."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import tilec
from tilec.builder import FunctionBuilder

STATE = os.environ.get("TL_TEST_CACHE")
"""What the cache holds, of which `scripts/test.sh` tries three states (docs/Testing.md)."""

ONCE = {
    "many programs that are compiled as those of other files are": [
        "test_arithmetic.py",
        "test_checks.py",
        "test_conversions.py",
        "test_examples.py",
        "test_extremes.py",
        "test_formats.py",
        "test_functions.py",
        "test_simulator.py",
        "test_simulator_instructions.py",
        "test_small_float_gemms.py",
        "test_small_floats.py",
        "test_suite_in_the_simulator.py",
        "test_warps.py",
    ],
    "processes that have caches of their own": [
        "test_documentation.py",
        "test_explain.py",
        "test_hostile_cache.py",
        "test_shared_cache.py",
        "test_torch_tensors.py",
    ],
    "nothing that a cache holds": [
        "test_compile_time.py",  # measures without one
        "test_cost.py",
        "test_imports.py",
        "test_random_programs.py",
        "test_reference.py",
        "test_site.py",
        "test_tools.py",
    ],
}
"""Files that run the first time only, by what is in them. Tests with the fixture `own_cache` do so in any file."""

COLD_AND_WARM = [
    "test_atomics.py",
    "test_blocks_in_order.py",
    "test_bulk_copies.py",
    "test_clusters.py",
    "test_counts.py",
    "test_cutedsl_backend.py",
    "test_export.py",
    "test_fragments.py",
    "test_frontend.py",
    "test_grids.py",
    "test_ieee.py",
    "test_lanes.py",
    "test_language_names.py",
    "test_layouts.py",
    "test_numerics.py",
    "test_ops.py",
    "test_parallel.py",
    "test_pipelined.py",
    "test_reads.py",
    "test_rng.py",
    "test_simulation_reports.py",
    "test_slots.py",
    "test_statements.py",
    "test_synchronisation.py",
    "test_transformer.py",
    "test_turns.py",
    "test_words.py",
]
"""Files that run with a cache only, empty and full: programs that say what the language means.

Without one they go the way that they go with an empty one, which `test_language.py` tries for each target. That with
a full one nothing is compiled says more: that the same program has the same key in another process.
"""

if STATE in ("warm", "off"):
    collect_ignore_glob = list(itertools.chain(*ONCE.values()))
if STATE == "off":
    collect_ignore_glob += COLD_AND_WARM

SIMULATOR_SEEDS = (0, 4, 8)
"""They differ in which warp is first, and in when what is asynchronous happens."""

_programs: dict[str, tilec.PrimFunc] = {}


@pytest.fixture(scope="session")
def programs() -> dict[str, tilec.PrimFunc]:
    """Every program that the tests of this session have built so far, by its text without places."""
    return _programs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sim-seeds",
        type=int,
        metavar="N",
        help=f"run programs in the simulator under the seeds below N, in place of {SIMULATOR_SEEDS}",
    )


@pytest.fixture(scope="session")
def sim_seeds(request: pytest.FixtureRequest) -> Sequence[int]:
    """The seeds of the simulator that a program is tried under."""
    count: int | None = request.config.getoption("--sim-seeds")
    return SIMULATOR_SEEDS if count is None else range(count)


def pytest_configure() -> None:
    """Has every finished program noted."""
    finish = FunctionBuilder.finish

    def note(builder: FunctionBuilder) -> tilec.PrimFunc:
        function = finish(builder)
        _programs.setdefault(function.script(), function)
        return function

    FunctionBuilder.finish = note


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what runs the first time only, and puts those last that look at what the others have built."""

    def has(item: pytest.Item, fixture: str) -> bool:
        return fixture in getattr(item, "fixturenames", ())

    if STATE in ("warm", "off"):
        items[:] = [item for item in items if not has(item, "programs") and not has(item, "own_cache")]
    items.sort(key=lambda item: has(item, "programs"))


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
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache that is on, whichever state the others run in; a test that has one runs the first time only."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("TL_CACHE_DIR", str(directory))
    monkeypatch.delenv("TL_DISABLE_CACHE", raising=False)
    return directory


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
