"""Functions as operators of PyTorch, on the CPU; test/integration/test_torch_backend.py has the GPU's."""

import copy
import pickle

import pytest

import tilec
import tilec.language as T
from tilec import backends
from tilec.errors import AlignmentError, ArgumentError, BackendError, LaunchError, ShapeError

torch = pytest.importorskip("torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

N = T.dynamic("n")


@T.prim_func
def scale(A: T.Tensor((N,), "float32"), factor: T.float32, B: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 64)) as b:
        for i in T.Parallel(64):
            B[b * 64 + i] = A[b * 64 + i] * factor


@T.prim_func
def split(
    low: T.Tensor((N, 8), "int32"),
    A: T.Tensor((N, 16), "int32"),
    shift: T.int32,
    negate: T.bool,
    high: T.Tensor((N, 8), "int32"),
):
    with T.Kernel(N) as b:
        for i in T.Parallel(8):
            low[b, i] = A[b, i] + shift
            high[b, i] = T.if_then_else(negate, 0 - A[b, i + 8], A[b, i + 8])


@T.prim_func
def fill(A: T.Tensor((4, 8), "float16")):
    with T.Kernel(1):
        for i, j in T.Parallel(4, 8):
            A[i, j] = 1.0


def compiled(function, out_idx=None, **options):
    return tilec.compile(function, out_idx, target="cpu", backend="torch", **options)


def test_a_call_is_the_operators():
    kernel = compiled(scale)
    A, B = torch.randn(100), torch.full((100,), float("nan"))
    assert kernel(A, 3.0, B) is None
    assert torch.equal(B, A * 3)
    kernel(A, factor=0.5, B=B)
    assert torch.equal(B, A / 2)
    getattr(torch.ops.tilec, kernel.op.overloadpacket.__name__)(A, 2.0, B)
    assert torch.equal(B, A * 2)
    assert kernel.get_kernel_source() == tilec.compile(scale, target="cpu", backend="cpu").get_kernel_source()


def test_its_schema_says_what_is_written_and_what_is_returned():
    name = compiled(scale).op.name()
    assert str(compiled(scale).op._schema) == f"{name}(Tensor A, float factor, Tensor(a2!) B) -> ()"
    schema = str(compiled(scale, 2).op._schema)
    assert schema.endswith("(Tensor A, float factor) -> Tensor")
    schema = str(compiled(split, [4, 0]).op._schema)
    assert schema.endswith("(Tensor A, SymInt shift, bool negate) -> (Tensor, Tensor)")


def test_results_are_allocated_and_returned_in_the_order_asked_for():
    A = torch.arange(48, dtype=torch.int32).reshape(3, 16)
    high, low = compiled(split, [4, 0])(A, 5, True)
    assert torch.equal(low, A[:, :8] + 5)
    assert torch.equal(high, -A[:, 8:])
    low, high = compiled(split, [0, 4])(A, 5, False)
    assert torch.equal(low, A[:, :8] + 5)
    assert torch.equal(high, A[:, 8:])
    assert compiled(split, [0, 4])(A[:0], 5, True)[0].shape == (0, 8)
    assert torch.equal(compiled(fill, 0)(), torch.ones(4, 8, dtype=torch.float16))


