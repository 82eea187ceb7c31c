"""Bodies of `T.Parallel` on a GPU, the programs that `test/python` runs on the CPU."""

import numpy as np
import pytest

import tilec
from parallel_bodies import CASES

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_body(name):
    case = CASES[name](np.random.default_rng())
    arguments = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in case.arguments]
    tilec.compile(case.program)(*arguments)
    arrays = [a for a in arguments if isinstance(a, torch.Tensor)]
    for found, expected in zip(arrays, case.expected, strict=True):
        np.testing.assert_array_equal(found.cpu().numpy(), expected)
