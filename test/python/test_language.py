"""The library of tile operations, and loops that can be left (semantics S6 to S8, T1 to T4)."""

import warnings

import numpy as np
import pytest

import tilec
import tilec.language as T
from language_programs import CASES, check
from tilec.errors import ArgumentError, IgnoredHintWarning


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    if name == "clusters" and chip == "sm_80":
        pytest.skip("only sm_90 and later have clusters")
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize(
    "name", sorted(CASES.keys() - {"tiles", "views_of_other_widths"})
)  # which read outside of a view
def test_checked_programs_report_nothing(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu", checks=True)(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_gpus_take_it_too(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spilled registers and idle threads: the programs are small
        tilec.compile(CASES[name][0], target="sm_90a")


def test_hints_are_accepted_with_one_warning_for_each_place():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")

        @T.prim_func
        def f(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
            with T.Kernel(1, threads=128):
                S = T.alloc_shared((64, 64), "float16", scope="shared.dyn")
                T.annotate_layout({S: T.make_swizzled_layout(S)})
                T.annotate_l2_hit_ratio({A: 0.5})
                T.annotate_safe_value({A: 0})
                T.annotate_restrict_buffers()
                T.assume(A.shape[0] == 64)
                for k in T.unroll(2):
                    T.copy(A, S, coalesced_width=8, eviction_policy="evict_first")
                for i, j in T.Parallel(64, 64, coalesced_width=4):
                    B[i, j] = S[i, j]
                for k in T.Pipelined(2, order=[0], stage=[1]):
                    T.copy(A, B, disable_tma=True)

    hints = [str(w.message) for w in caught if w.category is IgnoredHintWarning]
    expected = [
        "`T.annotate_layout`", "`T.annotate_l2_hit_ratio`",
        "`coalesced_width` of `T.copy`", "`eviction_policy` of `T.copy`", "`coalesced_width` of `T.Parallel`",
        "`order` of `T.Pipelined`", "`stage` of `T.Pipelined`", "`disable_tma` of `T.copy`",
    ]  # fmt: skip
    assert [h for h, e in zip(hints, expected, strict=True) if e not in h] == []
    assert all(h.startswith(f"{__file__}:") and h.endswith("[ignored-hint]") for h in hints)


def test_blocks_that_fit_on_a_multiprocessor():
    def copy(blocks):
        @T.prim_func
        def f(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
            with T.Kernel(1, threads=128):
                T.annotate_min_blocks_per_sm(blocks)
                T.copy(A, B)

        return f

    assert ".minnctapersm 3" in tilec.compile(copy(3), target="sm_80").get_ptx()
    source = tilec.compile(copy(3), target="sm_80", backend="nvrtc").get_kernel_source()
    assert "__launch_bounds__(128, 3)" in source
    a = np.random.standard_normal((64, 64)).astype(np.float32)
    b = np.zeros_like(a)
    tilec.compile(copy(3), target="cpu")(a, b)
    np.testing.assert_array_equal(a, b)
    for wrong in (0, 33, True, 2.0):
        with pytest.raises(ArgumentError, match="an integer from 1 to 32"):
            copy(wrong)


def test_forms_of_variables():
    @T.prim_func
    def f(A: T.Tensor((6,), "int32")):
        with T.Kernel(1, threads=32):
            a = T.alloc_var("int32", 1)
            b = T.alloc_var(T.int32, init=2)
            c = T.alloc_var("int32", "local.var")
            d = T.alloc_var("int32", 4, "local.var")
            e = T.alloc_var(dtype=T.int, init=a)
            c = 3
            A[0], A[1], A[2], A[3], A[4] = a, b, c, d, e

    a = np.zeros(6, np.int32)
    tilec.compile(f, target="cpu")(a)
    assert a.tolist() == [1, 2, 3, 4, 1, 0]


@T.meta_class
class Counter:
    """What a kernel counts: its methods are built into it."""

    def __init__(self, start):
        self.n = T.alloc_var("int32", start)
        self.scale = 2

    def step(self, by):
        self.n = self.n + by

    def twice(self):
        self.n += 1
        return self.n * self.scale


@T.inline
def put(A: T.Buffer, i: int, value: T.Ref):
    A[i] = value


@T.macro
def swap(x: T.Ref, y: T.Ref):
    x, y = y, x


class Holder:
    value = None


def test_what_refers_to_an_element_is_read_before_it_is_written():
    @T.macro
    def keep(x: T.Ref, holder):
        holder.value = x
        x = x + 1

    @T.prim_func
    def f(A: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            swap(A[0], A[1])
            holder = Holder()
            keep(A[2], holder)
            A[3] = holder.value

    a = np.array([1, 2, 3, 4], np.int32)
    tilec.compile(f, target="cpu")(a)
    assert a.tolist() == [2, 1, 4, 3]


def test_objects_whose_methods_are_built_into_kernels():
    m = T.Var("m")

    @T.prim_func
    def f(A: T.Buffer((m,), "int32"), B: T.Buffer[[4], T.int32]):
        with T.Kernel(1, threads=32):
            counter = Counter(3)
            for k in T.serial(4):
                counter.step(k)
                if A[k] > 0:
                    counter.step(100)
            put(B, 0, counter.n)
            B[1] = counter.twice()
            B[2] = isinstance(A, T.Buffer) and not isinstance(A, T.SharedBuffer)

    b = np.zeros(4, np.int32)
    tilec.compile(f, target="cpu")(np.array([1, 0, 1, 0, 5], np.int32), b)
    assert b.tolist() == [209, 420, 1, 0]
