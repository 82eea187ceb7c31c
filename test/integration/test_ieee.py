"""Arithmetic of `float64` that says how it rounds, on a GPU (semantics C4)."""

import pytest

from ieee_programs import ARGUMENTS, check

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_on_a_gpu(name, run):
    check(name, run)
