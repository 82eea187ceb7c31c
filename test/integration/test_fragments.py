"""Fragments wherever a program touches them, on a GPU: by both generators and for both instruction sets."""

import numpy as np
import pytest

import fragment_kernels
import tilec

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")
CHIPS = ["sm_90", "sm_90a"] if torch.cuda.get_device_capability() == (9, 0) else ["cuda"]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", fragment_kernels.CASES)
def test_fragments(name, chip):
    program, inputs, expected = fragment_kernels.CASES[name]()
    arrays = [torch.from_numpy(it).cuda() if isinstance(it, np.ndarray) else it for it in inputs]
    result = torch.full(expected.shape, 77, dtype=torch.from_numpy(expected).dtype, device="cuda")
    tilec.compile(program, target=chip)(*arrays, result)
    torch.testing.assert_close(result.cpu(), torch.from_numpy(expected), rtol=0, atol=0)
