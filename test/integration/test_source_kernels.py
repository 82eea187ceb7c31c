"""CUDA C++ kernels through `T.CUDASourceCodeKernel`: inline, from files, and beside tile kernels.

Compiled for `sm_90a` wherever there is a compiler; run, on fresh random data and into poisoned outputs, where a GPU
answers.
"""

import json
import os
import random

import pytest

import source_kernels
import tilec
import tilec.language as T
from tilec import _tl

TOOLS = json.loads(_tl.toolchain_info())
if not TOOLS["nvrtc"]["path"] and not TOOLS["nvcc"]["path"]:
    pytest.skip("there is no compiler of CUDA C++", allow_module_level=True)

try:
    import torch

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False

pytestmark = pytest.mark.usefixtures("backend")
on_gpu = pytest.mark.skipif(not HAS_GPU, reason="no GPU answers")
forms = pytest.mark.parametrize("inline", [True, False], ids=["inline", "file"])
random.seed(os.environ.get("TL_TEST_SEED"))


def compiled(make, inline, **options):
    if make is source_kernels.templated and inline:
        pytest.skip("its header lies beside the file")
    return tilec.compile(make(inline, **options), target="auto" if HAS_GPU else "sm_90a")


@forms
@pytest.mark.parametrize("make", source_kernels.ALL, ids=lambda make: make.__name__)
def test_compiles(make, inline):
    kernel = compiled(make, inline)
    names = {"templated": "square", "grid_sync": "normalize", "cluster": "cluster_histogram"}
    names |= {"reduce_sum": "reduce", "constant_filter": "filter", "mma_gemm": "mma"}
    text = source_kernels.source(names.get(make.__name__, make.__name__), inline=True)
    assert text in kernel.get_kernel_source()
    for each in kernel.compile_info["kernels"]:
        assert "kernel.cubin" in each["files"]
        assert each["resources"]["spill_stores"] == 0


def random_floats(*shape):
    return torch.randn(*shape, device="cuda")


def poison(*shape, dtype=None):
    if dtype is None or dtype.is_floating_point:
        return torch.full(shape, float("nan"), device="cuda", dtype=dtype)
    return torch.full(shape, -(2**30), device="cuda", dtype=dtype)


@on_gpu
@forms
def test_saxpy(inline):
    n = random.randrange(1, 1 << 20)
    X, Y, a = random_floats(n), random_floats(n), random.uniform(-2, 2)
    reference = a * X.double() + Y.double()
    bound = 2.0**-22 * (abs(a) * X.double().abs() + Y.double().abs())
    compiled(source_kernels.saxpy, inline)(X, Y, a)
    assert ((Y.double() - reference).abs() <= bound).all()


@on_gpu
@forms
def test_transpose(inline):
    m, n = random.randrange(1, 1500), random.randrange(1, 1500)
    A, B = random_floats(m, n), poison(n, m)
    compiled(source_kernels.transpose, inline)(A, B)
    assert torch.equal(B, A.t())


@on_gpu
@forms
def test_reduce_sum(inline):
    n, blocks = random.randrange(1, 1 << 20), random.randrange(1, 300)
    A, P = random_floats(n), poison(blocks)
    compiled(source_kernels.reduce_sum, inline)(A, P)
    reference = A.double().sum()
    assert (P.double().sum() - reference).abs() <= n * 2.0**-24 * A.double().abs().sum()


@on_gpu
@forms
def test_histogram(inline):
    n = random.randrange(1, 1 << 20)
    X = torch.randint(0, 256, (n,), device="cuda", dtype=torch.uint8)
    H = poison(256, dtype=torch.int32)
    compiled(source_kernels.histogram, inline)(X, H)
    assert torch.equal(H.long(), torch.bincount(X.long(), minlength=256))


