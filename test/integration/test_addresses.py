"""Tensors at addresses that a kernel loads or computes, on a GPU: programs that `test/python` runs on the CPU."""

import pytest

import tilec
from address_programs import CASES, check

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU answers")
    check(
        name,
        tilec.compile,
        lambda array: torch.from_numpy(array.copy()).cuda(),
        lambda tensor: tensor.data_ptr(),
        lambda tensor: tensor.cpu().numpy(),
    )
