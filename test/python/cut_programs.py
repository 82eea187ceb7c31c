"""Programs that copy and fill parts whose lengths only the running kernel knows, with what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import ml_dtypes
import numpy as np

import tilec.language as T

m = T.dynamic("m")
BOUNDS = [
    (0, 0),
    (0, 1),
    (0, 37),
    (0, 64),
    (3, 64),
    (5, 2),
    (-4, 9),
    (-9, -2),
    (0, 90),
    (60, 100),
    (-(2**31), 2**31 - 1),
]
"""Where slices of 64 elements begin and end, in them and outside."""

FITTING = [bounds for bounds in BOUNDS if bounds[1] - bounds[0] <= 64] + [(64, 64), (63, 127)]
"""Those that are no longer than a tile."""

INSIDE = [(0, 0), (0, 1), (0, 37), (0, 64), (3, 64), (5, 2), (64, 64), (63, 64), (20, 21), (7, 7), (90, 80)]
"""Those of which all elements are there."""


def filled(shape, value=-7, dtype="int32"):
    return np.full(shape, value, dtype)


def random(*shape, dtype="int32"):
    return np.random.default_rng(0).integers(1, 100, shape).astype(dtype)


def part(row, first, last):
    """Returns as many elements as a tile has, from `first` on; what is not before `last`, or outside, is zero."""
    places = np.arange(first, first + 64)
    inside = (places >= 0) & (places < min(last, row.size))
    return np.where(inside, row[np.clip(places, 0, row.size - 1)], 0)


def put(row, first, last, tile):
    """Writes a tile from `first` on; what is not before `last`, or outside, is left out."""
    for i, number in enumerate(tile):
        if 0 <= first + i < min(last, row.size):
            row[first + i] = number


@T.prim_func
def read_parts(A: T.Tensor((11, 64), "int32"), N: T.Tensor((11, 2), "int32"), B: T.Tensor((11, 3, 64), "int32")):
    with T.Kernel(11, threads=64) as b:
        S = T.alloc_shared((64,), "int32")
        held = T.alloc_fragment((64,), "int32")
        array = T.alloc_local((64,), "int32")
        T.copy(A[b, N[b, 0] : N[b, 1]], S)
        T.copy(S, B[b, 0, :])
        T.copy(A[b, N[b, 0] : N[b, 1]], held)
        T.copy(held, B[b, 1, :])
        T.copy(A[b, N[b, 0] : N[b, 1]], array)
        T.copy(array, B[b, 2, :])


def parts_read(A, N):
    return (np.stack([[part(row, *bounds)] * 3 for row, bounds in zip(A, N.tolist(), strict=True)]),)


@T.prim_func
def written_parts(A: T.Tensor((11, 64), "int32"), N: T.Tensor((11, 2), "int32"), B: T.Tensor((11, 3, 64), "int32")):
    with T.Kernel(11, threads=64) as b:
        S = T.alloc_shared((64,), "int32")
        held = T.alloc_fragment((64,), "int32")
        array = T.alloc_local((64,), "int32")
        T.copy(A[b, :], S)
        T.copy(A[b, :], held)
        T.copy(A[b, :], array)
        T.copy(S, B[b, 0, N[b, 0] : N[b, 1]])
        T.copy(held, B[b, 1, N[b, 0] : N[b, 1]])
        T.copy(array, B[b, 2, N[b, 0] : N[b, 1]])


def parts_written(A, N):
    B = filled((11, 3, 64))
    for row, bounds, rows in zip(A, N.tolist(), B, strict=True):
        for target in rows:
            put(target, *bounds, row)
    return (B,)


@T.prim_func
def both_sides(A: T.Tensor((5, 64), "int32"), N: T.Tensor((5,), "int32"), B: T.Tensor((5, 2, 64), "int32")):
    """Parts of one length: of a tile nothing is written behind it, and no more is copied than the tile has."""
    with T.Kernel(5, threads=32) as b:
        S = T.alloc_shared((64,), "int32")
        array = T.alloc_local((64,), "int32")
        n = N[b]
        T.fill(S, 5)
        T.fill(array, 6)
        T.copy(A[b, 3 : n + 3], S[0:n])
        T.copy(S, B[b, 0, :])
        T.copy(S[0:n], array[0:n])
        T.copy(array, B[b, 1, :])


def both(A, N):
    B = np.stack([filled((5, 64), 5), filled((5, 64), 6)], 1)
    for b, n in enumerate(N):
        for row in B[b]:
            put(row, 0, n, part(A[b], 3, n + 3))
    return (B,)


@T.prim_func
def from_tensor_to_tensor(
    A: T.Tensor((m, 4), "int32"), N: T.Tensor((4,), "int64"), B: T.Tensor((m, 4), "int32"), C: T.Tensor((m, 4), "int32")
):
    """No side is on the chip: the lengths are the target's, and what the source lacks is zero."""
    with T.Kernel(1, threads=64):
        T.copy(A[N[0] : N[1], 0:3], B[N[2] : N[3], 1:4])
        T.copy(A[0:m, :], C)


