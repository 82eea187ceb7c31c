"""Calls of kernels on a GPU: streams, graphs, devices, unusual tensors, other processes."""

import ctypes
import multiprocessing
import pickle

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import (
    AlignmentError,
    ArgumentError,
    DeviceError,
    DTypeError,
    LaunchError,
    ShapeError,
    StrideError,
)
from tilec.jit import JITFunction

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)


pytestmark = pytest.mark.usefixtures("backend")


@T.prim_func
def add(A: T.Tensor(("n",), "float32"), B: T.Tensor(("n",), "float32"), C: T.Tensor(("n",), "float32")):
    with T.Kernel(T.ceildiv(T.dynamic("n"), 256), threads=256) as b:
        for i in T.Parallel(256):
            C[b * 256 + i] = A[b * 256 + i] + B[b * 256 + i]


@pytest.fixture(scope="module")
def kernel(backend):
    return tilec.compile(add)


def tensors(n=1000, device="cuda"):
    A, B = torch.randn(n, device=device), torch.randn(n, device=device)
    return A, B, torch.full((n,), float("nan"), device=device)


def test_the_current_stream_is_used(kernel):
    """Work queued on a stream of PyTorch's comes before the kernel, and work queued after it sees its results."""
    A, B, C = tensors(1 << 20)
    kernel(A, B, C)  # loads the module, which takes longer than what the streams wait for
    torch.cuda.synchronize()
    for stream in (torch.cuda.Stream(), torch.cuda.Stream(priority=-1)):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            B.fill_(3.0)
            kernel(A, B, C)
            result = C.clone()
        assert not stream.query(), "the call does not wait"
        stream.synchronize()
        assert torch.equal(result, A + 3.0)


def test_a_stream_of_calls_that_need_no_python(backend, monkeypatch):
    """Calls of an eager function that are like an earlier one go on the current stream too."""

    @tilec.jit
    def scaled(A, factor: T.float32, block: int = 256):
        n = T.dynamic("n")
        A: T.Tensor[[n], T.float32]
        C = T.empty((n,), T.float32)
        with T.Kernel(T.ceildiv(n, block), threads=256) as b:
            for i in T.Parallel(block):
                C[b * block + i] = A[b * block + i] * factor
        return C

    A, _, _ = tensors(1 << 20)
    scaled(A, 1.0)
    monkeypatch.setattr(JITFunction, "_call_slowly", None)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        A.fill_(3.0)
        results = [scaled(A, factor) for factor in (2.0, 4)]
        results.append(scaled(A[: 1 << 10], 5.0))
    assert not stream.query(), "the calls do not wait"
    stream.synchronize()
    assert [float(r.min()) for r in results] == [float(r.max()) for r in results] == [6.0, 12.0, 15.0]
    assert [len(r) for r in results] == [1 << 20, 1 << 20, 1 << 10]


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
)
def test_element_types(backend, dtype):
    """PyTorch's are told apart, by its tensors and its parameters alike."""
    kind = T.dtype(dtype)

    @T.prim_func
    def copy(A: T.Tensor((4, 32), kind), B: T.Tensor((4, 32), kind)):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(4, 32):
                B[i, j] = A[i, j]

    kernel = tilec.compile(copy)
    A = (torch.rand(8, 32, device="cuda") * 100).to(getattr(torch, dtype))[4:]
    B = torch.zeros_like(A)
    kernel(torch.nn.Parameter(A, requires_grad=False), B)
    assert torch.equal(A, B)
    other = torch.int64 if dtype != "int64" else torch.int32
    with pytest.raises(DTypeError, match=f"has dtype i{'64' if dtype != 'int64' else '32'}, expected"):
        kernel(A, B.to(other))


class Mine(torch.Tensor):
    """A type that inherits, as that of users' tensors may."""


