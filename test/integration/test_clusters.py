"""Blocks of a cluster that reach into each other's shared memory, on a GPU: programs that `test/python` runs."""

import pytest

from cluster_programs import CASES, check

pytestmark = pytest.mark.usefixtures("backend")


@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name, run):
    import torch

    if name != "without_clusters" and torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("clusters need compute capability 9.0")
    check(name, run)
