"""The backends that build a library of the whole function, `nvcc` and `tvm_ffi`, against `nvptx`."""

import os
import random

import numpy as np
import pytest

import kernels
import tilec
import tilec.language as T
from tilec import backends
from tilec.errors import DeviceError, DTypeError, RangeError, ShapeError

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

random.seed(os.environ.get("TL_TEST_SEED"))


@pytest.fixture(params=["nvcc", "tvm_ffi"])
def backend(request):
    if missing := backends.find(request.param).missing():
        pytest.skip(f"there is no `{missing[0].name}`")
    return request.param


def gemm_arguments(m, n, k):
    A, B = (torch.randn(*shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n)))
    return A, B, torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)


def test_gemm(backend):
    function = kernels.gemm(*T.dynamic("M, N, K"), "float16")
    kernel, reference = tilec.compile(function, backend=backend), tilec.compile(function, backend="nvptx")
    for _ in range(5):
        m, n, k = (8 * random.randrange(1, 200) for _ in range(3))
        A, B, C = gemm_arguments(m, n, k)
        expected = torch.full_like(C, float("nan"))
        kernel(A, B, C)
        reference(A, B, expected)
        if backend == "tvm_ffi":
            assert torch.equal(C, expected), "the kernel is the same"
        exact = (A.double() @ B.double()).clamp(min=0)
        bound = 2.0**-11 * exact.abs() + k * 2.0**-23 * (A.double().abs() @ B.double().abs())
        assert ((C.double() - exact).abs() <= bound).all()


@pytest.fixture
def axpy(backend):
    return tilec.compile(kernels.axpy(T.dynamic("n"), "float32"), backend=backend)


def vectors(n=100_003):
    A, B = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    return A, B, torch.full_like(A, float("nan"))


def test_streams(axpy):
    A, B, C = vectors(1 << 20)
    axpy(A, B, C)  # loads the module, which takes longer than what the streams wait for
    torch.cuda.synchronize()
    for stream in (torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            B.fill_(3.0)
            axpy(A, B, C)
            result = C.clone()
        assert not stream.query(), "the call does not wait"
        stream.synchronize()
        assert torch.equal(result, A * 2 + 3.0)


def test_graphs(axpy):
    A, B, C = vectors()
    axpy(A, B, C)  # loads the module, which a capture would not allow
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        axpy(A, B, C)
    A.normal_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(C, A * 2 + B)


def test_results_and_copies(backend):
    kernel = tilec.compile(kernels.axpy(T.dynamic("n"), "float32"), out_idx=[-1], backend=backend)
    A, B, _ = vectors()
    assert torch.equal(kernel(A, B), A * 2 + B)
    a, b = (np.random.default_rng(i).random(1000, np.float32) for i in (1, 2))
    np.testing.assert_allclose(kernel(a, b), a * 2 + b, rtol=1e-6)


def test_empty_tensors(axpy):
    axpy(*vectors(0))


def test_errors(axpy):
    A, B, C = vectors(1000)
    reference = tilec.compile(kernels.axpy(T.dynamic("n"), "float32"), backend="nvptx")
    for error, arguments in (
        (ShapeError, (A, B[:10], C)),
        (DTypeError, (A, B.double(), C)),
        (DeviceError, (A, B.cpu(), C)),
    ):
        messages = []
        for kernel in (reference, axpy):
            with pytest.raises(error) as raised:
                kernel(*arguments)
            messages.append(raised.value.message)
        assert messages[0] == messages[1]


def test_a_number_out_of_range(backend):
    @T.prim_func
    def fill(A: T.Tensor((T.dynamic("n"),), "int32"), value: T.int32):
        with T.Kernel(T.ceildiv(T.dynamic("n"), 128), threads=128) as b:
            for i in T.Parallel(128):
                A[b * 128 + i] = value

    kernel = tilec.compile(fill, backend=backend)
    A = torch.zeros(1000, device="cuda", dtype=torch.int32)
    kernel(A, -7)
    assert (A == -7).all()
    with pytest.raises(RangeError, match="argument `value` is 4294967296"):
        kernel(A, 1 << 32)