@pytest.mark.parametrize(
    "make",
    [
        torch._neg_view,
        lambda A: torch.complex(A, A).conj().imag,
        lambda A: torch.complex(A, A)[2:].conj().imag,
        lambda A: torch.nn.Parameter(torch._neg_view(A)),
        lambda A: torch._neg_view(A).as_subclass(Mine),
    ],
    ids=["contiguous", "imaginary part", "part of it", "parameter", "inherited"],
)
def test_lazy_negations_are_refused(kernel, make):
    """Their memory has the other sign. Of a view that is plain again nothing is left."""
    A, B, C = tensors()
    with pytest.raises(ArgumentError, match=r"`A` cannot be read: it is a lazy negation.*pass `.resolve_neg..` of it"):
        kernel(make(A), B, C)
    with pytest.raises(ArgumentError, match="`C` cannot be read: it is a lazy negation"):
        kernel(A, B, make(C))
    kernel(torch._neg_view(torch._neg_view(A)), torch._neg_view(B).resolve_neg(), C)
    assert torch.equal(C, A - B)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda A: A.to_sparse(), ArgumentError, "`A` cannot be read: .*storage$"),
        (lambda A: A.to("meta"), ArgumentError, "`A` cannot be read: .*meta$"),
        (lambda A: A.to(torch.complex64), DTypeError, "`A` has dtype complex64, expected f32"),
        (lambda A: A.cpu(), DeviceError, "`A` is on the CPU, expected a CUDA device"),
        (lambda A: A.repeat(2)[::2], StrideError, "stride 0 of `A` is 2, expected 1"),
    ],
    ids=["sparse", "meta", "complex", "cpu", "strided"],
)
def test_tensors_that_kernels_cannot_take(kernel, make, error, message):
    A, B, C = tensors()
    with pytest.raises(error, match=message):
        kernel(make(A), B, C)
    assert torch.isnan(C).all()


def test_graphs_capture_calls(kernel):
    A, B, C = tensors()
    kernel(A, B, C)  # loads the module, which a capture would not allow
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(A, B, C)
        kernel(C, B, C)
    for _ in range(3):
        A.normal_()
        graph.replay()
        assert torch.allclose(C, A + B + B)


def test_views_with_an_offset(kernel):
    A, B, C = tensors(2000)
    kernel(A[1000:], B[:1000], C[4:1004])
    assert torch.equal(C[4:1004], A[1000:] + B[:1000])
    assert torch.isnan(C[:4]).all()
    assert torch.isnan(C[1004:]).all()
    with pytest.raises(AlignmentError, match="`A`"):
        kernel(A[1:1001], B[:1000], C[:1000])


@T.prim_func
def doubled(
    A: T.StridedTensor(("m", "n"), ("s", "t"), "float32", align=4),
    B: T.StridedTensor(("m", "n"), ("u", "v"), "float32", align=4),
):
    with T.Kernel(T.dynamic("m"), threads=64) as b:
        for j in T.serial(T.dynamic("n")):
            B[b, j] = A[b, j] * 2.0


ARRAYS = {
    "rows": lambda x: x[2:, 3:8],
    "transposed": lambda x: x.T[:, ::3],
    "backwards": lambda x: x[::-2, :4:-1],
    "one row": lambda x: x[5:6, ::-2],
    "no column": lambda x: x[::-1, :0],
}


@pytest.mark.parametrize("way", ARRAYS.values(), ids=ARRAYS)
def test_arrays_of_numpy_with_gaps(way):
    """They are copied with their strides; what lies between their elements stays as it is."""
    whole = np.arange(24 * 24, dtype=np.float32).reshape(24, 24)
    found, expected = np.full((24, 24), 77, np.float32), np.full((24, 24), 77, np.float32)
    tilec.compile(doubled)(way(whole), way(found))
    way(expected)[...] = way(whole) * 2
    np.testing.assert_array_equal(found, expected)


def test_arrays_of_numpy_with_repeated_rows():
    row, found = np.arange(8, dtype=np.float32), np.zeros((5, 8), np.float32)
    tilec.compile(doubled)(np.broadcast_to(row, (5, 8)), found)
    np.testing.assert_array_equal(found, np.broadcast_to(row * 2, (5, 8)))
    with pytest.raises(ArgumentError, match="`B` is written to by the kernel, and the array is read-only"):
        tilec.compile(doubled)(found, np.broadcast_to(row, (5, 8)))


def test_arrays_of_numpy_with_gaps_for_tensors_without():
    a, b = np.ones((8, 16), np.float32)[:, 0], np.ones(8, np.float32)
    with pytest.raises(StrideError, match="stride 0 of `A` is 16, expected 1"):
        tilec.compile(add)(a, b, b.copy())


