"""Pipelines written by hand, on a GPU: programs that `test/python` runs on the CPU."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tilec

sys.path.append(str(Path(__file__).parents[1] / "python"))
from pipelines_by_hand import CASES, check

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name):
    def run(program, *arguments):
        tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
        tilec.compile(program)(*tensors)
        for array, tensor in zip(arguments, tensors, strict=True):
            if isinstance(array, np.ndarray):
                array[...] = tensor.cpu().numpy()

    check(name, run)
