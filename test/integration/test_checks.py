"""Checked programs on a GPU: the mistakes that `test/python` makes on the CPU, and that the GPU survives them."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from checked_programs import check, mistaken
from tilec.errors import CheckError, LaunchError

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = [pytest.mark.usefixtures("backend"), pytest.mark.filterwarnings("ignore")]

NAMES = [case.name for case in mistaken()]


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_is_reported(name):
    case = {c.name: c for c in mistaken()}[name]
    given = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in case.arguments]
    with pytest.raises(CheckError) as caught:
        tilec.compile(case.function, checks=True)(*given)
    for number, value in enumerate(given):
        if isinstance(value, torch.Tensor):
            case.arguments[number] = value.cpu().numpy()  # the context is alive
    check(case, caught.value)


def test_arrays_of_the_host_come_back_from_a_call_that_reports():
    case = next(c for c in mistaken() if c.name == "division")
    with pytest.raises(CheckError) as caught:
        tilec.compile(case.function, checks=True)(*case.arguments)
    check(case, caught.value)


def test_many_reports_at_once_give_one_that_is_whole():
    @T.prim_func
    def all_wrong(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(5000, threads=64) as bx:
            for i in T.Parallel(64):
                B[i] = A[i + 64 * (bx + 1)]

    kernel = tilec.compile(all_wrong, checks=True)
    a, b = torch.zeros(64, dtype=torch.int32).cuda(), torch.zeros(64, dtype=torch.int32).cuda()
    for _ in range(20):
        with pytest.raises(CheckError) as caught:
            kernel(a, b)
        error = caught.value
        assert error.index is not None
        assert error.index == error.iteration[0] + 64 * (error.block[0] + 1)


def test_a_pipelined_gemm_is_clean_and_right():
    @T.prim_func
    def product(
        A: T.Tensor((200, 200), "float16"), B: T.Tensor((200, 200), "float16"), C: T.Tensor((200, 200), "float32")
    ):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            As = T.alloc_shared((128, 32), "float16")
            Bs = T.alloc_shared((32, 128), "float16")
            acc = T.alloc_fragment((128, 128), "float32")
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(200, 32), num_stages=3):
                T.copy(A[by * 128, k * 32], As)
                T.copy(B[k * 32, bx * 128], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, C[by * 128, bx * 128])

    a, b = torch.randint(-3, 4, (2, 200, 200)).half().cuda()
    c = torch.zeros(200, 200).cuda()
    tilec.compile(product, checks=True)(a, b, c)
    assert (c == a.float() @ b.float()).all()


def test_tiles_with_notes_are_right_where_nothing_is_wrong():
    @T.prim_func
    def pieces(A: T.Tensor((64, 96), "float32"), B: T.Tensor((64, 96), "float32"), s: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 96), "float32")
            F = T.alloc_fragment((64, 96), "float32")
            total = T.alloc_fragment((64,), "float32")
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[0:64, k * 32 : k * 32 + 32], S[0:64, k * 32 : k * 32 + 32])
            T.copy(S, F)
            for i, j in T.Parallel(64, 96):
                F[i, j] = F[i, j] * 2.0
            T.reduce_sum(F, total, dim=1)
            T.copy(F, B)
            T.copy(total, s)

    a = torch.randint(-9, 10, (64, 96)).float().cuda()
    b, s = torch.zeros_like(a), torch.zeros(64).cuda()
    tilec.compile(pieces, checks=True)(a, b, s)
    assert (b == a * 2).all()
    assert (s == (a * 2).sum(1)).all()


def test_a_graph_of_a_checked_program_is_refused():
    case = next(c for c in mistaken() if c.name == "division")
    given = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in case.arguments]
    kernel = tilec.compile(case.function, checks=True)
    message = "is compiled with checks, for which a call waits for the GPU"
    with pytest.raises(LaunchError, match=message), torch.cuda.graph(torch.cuda.CUDAGraph()):
        kernel(*given)
    with pytest.raises(CheckError):
        kernel(*given)


def test_tensors_that_overlap_are_reported_by_name():
    @T.prim_func
    def doubled(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                B[i] = A[i] * 2

    kernel = tilec.compile(doubled, checks=True)
    memory = torch.ones(160, device="cuda")
    for a, b in ((memory[:64], memory[:64]), (memory[:64], memory[32:96])):
        with pytest.raises(CheckError, match="`B` is written, and shares memory with `A`"):
            kernel(a, b)
    assert bool((memory == 1).all())
    kernel(memory[:64], memory[64:128])
    assert bool((memory[64:128] == 2).all())
    on_host = np.ones(128, np.float32)
    with pytest.raises(CheckError, match="`B` is written, and shares memory with `A`"):
        kernel(on_host[:64], on_host[32:96])