def test_more_elements_than_an_int_counts():
    rows, columns = (1 << 11) + 1, 1 << 20
    if torch.cuda.mem_get_info()[0] < 4 * rows * columns:
        pytest.skip("there is not enough memory")

    @T.prim_func
    def mark(A: T.Tensor((rows, columns), "int8")):
        with T.Kernel(rows, threads=256) as b:
            for i in T.Parallel(1024):
                A[b, i] = 7

    A = torch.zeros(rows, columns, dtype=torch.int8, device="cuda")
    tilec.compile(mark)(A)
    assert (A[:, :1024] == 7).all()
    assert (A[:, 1024:] == 0).all()


def test_an_extent_that_an_int_does_not_hold(kernel):
    n = (1 << 31) + 512
    if torch.cuda.mem_get_info()[0] < 14 * n:
        pytest.skip("there is not enough memory")
    A, B, C = tensors(n)
    with pytest.raises(ShapeError, match="dimension 0 of `A` is 2147484160"):
        kernel(A, B, C)


def test_tensors_that_autograd_knows(kernel):
    A, B, C = tensors()
    A = torch.nn.Parameter(A)
    B.requires_grad_()
    kernel(A, B, C)
    assert torch.equal(C, A + B)


def test_the_wrong_device(kernel):
    A, B, C = tensors()
    with pytest.raises(DeviceError, match="`B` is on the CPU"):
        kernel(A, B.cpu(), C)


def test_other_frameworks(kernel):
    cupy = pytest.importorskip("cupy")
    A, B, C = tensors()
    arrays = [cupy.from_dlpack(t) for t in (A, B, C)]
    torch.cuda.current_stream().synchronize()  # which the stream below waits for in nothing
    with cupy.cuda.Stream(non_blocking=True) as stream:
        kernel(*arrays)
        stream.synchronize()
    assert torch.equal(C, A + B)


def test_jax_hands_its_arrays_over(kernel):
    jnp = pytest.importorskip("jax.numpy")
    A, B, C = tensors()
    x = jnp.asarray(A.cpu().numpy()) * 2.0
    kernel(x, B, C)
    assert torch.allclose(C, A * 2 + B)


def test_several_gpus(kernel):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        A, B, C = tensors(device=device)
        kernel(A, B, C)
        assert torch.equal(C, A + B)
    assert torch.cuda.current_device() == 0
    A, B, C = tensors()
    with pytest.raises(DeviceError, match="cuda:1"):
        kernel(A, B.to("cuda:1"), C)


def test_occupancy_is_what_the_driver_says(kernel):
    driver = ctypes.CDLL("libcuda.so.1")
    module, function, blocks = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    torch.cuda.current_stream().synchronize()
    for built in (kernel, tilec.compile(add, assembler="ptxas") if _has_ptxas() else kernel):
        name, usage = next(iter(built.resource_usage.items()))
        assert driver.cuModuleLoadData(ctypes.byref(module), built.file("kernel.cubin")) == 0
        assert driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
        assert (
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctypes.byref(blocks), function, usage.threads, ctypes.c_size_t(usage.shared)
            )
            == 0
        )
        assert usage.blocks == blocks.value


def _has_ptxas():
    from tilec.toolkit import find_tool

    return find_tool("ptxas") is not None


def _in_child(kernel, results):
    A, B, C = tensors()
    kernel(A, B, C)
    results.put(bool(torch.equal(C, A + B)))


def _in_forked_child(kernel, results):
    try:
        kernel(*[tilec.Array.empty((8,), "float32", cuda=0) for _ in range(3)])
    except LaunchError as error:
        results.put(str(error))


def test_kernels_in_other_processes(kernel):
    A, B, C = tensors()
    kernel(A, B, C)
    for method, target, expected in (("spawn", _in_child, True), ("fork", _in_forked_child, "spawn")):
        context = multiprocessing.get_context(method)
        results = context.Queue()
        process = context.Process(target=target, args=(kernel, results))
        process.start()
        found = results.get(timeout=120)
        process.join()
        assert found is True if expected is True else expected in found
    assert pickle.loads(pickle.dumps(kernel)) is kernel
