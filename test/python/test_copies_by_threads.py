"""What threads of a group move piece by piece, and loops written out for slots (`tilec.thread_copies`, `.rolled`)."""

import numpy as np
import pytest

import tilec
import tilec.language as T

THREADS = 128
ROWS, COLUMNS = 40, 72
"""Of the tiles; what is copied need not be all of them."""


def program(draw):
    """A loop in which a group copies a part of a tensor to one of several tiles, and another one copies it on.

    - `draw`: how a piece is placed, as `row` and `column` say.
    """
    slots, steps = draw["slots"], draw["steps"]
    rounds = steps // slots

    @T.prim_func
    def copies(
        A: T.Tensor((96, 200), "float32"),
        rows: T.Tensor((96,), "int32"),
        B: T.Tensor((steps, ROWS, COLUMNS), "float32"),
    ):
        with T.Kernel(1, threads=THREADS + draw["copiers"]):
            S = T.alloc_shared((slots, ROWS, COLUMNS), "float32")
            full = T.alloc_barrier([draw["copiers"]] * slots)
            empty = T.alloc_barrier([THREADS] * slots)
            row = T.alloc_var("int32")
            t = T.get_thread_binding()
            for i, j, n in T.Parallel(ROWS, COLUMNS, slots):
                S[n, i, j] = -1.0
            T.sync_threads()
            if t >= THREADS:
                for k in T.serial(rounds):
                    for slot in T.unroll(slots):
                        T.barrier_wait(empty[slot], (k & 1) ^ 1)
                        for r in T.serial(draw["r"]):
                            for u in T.serial(draw["u"]):
                                for v in T.vectorized(draw["v"]):
                                    i, j = place(draw, "to", r, u, t - THREADS, v)
                                    x, y = place(draw, "from", r, u, t - THREADS, v)
                                    x = x + (k * slots + slot) * draw["step"]
                                    if draw["rows"] == "all":
                                        S[slot, i, j] = A[x, y]
                                    else:
                                        row = rows[x]
                                        if draw["rows"] == "of a table" or row >= 0:
                                            S[slot, i, j] = A[row, y]
                        T.barrier_arrive(full[slot])
            if t < THREADS:
                for k in T.serial(rounds):
                    for slot in T.unroll(slots):
                        T.barrier_wait(full[slot], k & 1)
                        T.copy(S[slot, :, :], B[k * slots + slot, :, :])
                        T.barrier_arrive(empty[slot])

    return copies


