"""Floats of 8 bits on a GPU: all conversions of numbers of 16 bits, and products in any mix, against `float64`."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from small_float_extremes import assert_extremes, assert_own_numbers, extremes_of_pairs, own_numbers, pairs
from small_float_gemms import TYPES, added_to, least_sums, product, promoted

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")

MAJOR, MINOR = torch.cuda.get_device_capability()
CHIPS = ["sm_90a", "sm_90"] if (MAJOR, MINOR) == (9, 0) else [f"sm_{MAJOR}{MINOR}"]
KINDS = {"float8_e4m3": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}
GREATEST = {"float8_e4m3": 448.0, "float8_e5m2": 57344.0}


def conversion(source, target, n):
    @T.prim_func
    def f(X: T.Tensor((n,), source), Y: T.Tensor((n,), target)):
        with T.Kernel(n // 256, threads=128) as b:
            for i in T.Parallel(256):
                Y[b * 256 + i] = T.cast(X[b * 256 + i], target)

    return f


def assert_same(found, expected):
    is_number = ~expected.float().isnan()
    assert torch.equal(~found.float().isnan(), is_number)
    assert torch.equal(found.view(torch.uint8)[is_number], expected.view(torch.uint8)[is_number])


@pytest.mark.parametrize("small", TYPES)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_numbers_become_small(small, source):
    bits = torch.arange(65536, dtype=torch.int32, device="cuda")
    if source == "float32":
        # Random ones, and those around all that are half way between two small numbers.
        codes = torch.arange(256, dtype=torch.uint8).view(KINDS[small]).float()
        codes = codes[codes.isfinite()].sort().values
        middles = (codes[1:] + codes[:-1]) / 2
        ends = [torch.nextafter(middles, torch.tensor(e)) for e in (-torch.inf, torch.inf)]
        random = torch.randint(-(2**31), 2**31, (65536,)).to(torch.int32).view(torch.float32)
        x = torch.cat([random, torch.cat([middles, *ends]).repeat(6)[: 4 * 256]]).cuda()
    else:
        x = bits.to(torch.int16).view(getattr(torch, source))
    y = torch.zeros(x.numel(), device="cuda", dtype=torch.uint8).view(KINDS[small])
    tilec.compile(conversion(source, small, x.numel()), target=CHIPS[0])(x, y)
    assert_same(y, x.float().clamp(-GREATEST[small], GREATEST[small]).to(KINDS[small]))


@pytest.mark.parametrize("small", TYPES)
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32"])
def test_small_numbers_become_others(small, target):
    x = torch.arange(256, device="cuda").to(torch.uint8).view(KINDS[small])
    y = torch.zeros(256, device="cuda", dtype=getattr(torch, target))
    tilec.compile(conversion(small, target, 256), target=CHIPS[0])(x, y)
    torch.testing.assert_close(y, x.to(y.dtype), rtol=0, atol=0, equal_nan=True)


def check(C, A, B, steps):
    """Tensor cores keep some 14 bits of the greatest of the products that they add up."""
    A, B = A.double(), B.double()
    bound = steps * 2.0**-13 * (A.abs() @ B.abs().T)
    assert (C.double() - A @ B.T).abs().le(bound).all()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("a", "b"), itertools.product(TYPES, TYPES))
@pytest.mark.parametrize("turns", itertools.product((False, True), repeat=2))
def test_products(chip, a, b, turns):
    M, N, K = 304, 272, 416
    A, B = torch.randn(M, K, device="cuda").to(KINDS[a]), torch.randn(N, K, device="cuda").to(KINDS[b])
    C = torch.full((M, N), float("nan"), device="cuda")

    def turned(x):
        return x.view(torch.uint8).t().contiguous().view(x.dtype)

    kernel = tilec.compile(product(M, N, K, a, b, tile=(128, 64, 64), turn_a=turns[0], turn_b=turns[1]), target=chip)
    kernel(turned(A) if turns[0] else A, B if turns[1] else turned(B), C)
    check(C, A, B, K // 32)


@pytest.mark.skipif("sm_90a" not in CHIPS, reason="only wgmma adds them up so")
def test_sums_in_a_second_accumulator_are_more_exact():
    M, N, K = 256, 256, 8192
    A, B = (torch.randn(n, K, device="cuda").to(torch.float8_e4m3fn) for n in (M, N))
    errors = []
    for program in (product, promoted):
        C = torch.full((M, N), float("nan"), device="cuda")
        tilec.compile(program(M, N, K, *TYPES[:1] * 2, tile=(64, 64, 128)), target="sm_90a")(A, B, C)
        errors.append((C.double() - A.double() @ B.double().T).square().mean().sqrt().item())
    assert 8 * errors[1] < errors[0]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("small", KINDS)
def test_pairs_that_turn_out_to_be_zero(small, chip):
    """ptxas 13.0 made a small number of the upper pair of four that a step of an unrolled loop finds to be zeros."""

    @T.prim_func
    def f(X: T.Tensor((64, 16), "float32"), A: T.Tensor((56, 64), small), Y: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128) as b:
            S = T.alloc_shared((32, 16), "float32")
            x = T.alloc_fragment((64, 16), "float32")
            total = T.alloc_fragment((64, 32), "float32")
            T.clear(total)
            for k in T.Pipelined(2, 7, num_stages=2):
                T.copy(X, x)
                T.copy(A[b, k * 16], S)
                T.gemm(x, S, total, transpose_B=True)
                for i, j in T.Parallel(12, 2):
                    S[i, j] = T.Select(k > 3, X[k + i, j], 1.0)
            T.copy(total, Y)

    x = torch.randint(-8, 8, (64, 16), device="cuda").float()
    a = torch.randint(-8, 8, (56, 64), device="cuda").float().to(KINDS[small])
    y = torch.full((64, 32), torch.nan, device="cuda")
    tilec.compile(f, target=chip)(x, a, y)
    part = a[:32].float()
    torch.testing.assert_close(y, x @ (part[:, 32:48] + part[:, 48:]).T, rtol=0, atol=0)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("a", "b"), itertools.product(TYPES, TYPES))
def test_the_least_sums(a, b, chip):
    D, kept = (torch.from_numpy(x).cuda() for x in least_sums())
    A = torch.zeros(64, 32, device="cuda").to(KINDS[a])
    B = torch.ones(16, 32, device="cuda").to(KINDS[b])
    C = torch.full((64, 16), torch.nan, device="cuda")
    tilec.compile(added_to(a, b), target=chip)(A, B, D, C)
    assert torch.equal(C, kept if chip == "sm_90a" else D)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("small", TYPES)
def test_the_greater_and_the_smaller_of_every_pair(small, chip):
    a, b = (torch.from_numpy(x).cuda() for x in pairs())
    found = torch.full((3, a.numel()), 0x55, dtype=torch.uint8, device="cuda")
    tilec.compile(extremes_of_pairs(small), target=chip)(*(x.view(KINDS[small]) for x in (a, b, found)))
    assert_extremes(small, found.cpu().numpy())


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("small", TYPES)
def test_functions_that_give_numbers_of_the_type(small, chip):
    numpy_kind = ml_dtypes.float8_e5m2 if small == "float8_e5m2" else ml_dtypes.float8_e4m3fn
    a = torch.arange(256, dtype=torch.int32, device="cuda").to(torch.uint8)
    found = torch.full((7, 256), 0x55, dtype=torch.uint8, device="cuda")
    tilec.compile(own_numbers(small), target=chip)(*(x.view(KINDS[small]) for x in (a, found)))
    assert_own_numbers(numpy_kind, found.cpu().numpy().astype(np.uint8).view(numpy_kind))
