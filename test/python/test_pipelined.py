"""What pipelined loops compute, on the CPU, and whether their copies run ahead on GPUs.

test/integration/test_pipelined.py runs them on a GPU.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl

sys.path.append(str(Path(__file__).parents[1] / "integration"))
import pipelined_kernels as programs

STAGES = (0, 1, 2, 3, 4)
CHIPS = ("sm_80", "sm_90a")
TOOLS = json.loads(_tl.toolchain_info())
GENERATORS = [
    "nvptx",
    pytest.param("nvrtc", marks=pytest.mark.skipif(not TOOLS["nvrtc"]["path"], reason="no NVRTC")),
]


def test_rows_stay_where_each_iteration_fills_another():
    a = np.random.default_rng(0).standard_normal((4, 128), "float32")
    for stages in STAGES:
        b = np.zeros_like(a)
        tilec.compile(programs.row_by_row(stages), target="cpu")(a, b)
        np.testing.assert_array_equal(b, np.tile(a[0], (4, 1)))


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_the_tile_holds_after_the_loop_what_came_last(trips):
    a = np.random.default_rng(1).standard_normal((8, 128), "float32")
    for stages in STAGES:
        b = np.zeros(128, "float32")
        tilec.compile(programs.used_after(stages), target="cpu")(a, trips, b)
        np.testing.assert_array_equal(b, a[trips - 1] if trips else np.full(128, 7, "float32"))


@pytest.mark.parametrize("inside", [False, True])
def test_loops_shorter_than_their_stages(inside):
    a = np.random.default_rng(2).standard_normal((8, 128), "float32")
    for trips in (0, 1, 8):
        for stages in STAGES:
            b = np.zeros_like(a)
            tilec.compile(programs.doubled(stages, inside), target="cpu")(a, trips, b)
            np.testing.assert_array_equal(b[:trips], a[:trips] * 2)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_tile_may_be_allocated_in_the_loop(chip):
    for stages in STAGES:
        assert ".visible .entry" in tilec.compile(programs.doubled(stages, True), target=chip).get_ptx()


def runs_ahead(program, chip, folder):
    """Whether copies of the program run ahead."""
    tilec.compile(program, target=chip, dump_dir=str(folder))
    (decided,) = folder.glob("*/*-tl-assign-stages.mlir")
    return "tl.ahead" in decided.read_text()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(
    "program",
    [programs.row_by_row, programs.used_after, programs.feeds_itself, programs.two_copies, programs.every_other],
)
def test_copies_stay_where_someone_would_see_them_run_ahead(program, chip, tmp_path):
    for stages in (1, 2, 4):
        assert not runs_ahead(program(stages), chip, tmp_path / str(stages))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("program", [programs.doubled, programs.nested])
def test_copies_run_ahead_where_nobody_sees_it(program, chip, tmp_path):
    assert runs_ahead(program(2), chip, tmp_path / "2")


@pytest.mark.parametrize("chip", CHIPS)
def test_one_stage_and_none_are_left_to_the_compiler(chip, tmp_path):
    assert runs_ahead(programs.doubled(1), chip, tmp_path / "1")
    assert runs_ahead(programs.doubled(0), chip, tmp_path / "0")


def test_a_pipelined_loop_in_a_loop_keeps_its_bulk_copies():
    ptx = tilec.compile(programs.nested(3), target="sm_90a").get_ptx()
    assert "complete_tx" in ptx
    assert "cp.async.commit_group" not in ptx


def check_products(kernel, products):
    random = np.random.default_rng(3)
    # Rows of 225 elements can only be copied one by one.
    a, b = (random.integers(-4, 5, shape).astype("float16") for shape in ((64, 225), (224, 64)))
    c = np.full((64, 64), np.nan, "float32")
    kernel(a[:, :224], b, products, c)
    np.testing.assert_array_equal(c, a[:, : products * 32].astype("float32") @ b[: products * 32].astype("float32"))


@pytest.mark.parametrize("stages", STAGES)
def test_any_number_of_products(stages):
    kernel = tilec.compile(programs.any_number_of_products(stages), target="cpu")
    for products in (0, 1, 2, 7):
        check_products(kernel, products)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("stages", [2, 3])
def test_any_number_of_products_in_the_simulator(stages, chip):
    kernel = tilec.compile(programs.any_number_of_products(stages), target=chip, backend="sim")
    for products in (0, 1, 2, 7):
        check_products(kernel, products)


@pytest.mark.parametrize("stages", [2, 3])
def test_products_of_parts_that_each_iteration_chooses(stages):
    numbers = np.random.default_rng(5).standard_normal
    q, a, b = (numbers(shape).astype("float16") for shape in ((64, 64), (256, 64), (256, 64)))
    tiles = [
        (q.astype("float64") @ a[k : k + 64].T).astype("float16") @ b[k : k + 64].astype("float64")
        for k in range(0, 256, 64)
    ]
    for where in ({"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}):
        c = np.full((64, 64), np.nan, "float32")
        tilec.compile(programs.through_parts(stages), **where)(q, a, b, c)
        np.testing.assert_allclose(c, sum(tiles), rtol=2e-3, atol=2e-2 * np.abs(sum(tiles)).max())


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("runs", [1, 3])
def test_no_copy_is_started_beyond_the_greatest_bound(chip, runs):
    low, high = 2**31 - 8, 2**31 - 1
    a = np.random.default_rng(7).integers(-9, 9, (8, 128)).astype("float32")
    kernel = tilec.compile(programs.rows_from(runs), target=chip, backend="sim")
    b = np.zeros(128, "float32")
    kernel(a, low, high, b)
    np.testing.assert_array_equal(b, a[: high - low].sum(0) * runs)


@pytest.mark.parametrize("chip", CHIPS)
def test_many_pipelines_in_a_loop(chip):
    a = np.random.default_rng(6).integers(-9, 9, (64, 64)).astype("float16")
    kernel = tilec.compile(programs.four_in_a_loop(4), target=chip, backend="sim")
    for n in (0, 1, 2):
        c = np.full((16, 64), np.nan, "float32")
        kernel(a, n, c)
        tiles = a.reshape(4, 16, 64).astype("float32")
        expected = sum((tiles[: n + i].sum(0) for i in range(4) if n), np.zeros((16, 64), "float32"))
        np.testing.assert_array_equal(c, n * expected)


def shared_bytes(kernel):
    return kernel.compile_info["kernels"][0]["shared"]


@pytest.mark.parametrize("chip", [*CHIPS, "sm_90"])
@pytest.mark.parametrize("trips", [None, 8])
@pytest.mark.parametrize("own", [False, True])
def test_loops_behind_each_other_need_the_shared_memory_of_one(own, trips, chip):
    ring = 3 * (128 * 64 + 64 * 128) * 2
    program = programs.loops_in_turn(3, trips, own)
    assert ring <= shared_bytes(tilec.compile(program, target=chip, assembler="none")) < 1.1 * ring


@pytest.mark.parametrize("backend", GENERATORS)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_90"])
def test_loops_behind_each_other_by_both_generators(chip, backend):
    kernel = tilec.compile(programs.loops_in_turn(3), target=chip, backend=backend, assembler="none")
    assert ".visible .entry" in kernel.get_ptx()


@pytest.mark.parametrize(
    "where", [{"target": "cpu"}, *({"target": chip, "backend": "sim"} for chip in (*CHIPS, "sm_90"))]
)
@pytest.mark.parametrize("own", [False, True])
def test_loops_behind_each_other(own, where):
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-2, 3, (512, 512)).astype("float16") for _ in range(2))
    wide = a.astype("float32"), b.astype("float32")
    for stages, trips in ((2, None), (3, None), (3, 2)):
        kernel = tilec.compile(programs.loops_in_turn(stages, trips, own), **where)
        for counts in ((5, 0, 1, 2), (0, 0, 0, 3), (4, 2, 3, 0)):
            c = np.full((128, 128), np.nan, "float32")
            kernel(a, b, np.array(counts, "int32"), c)
            done = counts if trips is None else (trips,) * 4
            np.testing.assert_array_equal(c, programs.loops_in_turn_reference(*wide, done))


@pytest.mark.parametrize("backend", GENERATORS)
@pytest.mark.parametrize("chip", ["sm_90a", "sm_90"])
def test_roles_go_from_loop_to_loop_in_one_ring(chip, backend):
    kernel = tilec.compile(programs.loops_of_roles(3), target=chip, backend=backend, assembler="none")
    assert shared_bytes(kernel) < 3 * (128 * 64 + 64 * 256) * 2 + 128 * 256 * 2 + 2048
    # Those who read slots arrive where they give them back.
    assert ("mbarrier.arrive.shared" in kernel.get_ptx()) == (chip == "sm_90a")


@pytest.mark.parametrize("where", [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}], ids=["cpu", "sim"])
def test_roles_go_from_loop_to_loop(where):
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-1, 2, shape).astype("float16") for shape in ((256, 512), (512, 512)))
    for trips in (None, 3):
        kernel = tilec.compile(programs.loops_of_roles(3, trips), **where)
        for counts in ((4, 0, 1, 2), (0, 1, 0, 4), (2, 4, 3, 3)):
            c = np.full((256, 512), np.nan, "float16")
            kernel(a, b, np.array(counts, "int32"), c)
            expected = programs.loops_of_roles_reference(a.astype("float32"), b.astype("float32"), counts, trips)
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("backend", GENERATORS)
def test_roles_run_ahead_through_guards(backend):
    """A warp that only copies stands beside the 128 threads that compute."""
    kernel = tilec.compile(programs.masked_products(2), target="sm_90a", backend=backend, assembler="none")
    assert kernel.compile_info["functions"][kernel.name]["launches"][0]["block"] == [160, 1, 1]
    assert "mbarrier.arrive.shared" in kernel.get_ptx()


@pytest.mark.parametrize("chip", ["cpu", "sm_80", "sm_90", "sm_90a"])
def test_products_behind_a_mask(chip):
    rng = np.random.default_rng(15)
    a, b = (rng.integers(-2, 3, shape).astype("float16") for shape in ((256, 512), (512, 256)))
    where = {} if chip == "cpu" else {"backend": "sim"}
    for stages in (2, 3):
        kernel = tilec.compile(programs.masked_products(stages), target=chip, **where)
        for share in (0, 0.4, 1):
            mask = rng.random((2, 2, 2, 8)) < share
            c = np.full((256, 256), np.nan, "float32")
            kernel(a, b, mask, c)
            expected = programs.masked_products_reference(a.astype("float32"), b.astype("float32"), mask)
            np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("where", [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}], ids=["cpu", "sim"])
def test_a_slot_is_given_back_while_a_product_of_other_tiles_runs(where):
    rng = np.random.default_rng(14)
    a, b = (rng.integers(-2, 3, shape).astype("float16") for shape in ((128, 256), (256, 256)))
    kernel = tilec.compile(programs.beside_tiles_that_stay(), **where)
    for n in (0, 1, 4):
        c = np.full((128, 256), np.nan, "float32")
        kernel(a, b, n, c)
        expected = programs.beside_tiles_that_stay_reference(a.astype("float32"), b.astype("float32"), n)
        np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_late_products_of_loops_behind_each_other(groups):
    rows, counts = 64 * groups, (3, 0, 1, 2)
    rng = np.random.default_rng(10)
    q, k, v = (rng.integers(-2, 3, (n, 64)).astype("float16") for n in (4 * rows, 1024, 1024))
    p = np.clip(q.astype("float32") @ k.astype("float32").T, -2, 2)
    tiles = [p[t * rows : (t + 1) * rows, : n * 128] @ v[: n * 128].astype("float32") for t, n in enumerate(counts)]
    for stages, more in ((2, 0), (3, 0), (2, 1)):
        kernel = tilec.compile(
            programs.late_products(stages, groups, loops=2, more=more), target="sm_90a", backend="sim"
        )
        assert shared_bytes(kernel) < (stages + more) * 2 * 128 * 64 * 2 + rows * 64 * 2 + 1024
        out = np.full((4 * rows, 64), np.nan, "float32")
        kernel(q, k, v, np.array(counts, "int32"), out)
        np.testing.assert_array_equal(out, np.concatenate(tiles) * 2)


@pytest.mark.parametrize("where", [{"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}], ids=["cpu", "sim"])
@pytest.mark.parametrize("inside", ["As", "Bs", "s", "p"])
def test_a_tile_may_be_allocated_in_a_loop_whose_last_product_is_late(inside, where):
    @T.prim_func
    def main(
        Q: T.Tensor((64, 64), "float16"),
        A: T.Tensor((320, 64), "float16"),
        B: T.Tensor((320, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            Qs = T.alloc_shared((64, 64), "float16")
            As0, Bs0 = T.alloc_shared((64, 64), "float16"), T.alloc_shared((64, 64), "float16")
            s0, total = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            p0 = T.alloc_fragment((64, 64), "float16")
            T.copy(Q, Qs)
            T.clear(total)
            for k in T.Pipelined(5, num_stages=2):
                As = T.alloc_shared((64, 64), "float16") if inside == "As" else As0
                Bs = T.alloc_shared((64, 64), "float16") if inside == "Bs" else Bs0
                s = T.alloc_fragment((64, 64), "float32") if inside == "s" else s0
                p = T.alloc_fragment((64, 64), "float16") if inside == "p" else p0
                T.copy(A[k * 64, 0], As)
                T.clear(s)
                T.gemm(Qs, As, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(s, p)
                T.copy(B[k * 64, 0], Bs)
                T.gemm(p, Bs, total, policy=T.GemmWarpPolicy.FullRow)
            T.copy(total, C)

    rng = np.random.default_rng(6)
    q, a, b = (rng.integers(-1, 2, shape).astype("float16") for shape in ((64, 64), (320, 64), (320, 64)))
    c = np.full((64, 64), np.nan, "float32")
    tilec.compile(main, **where)(q, a, b, c)
    wide = [x.astype("float32") for x in (q, a, b)]
    expected = sum((wide[0] @ wide[1][k : k + 64].T) @ wide[2][k : k + 64] for k in range(0, 320, 64))
    np.testing.assert_array_equal(c, expected)


@pytest.mark.skipif(not TOOLS["ptxas"]["path"], reason="there is no ptxas")
@pytest.mark.parametrize("backend", GENERATORS)
@pytest.mark.parametrize("stages", [2, 3])
def test_products_of_a_loop_that_may_not_run_are_under_way_together(stages, backend):
    program = programs.any_number_of_products(stages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # C7515: what writes sums while a product is under way makes each one wait
        tilec.compile(program, target="sm_90a", backend=backend, assembler="ptxas")


def persistent_gemm(stages: int):
    """A thread of its own starts the copies, and another tile's while one is stored."""
    size = 4096

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "bfloat16"),
        B: T.Tensor((size, size), "bfloat16"),
        C: T.Tensor((size, size), "bfloat16"),
    ):
        with T.Kernel(132, threads=256) as block:
            As = T.alloc_shared((128, 64), "bfloat16")
            Bs = T.alloc_shared((64, 256), "bfloat16")
            acc = T.alloc_fragment((128, 256), "float32")
            for x, y in T.Persistent([size // 128, size // 256], 132, block):
                T.clear(acc)
                for k in T.Pipelined(size // 64, num_stages=stages):
                    T.copy(A[x * 128, k * 64], As)
                    T.copy(B[k * 64, y * 256], Bs)
                    T.gemm(As, Bs, acc)
                T.copy(acc, C[x * 128, y * 256])

    return main


@pytest.mark.skipif(not TOOLS["ptxas"]["path"], reason="there is no ptxas")
@pytest.mark.parametrize("backend", GENERATORS)
@pytest.mark.parametrize("stages", [3, 4])
def test_descriptors_are_in_registers_of_the_warp_beside_a_thread_that_copies(stages, backend):
    kernel = tilec.compile(persistent_gemm(stages), target="sm_90a", backend=backend, assembler="ptxas")
    # Where tiles lie in their tensor is known; beside a ring of four slots no room is left to store one from.
    assert ("cp.async.bulk.tensor.2d.global" in kernel.get_ptx()) == (stages == 3)
    products = kernel.get_sass().split("HGMMA")
    assert len(products) > 4
    # Where the assembler does not know a warp's threads to be together it has four R2UR for each product.
    assert not any("R2UR" in between for between in products[1:-1])


def beside_the_tiles_of_a_loop(where: str, width: int, stages: int):
    """A persistent GEMM, and a tile that is needed before its loops or behind them only."""

    @T.prim_func
    def main(
        A: T.Tensor((256, 192), "float16"),
        B: T.Tensor((192, 512), "float16"),
        X: T.Tensor((128, width), "float16"),
        C: T.Tensor((256, 512), "float16"),
        Y: T.Tensor((128, width), "float16"),
    ):
        with T.Kernel(1, threads=256) as block:
            As = T.alloc_shared((128, 64), "float16")
            Bs = T.alloc_shared((64, 256), "float16")
            Xs = T.alloc_shared((128, width), "float16")
            acc = T.alloc_fragment((128, 256), "float32")
            if where == "before":
                T.copy(X, Xs)
                T.copy(Xs, Y)
            for x, y in T.Persistent([2, 2], 1, block):
                T.clear(acc)
                for k in T.Pipelined(3, num_stages=stages):
                    T.copy(A[x * 128, k * 64], As)
                    T.copy(B[k * 64, y * 256], Bs)
                    T.gemm(As, Bs, acc)
                T.copy(acc, C[x * 128, y * 256])
            if where == "behind":
                T.copy(X, Xs)
                T.copy(Xs, Y)

    return main


@pytest.mark.parametrize("where", ["before", "behind"])
@pytest.mark.parametrize(("width", "stages"), [(384, 3), (256, 4)])
def test_tiles_that_are_needed_at_other_times_share_memory_with_those_of_a_loop(where, width, stages):
    """Beside each other they take more than a block has."""
    random = np.random.default_rng(5)
    a, b, x = (random.integers(-2, 3, shape).astype("float16") for shape in ((256, 192), (192, 512), (128, width)))
    c, y = np.full((256, 512), np.nan, "float16"), np.full_like(x, np.nan)
    program = beside_the_tiles_of_a_loop(where, width, stages)
    tilec.compile(program, target="sm_90a", backend="sim")(a, b, x, c, y)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))
    np.testing.assert_array_equal(y, x)


def rows_of_a_table(changes: bool):
    """Copies rows of A in the order of a table, which the loop may write as it goes, through other indices of it."""

    @T.prim_func
    def gather(A: T.Tensor((64, 128), "float32"), table: T.Tensor((16,), "int32"), B: T.Tensor((8, 128), "float32")):
        with T.Kernel(1, threads=32):
            row = T.alloc_shared((1, 128), "float32")
            places = T.reshape(table, (4, 4))
            for k in T.Pipelined(8, num_stages=3):
                place = places[k // 4, k % 4]
                T.copy(A[place, 0], row)
                T.copy(row, B[k, 0])
                if changes:
                    table[k + 1] = place + 3

    return gather


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.filterwarnings("ignore::tilec.errors.UnpipelinedLoopWarning")
def test_copies_run_ahead_to_where_a_table_says_unless_the_loop_changes_it(changes, chip, tmp_path):
    a = np.random.default_rng(3).standard_normal((64, 128), "float32")
    table = np.array([0, *range(60, 45, -1)], "int32")
    order = [3 * k for k in range(8)] if changes else table[:8].tolist()
    b = np.full((8, 128), np.nan, "float32")
    tilec.compile(rows_of_a_table(changes), target=chip, backend="sim")(a, table, b)
    np.testing.assert_array_equal(b, a[order])
    assert runs_ahead(rows_of_a_table(changes), chip, tmp_path) is not changes
