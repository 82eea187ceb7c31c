"""Products of `float64` by the tensor cores."""

import re

import pytest

import tilec
from double_programs import CASES, RESTARTS, check, check_restart, product, restarted


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


@pytest.mark.parametrize("how", RESTARTS)
@pytest.mark.parametrize(("chip", "backend"), [("cpu", None), ("sm_90a", "sim")])
def test_sums_that_begin_anew(chip, backend, how):
    check_restart(how, lambda program, *arguments: tilec.compile(program, target=chip, backend=backend)(*arguments))


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("how", RESTARTS)
def test_no_instruction_clears_sums(how, backend):
    """ptxas 13.0 copies the second sum of four over the others where `DMMA.16x8x4 R8, R4, R18, R8, UP0` clears them."""
    from tilec.toolkit import find_tool

    if find_tool("nvdisasm") is None and find_tool("cuobjdump") is None:
        pytest.skip("there is no disassembler here")
    products = re.findall(r"\bDMMA\.[^;]*", tilec.compile(restarted(how), target="sm_90a", backend=backend).get_sass())
    assert products
    assert not [product for product in products if "UP" in product]
