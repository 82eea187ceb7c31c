"""Messages: each mistake is answered in the language's own words, with the thing, the place and the remedy."""

import linecache
import re
import traceback
from pathlib import Path

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


def called_wrongly():
    @T.prim_func
    def f(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            T.clear(A)

    tilec.compile(f, target="cpu")(np.zeros(5, np.float32))


def built_for_nothing():
    @T.prim_func
    def f(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            T.clear(A)

    tilec.compile(f, target="nowhere")


def too_large():
    @T.prim_func
    def f(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((1 << 20,), "float32")
            T.clear(S)
            T.copy(S[0:4], A)

    tilec.compile(f, target="sm_80")


def an_eager_call():
    @tilec.jit(target="cpu")
    def f(A):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1, threads=32):
            T.copy(A[0:2], A[0:3])

    f(np.zeros(5, np.float32))


ENDS = {
    mistakes.a_misspelt_keyword: "T.gemm(",
    mistakes.a_copy_of_other_extents: "T.copy(",
    mistakes.several_coordinates_as_one: "A[b * 128] = 0",
    mistakes.too_few_indices: "M[b] + 1",
    mistakes.an_unknown_name: "aplha",
    mistakes.an_extent_before_its_symbol: "T.Tensor[[N]",
    mistakes.an_exception_in_a_kernel: "@T.prim_func",
    mistakes.a_kernel_called_in_a_kernel: "inner(A)",
    mistakes.an_unknown_option: "@tilec.jit",
    mistakes.a_class_as_a_kernel: "@tilec.jit",
    mistakes.tuning_without_brackets: "@tilec.autotune",
    mistakes.a_grid_in_brackets: "f[4](",
    mistakes.a_type_before_its_shape: "T.Tensor(",
    called_wrongly: "np.zeros(5",
    built_for_nothing: 'target="nowhere"',
    too_large: 'target="sm_80"',
    an_eager_call: "T.copy(",
}
"""Mistakes, and what stands in the last line of their tracebacks."""


@pytest.mark.parametrize("mistake", ENDS, ids=lambda m: m.__name__)
def test_tracebacks_end_in_the_program(mistake):
    with pytest.raises(TLError) as caught:
        mistake()
    frames = traceback.extract_tb(caught.value.__traceback__)
    package = str(Path(tilec.__file__).parent)
    assert not [frame for frame in frames if frame.filename.startswith(package)]
    assert ENDS[mistake] in frames[-1].line


def test_tracebacks_of_what_the_program_raises_end_in_it():
    with pytest.raises(ZeroDivisionError) as caught:
        mistakes.in_kernel(lambda A, M, S, F, b: 1 // 0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    package = str(Path(tilec.__file__).parent)
    assert not [frame for frame in frames if frame.filename.startswith(package)]
    assert "1 // 0" in frames[-1].line


def test_tracebacks_of_defects_are_whole(monkeypatch):
    from tilec.frontend import functions

    monkeypatch.setattr(functions.FunctionBuilder, "finish", lambda self: 1 // 0)
    monkeypatch.setitem(functions.FunctionBuilder.finish.__globals__, "__name__", "tilec.test")
    with pytest.raises(ZeroDivisionError) as caught:
        mistakes.in_kernel(lambda A, M, S, F, b: T.clear(S))
    assert "_trace" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
