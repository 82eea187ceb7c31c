"""Blocks of a cluster that reach into each other's shared memory: `T.copy_cluster` (semantics S11)."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from cluster_programs import CASES, check
from tilec.errors import TLError


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", ["sm_90", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_checked_programs_report_nothing(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu", checks=True)(*arguments))


def test_instructions():
    text = tilec.compile(CASES["split_k"][0], target="sm_90a").get_kernel_source()
    for instruction in (
        "mapa.shared::cluster",
        "ld.shared::cluster",
        "barrier.cluster.arrive",
        "barrier.cluster.wait",
    ):
        assert instruction in text
    assert "st.shared::cluster" in tilec.compile(CASES["softmax"][0], target="sm_90a").get_kernel_source()


def test_a_chip_without_clusters_refuses_them():
    with pytest.raises(TLError, match="which `sm_80` does not have"):
        tilec.compile(CASES["softmax"][0], target="sm_80")


def test_a_grid_is_of_whole_clusters():
    @T.prim_func
    def f(n: T.int32, A: T.Tensor((T.dynamic("m"),), "int32")):
        with T.ClusterKernel(n, cluster_dims=2, threads=32) as b:
            T.cluster_sync()
            A[b] = b

    with pytest.raises(TLError, match="must be made of whole clusters"):
        tilec.compile(f, target="cpu")(3, np.zeros(3, np.int32))


# What is refused, on all targets alike --------------------------------------------------------------------------------


def kernel(body):
    """Returns a program in which `body(A, b, tile, other)` is done by the blocks of clusters of two."""

    @T.prim_func
    def f(A: T.Tensor((4, 64), "int32"), n: T.int32):
        with T.ClusterKernel(4, cluster_dims=2, threads=64) as b:
            tile, other = T.alloc_shared((64,), "int32"), T.alloc_shared((2, 64), "int32")
            T.clear(tile)
            body(A, b, tile, other, n)

    return f


@T.macro
def read_without_a_barrier(A, b, tile, other, n):
    T.copy_cluster(tile, other[0, :], dst_block=1)
    T.copy(other, A[0:2, :])


@T.macro
def read_in_another_branch(A, b, tile, other, n):
    if b % 2 == 0:
        T.copy_cluster(tile, other[0, :], dst_block=1)
    else:
        T.copy(other, A[0:2, :])


@T.macro
def written_in_the_next_iteration(A, b, tile, other, n):
    for i in T.serial(4):
        for j in T.Parallel(64):
            other[0, j] = i + j
        T.cluster_sync()
        T.copy_cluster(other[0, :], tile, src_block=1 - b % 2)


@T.macro
def read_between_arrival_and_wait(A, b, tile, other, n):
    T.copy_cluster(tile, other[0, :], dst_block=1 - b % 2)
    T.cluster_arrive()
    T.copy(other, A[0:2, :])
    T.cluster_wait()


@T.macro
def only_some_blocks(A, b, tile, other, n):
    if b % 2 == 0:
        T.cluster_sync()


@T.macro
def as_often_as_memory_says(A, b, tile, other, n):
    for _ in T.serial(A[b, 0]):
        T.cluster_sync()


@T.macro
def until_a_break(A, b, tile, other, n):
    for i in T.serial(8):
        if i > n:
            break
        T.cluster_sync()


@T.macro
def only_some_threads(A, b, tile, other, n):
    if T.get_thread_binding() < 32:
        T.cluster_sync()


@T.macro
def iterations(A, b, tile, other, n):
    for i in T.Parallel(64):
        T.cluster_sync()
        A[b, i] = i


@T.macro
def a_wait_without_an_arrival(A, b, tile, other, n):
    T.cluster_wait()


@T.macro
def two_arrivals(A, b, tile, other, n):
    T.cluster_arrive()
    T.cluster_sync()
    T.cluster_wait()


@T.macro
def an_arrival_at_the_end(A, b, tile, other, n):
    T.cluster_arrive()


@T.macro
def a_block_that_is_not_there(A, b, tile, other, n):
    T.copy_cluster(tile, other[0, :], dst_block=2)


@T.macro
def no_block(A, b, tile, other, n):
    T.copy_cluster(tile, other[0, :])


@T.macro
def a_mask_of_more_blocks(A, b, tile, other, n):
    T.copy_cluster(A[b, 0], tile, cluster_mask=0b100)


@T.macro
def a_mask_and_a_block(A, b, tile, other, n):
    T.copy_cluster(A[b, 0], tile, cluster_mask=0b11, dst_block=1)


@T.macro
def a_tensor(A, b, tile, other, n):
    T.copy_cluster(tile, A[b, 0], dst_block=0)


@T.macro
def a_barrier_of_another_block(A, b, tile, other, n):
    T.copy_cluster(tile, other[0, :], dst_block=0, remote_barrier=T.alloc_barrier(1))


@T.macro
def an_arrival_at_a_barrier_of_one_block(A, b, tile, other, n):
    T.mbarrier_arrive(T.alloc_barrier(64), 1)


@T.macro
def a_barrier_of_the_block_copied_from(A, b, tile, other, n):
    T.copy_cluster(other[0, :], tile, src_block=1, remote_barrier=T.alloc_cluster_barrier(1))


@T.macro
def blocks_that_wait_for_each_other(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(1)
    T.mbarrier_wait_parity(came, 0)
    T.copy_cluster(tile, other[0, :], dst_block=1 - b % 2, remote_barrier=came)


@T.macro
def branches_that_wait_for_each_other(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(64)
    if b % 2 == 0:
        T.mbarrier_wait_parity(came, 0)
        T.mbarrier_arrive(came, 1)
    else:
        T.mbarrier_wait_parity(came, 0)
        T.mbarrier_arrive(came, 0)


@T.macro
def a_meeting_of_one_block_alone(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(1)
    if b % 2 == 0:
        T.cluster_sync()
        T.copy_cluster(tile, other[0, :], dst_block=1, remote_barrier=came)
    else:
        T.mbarrier_wait_parity(came, 0)


@T.macro
def a_wait_with_too_few_arrivals(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(65)
    T.ptx_arrive_cluster_barrier(came, 1 - b % 2)
    T.mbarrier_wait_parity(came, 0)


@T.macro
def more_arrivals_than_a_phase_has(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(32)
    T.ptx_arrive_cluster_barrier(came, 1 - b % 2)
    T.mbarrier_wait_parity(came, 0)


@T.macro
def a_phase_that_only_one_iteration_completes(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(64)
    for k in T.serial(n):
        if k == 0:
            T.ptx_arrive_cluster_barrier(came, 1 - b % 2)
        T.mbarrier_wait_parity(came, k % 2)


@T.macro
def an_arrival_by_blocks_that_memory_says(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(64)
    T.ptx_arrive_cluster_barrier(came, A[b, 0])
    T.mbarrier_wait_parity(came, 0)


@T.macro
def an_arrival_by_the_number_in_the_grid(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(64)
    if b == 1:
        T.ptx_arrive_cluster_barrier(came, 0)
    T.mbarrier_wait_parity(came, 0)


@T.macro
def an_arrival_at_no_block(A, b, tile, other, n):
    T.ptx_arrive_cluster_barrier(T.alloc_cluster_barrier(64), 2)


@T.macro
def an_arrival_at_no_block_of_some(A, b, tile, other, n):
    T.ptx_arrive_cluster_barrier(T.alloc_cluster_barrier(64), b % 2 + 1)


@T.macro
def both_kinds_of_barriers(A, b, tile, other, n):
    came, full = T.alloc_cluster_barrier(64), T.alloc_barrier(64)
    T.mbarrier_arrive(came, 0)
    T.mbarrier_arrive(full)


@T.macro
def a_tile_operation_of_some_threads(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(32)
    if T.get_thread_binding() < 32:
        T.mbarrier_arrive(came, 0)
        T.copy(tile, A[b, 0])


@T.macro
def a_wait_that_memory_repeats(A, b, tile, other, n):
    came = T.alloc_cluster_barrier(64)
    for k in T.serial(A[b, 0]):
        T.mbarrier_arrive(came, 1 - b % 2)
        T.mbarrier_wait_parity(came, k % 2)


@T.macro
def what_another_block_may_still_be_reading(A, b, tile, other, n):
    """The arrival that would say that the slot is empty is missing."""
    came = T.alloc_cluster_barrier(1)
    for k in T.serial(4):
        T.copy_cluster(tile, other[0, :], dst_block=1 - b % 2, remote_barrier=came)
        T.mbarrier_wait_parity(came, k % 2)
        T.copy(other[0, :], A[b, :])


@T.macro
def rows_that_wrap_to_one(A, b, tile, other, n):
    row = T.cast(b % 2, "int32") * (1 << 30)
    T.copy(tile, other[row + row + row + row, :])
    T.copy_cluster(tile, other[row + row + row + row, :], dst_block=1 - b % 2)


@T.macro
def rows_of_few_bits_that_wrap_to_one(A, b, tile, other, n):
    row = T.cast(b % 2, "int8") * T.int8(64)
    T.copy(tile, other[row + row + row + row, :])
    T.copy_cluster(tile, other[row + row + row + row, :], dst_block=1 - b % 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (read_without_a_barrier, "reads `other`, which another block may be writing at the same time"),
        (read_in_another_branch, "which another block may be writing at the same time"),
        (written_in_the_next_iteration, "which another block may be reading at the same time"),
        (read_between_arrival_and_wait, "which another block may be writing at the same time"),
        (rows_that_wrap_to_one, "writes `other` of another block of the cluster, which that block may be writing"),
        (rows_of_few_bits_that_wrap_to_one, "writes `other` of another block of the cluster"),
        (only_some_blocks, "stands where not all of them come equally often"),
        (as_often_as_memory_says, "stands where not all of them come equally often"),
        (until_a_break, "stands in a `while` loop, or one with `break`"),
        (only_some_threads, "."),
        (iterations, "is done by all threads of the block together"),
        (a_wait_without_an_arrival, "where the block need not have arrived"),
        (two_arrivals, "where the block may have arrived and not waited"),
        (an_arrival_at_the_end, "may end before the block waits there"),
        (a_block_that_is_not_there, "a cluster has the blocks 0 to 1 here, and no block 2"),
        (no_block, "needs the block whose shared memory it reaches"),
        (a_mask_of_more_blocks, "a bit for each of the 2 blocks of a cluster, and at least one is set, not 0b100"),
        (a_mask_and_a_block, "names the blocks, and no `dst_block`, `src_block` or `remote_barrier` is beside it"),
        (a_tensor, "`A` is no tile that `T.alloc_shared` made"),
        (a_barrier_of_another_block, "make it by `T.alloc_cluster_barrier`"),
        (an_arrival_at_a_barrier_of_one_block, "make it by `T.alloc_cluster_barrier`"),
        (a_barrier_of_the_block_copied_from, "tells the block that is copied to, `dst_block`"),
        (blocks_that_wait_for_each_other, "has not come when the blocks of the cluster meet before it: `came` of b"),
        (branches_that_wait_for_each_other, "Let arrivals stand in statements before the one that waits"),
        (a_meeting_of_one_block_alone, "here all blocks of a cluster meet, and not all of them come"),
        (a_wait_with_too_few_arrivals, "needs phase 0 .the first is phase 0., of 65 arrivals, for parity 0; 64 from"),
        (more_arrivals_than_a_phase_has, "64 threads of block 0 arrive at `came` of block 1, of which 32 are missing"),
        (a_phase_that_only_one_iteration_completes, "meet before it in iteration 1: `came` of block 0 needs phase 1"),
        (an_arrival_by_blocks_that_memory_says, "of which block the barrier is is not known when the kernel is built"),
        (an_arrival_by_the_number_in_the_grid, "let the block's number in the cluster"),
        (an_arrival_at_no_block, "a cluster has the blocks 0 to 1 here, and no block 2"),
        (an_arrival_at_no_block_of_some, "`T.ptx_arrive_cluster_barrier` arrives at a barrier of block 2"),
        (both_kinds_of_barriers, "let these be the only barriers"),
        (a_tile_operation_of_some_threads, "stands where only some threads go"),
        (a_wait_that_memory_repeats, "stands where not all of them come equally often"),
        (what_another_block_may_still_be_reading, "which that block may be reading at the same time"),
    ],
)
def test_what_is_refused(body, message):
    errors = []
    for target in ("cpu", "sm_90a"):
        with pytest.raises(TLError, match=message) as caught:
            tilec.compile(kernel(body), target=target)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@T.macro
def parts_of_one_tile(A, b, tile, other, n):
    """Each block writes its own row here, and the same one elsewhere: these are different rows."""
    T.copy(tile, other[b % 2, :])
    T.copy_cluster(tile, other[b % 2, :], dst_block=1 - b % 2)
    T.cluster_sync()
    T.copy(other[1 - b % 2, :], A[b, :])


def test_rows_that_differ_with_the_block_are_apart():
    for target, options in (("cpu", {}), ("sm_90a", {"backend": "sim"})):
        found = np.ones((4, 64), np.int32)
        tilec.compile(kernel(parts_of_one_tile), target=target, **options)(found, 0)
        np.testing.assert_array_equal(found, np.zeros_like(found))


@pytest.mark.parametrize(
    "rank",
    [lambda b: T.cast(b, "uint8") % 3, lambda b: (T.cast(b, "int32") + 2147483646) % 3],
)
def test_a_number_that_wraps_is_not_the_block_s_place_in_its_cluster(rank):
    """The remainder is that of the block's number only up to where it wraps: in the first of these, at block 256."""
    with pytest.raises(TLError, match="let the block's number in the cluster"):

        @T.prim_func
        def f(A: T.Tensor((300, 32), "int32")):
            with T.ClusterKernel(300, cluster_dims=3, threads=32) as b:
                mine, came = T.alloc_shared((32,), "int32"), T.alloc_shared((32,), "int32")
                full = T.alloc_cluster_barrier(1)
                T.copy(A[b, 0], mine)
                if rank(b) == 0:
                    T.copy_cluster(mine, came, dst_block=1, remote_barrier=full)
                if rank(b) == 1:
                    T.mbarrier_wait_parity(full, 0)
                    T.copy(came, A[b, 0])
