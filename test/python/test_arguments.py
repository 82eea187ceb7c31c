"""What kernels take as arguments, and the error for everything that they do not."""

import ctypes

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import (
    AlignmentError,
    ArgumentError,
    DTypeError,
    LaunchError,
    RangeError,
    RankError,
    ShapeError,
    StrideError,
    TLError,
)


@T.prim_func
def add(A: T.Tensor(("n", 8), "float32"), B: T.Tensor(("n", 8), "float32"), k: T.int8):
    with T.Kernel(T.dynamic("n")) as b:
        for i in T.Parallel(8):
            B[b, i] = A[b, i] + k


@pytest.fixture(scope="module")
def kernel():
    return tilec.compile(add, target="cpu")


def arrays(n=4):
    return np.random.rand(n, 8).astype(np.float32), np.full((n, 8), np.nan, np.float32)


class Foreign:
    """A tensor of an unknown framework: nothing but DLPack."""

    def __init__(self, array):
        self._array = array
        self.exports = 0

    def __dlpack__(self, **options):
        self.exports += 1
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


Describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class ExchangeTable(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export", ctypes.c_void_p),
        ("import_", ctypes.c_void_p),
        ("describe", Describe),
        ("current_stream", CurrentStream),
    )


class Exchanged:
    """A tensor of a framework that offers DLPack's functions to C; it has nothing else."""

    def __init__(self, array):
        self.array = array
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))

    @Describe
    def _describe(self, out):
        if self.array is None:
            return -1
        out[0].data = self.array.ctypes.data - 8
        out[0].device[:] = (1, 0)
        out[0].rank = len(self.shape)
        out[0].dtype[:] = (2, 32, 1, 0)
        out[0].shape, out[0].strides = self.shape, self.strides
        out[0].offset = 8
        return 0

    @CurrentStream
    def _current_stream(kind, device, out):  # noqa: N805 - a function of C
        raise AssertionError("there are no streams on the host")

    _name = b"dlpack_exchange_api"  # the capsule points to it
    _newer = ExchangeTable((2, 0))
    _table = ExchangeTable((1, 3), None, None, None, None, _describe, _current_stream)
    _newer.previous = ctypes.addressof(_table)
    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    ctypes.pythonapi.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    __dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.addressof(_newer), _name, None)


@pytest.mark.parametrize("wrap", [lambda x: x, Foreign, Exchanged], ids=["numpy", "dlpack", "exchange"])
def test_tensors(kernel, wrap):
    a, b = arrays()
    kernel(wrap(a), wrap(b), 3)
    np.testing.assert_array_equal(b, a + 3)


def test_names_for_elements_that_numpy_lacks(kernel):
    a, b = arrays()
    with pytest.raises(DTypeError, match="`A` has the element type `datetime64"):
        kernel(a.astype("datetime64[s]"), b, 1)


def test_own_arrays(kernel):
    a, _ = arrays()
    result = tilec.Array.empty((4, 8), "float32")
    kernel(tilec.Array.from_numpy(a, T.float32), result, 3)
    np.testing.assert_array_equal(result.numpy(), a + 3)


def test_frameworks_that_cannot_describe_a_tensor(kernel):
    a, b = arrays()
    broken = Exchanged(a)
    broken.array = None
    with pytest.raises(ArgumentError, match="`A` cannot be read"):
        kernel(broken, b, 1)


def test_read_only_capsules(kernel):
    a, b = arrays()
    a.flags.writeable = False
    kernel(Foreign(a), b, 1)
    np.testing.assert_array_equal(b, a + 1)
    with pytest.raises(ArgumentError, match="`B` is written to by the kernel, and the array is read-only"):
        kernel(b, Foreign(a), 1)


def test_unused_tensors_may_be_none():
    @T.prim_func
    def copy(A: T.Tensor(("n",), "float32"), Unused: T.Tensor(("n",), "float32"), B: T.Tensor(("n",), "float32")):
        with T.Kernel(T.dynamic("n")) as b:
            B[b] = A[b]

    kernel = tilec.compile(copy, target="cpu")
    a, b = np.random.rand(5).astype(np.float32), np.zeros(5, np.float32)
    kernel(a, None, b)
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ArgumentError, match="`B` is null"):
        kernel(a, None, None)


def test_exports_are_released(kernel):
    import sys

    a, b = arrays()
    foreign = Foreign(a)
    kernel(foreign, b, 1)
    before = sys.getrefcount(a)
    for _ in range(10):
        kernel(foreign, b, 1)
    assert foreign.exports == 11
    assert sys.getrefcount(a) == before


