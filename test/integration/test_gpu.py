"""Numerics on a GPU: fresh random data, poisoned outputs, float64 references.

Skipped where no GPU answers. Every kernel runs on the instruction paths that the GPU has: its own chip with its
specific features (`sm_90a`: bulk copies and wgmma) and the plain one (`sm_90`: cp.async and mma.sync); and on each code
generator.
"""

import functools
import itertools
import os
import random
import warnings

import numpy as np
import pytest

import kernels
import tilec
import tilec.language as T
from kernels import tf32_ends

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")

MAJOR, MINOR = torch.cuda.get_device_capability()
CHIPS = ["sm_90a", "sm_90"] if (MAJOR, MINOR) == (9, 0) else [f"sm_{MAJOR}{MINOR}"]
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "int8": torch.int8}
ULP = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
# Half of the smallest subnormal: what rounding costs near zero.
TINY = {"float16": 2.0**-25, "bfloat16": 2.0**-134, "float32": 2.0**-150}

random.seed(os.environ.get("TL_TEST_SEED"))
SIZES = [128, 1000, 4096]
SHAPES = list(itertools.product(SIZES, SIZES, SIZES))
SHAPES += [tuple(random.randrange(33, 1500) for _ in range(3)) for _ in range(10)]


def compiled(kernel, *args, target, **options):
    """The kernel, after a look at what the assembler said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as C7510: wgmma that waits for itself
        result = tilec.compile(kernel(*args, **options), target=target)
    resources = result.compile_info["kernels"][0].get("resources", {})
    assert {resources.get(name, 0) for name in ("spill_stores", "spill_loads", "stack")} == {0}, resources
    return result


def check_gemm(C, A, B, dtype, relu):
    """|C - ref| <= u |ref| + K 2^-23 sum |a| |b|, u being the output's unit."""
    A, B = A.double(), B.double()
    reference = A @ B
    bound = ULP[dtype] * reference.abs() + TINY[dtype] + A.shape[1] * 2.0**-23 * (A.abs() @ B.abs())
    if relu:
        reference = reference.clamp(min=0)
    error = (C.double() - reference).abs()
    assert torch.isfinite(C).all()
    assert (error <= bound).all(), f"worst {(error / bound).max().item():.2f} times the bound"


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("nt", [False, True], ids=["NN", "NT"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_gemm_relu(chip, dtype, nt, shape):
    M, N, K = shape
    torch_dtype = DTYPES[dtype]
    A = torch.randn(M, K, device="cuda").to(torch_dtype)
    B = torch.randn(*((N, K) if nt else (K, N)), device="cuda").to(torch_dtype)
    C = torch.full((M, N), float("nan"), device="cuda", dtype=torch_dtype)
    # Without wgmma the operands of a 128 x 128 tile take registers too: half as many accumulators each.
    threads = 128 if chip == "sm_90a" else 256
    compiled(kernels.gemm, M, N, K, dtype, nt=nt, threads=threads, target=chip)(A, B, C)
    check_gemm(C, A, B.t() if nt else B, dtype, relu=True)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    ("tile", "threads", "stages"),
    [((128, 256, 64), 256, 4), ((64, 64, 32), 128, 2), ((256, 128, 64), 256, 3), ((128, 128, 128), 256, 2)],
)
@pytest.mark.parametrize("nt", [False, True], ids=["NN", "NT"])
def test_gemm_tiles(chip, tile, threads, stages, nt):
    if chip == "sm_90" and tile[0] * tile[1] // threads > 128:
        pytest.skip("more accumulators than registers")
    M, N, K = 512, 768, 512
    A = torch.randn(M, K, device="cuda").bfloat16()
    B = torch.randn(*((N, K) if nt else (K, N)), device="cuda").bfloat16()
    C = torch.full((M, N), float("nan"), device="cuda", dtype=torch.bfloat16)
    compiled(kernels.gemm, M, N, K, "bfloat16", nt=nt, tile=tile, threads=threads, stages=stages, target=chip)(A, B, C)
    check_gemm(C, A, B.t() if nt else B, "bfloat16", relu=True)


@pytest.mark.parametrize("chip", CHIPS)
def test_pipeline_inside_a_loop(chip):
    """The second run of a pipelined loop meets what the first one left behind."""
    M, N, K, block = 256, 256, 1024, 128

    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(N // block, M // block, threads=256) as (bx, by):
            As = T.alloc_shared((block, 64), "float16")
            Bs = T.alloc_shared((64, block), "float16")
            acc = T.alloc_fragment((block, block), T.float32)
            T.clear(acc)
            for part in T.serial(4):
                for k in T.Pipelined(4, num_stages=3):
                    T.copy(A[by * block, part * 256 + k * 64], As)
                    T.copy(B[part * 256 + k * 64, bx * block], Bs)
                    T.gemm(As, Bs, acc)
            T.copy(acc, C[by * block, bx * block])

    A, B = torch.randn(M, K, device="cuda").half(), torch.randn(K, N, device="cuda").half()
    C = torch.full((M, N), float("nan"), device="cuda", dtype=torch.float16)
    tilec.compile(main, target=chip)(A, B, C)
    check_gemm(C, A, B, "float16", relu=False)


@pytest.mark.parametrize("chip", CHIPS)
def test_gemm_tf32(chip):
    M, N, K = 512, 384, 256
    A, B = torch.randn(M, K, device="cuda"), torch.randn(N, K, device="cuda")
    C = torch.full((M, N), float("nan"), device="cuda")
    threads = 128 if chip == "sm_90a" else 256
    program = functools.partial(compiled, kernels.gemm, M, N, K, "float32", nt=True, relu=False)
    program(tile=(128, 128, 32), threads=threads, target=chip)(A, B, C)
    reference, scale = A.double() @ B.t().double(), A.double().abs() @ B.t().double().abs()
    # Each operand is rounded to 10 bits of fraction.
    bound = (2 * 2.0**-11 + K * 2.0**-23) * scale
    assert ((C.double() - reference).abs() <= bound).all()


@pytest.mark.parametrize("chip", CHIPS)
def test_rounding_to_tf32_at_its_ends(chip):
    a, expected = tf32_ends()
    A, B = torch.from_numpy(a).cuda(), torch.zeros(64, 64, device="cuda")
    B[:, 0] = 1
    C = torch.full((64, 64), float("nan"), device="cuda")
    compiled(kernels.gemm, 64, 64, 64, "float32", nt=True, relu=False, tile=(64, 64, 32), threads=128, target=chip)(
        A, B, C
    )
    np.testing.assert_array_equal(C[: expected.size, 5].cpu().numpy(), expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("threads", [128, 256])
def test_every_tile_of_a_pipeline_is_rounded_to_tf32(chip, threads):
    """Also those that are fetched in the loop, behind the product that reads the tiles before them."""
    ends, expected = tf32_ends()
    A, B = torch.zeros(64, 256, device="cuda"), torch.zeros(64, 256, device="cuda")
    A[:, 224] = torch.from_numpy(ends[:, 0].copy()).cuda()
    B[:, 224] = 1
    C = torch.full((64, 64), float("nan"), device="cuda")
    compiled(
        kernels.gemm, 64, 64, 256, "float32", nt=True, relu=False, tile=(64, 64, 32), threads=threads, target=chip
    )(A, B, C)
    np.testing.assert_array_equal(C[: expected.size, 5].cpu().numpy(), expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("written", ["ahead", "by_copies", "by_a_loop", "from_a_fragment"])
def test_factors_are_rounded_to_tf32_however_they_were_written(chip, written):
    a, expected = tf32_ends()
    A, B = torch.from_numpy(a).cuda(), torch.zeros(64, 64, device="cuda")
    B[:, 0] = 1
    C, D = (torch.full((64, 64), float("nan"), device="cuda") for _ in range(2))
    compiled(kernels.gemm_of_float32, written, target=chip)(A, B, C, D)
    np.testing.assert_array_equal(C[: expected.size, 5].cpu().numpy(), expected)
    np.testing.assert_array_equal(D.cpu().numpy(), a)
    B[:, 0] = torch.from_numpy(a[:, 0])
    A[:] = 0
    A[:, 0] = 1
    compiled(kernels.gemm_of_float32, written, target=chip)(A, B, C, D)
    np.testing.assert_array_equal(C[5, : expected.size].cpu().numpy(), expected)


@pytest.mark.parametrize("chip", CHIPS)
def test_gemm_int8(chip):
    M, N, K = 512, 384, 256
    A = torch.randint(-128, 128, (M, K), device="cuda", dtype=torch.int8)
    B = torch.randint(-128, 128, (N, K), device="cuda", dtype=torch.int8)
    C = torch.full((M, N), -12345, device="cuda", dtype=torch.int32)
    compiled(
        kernels.gemm, M, N, K, "int8", nt=True, relu=False, tile=(128, 128, 64), out=T.int32, acc=T.int32, target=chip
    )(A, B, C)
    assert torch.equal(C.double(), A.double() @ B.t().double())


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("n", [1, 1000, 4096, 1_000_003])
def test_elementwise(chip, dtype, n):
    A, B = (torch.randn(n, device="cuda").to(DTYPES[dtype]) for _ in range(2))
    C = torch.full((n,), float("nan"), device="cuda", dtype=DTYPES[dtype])
    compiled(kernels.axpy, n, dtype, target=chip)(A, B, C)
    reference = A.double() * 2 + B.double()
    bound = 2 * ULP[dtype] * ((2 * A.double()).abs() + B.double().abs()) + TINY[dtype]
    assert ((C.double() - reference).abs() <= bound).all()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    "shape", [(128, 128), (1000, 1000), (37, 4096), (513, 777)], ids=lambda s: "x".join(map(str, s))
)
@pytest.mark.parametrize("kernel", ["softmax", "rms_norm"])
def test_rows(chip, dtype, shape, kernel):
    M, N = shape
    A = (torch.randn(M, N, device="cuda") * 3).to(DTYPES[dtype])
    C = torch.full((M, N), float("nan"), device="cuda", dtype=DTYPES[dtype])
    # 64 numbers a thread: 128 would not leave room for what exp computes on the way.
    compiled(getattr(kernels, kernel), M, N, dtype, rows=2, target=chip)(A, C)
    x = A.double()
    reference = torch.softmax(x, 1) if kernel == "softmax" else x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)
    # The output's unit, and some f32 roundings of exp, sum and quotient.
    bound = ULP[dtype] * reference.abs() + TINY[dtype] + 2e-6 * reference.abs()
    error = (C.double() - reference).abs()
    assert (error <= bound).all(), (error / bound).max().item()


@pytest.mark.parametrize("assembler", ["nvjitlink", "ptxas", "driver"])
def test_assemblers(assembler):
    M, N, K = 256, 128, 192
    A, B = torch.randn(M, K, device="cuda").half(), torch.randn(K, N, device="cuda").half()
    C = torch.full((M, N), float("nan"), device="cuda", dtype=torch.float16)
    kernel = tilec.compile(kernels.gemm(M, N, K, "float16"), target=CHIPS[0], assembler=assembler)
    assert kernel.file("kernel.cubin")[:4] == b"\x7fELF"
    kernel(A, B, C)
    check_gemm(C, A, B, "float16", relu=True)


def test_ptx_alone_is_compiled_by_the_driver():
    A, B = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    C = torch.full((1000,), float("nan"), device="cuda")
    tilec.compile(kernels.axpy(1000, "float32"), target=CHIPS[0], assembler="none")(A, B, C)
    assert torch.equal(C, A * 2 + B)


def test_kernel_for_another_gpu():
    kernel = tilec.compile(kernels.axpy(1000, "float32"), target="sm_100a")
    x = torch.zeros(1000, device="cuda")
    with pytest.raises(tilec.errors.TLError, match="sm_100a"):
        kernel(x, x, x)


def test_dynamic_shapes():
    m, n = T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def double(A: T.Tensor((m, n), "float32"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 128), T.ceildiv(m, 8), threads=128) as (bx, by):
            for i, j in T.Parallel(8, 128):
                C[by * 8 + i, bx * 128 + j] = A[by * 8 + i, bx * 128 + j] * 2

    kernel = tilec.compile(double, target=CHIPS[0])
    for shape in [(1, 1), (7, 129), (300, 1000)]:
        A = torch.randn(*shape, device="cuda")
        C = torch.full(shape, float("nan"), device="cuda")
        kernel(A, C)
        assert torch.equal(C, A * 2)
    kernel(torch.empty(0, 5, device="cuda"), torch.empty(0, 5, device="cuda"))


def test_arguments_are_checked():
    kernel = tilec.compile(kernels.axpy(1000, "float32"), target=CHIPS[0])
    good = torch.zeros(1000, device="cuda")
    for bad in [
        good[:999],
        good.half(),
        good.cpu(),
        torch.zeros(2000, device="cuda")[::2],
        torch.zeros(1001, device="cuda")[1:],
    ]:
        with pytest.raises((ValueError, TypeError)):
            kernel(good, bad, good)
    with pytest.raises((ValueError, TypeError)):
        kernel(good, good)


def test_current_stream():
    """A launch goes to the caller's stream: after the work queued there, not after that of the default stream."""
    kernel = tilec.compile(kernels.axpy(1 << 20, "float32"), target=CHIPS[0])
    A, B = (torch.zeros(1 << 20, device="cuda") for _ in range(2))
    C = torch.full_like(A, float("nan"))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        A.fill_(3)
        kernel(A, B, C)
    stream.synchronize()
    assert torch.equal(C, torch.full_like(C, 6))


def test_cuda_graph():
    kernel = tilec.compile(kernels.gemm(256, 256, 256, "float16"), target=CHIPS[0])
    A, B = torch.randn(256, 256, device="cuda").half(), torch.randn(256, 256, device="cuda").half()
    C = torch.full_like(A, float("nan"))
    kernel(A, B, C)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(A, B, C)
    A.copy_(torch.randn(256, 256, device="cuda"))
    C.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    check_gemm(C, A, B, "float16", relu=True)


def test_beside_triton():
    """Triton brings an LLVM of its own into the process."""
    triton = pytest.importorskip("triton")
    tl = triton.language

    @triton.jit
    def add(x, y, n, block: tl.constexpr):
        i = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

    x = torch.randn(1000, device="cuda")
    y, z = torch.empty_like(x), torch.empty_like(x)
    add[(8,)](x, y, 1000, 128)
    tilec.compile(kernels.axpy(1000, "float32"), target=CHIPS[0])(x, y, z)
    assert torch.equal(z, x * 2 + y)


@pytest.mark.skipif(MAJOR < 9, reason="clusters need compute capability 9.0")
def test_cluster_launch():
    n = 4096

    @T.prim_func
    def double(A: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(n // 512, threads=128, cluster=2) as bx:
            for i in T.Parallel(512):
                C[bx * 512 + i] = A[bx * 512 + i] * 2

    A = torch.randn(n, device="cuda")
    C = torch.full_like(A, float("nan"))
    tilec.compile(double, target=CHIPS[0])(A, C)
    assert torch.equal(C, A * 2)
