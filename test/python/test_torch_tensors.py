"""How PyTorch's tensors are read, with a stand-in for PyTorch; test/integration/test_calls.py has the real one.

Each test is a program of its own, because a process looks for PyTorch's functions once.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import pytest
import tilec
import tilec.language as T
from tilec.errors import ArgumentError, DTypeError, DeviceError, RankError, ShapeError

sys.path.insert(0, sys.argv[1])
from stand_in_torch import Parameter, Tensor, install

@T.prim_func
def add(A: T.Tensor(("n", 8), "float32"), B: T.Tensor(("n", 8), "float32"), k: T.int8):
    with T.Kernel(T.dynamic("n")) as b:
        for i in T.Parallel(8):
            B[b, i] = A[b, i] + k

kernel = tilec.compile(add, target="cpu")
a, b = np.random.rand(4, 8).astype(np.float32), np.full((4, 8), np.nan, np.float32)
install(Path(sys.argv[2]))
"""


@pytest.fixture
def run(tmp_path):
    def run(body):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM + textwrap.dedent(body))
        command = [sys.executable, program, Path(__file__).parent, tmp_path]
        environment = {**os.environ, "TL_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    return run


def test_tensors_and_parameters(run):
    run("""
        kernel(Tensor(a), Tensor(b), 3)
        np.testing.assert_array_equal(b, a + 3)
        kernel(Parameter(a), Tensor(b), 4)
        np.testing.assert_array_equal(b, a + 4)
        rows = np.random.rand(9, 8).astype(np.float32)
        kernel(Tensor(rows[5:]), Tensor(b), 0)
        np.testing.assert_array_equal(b, rows[5:])
    """)


def test_a_tensor_is_read_anew_by_each_call(run):
    run("""
        A, B = Tensor(a), Tensor(b)
        kernel(A, B, 0)
        other = np.random.rand(4, 8).astype(np.float32)
        A.implementation.data = other.ctypes.data
        kernel(A, B, 0)
        np.testing.assert_array_equal(b, other)
        A.implementation.shape[0] = 3
        with pytest.raises(ShapeError, match="`B` is 4, expected 3"):
            kernel(A, B, 0)
    """)


def test_checks(run):
    run("""
        B = Tensor(b)
        with pytest.raises(DTypeError, match="`A` has dtype i64, expected f32"):
            kernel(Tensor(a.astype(np.int64)), B, 1)
        with pytest.raises(RankError, match="`A` has rank 1"):
            kernel(Tensor(a[0]), B, 1)
        A = Tensor(a)
        A.implementation.device, A.implementation.index = 2, 1
        with pytest.raises(DeviceError, match="`A` is on cuda:1"):
            kernel(A, B, 1)
        assert np.isnan(b).all()
    """)


@pytest.mark.parametrize(
    "change",
    ["dtype = 9", "dtype = 1000", "dtype = -1", "layout = 1", "device = 5", "data = None"],
    ids=lambda change: change.replace(" = ", " "),
)
def test_tensors_that_the_functions_cannot_read(run, change):
    run(f"""
        A = Tensor(a)
        A.implementation.{change}
        with pytest.raises(ArgumentError, match="`A` cannot be read: it has no memory of its own, or elements that"):
            kernel(A, Tensor(b), 1)
    """)


RESULTS = """
import stand_in_torch

@T.prim_func
def split(
    Low: T.Tensor((2, "n"), "float32"),
    A: T.Tensor(("n", 8), "float32"),
    k: T.int8,
    High: T.Tensor((3,), "int64"),
):
    with T.Kernel(T.dynamic("n")) as b:
        for i in T.Parallel(2):
            Low[i, b] = A[b, i] + k
        for i in T.Parallel(3):
            High[i] = i + k

kernel = tilec.compile(split, [3, 0], target="cpu")

def check(array, k, **more):
    high, low = kernel(Tensor(array), k, **more)
    high, low = (stand_in_torch.memory[t._cdata] for t in (high, low))
    np.testing.assert_array_equal(low, array[:, :2].T + k)
    np.testing.assert_array_equal(high, np.arange(3) + k)
"""


def test_results(run):
    run(
        RESULTS
        + textwrap.dedent("""
        careful = []
        slowly = tilec.Kernel._call_slowly
        tilec.Kernel._call_slowly = lambda *args, **more: careful.append(1) or slowly(*args, **more)
        for n in (4, 6, 1):
            check(np.random.rand(n, 8).astype(np.float32), n)
        assert len(careful) == 1, "the first call prepares the others"
        assert stand_in_torch.made == [((3,), "int64"), ((2, 4), "float32"), ((3,), "int64"), ((2, 6), "float32"),
                                       ((3,), "int64"), ((2, 1), "float32")]

        one = tilec.compile(split, [0], target="cpu")
        for _ in range(2):
            low = one(Tensor(a), 1, Tensor(np.zeros(3, np.int64)))
            np.testing.assert_array_equal(stand_in_torch.memory[low._cdata], a[:, :2].T + 1)
        """)
    )


def test_results_of_calls_without_tensors(run):
    """Programs for TileLang get them from PyTorch's pool; others, which may use any framework, an array."""
    run("""
        import stand_in_torch
        import tilec.compat.tilelang as tilelang
        from tilec.compat.tilelang import language as TL

        @tilelang.jit(target="cpu")
        def eager(n):
            A, B = TL.empty((n, 4), "float32"), TL.empty((2,), "int64")
            with TL.Kernel(n, threads=32) as b:
                for i in TL.Parallel(4):
                    A[b, i] = b + i
                for i in TL.Parallel(2):
                    B[i] = i
            return A, B

        @TL.prim_func
        def program(k: TL.int32, A: TL.Tensor((8,), "float32")):
            with TL.Kernel(1, threads=32):
                for i in TL.Parallel(8):
                    A[i] = i * k

        lazy = tilelang.compile(program, out_idx=[1], target="cpu")
        for n in (3, 3, 5):
            first, second = (stand_in_torch.memory[r._cdata] for r in eager(n))
            np.testing.assert_array_equal(first, np.add.outer(np.arange(n), np.arange(4)))
            np.testing.assert_array_equal(second, np.arange(2))
            np.testing.assert_array_equal(stand_in_torch.memory[lazy(n)._cdata], np.arange(8) * n)
        assert stand_in_torch.made[:3] == [((3, 4), "float32"), ((2,), "int64"), ((8,), "float32")]
        assert len(stand_in_torch.made) == 9
        assert isinstance(tilec.compile(program, [1], target="cpu")(2), tilec.Array)
    """)


def test_workspaces(run):
    """They are made as results are, and not returned."""
    run(
        """
        @T.prim_func
        def reverse(A: T.Tensor(("n", 8), "float32"), B: T.Tensor(("n", 8), "float32"), C: T.Tensor((1,), "float32")):
            W = T.alloc_global((T.dynamic("n"), 8), "float32")
            with T.Kernel(T.dynamic("n")) as b:
                T.copy(A[b, :], W[b, :])
            with T.Kernel(T.dynamic("n")) as b:
                for i in T.Parallel(8):
                    B[b, i] = W[b, 7 - i]

        import stand_in_torch
        given, all_given = tilec.compile(reverse, [1], target="cpu"), tilec.compile(reverse, target="cpu")
        several = tilec.compile(reverse, [2, 1], target="cpu")
        careful = []
        slowly = tilec.Kernel._call_slowly
        tilec.Kernel._call_slowly = lambda *args, **more: careful.append(1) or slowly(*args, **more)
        c = Tensor(np.zeros(1, np.float32))
        for _ in range(3):
            b[:] = 0
            assert all_given(Tensor(a), Tensor(b), c) is None
            results = [given(Tensor(a), c), several(Tensor(a))[1]]
            assert len(several(Tensor(a))) == 2
            for result in (b, *(stand_in_torch.memory[r._cdata] for r in results)):
                np.testing.assert_array_equal(result, a[:, ::-1])
        assert len(careful) == 3, "the first call of each prepares the others"
        """
    )


def test_results_of_other_calls(run):
    """What C++ does not recognise goes the careful way, before and after a call that it does."""
    run(
        RESULTS
        + textwrap.dedent("""
        for _ in range(2):
            check(a, 1)
            low = kernel(a, 2)[1]
            assert isinstance(low, np.ndarray)
            np.testing.assert_array_equal(low, a[:, :2].T + 2)
            high, low = kernel(k=3, A=Tensor(a))
            np.testing.assert_array_equal(stand_in_torch.memory[low._cdata], a[:, :2].T + 3)
        with pytest.raises(RankError, match="`A` has rank 1, expected 2"):
            kernel(Tensor(a[0]), 1)
        with pytest.raises(ArgumentError, match="`k` must be a number"):
            kernel(Tensor(a), "1")
        with pytest.raises(ArgumentError, match="lacks `k`"):
            kernel(Tensor(a))
        unread = Tensor(a)
        unread.implementation.layout = 1
        with pytest.raises(ArgumentError, match="`A` cannot be read"):
            kernel(unread, 1)
        """)
    )


def test_a_result_that_cannot_be_made(run):
    run(
        RESULTS
        + textwrap.dedent("""
        check(a, 1)
        def fail(self, shape, dtype):
            raise MemoryError("the GPU is full")
        Tensor.new_empty = fail
        with pytest.raises(MemoryError, match="the GPU is full"):
            kernel(Tensor(a), 1)
        """)
    )


def test_what_the_functions_cannot_read_the_type_itself_may(run):
    run("""
        import ctypes
        from test_arguments import CurrentStream, Describe, ExchangeTable

        @Describe
        def describe(tensor, out):
            out[0].data, out[0].device[:], out[0].rank, out[0].dtype[:] = a.ctypes.data, (1, 0), 2, (2, 32, 1, 0)
            out[0].shape, out[0].strides, out[0].offset = (ctypes.c_int64 * 2)(4, 8), (ctypes.c_int64 * 2)(8, 1), 0
            return 0

        table = ExchangeTable((1, 3), None, None, None, None, describe, CurrentStream(lambda *_: -1))
        name = b"dlpack_exchange_api"
        Tensor.__dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.addressof(table), name, None)
        unread = Tensor(np.zeros((3, 3), np.float32))
        unread.implementation.layout = 1
        kernel(unread, Tensor(b), 2)
        np.testing.assert_array_equal(b, a + 2)
    """)


REFUSED = r"`A` cannot be read: it is a lazy negation.*pass `.resolve_neg..` of it"


@pytest.mark.parametrize(
    ("finder", "is_used"), [("1", True), ("7", False), ("None", False)], ids=["function", "wrong function", "method"]
)
def test_lazy_negations_are_refused(run, finder, is_used):
    """Their memory has the other sign, whatever the strides: the imaginary part of a conjugate, or a view of one."""
    run(f"""
        from stand_in_torch import asked, negation
        install(Path(sys.argv[2]), {finder})
        kernel(Tensor(a), Tensor(b), 0)
        del asked[:]
        for array in (a, np.zeros((4, 16), np.float32)[:, ::2]):
            for kind in (Tensor, Parameter):
                tensor = kind(array)
                tensor.implementation.negated = 1
                with pytest.raises(ArgumentError, match=r"{REFUSED}"):
                    kernel(tensor, Tensor(b), 0)
        with pytest.raises(ArgumentError, match="`B` cannot be read: it is a lazy negation"):
            kernel(Tensor(a), negation(Tensor(b)), 0)
        kernel(Tensor(a), Tensor(b), 3)
        np.testing.assert_array_equal(b, a + 3)
        assert bool(asked) is not {is_used}
    """)


@pytest.mark.parametrize("finder", ["1", "None"], ids=["function", "method"])
@pytest.mark.parametrize("is_first", [True, False], ids=["alone", "after plain ones"])
def test_lazy_negations_of_types_that_inherit_are_refused(run, finder, is_first):
    """What PyTorch offers to C, and a capsule, do not say that a tensor is one."""
    run(f"""
        import ctypes
        from test_arguments import CurrentStream, Describe, ExchangeTable
        install(Path(sys.argv[2]), {finder})

        @Describe
        def describe(tensor, out):
            out[0].data, out[0].device[:], out[0].rank, out[0].dtype[:] = a.ctypes.data, (1, 0), 2, (2, 32, 1, 0)
            out[0].shape, out[0].strides, out[0].offset = (ctypes.c_int64 * 2)(4, 8), (ctypes.c_int64 * 2)(8, 1), 0
            return 0

        table = ExchangeTable((1, 3), None, None, None, None, describe, CurrentStream(lambda *_: -1))
        name = b"dlpack_exchange_api"

        class Mine(Tensor):
            __dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.addressof(table), name, None)

        class Exported(Tensor):
            def __dlpack__(self, **_):
                return a.__dlpack__()

        if not {is_first}:
            kernel(Tensor(a), Tensor(b), 0)
        for kind in (Mine, Exported):
            kernel(kind(a), b, 2)
            np.testing.assert_array_equal(b, a + 2)
            tensor = kind(a)
            tensor.implementation.negated = 1
            with pytest.raises(ArgumentError, match=r"{REFUSED}"):
                kernel(tensor, b, 0)
    """)


def test_lazy_negations_are_refused_where_others_call(run):
    pytest.importorskip("tvm_ffi")
    run("""
        from stand_in_torch import negation
        stand_in = sys.modules.pop("torch")
        import tvm_ffi  # takes more of the package than there is
        sys.modules["torch"] = stand_in
        kernel = tilec.compile(add, target="cpu", backend="tvm_ffi")
        kernel(a, b, 3)
        np.testing.assert_array_equal(b, a + 3)
        with pytest.raises(ArgumentError, match="`B` cannot be read: it is a lazy negation.*pass `.resolve_neg"):
            kernel(a, negation(Tensor(b)), 0)
    """)


def test_objects_that_may_be_laid_out_otherwise(run):
    run("""
        class Twice(Tensor):
            __slots__ = ("copy",)

            def __init__(self, array):
                super().__init__(array)
                self.copy = self.implementation

        for Kind in (Twice, type("Mine", (Tensor,), {"__module__": "torch"})):
            if Kind is Twice:
                sys.modules["torch"].Tensor = Twice
            with pytest.raises(ArgumentError, match="`A` must be a tensor"):
                kernel(Kind(a), b, 1)
    """)


def test_packages_that_only_have_the_name(run):
    run("""
        sys.modules["torch"]._C.__file__ = sys.argv[2] + "/missing.so"
        with pytest.raises(ArgumentError, match="`A` must be a tensor"):
            kernel(Tensor(a), b, 1)
        del sys.modules["torch"].nn
        with pytest.raises(ArgumentError, match="`A` must be a tensor"):
            kernel(Parameter(a), b, 1)
    """)
