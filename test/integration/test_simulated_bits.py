"""Kernels of the suite on a GPU and in the simulator, from the same inputs: the bits of the results are the same.

Integers and what is moved have no other bits. Where floats are computed, one rounding may differ; behind functions
whose last bits the language leaves open there is no bound but that of the kernel's own test, which both pass.
"""

import collections
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import atomic_programs
import cluster_programs
import format_programs
import grid_programs
import language_programs
import parallel_bodies
import pipelines_by_hand
import statement_programs
import tilec
import warp_programs
from test_suite_in_the_simulator import CASES as LOOPS

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "test" / "fuzz"), str(ROOT / "python" / "examples")]
from programs.bitwise import Comparison  # noqa: E402
from programs.elements import ALL  # noqa: E402

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no GPU of the chip that is simulated answers", allow_module_level=True)

PATHS = (("sm_90a", "nvptx"), ("sm_90a", "sim"))
TABLES = {
    "clusters": cluster_programs, "formats": format_programs, "grids": grid_programs, "language": language_programs,
    "turns": pipelines_by_hand, "warps": warp_programs,
}  # fmt: skip
EXAMPLES = [f.stem for f in sorted((ROOT / "python" / "examples").glob("*.py")) if "\nCASES = " in f.read_text()]

# Ops of `math` whose results have all bits defined, or are integers.
EXACT = {"absf", "absi", "ceil", "copysign", "ctlz", "ctpop", "cttz", "floor", "fma", "round", "roundeven", "trunc"}
COUNTS = collections.Counter()


@pytest.fixture(scope="module", autouse=True)
def _said():
    """What was compared, in a line at the end."""
    yield
    print("\nkernels on the GPU beside the simulator:", dict(sorted(COUNTS.items())))


def contents_of(text):
    """What a kernel of thread level computes."""
    if set(re.findall(r"\bmath\.(\w+)", text)) - EXACT:
        return "functions"
    if re.search(r"tl\.(wg)?mma\b.*f(8|16|32|64)", text):
        return "products of floats"
    floats = re.search(r"arith\.\w+f\b|arith\.\w+f |arith\.(extf|truncf|[su]itofp|fpto[su]i)", text)
    return "arithmetic of floats" if floats else "integers and copies"


def copied(array):
    """Returns a copy whose elements are as far from each other as in the array."""
    memory = np.zeros(
        sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize, np.uint8
    )
    copy = np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
    copy[...] = array
    return copy


def compare(program, *arguments, **options):
    """Runs a program on both paths and holds the results against each other; the first one's are in `arguments`."""
    found = []
    for chip, backend in PATHS:
        copies = [copied(a) if isinstance(a, np.ndarray) else a for a in arguments]
        kernel = tilec.compile(program, target=chip, backend=backend, **options)
        kernel(*copies)
        found.append([a for a in copies if isinstance(a, np.ndarray)])
    comparison = Comparison()
    for number, (one, other) in enumerate(zip(*found, strict=True)):
        name = one.dtype.name.removesuffix("fn")
        size = 8 * one.dtype.itemsize
        memory = (np.frombuffer(a.tobytes(), np.uint8) for a in (one, other))
        comparison.add(f"array {number}", name if name in ALL else f"uint{size}", *memory)
    for array, computed in zip((a for a in arguments if isinstance(a, np.ndarray)), found[0], strict=True):
        array[...] = computed
    contents = contents_of(kernel.get_kernel_source())
    COUNTS[f"{contents}: {comparison.worst}"] += 1
    allowed = {"integers and copies": ("equal",), "functions": ("equal", "NaN", "zero", "rounding", "more")}
    assert comparison.worst in allowed.get(contents, ("equal", "NaN", "rounding")), f"{contents}: {comparison.first}"


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in TABLES for name in TABLES[table].CASES])
def test_programs_of_the_suite(table, name):
    TABLES[table].check(name, compare)


@pytest.mark.parametrize("name", statement_programs.CASES)
def test_statements(name):
    program, reference = statement_programs.CASES[name]
    a, b = np.random.default_rng(7).integers(0, 100, 1024).astype(np.int32), np.zeros(1024, np.int32)
    compare(program, a, b)
    np.testing.assert_array_equal(b, reference(a))


@pytest.mark.parametrize("name", parallel_bodies.CASES)
def test_bodies(name):
    case = parallel_bodies.CASES[name](np.random.default_rng(7))
    compare(case.program, *case.arguments)


@pytest.mark.parametrize(
    "name", [n for n, c in atomic_programs.CASES.items() if c.program is not atomic_programs.compact]
)
def test_atomic_operations(name):
    """But for the one whose elements come in any order."""
    case = atomic_programs.CASES[name]
    compare(case.program, *case.inputs(np.random.default_rng(7)))


@pytest.mark.parametrize("stages", [0, 3])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_run_ahead(name, stages):
    program, inputs, reference = LOOPS[name]
    arguments = inputs()
    expected = reference(*arguments)
    result = np.full(expected.shape, np.nan, expected.dtype)
    compare(program(stages), *arguments, result)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    poisoned = importlib.import_module("cases").poisoned
    for case in importlib.import_module(name).CHECKED:
        inputs = case.inputs(np.random.default_rng(7))
        for program in case.programs:
            compare(program(), *inputs, *(poisoned(*output) for output in case.outputs), **case.options)
