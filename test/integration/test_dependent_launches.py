"""Kernels that are launched while those before them end see all that these wrote, on a stream and in CUDA graphs.

Each kernel reads, by bulk copies that stand first in it, what the one before it wrote at its very end, in blocks that
come late, because they spin for a while. Numbers are copied, so that results are compared for equality.
"""

import pytest

import tilec
import tilec.language as T

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")

ROWS, COLUMNS, TILE = 4096, 512, 64
LAUNCHES = 300
NEVER = 0x12345678
"""What no block has when it has spun."""


def step(rows_of_a_block, by_ring):
    """B is A + 1 with tiles of rows in reverse, so that a block reads what another one wrote; some work for long."""

    @T.prim_func
    def program(A: T.Tensor((ROWS, COLUMNS), "int32"), B: T.Tensor((ROWS, COLUMNS), "int32")):
        with T.Kernel(ROWS // rows_of_a_block, threads=128) as block:
            S = T.alloc_shared((rows_of_a_block, TILE), "int32")
            first = ROWS - rows_of_a_block - block * rows_of_a_block
            spun = T.alloc_var("int32")
            spun = block
            if by_ring:
                for k in T.Pipelined(COLUMNS // TILE, num_stages=3):
                    T.copy(A[first, k * TILE], S)
                    for _ in T.serial(block % 7 * 30):
                        spun = spun * 1103515245 + 12345
                    for i, j in T.Parallel(rows_of_a_block, TILE):
                        B[block * rows_of_a_block + i, k * TILE + j] = S[i, j] + T.if_then_else(spun == NEVER, 0, 1)
            else:
                for _ in T.serial(block % 7 * 200):
                    spun = spun * 1103515245 + 12345
                for i, j in T.Parallel(rows_of_a_block, COLUMNS):
                    B[block * rows_of_a_block + i, j] = A[first + i, j] + T.if_then_else(spun == NEVER, 0, 1)

    return program


def flipped(tensor, rows):
    return tensor.reshape(ROWS // rows, rows, COLUMNS).flip(0).reshape(ROWS, COLUMNS)


@pytest.mark.parametrize("is_graph", [False, True])
@pytest.mark.parametrize("by_ring", [False, True])
def test_kernels_see_what_those_before_them_wrote(by_ring, is_graph):
    rows = 32
    kernel = tilec.compile(step(rows, by_ring))
    first = torch.randint(0, 1 << 20, (ROWS, COLUMNS), dtype=torch.int32, device="cuda")
    tensors = [first.clone(), torch.full_like(first, -1)]

    def launch_all():
        for launch in range(LAUNCHES):
            kernel(tensors[launch % 2], tensors[1 - launch % 2])

    kernel(tensors[0], tensors[1])
    if is_graph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch_all()
    for _ in range(20):
        tensors[0].copy_(first)
        graph.replay() if is_graph else launch_all()
        # An even number of reversals leaves the order.
        assert torch.equal(tensors[LAUNCHES % 2], first + LAUNCHES)


def test_kernels_of_others_before_and_behind():
    """PyTorch's kernels are launched in the ordinary way: they and ours see each other's results too."""
    kernel = tilec.compile(step(32, True))
    first = torch.randint(0, 1 << 20, (ROWS, COLUMNS), dtype=torch.int32, device="cuda")
    a, b = first.clone(), torch.empty_like(first)
    for _ in range(LAUNCHES):
        a.mul_(3)
        kernel(a, b)
        torch.add(flipped(b, 32), -1, out=a)
        a.bitwise_and_((1 << 20) - 1)
    expected = first.clone()
    for _ in range(LAUNCHES):
        expected.mul_(3).bitwise_and_((1 << 20) - 1)
    assert torch.equal(a, expected)
