"""Boxes of the bulk copy engine on a GPU: at any place, over the edges of tensors, and of empty tensors.

The programs copy numbers without changing them, so that results are compared for equality.
"""

import pytest

import tilec
import tilec.language as T

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")

ROWS, COLUMNS, TILE = 40, 64, (16, 32)


def loads(dtype, rows):
    """C[k] is the tile of A at row `r + k` and column `step * c`, where `c` is known at the call."""

    def make(step):
        @T.prim_func
        def program(A: T.Tensor((rows, COLUMNS), dtype), r: T.int32, c: T.int32, C: T.Tensor((3, *TILE), dtype)):
            with T.Kernel(1, threads=64):
                S = T.alloc_shared(TILE, dtype)
                for k in T.Pipelined(3, num_stages=2):
                    T.copy(A[r + k, c * step], S)
                    for i, j in T.Parallel(*TILE):
                        C[k, i, j] = S[i, j]

        return program

    return make


def stores(dtype, rows):
    """The tile A goes to row `r` and column `step * c` of C, which are not negative if `step` is not 1."""

    def make(step):
        @T.prim_func
        def program(A: T.Tensor(TILE, dtype), r: T.int32, c: T.int32, C: T.Tensor((rows, COLUMNS), dtype)):
            with T.Kernel(1, threads=64):
                S = T.alloc_shared(TILE, dtype)
                T.copy(A, S)
                if step == 1:
                    T.copy(S, C[r, c])
                else:
                    T.copy(S, C[T.max(r, 0), T.min(T.max(c, 0), COLUMNS) * step])

        return program

    return make


def window(tensor, row, column):
    """A tile of a matrix, with zeros where there is none."""
    padded = torch.zeros(ROWS + 200, COLUMNS + 200, dtype=tensor.dtype, device=tensor.device)
    padded[100 : 100 + tensor.shape[0], 100 : 100 + tensor.shape[1]] = tensor
    return padded[100 + row : 100 + row + TILE[0], 100 + column : 100 + column + TILE[1]]


def numbers(*shape, dtype):
    return torch.randint(-100, 100, shape, device="cuda").to(getattr(torch, dtype))


PLACES = [(row, column) for row in (0, 3, 30, 60, -5, -70) for column in (0, 1, 4, 33, 40, 63, 64, -1, -4, -16, -40)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "int8"])
@pytest.mark.parametrize("step", [1, 16])
def test_boxes_are_read_wherever_they_are(dtype, step):
    a = numbers(ROWS, COLUMNS, dtype=dtype)
    kernel = tilec.compile(loads(dtype, ROWS)(step))
    for row, column in PLACES:
        if column % step == 0:
            c = torch.full((3, *TILE), 77, device="cuda").to(a.dtype)
            kernel(a, row, column // step, c)
            for k in range(3):
                assert torch.equal(c[k], window(a, row + k, column)), (row, column, k)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "int8"])
@pytest.mark.parametrize("step", [1, 16])
def test_boxes_are_written_wherever_they_are(dtype, step):
    a = numbers(*TILE, dtype=dtype)
    kernel = tilec.compile(stores(dtype, ROWS)(step))
    for row, column in PLACES:
        if column % step == 0 and (step == 1 or min(row, column) >= 0):
            c = torch.full((ROWS, COLUMNS), 77, device="cuda").to(a.dtype)
            expected = torch.full((ROWS + 200, COLUMNS + 200), 77, device="cuda").to(a.dtype)
            expected[100 + row : 116 + row, 100 + column : 132 + column] = a
            kernel(a, row, column // step, c)
            assert torch.equal(c, expected[100 : 100 + ROWS, 100 : 100 + COLUMNS]), (row, column)


def test_empty_tensors_read_as_zeros_and_take_nothing():
    rows = T.dynamic("rows")
    load = tilec.compile(loads("float32", rows)(4))
    store = tilec.compile(stores("float32", rows)(4))
    for rows in (0, 1, 0, 7):
        a = numbers(rows, COLUMNS, dtype="float32")
        for row in (0, -1, 5, -16):
            c = torch.full((3, *TILE), 77.0, device="cuda")
            load(a, row, 0, c)
            for k in range(3):
                assert torch.equal(c[k], window(a, row + k, 0)), (rows, row, k)
            tile = numbers(*TILE, dtype="float32")
            c = torch.full((rows, COLUMNS), 77.0, device="cuda")
            store(tile, row, 0, c)
            expected = torch.full((ROWS + 200, COLUMNS), 77.0, device="cuda")
            expected[100 + max(row, 0) : 116 + max(row, 0), :32] = tile
            assert torch.equal(c, expected[100 : 100 + rows]), (rows, row)


@pytest.mark.parametrize("distance", [1 << 30, 1_000_000_000, 1 << 16])
def test_tiles_whose_places_wrap_are_not_written(distance):
    """A bulk store that begins before its tensor would end the kernel."""

    @T.prim_func
    def program(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(4, threads=128) as b:
            S = T.alloc_shared((64, 64), "float32")
            T.copy(A, S)
            T.copy(S, C[b * distance, 0])

    a = numbers(64, 64, dtype="float32")
    c = torch.full((64, 64), 77.0, device="cuda")
    tilec.compile(program)(a, c)
    assert torch.equal(c, a)


def test_stores_far_behind_a_tensor_are_dropped():
    """By the engine, which takes them: the last place is just below 2^31."""

    @T.prim_func
    def program(A: T.Tensor((16, 32), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, 65535, threads=64) as (_, b):
            S = T.alloc_shared((16, 32), "float32")
            T.copy(A, S)
            T.copy(S, C[b * 32767, 0])

    a = numbers(16, 32, dtype="float32")
    c = torch.full((64, 64), 77.0, device="cuda")
    kernel = tilec.compile(program)
    kernel(a, c)
    assert torch.equal(c[:16, :32], a)
    assert torch.all(c[16:] == 77)
    assert torch.all(c[:, 32:] == 77)