def between_tensors(A, N):
    B = filled(A.shape)
    rows = np.arange(N[3] - N[2])
    for i in rows[: len(A)]:
        if 0 <= N[2] + i < len(A):
            source = N[0] + i
            B[N[2] + i, 1:] = A[source, :3] if 0 <= source < min(N[1], len(A)) else 0
    return B, A


@T.prim_func
def of_two_dimensions(
    A: T.Tensor((m, 3, 40), "float16"), N: T.Tensor((2,), "int32"), B: T.Tensor((40, 16), "float32"),
    C: T.Tensor((2, 40, 3, 16), "float32"),
):  # fmt: skip
    """Other types on the two sides, dimensions that are indexed, and slots of a tile."""
    with T.Kernel(1, threads=64):
        slots = T.alloc_shared((2, 40, 16), "float32")
        T.clear(slots)
        T.copy(A[N[0] :, 1, 0 : N[1]], slots[1, 0:40, :])
        T.copy(slots[1, :, :], B)
        for s in T.serial(2):
            T.copy(slots[s, 0 : N[0], :], C[s, 0:40, 2, :])
            T.copy(slots[1, 0 : N[0] + 1, 0:2], C[s, 0 : N[0] + 1, 0, 0:2])


def two_dimensions(A, N):
    B = np.zeros((40, 16), np.float32)
    rows = A[N[0] : N[0] + 40, 1, : min(N[1], 16)]
    B[: len(rows), : rows.shape[1]] = rows
    C = filled((2, 40, 3, 16), dtype="float32")
    C[:, :, 2, :] = 0
    C[1, : N[0], 2, :] = B[: N[0]]
    C[:, : N[0] + 1, 0, :2] = B[: N[0] + 1, :2]
    return B, C


@T.prim_func
def behind_a_tensor(A: T.Tensor((m,), "int32"), N: T.Tensor((1,), "int32"), B: T.Tensor((3, 64), "int32")):
    """What is outside of a part reads as what is outside of its tensor."""
    with T.Kernel(1, threads=32):
        T.annotate_safe_value({A: 9})
        S = T.alloc_shared((64,), "int32")
        T.copy(A[N[0] :], S)
        T.copy(S, B[0, :])
        T.copy(A[0 : N[0]], S)
        T.copy(S, B[1, :])
        T.copy(S, B[2, N[0] : m])


def behind(A, N):
    n = N[0]
    B = filled((3, 64))
    B[:2] = 9
    B[0, : A.size - n] = A[n : n + 64]
    B[1, :n] = A[:n]
    B[2, n : A.size] = B[1, : A.size - n]
    return (B,)


@T.prim_func
def within_one_buffer(A: T.Tensor((2, 64), "int32"), N: T.Tensor((2,), "int32"), B: T.Tensor((2, 64), "int32")):
    """All of the source is read before anything is written."""
    with T.Kernel(2, threads=64) as b:
        S = T.alloc_shared((64,), "int32")
        T.copy(A[b, :], S)
        T.copy(S[0 : N[b]], S[5 : N[b] + 5])
        T.copy(S, B[b, :])


def within(A, N):
    B = A.copy()
    for b, n in enumerate(N):
        put(B[b], 5, n + 5, A[b])
    return (B,)


@T.prim_func
def to_a_position(A: T.Tensor((4, 64), "int32"), N: T.Tensor((4,), "int32"), B: T.Tensor((4, 4, 64), "int32")):
    """A tile that has no extents has the other side's, also those that only the running kernel knows."""
    with T.Kernel(4, threads=32) as b:
        S = T.alloc_shared((64,), "int32")
        held = T.alloc_fragment((64,), "int32")
        T.copy(A[b, :], S)
        T.copy(S[0 : N[b]], S[5])
        T.copy(S, B[b, 0, :])
        T.fill(held, 4)
        T.copy(A[b, 2 : N[b] + 2], held[1])
        T.copy(held, B[b, 1, :])
        T.copy(held[0 : N[b]], B[b, 2, 3])
        rows = T.alloc_shared((1, 64, 1), "int32")
        T.fill(rows, 8)
        T.copy(A[b, 0], rows[0:1, 0 : N[b], 0:1])
        T.copy(rows[0, :, 0], B[b, 3, :])


