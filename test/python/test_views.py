"""Views of tensors (semantics M7): where an element is, whatever its index is computed in."""

import numpy as np
import pytest

import tilec
import tilec.language as T

TARGETS = [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}]

VIEWS = {
    "reshape": ((10, 128), "int32"),
    "other_type": ((20, 64), "float32"),
    "narrower": ((20, 128), "int16"),
    "wider": ((20, 32), "int64"),
}


def looked_up(shape, dtype, index):
    @T.prim_func
    def f(A: T.Tensor((20, 64), "int32"), J: T.Tensor((2, 64), index), C: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=64):
            V = T.view(A, shape, dtype)
            for i in T.Parallel(64):
                C[i] = V[J[0, i], J[1, i]]

    return f


@pytest.mark.parametrize("index", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "sim"])
def test_indices_of_any_integer_type(view, index, options):
    """The number of an element is no number of the index's type: row 10 of 64 columns begins at 640."""
    shape, dtype = VIEWS[view]
    random = np.random.default_rng(0)
    a = random.integers(-1000, 1000, (20, 64)).astype("float32").view("int32")
    indices = np.stack([random.integers(0, 22, 64), random.integers(0, 127, 64)]).astype(index)
    if index.startswith("i"):
        indices[0, 3], indices[1, 5] = -1, -2
    else:
        indices[0, 3] = indices[1, 5] = np.iinfo(index).max
    expected, viewed = np.zeros(64, dtype), a.view(dtype).reshape(shape)
    for number, (i, j) in enumerate(indices.astype(object).T):
        if 0 <= i < shape[0] and 0 <= j < shape[1]:
            expected[number] = viewed[i, j]
    c = np.full(64, 77, dtype)
    tilec.compile(looked_up(shape, dtype, index), **options)(a, indices, c)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("options", TARGETS, ids=["cpu", "sim"])
def test_elements_that_32_bits_do_not_count(options):
    """Of 2 GB, of which no page but those that are written is there."""
    rows, columns = 2**15 + 1, 2**16

    @T.prim_func
    def f(A: T.Tensor((rows, columns), "int8"), C: T.Tensor((4,), "int32"), last: T.int32):
        with T.Kernel(1, threads=32):
            C[0] = T.reshape(A, (columns, rows))[columns - 1, last]
            bits = T.view(A, (rows, columns), "uint8")
            C[1] = bits[last, columns - 1]
            bits[last, 7] = 200
            C[2] = A[last, 7]
            C[3] = T.view(A, (rows, columns // 2), "int16")[last, 2]

    a = np.zeros((rows, columns), np.int8)
    a[-1, 4], a[-1, -1] = 3, 5
    c = np.zeros(4, np.int32)
    tilec.compile(f, **options)(a, c, rows - 1)
    assert c.tolist() == [5, 5, 200 - 256, 3]
