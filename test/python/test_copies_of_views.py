"""Copies through views of tensors: of what is a box of the tensor too, and of what is none (`views.View.box_of`,
`RowBox.h`)."""

import random
import runpy

import numpy as np
import pytest

import tilec
from view_programs import CASES, CONVOLUTIONS, check, convolution


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_copy_engine_loads_what_is_a_box(name):
    """Weights and patches by the engine, unless a tile goes over the ends of the image's rows."""
    ptx = tilec.compile(convolution(*CONVOLUTIONS[name]), target="sm_90a").get_ptx()
    loads = "cp.async.bulk.tensor.4d.shared"
    assert (loads in ptx) == (name != "over the ends of rows")
    assert ("cp.async.cg.shared" in ptx) == (name == "over the ends of rows")


def _formula(rng, places):
    """Returns as many formulas of `i`, the row, and `b`, a tile, that mean the same in Python."""
    number = "i" if rng.random() < 0.2 else f"(b * {rng.choice([4, 8, 12, 16, 32, 48, 64])} + i)"
    radix = [rng.choice([2, 3, 4, 6, 8, 16]) for _ in range(places)]
    formulas = []
    for extent in radix:
        formulas.append(f"{number} % {extent}" if rng.random() < 0.9 else number)
        number = f"({number} // {extent})"
    formulas[-1] = number if rng.random() < 0.3 else formulas[-1]
    rng.random() < 0.1 and rng.shuffle(formulas)
    return [f"{f} + {rng.randrange(-2, 3)}" if rng.random() < 0.4 else f for f in reversed(formulas)]


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_any_formula(seed, tmp_path):
    """What is taken for a box has the rows that the formula says: whatever is carried in them."""
    rng = random.Random(seed)
    rows, places = rng.choice([8, 16, 24, 32, 64]), rng.choice([1, 2, 3])
    formulas = _formula(rng, places)
    shape = [rng.choice([2, 3, 5, 8, 16]) for _ in range(places)]
    text = f"""
import tilec.language as T

@T.prim_func
def f(A: T.Tensor({(*shape, 32)}, "float16"), R: T.Tensor((4, {rows}, 32), "float16")):
    with T.Kernel(4, threads=64) as b:
        S = T.alloc_shared(({rows}, 32), "float16")
        for k in T.Pipelined(2, num_stages=2):
            for i, j in T.Parallel({rows}, 32):
                S[i, j] = A[{", ".join(formulas)}, j]
            for i, j in T.Parallel({rows}, 32):
                R[b, i, j] = S[i, j]
"""
    a = np.random.default_rng(seed).standard_normal((*shape, 32)).astype(np.float16)
    expected = np.zeros((4, rows, 32), np.float16)
    for b in range(4):
        for i in range(rows):
            place = [eval(f, {"i": i, "b": b}) for f in formulas]
            if all(0 <= p < e for p, e in zip(place, shape, strict=True)):
                expected[b, i] = a[tuple(place)]
    r = np.full_like(expected, np.nan)
    file = tmp_path / "program.py"
    file.write_text(text)
    tilec.compile(runpy.run_path(str(file))["f"], target="sm_90a", backend="sim")(a, r)
    np.testing.assert_array_equal(r, expected)