def at_positions(A, N):
    B = filled((4, 4, 64))
    B[:, 0], B[:, 1], B[:, 3] = A, 4, 8
    for b, n in enumerate(N):
        put(B[b, 0], 5, n + 5, A[b])
        put(B[b, 1], 1, n + 1, A[b, 2:])
        put(B[b, 2], 3, n + 3, B[b, 1])
        put(B[b, 3], 0, n, A[b])
    return (B,)


@T.prim_func
def of_each_thread(A: T.Tensor((40, 64), "int32"), N: T.Tensor((40,), "int32"), B: T.Tensor((40, 64), "int32")):
    with T.Kernel(1, threads=40):
        t = T.get_thread_binding()
        array = T.alloc_local((64,), "int32")
        T.fill(array, 5)
        T.clear(array[N[t] : N[t] + 3])
        T.copy(A[t, 0 : N[t]], array[0 : N[t]])
        T.copy(array, B[t, :])


def each_thread(A, N):
    B = filled((40, 64), 5)
    for row, n, rest in zip(B, N, A, strict=True):
        row[n : n + 3] = 0
        row[:n] = rest[:n]
    return (B,)


@T.prim_func
def of_narrow_types(
    Q: T.Tensor((64,), "int4"), E: T.Tensor((64,), "float8_e4m3"), P: T.Tensor((64,), "bool"),
    N: T.Tensor((2,), "int32"), B: T.Tensor((3, 64), "int32"), F: T.Tensor((64,), "float8_e4m3"),
):  # fmt: skip
    with T.Kernel(1, threads=64):
        q = T.alloc_shared((64,), "int8")
        e = T.alloc_fragment((64,), "float16")
        p = T.alloc_shared((64,), "bool")
        first, last = N[0], N[1]
        T.copy(Q[first:last], q)
        T.copy(q, B[0, :])
        T.copy(E[first:last], e)
        T.copy(e, B[1, :])
        T.copy(e, F[first:last])
        T.copy(P[first:last], p)
        T.copy(p, B[2, :])


def narrow_types(Q, E, P, N):
    first, last = N.tolist()
    low, high = Q.astype(np.int8) << 4 >> 4, Q >> 4
    numbers = np.stack([low, high], 1).reshape(64)
    B = np.stack([part(row, first, last) for row in (numbers, E.astype(np.int32), P)]).astype(np.int32)
    F = filled((64,), 2, FLOAT8)
    put(F, first, last, part(E, first, last))
    return B, F


@T.prim_func
def in_a_pipeline(A: T.Tensor((m, 32), "float32"), N: T.Tensor((3,), "int32"), B: T.Tensor((3, 32), "float32")):
    """Rows of sequences that lie behind each other: the last tile of each is cut."""
    with T.Kernel(2, threads=64) as b:
        S = T.alloc_shared((16, 32), "float32")
        sums = T.alloc_fragment((32,), "float32")
        T.clear(sums)
        first, last = N[b], N[b + 1]
        for k in T.Pipelined(T.ceildiv(last - first, 16), num_stages=2):
            T.copy(A[first + k * 16 : T.min(first + k * 16 + 16, last), :], S)
            T.reduce_sum(S, sums, dim=0, clear=False)
        T.copy(sums, B[b, :])


def pipelined(A, N):
    B = filled((3, 32), dtype="float32")
    for b in range(2):
        B[b] = A[N[b] : N[b + 1]].sum(0)
    return (B,)


@T.prim_func
def the_rest(A: T.Tensor((m, 32), "int32"), N: T.Tensor((3,), "int64"), B: T.Tensor((m, 32), "int32")):
    """What is left of a sequence, at most a tile: a part of a tensor may be longer than the tile."""
    with T.Kernel(2, threads=64) as b:
        S = T.alloc_shared((16, 32), "int32")
        first, last = N[b], N[b + 1]
        for k in T.Pipelined(T.ceildiv(last - first, 16), num_stages=2):
            T.copy(A[first + k * 16 : last, :], S)
            for i, j in T.Parallel(16, 32):
                S[i, j] = S[i, j] * 2
            T.copy(S, B[first + k * 16 : last, :])


