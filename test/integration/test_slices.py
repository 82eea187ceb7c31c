"""Products of slices of shared tiles, on a GPU: by both generators and for both instruction sets."""

import pytest

import tilec
from slice_programs import CASES

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")
CHIPS = ["sm_90", "sm_90a"] if torch.cuda.get_device_capability() == (9, 0) else ["cuda"]
NARROW = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


def on_the_gpu(array):
    """Returns a copy; PyTorch takes narrow floats of NumPy by their bits."""
    if array.dtype.name not in NARROW:
        return torch.from_numpy(array).cuda()
    bits = torch.from_numpy(array.view(f"int{8 * array.dtype.itemsize}"))
    return bits.cuda().view(NARROW[array.dtype.name])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", CASES)
def test_slices(name, chip):
    program, arguments, expected = CASES[name]
    exact = torch.from_numpy(expected)
    result = torch.zeros(exact.shape, dtype=exact.dtype, device="cuda")
    tilec.compile(program, target=chip)(*map(on_the_gpu, arguments), result)
    torch.testing.assert_close(result.cpu(), exact, rtol=0, atol=0)
