"""The backend `sim`: kernels for GPUs on the host, against NumPy, and what it reports (docs/Simulator.md)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.backends import sim
from tilec.errors import CompileError, ConfigError, ShapeError, SimulationError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "integration"))
import fragment_kernels
import kernels
import pipelined_kernels

CHIPS = ("sm_80", "sm_90a")
RANDOM = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def _options() -> Iterator[None]:
    sim.set_options()
    yield
    sim.set_options()


def simulated(function: Any, chip: str = "sm_90a", **options: Any) -> Any:
    return tilec.compile(function, target=chip, backend="sim", **options)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return RANDOM.standard_normal(shape).astype(dtype)


def empty(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """An array of what no kernel computes."""
    return np.full(shape, -77, dtype)


@pytest.mark.parametrize("chip", CHIPS)
def test_elements_of_a_vector_of_any_length(chip: str) -> None:
    A, B, C = normal(1111), normal(1111), empty(1111)
    simulated(kernels.axpy(1111, "float32"), chip)(A, B, C)
    np.testing.assert_allclose(C, 2 * A + B, rtol=1e-6)


@pytest.mark.parametrize("chip", CHIPS)
def test_rows(chip: str) -> None:
    A, C = normal(6, 64), empty(6, 64)
    simulated(kernels.softmax(6, 64, "float32"), chip)(A, C)
    shifted = np.exp(A.astype("float64") - A.max(1, keepdims=True))
    np.testing.assert_allclose(C, shifted / shifted.sum(1, keepdims=True), rtol=1e-5)
    simulated(kernels.rms_norm(6, 64, "float32"), chip)(A, C)
    np.testing.assert_allclose(C, A / np.sqrt((A.astype("float64") ** 2).mean(1, keepdims=True) + 1e-5), rtol=1e-5)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_transpose_is_exact(chip: str) -> None:
    A, C = normal(100, 72, dtype="float16"), empty(72, 100, dtype="float16")
    simulated(kernels.transpose(100, 72, "float16"), chip)(A, C)
    np.testing.assert_array_equal(C, A.T)


def test_blocks_of_a_cluster_wait_for_each_other() -> None:
    @T.prim_func
    def meet(F: T.Tensor((4, 2), "int32"), B: T.Tensor((4, 2), "int32")):
        with T.Kernel(4, 2, threads=64, cluster_dims=(2, 2)) as (x, y):
            if T.get_thread_binding() == 0:
                T.atomic_store(F[x, y], x + 4 * y + 1)
                while T.atomic_load(F[x ^ 1, y ^ 1]) == 0:
                    B[x, y] = 1
                B[x, y] = T.atomic_load(F[x ^ 1, y ^ 1])

    kernel = simulated(meet)
    for seed in range(9):
        sim.set_options(seed=seed)
        F, B = np.zeros((4, 2), "int32"), empty(4, 2, dtype="int32")
        kernel(F, B)
        np.testing.assert_array_equal(B, np.arange(1, 9).reshape(2, 4).T[[1, 0, 3, 2]][:, [1, 0]])
    sim.set_options()


def test_a_grid_is_made_of_clusters() -> None:
    @T.prim_func
    def odd(A: T.Tensor((T.dynamic("n"),), "int32")):
        with T.Kernel(A.shape[0], threads=32, cluster_dims=2) as x:
            A[x] = x

    kernel = simulated(odd)
    A = empty(6, dtype="int32")
    kernel(A)
    np.testing.assert_array_equal(A, np.arange(6))
    with pytest.raises(
        ValueError, match="`odd_kernel` has 5 blocks along x, which are no clusters of 2; a GPU does not"
    ):
        kernel(empty(5, dtype="int32"))


ORDERS = {"acq_rel": True, "relaxed": False, "release": False, "acquire": False}


@pytest.mark.parametrize("order", ORDERS)
def test_the_last_block_acquires_what_the_others_released(order: str) -> None:
    @T.prim_func
    def last(X: T.Tensor((4, 64), "int32"), P: T.Tensor((4, 64), "int32"), N: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=64) as b:
            total = T.alloc_fragment((64,), "int32")
            for i in T.Parallel(64):
                P[b, i] = X[b, i] * 2  # written
            if T.atomic_add(N[0], 1, memory_order=order, return_prev=True) == 3:
                for i in T.Parallel(64):
                    total[i] = P[0, i] + P[1, i] + P[2, i] + P[3, i]  # read
                for i in T.Parallel(64):
                    X[3, i] = total[i]

    kernel = simulated(last)
    X = RANDOM.integers(-9, 9, (4, 64)).astype("int32")
    arguments = X.copy(), empty(4, 64, dtype="int32"), np.zeros(1, "int32")
    if ORDERS[order]:
        for seed in range(3):
            sim.set_options(seed=seed)
            arguments = X.copy(), empty(4, 64, dtype="int32"), np.zeros(1, "int32")
            kernel(*arguments)
            np.testing.assert_array_equal(arguments[0][3], 2 * X.sum(0))
        return
    with pytest.raises(SimulationError, match="nothing orders the two blocks|blocks run in any order") as caught:
        kernel(*arguments)
    text = Path(__file__).read_text().splitlines()
    lines = {next(i for i, line in enumerate(text, 1) if line.endswith(mark)) for mark in ("# written", "# read")}
    # A third side is the atomic operation, if it is nearly enough.
    assert any({side["line"] for side in report["sides"][:2]} == lines for report in caught.value.reports)


def test_warps_wait_for_each_other_in_loops() -> None:
    """Whichever of them goes first: a GPU lets all warps get on."""

    @T.prim_func
    def meet(F: T.Tensor((3,), "int32"), B: T.Tensor((96,), "int32")):
        with T.Kernel(1, threads=96):
            t = T.get_thread_binding()
            if t % 32 == 0:
                T.atomic_store(F[t // 32], t + 1)
                while T.atomic_load(F[(t // 32 + 1) % 3]) == 0:
                    B[t] = 1
                B[t] = T.atomic_load(F[(t // 32 + 1) % 3])

    kernel = simulated(meet)
    for seed in range(9):
        sim.set_options(seed=seed)
        B = empty(96, dtype="int32")
        kernel(np.zeros(3, "int32"), B)
        np.testing.assert_array_equal(B[::32], [33, 65, 1])


CLUSTERS: dict[str, dict[str, Any]] = {
    "along x": {},
    "along y": {"cluster": (1, 2)},
    "of four, both factors in rows": {"cluster": (4, 1), "transposed": True},
    "of warp groups, in panels": {"tile": (128, 64, 64), "threads": 256, "panel": 2},
    "with rows that end": {"M": 200, "N": 456, "K": 264},
}


def is_multicast(kernel: Any) -> bool:
    return b"isCTAOnly = false" in kernel.file("kernel.sim.mlir")


@pytest.mark.parametrize("name", CLUSTERS)
def test_blocks_of_a_cluster_fetch_tiles_together(name: str) -> None:
    options = {"M": 256, "N": 512, "K": 320, **CLUSTERS[name]}
    kernel = simulated(pipelined_kernels.in_clusters(**options))
    assert is_multicast(kernel)
    a, b = normal(options["M"], options["K"], dtype="float16"), normal(options["K"], options["N"], dtype="float16")
    expected = a.astype("float32") @ b.astype("float32")
    given = np.ascontiguousarray(b.T) if options.get("transposed") else b
    for seed in range(0, 12, 2):
        sim.set_options(seed=seed)
        c = empty(*expected.shape)
        kernel(a, given, c)
        np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-2)


def test_a_tile_that_a_cluster_shares_is_read_once() -> None:
    a, b, c = normal(256, 320, dtype="float16"), normal(320, 512, dtype="float16"), empty(256, 512)
    alone, together = (
        sim.count(simulated(pipelined_kernels.in_clusters(cluster)), a, b, c).sectors for cluster in ((1, 1), (2, 1))
    )
    assert alone - together == 2 * a.nbytes // 32


@pytest.mark.parametrize("seed", range(12))
def test_clusters_do_tiles_in_turn_and_leave_some_out(seed: int) -> None:
    sim.set_options(seed=seed)
    a, b = normal(256, 200, dtype="float16"), normal(200, 1024, dtype="float16")
    steps, c = np.array([4, 0, 1, 3, 2, 4, 0, 4], "int32"), empty(256, 1024)
    simulated(pipelined_kernels.tiles_in_clusters())(a, b, steps, c)
    for tile, count in enumerate(steps):
        row, column, depth = tile // 4 * 128, tile % 4 * 256, 64 * count
        part = a[row : row + 128, :depth].astype("float32") @ b[:depth, column : column + 256].astype("float32")
        np.testing.assert_allclose(c[row : row + 128, column : column + 256], part, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("groups", [1, 2])
def test_late_products_of_a_cluster(groups: int) -> None:
    rows = 128 * groups
    q, a, b = (normal(n, 64, dtype="float16") for n in (rows, 256, 256))
    kernel = simulated(pipelined_kernels.scores_in_clusters(groups=groups))
    assert is_multicast(kernel)
    weights = (q.astype("float32") @ a.astype("float32").T * 0.125).astype("float16").astype("float32")
    for seed in range(6):
        sim.set_options(seed=seed)
        c = empty(rows, 64)
        kernel(q, a, b, c)
        np.testing.assert_allclose(c, weights @ b.astype("float32"), rtol=1e-2, atol=5e-2)


def test_integers_are_exact() -> None:
    A, B = (RANDOM.integers(-(2**31), 2**31, 700).astype("int32") for _ in range(2))
    C = empty(700, dtype="int32")
    simulated(kernels.integers(700))(A, B, C)
    a, b = A.astype("int64"), B.astype("int64")
    d = np.maximum(np.abs(b).astype("int32") & 1023, 1)
    expected = (a // d) * 31 + a % d + ((a >> 3) ^ (B << np.int32(5))) + np.minimum(a, b) * b
    np.testing.assert_array_equal(C, expected.astype("int32"))

    X, total, top = RANDOM.integers(-9, 9, (6, 40)).astype("int32"), empty(6, dtype="int32"), empty(6, dtype="int32")
    simulated(kernels.row_sums(6, 40))(X, total, top)
    np.testing.assert_array_equal(total, X.sum(1))
    np.testing.assert_array_equal(top, np.abs(X).max(1))


GEMMS = {
    "float16": ("float16", None, 2.0**-10),
    "bfloat16 as float32": ("bfloat16", "float32", 2.0**-10),
    "float32": ("float32", None, 2.0**-9),
    "int8": ("int8", "int32", 0),
}


@pytest.mark.parametrize("nt", [False, True])
@pytest.mark.parametrize("name", GEMMS)
@pytest.mark.parametrize("chip", CHIPS)
def test_gemm(chip: str, name: str, nt: bool) -> None:
    dtype, out, bound = GEMMS[name]
    M, N, K = 128, 64, 96
    if dtype == "bfloat16":
        words = [RANDOM.integers(0x3F00, 0x4000, s).astype("uint16") for s in ((M, K), (N, K) if nt else (K, N))]
        a, b = ((w.astype("uint32") << 16).view("float32") for w in words)
        A, B = (tilec.Array.from_numpy(w, tilec.dtypes.bfloat16) for w in words)
    elif dtype == "int8":
        A = a = RANDOM.integers(-9, 9, (M, K)).astype("int8")
        B = b = RANDOM.integers(-9, 9, (N, K) if nt else (K, N)).astype("int8")
    else:
        A = a = normal(M, K, dtype=dtype)
        B = b = normal(*((N, K) if nt else (K, N)), dtype=dtype)
    C = empty(M, N, dtype=out or dtype)
    acc = "int32" if dtype == "int8" else None
    function = kernels.gemm(M, N, K, dtype, nt=nt, relu=False, tile=(64, 64, 32), out=out, acc=acc)
    simulated(function, chip)(A, B, C)
    a, b = a.astype("float64"), (b.T if nt else b).astype("float64")
    limit = bound * (np.abs(a) @ np.abs(b))
    assert (np.abs(C - a @ b) <= limit).all()


@pytest.mark.parametrize("chip", CHIPS)
def test_all_seeds_of_a_pipeline_give_the_same(chip: str) -> None:
    A, B = normal(128, 128, dtype="float16"), normal(128, 128, dtype="float16")
    kernel = simulated(kernels.gemm(128, 128, 128, "float16", tile=(64, 64, 32), stages=3), chip)
    results = []
    for seed in range(4):
        sim.set_options(seed=seed)
        C = empty(128, 128, dtype="float16")
        kernel(A, B, C)
        results.append(C)
    for C in results[1:]:
        np.testing.assert_array_equal(C, results[0])


@pytest.mark.parametrize(("stages", "groups", "registers"), [(2, 2, (24, 240)), (3, 3, (32, 160))])
def test_warp_groups_take_turns(stages: int, groups: int, registers: tuple[int, int]) -> None:
    rows, counts = 64 * groups, (4, 0, 1, 3)
    q, k, v = (RANDOM.integers(-2, 3, (extent, 64)).astype("float16") for extent in (4 * rows, 1024, 1024))
    kernel = simulated(pipelined_kernels.late_products(stages, groups))
    source = kernel.get_kernel_source()
    assert all(f"regCount = {count} : i32" in source for count in registers)
    assert "nvvm.barrier.arrive" in source
    p = np.clip(q.astype("float32") @ k.T.astype("float32"), -2, 2)
    expected = np.concatenate([p[t * rows : (t + 1) * rows, : n * 128] @ v[: n * 128] for t, n in enumerate(counts)])
    for seed in range(4):
        sim.set_options(seed=seed)
        out = empty(4 * rows, 64)
        kernel(q, k, v, np.array(counts, "int32"), out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("steps", [(4, 4, 4, 4), (0, 1, 4, 2)])
def test_a_thread_that_only_copies(steps: tuple[int, ...]) -> None:
    a, b = (RANDOM.integers(-2, 3, (extent, 200)).astype("float16") for extent in (256, 512))
    kernel = simulated(pipelined_kernels.tiles_in_turn(3))
    assert "array<i32: 288, 1, 1>" in kernel.get_kernel_source()
    expected = np.empty((256, 512), "float16")
    for tile, count in enumerate(steps):
        rows, columns = slice(tile // 2 * 128, tile // 2 * 128 + 128), slice(tile % 2 * 256, tile % 2 * 256 + 256)
        expected[rows, columns] = a[rows, : count * 64] @ b[columns, : count * 64].T
    for seed in range(3):
        sim.set_options(seed=seed)
        C = empty(256, 512, dtype="float16")
        kernel(a, b, np.array(steps, "int32"), C)
        np.testing.assert_array_equal(C, expected)


@pytest.mark.parametrize("loop", ["pipelined", "serial", "while"])
def test_a_product_before_a_loop_is_waited_for_in_it(loop: str) -> None:
    """The first product is under way when the loop begins, and registers under way cannot be copied."""

    @T.prim_func
    def two_products(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        n: T.int32,
        C: T.Tensor((64, 32), "float32"),
        D: T.Tensor((64, 32), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((64, 32), "float16")
            Bs, Ds = T.alloc_shared((32, 32), "float16"), T.alloc_shared((32, 32), "float16")
            c, d = T.alloc_fragment((64, 32), "float32"), T.alloc_fragment((64, 32), "float32")
            T.copy(A, As)
            T.copy(B, Bs)
            T.clear(c)
            T.clear(d)
            T.gemm(As, Bs, c, transpose_B=True)
            if loop == "while":
                left = T.alloc_var("int32", n)
                while left > 0:
                    T.copy(B, Ds)
                    T.gemm(As, Ds, d, transpose_B=True)
                    left -= 1
            else:
                for _ in T.Pipelined(n, num_stages=2) if loop == "pipelined" else T.serial(n):
                    T.copy(B, Ds)
                    T.gemm(As, Ds, d, transpose_B=True)
            T.copy(c, C)
            T.copy(d, D)

    A, B = RANDOM.integers(-3, 4, (64, 32)).astype("float16"), RANDOM.integers(-3, 4, (32, 32)).astype("float16")
    product = A.astype("float32") @ B.astype("float32").T
    kernel = simulated(two_products)
    for n in (0, 1, 4):
        C, D = empty(64, 32), empty(64, 32)
        kernel(A, B, n, C, D)
        np.testing.assert_array_equal(C, product)
        np.testing.assert_array_equal(D, n * product)


@pytest.mark.parametrize("chip", CHIPS)
def test_dynamic_shapes_and_scalars(chip: str) -> None:
    @T.prim_func
    def scale(A: T.Tensor(("n", "m"), "float32"), C: T.Tensor(("n", "m"), "float32"), k: T.float32):
        with T.Kernel(T.ceildiv(T.dynamic("n"), 16), threads=64) as b:
            for i, j in T.Parallel(16, T.dynamic("m")):
                C[b * 16 + i, j] = A[b * 16 + i, j] * k

    kernel = simulated(scale, chip)
    for n, m in ((1, 1), (33, 7), (16, 40)):
        A, C = normal(n, m), empty(n, m)
        kernel(A, C, 3.0)
        np.testing.assert_array_equal(C, A * np.float32(3))
    with pytest.raises(ShapeError):
        kernel(normal(2, 3), empty(3, 2), 1.0)


def test_kernels_run_one_after_the_other() -> None:
    @T.prim_func
    def twice(A: T.Tensor((100,), "int32")):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(100):
                A[i] = A[i] + 1
        with T.Kernel(1, threads=64):
            for i in T.Parallel(100):
                A[i] = A[i] * 2

    A = np.arange(100, dtype="int32")
    simulated(twice)(A)
    np.testing.assert_array_equal(A, (np.arange(100) + 1) * 2)


def test_results_and_chips_that_nobody_names() -> None:
    kernel = tilec.compile(kernels.axpy(64, "float32"), backend="sim", out_idx=2)
    assert kernel.target == "sm_90a"
    A, B = normal(64), normal(64)
    np.testing.assert_allclose(kernel(A, B), 2 * A + B, rtol=1e-6)
    assert "gpu.func" in kernel.get_kernel_source()


@pytest.mark.usefixtures("cache_on")
def test_programs_come_from_the_cache() -> None:
    first = simulated(kernels.axpy(96, "float32"), "sm_80")
    tilec.cache.clear(kernels=False, tuning=False)
    again = simulated(kernels.axpy(96, "float32"), "sm_80")
    assert again.cached
    assert again.get_kernel_source() == first.get_kernel_source()
    A, B, C = normal(96), normal(96), empty(96)
    again(A, B, C)
    np.testing.assert_allclose(C, 2 * A + B, rtol=1e-6)


# What is reported


def test_a_report_names_line_block_and_thread() -> None:
    """Threads of a block that write one element do so in no order."""

    @T.prim_func
    def racing(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            shared = T.alloc_shared((64,), "int32")
            for i in T.Parallel(64):
                shared[i // 2] = i  # both
            for i in T.Parallel(64):
                A[i] = shared[i // 2]

    sim.set_options(checks=True)
    with pytest.raises(
        SimulationError, match=r"kernel `racing_kernel`: (.|\n)*test_simulator\.py:\d+: block"
    ) as caught:
        simulated(racing)(empty(64, dtype="int32"))
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "# both" in text)
    assert f":{line}:" in str(caught.value)


@pytest.mark.parametrize("chip", CHIPS)
def test_copies_of_an_element_that_threads_store_are_no_race(chip: str) -> None:
    """More warps than the rows are for: some hold the same elements, and all of them store theirs."""

    @T.prim_func
    def product(A: T.Tensor((64, 16), "float16"), B: T.Tensor((16, 32), "float16"), C: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=256) as _:
            a, b = T.alloc_shared((64, 16), "float16"), T.alloc_shared((16, 32), "float16")
            c, s = T.alloc_fragment((64, 32), "float16"), T.alloc_shared((64, 32), "float16")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullRow)
            T.copy(c, s)
            T.copy(s, C)

    A, B, C = normal(64, 16, dtype="float16"), normal(16, 32, dtype="float16"), empty(64, 32, dtype="float16")
    simulated(product, chip)(A, B, C)
    np.testing.assert_allclose(C, A.astype("float32") @ B.astype("float32"), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("threads", [64, 100])
@pytest.mark.filterwarnings("ignore::tilec.errors.IdleThreadsWarning")
def test_copies_of_an_iteration_that_changes_an_element_twice_are_no_race(chip: str, threads: int) -> None:
    """One thread of those that run an iteration writes what it changes to one value and then to another."""

    @T.prim_func
    def changed(A: T.Tensor((12,), "int32"), B: T.Tensor((3, 12), "int32")):
        with T.Kernel(1, threads=threads) as _:
            s, x = T.alloc_shared((12,), "int32"), T.alloc_fragment((12,), "int32")
            for i in T.Parallel(12):
                B[0, i] = A[i]
                if A[i] % 3 == 0:
                    continue
                B[0, i] = 1
            for i in T.Parallel(12):
                s[i] = 7
                x[i] = A[i] * 2
                if A[i] > 5:
                    s[i] = A[i]
            for i in T.Parallel(12):
                for k in T.serial(A[i]):
                    B[2, i] = k
            for i in T.Parallel(12):
                B[1, i] = s[i] + x[i]

    A = np.arange(12, dtype="int32")
    expected = np.stack([np.where(A % 3 == 0, A, 1), np.where(A > 5, A, 7) + 2 * A, A - 1])
    for seed in range(9):
        sim.set_options(seed=seed)
        B = np.full((3, 12), -1, "int32")
        simulated(changed, chip)(A, B)
        np.testing.assert_array_equal(B, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_copies_of_a_nan_that_threads_store_are_no_race(dtype: str, kind: str) -> None:
    """Of two NaNs each lane finds its own first; what becomes of them is one NaN, as on a device."""

    @T.prim_func
    def rows(A: T.Tensor((16, 16), dtype), B: T.Tensor((16,), dtype)):
        with T.Kernel(1, threads=64) as _:
            a, b, s = T.alloc_fragment((16, 16), dtype), T.alloc_fragment((16,), dtype), T.alloc_shared((16,), dtype)
            T.copy(A, a)
            if kind == "sum":
                T.reduce_sum(a, b, dim=1)
            else:
                T.reduce_max(a, b, dim=1)
            T.copy(b, s)
            T.copy(s, B)

    A = normal(16, 16, dtype=dtype)
    words = A.view("u4" if dtype == "float32" else "u8")
    quiet = 0x7FC00000 if dtype == "float32" else 0x7FF8000000000000
    words[2, 1], words[2, 14] = quiet + 5, quiet + 9
    B = empty(16, dtype=dtype)
    simulated(rows)(A, B)
    assert np.isnan(B[2])
    right = A.sum(1) if kind == "sum" else A.max(1)
    np.testing.assert_allclose(B, right, rtol=1e-5)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("how", ["then", "python", "and"])
def test_what_a_condition_keeps_from_being_read_is_no_race(how: str, chip: str) -> None:
    """Of the elements of other blocks, which write them meanwhile, none is read where the condition does not hold."""

    @T.prim_func
    def neighbours(n: T.int32, A: T.Tensor((256,), "int32")):
        with T.Kernel(8, threads=32) as b:
            for i in T.Parallel(32):
                at = b * 32 + i
                if how == "then":
                    A[at] = T.if_then_else(n > 0, A[(at + 32) % 256] // n, at)
                elif how == "python":
                    A[at] = at if n <= 0 else A[(at + 32) % 256]
                else:
                    A[at] = T.cast(n > 0 and A[(at + 32) % 256] > 0, "int32")

    kernel = simulated(neighbours, chip)
    A = np.zeros(256, "int32")
    kernel(0, A)
    np.testing.assert_array_equal(A, np.zeros(256) if how == "and" else np.arange(256))
    with pytest.raises(SimulationError, match="race"):
        kernel(1, A)


def test_without_checks_a_race_is_not_looked_for() -> None:
    @T.prim_func
    def racing(A: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(64):
                A[0] = i

    sim.set_options(checks=False)
    A = empty(64, dtype="int32")
    simulated(racing)(A)
    assert 0 <= A[0] < 64


def test_source_kernels_are_refused() -> None:
    source = 'extern "C" __global__ void scale(float *x) { x[threadIdx.x] *= 2; }'

    @T.prim_func
    def run(A: T.Tensor((32,), "float32")):
        T.CUDASourceCodeKernel(1, threads=32, source_code_or_path=source, entry_name="scale", args=[A])

    with pytest.raises(CompileError, match="is CUDA C\\+\\+, which the simulator does not run; compile for a GPU"):
        simulated(run)


def test_a_seed_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilec import env

    monkeypatch.setenv("TL_SIM_SEED", "-1")
    with pytest.raises(ConfigError, match="`TL_SIM_SEED` is `-1`, and is to be a number from 0 on"):
        env.sim_seed()


# The suites of the other targets


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", fragment_kernels.CASES)
def test_fragments(name: str, chip: str) -> None:
    program, inputs, expected = fragment_kernels.CASES[name]()
    result = np.full(expected.shape, 77, expected.dtype)
    simulated(program, chip)(*inputs, result)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("stages", [0, 3])
def test_what_runs_ahead_is_not_seen(stages: int, chip: str) -> None:
    a, b = normal(4, 128), empty(4, 128)
    simulated(pipelined_kernels.row_by_row(stages), chip)(a, b)
    np.testing.assert_array_equal(b, np.broadcast_to(a[0], (4, 128)))
    a, kernel = normal(8, 128), simulated(pipelined_kernels.used_after(stages), chip)
    for trips in (0, 1, 5):
        b = empty(128)
        kernel(a, trips, b)
        np.testing.assert_array_equal(b, a[trips - 1] if trips else np.full(128, 7, "float32"))