@on_gpu
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
@pytest.mark.parametrize("width", [1, 4])
def test_template(dtype, width):
    n = random.randrange(1, 1 << 18)
    X = torch.randint(-1000, 1000, (n,), device="cuda").to(getattr(torch, dtype))
    Y = poison(n, dtype=X.dtype)
    compiled(source_kernels.templated, False, dtype=dtype, width=width)(X, Y)
    assert torch.equal(Y, X * X)


@on_gpu
@forms
def test_grid_sync(inline):
    n = random.randrange(1, 1 << 20)
    X, Y, P = torch.rand(n, device="cuda") + 0.5, poison(n), poison(64)
    compiled(source_kernels.grid_sync, inline)(X, Y, P)
    reference = X.double() / X.double().sum()
    assert ((Y.double() - reference).abs() <= 1e-5 * reference).all()


@on_gpu
@forms
def test_cluster(inline):
    n = random.randrange(1, 1 << 20)
    X = torch.randint(0, 1024, (n,), device="cuda", dtype=torch.int32)
    H = torch.zeros(1024, device="cuda", dtype=torch.int32)
    compiled(source_kernels.cluster, inline)(X, H)
    assert torch.equal(H.long(), torch.bincount(X.long(), minlength=1024))


@on_gpu
@forms
def test_constant_memory(inline):
    n = random.randrange(16, 1 << 20)
    kernel = compiled(source_kernels.constant_filter, inline)
    for _ in range(2):  # each call sets the weights
        X, W, Y = random_floats(n), random_floats(9), poison(n)
        kernel(X, W, Y)
        padded = torch.nn.functional.pad(X.double(), (4, 4))
        terms = torch.stack([W[t].double() * padded[t : t + n] for t in range(9)])
        assert ((Y.double() - terms.sum(0)).abs() <= 2.0**-20 * terms.abs().sum(0)).all()


@on_gpu
@forms
def test_warp_scan(inline):
    rows = random.randrange(1, 200)
    X = torch.randint(-1000, 1000, (rows, 1024), device="cuda", dtype=torch.int32)
    Y = poison(rows, 1024, dtype=torch.int32)
    compiled(source_kernels.scan, inline)(X, Y)
    assert torch.equal(Y.long(), X.long().cumsum(1))


@on_gpu
@forms
def test_mma(inline):
    m, n, k = (16 * random.randrange(1, 40) for _ in range(3))
    A, B, C = random_floats(m, k).half(), random_floats(n, k).half(), poison(m, n)
    compiled(source_kernels.mma_gemm, inline)(A, B, C)
    reference = A.double() @ B.double().t()
    bound = k * 2.0**-23 * (A.double().abs() @ B.double().abs().t())
    assert ((C.double() - reference).abs() <= bound).all()


ENTRIES = """
namespace one { __global__ void fill(float *x, float value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
} }
__global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
"""
OTHER = """
__global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2 + 1;
}
"""


def mixed():
    """Tile and source kernels in turn; one text twice, one entry twice, and one name in two texts."""
    N = T.dynamic("N")

    @T.prim_func
    def mixed(unused: T.Tensor((N,), "float32"), X: T.Tensor((N,), "float32"), also_unused: T.int64, v: T.float32):
        def launch(text, entry, *extra):
            T.CUDASourceCodeKernel(
                T.ceildiv(N, 128), threads=128, source_code_or_path=text, entry_name=entry, args=[X, *extra, T.int32(N)]
            )

        launch(ENTRIES, "one::fill", v)  # v
        launch(ENTRIES, "twice")  # 2 v
        with T.Kernel(T.ceildiv(N, 128), threads=128) as block, T.Parallel(128) as i:  # 2 v + 3
            X[block * 128 + i] = X[block * 128 + i] + 3
        launch(OTHER, "twice")  # 4 v + 7
        launch(ENTRIES, "twice")  # 8 v + 14

    return mixed


