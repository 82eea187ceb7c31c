"""How compile time grows with what a thread holds. Processor time, so that others on the machine do not count."""

import time

import pytest

import tilec
import tilec.language as T

ROWS, THREADS = 4, 128


def elements(function, columns, width):
    """Rows of `columns` elements of a fragment of `width`, so that those beyond are guarded."""

    @T.prim_func
    def program(A: T.Tensor((64, columns), "float32"), B: T.Tensor((64, columns), "float32")):
        with T.Kernel(16, threads=THREADS) as block:
            x = T.alloc_fragment((ROWS, width), "float32")
            T.copy(A[block * ROWS, 0], x)
            for i, j in T.Parallel(ROWS, width):
                x[i, j] = function(x[i, j])
            T.copy(x, B[block * ROWS, 0])

    return program


def sums(width):
    @T.prim_func
    def program(A: T.Tensor((64, width), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(16, threads=THREADS) as block:
            x = T.alloc_fragment((ROWS, width), "float32")
            s = T.alloc_fragment((ROWS,), "float32")
            T.copy(A[block * ROWS, 0], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, B[block * ROWS])

    return program


PROGRAMS = {
    "copy": lambda width: elements(lambda x: x, width, width),
    "exp": lambda width: elements(T.exp, width, width),
    "guarded": lambda width: elements(lambda x: x * 2, width - 77, width),
    "sums": sums,
}


def seconds(program):
    """Returns the processor seconds to PTX, without a cache."""
    begin = time.process_time()
    tilec.compile(program, target="sm_90a", assembler="none")
    return time.process_time() - begin


@pytest.mark.parametrize("name", PROGRAMS)
def test_four_times_the_elements_take_no_more_than_seven_times_as_long(name, monkeypatch):
    """It is 3 to 5 times, and was 16 when passes walked over the whole fragment for each element."""
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    few, many = (min(seconds(PROGRAMS[name](width)) for _ in range(3)) for width in (4096, 16384))
    assert many < 7 * few


def test_columns_that_shuffles_do_not_reach_are_added_in_a_loop():
    """Each of 50 threads has a part of 70 sums: 3,500 reads are a loop, and not as much text."""

    @T.prim_func
    def program(A: T.Tensor((50, 70), "float32"), B: T.Tensor((70,), "float32")):
        with T.Kernel(1, threads=77):
            x = T.alloc_fragment((50, 70), "float32")
            s = T.alloc_fragment((70,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, s, dim=0)
            T.copy(s, B)

    assert tilec.compile(program, target="sm_90a", assembler="none").get_ptx().count("ld.shared") < 200
