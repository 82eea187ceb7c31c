"""NumPy arrays in memory of their own for a call, as those that are passed to kernels on a GPU.

A kernel of the CPU is called with the arrays, and with copies of them on the host: it takes the same, computes the
same, and leaves alone what lies between the elements.
"""

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, DTypeError, StrideError
from tilec.strided import HostCopy, Strided

m, n = T.dynamic("m, n")


def program(dtype):
    steps = [T.dynamic(name) for name in ("s", "t", "u", "v")]

    @T.prim_func
    def taken(
        X: T.StridedTensor((m, n), steps[:2], dtype, align=1),
        Y: T.StridedTensor((m, n), steps[2:], dtype, align=1),
        Z: T.Tensor((4,), "int64"),
    ):
        with T.Kernel(1, threads=32):
            Z[0] = steps[0]
            Z[1] = steps[1]
            Z[2] = steps[2]
            Z[3] = steps[3]
            for i in T.serial(m):
                for j in T.serial(n):
                    Y[i, j] = X[i, j]

    return taken


KERNELS = {}


def kernel_for(dtype):
    if dtype not in KERNELS:
        KERNELS[dtype] = tilec.compile(program(dtype), target="cpu")
    return KERNELS[dtype]


def whole(dtype):
    return (np.arange(24 * 24) % 100 + 1).reshape(24, 24).astype(dtype)


WAYS = {
    "dense": lambda x: x,
    "columns of a wider one": lambda x: x[:, :5],
    "from a later column": lambda x: x[3:, 7:9],
    "every third": lambda x: x[::3, 1::5],
    "transposed": lambda x: x.T,
    "rows backwards": lambda x: x[::-1, :7],
    "columns backwards": lambda x: x[2:5, ::-1],
    "both backwards": lambda x: x[20:3:-2, 9:2:-3],
    "transposed and backwards": lambda x: x.T[::-1, 3:],
    "one row": lambda x: x[2:3, ::-2],
    "one column": lambda x: x[::4, 3:4],
    "one element": lambda x: x[::30, ::-30],
    "no row": lambda x: x[:0, ::2],
    "no column": lambda x: x[::-2, 4:4],
}


def gaps_kept(memory, way):
    """Returns what lies between the elements."""
    hidden = memory.copy()
    way(hidden)[...] = 0
    return hidden


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "float16"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_kernels_take_copies_as_they_take_arrays(way, dtype):
    kernel = kernel_for(dtype)
    given, expected, found = whole(dtype), np.zeros((24, 24), dtype), np.zeros((24, 24), dtype)
    numbers = [np.zeros(4, np.int64), np.zeros(4, np.int64)]
    kernel(way(given), way(expected), numbers[0])

    parameters = kernel.function.parameters
    arrays = (way(given), way(found), numbers[1])
    copies = [HostCopy(array, parameter, cuda=None) for array, parameter in zip(arrays, parameters, strict=True)]
    found[...] = 77  # meanwhile, by someone else
    between = gaps_kept(found, way)
    kernel.launcher()(*(copy.tensor for copy in copies))
    for copy in copies[1:]:
        copy.copy_back()
    np.testing.assert_array_equal(way(found), way(expected), strict=True)
    np.testing.assert_array_equal(way(found), way(given))
    np.testing.assert_array_equal(gaps_kept(found, way), between)
    np.testing.assert_array_equal(numbers[0], numbers[1], "the strides that the kernel was told")


def test_repeated_rows_and_columns():
    kernel = kernel_for("float32")
    row = np.arange(8, dtype=np.float32)
    for array in (
        np.broadcast_to(row, (5, 8)),
        np.broadcast_to(row[::-2, None], (4, 6)),
        np.broadcast_to(row[:1], (3, 3)),
    ):
        result, numbers = np.zeros(array.shape, np.float32), np.zeros(4, np.int64)
        copy = HostCopy(array, kernel.function.parameters[0], cuda=None)
        assert copy.memory.nbytes <= row.nbytes + 256
        kernel.launcher()(copy.tensor, result, numbers)
        np.testing.assert_array_equal(result, array)
        assert list(numbers[:2]) == [step // 4 for step in array.strides]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_first_elements_are_aligned(way):
    array = way(whole("float16"))
    copy = HostCopy(array, kernel_for("float16").function.parameters[0], cuda=None)
    tensor = np.from_dlpack(copy.tensor) if isinstance(copy.tensor, Strided) else copy.tensor.numpy()
    assert array.size == 0 or tensor.ctypes.data % 64 == 0
    np.testing.assert_array_equal(tensor, array, strict=True)


def test_calls_copy_what_was_written_back(monkeypatch):
    """A call for a GPU, with everything that is one left out."""
    kernel = kernel_for("float32")
    monkeypatch.setattr("tilec.strided.HostCopy", lambda array, parameter, cuda: HostCopy(array, parameter, cuda=None))
    monkeypatch.setattr("tilec.kernel._tl", type("NoDriver", (), {"cuda_synchronize": lambda device: None}))
    monkeypatch.setattr("tilec.kernel.tell_failures", lambda device: None)
    given, found, numbers = whole("float32"), np.full((24, 24), 77, np.float32), np.zeros(4, np.int64)
    kernel._launch_with_copies(kernel.launcher(), [given[::-2, :9], found.T[12:, ::-1][:, :9], numbers])
    expected = np.full((24, 24), 77, np.float32)
    expected.T[12:, ::-1][:, :9] = given[::-2, :9]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(numbers, [-48, 1, 1, -24])


def test_what_the_cpu_refuses_is_refused():
    """Before anything is copied, in the words that a call on the CPU has."""
    kernel = kernel_for("float32")
    X, Y, _ = kernel.function.parameters
    fine, numbers = np.zeros((4, 4), np.float32), np.zeros(4, np.int64)
    fixed = np.broadcast_to(fine[0], (4, 4))
    packed = np.zeros((4, 4), [("a", "f4"), ("b", "i1")])["a"]
    for arrays, parameter, error, message in [
        ((fine, fixed), Y, ArgumentError, "`Y` is written to by the kernel, and the array is read-only"),
        ((packed, fine), X, StrideError, "`X` has a stride that is not a multiple of its elements"),
        ((fine.astype(">f4"), fine), X, DTypeError, "`X` has elements of the format `>f"),
    ]:
        with pytest.raises(error, match=message):
            kernel(*arrays, numbers)
        with pytest.raises(error, match=message):
            HostCopy(arrays[parameter is Y], parameter, cuda=None)
    with pytest.raises(DTypeError):
        HostCopy(np.zeros(3, "S0"), X, cuda=None)


def test_tensors_without_gaps_are_refused_with_gaps():
    @T.prim_func
    def dense(A: T.Tensor((8, 8), "float32"), B: T.Tensor((8, 8), "float32")):
        with T.Kernel(8, threads=8) as i:
            for j in T.Parallel(8):
                B[i, j] = A[i, j]

    kernel = tilec.compile(dense, target="cpu")
    a, b = np.zeros((8, 16), np.float32)[:, :8], np.zeros((8, 8), np.float32)
    copy = HostCopy(a, kernel.function.parameters[0], cuda=None)
    for given in (a, copy.tensor):
        with pytest.raises(StrideError, match="stride 0 of `A` is 16, expected 8"):
            kernel(given, b)
