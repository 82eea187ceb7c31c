"""The example of every name of the language on a GPU, by both code generators, beside the CPU: `test_reference.py`."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
from tilec import targets

pytestmark = pytest.mark.skipif(targets.gpu_chip() is None, reason="needs a GPU")

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
from reference_examples import arguments, examples, functions, is_python, kept, names  # noqa: E402


@pytest.mark.filterwarnings("ignore::tilec.errors.TLWarning")
@pytest.mark.parametrize("name", names())
def test_the_example(backend, run, name):
    """What stands in the kernel of the reference runs, and what it leaves is what it leaves on the CPU."""
    shown = list(functions(name))
    for function in shown:
        tilec.compile(function, target="cuda")
    program = kept(name) or (None if is_python(examples(name)) else shown[0])
    if program is None:
        return
    seed = random.randrange(1 << 30)
    found, expected = arguments(seed), arguments(seed)
    run(program, *found)
    if "source_kernel" in program.script():
        return
    tilec.compile(program, target="cpu", backend="cpu")(*expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5, err_msg=f"seed {seed}")
