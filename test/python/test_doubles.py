"""Products of `float64` by the tensor cores."""

import pytest

import tilec
from double_programs import CASES, check, product


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", ["square", "ragged_at"])
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize(("chip", "shape"), [("sm_80", "m8n8k4"), ("sm_90a", "m16n8k4")])
def test_instructions(backend, chip, shape):
    text = tilec.compile(product(*CASES["square_bt"]), target=chip, backend=backend).get_ptx()
    assert f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64" in text
    assert "fma.rn.f64" not in text
