"""Pipelined loops on a GPU, by each engine: nothing that runs ahead may be seen.

Numbers are small integers, so that results are exact and compared for equality.
"""

import os

import pytest

import pipelined_kernels as programs
import tilec

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("backend")

MAJOR, MINOR = torch.cuda.get_device_capability()
CHIPS = ["sm_90a", "sm_90"] if (MAJOR, MINOR) == (9, 0) else [f"sm_{MAJOR}{MINOR}"]
STAGES = (0, 1, 2, 3, 4)
LAUNCHES = int(os.environ.get("TL_TEST_LAUNCHES", "20"))  # of one kernel: what is not ordered is seldom seen


@pytest.fixture(params=CHIPS)
def chip(request):
    return request.param


@pytest.fixture(params=STAGES)
def stages(request):
    return request.param


def numbers(*shape, dtype="float32"):
    return torch.randint(-2, 3, shape, device="cuda").to(getattr(torch, dtype))


def same(got, expected):
    assert torch.equal(got, expected), f"{(got != expected).sum().item()} of {got.numel()} wrong"


def test_rows_stay_where_each_iteration_fills_another(stages, chip):
    a = torch.randn(4, 128, device="cuda")
    b = torch.full_like(a, float("nan"))
    tilec.compile(programs.row_by_row(stages), target=chip)(a, b)
    same(b, a[0].expand(4, 128))


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_the_tile_holds_after_the_loop_what_came_last(stages, chip, trips):
    a = torch.randn(8, 128, device="cuda")
    b = torch.full((128,), float("nan"), device="cuda")
    tilec.compile(programs.used_after(stages), target=chip)(a, trips, b)
    same(b, a[trips - 1] if trips else torch.full_like(b, 7))


@pytest.mark.parametrize("inside", [False, True])
def test_loops_shorter_than_their_stages(stages, chip, inside):
    a = torch.randn(8, 128, device="cuda")
    kernel = tilec.compile(programs.doubled(stages, inside), target=chip)
    for trips in (0, 1, 3, 8):
        b = torch.full_like(a, float("nan"))
        kernel(a, trips, b)
        same(b[:trips], a[:trips] * 2)
        assert b[trips:].isnan().all()


def test_each_iteration_copies_what_the_one_before_wrote(stages, chip):
    a = torch.randn(8, 128, device="cuda").round()
    expected = a[0] + torch.arange(8, device="cuda")[:, None]
    tilec.compile(programs.feeds_itself(stages), target=chip)(a)
    same(a, expected)


def test_two_copies_fill_one_tile(stages, chip):
    a = torch.randn(8, 128, device="cuda")
    b = torch.full_like(a, float("nan"))
    tilec.compile(programs.two_copies(stages), target=chip)(a, b)
    same(b, torch.cat([a[:, :64], a.flip(0)[:, 64:]], dim=1))


def test_a_copy_under_a_condition(stages, chip):
    a = torch.randn(8, 128, device="cuda")
    b = torch.full_like(a, float("nan"))
    tilec.compile(programs.every_other(stages), target=chip)(a, b)
    same(b, a[::2].repeat_interleave(2, dim=0))


def test_a_pipelined_loop_in_a_loop(stages, chip):
    a = numbers(8, 128)
    b = torch.full_like(a, float("nan"))
    tilec.compile(programs.nested(stages), target=chip)(a, b)
    same(b, a.cumsum(0) - a)


def test_operands_are_free_after_the_loop(stages, chip):
    q, b = numbers(64, 128, dtype="float16"), numbers(1024, 128, dtype="float16")
    expected = (q.float() @ b.float().view(8, 128, 128).sum(0)).half()
    kernel = tilec.compile(programs.used_after_gemm(stages), target=chip)
    for _ in range(LAUNCHES):
        c = torch.full_like(q, float("nan"))
        kernel(q, b, c)
        same(c, expected)


def test_tiles_one_after_the_other(stages, chip):
    a, b = numbers(512, 512, dtype="float16"), numbers(512, 512, dtype="float16")
    kernel = tilec.compile(programs.persistent_gemm(stages), target=chip)
    for _ in range(LAUNCHES):
        c = torch.full((512, 512), float("nan"), device="cuda")
        kernel(a, b, c)
        same(c, a.float() @ b.float())


