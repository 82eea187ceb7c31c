"""Blocks that wait for each other, on a GPU: programs that `test/python` runs on the CPU."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from grid_programs import CASES, check

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name, run):
    check(name, run)


def test_more_blocks_than_a_gpu_holds(run):
    @T.prim_func
    def f(A: T.Tensor((1 << 20,), "int32")):
        with T.Kernel(1 << 20, threads=1024) as b:
            T.sync_grid()
            A[b] = b

    with pytest.raises(tilec.TLError):
        run(f, np.zeros(1 << 20, np.int32))
