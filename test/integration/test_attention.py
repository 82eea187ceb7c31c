"""Attention on a GPU: the example, and shapes that do not divide into tiles."""

import importlib
import pathlib

import numpy as np
import pytest

import tilec

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

EXAMPLES = pathlib.Path(__file__).parents[2] / "python" / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("flash_attention")


def test_the_example(example):
    for case in example.CHECKED:
        case.check()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "kv_heads", "length", "dim"), [(4, 1, 77, 64), (2, 2, 1000, 128), (3, 3, 640, 64)])
def test_any_length(example, causal, heads, kv_heads, length, dim):
    q = torch.empty(2, heads, length, dim, dtype=torch.half, device="cuda")
    k, v = (torch.empty(2, kv_heads, length, dim, dtype=torch.half, device="cuda") for _ in range(2))
    for tensor in (q, k, v):
        tensor.normal_()
    program = example.flash_attention(2, heads, kv_heads, length, dim, causal)
    kernel = tilec.compile(program, out_idx=[3, 4], fast_math=True)
    expected, logs = example.forward(*(x.cpu().double().numpy() for x in (q, k, v)), causal)
    first, first_logs = kernel(q, k, v)
    np.testing.assert_allclose(first.cpu().numpy(), expected, rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(first_logs.cpu().numpy(), logs, rtol=1e-3, atol=1e-3)
    for _ in range(20):
        assert all(map(torch.equal, kernel(q, k, v), (first, first_logs)))
