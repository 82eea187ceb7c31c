"""Fragments wherever a program touches them: right on the CPU, and accepted for GPUs."""

import pathlib
import sys

import numpy as np
import pytest

import tilec

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
import fragment_kernels


@pytest.mark.parametrize("name", fragment_kernels.CASES)
def test_fragments(name):
    program, inputs, expected = fragment_kernels.CASES[name]()
    result = np.full_like(expected, 77)
    tilec.compile(program, target="cpu")(*inputs, result)
    np.testing.assert_array_equal(result, expected)
    for chip in ("sm_80", "sm_90a"):
        assert tilec.compile(program, target=chip, assembler="none").get_ptx()


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", [name for name in fragment_kernels.CASES if name.startswith("read_beside")])
def test_elements_beside_those_of_an_iteration(name, chip):
    program, inputs, expected = fragment_kernels.CASES[name]()
    result = np.full_like(expected, 77)
    tilec.compile(program, target=chip, backend="sim")(*inputs, result)
    np.testing.assert_array_equal(result, expected)
