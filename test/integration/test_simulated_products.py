"""Sums of tensor cores on a GPU, beside the simulator's, which are to have the same bits."""

import numpy as np
import pytest

import tilec
from kernels import gemm

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")

M, N = 64, 192
CHIPS = ["sm_90a", "sm_90"] if torch.cuda.get_device_capability() == (9, 0) else []
# Of an instruction.
DEPTHS = {"float16": 16, "bfloat16": 16, "float32": 8, "float8_e4m3": 32, "float8_e5m2": 32}
KINDS = {"float8_e4m3": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


def both(program, chip, a, b, dtype):
    """What the GPU and the simulator make of a product."""
    found = []
    for options in ({}, {"backend": "sim"}):
        device = "cpu" if options else "cuda"
        c = torch.zeros(M, N, dtype=dtype, device=device)
        tilec.compile(program, target=chip, **options)(a.to(device), b.to(device), c)
        found.append(c.cpu().numpy())
    return found


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("depths", [1, 8, 32])
@pytest.mark.parametrize(("dtype", "acc"), [*((dtype, "float32") for dtype in DEPTHS), ("float16", "float16")])
def test_floats(chip, dtype, acc, depths):
    K = DEPTHS[dtype] * depths
    torch.manual_seed(K)
    # Numbers of different sizes show where addends are cut off.
    a, b = (
        (torch.randn(n, K) * torch.exp2(torch.randint(-3, 4, (n, K)).float())).to(
            KINDS.get(dtype) or getattr(torch, dtype)
        )
        for n in (M, N)
    )
    if dtype == "float32":
        # Without the bits that `tfloat32` drops.
        a, b = ((x.view(torch.int32) & ~0x1FFF).view(torch.float32) for x in (a, b))
    program = gemm(M, N, K, dtype, nt=True, relu=False, tile=(64, N, min(K, 64)), threads=128, out=acc, acc=acc)
    found, simulated = both(program, chip, a, b, getattr(torch, acc))
    np.testing.assert_array_equal(found, simulated)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("K", [32, 1024])
def test_integers(chip, K):
    torch.manual_seed(K)
    a, b = (torch.randint(-128, 128, (n, K), dtype=torch.int8) for n in (M, N))
    program = gemm(
        M, N, K, "int8", nt=True, relu=False, tile=(64, N, min(K, 64)), threads=128, out="int32", acc="int32"
    )
    found, simulated = both(program, chip, a, b, torch.int32)
    np.testing.assert_array_equal(found, simulated)
