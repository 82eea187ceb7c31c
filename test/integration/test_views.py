"""Copies through views of tensors, on a GPU: programs that `test/python` runs on the CPU."""

import pytest

from view_programs import CASES, check

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name, run):
    check(name, run)