@pytest.mark.parametrize("steps", [(4, 4, 4, 4), (0, 1, 2, 3), (4, 0, 0, 1)])
def test_a_thread_that_only_copies(stages, chip, steps):
    a, b = numbers(256, 200, dtype="float16"), numbers(512, 200, dtype="float16")
    expected = torch.empty(256, 512, device="cuda")
    for tile, count in enumerate(steps):
        rows, columns = slice(tile // 2 * 128, tile // 2 * 128 + 128), slice(tile % 2 * 256, tile % 2 * 256 + 256)
        expected[rows, columns] = a[rows, : count * 64].float() @ b[columns, : count * 64].float().T
    counts = torch.tensor(steps, dtype=torch.int32, device="cuda")
    # Four stages of 48 KB are more than a chip before sm_90 has.
    kernel = tilec.compile(programs.tiles_in_turn(min(stages, 4 if MAJOR >= 9 else 3)), target=chip)
    for _ in range(LAUNCHES):
        c = torch.full((256, 512), float("nan"), device="cuda", dtype=torch.float16)
        kernel(a, b, counts, c)
        same(c.float(), expected)


def test_sums_that_each_iteration_scales(stages, chip):
    q, a, b = (numbers(rows, 64, dtype="float16") for rows in (64, 512, 512))
    expected = torch.zeros(64, 64, device="cuda")
    for k in range(8):
        rows = slice(k * 64, k * 64 + 64)
        expected = expected * 0.5 + (q.float() @ a[rows].float().T).half().float() @ b[rows].float()
    kernel = tilec.compile(programs.rescaled(stages), target=chip)
    for _ in range(LAUNCHES):
        c = torch.full((64, 64), float("nan"), device="cuda")
        kernel(q, a, b, c)
        torch.testing.assert_close(c, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize(("runs", "rows", "dtype"), [(1, 64, "float16"), (3, 128, "float16"), (2, 64, "bfloat16")])
def test_products_by_way_of_registers(stages, chip, runs, rows, dtype):
    q, a, b = (numbers(*shape, dtype=dtype) for shape in ((rows, 64), (512, 64), (512, 64)))
    program = programs.rescaled_in_registers(stages, runs, dtype, rows, threads=2 * rows)
    kernel = tilec.compile(program, target=chip)
    for n in (0, 1, 2, 3, 8):
        expected = programs.rescaled_reference(q.double(), a.double(), b.double(), n, runs).float()
        for _ in range(min(LAUNCHES, 5)):
            c = torch.full((rows, 64), float("nan"), device="cuda")
            kernel(q, a, b, n, c)
            torch.testing.assert_close(c, expected, rtol=1e-2 if dtype == "bfloat16" else 2e-3, atol=1e-2)


@pytest.mark.parametrize("skipped", [0, 1, 5])
def test_products_in_a_branch(stages, chip, skipped):
    a = numbers(512, 64, dtype="float16")
    kept = a.float().view(8, 64, 64)[[k for k in range(8) if k % 3 != skipped]]
    c = torch.full((64, 64), float("nan"), device="cuda")
    tilec.compile(programs.sometimes(stages), target=chip)(a, skipped, c)
    same(c, (kept.transpose(1, 2) @ kept).sum(0))


@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_products_behind_a_mask(stages, chip, share):
    a, b = numbers(256, 512, dtype="float16"), numbers(512, 256, dtype="float16")
    mask = torch.rand(2, 2, 2, 8, device="cuda") < share
    expected = programs.masked_products_reference(a.float(), b.float(), mask.cpu())
    kernel = tilec.compile(programs.masked_products(stages), target=chip)
    for _ in range(LAUNCHES):
        c = torch.full((256, 256), float("nan"), device="cuda")
        kernel(a, b, mask, c)
        same(c, expected)


@pytest.mark.parametrize("products", [0, 1, 2, 3, 7])
def test_any_number_of_products(stages, chip, products):
    # Rows of 225 elements can only be copied one by one.
    a, b = numbers(64, 225, dtype="float16")[:, :224], numbers(224, 64, dtype="float16")
    kernel = tilec.compile(programs.any_number_of_products(stages), target=chip)
    for _ in range(LAUNCHES):
        c = torch.full((64, 64), float("nan"), device="cuda")
        kernel(a, b, products, c)
        same(c, a[:, : products * 32].float() @ b[: products * 32].float())


@pytest.mark.parametrize(("loops", "more"), [(1, 0), (2, 0), (2, 1)])
@pytest.mark.parametrize("groups", [2, 3])
def test_products_an_iteration_late(groups, loops, more, chip):
    rows, counts = 64 * groups, (8, 0, 1, 3)
    q, k, v = (torch.randint(-2, 3, (n, 64), device="cuda").half() for n in (4 * rows, 1024, 1024))
    p = (q.float() @ k.float().T).clamp(-2, 2)
    tiles = [p[t * rows : (t + 1) * rows, : n * 128] @ v[: n * 128].float() for t, n in enumerate(counts)]
    steps = torch.tensor(counts, dtype=torch.int32, device="cuda")
    for stages in (2, 3):
        kernel = tilec.compile(programs.late_products(stages, groups, loops=loops, more=more), target=chip)
        for _ in range(LAUNCHES):
            out = torch.full((4 * rows, 64), float("nan"), device="cuda")
            kernel(q, k, v, steps, out)
            same(out, torch.cat(tiles) * loops)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("trips", [None, 8])
def test_loops_behind_each_other(stages, chip, trips, own):
    kernel = tilec.compile(programs.loops_in_turn(stages, trips, own), target=chip)
    for counts in ((8, 8, 8, 8), (5, 0, 1, 2), (0, 0, 0, 3), (1, 7, 3, 0)):
        for _ in range(10):
            a, b = (numbers(512, 512, dtype="float16") for _ in range(2))
            c = torch.full((128, 128), float("nan"), device="cuda")
            kernel(a, b, torch.tensor(counts, dtype=torch.int32, device="cuda"), c)
            done = counts if trips is None else (trips,) * 4
            same(c, programs.loops_in_turn_reference(a.float(), b.float(), done))


@pytest.mark.parametrize("trips", [None, 4])
def test_roles_go_from_loop_to_loop(chip, trips):
    kernel = tilec.compile(programs.loops_of_roles(3, trips), target=chip)
    for counts in ((4, 4, 4, 4), (4, 0, 1, 2), (0, 1, 0, 4), (2, 4, 3, 3)):
        for _ in range(LAUNCHES):
            a, b = numbers(256, 512, dtype="float16"), numbers(512, 512, dtype="float16")
            c = torch.full((256, 512), float("nan"), device="cuda", dtype=torch.float16)
            kernel(a, b, torch.tensor(counts, dtype=torch.int32, device="cuda"), c)
            same(c.float(), programs.loops_of_roles_reference(a.float(), b.float(), counts, trips))


def test_a_slot_is_given_back_while_a_product_of_other_tiles_runs(chip):
    kernel = tilec.compile(programs.beside_tiles_that_stay(), target=chip)
    for n in (0, 1, 2, 4):
        for _ in range(LAUNCHES):
            a, b = numbers(128, 256, dtype="float16"), numbers(256, 256, dtype="float16")
            c = torch.full((128, 256), float("nan"), device="cuda")
            kernel(a, b, n, c)
            same(c, programs.beside_tiles_that_stay_reference(a.float(), b.float(), n))


CLUSTERS = [
    {},
    {"cluster": (1, 2)},
    {"cluster": (4, 1), "transposed": True},
    {"tile": (128, 64, 64), "threads": 256, "panel": 2},
    {"M": 200, "N": 456, "K": 264},
    {"M": 2048, "N": 4096, "K": 4096},
]


@pytest.mark.skipif(MAJOR < 9, reason="clusters need compute capability 9.0")
@pytest.mark.parametrize("options", CLUSTERS)
def test_blocks_of_a_cluster_fetch_tiles_together(options):
    M, N, K = (options.get(name, extent) for name, extent in (("M", 256), ("N", 512), ("K", 320)))
    kernel = tilec.compile(programs.in_clusters(**options), target=CHIPS[0])
    for _ in range(LAUNCHES):
        a, b = numbers(M, K, dtype="float16"), numbers(K, N, dtype="float16")
        c = torch.full((M, N), float("nan"), device="cuda")
        kernel(a, b.t().contiguous() if options.get("transposed") else b, c)
        same(c, a.float() @ b.float())


@pytest.mark.skipif(MAJOR < 9, reason="clusters need compute capability 9.0")
def test_clusters_do_tiles_in_turn():
    a, b = numbers(256, 200, dtype="float16"), numbers(200, 1024, dtype="float16")
    counts = [4, 0, 1, 3, 2, 4, 0, 4]
    kernel = tilec.compile(programs.tiles_in_clusters(), target=CHIPS[0])
    for _ in range(LAUNCHES):
        c = torch.full((256, 1024), float("nan"), device="cuda")
        kernel(a, b, torch.tensor(counts, device="cuda", dtype=torch.int32), c)
        for tile, count in enumerate(counts):
            row, column, depth = tile // 4 * 128, tile % 4 * 256, 64 * count
            part = a[row : row + 128, :depth].float() @ b[:depth, column : column + 256].float()
            same(c[row : row + 128, column : column + 256], part)
