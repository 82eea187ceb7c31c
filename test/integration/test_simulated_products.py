"""Sums of tensor cores on a GPU, beside the simulator's: within one rounding of each accumulate, and equal in integers.

An instruction adds the products of its depth of K to an accumulator. Tensor cores align them all to the greatest and
keep some bits behind it: each of the addends may lose what is below. The simulator adds exactly. Both round the sum to
the accumulator's type.
"""

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
# Depth of an instruction, and bits that it keeps behind the greatest addend: "at least single precision" (PTX ISA), and
# 13 of products of 8 bits by `wgmma`. Without `wgmma` these are multiplied as halves.
DEPTHS = {"float16": 16, "bfloat16": 16, "float32": 8, "float8_e4m3": 32, "float8_e5m2": 32}
KINDS = {"float8_e4m3": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


def unit(values, bits):
    """The last of `bits` bits behind the first one of each value."""
    return np.ldexp(1.0, np.frexp(values)[1] - 1 - bits)


def roundings(a, b, depth, bits, result_bits):
    """What all roundings of `a @ b.T` may come to, and by how much the last instruction changes the sum."""
    total, bound = np.zeros((M, N)), np.zeros((M, N))
    for k in range(0, a.shape[1], depth):
        products = a[:, None, k : k + depth] * b[None, :, k : k + depth]
        greatest = np.maximum(np.abs(total) + bound, np.abs(products).max(axis=2))
        step = products.sum(axis=2)
        total = total + step
        bound += (depth + 1) * unit(greatest, bits) + 2 * unit(np.abs(total) + bound, result_bits)
    return bound, np.abs(step)


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
    depth, bits = DEPTHS[dtype], 13 if dtype in KINDS and chip == "sm_90a" else 23
    if dtype in KINDS and chip != "sm_90a":
        depth = 16
    K = DEPTHS[dtype] * depths
    torch.manual_seed(K)
    a, b = (torch.randn(n, K).to(KINDS.get(dtype) or getattr(torch, dtype)) for n in (M, N))
    if dtype == "float32":
        # Without the bits that `tfloat32` drops.
        a, b = ((x.view(torch.int32) & ~0x1FFF).view(torch.float32) for x in (a, b))
    program = gemm(M, N, K, dtype, nt=True, relu=False, tile=(64, N, min(K, 64)), threads=128, out=acc, acc=acc)
    found, simulated = both(program, chip, a, b, getattr(torch, acc))
    bound, last = roundings(a.double().numpy(), b.double().numpy(), depth, bits, 10 if acc == "float16" else 23)
    assert (np.abs(found.astype(np.float64) - simulated) <= bound).all()
    # One instruction less would not have been taken for a rounding.
    assert (last > bound).mean() > 0.5


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
