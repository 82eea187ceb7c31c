"""Programs that copy through views of tensors, each with its arguments and what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU.
"""

import numpy as np

import tilec.language as T


def convolution(images, size, channels, filters, block, stages=3, taps=3, threads=128, columns=64):
    """A convolution as programs for TileLang write it: the kernel and the result are seen as matrices."""
    rows = images * size * size
    depth = taps * taps * channels

    @T.prim_func
    def f(
        data: T.Tensor((images, size, size, channels), "float16"),
        kernel: T.Tensor((taps, taps, channels, filters), "float16"),
        out: T.Tensor((images, size, size, filters), "float16"),
    ):
        with T.Kernel(T.ceildiv(filters, columns), T.ceildiv(rows, block), threads=threads) as (bx, by):
            patches = T.alloc_shared((block, 32), "float16")
            weights = T.alloc_shared((32, columns), "float16")
            acc = T.alloc_fragment((block, columns), "float32")
            result = T.alloc_shared((block, columns), "float16")
            kernel_flat = T.Tensor((depth, filters), "float16", kernel.data)
            out_flat = T.Tensor((rows, filters), "float16", out.data)
            T.clear(acc)
            for k in T.Pipelined(T.ceildiv(depth, 32), num_stages=stages):
                T.im2col(data, patches, by, k, taps, 1, 1, taps // 2)
                T.copy(kernel_flat[k * 32, bx * columns], weights)
                T.gemm(patches, weights, acc)
            T.copy(acc, result)
            T.copy(result, out_flat[by * block, bx * columns])

    return f


def _convolution(images, size, channels, filters, taps=3):
    def make(rng):
        data = rng.integers(-2, 3, (images, size, size, channels)).astype(np.float16)
        kernel = rng.integers(-2, 3, (taps, taps, channels, filters)).astype(np.float16)
        edge = taps // 2
        padded = np.pad(data.astype(np.float32), ((0, 0), (edge, edge), (edge, edge), (0, 0)))
        expected = np.zeros((images, size, size, filters), np.float32)
        for y in range(taps):
            for x in range(taps):
                part = padded[:, y : y + size, x : x + size]
                expected += part @ kernel[y, x].astype(np.float32)
        return (data, kernel, np.full(expected.shape, np.nan, np.float16)), expected.astype(np.float16)

    return make


@T.prim_func
def handed_on(A: T.Tensor((2, 4, 16, 64), "float32")):
    """Each iteration reads, by the tensor's name, what the one before wrote by the name of a view."""
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((16, 64), "float32")
        F = T.alloc_fragment((16, 64), "float32")
        flat = T.reshape(A, (128, 64))
        for k in T.Pipelined(7, num_stages=3):
            T.copy(A[k // 4, k % 4, 0, 0], S)
            for i, j in T.Parallel(16, 64):
                F[i, j] = S[i, j] * 2 + 1
            T.copy(F, flat[k * 16 + 16, 0])


@T.prim_func
def handed_back(A: T.Tensor((128, 64), "float32")):
    """The same the other way round, through two views."""
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((16, 64), "float32")
        tiles = T.view(A, (8, 16, 64))
        deep = T.reshape(tiles, (2, 4, 16, 64))
        for k in T.Pipelined(7, num_stages=3):
            T.copy(tiles[k, 0, 0], S)
            for i, j in T.Parallel(16, 64):
                deep[(k + 1) // 4, (k + 1) % 4, i, j] = S[i, j] * 2 + 1


def _handed(rng):
    a = rng.integers(-3, 4, (8, 16, 64)).astype(np.float32)
    expected = a.copy()
    for k in range(7):
        expected[k + 1] = expected[k] * 2 + 1
    return a, expected


def _handed_on(rng):
    a, expected = _handed(rng)
    return (a.reshape(2, 4, 16, 64),), expected.reshape(2, 4, 16, 64)


def _handed_back(rng):
    a, expected = _handed(rng)
    return (a.reshape(128, 64),), expected.reshape(128, 64)


@T.prim_func
def gathered_by_another_name(A: T.Tensor((64, 64), "float16"), R: T.Tensor((4, 16, 64), "float16")):
    """Rows that a loop gathers, of a tensor that is written by another name."""
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((16, 64), "float16")
        quarters = T.reshape(A, (4, 16, 64))
        for k in T.Pipelined(4, num_stages=2):
            for i, j in T.Parallel(16, 64):
                S[i, j] = A[k * 16 + i, j]
            T.copy(S, R[k, 0, 0])
            for i, j in T.Parallel(16, 64):
                quarters[(k + 1) % 4, i, j] = S[i, j] + 1


def _gathered_by_another_name(rng):
    a = rng.integers(-3, 4, (64, 64)).astype(np.float16)
    rows = a.reshape(4, 16, 64).copy()
    result = np.zeros((4, 16, 64), np.float16)
    for k in range(4):
        result[k] = rows[k]
        rows[(k + 1) % 4] = rows[k] + 1
    return (a, np.zeros((4, 16, 64), np.float16)), result


@T.prim_func
def over_the_edges(A: T.Tensor((3, 5, 8, 48), "float16"), R: T.Tensor((8, 8, 64), "float16")):
    """Tiles of a view that begin before the tensor, end behind it, or lie over the ends of its own rows."""
    with T.Kernel(8, threads=64) as b:
        S = T.alloc_shared((8, 64), "float16")
        flat = T.reshape(A, (120, 48))
        if b < 3:
            T.copy(flat[(b - 1) * 8, 0], S)
        elif b < 5:
            T.copy(flat[b * 8 + 88, 8], S)
        elif b < 7:
            T.copy(flat[b * 8 - 5, 0], S)
        else:
            T.copy(flat[10**9, 0], S)
        T.copy(S, R[b, 0, 0])


def _over_the_edges(rng):
    a = rng.standard_normal((3, 5, 8, 48)).astype(np.float16)
    padded = np.zeros((160, 72), np.float16)
    padded[8:128, :48] = a.reshape(120, 48)
    starts = [(-8, 0), (0, 0), (8, 0), (112, 8), (120, 8), (35, 0), (43, 0)]
    tiles = [padded[r + 8 : r + 16, c : c + 64] for r, c in starts]
    return (a, np.full((8, 8, 64), np.nan, np.float16)), np.stack([*tiles, np.zeros((8, 64), np.float16)])


@T.prim_func
def stored_over_the_edges(A: T.Tensor((8, 8, 64), "float16"), R: T.Tensor((3, 5, 4, 48), "float16")):
    """The same for tiles that are stored: of two rows of four, and of none."""
    with T.Kernel(8, threads=64) as b:
        S = T.alloc_shared((8, 64), "float16")
        flat = T.reshape(R, (60, 48))
        T.copy(A[b, 0, 0], S)
        if b < 5:
            T.copy(S, flat[b * 8, 0])
        elif b < 6:
            T.copy(S, flat[b * 8 + 1, 0])
        else:
            T.copy(S, flat[b * 8 + 8, 8])


def _stored_over_the_edges(rng):
    a = rng.standard_normal((8, 8, 64)).astype(np.float16)
    rows = np.full((60, 48), 7, np.float16)
    for b in range(5):
        rows[b * 8 : b * 8 + 8] = a[b, :, :48]
    rows[41:49] = a[5, :, :48]
    rows[56:, 8:] = a[6, :4, :40]
    return (a, np.full((3, 5, 4, 48), 7, np.float16)), rows.reshape(3, 5, 4, 48)


@T.prim_func
def moved_within(A: T.Tensor((4, 8, 32), "int32")):
    """A copy within one tensor, by two views: all is read before anything is written."""
    with T.Kernel(1, threads=64):
        T.copy(T.reshape(A, (32, 32))[0:24, :], T.reshape(A, (1, 32, 32))[0, 8:32, :])


def _moved_within(rng):
    a = rng.integers(-99, 99, (4, 8, 32)).astype(np.int32)
    expected = a.copy().reshape(32, 32)
    expected[8:] = a.reshape(32, 32)[:24]
    return (a,), expected.reshape(4, 8, 32)


@T.prim_func
def blocks_of_images(A: T.Tensor((6, 4, 4, 64), "float16"), n: T.int32, R: T.Tensor((6, 32, 64), "float16")):
    """Patches of which none exist behind the last weight, or where a number says so."""
    with T.Kernel(3, threads=64) as b:
        S = T.alloc_shared((32, 64), "float16")
        for k in T.Pipelined(2, num_stages=2):
            for i, j in T.Parallel(32, 64):
                image, inside = (b * 32 + i) // 16, (b * 32 + i) % 16
                y, x = inside // 4 + k, inside % 4 - 1
                if b + k < n and y < 4 and x >= 0:
                    S[i, j] = A[image, y, x, j]
                else:
                    S[i, j] = 0
            T.copy(S, R[b * 2 + k, 0, 0])


def _blocks_of_images(rng):
    a = rng.standard_normal((6, 4, 4, 64)).astype(np.float16)
    expected = np.zeros((3, 2, 2, 4, 4, 64), np.float16)
    for b in range(3):
        for k in range(2):
            if b + k < 3:
                expected[b, k, :, : 4 - k, 1:] = a[b * 2 : b * 2 + 2, k:, :3]
    return (a, 3, np.full((6, 32, 64), np.nan, np.float16)), expected.reshape(6, 32, 64)


CONVOLUTIONS = {
    "rows of the image": (2, 16, 64, 64, 64),
    "several rows": (2, 8, 32, 96, 128),
    "parts of rows": (1, 32, 32, 40, 64),
    "several images": (5, 4, 32, 64, 64),
    "over the ends of rows": (2, 10, 64, 64, 64),
    "one loop": (2, 16, 64, 64, 64, 1),
}


def parts(shape, tensor, tile):
    """A shared tile of a view whose rows are no rows of the tensor."""
    size = int(np.prod(shape))

    @T.prim_func
    def program(A: T.Tensor(tile, "float32"), R: T.Tensor(tensor, "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared(tile, "float32")
            T.copy(A, S)
            T.copy(S, T.view(R, shape)[0 : tile[0], 0 : tile[1]])

    def make(rng):
        a, r = rng.standard_normal(tile).astype(np.float32), np.zeros(tensor, np.float32)
        expected = np.zeros(shape, np.float32)
        expected[: tile[0], : tile[1]] = a
        return (a, r), expected.reshape(tensor)

    assert size == np.prod(tensor)
    return program, make


PARTS = [
    ((12, 2), (24,), (4, 2)),
    ((1, 1024), (64, 16), (1, 1024)),
    ((16, 64), (64, 16), (4, 64)),
    ((16, 64), (8, 8, 16), (8, 64)),
    ((12, 16), (4, 6, 8), (6, 16)),
]

CASES = {
    **{f"parts of {shape} in {tensor}": parts(shape, tensor, tile) for shape, tensor, tile in PARTS},
    **{f"convolution: {n}": (convolution(*c), _convolution(*c[:4])) for n, c in CONVOLUTIONS.items()},
    "what is written by a view": (handed_on, _handed_on),
    "what is read by a view": (handed_back, _handed_back),
    "rows that are written by a view": (gathered_by_another_name, _gathered_by_another_name),
    "over the edges": (over_the_edges, _over_the_edges),
    "stores over the edges": (stored_over_the_edges, _stored_over_the_edges),
    "within one tensor": (moved_within, _moved_within),
    "blocks of images": (blocks_of_images, _blocks_of_images),
}


def check(name, run):
    """Calls a program by `run(program, *arguments)`."""
    program, make = CASES[name]
    arguments, expected = make(np.random.default_rng(7))
    run(program, *arguments)
    np.testing.assert_array_equal(arguments[-1], expected)
