"""Blocks that wait for each other: `T.sync_grid` (semantics A6)."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from grid_programs import CASES, check
from tilec.errors import TLError


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name):
    check(name, lambda program, *arguments: tilec.compile(program, target="cpu")(*arguments))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_on_the_simulator(name, chip):
    check(name, lambda program, *arguments: tilec.compile(program, target=chip, backend="sim")(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_gpus_launch_it_so_that_all_blocks_run_at_once(name):
    for chip in ("sm_80", "sm_90a"):
        kernel = tilec.compile(CASES[name][0], target=chip)
        launches = kernel.compile_info["functions"][kernel.name]["launches"]
        assert {launch["kernel"]: launch.get("cooperative", False) for launch in launches} == {
            launch["kernel"]: "workspace" not in launch["kernel"] for launch in launches
        }


def waiting(blocks):
    @T.prim_func
    def f(A: T.Tensor((blocks,), "int32")):
        with T.Kernel(blocks, threads=32) as b:
            T.sync_grid()
            A[b] = b

    return f


def test_more_blocks_than_processors():
    found = np.zeros(300, np.int32)
    tilec.compile(waiting(300), target="cpu")(found)
    np.testing.assert_array_equal(found, np.arange(300))


def test_more_blocks_than_can_run_at_once():
    with pytest.raises(TLError, match="5000 blocks wait for each other, and the CPU runs at most 4096 at once"):
        tilec.compile(waiting(5000), target="cpu")(np.zeros(5000, np.int32))


@T.macro
def in_a_parallel_loop(A, b):
    for i in T.Parallel(4):
        T.sync_grid()
        A[i] = 1


def of_some_threads(A, b):
    with T.If(T.get_thread_binding() < 3):
        T.sync_grid()


def among_barriers(A, b):
    full = T.alloc_barrier(32)
    T.mbarrier_arrive(full)
    T.mbarrier_wait_parity(full, 0)
    T.sync_grid()


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (in_a_parallel_loop, "`T.sync_grid` is done by all threads of the block together"),
        (of_some_threads, "is executed by the whole block, and stands where only some of its threads go"),
        (among_barriers, "`T.sync_grid` does not work in a kernel with barriers or groups of its own"),
    ],
)
def test_where_it_is_refused(body, message, target):
    with pytest.raises(TLError, match=message):

        @T.prim_func
        def f(A: T.Tensor((4,), "int32")):
            with T.Kernel(4, threads=32) as b:
                body(A, b)

        tilec.compile(f, target=target)


def test_a_kernel_with_clusters_has_none():
    with pytest.raises(TLError, match="`T.sync_grid` does not work in a kernel with clusters"):

        @T.prim_func
        def f(A: T.Tensor((4,), "int32")):
            with T.ClusterKernel(4, cluster_dims=2, threads=32):
                T.sync_grid()
