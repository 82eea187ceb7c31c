"""Functions as operators of PyTorch on a GPU: Inductor, CUDA graphs, streams, several sizes, what a call costs."""

import time

import pytest

import kernels
import tilec
import tilec.language as T
from tilec.errors import DeviceError

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

N = T.dynamic("n")


@T.prim_func
def scale(A: T.Tensor((N,), "float32"), factor: T.float32, B: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 256), threads=256) as b:
        for i in T.Parallel(256):
            B[b * 256 + i] = A[b * 256 + i] * factor


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


@pytest.fixture(scope="module")
def scaled():
    return tilec.compile(scale, 2, backend="torch")


@pytest.fixture(scope="module")
def in_place():
    return tilec.compile(scale, backend="torch")


def test_a_gemm_in_a_compiled_model():
    M, N, K = 256, 512, 384
    gemm = tilec.compile(kernels.gemm(M, N, K, "float16", relu=False), 2, backend="torch")
    weight = torch.randn(K, N, device="cuda").half() / 16
    bias = torch.randn(N, device="cuda").half()

    def layer(x):
        return torch.relu(gemm(x * 2, weight) + bias)

    x = torch.randn(M, K, device="cuda").half()
    expected = torch.relu((x.double() * 2) @ weight.double() + bias.double())
    for mode in (None, "reduce-overhead", "max-autotune-no-cudagraphs"):
        torch._dynamo.reset()
        program = torch.compile(layer, fullgraph=True, mode=mode)
        for _ in range(4):  # the third call replays a graph where there is one
            torch.testing.assert_close(program(x).double(), expected, atol=2e-2, rtol=2e-3)


def test_inductor_sees_what_is_written(in_place):
    def program(A, B):
        before = B + 0
        view = B[:]
        in_place(A, 2.0, B)
        in_place(B, 2.0, B)
        return before + view

    A, B = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    expected_B = B.clone()
    expected = program(A, expected_B)
    assert torch.equal(torch.compile(program, fullgraph=True)(A, B), expected)
    assert torch.equal(B, expected_B)
    assert torch.equal(B, A * 4)


def test_one_compiled_program_for_all_sizes(scaled):
    program = torch.compile(lambda A: scaled(A + 1, 3.0) * 2, fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in (1000, 64, 100_003):
            A = torch.randn(size, device="cuda")
            torch.testing.assert_close(program(A), (A + 1) * 6)


def test_graphs_capture_calls(scaled, in_place):
    A = torch.randn(1000, device="cuda")
    C = torch.empty_like(A)
    scaled(A, 1.0)
    in_place(A, 1.0, C)  # loads the module, which a capture would not allow
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        B = scaled(A, 2.0)
        in_place(B, 3.0, C)
    for _ in range(3):
        A.normal_()
        graph.replay()
        assert torch.equal(B, A * 2)
        assert torch.equal(C, B * 3)


def test_the_current_stream_is_used(scaled):
    A = torch.randn(1 << 20, device="cuda")
    scaled(A, 1.0)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        A.fill_(3.0)
        result = scaled(A, 2.0)
    assert not stream.query(), "the call does not wait"
    stream.synchronize()
    assert torch.equal(result, torch.full_like(A, 6.0))


def test_exported_programs(scaled, tmp_path):
    class Model(torch.nn.Module):
        def forward(self, A):
            return scaled(A, 2.0) + 1

    A = torch.randn(128, device="cuda")
    exported = torch.export.export(Model(), (A,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    torch.export.save(exported, tmp_path / "model.pt2")
    loaded = torch.export.load(tmp_path / "model.pt2").module()
    for size in (128, 1000):
        A = torch.randn(size, device="cuda")
        assert torch.equal(loaded(A), A * 2 + 1)


def test_pytorchs_own_checks_of_operators(scaled, in_place):
    A = torch.randn(100, device="cuda")
    torch.library.opcheck(scaled.op, (A, 2.0))
    torch.library.opcheck(in_place.op, (A, 2.0, torch.empty(100, device="cuda")))


def test_the_wrong_device(scaled, in_place):
    A = torch.randn(100, device="cuda")
    with pytest.raises(DeviceError, match="`B` is on the CPU"):
        in_place(A, 2.0, torch.empty(100))
    with pytest.raises(DeviceError, match="`A` is on the CPU"):
        scaled(A.cpu(), 2.0)


def test_without_a_tensor_the_current_device_is_meant():
    @T.prim_func
    def ones(A: T.Tensor((4, 64), "bfloat16")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(4, 64):
                A[i, j] = 1.0

    found = tilec.compile(ones, 0, backend="torch")()
    assert found.device == torch.device("cuda", torch.cuda.current_device())
    assert torch.equal(found, torch.ones(4, 64, dtype=torch.bfloat16, device="cuda"))


def test_what_the_dispatcher_costs(in_place):
    """The bound is for a wrapper that somebody put in the way: PyTorch's own costs several times as much."""
    plain = tilec.compile(scale)
    arguments = (torch.randn(128, device="cuda"), 2.0, torch.empty(128, device="cuda"))

    def cost(call):
        best = float("inf")
        for _ in range(15):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(300):
                call(*arguments)
            best = min(best, (time.perf_counter() - start) / 300)
        return best * 1e6

    direct, dispatched = cost(plain), cost(in_place)
    print(f"{direct:.2f} us directly, {dispatched:.2f} us through the dispatcher")
    assert dispatched - direct < 8
