"""The reference of the language is whole: every name has a group, a docstring, and an example that runs."""

import inspect
import json
from pathlib import Path

import pytest

import reference_examples
import tilec
import tilec.language as T
from reference_examples import examples, functions, is_python, names
from tilec import backends
from tilec.contents import parse, public_names

pytestmark = pytest.mark.filterwarnings("ignore::tilec.errors.IgnoredHintWarning")

SUPPORT = Path(__file__).parents[2] / "docs" / "language" / "support.json"


def test_every_name_has_one_group():
    grouped = public_names(T.__doc__)
    public = [n for n in vars(T) if not n.startswith("_") or (n.startswith("__") and not n.endswith("__"))]
    found = [n for n in public if not inspect.ismodule(getattr(T, n))]
    assert sorted(grouped) == sorted(found), "the docstring of `tilec.language` lists every name, in one group"
    assert T.__all__ == grouped
    assert parse("The language.\n\nTiles: alloc_shared,\n    view\nBits: clz\n") == {
        "Tiles": ["alloc_shared", "view"],
        "Bits": ["clz"],
    }


def test_every_name_has_a_docstring_and_an_example():
    lacking = [n for n in names() if not (inspect.getdoc(getattr(T, n)) or "").strip() or not examples(n)]
    assert not lacking, "each needs a docstring with an example (`>>> `) that stands in the kernel of the reference"


@pytest.mark.parametrize("name", names())
def test_the_example(name):
    """What is compiled for the CPU is run there, if it has the parameters of the kernel of the reference."""
    for function in functions(name):
        if "source_kernel" in function.script():
            if backends.find("nvrtc").missing():
                pytest.skip("there is no NVRTC")
            tilec.compile(function, target="sm_90a")
            continue
        kernel = tilec.compile(function, target="cpu")
        if not is_python(examples(name)):
            kernel(*reference_examples.arguments())


def test_the_support_that_is_told_is_so():
    """Of one name in some, all types on all targets; `scripts/language_support.py` writes what this reads."""
    told = json.loads(SUPPORT.read_text())
    depending = [n for n in names() if reference_examples.depends_on_type(n)]
    assert sorted(told) == sorted(depending), "run scripts/language_support.py"
    for name in depending[::40]:
        assert reference_examples.support(name) == told[name], f"{name}: run scripts/language_support.py {name}"


def test_help_lists_what_there_is(python):
    out = python("import tilec; help(tilec.language)")
    for text in ("Tile operations: copy, gemm", "copy(src", "Multiplies two tiles"):
        assert text in out
