"""Products of slices of shared tiles (semantics T1)."""

import re

import numpy as np
import pytest

import tilec
from slice_programs import CASES, IN_PLACE

CHIPS = ["sm_80", "sm_89", "sm_90", "sm_90a"]


def run(name, **options):
    program, arguments, expected = CASES[name]
    result = np.zeros(expected.shape, expected.dtype)
    tilec.compile(program, **options)(*arguments, result)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    run(name, target="cpu")


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    run(name, target=chip, backend="sim")


@pytest.mark.parametrize("name", CASES)
def test_gpus_take_it_too(name):
    for chip in CHIPS:
        tilec.compile(CASES[name][0], target=chip)


@pytest.mark.parametrize("name", CASES)
def test_checks_find_nothing(name):
    """Not of what is beside a slice, which nobody may have written."""
    run(name, target="cpu", checks=True)


@pytest.mark.parametrize("name", CASES)
def test_what_is_read_in_place(name):
    text = tilec.compile(CASES[name][0], target="cpu").get_mlir()
    gemms = re.findall(r"tl\.gemm .*", text)
    assert gemms
    assert all(("a_at" in gemm or "b_at" in gemm) == (name in IN_PLACE) for gemm in gemms)