def rest(A, N):
    B = filled(A.shape)
    B[N[0] : N[2]] = A[N[0] : N[2]] * 2
    return (B,)


@T.prim_func
def to_the_end_of_a_tensor(
    A: T.Tensor((m,), "int32"), N: T.Tensor((2,), "int32"), B: T.Tensor((3, m), "int32"), C: T.Tensor((64,), "int32")
):
    """A slice that ends with its tensor has the extents of the other side, as a position has."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "int32")
        first, n = N[0], N[1]
        T.copy(A[0], S)
        T.copy(S[0:n], B[0, first:])
        T.copy(S[first : first + n], B[1, 0:m])
        T.copy(A[first : first + n], B[2, :])
        T.copy(S, C)
        T.copy(C[0:n], C[T.max(first, 0) :])


def to_the_end(A, N):
    first, n = N.tolist()
    B = filled((3, A.size))
    put(B[0], first, first + n, A)
    put(B[1], 0, n, A[first:])
    put(B[2], 0, n, A[first:])
    C = A[:64].copy()
    put(C, first, first + n, A)
    return B, C


@T.prim_func
def longer_than_a_tile(A: T.Tensor((64,), "int32"), N: T.Tensor((2,), "int32"), B: T.Tensor((2, m), "int32")):
    """No more is copied than a tile on the chip has, wherever a part of it begins."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "int32")
        T.copy(A, S)
        T.copy(S[7 : N[1]], B[0, 0 : N[1]])
        T.copy(S[N[0] : N[1]], B[1, 0 : N[1]])


def longer(A, N):
    first, last = N.tolist()
    B = filled((2, 80))
    B[:, :64] = 0
    B[0, :57], B[1, : 64 - first] = A[7:], A[first:]
    return (B,)


