"""What is said of mistakes that are made on the first day, most of them by who knows another library."""

import functools
import inspect
import math

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, RankError, ShapeError, TLError, TLSyntaxError, UnsupportedError


def program(body):
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=64):
            S = T.alloc_shared((64, 64), "float32")
            body(A, S)

    return main


fine = functools.partial(program, lambda A, S: T.clear(S))


def of_a_symbol():
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                A[i] = 1.0

    return tilec.compile(main, target="cpu")


def returning():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.clear(A)
        return A


def outside():
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):
        T.clear(A)


MISTAKES = {
    "a target in place": (lambda: tilec.compile(fine(), "cpu"), ArgumentError, "did you mean `target='cpu'`"),
    "results by name": (lambda: tilec.compile(fine(), ["A"]), ArgumentError, "or a list of them, not `\\['A'\\]`"),
    "an option of others": (
        lambda: tilec.compile(fine(), num_warps=4),
        ArgumentError,
        "`tilec.compile` has no `num_warps`: give `threads=` to `T.Kernel`",
    ),
    "a misspelt option": (lambda: tilec.compile(fine(), fastmath=True), ArgumentError, "did you mean `fast_math`"),
    "a product by @": (lambda: program(lambda A, S: S @ S), UnsupportedError, "use `T.gemm\\(A, B, C\\)`"),
    "a name in lower case": (lambda: T.kernel(1), AttributeError, "did you mean `T.Kernel`"),
    "a tile outside of a kernel": (
        outside,
        TLSyntaxError,
        "test_first_mistakes.py.*`T.clear` belongs inside `with T.K",
    ),
    "float of an element": (lambda: program(lambda A, S: float(A[0, 0])), UnsupportedError, "`float\\(...\\)`, or a"),
    "a function of math": (
        lambda: program(lambda A, S: math.exp(A[0, 0])),
        UnsupportedError,
        "use `T.exp` and the like",
    ),
    "another type of a tile": (
        lambda: program(lambda A, S: S.astype("float16")),
        TLError,
        "`T.cast\\(A\\[i, j\\], dtype",
    ),
    "a transposed tile": (lambda: program(lambda A, S: S.T), TLError, "use `T.transpose\\(source, target\\)`"),
    "the greatest element": (
        lambda: program(lambda A, S: T.max(S)),
        ArgumentError,
        "use `T.reduce_max\\(tile, out\\)`",
    ),
    "a rank": (
        lambda: program(lambda A, S: A.__setitem__(0, 0.0)),
        RankError,
        "has 2 dimensions, and 1 index is given",
    ),
    "a result": (returning, TLSyntaxError, "which calls return that are named by `out_idx`"),
    "an extent that is not known": (lambda: of_a_symbol().get_profiler().do_bench(), ArgumentError, "as `inputs="),
    "a layout that is chosen later": (
        lambda: program(lambda A, S: T.make_volta_swizzled_layout(S).map_forward_index([1, 0])),
        UnsupportedError,
        "where this layout puts an element is not known here",
    ),
    "a fragment without functions": (
        lambda: T.Fragment((8, 8)),
        ArgumentError,
        "a `T.Fragment` needs `forward_fn` or `forward_thread_fn`",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case):
    call, kind, message = MISTAKES[case]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("program_id", "T.Kernel"),
        ("load", "T.copy"),
        ("store", "T.copy"),
        ("where", "T.if_then_else"),
        ("arange", "T.Parallel"),
        ("dot", "T.gemm"),
        ("zeros", "T.alloc_fragment"),
        ("sum", "T.reduce_sum"),
    ],
)
def test_names_of_triton(name, instead):
    with pytest.raises(AttributeError, match=f"`T.{name}` is .*{instead}"):
        getattr(T, name)


def test_layouts_that_are_known():
    assert T.make_linear_layout((4, 8)).map_forward_index([1, 2]) == [1, 2]


def test_a_tensor_over_the_data_of_a_tile():
    @T.prim_func
    def bits(A: T.Tensor((4, 8), "float32"), B: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4, 8), "float32")
            T.copy(A, S)
            V = T.Tensor((32,), "int32", S.data)
            W = T.Buffer((32,), "int32", A.data)
            for i in T.Parallel(32):
                B[i] = V[i] + W[i] * 0

    a = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    b = np.zeros(32, np.int32)
    tilec.compile(bits, target="cpu")(a, b)
    np.testing.assert_array_equal(b, a.reshape(-1).view(np.int32))
    with pytest.raises(ShapeError, match="`T.view` keeps the elements"):
        program(lambda A, S: T.Tensor((3,), "int32", S.data))


def test_options_are_those_that_compile_takes():
    from tilec.compiler import OPTIONS

    taken = set(inspect.signature(tilec.compile).parameters) - {"func", "out_idx", "others"}
    assert set(OPTIONS) == taken
