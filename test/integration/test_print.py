"""Kernels that print on a GPU: the text of the CPU and the simulator, whatever the blocks' order was."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import tilec
import tilec.language as T
from printing_programs import cases, check
from tilec import assertions, debug, prints
from tilec.errors import DeviceAssertError, LaunchError

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = [pytest.mark.usefixtures("backend"), pytest.mark.filterwarnings("ignore")]


def printed(kernel, *arguments):
    out = io.StringIO()
    with redirect_stdout(out):
        kernel(*arguments)
    return out.getvalue()


@pytest.mark.parametrize("name", [case.name for case in cases()])
def test_a_gpu_prints_the_same(name):
    case = {c.name: c for c in cases()}[name]
    given = [torch.from_numpy(a).cuda() for a in case.arguments]
    kernel = tilec.compile(case.function)
    for _ in range(3):
        for tensor, array in zip(given, case.arguments, strict=True):
            tensor.copy_(torch.from_numpy(array))
        check(case, printed(kernel, *given), [t.cpu().numpy() for t in given])


def test_arrays_of_the_host_are_copied_and_print():
    case = next(c for c in cases() if c.name == "iterations")
    check(case, printed(tilec.compile(case.function), *case.arguments), case.arguments)


@T.prim_func
def crowd(A: T.Tensor((64,), "int32")):
    with T.Kernel(1000, threads=64) as b:
        for i in T.Parallel(64):
            T.print(A[i] * 1000 + b)


def test_many_blocks_print_in_order():
    a = torch.arange(64, dtype=torch.int32).cuda()
    lines = printed(tilec.compile(crowd), a).splitlines()
    assert lines == [
        f"block ({b},), iteration ({i},): A[i] * 1000 + b = {i * 1000 + b}" for b in range(1000) for i in range(64)
    ]


def test_what_finds_no_room_is_printed_by_another_run(monkeypatch):
    @T.prim_func
    def counted_up(A: T.Tensor((1000, 64), "int32")):
        with T.Kernel(1000, threads=64) as b:
            for i in T.Parallel(64):
                A[b, i] = A[b, i] + 1
                T.print(A[b, i])

    monkeypatch.setenv("TL_PRINT_BYTES", "100000")
    kernel = tilec.compile(counted_up)
    given = torch.arange(64000, dtype=torch.int32).cuda().view(1000, 64)
    array = tilec.array.Array.from_numpy(np.arange(64000, dtype=np.int32).reshape(1000, 64), tilec.dtypes.int32, cuda=0)
    for tensor in (given, array, given):
        before = torch.from_dlpack(tensor).cpu().view(-1)
        error = io.StringIO()
        with redirect_stderr(error):
            lines = printed(kernel, tensor).splitlines()
        kernel.launcher()._wanted = 0  # as in the first call
        assert [int(line.rpartition("= ")[2]) for line in lines] == (before + 1).tolist()
        assert (torch.from_dlpack(tensor).cpu().view(-1) == before + 1).all()
        assert error.getvalue() == ""


@T.prim_func
def positive(A: T.Tensor((65536,), "float32"), B: T.Tensor((65536,), "float32")):
    with T.Kernel(256, threads=128) as b:
        for i in T.Parallel(256):
            T.device_assert(A[b * 256 + i] > 0, "no logarithm")
            B[b * 256 + i] = A[b * 256 + i] + 1


def test_the_first_assertion_that_does_not_hold_is_raised():
    a, b = torch.ones(65536).cuda(), torch.zeros(65536).cuda()
    kernel = tilec.compile(positive)
    kernel(a, b)
    assert (b == 2).all()
    a[1000:] = -1
    kernel(a, b)
    with pytest.raises(DeviceAssertError) as caught:
        assertions.synchronize()
    assert caught.value.count == 64536  # more than there is room for: any of them is told
    assert (b == a + 1).all()  # the context is alive, and it ran to its end
    kernel(torch.ones(65536).cuda(), b)
    assertions.synchronize()
    a[:] = 1
    a[1000:1010] = -1
    kernel(a, b)
    torch.cuda.synchronize()
    with pytest.raises(DeviceAssertError) as caught:
        kernel(a, b)
    assert (caught.value.block, caught.value.iteration, caught.value.count) == ((3,), (232,), 10)


def test_a_graph_of_what_asserts_notes_what_fails():
    a, b = torch.ones(65536).cuda(), torch.zeros(65536).cuda()
    kernel = tilec.compile(positive)
    kernel(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b)
    graph.replay()
    assertions.synchronize()
    assert (b == 2).all()
    a[7] = -1
    for _ in range(3):
        graph.replay()
    with pytest.raises(DeviceAssertError) as caught:
        assertions.synchronize()
    assert (caught.value.block, caught.value.iteration, caught.value.count) == ((0,), (7,), 3)


def test_a_call_waits_if_cuda_is_told_to(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    a, b = torch.ones(65536).cuda(), torch.zeros(65536).cuda()
    a[7] = -1
    with pytest.raises(DeviceAssertError):
        tilec.compile(positive)(a, b)


def test_breakpoints_hand_over_tiles(monkeypatch):
    @T.prim_func
    def stops(A: T.Tensor((8, 64), "bfloat16")):
        with T.Kernel(8, threads=64) as b:
            F = T.alloc_fragment((64,), "bfloat16")
            T.copy(A[b, 0], F)
            for k in range(3):
                for i in T.Parallel(64):
                    F[i] = F[i] * T.bfloat16(2)
                T.breakpoint(F, condition=(k == 1) & (b > 5), k=k)

    found = []
    monkeypatch.setattr(prints, "hook", found.append)
    a = torch.randn(8, 64).bfloat16().cuda()
    tilec.compile(stops)(a)
    assert [stop.block for stop in found] == [(6,), (7,)]
    for stop in found:
        np.testing.assert_array_equal(stop.values["F"], (a[stop.block[0]] * 4).float().cpu().numpy())
        assert stop.values["k"] == 1


def test_a_call_belongs_to_the_current_stream():
    a = torch.arange(64, dtype=torch.int32).cuda()
    kernel = tilec.compile(crowd)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.zeros(1 << 26, dtype=torch.int32, device="cuda")
        for _ in range(20):
            x += 1
        y = a + x[:64]
        lines = printed(kernel, y).splitlines()
    assert lines[0] == "block (0,), iteration (0,): A[i] * 1000 + b = 20000"
    assert lines[-1] == "block (999,), iteration (63,): A[i] * 1000 + b = 83999"


def test_a_graph_of_what_prints_is_refused():
    a = torch.arange(64, dtype=torch.int32).cuda()
    kernel = tilec.compile(crowd)
    printed(kernel, a)
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(LaunchError, match="`crowd` prints, for which a call waits"), torch.cuda.graph(graph):
        kernel(a)
    torch.cuda.synchronize()
    assert len(printed(kernel, a).splitlines()) == 64000  # and nothing is broken


def test_a_pipelined_gemm_prints_and_is_right():
    @T.prim_func
    def product(
        A: T.Tensor((512, 512), "float16"), B: T.Tensor((512, 512), "float16"), C: T.Tensor((512, 512), "float32")
    ):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            T.clear(acc)
            for k in T.Pipelined(8, num_stages=3):
                T.copy(A[by * 128, k * 64], As)
                T.copy(B[k * 64, bx * 128], Bs)
                T.gemm(As, Bs, acc)
                T.print(acc[77, 5])
                T.print(As[127, 63])
            T.copy(acc, C[by * 128, bx * 128])

    a, b = torch.randint(-3, 4, (2, 512, 512)).half().cuda()
    c = torch.full((512, 512), float("nan")).cuda()
    lines = printed(tilec.compile(product), a, b, c).splitlines()
    assert (c == a.float() @ b.float()).all()
    sums = (a.float().view(512, 8, 64).transpose(0, 1) @ b.float().view(8, 64, 512)).cumsum(0).cpu()
    host = a.cpu().float()
    expected = []
    for bx in range(4):
        for by in range(4):
            for k in range(8):
                who = f"block ({bx}, {by}): "
                expected.append(f"{who}acc[77, 5] = {float(sums[k, by * 128 + 77, bx * 128 + 5])}")
                expected.append(f"{who}As[127, 63] = {float(host[by * 128 + 127, k * 64 + 63])}")
    assert lines == expected


def test_a_kernel_is_looked_into_on_a_gpu():
    @T.prim_func
    def steps(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
        with T.Kernel(4, threads=64) as b:
            S = T.alloc_shared((64,), "float32")
            F = T.alloc_fragment((64,), "float32")
            T.copy(A[b, 0], F)
            for k in range(3):
                for i in T.Parallel(64):
                    F[i] = F[i] + k
                T.copy(F, S)
            T.copy(S, B[b, 0])

    kernel = tilec.compile(steps)
    a, b = torch.randn(4, 64).cuda(), torch.zeros(4, 64).cuda()
    stops = debug.run_until(kernel, "T.copy(F, S)", a, b, block=2)
    assert (b == 0).all()
    assert [(stop.block, stop.values["k"]) for stop in stops] == [((2,), k) for k in range(3)]
    expected = a[2].cpu().numpy()
    for k, stop in enumerate(stops):
        expected = expected + np.float32(k)
        np.testing.assert_array_equal(stop.values["F"], expected)


def test_a_layout_says_which_thread_holds_what():
    @T.prim_func
    def held(A: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((16, 32), "float32")
            T.copy(A, F)
            T.print(F, layout=True)
            T.copy(F, A)

    a = torch.arange(512).float().cuda().view(16, 32)
    lines = printed(tilec.compile(held), a).splitlines()
    at = lines.index("  thread:register of each:")
    places = [place for line in lines[at + 1 : at + 17] for place in re.findall(r"\d+:\d+", line)]
    assert sorted(places) == sorted(f"{t}:{r}" for t in range(64) for r in range(8))
