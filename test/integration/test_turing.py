"""Products as chips before `sm_80` make them: PTX for `sm_75`, which the GPU at hand executes."""

import numpy as np
import pytest

from turing_programs import SUMS, K, M, N, compiled, factor, product

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

MAJOR, MINOR = torch.cuda.get_device_capability()
CHIP = f"sm_{MAJOR}{MINOR}"
# The kernel is launched with the shared memory that the GPU's own needs, which has no tiles of converted numbers.
AS_THEY_ARE = [(dtype, total) for dtype, total in SUMS.items() if dtype != "float8_e4m3"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("dtype", "total"), [*AS_THEY_ARE, ("float16", "float16")])
def test_products(dtype, total, transposed):
    A, B = factor((M, K), dtype, 0), factor((K, N), dtype, 1)
    C = torch.zeros((M, N), dtype=getattr(torch, total), device="cuda")
    kernel = compiled(product(dtype, total, transposed), CHIP)
    kernel(*(torch.from_numpy(x).cuda() for x in (A, np.ascontiguousarray(B.T) if transposed else B)), C)
    np.testing.assert_array_equal(C.cpu().numpy(), A.astype(np.float64) @ B.astype(np.float64))
