"""Loops that copy rows from where a table or a formula says (`tl-find-gathers`)."""

import pytest

import tilec
from gather_programs import CASES, attended, check


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


def test_rows_go_past_the_registers():
    for chip in ("sm_80", "sm_90a"):
        assert "cp.async.cg.shared.global" in tilec.compile(attended, target=chip).get_ptx()