def test_a_result_of_unknown_extent():
    @T.prim_func
    def grow(A: T.Tensor((4,), "float32"), B: T.Tensor((T.dynamic("m"),), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i]

    with pytest.raises(ShapeError, match="the extent `m` of the result `B` does not follow from the arguments"):
        compiled(grow, 1)


def test_the_name_is_the_kernels_in_every_process(python):
    program = """
import tilec, tilec.language as T
n = T.dynamic("n")
@T.prim_func
def scale(A: T.Tensor((n,), "float32"), factor: T.float32, B: T.Tensor((n,), "float32")):
    with T.Kernel(T.ceildiv(n, 64)) as b:
        for i in T.Parallel(64):
            B[b * 64 + i] = A[b * 64 + i] * factor
print(tilec.compile(scale, target="cpu", backend="torch").op.name())
"""
    first = python(program).strip()
    assert first.startswith("tilec::scale_")
    assert python(program, TL_DISABLE_CACHE="1").strip() == first
    assert python(program.replace("* factor", "+ factor")).strip() != first


def test_one_kernel_is_one_operator(cache_on):
    kernel = compiled(scale)
    tilec.cache.clear(kernels=False, tuning=False)
    again = compiled(scale)
    assert again is not kernel
    assert again.op is kernel.op
    assert compiled(scale, 2).op is not kernel.op
    assert tilec.compile(scale, target="sm_90a", backend="torch").op is not kernel.op


def test_pytorchs_own_checks_of_operators():
    A = torch.randn(100)
    torch.library.opcheck(compiled(scale).op, (A, 2.0, torch.empty(100)))
    torch.library.opcheck(compiled(scale, 2).op, (A, 2.0))
    rows = torch.arange(48, dtype=torch.int32).reshape(3, 16)
    torch.library.opcheck(compiled(split, [4, 0]).op, (rows, 1, False))


@pytest.fixture
def compiles():
    """Counts the graphs that `torch.compile` makes."""
    torch._dynamo.reset()
    graphs = []

    def backend(graph, inputs):
        from torch._dynamo.backends.debugging import aot_eager

        graphs.append(graph)
        return aot_eager(graph, inputs)

    yield backend, graphs
    torch._dynamo.reset()


def test_torch_compile_takes_a_call_into_its_graph(compiles):
    backend, graphs = compiles
    kernel = compiled(scale)
    functional = compiled(scale, 2)

    @torch.compile(backend=backend, fullgraph=True)
    def program(A):
        B = torch.empty_like(A)
        kernel(A + 1, 2.0, B)
        return functional(B, 3.0) - 1

    A = torch.randn(64)
    assert torch.equal(program(A), (A + 1) * 2 * 3 - 1)
    targets = [node.target for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert kernel.op in targets
    assert functional.op in targets


def test_torch_compile_sees_what_is_written(compiles):
    """A graph that thought `B` unchanged would add up what it was before."""
    backend, _ = compiles
    kernel = compiled(scale)

    def program(A, B):
        before = B + 0
        view = B[:]
        kernel(A, 2.0, B)
        kernel(B, 2.0, B)
        return before + view

    A, B = torch.randn(64), torch.randn(64)
    expected_B = B.clone()
    expected = program(A, expected_B)
    assert torch.equal(torch.compile(program, backend=backend, fullgraph=True)(A, B), expected)
    assert torch.equal(B, expected_B)
    assert torch.equal(B, A * 4)


def test_one_graph_for_all_sizes(compiles):
    backend, graphs = compiles
    kernel = compiled(split, [0, 4])
    program = torch.compile(lambda A, s: sum(kernel(A, s, False)), backend=backend, fullgraph=True, dynamic=True)
    for rows, shift in ((3, 7), (5, 8), (100, 9)):
        A = torch.randint(100, (rows, 16), dtype=torch.int32)
        assert torch.equal(program(A, shift), A[:, :8] + A[:, 8:] + shift)
    assert len(graphs) == 1


@pytest.mark.parametrize(
    ("extent", "message"),
    [
        (1, "`n` is no extent for tensors of these shapes"),
        (2**33 + 5, "`n` is no extent for tensors of these shapes"),
        (10, r"dimension 0 of `A` must be `\(n \* 4\) \+ 5`, and is not"),
    ],
)
def test_tracing_finds_symbols_that_calls_would_refuse(extent, message):
    @T.prim_func
    def told(A: T.Tensor((N * 4 + 5,), "int8"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1):
            B[0] = N

    kernel = compiled(told)
    with FakeTensorMode():
        B = torch.empty(2, dtype=torch.int32)
        kernel(torch.empty(9, dtype=torch.int8), B)
        with pytest.raises(RuntimeError, match=message):
            kernel(torch.empty(extent, dtype=torch.int8), B)


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ({"A": (3, 16, 1)}, ShapeError, "`A` must have 2 dimensions, not 3"),
        ({"A": (3, 17)}, RuntimeError, "dimension 1 of `A` must be 16, and is not"),
        ({"low": (4, 8)}, RuntimeError, "dimension 0 of `A` must be n, and is not"),
        ({"dtype": torch.int64}, ArgumentError, "`low` must be of torch.int32, not torch.int64"),
    ],
)
def test_tracing_finds_what_calls_would_refuse(tensors, error, message):
    kernel = compiled(split)
    dtype = tensors.get("dtype", torch.int32)
    with FakeTensorMode():
        low, A, high = (
            torch.empty(tensors.get(name, (3, columns)), dtype=dtype)
            for name, columns in (("low", 8), ("A", 16), ("high", 8))
        )
        with pytest.raises(error, match=message):
            kernel(low, A, 1, False, high)


def test_without_a_gpu_programs_for_one_are_traced():
    kernel = tilec.compile(scale, 2, target="sm_90a", backend="torch")
    with FakeTensorMode(allow_non_fake_inputs=True):
        A = torch.empty(100, device="meta")
        assert kernel(A, 2.0).shape == (100,)
    assert ".visible .entry" in kernel.get_kernel_source()
    if not torch.cuda.is_available():
        with pytest.raises(LaunchError, match="`scale` is compiled for sm_90a and cannot run here"):
            kernel(torch.empty(100), 2.0)


def test_the_launchers_errors_come_through():
    kernel = compiled(scale)
    A, B = torch.randn(101), torch.empty(100)
    with pytest.raises(AlignmentError, match="`A`"):
        kernel(A[1:], 2.0, B)
    with pytest.raises(ShapeError, match="`B`"):
        kernel(A, 2.0, B)
    with pytest.raises(Exception, match="Expected a value of type 'Tensor' for argument 'A'"):
        kernel(A.numpy(), 2.0, B)


def test_a_gradient_that_nobody_wrote_is_said_to_be_none():
    A = torch.randn(64, requires_grad=True)
    result = compiled(scale, 2)(A, 2.0)
    with pytest.warns(UserWarning, match="tilec::scale_.*: an autograd kernel was not registered"):
        result.sum().backward()
    assert A.grad is None


def test_a_gradient_can_be_registered():
    @T.prim_func
    def twice(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 64)) as b:
            for i in T.Parallel(64):
                B[b * 64 + i] = A[b * 64 + i] * 2.0

    kernel = compiled(twice, 1)
    torch.library.register_autograd(kernel.op, lambda context, gradient: kernel(gradient))
    A = torch.randn(64, requires_grad=True)
    kernel(A).backward(torch.full((64,), 3.0))
    assert torch.equal(A.grad, torch.full((64,), 6.0))


