"""Programs that return tensors of `T.empty`, on a GPU: one that `test/python` runs on the CPU."""

import numpy as np
import pytest

import tilec
from result_programs import shifted

pytestmark = pytest.mark.usefixtures("backend")


def test_calls_return_what_the_function_returns():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU answers")
    A = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    C, B = tilec.compile(shifted)(torch.from_numpy(A).cuda(), 2.0)
    np.testing.assert_array_equal(C.cpu().numpy(), np.arange(3) * 3)
    np.testing.assert_array_equal(
        B.cpu().numpy(), np.concatenate([A[:, 4:], np.zeros((3, 4), np.float32)], 1) + np.float32(2)
    )
