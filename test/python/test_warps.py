"""Warps: what threads give each other, and which thread is which (semantics S9)."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import ArgumentError, CompileError, DTypeError, TLSyntaxError
from warp_programs import CASES, check


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="sm_80", backend="sim")(*arguments))


@pytest.mark.parametrize("name", ["shuffles_of_75_threads", "numbers", "loops"])
def test_checked_programs_report_nothing(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu", checks=True)(*arguments))


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("name", ["shuffles_of_float16", "shuffles_of_int64", "reductions_of_49_threads", "loops"])
def test_gpus_take_it_too(name, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tilec.compile(CASES[name][0], target="sm_90a", backend=backend)


def test_a_vote_is_an_instruction():
    @T.prim_func
    def f(A: T.Tensor((112,), "uint64")):
        with T.Kernel(1, threads=112):
            A[T.get_thread_binding()] = T.ballot(A[T.get_thread_binding()] > 3)

    assert f.script().count('"tl.vote"') == 1
    ptx = tilec.compile(f, target="sm_80").get_ptx()
    assert ptx.count("vote.sync.ballot.b32") == 1
    assert "shfl" not in ptx
    assert "bar.sync" not in ptx


def test_a_shuffle_is_an_instruction():
    @T.prim_func
    def f(A: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            t = T.get_thread_binding()
            A[t] = A[t] + T.shfl_xor(A[t], 1)

    text = tilec.compile(f, target="sm_90a").get_ptx()
    assert text.count("shfl.sync") == 1
    assert "bar.sync" not in text
    assert ".shared" not in text


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize("operation", [lambda x: T.shfl_xor(x, 1), T.warp_reduce_sum, T.ballot, T.syncthreads_count])
def test_only_some_threads_cannot_do_it(operation, target):
    @T.prim_func
    def f(A: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            t = T.get_thread_binding()
            if t < 64:
                A[t] = T.cast(operation(A[t]), "int32")

    with pytest.raises(CompileError, match="is executed by the whole block, and stands where only some of its threads"):
        tilec.compile(f, target=target)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize(
    ("numbers", "product"),
    [([3, 8, 5, 2, 7, 6, 4, 6], 241664), ([3, 8, 5, 2, 7, 6, 9], 90624)],  # 242688 and 91136 one after the other
)
def test_threads_combine_by_halves(target, numbers, product):
    threads = len(numbers)

    @T.prim_func
    def f(A: T.Tensor((threads,), "bfloat16"), B: T.Tensor((threads,), "bfloat16")):
        with T.Kernel(1, threads=threads):
            x = T.get_thread_binding()
            total = T.alloc_local((1,), "bfloat16")
            with T.attr(T.comm_reducer(lambda a, b: a * b, [1.0]), "reduce_scope", None):
                T.tvm_thread_allreduce(T.uint32(1), A[x], True, total[0], x)
            B[x] = total[0]

    a = np.array(numbers, ml_dtypes.bfloat16)
    b = np.zeros(threads, ml_dtypes.bfloat16)
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a, b)
    np.testing.assert_array_equal(b, np.full(threads, product, ml_dtypes.bfloat16))


def _mixed(a, b):
    """A combination of which both the order of its operands and that of its steps show."""
    return 3 * a - (a ^ b)


def _halves(values, dims):
    """What the threads of a block, z first, make along some of its dimensions, 0 for x, as S9 says."""
    axes = sorted(2 - d for d in dims)
    moved = np.moveaxis(values, axes, range(len(axes)))
    numbers = list(moved.reshape(-1, *moved.shape[len(axes) :]))
    while len(numbers) > 1:
        half = (len(numbers) + 1) // 2
        numbers = [_mixed(a, b) for a, b in zip(numbers, numbers[half:], strict=False)] + numbers[
            len(numbers) // 2 : half
        ]
    return np.broadcast_to(np.expand_dims(numbers[0], tuple(sorted(axes))), values.shape)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize(
    ("block", "dims", "by_shuffles"),
    [
        ((32, 4, 1), [0], True),
        ((8, 4, 2), [0], True),
        ((8, 4, 2), [1, 0], True),
        ((1, 16, 4), [1], True),
        ((4, 8, 1), [1, 2, 0], True),
        ((4, 4, 2), [1, 2, 0], True),
        ((8, 4, 2), [1], False),  # threads of other segments between them
        ((8, 4, 2), [0, 2], False),
        ((64, 2, 1), [0], False),  # more than a warp
        ((6, 16, 1), [0], False),  # in two warps
        ((8, 3, 1), [0], False),  # a warp that is not whole
    ],
)
def test_threads_of_a_warp_combine_by_shuffles(target, block, dims, by_shuffles):
    x, y, z = block

    @T.prim_func
    def f(A: T.Tensor((z, y, x), "int32"), B: T.Tensor((z, y, x), "int32")):
        with T.Kernel(1, threads=block):
            tx, ty, tz = T.get_thread_bindings()
            total = T.alloc_local((1,), "int32")
            along = [(tx, ty, tz)[d] for d in dims]
            with T.attr(T.comm_reducer(_mixed, [0]), "reduce_scope", None):
                T.tvm_thread_allreduce(T.uint32(1), A[tz, ty, tx], True, total[0], *along)
            B[tz, ty, tx] = total[0]

    a = np.random.default_rng(7).integers(-1000, 1000, (z, y, x), dtype="int32")
    b = np.zeros_like(a)
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a, b)
    np.testing.assert_array_equal(b, _halves(a, dims))
    assert ("gpu.barrier" in f.text) is not by_shuffles


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_only_some_threads_combine_nothing_along_a_dimension(target):
    @T.prim_func
    def f(B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=(64, 2)):
            value = T.alloc_local((1,), "float32")
            total = T.alloc_local((1,), "float32")
            x, y = T.get_thread_binding(0), T.get_thread_binding(1)
            value[0] = T.cast(x, "float32")
            total[0] = 0.0
            if y == 0:
                with T.attr(T.comm_reducer(lambda a, b: a + b, [0.0]), "reduce_scope", None):
                    T.tvm_thread_allreduce(T.uint32(1), value[0], True, total[0], x)
            B[y * 64 + x] = total[0]

    with pytest.raises(CompileError, match="is executed by the whole block, and stands where only some of its threads"):
        tilec.compile(f, target=target)


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_a_branch_that_is_the_same_for_all_threads(target):
    @T.prim_func
    def f(A: T.Tensor((2, 64), "int32")):
        with T.Kernel(2, threads=64) as b:
            t = T.get_thread_binding()
            if b == 0:
                A[b, t] = T.warp_reduce_sum(A[b, t])
            else:
                for _ in range(2):
                    A[b, t] = A[b, t] + T.shfl_xor(A[b, t], 1)

    a = np.arange(128, dtype="int32").reshape(2, 64)
    pairs = 2 * (a[1] + a[1].reshape(32, 2)[:, ::-1].reshape(64))
    exact = np.stack([np.repeat(a[0].reshape(2, 32).sum(1), 32), pairs])
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a)
    np.testing.assert_array_equal(a, exact)


OPERATIONS = {
    "shfl_sync": lambda x: T.shfl_sync(x, 0),
    "warp_reduce_max": T.warp_reduce_max,
    "any_sync": T.any_sync,
    "match_any_sync": T.match_any_sync,
    "syncthreads_or": T.syncthreads_or,
    "sync_warp": lambda _: T.sync_warp(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_iterations_cannot_do_it(name):
    with pytest.raises(TLSyntaxError, match=f"`T.{name}` is done by all threads of the block together"):

        @T.prim_func
        def f(A: T.Tensor((128,), "int32")):
            with T.Kernel(1, threads=128):
                for i in T.Parallel(128):
                    OPERATIONS[name](A[i])


def refused(error, message, use):
    with pytest.raises(error, match=message):

        @T.prim_func
        def f(A: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128):
                use(A[T.get_thread_binding()])


def test_what_is_no_argument_of_them():
    refused(DTypeError, "`T.any_sync` requires an integer or boolean predicate", T.any_sync)
    refused(DTypeError, "`T.syncthreads_count` requires an integer or boolean", T.syncthreads_count)
    refused(DTypeError, "`T.warp_reduce_bitor` combines the bits of integers, not `float32`", T.warp_reduce_bitor)
    refused(ArgumentError, "`width` of `T.shfl_up` is a power of two up to 32, and 12", lambda x: T.shfl_up(x, 1, 12))
    refused(ArgumentError, "`warp_size` of `T.get_lane_idx` must be positive", lambda _: T.get_lane_idx(0))
    refused(ArgumentError, "`thread_extent` of `T.shuffle_elect` is not negative", lambda _: T.shuffle_elect(-1))
    refused(DTypeError, "`T.__ffs` needs an integer", getattr(T, "__ffs"))


def test_bits_of_numbers_that_are_known():
    ffs = getattr(T, "__ffs")
    assert [ffs(n) for n in (0, 1, 12, -8)] == [0, 1, 3, 4]