def test_autograd_is_told_of_writes():
    kernel = compiled(scale)
    A, B = torch.randn(64, requires_grad=True), torch.randn(64)
    product = A * B
    kernel(torch.randn(64), 2.0, B)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_options_are_those_of_what_compiles_the_kernels():
    kernel = tilec.compile(scale, target="sm_90a", backend="torch", postproc=lambda source, target: source)
    assert ".visible .entry" in kernel.get_kernel_source()
    with pytest.raises(BackendError, match="the backend `torch` for `cpu` has no option `postproc`"):
        compiled(scale, postproc=lambda source, target: source)


def test_copies_are_the_same_operator():
    kernel = compiled(scale, 2)
    A = torch.randn(64)
    for other in (pickle.loads(pickle.dumps(kernel)), copy.copy(kernel)):
        assert other.op is kernel.op
        assert torch.equal(other(A, 2.0), A * 2)


def test_the_profiler_measures_it():
    assert compiled(fill).get_profiler().do_bench(warmup=1, rep=1) > 0


def test_it_says_when_there_is_no_pytorch(monkeypatch):
    backend = backends.find("torch")
    monkeypatch.setattr(type(backend.needs[0]), "is_met", lambda self: False)
    with pytest.raises(BackendError, match="there is no `torch`; `pip install torch`"):
        compiled(scale)