@T.prim_func
def at_unsigned_places(A: T.Tensor((64,), "int32"), N: T.Tensor((3,), "uint32"), B: T.Tensor((4, 64), "int32")):
    """What begins behind all indices is outside, and so are its neighbours."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "int32")
        T.copy(A[N[0]], S[0 : N[1]])
        T.copy(S, B[0, :])
        T.copy(A[N[0] : N[2]], S)
        T.copy(S, B[1, :])
        T.copy(A, S)
        T.copy(S[0 : N[1]], B[2, N[0]])
        T.copy(S, B[3, N[0] : N[2]])


def unsigned_places(A, N):
    B = filled((4, 64))
    B[:2] = 0
    return (B,)


@T.prim_func
def fills(N: T.Tensor((11, 2), "int32"), B: T.Tensor((11, 64), "int32"), C: T.Tensor((m, 2), "int32")):
    with T.Kernel(11, threads=64) as b:
        S = T.alloc_shared((64,), "int32")
        T.fill(S, -7)
        T.fill(S[N[b, 0] : N[b, 1]], 3)
        T.copy(S, B[b, :])
        T.clear(B[b, N[b, 0] : T.min(N[b, 1], 2)])
    with T.Kernel(1, threads=64):
        T.fill(C, 4)
        T.fill(C[N[2, 0] : N[2, 1], 0], 2)


def filled_parts(N):
    B, C = filled((11, 64)), filled((50, 2), 4)
    for row, (first, last) in zip(B, N.tolist(), strict=True):
        row[max(first, 0) : max(last, 0)] = 3
        row[max(first, 0) : max(min(last, 2), 0)] = 0
    C[N[2, 0] : N[2, 1], 0] = 2
    return B, C


FLOAT8 = ml_dtypes.float8_e4m3fn
CASES = {
    **{
        f"{name}{suffix}": (program, (random(11, 64), np.int32(bounds)), (filled((11, 3, 64)),), reference)
        for suffix, bounds in (("", FITTING), ("_too_long", BOUNDS))
        for name, program, reference in (
            ("read_parts", read_parts, parts_read), ("written_parts", written_parts, parts_written),
        )
    },
    **{
        f"both_sides{suffix}": (both_sides, (random(5, 64), np.int32(lengths)), (filled((5, 2, 64)),), both)
        for suffix, lengths in (("", [0, -3, 1, 40, 64]), ("_too_long", [0, 1, 40, 61, 90]))
    },
    **{
        f"from_tensor_to_tensor_{n}": (
            from_tensor_to_tensor, (random(50, 4), np.int64(bounds)), (filled((50, 4)), filled((50, 4))),
            between_tensors,
        )
        for n, bounds in enumerate([(0, 9, 20, 29), (3, 9, 20, 49), (40, 60, -3, 30), (9, 9, 0, 3), (0, 50, 8, 3)])
    },
    **{
        f"of_two_dimensions_{n}_{k}": (
            of_two_dimensions, (random(rows, 3, 40, dtype="float16"), np.int32([n, k])),
            (filled((40, 16), dtype="float32"), filled((2, 40, 3, 16), dtype="float32")), two_dimensions,
        )
        for rows, n, k in [(30, 10, 9), (60, 3, 16), (20, 39, 40), (50, 0, 1)]
    },
    **{
        f"behind_a_tensor_{n}": (behind_a_tensor, (random(50), np.int32([n])), (filled((3, 64)),), behind)
        for n in (0, 13, 50)
    },
    **{
        f"within_one_buffer{suffix}": (
            within_one_buffer, (random(2, 64), np.int32(lengths)), (filled((2, 64)),), within,
        )
        for suffix, lengths in (("", [30, 59]), ("_too_long", [30, 70]))
    },
    "to_a_position": (
        to_a_position, (random(4, 64), np.int32([0, -5, 13, 59])), (filled((4, 4, 64)),), at_positions,
    ),
    "of_each_thread": (
        of_each_thread, (random(40, 64), np.arange(40, dtype=np.int32)), (filled((40, 64)),), each_thread,
    ),
    "of_narrow_types": (
        of_narrow_types, (random(32, dtype="int8"), random(64, dtype=FLOAT8), random(64) < 40, np.int32([3, 30])),
        (filled((3, 64)), filled((64,), 2, FLOAT8)), narrow_types,
    ),
    "in_a_pipeline": (
        in_a_pipeline, (random(70, 32, dtype="float32"), np.int32([3, 40, 66])), (filled((3, 32), dtype="float32"),),
        pipelined,
    ),
    **{
        f"the_rest_{n}": (the_rest, (random(70, 32), np.int64(bounds)), (filled((70, 32)),), rest)
        for n, bounds in enumerate([(3, 40, 66), (0, 16, 70), (5, 5, 6)])
    },
    **{
        f"to_the_end_of_a_tensor_{n}": (
            to_the_end_of_a_tensor, (random(64), np.int32(bounds)), (filled((3, 64)), filled((64,))), to_the_end,
        )
        for n, bounds in enumerate([(0, 64), (20, 7), (9, 0), (30, 34)])
    },
    "longer_than_a_tile": (
        longer_than_a_tile, (random(64), np.int32([20, 80])), (filled((2, 80)),), longer,
    ),
    "at_unsigned_places": (
        at_unsigned_places, (random(64), np.uint32([2**32 - 1, 64, 2**32 - 1])), (filled((4, 64)),), unsigned_places,
    ),
    **{
        f"fills{suffix}": (fills, (np.int32(bounds),), (filled((11, 64)), filled((50, 2))), filled_parts)
        for suffix, bounds in (("", INSIDE), ("_too_long", BOUNDS))
    },
}  # fmt: skip
"""For each program its arguments, its results as they are before, and what computes what they are after."""

REPORTED = {
    "both_sides_too_long": ("S", "slice", 90, 64),
    "within_one_buffer_too_long": ("S", "slice", 70, 64),
    "fills_too_long": ("S", "slice", 13, 9),
    "longer_than_a_tile": ("S", "slice", 73, 57),
    "from_tensor_to_tensor_1": ("A", "copy", 6, 29),
    "from_tensor_to_tensor_2": ("A", "copy", 20, 33),
    "from_tensor_to_tensor_3": ("A", "copy", 0, 3),
    "from_tensor_to_tensor_4": ("A", "copy", 50, 0),
}
"""What checked programs say of those with lengths that do not fit: a slice, of what, its length, and how many fit."""


def check(name, run):
    """Runs a program by `run`, which takes the program and its arguments, and compares what it computed."""
    program, arguments, results, reference = CASES[name]
    results = [result.copy() for result in results]
    run(program, *arguments, *results)
    for result, exact in zip(results, reference(*arguments), strict=True):
        np.testing.assert_array_equal(result, exact)
