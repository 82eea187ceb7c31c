"""Kernels of two versions: for aligned rows, and for any (`tl-version-kernels`)."""

import pytest

import tilec
from tilec.backends import sim
from version_programs import CASES, check


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_a_call_runs_the_version_for_its_rows(name):
    program, make, shapes = CASES[name]
    kernel = tilec.compile(program, target="sm_90a", backend="sim")
    for shape, is_aligned in shapes.items():
        counts = sim.count(kernel, *make(*shape)[0])
        ran = {launch.kernel for launch in counts.launches if launch.blocks}
        assert ran == {f"{name}_kernel" if is_aligned else f"{name}_kernel_unaligned"}, shape


def test_aligned_rows_are_copied_in_bulk():
    ptx = tilec.compile(CASES["product"][0], target="sm_90a").get_ptx()
    aligned, unaligned = ptx.split(".entry product_kernel_unaligned(")
    assert "cp.async.bulk.tensor" in aligned
    assert "cp.async.bulk.tensor" not in unaligned