def test_mixed_compiles():
    kernel = tilec.compile(mixed(), target="sm_90a")
    assert ENTRIES in kernel.get_kernel_source()
    assert OTHER in kernel.get_kernel_source()
    assert kernel.get_kernel_source().count("namespace one") == 1
    launches = kernel.compile_info["functions"]["mixed"]["launches"]
    assert len(launches) == 5
    assert len({launch["kernel"] for launch in launches}) == 4


@on_gpu
def test_mixed():
    n, v = random.randrange(1, 10000), random.randrange(-100, 100)
    X = poison(n)
    tilec.compile(mixed())(poison(n), X, 7, float(v))
    assert torch.equal(X, torch.full_like(X, 8 * v + 14))


def linked():
    N = T.dynamic("N")

    @T.prim_func
    def linked(X: T.Tensor((N,), "float32")):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 128),
            threads=128,
            entry_name="apply",
            args=[X, T.int32(N)],
            source_code_or_path=[
                "__device__ float change(float);\n__global__ void apply(float *x, int n) {\n"
                "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = change(x[i]);\n}\n",
                "__device__ float change(float value) {\n  return 3 * value;\n}\n",
            ],
        )

    return linked


def test_linked_compiles():
    assert tilec.compile(linked(), target="sm_90a").file("kernel.cubin")


@on_gpu
def test_linked():
    X = random_floats(1000)
    reference = 3 * X
    tilec.compile(linked())(X)
    assert torch.equal(X, reference)


def tensor_map():
    @T.prim_func
    def tensor_map(A: T.Tensor((128, 128), "float32"), B: T.Tensor((128, 128), "float32")):
        T.CUDASourceCodeKernel(
            2,
            4,
            threads=128,
            entry_name="copy",
            args=[T.TensorMap(A, box=(32, 64)), B],
            source_code_or_path=r"""
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
__global__ void copy(const __grid_constant__ CUtensorMap map, float *out) {
  __shared__ alignas(128) float tile[32][64];
  __shared__ alignas(8) unsigned long long bar;
  int x = blockIdx.x * 64, y = blockIdx.y * 32;
  if (threadIdx.x == 0) {
    cuda::ptx::mbarrier_init(&bar, 1);
    cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    int at[] = {x, y};
    cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, tile, &map, at, &bar);
    cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta, cuda::ptx::space_shared, &bar,
                                         sizeof(tile));
  }
  __syncthreads();
  while (!cuda::ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  for (int i = threadIdx.x; i < 32 * 64; i += blockDim.x)
    out[(y + i / 64) * 128 + x + i % 64] = tile[i / 64][i % 64];
}
""",
        )

    return tensor_map


def test_tensor_map_compiles():
    kernel = tilec.compile(tensor_map(), target="sm_90a")
    (launch,) = kernel.compile_info["functions"]["tensor_map"]["launches"]
    assert launch["params"][0]["tensor_map"]["box"] == [64, 32]


@on_gpu
def test_tensor_map():
    A, B = random_floats(128, 128), poison(128, 128)
    tilec.compile(tensor_map())(A, B)
    assert torch.equal(A, B)


@pytest.mark.parametrize("kind", ["ptx", "cubin"])
def test_compiled_files(tmp_path, kind):
    first = tilec.compile(source_kernels.saxpy(False), target="sm_90a")
    file = tmp_path / f"saxpy.{kind}"
    file.write_bytes(first.file(f"kernel.{kind}") or b"")
    N = T.dynamic("N")

    @T.prim_func
    def again(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32"), a: T.float32):
        T.CUDASourceCodeKernel(
            T.ceildiv(N, 256), threads=256, source_code_or_path=file, entry_name="saxpy", args=[T.int32(N), a, X, Y]
        )

    kernel = tilec.compile(again, target="sm_90a")
    assert kernel.file(f"kernel.{kind}") == first.file(f"kernel.{kind}")
    if HAS_GPU:
        X, Y = random_floats(1000), random_floats(1000)
        other = Y.clone()
        first(X, Y, 2.0)
        kernel(X, other, 2.0)
        assert torch.equal(Y, other)
