"""Kernels through CuTe DSL on a GPU.

CuTe DSL compiles them here, or has compiled them elsewhere: `TL_CUTEDSL_PREBUILT` names what cutedsl_kernels.py wrote.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import cutedsl_kernels
import tilec
from tilec import _tl, backends
from tilec.backends import cutedsl

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

PREBUILT = os.environ.get("TL_CUTEDSL_PREBUILT")
BACKEND = backends.find("cutedsl")
if PREBUILT is None and not BACKEND.is_available():
    pytest.skip("there is no CuTe DSL, and TL_CUTEDSL_PREBUILT names no kernels", allow_module_level=True)


def loaded(function):
    """Returns what calls a function with tensors of PyTorch."""
    if PREBUILT is None:
        return tilec.compile(function, backend="cutedsl")
    folder = Path(PREBUILT) / function.name
    images = cutedsl._unpack((folder / "kernels.zip").read_bytes())
    kernel = tilec.compile(function, target=tilec.targets.gpu_chip())
    return BACKEND.launcher(kernel, _tl.load_cuda((folder / "plan.json").read_text(), images))


@pytest.mark.parametrize("function", cutedsl_kernels.KERNELS, ids=lambda f: f.name)
def test_numerics(function):
    arguments, expected, tolerance = cutedsl_kernels.problem(function.name, np.random.default_rng())
    tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
    if function.name == "rmsnorm":
        tensors[0] = tensors[0].bfloat16()
    loaded(function)(*tensors)
    for place, values in expected.items():
        found = tensors[place].cpu().numpy().astype(np.float64)
        np.testing.assert_allclose(found, values, rtol=tolerance, atol=tolerance)


def test_results_are_those_of_nvptx():
    """Integers and copies bit by bit."""
    for function in (cutedsl_kernels.transpose, cutedsl_kernels.integers, cutedsl_kernels.column_sums):
        arguments, expected, _ = cutedsl_kernels.problem(function.name, np.random.default_rng(1))
        place = next(iter(expected))
        found = []
        for kernel in (loaded(function), tilec.compile(function)):
            tensors = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in arguments]
            kernel(*tensors)
            found.append(tensors[place])
        assert torch.equal(*found)