def test_arrays_outlive_their_capsules():
    array = tilec.Array.empty((16,), "int32")
    view = np.from_dlpack(array)
    view[:] = 5
    del array
    np.testing.assert_array_equal(view, 5)


def test_arrays_are_numpy_arrays_where_one_is_wanted():
    a = np.arange(8, dtype=np.float32)
    array = tilec.Array.from_numpy(a, T.float32)
    assert np.shares_memory(np.asarray(array), np.asarray(array))
    assert np.shares_memory(np.asarray(array, copy=False), np.asarray(array))
    assert not np.shares_memory(np.array(array), np.asarray(array))
    for dtype in (None, np.float32, np.float64, np.int8):
        np.testing.assert_array_equal(np.asarray(array, dtype), a.astype(dtype or np.float32), strict=True)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, np.float64, copy=False)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), True, np.bool_(True)])
def test_integers(kernel, value):
    a, b = arrays()
    kernel(a, b, value)
    np.testing.assert_array_equal(b, a + int(value))


def test_read_only_arrays_are_read(kernel):
    a, b = arrays()
    a.flags.writeable = False
    kernel(a, b, 0)
    np.testing.assert_array_equal(b, a)
    b.flags.writeable = False
    with pytest.raises(ArgumentError, match="`B` is written to by the kernel, and the array is read-only"):
        kernel(a, b, 0)


def test_empty_tensors(kernel):
    kernel(np.zeros((0, 8), np.float32), np.zeros((0, 8), np.float32), 1)


def misaligned():
    memory = np.zeros(4 * 8 * 4 + 64, np.uint8)
    start = (-memory.ctypes.data) % 64 + 4
    return memory[start : start + 128].view(np.float32).reshape(4, 8)


A, B = arrays()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((A,), ArgumentError, "argument `B` is missing: the kernel takes 3 arguments, and 1 is given"),
        ((A, B, 1, 2), ArgumentError, "1 argument too many: the kernel takes 3 arguments, and 4 are given"),
        ((A, B, "1"), ArgumentError, "`k` must be a number, not `str`"),
        ((A, B, None), ArgumentError, "`k` must be a number, not `NoneType`"),
        ((None, B, 1), ArgumentError, "`A` is null"),
        (([1.0], B, 1), ArgumentError, "`A` must be a tensor"),
        ((A.astype(object), B, 1), DTypeError, "`A`"),
        ((A.astype(np.float64), B, 1), DTypeError, "A"),
        ((A[0], B, 1), RankError, "A"),
        ((A[:, :4], B, 1), ShapeError, "A"),
        ((A[:3], B, 1), ShapeError, "n"),
        ((np.asfortranarray(A), B, 1), StrideError, "A"),
        ((misaligned(), B, 1), AlignmentError, "A"),
        ((A, B, 1.5), ArgumentError, "k"),
        ((A, B, 1000), RangeError, "k"),
        ((A, B, 1 << 80), RangeError, "k"),
        ((5, B, 1), ArgumentError, "A"),
    ],
)
def test_wrong_arguments(kernel, arguments, error, message):
    before = B.copy()
    with pytest.raises(error, match=message):
        kernel(*arguments)
    np.testing.assert_array_equal(B, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"B": B, "k": 1}, "lacks `A`: it takes `A`, `B`, `k`"),
        ({"A": A, "B": B, "k": 1, "z": 1}, "has no argument `z`: it takes `A`, `B`, `k`"),
    ],
)
def test_wrong_keywords(kernel, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        kernel(**arguments)
    with pytest.raises(ArgumentError, match="given argument `A` twice"):
        kernel(A, B, 1, A=A)


def test_error_classes():
    for error in (ShapeError, RankError, StrideError, AlignmentError, RangeError):
        assert issubclass(error, TLError)
        assert issubclass(error, ValueError)
    for error in (DTypeError, ArgumentError):
        assert issubclass(error, TLError)
        assert issubclass(error, TypeError)
    assert issubclass(LaunchError, RuntimeError)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")

    @T.prim_func
    def widen(X: T.Tensor((8,), "bfloat16"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                Y[i] = X[i]

    x = np.arange(8).astype(ml_dtypes.bfloat16)
    y = np.zeros(8, np.float32)
    tilec.compile(widen, target="cpu")(x, y)
    np.testing.assert_array_equal(y, np.arange(8))
