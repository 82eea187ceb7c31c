"""Functions of programs' own sources in CUDA C++, on a GPU: programs that `test/python` only compiles."""

import numpy as np
import pytest

from external_programs import CASES

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name, run):
    case = CASES[name]
    expected = case.expected(*case.inputs)
    result = np.zeros(expected.shape, str(case.program.parameters[-1].type.dtype))
    run(case.program, *case.inputs, result)
    np.testing.assert_array_equal(result, expected)
