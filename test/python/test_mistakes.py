"""Messages: each mistake is answered in the language's own words, with the thing, the place and the remedy."""

import linecache
import re

import numpy as np
import pytest

import mistakes
import tilec
import tilec.language as T
from tilec.errors import TLError, TLSyntaxError


@pytest.mark.parametrize("mistake", mistakes.MISTAKES, ids=lambda m: m.__name__)
def test_what_is_answered(mistake):
    with pytest.raises(TLError) as caught:
        mistake()
    assert re.search(mistakes.MISTAKES[mistake], caught.value.message), caught.value.message
    code, place = mistake.__code__, caught.value.location
    assert place is not None
    assert place.file == code.co_filename
    last = max(line for *_, line in code.co_lines() if line)
    inside = [c for c in code.co_consts if hasattr(c, "co_lines")]
    last = max([last, *(line for c in inside for *_, line in c.co_lines() if line)])
    assert code.co_firstlineno <= place.line <= last
    assert str(caught.value).startswith(f"{place.file}:{place.line}:{place.column}: error: ")


def test_numbers_of_numpy_are_numbers():
    mistakes.numpys_numbers_are_fine()


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    @tilec.jit(target="cpu")
    def lazy(self, n, offset=0):
        scale = self.scale

        @T.prim_func
        def f(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    A[i] = A[i] * scale + offset

        return f

    @tilec.jit(target="cpu")
    def eager(self, A):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B = T.empty([N], "float32")
        with T.Kernel(1):
            for i in T.Parallel(N):
                B[i] = A[i] * self.scale
        return B


def test_methods():
    twice, thrice = Scaled(2.0), Scaled(3.0)
    a = np.arange(4, dtype=np.float32)
    assert np.asarray(twice.eager(a)).tolist() == [0, 2, 4, 6]
    assert np.asarray(thrice.eager(a)).tolist() == [0, 3, 6, 9]
    assert twice.lazy(4) is twice.lazy(4)
    assert twice.lazy(4) is not thrice.lazy(4)
    assert twice.lazy.compile(4, offset=1) is twice.lazy(4, 1)
    twice.lazy(4, offset=1)(a)
    assert a.tolist() == [1, 3, 5, 7]


TYPED = """
@tilec.jit(target="cpu")
def double(A):
    N = T.const("N")
    A: T.Tensor[[N], "float32"]
    B = T.empty([N], "float32")
    with T.Kernel(1):
        for i in T.Parallel(N):
            B[i] = A[i] * 2
    return B
"""


def test_code_whose_source_is_nowhere():
    scope = {"T": T, "tilec": tilec}
    exec(TYPED, scope)
    with pytest.raises(TLSyntaxError, match=r"the source of `double` is not at hand.*notebook.*`linecache.cache`"):
        scope["double"](np.ones(4, np.float32))


def test_code_of_a_notebook():
    scope, cell = {"T": T, "tilec": tilec}, "<cell 1>"
    linecache.cache[cell] = (len(TYPED), None, TYPED.splitlines(keepends=True), cell)
    exec(compile(TYPED, cell, "exec"), scope)
    assert np.asarray(scope["double"](np.ones(4, np.float32))).tolist() == [2, 2, 2, 2]
