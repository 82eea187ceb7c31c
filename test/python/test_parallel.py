"""Bodies of `T.Parallel` on the CPU."""

import numpy as np
import pytest

import tilec
from parallel_bodies import CASES


@pytest.mark.parametrize("name", CASES)
def test_body(name):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target="cpu")(*case.arguments)
    arrays = [a for a in case.arguments if isinstance(a, np.ndarray)]
    for found, expected in zip(arrays, case.expected, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_what_the_cpu_takes_a_gpu_takes(name, chip):
    case = CASES[name](np.random.default_rng(0))
    tilec.compile(case.program, target=chip, assembler="none")
