"""The examples: right on the CPU and in the simulator, and made for Hopper without a warning or a spill."""

import importlib
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilec
from tilec.backends import sim

FOLDER = Path(__file__).parents[2] / "python" / "examples"
SCRIPTS = sorted(file for file in FOLDER.glob("*.py") if file.stem != "cases")
WITH_CASES = [file.stem for file in SCRIPTS if "\nCASES = " in file.read_text()]


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", WITH_CASES)
def test_right_on_the_cpu(name):
    for case in importlib.import_module(name).CHECKED:
        case.check(target="cpu")


@pytest.mark.parametrize("name", WITH_CASES)
def test_right_in_the_simulator(name, sim_seeds):
    """With nothing to report."""
    try:
        for case in importlib.import_module(name).CHECKED:
            for seed in sim_seeds:
                sim.set_options(seed=seed)
                case.check(target="sm_90a", backend="sim")
    finally:
        sim.set_options()


@pytest.mark.parametrize("name", WITH_CASES)
def test_made_for_hopper(name):
    case = importlib.import_module(name).CASES[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = tilec.compile(case.programs[0](), target="sm_90a", **case.options)
    assert kernel.n_spills == 0


@pytest.mark.parametrize("name", ["attention_backward", "attention_backward_sums"])
@pytest.mark.parametrize(("dtype", "size"), [("float16", 1.5), ("bfloat16", 3.6)])
def test_gradients_where_a_rows_sum_is_tiny(dtype, size, name):
    """Scores far below zero: what is behind the last column must not weigh more than they do."""
    from cases import dtype_of, normal

    module = importlib.import_module(name)
    shared = () if name == "attention_backward_sums" else (1,)  # heads of K and V
    case = module.case(1, 1, *shared, 72, 64, False, dtype)

    def inputs(random):
        kind, shape = dtype_of(dtype), (1, 1, 72, 64)
        q = np.full(shape, size, kind)
        k = (normal(random, shape, "float32", 0.05) - q.astype(np.float32)).astype(kind)
        v, d_out = (normal(random, shape, dtype) for _ in range(2))
        out, logs = module.forward(*(x.astype(np.float32) for x in (q, k, v)), False)
        return q, k, v, out.astype(kind), d_out, logs

    replace(case, inputs=inputs).check(target="cpu")


def test_shared_tiles_have_the_same_bits_in_any_order_of_blocks(sim_seeds):
    module = importlib.import_module("gemm_stream_k")
    kernel = tilec.compile(
        module.gemm_stream_k(130, 264, 456, "float16", False, 64, 64, 64, 3, 128, 7), target="sm_90a", backend="sim"
    )
    random = np.random.default_rng()
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((130, 456), (456, 264)))
    found = []
    try:
        for seed in sim_seeds:
            sim.set_options(seed=seed)
            found.append(np.empty((130, 264), np.float16))
            kernel(a, b, found[-1])
    finally:
        sim.set_options()
    for c in found[1:]:
        np.testing.assert_array_equal(c, found[0])


def test_keys_of_the_next_sequence_may_be_anything():
    case = importlib.import_module("attention_varlen").case((60, 60), 1, 1, 64, 1000, widths=[64])
    q, k, v, sinks, starts = case.inputs(np.random.default_rng())
    out = [np.zeros_like(q) for _ in range(2)]
    kernel = tilec.compile(case.programs[0](), target="cpu", **case.options)
    kernel(q, k, v, sinks, starts, out[0])
    k[60:] = np.nan
    kernel(q, k, v, sinks, starts, out[1])
    np.testing.assert_array_equal(out[0][:60], out[1][:60])
    assert np.isnan(out[1][60:].astype(np.float32)).all()


def test_greatest_of_rows_that_are_not_finite():
    module = importlib.import_module("top_k")
    nan, inf = np.nan, np.inf
    x = np.array([[1, -inf, -inf, 2], [-inf] * 4, [1, nan, 0, 2], [inf, nan, -inf, nan], [3] * 4], np.float32)
    values, places = np.empty((5, 3), np.float32), np.empty((5, 3), np.int32)
    tilec.compile(module.top_k(4, 3, 64), target="cpu")(x, values, places)
    np.testing.assert_array_equal(places, [[3, 0, 1], [0, 1, 2], [1, 3, 0], [1, 3, 0], [0, 1, 2]])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, axis=1))


@pytest.mark.parametrize(
    ("name", "program", "shapes", "message"),
    [
        (
            "mamba_chunk_scan",
            "chunk_scan",
            (1, 192, 96, 1, 2, 64, 32),
            "`chunk` is 96, and no multiple of `block_M`, 64",
        ),
        (
            "mamba_chunk_scan",
            "chunk_scan",
            (1, 200, 64, 1, 2, 64, 32),
            "`length` is 200, and no multiple of `chunk`, 64",
        ),
        (
            "block_sparse_attention",
            "block_sparse_attention",
            (1, 2, 200, 64, 2),
            "`length` is 200, and no multiple of 128",
        ),
    ],
)
def test_what_does_not_divide_is_refused(name, program, shapes, message):
    with pytest.raises(ValueError, match=message):
        getattr(importlib.import_module(name), program)(*shapes, "bfloat16")


def test_decoding_is_as_much_work_as_it_says():
    case = importlib.import_module("paged_decode").case(3, 8, 2, 64, 300, 1)
    lengths = [case.inputs(np.random.default_rng(seed))[-1] for seed in range(2)]
    np.testing.assert_array_equal(*lengths)
    assert case.flop == 4 * lengths[0].sum() * 8 * 64
    assert importlib.import_module("paged_decode").case(1, 8, 2, 64, 300, 1).flop == 4 * 300 * 8 * 64


def test_what_is_wrong_is_found():
    from cases import Case, normal

    def reference(a):
        return a.T + (a.T == a.max())

    right = importlib.import_module("transpose").case(8, 8, "float32")
    wrong = Case(
        right.name, right.programs, lambda random: [normal(random, (8, 8), "float32")], right.outputs, reference
    )
    with pytest.raises(AssertionError, match="transpose 8x8 float32"):
        wrong.check(target="cpu")


SHORT = [FOLDER / f"{name}.py" for name in ("elementwise", "embedding", "gemm_relu", "grouped_gemm_pointers")]


def run_script(python, file, **environment):
    program = (
        f"import runpy, sys; sys.path.insert(0, {str(FOLDER)!r}); runpy.run_path({str(file)!r}, run_name='__main__')"
    )
    assert "correct" in python(program, **environment)


@pytest.mark.parametrize(
    "file", [f for f in SCRIPTS if f.stem not in WITH_CASES] + [FOLDER / "embedding.py"], ids=lambda f: f.stem
)
def test_scripts(python, file):
    run_script(python, file, TL_TARGET="cpu")


@pytest.mark.parametrize("file", SHORT, ids=lambda f: f.stem)
def test_scripts_in_the_simulator(python, file, sim_seeds):
    for seed in sim_seeds:
        run_script(python, file, TL_TARGET="sm_90a", TL_EXECUTION_BACKEND="sim", TL_SIM_SEED=str(seed))


def test_all_are_listed():
    page = (FOLDER.parents[1] / "docs" / "Examples.md").read_text()
    assert [file.name for file in SCRIPTS if f"`{file.name}`" not in page] == []
