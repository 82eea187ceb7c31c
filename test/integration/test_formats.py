"""Types whose elements are only stored, on a GPU: programs that `test/python` runs on the CPU."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from format_programs import CASES, check, decoded

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name, run):
    check(name, run)


@pytest.mark.parametrize("name", ["float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_tensors_of_pytorch(name):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, name):
        pytest.skip(f"this PyTorch has no {name}")

    @T.prim_func
    def f(X: T.Tensor((256,), name), Y: T.Tensor((256,), "float32"), Z: T.Tensor((256,), name)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(256):
                Y[i] = X[i].astype("float32")
                Z[i] = X[i]

    codes = np.arange(256, dtype=np.uint8)
    x = torch.from_numpy(codes).cuda().view(getattr(torch, name))
    y, z = torch.zeros(256, device="cuda"), torch.zeros(256, device="cuda", dtype=torch.uint8).view(x.dtype)
    tilec.compile(f)(x, y, z)
    np.testing.assert_array_equal(y.cpu().numpy(), decoded(codes, name))
    np.testing.assert_array_equal(z.view(torch.uint8).cpu().numpy(), codes)
