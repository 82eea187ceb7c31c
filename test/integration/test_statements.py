"""Who executes a statement and whose a variable is, on a GPU (semantics S3, S4, P3): programs that `test/python` runs
on the CPU.

Every program runs many times: what is wrong here is a race, which seldom loses.
"""

import numpy as np
import pytest

import tilec
from statement_programs import CASES

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")
RUNS = 50


@pytest.mark.parametrize("name", CASES)
def test_statements(name):
    program, reference = CASES[name]
    kernel = tilec.compile(program)
    random = np.random.default_rng(0)
    for _ in range(RUNS):
        a = random.integers(0, 100, 1024).astype(np.int32)
        b = torch.zeros(1024, dtype=torch.int32, device="cuda")
        kernel(torch.from_numpy(a).cuda(), b)
        np.testing.assert_array_equal(b.cpu().numpy(), reference(a))
