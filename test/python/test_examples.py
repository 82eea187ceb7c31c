"""The examples: right on the CPU, some of them in the simulator, and made for Hopper without a warning or a spill."""

import importlib
import warnings
from pathlib import Path

import pytest

import tilec

FOLDER = Path(__file__).parents[2] / "python" / "examples"
SCRIPTS = sorted(file for file in FOLDER.glob("*.py") if file.stem != "cases")
WITH_CASES = [file.stem for file in SCRIPTS if "\nCASES = " in file.read_text()]
SIMULATED = ["attention_backward", "grouped_gemm", "layernorm", "mla_decode", "paged_decode", "transpose"]


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", WITH_CASES)
def test_right_on_the_cpu(name):
    for case in importlib.import_module(name).CHECKED:
        case.check(target="cpu")


@pytest.mark.parametrize("name", SIMULATED)
def test_right_in_the_simulator(name):
    importlib.import_module(name).CHECKED[0].check(target="sm_90a", backend="sim")


@pytest.mark.parametrize("name", WITH_CASES)
def test_made_for_hopper(name):
    case = importlib.import_module(name).CASES[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilec.compile(case.programs[0](), target="sm_90a", **case.options)
    assert kernel.n_spills == 0


def test_what_is_wrong_is_found():
    from cases import Case, normal

    def reference(a):
        return a.T + (a.T == a.max())

    right = importlib.import_module("transpose").case(8, 8, "float32")
    wrong = Case(
        right.name, right.programs, lambda random: [normal(random, (8, 8), "float32")], right.outputs, reference
    )
    with pytest.raises(AssertionError, match="transpose 8x8 float32"):
        wrong.check(target="cpu")


@pytest.mark.parametrize(
    "file", [f for f in SCRIPTS if f.stem not in WITH_CASES] + [FOLDER / "embedding.py"], ids=lambda f: f.stem
)
def test_scripts(python, file):
    program = (
        f"import runpy, sys; sys.path.insert(0, {str(FOLDER)!r}); runpy.run_path({str(file)!r}, run_name='__main__')"
    )
    assert "correct" in python(program, TL_TARGET="cpu")


def test_all_are_listed():
    page = (FOLDER.parents[1] / "docs" / "Examples.md").read_text()
    assert [file.name for file in SCRIPTS if f"`{file.name}`" not in page] == []
