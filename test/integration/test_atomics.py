"""Atomic operations on a GPU (semantics A1 to A4): programs that `test/python` runs on the CPU.

Every program runs many times: what is wrong here is a race, which seldom loses.
"""

import numpy as np
import pytest

import tilec
from atomic_programs import CASES, check

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")
RUNS = 20


@pytest.mark.parametrize("name", CASES)
def test_atomics(name):
    case = CASES[name]
    kernel = tilec.compile(case.program)
    random = np.random.default_rng(0)
    for _ in range(RUNS):
        arrays = case.inputs(random)
        tensors = [torch.from_numpy(array.copy()).cuda() for array in arrays]
        kernel(*tensors)
        check(name, [array.copy() for array in arrays], [tensor.cpu().numpy() for tensor in tensors])
