"""Programs that make their results by `T.empty` and return them, and `T.parallel`."""

import pickle

import numpy as np
import pytest

import tilec
import tilec.language as T
from result_programs import shifted
from tilec.errors import ArgumentError, TLSyntaxError

TARGETS = [("cpu", {}), ("sm_80", {"backend": "sim"})]


@pytest.mark.parametrize(("target", "options"), TARGETS)
@pytest.mark.parametrize("again", [lambda f: f, lambda f: pickle.loads(pickle.dumps(f))])
def test_calls_return_what_the_function_returns(target, options, again):
    A = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    C, B = tilec.compile(again(shifted), target=target, **options)(A, 2.0)
    np.testing.assert_array_equal(C, np.arange(3) * 3)
    np.testing.assert_array_equal(B, np.concatenate([A[:, 4:], np.zeros((3, 4), np.float32)], 1) + np.float32(2))


def test_kernels_that_return_results_are_compiled_again():
    kernel = tilec.compile(shifted, target="sm_80", backend="sim")
    A = np.ones((3, 64), np.float32)
    for again in (pickle.loads(pickle.dumps(kernel)), kernel.again(kernel.function)):
        np.testing.assert_array_equal(again(A, 2.0)[1], kernel(A, 2.0)[1])


def test_a_lazy_function_returns_such_a_program():
    @tilec.jit(target="cpu")
    def make(N):
        @T.prim_func
        def ones(A: T.Tensor((N,), "int32")):
            B = T.empty(N, dtype="int32")
            with T.Kernel(1, threads=32):
                for i in T.Parallel(N):
                    B[i] = A[i] + 1
            return B

        return ones

    np.testing.assert_array_equal(make(8)(np.arange(8, dtype=np.int32)), np.arange(8) + 1)


def test_parameters_are_not_named_beside_results():
    with pytest.raises(ArgumentError, match="`shifted` returns those that it makes with `T.empty`"):
        tilec.compile(shifted, 0, target="cpu")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda A, B: A, "can return tensors made by `T.empty` only"),
        (
            lambda A, B: None,
            "must return every tensor that it makes with `T.empty`: it makes 1, and returns 0; add",
        ),
        (lambda A, B: (B, B), "returns a tensor twice"),
        (lambda A, B: 3, "can return tensors made by `T.empty` only"),
    ],
)
def test_what_is_no_result(result, message):
    with pytest.raises(TLSyntaxError, match=message) as caught:

        @T.prim_func
        def f(A: T.Tensor((8,), "int32")):
            B = T.empty((8,), "int32")
            with T.Kernel(1, threads=32):
                T.clear(B)
            return result(A, B)

    assert caught.value.location is not None
