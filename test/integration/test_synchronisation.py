"""Races on a GPU that a missing barrier, wait or fence leaves: many runs of programs whose statements hand data to each
other in shared and in device memory."""

import pytest

import tilec
from synchronisation_programs import (
    BLOCKS,
    COLUMNS,
    ROWS,
    STEPS,
    K,
    counted,
    flipped,
    operand_after_loop,
    read_before_store,
    transposed,
)

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

RUNS = 200


def test_two_tiles_of_one_parallel_loop():
    kernel = tilec.compile(transposed)
    for _ in range(RUNS):
        a = torch.randn(64, 64, device="cuda")
        b = torch.full_like(a, float("nan"))
        kernel(a, b)
        assert torch.equal(b, a.t())


def test_device_memory_within_a_block():
    kernel = tilec.compile(flipped)
    for _ in range(RUNS):
        x = torch.randn(4096, device="cuda")
        a, b = torch.zeros_like(x), torch.zeros_like(x)
        kernel(x, a, b)
        assert torch.equal(b, (x + 1).flip(0))


def test_one_element_that_a_block_adds_to():
    kernel = tilec.compile(counted)
    for _ in range(RUNS):
        c = torch.zeros(1, device="cuda")
        kernel(c)
        assert c.item() == 100


def test_operands_of_the_last_gemm_under_way():
    kernel = tilec.compile(operand_after_loop)
    q = torch.randint(-2, 3, (BLOCKS * ROWS, K), device="cuda").half()
    b = torch.randint(-2, 3, (STEPS * K, COLUMNS), device="cuda").half()
    expected = (q.float() @ b.float().view(STEPS, K, COLUMNS).sum(0)).half()
    for _ in range(RUNS):
        c = torch.zeros(BLOCKS * ROWS, COLUMNS, device="cuda", dtype=torch.float16)
        kernel(q, b, c)
        assert torch.equal(c, expected)


def test_a_tile_that_threads_wrote_and_the_copy_engine_stores():
    kernel = tilec.compile(read_before_store)
    for _ in range(RUNS):
        a = torch.randn(BLOCKS * 128, 64, device="cuda").half()
        r, c = torch.zeros(BLOCKS * 128, device="cuda"), torch.zeros_like(a)
        kernel(a, r, c)
        assert torch.equal(c, a * 2)
