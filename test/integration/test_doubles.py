"""Products of `float64`, on a GPU: programs that `test/python` runs in the simulator."""

import numpy as np
import pytest

from double_programs import CASES, RESTARTS, check, check_restart

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name, run):
    check(name, run)


@pytest.mark.parametrize("how", RESTARTS)
def test_sums_that_begin_anew(how, run):
    check_restart(how, run)


@pytest.mark.parametrize("name", ["square", "three_warps_at", "copies_bt_registers"])
def test_the_simulator_has_the_same_bits(name):
    import tilec

    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("no GPU of the chip that is simulated answers")
    found = []

    def on_both(program, *arguments):
        *inputs, result = arguments
        tensors = [torch.from_numpy(a).cuda() for a in arguments]
        tilec.compile(program)(*tensors)
        tilec.compile(program, target="sm_90a", backend="sim")(*inputs, result)
        found.append((tensors[-1].cpu().numpy(), result))

    check(name, on_both)
    ((one, other),) = found
    np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64))
