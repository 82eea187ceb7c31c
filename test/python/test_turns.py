"""Pipelines written by hand: groups of threads that wait for each other at barriers (semantics S10)."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from pipelines_by_hand import CASES, check
from tilec.errors import ArgumentError, DTypeError, RangeError, TLSyntaxError


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="sm_90a", backend="sim")(*arguments))


@pytest.mark.parametrize("name", ["in_loops_of_their_own", "back_and_forth", "threads_of_groups"])
def test_checked_programs_report_nothing(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu", checks=True)(*arguments))


@pytest.mark.parametrize("backend", ["nvptx", "nvrtc"])
@pytest.mark.parametrize("name", ["in_loops_of_any_length", "back_and_forth", "copied_by_threads"])
def test_gpus_take_it_too(name, backend):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tilec.compile(CASES[name][0], target="sm_90a", backend=backend)


@pytest.mark.parametrize(
    "name", ["in_one_loop", "in_loops_of_their_own", "in_loops_of_any_length", "copied_by_threads"]
)
def test_copies_run_ahead_as_in_a_pipelined_loop(name):
    text = CASES[name][0].script()
    assert text.count('"tl.pipelined"') == 1
    assert "tl.slot" not in text
    assert "tl.by_hand" not in text


def _line(mark):
    return next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith(mark))


def pipeline(body, threads=256, steps=4):
    @T.prim_func
    def f(A: T.Tensor((512,), "float32"), n: T.int32):
        with T.Kernel(1, threads=threads):
            S = T.alloc_shared((128,), "float32")
            full = T.alloc_barrier(128)
            empty = T.alloc_barrier(128)
            body(A, S, full, empty, n, steps)

    return f


def refused(error, message, body, **options):
    with pytest.raises(error, match=message):
        pipeline(body, **options)


@T.macro
def a_parity_that_never_comes(A, S, full, empty, n, steps):
    for k in T.serial(steps):
        with T.ws(1):
            T.barrier_wait(empty, k % 2)
            T.copy(A[k * 128], S)
            T.barrier_arrive(full)
        with T.ws(0):
            T.barrier_wait(full, k % 2)
            T.barrier_arrive(empty)


@T.macro
def groups_that_wait_for_each_other(A, S, full, empty, n, steps):
    with T.ws(0):
        T.barrier_wait(full, 0)
        T.barrier_arrive(empty)
    with T.ws(1):
        T.barrier_wait(empty, 0)
        T.barrier_arrive(full)


@T.macro
def too_few_arrivals(A, S, full, empty, n, steps):
    with T.ws(1):
        T.copy(A[0:128], S)
        if T.shuffle_elect(128):
            T.barrier_arrive(full)
    with T.ws(0):
        T.barrier_wait(full, 0)


@T.macro
def too_many_arrivals(A, S, full, empty, n, steps):
    with T.ws(1):
        if T.get_thread_binding() < 192:
            T.barrier_arrive(full)
    T.barrier_arrive(full)


@T.macro
def loops_of_different_lengths(A, S, full, empty, n, steps):
    with T.ws(0):
        for k in T.serial(steps):
            T.barrier_wait(full, k % 2)
    with T.ws(1):
        for k in T.serial(steps + 1):
            T.barrier_arrive(full)


@T.macro
def loops_up_to_a_variable_that_changes(A, S, full, empty, n, steps):
    count = T.alloc_var("int32", 0)
    count = n
    with T.ws(0):
        for k in T.serial(count):
            T.barrier_wait(full, k % 2)
    with T.ws(1):
        count = count + 1
        for k in T.serial(count):
            T.barrier_arrive(full)


@T.macro
def a_barrier_in_a_branch(A, S, full, empty, n, steps):
    if n > 3:
        T.barrier_arrive(full)


@T.macro
def a_parity_that_is_not_known(A, S, full, empty, n, steps):
    T.barrier_wait(full, n % 2)


@T.macro
def a_barrier_in_a_while_loop(A, S, full, empty, n, steps):
    i = T.alloc_var("int32", 0)
    while i < n:
        T.barrier_arrive(full)
        i = i + 1


@T.macro
def a_branch_by_what_was_read(A, S, full, empty, n, steps):
    if A[T.get_thread_binding()] > 0:
        T.copy(A[0:128], S)
        T.barrier_arrive(full)


@T.macro
def a_tile_operation_of_half_a_warp(A, S, full, empty, n, steps):
    if T.get_thread_binding() < 16:
        T.copy(A[0:128], S)
        T.barrier_arrive(full)


@T.macro
def one_group_stops_arriving(A, S, full, empty, n, steps):
    with T.ws(1):
        for k in T.serial(steps):
            T.barrier_wait(empty, k % 2 ^ 1)
            T.copy(A[k * 128], S)
            T.barrier_arrive(full)
    with T.ws(0):
        for k in T.serial(steps):
            T.barrier_wait(full, k % 2)
            if k < 1:
                T.barrier_arrive(empty)  # for the first only


@T.macro
def a_variable_of_two_groups(A, S, full, empty, n, steps):
    slot, tiles = T.alloc_var("int32", 0), T.alloc_shared((2, 64), "float32")
    with T.ws(1):
        for k in T.serial(steps):
            T.barrier_wait(empty, k % 2 ^ 1)
            T.copy(A[k * 64], tiles[slot, 0:64])
            slot = 1 - slot
            T.barrier_arrive(full)
    with T.ws(0):
        for k in T.serial(steps):
            T.barrier_wait(full, k % 2)
            for i in T.Parallel(64):
                A[256 + k * 64 + i] = tiles[slot, i]
            slot = 1 - slot
            T.barrier_arrive(empty)


@T.macro
def a_variable_that_some_threads_assign(A, S, full, empty, n, steps):
    sums = T.alloc_local((2,), "float32")
    sums[0] = 0.0
    with T.ws(0):
        T.copy(A[0], S)
        if n > 1:
            sums[0] = S[0]
    A[300] = sums[0]


REFUSED = {
    a_variable_of_two_groups: (
        r"`slot` is read here by other threads than those that assigned to it last .*: make a variable for each"
    ),
    a_variable_that_some_threads_assign: (
        r"`sums` is read here by other threads than those that assigned to it last \(line \d+\)"
    ),
    a_parity_that_never_comes: (
        "`T.barrier_wait` waits for ever: the phase of parity 0 of `empty` has 128 arrivals, and 0 have come before "
        r"this wait .*, which has not arrived at all \(if it waits for a slot that is empty at first, it needs the "
        r"other parity, `parity \^ 1`, which passes while no phase is complete\); meanwhile"
    ),
    groups_that_wait_for_each_other: "waits for ever: .* of `full` .*; meanwhile `T.barrier_wait` of line .* `empty`",
    one_group_stops_arriving: (
        rf"parity 1 of `empty` .* and 0 have come before this wait in iteration 2, which needs phase 1 "
        rf"\(the first is phase 0\): none from line {_line('# for the first only')}, which arrived last in phase 0, "
        rf"with 128 threads; meanwhile .* `full` .* in iteration 2, which needs phase 2 .*: none from line \d+, "
        rf"which arrived last in phase 1"
    ),
    too_few_arrivals: "waits for ever: the phase of parity 0 of `full` has 128 arrivals, and 1 have come",
    too_many_arrivals: "256 threads arrive at `full`, of which 64 are missing to complete a phase",
    loops_of_different_lengths: "groups of threads wait for each other in loops of different bounds",
    loops_up_to_a_variable_that_changes: "groups of threads wait for each other in loops of different bounds",
    a_barrier_in_a_branch: "whether this branch is taken is not known when the kernel is built",
    a_parity_that_is_not_known: "the parity of the phase of `full` is not known when the kernel is built",
    a_barrier_in_a_while_loop: "barriers that are waited for stand in loops whose iterations are counted",
    a_branch_by_what_was_read: "which threads go here is not known when the kernel is built",
    a_tile_operation_of_half_a_warp: "`T.copy` is executed by whole warps, .* where 16 threads go, no whole",
}


@pytest.mark.parametrize("body", REFUSED, ids=lambda body: body.__name__)
def test_what_has_no_order_is_refused(body):
    refused(TLSyntaxError, REFUSED[body], body)


@T.macro
def a_variable_of_each_group(A, S, full, empty, n, steps):
    total = T.alloc_var("float32", 0.0)
    with T.ws(1):
        T.copy(A[0], S)
        for k in T.serial(4):
            total = total + S[k]
        A[300] = total
    total = 1.0  # of all again
    with T.ws(0):
        T.copy(A[128], S)
        if n > 1:
            total = total + S[1]
        A[301] = total


@pytest.mark.parametrize(("target", "backend"), [("cpu", "auto"), ("sm_90a", "sim")])
def test_groups_use_a_variable_one_after_the_other(target, backend):
    a = np.arange(512, dtype=np.float32)
    tilec.compile(pipeline(a_variable_of_each_group), target=target, backend=backend)(a, 2)
    assert a[300:302].tolist() == [6, 130]


ARGUMENTS = {
    "a count of none": (RangeError, "every arrive_count must be at least 1", lambda b: T.alloc_barrier(0)),
    "no counts": (RangeError, "every arrive_count must be at least 1", lambda b: T.alloc_barrier([])),
    "several barriers as one": (
        TLSyntaxError, "needs one barrier", lambda b: T.barrier_arrive(T.alloc_barrier([1, 1])),
    ),
    "a barrier behind the last": (RangeError, "has 1 barriers, and no number 1", lambda b: T.barrier_arrive(b[1])),
    "a number": (TLSyntaxError, "`T.barrier_wait` needs a barrier of", lambda b: T.barrier_wait(3, 0)),
    "a parity of two": (ArgumentError, "`parity` of `T.barrier_wait` is 0 or 1", lambda b: T.barrier_wait(b, 2)),
    "another block": (ArgumentError, "`cta_id` of `T.mbarrier_arrive` is missing", lambda b: T.mbarrier_arrive(b, 1)),
    "no group": (ArgumentError, "`T.ws` needs the number of a group", lambda b: T.ws()),
    "a group behind the last": (RangeError, "groups 0 to 1: there is no group 2", lambda b: T.ws(2).__enter__()),
    "a number of no barrier": (RangeError, "is 0 to 15, not 16", lambda b: T.named_barrier_arrive(16, 64)),
    "too many threads": (ArgumentError, "512 threads cannot come", lambda b: T.sync_threads(1, 512)),
    "several blocks": (
        ArgumentError, "`cluster_mask` of `T.tma_copy` is missing", lambda b: T.tma_copy(b, b, cluster_mask=3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ARGUMENTS)
def test_what_is_no_argument(what):
    error, message, use = ARGUMENTS[what]
    with pytest.raises(error, match=message):

        @T.prim_func
        def f(A: T.Tensor((512,), "float32")):
            with T.Kernel(1, threads=256):
                b = T.alloc_barrier(128)
                use(b)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_threads_that_meet_among_themselves(target):
    """A scan by half of the threads, which meet at a barrier of their own, in a loop that ends when it may."""

    @T.prim_func
    def f(A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=128):
            t = T.get_thread_binding()
            s = T.alloc_shared((64,), "int32")
            T.copy(A[0:64], s)
            for k in T.serial(10):
                if s[63] > 1000:
                    break
                if t < 64:
                    x = s[t] + s[(t + 1) % 64]
                    T.sync_threads(3, 64)
                    s[t] = x
                    T.sync_threads(3, 64)
            B[t] = s[t % 64]

    a, b = np.arange(128, dtype="int32"), np.zeros(128, np.int32)
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a, b)
    s = a[:64]
    while s[63] <= 1000:
        s = s + np.roll(s, -1)
    np.testing.assert_array_equal(b, np.concatenate([s, s]))


@T.prim_func
def neighbours(A: T.Tensor((64, 32), "float16"), B: T.Tensor((64, 32), "float16")):
    with T.Kernel(1, threads=128):
        t = T.get_thread_binding()
        s = T.alloc_shared((64, 32), "float16")
        for r in T.serial(2):
            row, column = r * 32 + t // 4, t % 4 * 8
            T.ptx_cp_async(
                T.access_ptr(s[row, column], "w", 8), T.access_ptr(A[row, column], "r", 8), 8, predicate=row < 60
            )
        T.ptx_cp_async(T.access_ptr(s[1, 4:8], "w"), T.access_ptr(A, "r", offset=2), 4)
        T.ptx_cp_async(T.access_ptr(s[2, 5], "w"), T.access_ptr(A, "r"), 1)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        T.copy(s, B)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_neighbours_are_copied_by_hand(target):
    a = np.random.default_rng(0).standard_normal((64, 32)).astype("float16")
    b, exact = np.zeros_like(a), a.copy()
    exact[60:] = 0
    exact[1, 4:8] = a[0, 2:6]
    exact[2, 5] = a[0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = tilec.compile(neighbours, target=target, **({} if target == "cpu" else {"backend": "sim"}))
    kernel(a, b)
    np.testing.assert_array_equal(b, exact)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_tiles_that_are_made_in_a_branch_are_there_in_all_parts_of_it(target):
    """A slice that no instruction reads is copied to a tile of its own; branches around waits are cut there."""

    @T.prim_func
    def f(A: T.Tensor((48, 16), "float16"), B: T.Tensor((16, 32), "float16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((2, 16, 16), "float16")
            b = T.alloc_shared((16, 32), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            full, empty = T.alloc_barrier([128] * 2), T.alloc_barrier([128] * 2)
            T.copy(B, b)
            with T.ws(1):
                for k in T.serial(2):
                    for slot in T.unroll(2):
                        if k * 2 + slot < 3:
                            T.barrier_wait(empty[slot], k ^ 1)
                            T.copy(A[(k * 2 + slot) * 16, 0], a[slot, :, :])
                            T.barrier_arrive(full[slot])
            with T.ws(0):
                T.clear(c)
                for k in T.serial(2):
                    for slot in T.unroll(2):
                        if k * 2 + slot < 3:
                            T.barrier_wait(full[slot], k)
                            T.gemm(a[slot, :, :], b[:, 5:21], c)
                            T.barrier_arrive(empty[slot])
                T.copy(c, C)

    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(s).astype("float16") for s in ((48, 16), (16, 32)))
    c = np.full((16, 16), np.nan, np.float32)
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a, b, c)
    np.testing.assert_allclose(c, a.astype("f8").reshape(3, 16, 16).sum(0) @ b[:, 5:21], rtol=1e-3, atol=1e-2)


def test_what_is_no_place_of_neighbours():
    def use(error, message, call):
        with pytest.raises(error, match=message):

            @T.prim_func
            def f(A: T.Tensor((64,), "float16"), B: T.Tensor((64,), "float32")):
                with T.Kernel(1, threads=32):
                    S = T.alloc_shared((64,), "float16")
                    call(A, B, S)

    place = T.access_ptr
    use(TLSyntaxError, "needs places of `T.access_ptr`", lambda A, B, S: T.ptx_cp_async(S, A, 8))
    use(TLSyntaxError, "needs an element, such as", lambda A, B, S: place(3))
    use(ArgumentError, '`access_type` of `T.access_ptr` is "r"', lambda A, B, S: place(A[0], "x"))
    use(ArgumentError, "copies up to 16 bytes", lambda A, B, S: T.ptx_cp_async(place(S[0]), place(A[0]), 9))
    use(ArgumentError, "from shared to global memory", lambda A, B, S: T.ptx_cp_async(place(A[0]), place(S[0]), 8))
    use(DTypeError, "copies elements as they are", lambda A, B, S: T.ptx_cp_async(place(S[0]), place(B[0]), 4))


def test_groups_do_not_stand_in_parallel_loops():
    with pytest.raises(TLSyntaxError, match="`T.ws` says which threads go, and iterations of `T.Parallel` run on any"):

        @T.prim_func
        def f(A: T.Tensor((512,), "float32")):
            with T.Kernel(1, threads=256):
                for i in T.Parallel(512):
                    with T.ws(0):
                        A[i] = 0


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_variables_of_other_threads_stay(target):
    @T.prim_func
    def f(A: T.Tensor((512,), "int32"), B: T.Tensor((256,), "int32")):
        with T.Kernel(1, threads=256):
            t = T.get_thread_binding()
            old = T.alloc_var("int32", 7)
            with T.ws(1):
                old = T.atomic_add(A[t], 1, return_prev=True)
                if T.shuffle_elect(0):
                    A[511] = 1
            B[t] = old

    a, b = np.arange(512, dtype="int32") + 5, np.full(256, -1, np.int32)
    exact = a.copy()
    exact[128:256] += 1
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a, b)
    np.testing.assert_array_equal(a, exact)
    np.testing.assert_array_equal(b, np.where(np.arange(256) < 128, 7, np.arange(256) + 5))


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_elements_of_tiles_in_turn_are_those_of_the_tiles(target):
    """What loops write to `S[k, i, j]` is what a product of `S[k]` reads, also where rows are cut into panels."""

    @T.prim_func
    def f(A: T.Tensor((64, 64), "float16"), B: T.Tensor((2, 64, 128), "float16"), C: T.Tensor((64, 128), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((2, 64, 128), "float16")
            c = T.alloc_fragment((64, 128), "float32")
            T.copy(A, a)
            T.clear(c)
            for k in T.serial(2):
                if k == 0:
                    T.copy(B[k, :, :], b[k, :, :])
                else:
                    for i, j in T.Parallel(64, 128):
                        b[k, i, j] = B[k, i, j]
                T.gemm(a, b[k, :, :], c)
            T.copy(c, C)

    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(s).astype("float16") for s in ((64, 64), (2, 64, 128)))
    c = np.full((64, 128), np.nan, np.float32)
    tilec.compile(f, target=target, **({} if target == "cpu" else {"backend": "sim"}))(a, b, c)
    np.testing.assert_allclose(c, a.astype("f8") @ (b[0].astype("f8") + b[1]), rtol=1e-3, atol=1e-2)
