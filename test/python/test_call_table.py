"""Calls of functions that are compiled when they are called, made a second time: they find their kernel in C++."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import tilec
import tilec.language as T
from test_arguments import Exchanged
from tilec.errors import ArgumentError, DTypeError, RankError, ShapeError
from tilec.jit import JITFunction


class View(Exchanged):
    """A tensor with strides and an alignment of its own; one of the library that C++ asks about its tensors."""

    dtype = "float32"
    shape = ()

    def __init__(self, array):
        super().__init__(array)
        self.address = array.ctypes.data

    def data_ptr(self):
        return self.address

    def stride(self):
        return list(self.strides)

    def __dlpack__(self):
        raise AssertionError("it is read through functions for C")


def array(*shape, dtype="float32"):
    return tilec.Array.from_numpy((np.random.rand(*shape) * 100).astype(dtype), T.dtype(dtype))


@pytest.fixture
def slow_calls(monkeypatch):
    """The calls that went through Python, by the names of the functions."""
    calls = []
    careful = JITFunction._call_slowly

    def count(self, *args, **kwargs):
        calls.append(self.name)
        return careful(self, *args, **kwargs)

    monkeypatch.setattr(JITFunction, "_call_slowly", count)
    return calls


def make():
    @tilec.jit(target="cpu")
    def add(A, B, C, factor: T.float32 = 1.0, bias: int = 0, block: int = 16):
        n = T.dynamic("n")
        M = T.const("M")
        A: T.Tensor[[n, M], T.float32]
        B: T.Tensor[[n, M], T.float32]
        C: T.Tensor[[n, M], T.float32]
        with T.Kernel(T.ceildiv(n, block)) as b:
            for i, j in T.Parallel(block, M):
                C[b * block + i, j] = A[b * block + i, j] * factor + B[b * block + i, j] + bias

    return add


def check(add, a, b, *more, times=1.0, plus=0, **keywords):
    c = array(*a.shape)
    assert add(a, b, c, *more, **keywords) is None
    np.testing.assert_allclose(c.numpy(), a.numpy() * np.float32(times) + b.numpy() + plus, rtol=1e-6)


def test_the_second_call_needs_no_python(slow_calls):
    add = make()
    for _ in range(3):
        check(add, array(5, 8), array(5, 8))
    assert slow_calls == ["add"]


def test_what_no_kernel_depends_on(slow_calls):
    add = make()
    for n in (5, 50, 1):
        check(add, array(n, 8), array(n, 8), n / 2, times=n / 2)
    assert slow_calls == ["add"], "`n` is dynamic, and `factor` is an argument of the kernel"


def test_what_kernels_depend_on(slow_calls):
    add = make()
    a, b = array(5, 8), array(5, 8)
    for _ in range(2):
        check(add, a, b)
        check(add, array(5, 4), array(5, 4))
        check(add, a, b, 1.0, 3, plus=3)
        check(add, a, b, 1.0, 4, plus=4)
        check(add, a, b, 1.0, True, plus=1)
        check(add, a, b, block=8)
    assert slow_calls == ["add"] * 6
    assert len(add._kernels) == 6


def test_keywords(slow_calls):
    add = make()
    a, b = array(5, 8), array(5, 8)
    for _ in range(2):
        check(add, a, b, 2.0, times=2.0)
        check(add, a, b, block=8)
        check(add, a, b, 1.0, block=8)
        c = array(5, 8)
        add(C=c, B=a, factor=3, A=b)
        np.testing.assert_allclose(c.numpy(), b.numpy() * 3 + a.numpy(), rtol=1e-6)
    assert slow_calls == ["add"] * 4


def test_one_tensor_in_several_places(slow_calls):
    add = make()
    a, c = array(5, 8), array(5, 8)
    for b in (a, array(5, 8), a):
        add(a, b, c)
        np.testing.assert_allclose(c.numpy(), a.numpy() + b.numpy(), rtol=1e-6)
    assert slow_calls == ["add"]


def test_mistakes_are_found_by_fast_calls_too(slow_calls):
    add = make()
    a, b, c = array(5, 8), array(5, 8), array(5, 8)
    add(a, b, c)
    before = c.numpy().copy()
    with pytest.raises(ShapeError, match="dimension 0 of `B` is 4, expected 5"):
        add(a, array(4, 8), c)
    with pytest.raises(ArgumentError, match="`factor` must be a number"):
        add(a, b, c, "2")
    assert slow_calls == ["add", "add"], "the second passes a `factor`, which the first did not"
    with pytest.raises(ArgumentError, match="`C` must be a tensor"):
        add(a, b, 5)
    with pytest.raises(ArgumentError, match="missing a required argument: 'C'"):
        add(a, b)
    with pytest.raises(ArgumentError, match="unexpected keyword argument 'z'"):
        add(a, b, c, z=1)
    np.testing.assert_array_equal(c.numpy(), before)


def test_strides_and_alignment(slow_calls):
    @tilec.jit(target="cpu")
    def twice(A, B):
        N, S = T.const("N, S")
        A: T.StridedTensor[[N], [S], T.float32]
        B: T.Tensor[[N], T.float32]
        with T.Kernel(1):
            for i in T.Parallel(N):
                B[i] = A[i] * 2.0

    memory = np.random.rand(200).astype(np.float32)
    aligned = memory[(-memory.ctypes.data // 4) % 4 :][:128]
    views = [aligned[:16], aligned[:32:2], aligned[:48:3], aligned[1:17], aligned[2:18], aligned[:8]]
    for _ in range(2):
        for view in views:
            b = np.full(len(view), np.nan, np.float32)
            twice(View(view), View(b))
            np.testing.assert_array_equal(b, view * 2)
    assert slow_calls == ["twice"] * len(views)


def test_results(slow_calls):
    @tilec.jit(target="cpu")
    def halves(A, scale: T.float32 = 0.5):
        n = T.dynamic("n")
        A: T.Tensor[[n, 8], T.float32]
        B = T.empty((n, 8), T.float32)
        C = T.empty((3,), T.int32)
        with T.Kernel(n) as b:
            for i in T.Parallel(8):
                B[b, i] = A[b, i] * scale
            for i in T.Parallel(3):
                C[i] = i
        return C, B

    for n in (4, 6):
        a = array(n, 8)
        c, b = halves(a)
        assert isinstance(b, tilec.Array)
        np.testing.assert_array_equal(b.numpy(), a.numpy() / 2)
        np.testing.assert_array_equal(c.numpy(), [0, 1, 2])
    assert slow_calls == ["halves"]
    kernel = halves.compile(a)
    np.testing.assert_array_equal(kernel(a, 2.0)[1].numpy(), a.numpy() * 2)
    with pytest.raises(RankError, match="`A` has rank 1, expected 2"):
        kernel(array(4), 2.0)


def test_a_result_needs_a_tensor_to_take_its_extents_from():
    @T.prim_func
    def copy(A: T.Tensor((8, "n"), "float32"), B: T.Tensor(("n",), "float32")):
        with T.Kernel(T.dynamic("n")) as b:
            B[b] = A[0, b]

    kernel = tilec.compile(copy, -1, target="cpu")
    for wrong in (array(8), 5):
        with pytest.raises(RankError, match="`A` has no dimension 1, whose extent the result `B` is to have"):
            kernel(wrong)


def test_lazy_functions_return_the_kernel(slow_calls, monkeypatch):
    built = []
    make = JITFunction._make
    monkeypatch.setattr(JITFunction, "_make", lambda self, bound: (built.append(bound), make(self, bound))[1])

    @tilec.jit(target="cpu")
    def fill(n, value=1.0, dtype=T.float32, sizes=None):
        @T.prim_func
        def program(A: T.Tensor((n,), dtype)):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    A[i] = value

        return program

    calls = [(4,), (5,), (4, 2.0), (4, 3), (4, 2.0, T.float16), (4, 0.0, T.float32, None)]
    kernels = [fill(*arguments) for arguments in calls]
    assert [fill(*arguments) for arguments in calls] == kernels
    assert fill(n=4) is kernels[0]
    assert fill(n=4) is kernels[0]
    assert len(built) == len({id(k) for k in kernels}) == len(calls)
    assert len(slow_calls) == len(calls) + 1
    # What can change is compared by what it contains, each time.
    sizes = [1]
    fill(4, sizes=sizes)
    fill(4, sizes=[1])
    assert len(built) == len(calls) + 1
    sizes[0] = 2
    fill(4, sizes=sizes)
    assert len(built) == len(calls) + 2
    assert len(slow_calls) == len(calls) + 4


def test_nan_and_zeros(slow_calls):
    @tilec.jit(target="cpu")
    def fill(value):
        @T.prim_func
        def program(A: T.Tensor((2,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(2):
                    A[i] = value

        return program

    for value in (float("nan"), 0.0, -0.0, float("nan"), 0.0, -0.0):
        a = array(2)
        fill(value)(a)
        np.testing.assert_array_equal(a.numpy(), np.float32(value))
        np.testing.assert_array_equal(np.signbit(a.numpy()), np.signbit(value))
    assert len(slow_calls) == len(fill._kernels) == 3


def test_more_kinds_of_calls_than_are_remembered(slow_calls):
    add = make()
    for _ in range(2):
        for m in range(1, 71):
            check(add, array(2, m), array(2, m))
    check(add, array(2, 70), array(2, 70))
    assert len(slow_calls) == 140
    assert len(add._kernels) == 70


def test_arrays_of_numpy(slow_calls):
    add = make()
    for n in (5, 6):
        a, b, c = (aligned(np.random.rand(n, 8).astype(np.float32)) for _ in range(3))
        add(a, b, c)
        np.testing.assert_array_equal(c, a + b)
    assert len(slow_calls) == 1
    c.flags.writeable = False
    with pytest.raises(ArgumentError, match="`C` is written to by the kernel, and the array is read-only"):
        add(a, b, c)
    with pytest.raises(DTypeError, match="`A` is of `float64`, and its annotation says `float32`"):
        add(a.astype(float), b, c)
    assert len(slow_calls) == 2, "the one with another type"


def aligned(array):
    """A copy that begins at a multiple of 16 bytes."""
    memory = np.empty(array.nbytes + 16, np.uint8)
    copy = memory[-memory.ctypes.data % 16 :][: array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


class Capsule:
    """A tensor that comes in a capsule, from a library that offers no functions to C."""

    dtype = np.dtype(np.float32)
    shape = ()

    def __init__(self, array):
        self.array, self.shape, self.strides, self.itemsize = array, array.shape, array.strides, array.itemsize

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_libraries_that_c_cannot_ask(slow_calls):
    add = make()
    for _ in range(2):
        a, b, c = (aligned(np.random.rand(5, 8).astype(np.float32)) for _ in range(3))
        add(Capsule(a), Capsule(b), Capsule(c))
        np.testing.assert_array_equal(c, a + b)
    assert len(slow_calls) == 2


def test_a_tensor_that_cannot_be_described(slow_calls):
    add = make()
    a, b, c = (View(np.random.rand(5, 8).astype(np.float32)) for _ in range(3))
    add(a, b, c)
    np.testing.assert_array_equal(c.array, a.array + b.array)
    broken = View(a.array)
    broken.array = None
    with pytest.raises(ArgumentError, match="`A` cannot be read"):
        add(broken, b, c)
    assert len(slow_calls) == 2


def test_threads(slow_calls):
    add = make()
    failures = []

    def work(seed):
        for k in range(200):
            m = 1 + (seed + k) % 5
            a, b, c = array(3, m), array(3, m), array(3, m)
            add(a, b, c, bias=k % 3)
            if not np.allclose(c.numpy(), a.numpy() + b.numpy() + k % 3, rtol=1e-5):
                failures.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(add._kernels) == 15


def test_kernels_are_let_go():
    add = make()
    check(add, array(5, 8), array(5, 8))
    (kernel,) = add._kernels._made.values()
    function, held = weakref.ref(add), sys.getrefcount(kernel)
    del add
    gc.collect()
    assert function() is None
    assert sys.getrefcount(kernel) == held - 2, "one of the function's, one of its table's"


def test_functions_that_read_themselves_are_let_go():
    def make():
        @tilec.jit(target="cpu")
        def double(A, B):
            A: T.Tensor[[8], T.float32]
            B: T.Tensor[[8], T.float32]
            with T.Kernel(1):
                for i in T.Parallel(8):
                    B[i] = A[i] * (2 if double.is_eager else 0)

        return double

    double = make()
    a, b = array(8), array(8)
    double(a, b)
    double(a, b)
    np.testing.assert_array_equal(b.numpy(), 2 * a.numpy())
    assert double._guards(double.compile(a, b)) is not None, "C++ remembers its calls"
    held = weakref.ref(double)
    del double
    gc.collect()
    assert held() is None