def place(draw, side, r, u, t, v):
    """Returns row and column of a piece: numbers, or values of a kernel."""
    parts = (r, u, t // draw["cut"], t % draw["cut"], v)
    row, column = draw[side]
    return tuple(
        sum((p * f for p, f in zip(parts, factors[1:], strict=True) if f), factors[0]) for factors in (row, column)
    )


def computed(draw, A, places):
    """What the program says, piece by piece."""
    S = np.full((draw["slots"], ROWS, COLUMNS), -1.0, np.float32)
    padded = np.zeros((400, 400), np.float32)
    padded[100 : 100 + A.shape[0], 100 : 100 + A.shape[1]] = A
    out = []
    parts = np.meshgrid(*map(np.arange, (draw["r"], draw["u"], draw["copiers"], draw["v"])), indexing="ij")
    i, j = (np.broadcast_to(n, parts[0].shape) for n in place(draw, "to", *parts))
    x, y = (np.broadcast_to(n, parts[0].shape) for n in place(draw, "from", *parts))
    table = np.zeros(400, int)
    table[100 : 100 + len(places)] = places
    for step in range(draw["steps"]):
        rows = x + step * draw["step"]
        is_copied = np.full(i.shape, True)
        if draw["rows"] != "all":
            rows = table[100 + rows]
        if draw["rows"] == "some":
            is_copied = rows >= 0
        S[step % draw["slots"], i[is_copied], j[is_copied]] = padded[100 + rows, 100 + y][is_copied]
        out.append(S[step % draw["slots"]].copy())
    return np.stack(out)


def drawn(seed):
    """Draws how pieces are placed: often those of a tile, often nearly so."""
    rng = np.random.default_rng(seed)
    pick = lambda *options: options[rng.integers(len(options))]  # noqa: E731
    slots = pick(1, 2, 2, 3)
    draw = {"slots": slots, "steps": slots * pick(1, 2, 3), "step": pick(0, 1, 5, 7)}
    draw["rows"] = pick("all", "all", "of a table", "some")
    draw |= {"copiers": pick(32, 64), "cut": pick(4, 8, 16), "r": pick(1, 2), "u": pick(1, 2), "v": pick(1, 2, 4)}
    over = draw["copiers"] // draw["cut"]
    across = draw["cut"] * draw["v"]
    row, column = [0, over, 0, 1, 0, 0], [0, 0, across, 0, draw["v"], 1]
    if rng.random() < 0.3:  # rows of a thread lie together
        row = [0, 1, 0, draw["r"], 0, 0]
    if rng.random() < 0.3:
        column = [0, 0, draw["v"], 0, draw["v"] * draw["u"], 1]
    to = [list(row), list(column)]
    from_ = [[pick(0, 3, -2), *row[1:]], [pick(0, 4, -3), *column[1:]]]
    spoiled = pick(None, None, "both", "from", "to")
    if spoiled == "to" and rng.random() < 0.5:
        to[0][0], to[1][0] = 1, 8
    elif spoiled == "both":  # elements may be written several times, with the same each time
        side, number, more = pick(0, 1), int(rng.integers(1, 6)), pick(-1, 1)
        if to[side][number] + more >= 0:
            to[side][number] += more
            from_[side][number] += more
    elif spoiled == "from":
        from_[pick(0, 1)][int(rng.integers(1, 6))] += pick(-1, 1, 2)
    if spoiled == "from" and rng.random() < 0.3:
        from_.reverse()
    return draw | {"to": to, "from": from_, "is_tile": spoiled is None}


def is_inside(draw):
    most = [draw["r"], draw["u"], draw["copiers"] // draw["cut"], draw["cut"], draw["v"]]
    ends = [f[0] + sum((m - 1) * n for m, n in zip(most, f[1:], strict=True)) for f in draw["to"]]
    return ends[0] < ROWS and ends[1] < COLUMNS


DRAWS = [draw for draw in map(drawn, range(240)) if is_inside(draw)]


def run(draw, **options):
    """Runs a program and compares what it does with what NumPy makes of it; returns its text."""
    rng = np.random.default_rng()
    kernel = program(draw)
    A = rng.standard_normal((96, 200)).astype("float32")
    places = rng.integers(-4, 99, 96).astype("int32")
    B = np.full((draw["steps"], ROWS, COLUMNS), np.nan, np.float32)
    tilec.compile(kernel, **options)(A, places, B)
    np.testing.assert_array_equal(B, computed(draw, A, places), err_msg=str(draw))
    return kernel.script()


def test_random_pieces_are_copied_as_they_say():
    for draw in DRAWS:
        run(draw, target="cpu")


@pytest.mark.parametrize("chip", ["sm_75", "sm_80", "sm_90a"])
@pytest.mark.parametrize("rows", ["all", "of a table", "some"])
def test_pieces_of_a_tile_are_a_tile_operation(chip, rows):
    whole = [draw for draw in DRAWS if draw["is_tile"] and draw["rows"] == rows]
    assert len(whole) > 12
    for number, draw in enumerate(whole):
        copies = draw["slots"] if draw["steps"] > 1 else 1
        text = run(draw, target=chip, backend="sim") if number < 6 else program(draw).script()
        assert text.count('"tl.copy"') == (2 if rows == "all" else 1) * copies, draw
        assert text.count('"tl.parallel"') == 1 + (0 if rows == "all" else copies), draw


@pytest.mark.parametrize(
    ("side", "row", "column", "is_loop"),
    [
        ("to", [0, 4, 0, 1, 0, 0], [0, 0, 16, 0, 1, 1], False),  # threads write the same elements
        ("to", [0, 4, 0, 1, 0, 0], [0, 0, 36, 0, 4, 1], False),  # a gap
        ("from", [0, 8, 0, 2, 0, 0], [0, 0, 32, 0, 4, 1], True),  # other rows
        ("from", [0, 0, 32, 0, 4, 1], [0, 4, 0, 1, 0, 0], True),  # turned around
    ],
)
def test_other_pieces_are_no_copy(side, row, column, is_loop):
    draw = {"slots": 1, "steps": 2, "step": 1, "copiers": 32, "cut": 8, "r": 2, "u": 2, "v": 4, "rows": "all"}
    tile = [[0, 4, 0, 1, 0, 0], [0, 0, 32, 0, 4, 1]]
    draw |= {"to": tile, "from": tile, side: [row, column]}
    if (side, column[2]) == ("to", 16):
        draw |= {"from": draw["to"]}
    text = run(draw, target="cpu")
    assert text.count('"tl.copy"') == 1
    assert text.count('"tl.parallel"') == 1 + is_loop


@T.macro
def rows_that_a_variable_counts(A, S, t):
    """It is assigned before the inner loop, and again at the end of each of its iterations."""
    row = T.alloc_var("int32")
    for u in T.serial(4):
        row = u - u
        for r in T.serial(16):
            S[u * 16 + r, t - 64] = A[row, t - 64]
            row = row + 3


@T.macro
def rows_that_a_variable_counts_in_a_branch(A, S, t):
    row = T.alloc_var("int32")
    for r in T.serial(64):
        row = r // 2
        if r % 4 == 1:
            row = row + 7
        S[r, t - 64] = A[row, t - 64]


@T.macro
def an_array_that_is_filled(A, S, t):
    own = T.alloc_local((64,), "float32")
    T.fill(own, A[t - 64, 0])
    for r in T.serial(64):
        S[r, t - 64] = own[r]


@T.macro
def an_array_that_is_copied(A, S, t):
    own = T.alloc_local((64,), "float32")
    T.copy(A[t - 64, 0:64], own)
    for r in T.serial(64):
        S[r, t - 64] = own[r]


OWN = {
    rows_that_a_variable_counts: lambda A: np.tile(A[:48:3], (4, 1)),
    rows_that_a_variable_counts_in_a_branch: lambda A: np.stack([A[r // 2 + 7 * (r % 4 == 1)] for r in range(64)]),
    an_array_that_is_filled: lambda A: np.tile(A[:, 0], (64, 1)),
    an_array_that_is_copied: lambda A: A.T,
}


@pytest.mark.parametrize("body", OWN, ids=lambda body: body.__name__)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_what_threads_have_of_their_own_is_what_they_stored_last(target, body):
    @T.prim_func
    def copies(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 64), "float32")
            full = T.alloc_barrier(64)
            t = T.get_thread_binding()
            if t >= 64:
                body(A, S, t)
                T.barrier_arrive(full)
            if t < 64:
                T.barrier_wait(full, 0)
                T.copy(S, B)

    A = np.random.default_rng().standard_normal((64, 64)).astype("float32")
    B = np.full((64, 64), np.nan, np.float32)
    tilec.compile(copies, **({"target": "cpu"} if target == "cpu" else {"target": "sm_90a", "backend": "sim"}))(A, B)
    np.testing.assert_array_equal(B, OWN[body](A))


@pytest.mark.parametrize("threads", [(64, 2), (128,)])
def test_numbers_that_threads_have_of_their_own_are_no_digits(threads):
    """A variable of each thread; and one of two coordinates, which has half of the values."""

    @T.prim_func
    def copies(A: T.Tensor((80, 64), "int32"), B: T.Tensor((64, 64), "int32")):
        with T.Kernel(1, threads=threads):
            S = T.alloc_shared((64, 64), "int32")
            full = T.alloc_barrier(128)
            for i, j in T.Parallel(64, 64):
                S[i, j] = -1
            x = T.get_thread_binding(0)
            mine = T.alloc_var("int32", 0)
            if len(threads) == 1:
                mine = x // 64 * 32
            first = mine + 0 if len(threads) == 1 else 0
            if x >= 0:
                for r in T.serial(4):
                    for v in T.vectorized(4):
                        i, j = r * 8 + x // 16, x % 16 + v * 16
                        S[first + i, j] = A[first + i + 1, j]
            T.barrier_arrive(full)
            T.barrier_wait(full, 0)
            T.copy(S, B)

    A = np.random.default_rng().integers(0, 1000, (80, 64)).astype("int32")
    rows = np.arange(64)
    written = (rows < 32) & (rows % 8 < 4)
    if len(threads) == 1:
        written |= (rows >= 32) & (rows % 8 >= 4)
    for options in ({"target": "cpu"}, {"target": "sm_90a", "backend": "sim"}):
        B = np.full((64, 64), -2, np.int32)
        tilec.compile(copies, **options)(A, B)
        np.testing.assert_array_equal(B, np.where(written[:, None], A[1:65], -1))


@T.macro
def alike(S, A, B, acc, k, stage):
    """Each step does the same with its own tile."""
    for i, j in T.Parallel(4, 16):
        acc[i, j] += S[stage, i, j] * A[2 * k + stage, 5]
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_other_numbers(S, A, B, acc, k, stage):
    """The factor of the second step is no index that is more by one."""
    for i, j in T.Parallel(4, 16):
        acc[i, j] += S[stage, i, j] * (3.0 if stage else 2.5)
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_places_that_go_back(S, A, B, acc, k, stage):
    for i, j in T.Parallel(4, 16):
        acc[i, j] += S[stage, i, j]
    T.copy(acc, B[2 * k + (1 - stage), :, :])


@T.macro
def that_look_at_each_other(S, A, B, acc, k, stage):
    """The second step uses what the first one has left in the other tile."""
    for i, j in T.Parallel(4, 16):
        acc[i, j] += S[0, i, j]
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_a_condition(S, A, B, acc, k, stage):
    if k > 0 or stage > 0:
        for i, j in T.Parallel(4, 16):
            acc[i, j] += S[stage, i, j]
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_a_number_that_moves_and_stays(S, A, B, acc, k, stage):
    """The same number is another one of the second step, and itself."""
    x, y = T.min(k * 2, 7), T.min(k * 2 + 1, 7)
    for i, j in T.Parallel(4, 16):
        acc[i, j] += S[stage, i, j] * A[y if stage else x, j]
    for i, j in T.Parallel(4, 16):
        acc[i, j] += A[x, j]
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_a_number_of_a_branch(S, A, B, acc, k, stage):
    """What is computed in a branch is computed again behind it."""
    if k > 0:
        for i, j in T.Parallel(4, 16):
            acc[i, j] += S[stage, i, j] * A[(k // 2) * 2 + stage, j]
    for i, j in T.Parallel(4, 16):
        acc[i, j] += A[(k // 2) * 2 + stage, j]
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_other_types(S, A, B, acc, k, stage):
    for i, j in T.Parallel(4, 16):
        whole = T.cast(S[stage, i, j] * 300.0, "int32")
        acc[i, j] += T.cast(T.cast(whole, "int16" if stage else "int8"), "float32")
    T.copy(acc, B[2 * k + stage, :, :])


@T.macro
def with_numbers_far_apart(S, A, B, acc, k, stage):
    for i, j in T.Parallel(4, 16):
        acc[i, j] += S[stage, i, j] + T.cast(
            T.cast(i, "int32") + T.int32(-2000000000 if stage else 2000000000), "float32"
        )
    T.copy(acc, B[2 * k + stage, :, :])


class Slots(dict):
    """What the tiles hold, and the tensor `of` which."""

    def __init__(self, of):
        super().__init__({0: 0.0, 1: 0.0})
        self.of = of


BODIES = {
    alike: (True, lambda s, k, n: s[n] * s.of[2 * k + n, 5], lambda k, n: 2 * k + n),
    with_other_numbers: (False, lambda s, k, n: s[n] * (3.0 if n else 2.5), lambda k, n: 2 * k + n),
    with_places_that_go_back: (True, lambda s, k, n: s[n], lambda k, n: 2 * k + 1 - n),
    that_look_at_each_other: (False, lambda s, k, n: s[0], lambda k, n: 2 * k + n),
    with_a_number_that_moves_and_stays: (
        False,
        lambda s, k, n: s[n] * s.of[min(2 * k + n, 7)] + s.of[min(2 * k, 7)],
        lambda k, n: 2 * k + n,
    ),
    with_a_number_of_a_branch: (
        True,
        lambda s, k, n: (k > 0) * s[n] * s.of[k // 2 * 2 + n] + s.of[k // 2 * 2 + n],
        lambda k, n: 2 * k + n,
    ),
    with_other_types: (
        False,
        lambda s, k, n: (s[n] * np.float32(300)).astype("int32").astype("int16" if n else "int8"),
        lambda k, n: 2 * k + n,
    ),
    with_numbers_far_apart: (
        True,
        lambda s, k, n: s[n] + (np.arange(4)[:, None] + (-2e9 if n else 2e9)).astype(np.float32),
        lambda k, n: 2 * k + n,
    ),
    with_a_condition: (False, lambda s, k, n: s[n] * ((k, n) != (0, 0)), lambda k, n: 2 * k + n),
}
"""For each body whether it can be rolled up, what it adds in step `n` of iteration `k`, and where it puts the sum."""


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_numbers_that_are_computed_before_the_loop_stay(target):
    """Two of them differ as the steps do, and are not computed in the loop."""

    @T.prim_func
    def written_out(A: T.Tensor((48, 16), "float32"), m: T.int32, B: T.Tensor((12, 4, 16), "float32")):
        with T.Kernel(1, threads=256):
            S = T.alloc_shared((2, 4, 16), "float32")
            acc = T.alloc_fragment((4, 16), "float32")
            full = T.alloc_barrier([128] * 2)
            empty = T.alloc_barrier([128] * 2)
            x, y = T.min(m, 7), T.min(m + 1, 7)
            with T.ws(0):
                for k in T.serial(6):
                    for stage in T.unroll(2):
                        T.barrier_wait(full[stage], k & 1)
                        for i, j in T.Parallel(4, 16):
                            acc[i, j] = S[stage, i, j] + A[y if stage else x, j]
                        T.copy(acc, B[2 * k + stage, :, :])
                        T.barrier_arrive(empty[stage])
            with T.ws(1):
                for k in T.serial(6):
                    for stage in T.unroll(2):
                        T.barrier_wait(empty[stage], (k & 1) ^ 1)
                        T.copy(A[(k * 2 + stage) * 4, 0], S[stage, :, :])
                        T.barrier_arrive(full[stage])

    A = np.random.default_rng().standard_normal((48, 16)).astype("float32")
    B = np.full((12, 4, 16), np.nan, np.float32)
    options = {"target": "cpu"} if target == "cpu" else {"target": "sm_90a", "backend": "sim"}
    tilec.compile(written_out, **options)(A, 3, B)
    np.testing.assert_array_equal(B, [A[n * 4 :][:4] + A[3 + n % 2] for n in range(12)])


@pytest.mark.parametrize("steps", [6, "n"])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_loops_that_are_written_out_for_two_slots(target, body, steps):
    is_alike, added, where = BODIES[body]
    rows = 2 * steps if steps != "n" else 2 * T.dynamic("n")

    @T.prim_func
    def written_out(A: T.Tensor((4 * 12, 16), "float32"), B: T.Tensor((rows, 4, 16), "float32")):
        with T.Kernel(1, threads=256):
            S = T.alloc_shared((2, 4, 16), "float32")
            acc = T.alloc_fragment((4, 16), "float32")
            full = T.alloc_barrier([128] * 2)
            empty = T.alloc_barrier([128] * 2)
            with T.ws(0):
                T.clear(acc)
                for k in T.serial(B.shape[0] // 2):
                    for stage in T.unroll(2):
                        T.barrier_wait(full[stage], k & 1)
                        body(S, A, B, acc, k, stage)
                        T.barrier_arrive(empty[stage])
            with T.ws(1):
                for k in T.serial(B.shape[0] // 2):
                    for stage in T.unroll(2):
                        T.barrier_wait(empty[stage], (k & 1) ^ 1)
                        T.copy(A[(k * 2 + stage) * 4, 0], S[stage, :, :])
                        T.barrier_arrive(full[stage])

    assert written_out.script().count('"tl.pipelined"') == is_alike
    A = np.random.default_rng().standard_normal((4 * 12, 16)).astype("float32")
    B = np.full((12, 4, 16), np.nan, np.float32)
    options = {"target": "cpu"} if target == "cpu" else {"target": "sm_90a", "backend": "sim"}
    tilec.compile(written_out, **options)(A, B)
    S, acc, expected = Slots(A), np.zeros((4, 16)), np.full((12, 4, 16), np.nan)
    for k in range(6):
        for n in range(2):
            S[n] = A[(2 * k + n) * 4 :][:4]
            acc = acc + added(S, k, n)
            expected[where(k, n)] = acc
    tolerance = 1e3 if body is with_numbers_far_apart else 1e-4
    np.testing.assert_allclose(B, expected, rtol=1e-5, atol=tolerance)
