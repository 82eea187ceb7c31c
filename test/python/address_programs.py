"""Programs with tensors at addresses that they load or compute, each with its tensors and what NumPy makes of them.

The tests run them on the CPU and in the simulator; those of `test/integration` run them on a GPU. A program's first
parameter holds the addresses of all tensors behind the arguments; the arguments follow.
"""

from dataclasses import dataclass, field

import numpy as np

import tilec.language as T


@T.prim_func
def products(
    addresses: T.Tensor((9,), "int64"), sizes: T.Tensor((3,), "int32"), N: T.int32,
):  # fmt: skip
    """A product for each group, of which only its addresses and its rows are known."""
    with T.Kernel(T.ceildiv(N, 64), 2, 3, threads=128) as (x, y, g):
        rows = sizes[g]
        A = T.make_tensor_from_addr(T.cast(addresses[g], "uint64"), (rows, 72), "float16")
        B = T.make_tensor_from_addr(addresses[3 + g], (N, 72), "float16")
        C = T.make_tensor_from_addr(addresses[6 + g], (rows, N), "float32")
        As, Bs = T.alloc_shared((64, 32), "float16"), T.alloc_shared((64, 32), "float16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(72, 32), num_stages=3):
            T.copy(A[y * 64, k * 32], As)
            T.copy(B[x * 64, k * 32], Bs)
            T.gemm(As, Bs, acc, transpose_B=True)
        T.copy(acc, C[y * 64, x * 64])


def multiplied(*tensors):
    a, b = tensors[:3], tensors[3:6]
    return [*a, *b, *(x.astype(np.float32) @ y.astype(np.float32).T for x, y in zip(a, b, strict=True))]


def three_groups(random):
    shapes = [(rows, 72) for rows in (100, 128, 7)] + [(96, 72)] * 3
    factors = [random.integers(-3, 4, shape).astype(np.float16) for shape in shapes]
    return [*factors, *(np.full((rows, 96), np.nan, np.float32) for rows in (100, 128, 7))]


@T.prim_func
def pointer_table(table: T.Tensor((3,), T.ptr)):
    """Elements of a table of pointers, in the kernel and in a variable."""
    with T.Kernel(2, threads=32) as b:
        X = T.make_tensor(table[b], (40,), "float32")
        where = T.alloc_var("int64", table[2])
        Out = T.make_tensor(where + b * 160, (40,), "float32")
        for i in T.Parallel(40):
            Out[i] = X[i] * 2


@T.prim_func
def two_names(addresses: T.Tensor((2,), "int64")):
    """Statements see what earlier ones wrote, under whatever name."""
    with T.Kernel(1, threads=128):
        X = T.make_tensor_from_addr(addresses[0], (256,), "int32")
        Y = T.make_tensor_from_addr(addresses[0] + 128 * 4, (128,), "int32")
        Out = T.make_tensor_from_addr(addresses[1], (128,), "int32")
        for i in T.Parallel(256):
            X[i] = X[i] + 1
        for i in T.Parallel(128):
            Y[127 - i] = Y[127 - i] * 2
        for i in T.Parallel(128):
            Out[i] = X[255 - i]


def under_two_names(x, out):
    x = x + 1
    x[128:] *= 2
    return [x, x[128:][::-1]]


@T.prim_func
def beside_an_argument(addresses: T.Tensor((2,), "int64"), A: T.Tensor((128,), "int32"), B: T.Tensor((128,), "int32")):
    """The tensor at the address is `A` itself, whose elements threads read that others have written."""
    with T.Kernel(1, threads=128):
        X = T.make_tensor_from_addr(addresses[0], (128,), "int32")
        for i in T.Parallel(128):
            A[i] = A[i] * 3
        for i in T.Parallel(128):
            B[i] = X[127 - i]
        for i in T.Parallel(128):
            X[i] = B[127 - i] + 1
        for i in T.Parallel(128):
            B[i] = A[127 - i]


@T.prim_func
def moving(addresses: T.Tensor((1,), "int64"), n: T.int32):
    """What an iteration of the loop wrote the next one reads, of a tensor that begins elsewhere."""
    with T.Kernel(1, threads=64):
        for k in T.serial(n):
            X = T.make_tensor_from_addr(addresses[0] + k * 256, (128,), "int32")
            for i in T.Parallel(64):
                X[64 + i] = X[63 - i] + 1


def moved(x):
    x = x.copy()
    for k in range(1, len(x)):
        x[k] = x[k - 1, ::-1] + 1
    return [x]


@T.prim_func
def ahead(addresses: T.Tensor((2,), "int64"), n: T.int32):
    """The loop reads by one name what it writes by another: no copy runs ahead."""
    with T.Kernel(1, threads=64):
        X = T.make_tensor_from_addr(addresses[0], (n, 64), "float32")
        Y = T.make_tensor_from_addr(addresses[0] + 256, (n - 1, 64), "float32")
        tile = T.alloc_shared((1, 64), "float32")
        total = T.alloc_fragment((1, 64), "float32")
        T.clear(total)
        for k in T.Pipelined(n - 1, num_stages=3):
            T.copy(X[k, 0], tile)
            for i, j in T.Parallel(1, 64):
                total[i, j] = total[i, j] + tile[i, 63 - j]
            T.copy(total, Y[k, 0])
        Out = T.make_tensor_from_addr(addresses[1], (1, 64), "float32")
        T.copy(total, Out)


def summed(x, out):
    x, total = x.copy(), np.zeros((1, 64), np.float32)
    for k in range(len(x) - 1):
        total = total + x[k, ::-1]
        x[k + 1] = total
    return [x, total]


@T.prim_func
def own_iteration(addresses: T.Tensor((2,), "int64")):
    """An iteration sees what it wrote itself."""
    with T.Kernel(1, threads=32):
        X = T.make_tensor_from_addr(addresses[0], (100,), "int32")
        Y = T.make_tensor_from_addr(addresses[0], (100,), "int32")
        Out = T.make_tensor_from_addr(addresses[1], (100,), "int32")
        for i in T.Parallel(100):
            X[i] = X[i] + 1
            Y[i] = X[i] * 2
            Out[i] = X[i] + Y[i]


@T.prim_func
def bounds(addresses: T.Tensor((3,), "uint64"), m: T.int32, n: T.int64, ld: T.int32):
    """Extents and strides that only the kernel knows; what is outside reads as zero, and is not written."""
    with T.Kernel(1, threads=64):
        X = T.make_tensor_from_addr(addresses[0], (m, n), "float32", strides=(ld, 1))
        Y = T.make_tensor_from_addr(addresses[1], [8, 8], "float32")
        Nothing = T.make_tensor_from_addr(T.uint64(0), (m - 100, 8), "float32")
        for i, j in T.Parallel(10, 10):
            Y[i - 1, j - 1] = X[i, j] + Nothing[i, j]
        for i in T.Parallel(64):
            Nothing[i, 0] = 1.0
        Z = T.make_tensor_from_addr(addresses[2], (2,), "int32")
        Z[0] = X.shape[0]
        Z[1] = Nothing.shape[0]


def within_bounds(x, y, z):
    padded = np.zeros((10, 10), np.float32)
    padded[:5, :6] = x[:5, :6]
    return [x, padded[1:9, 1:9], np.array([5, 0], np.int32)]


@T.prim_func
def elements(addresses: T.Tensor((6,), "int64")):
    """Types of other widths, atomic operations, tile operations."""
    with T.Kernel(1, threads=64):
        truths = T.make_tensor_from_addr(addresses[0], (64,), "bool")
        bytes_ = T.make_tensor_from_addr(addresses[1], (64,), "int8", align=1)
        halves = T.make_tensor_from_addr(addresses[2], (64,), "float16")
        doubles = T.make_tensor_from_addr(addresses[3], (64,), "float64")
        counts = T.make_tensor_from_addr(addresses[4], (4,), "int32")
        Out = T.make_tensor_from_addr(addresses[5], (64,), "float32")
        x, largest = T.alloc_fragment((64,), "float16"), T.alloc_fragment((1,), "float16")
        T.copy(halves, x)
        T.reduce_max(x, largest, dim=0)
        for i in T.Parallel(64):
            truths[i] = not truths[i]
            bytes_[i] = bytes_[i] + 1
            doubles[i] = doubles[i] / 3
            T.atomic_add(counts[i % 4], T.cast(bytes_[i], "int32"))
        for i in T.Parallel(64):
            Out[i] = T.if_then_else(truths[i], T.cast(largest[0], "float32"), -1.0)


def of_other_types(truths, small, halves, doubles, counts, out):
    small = small + np.int8(1)
    counts = counts + small.astype(np.int32).reshape(16, 4).sum(0)
    out = np.where(~truths, halves.max().astype(np.float32), np.float32(-1))
    return [~truths, small, halves, doubles / 3, counts.astype(np.int32), out]


@dataclass(frozen=True)
class Case:
    """`tensors` are made from random numbers, and `arguments` from them; what is in both at the end is compared."""

    program: object
    tensors: object
    expected: object
    arguments: object = field(default=lambda tensors: [])
    """Behind the addresses; an array of the tensors may be one of them."""
    addresses: str = "int64"


def _shaped(*makers):
    return lambda random: [maker(random) for maker in makers]


def _integers(*shape, dtype="int32"):
    return lambda random: random.integers(-9, 9, shape).astype(dtype)


CASES = {
    "products": Case(products, three_groups, multiplied, lambda _: [np.array([100, 128, 7], np.int32), 96]),
    "pointer_table": Case(
        pointer_table,
        _shaped(*[_integers(*shape, dtype="float32") for shape in ((40,), (40,), (2, 40))]),
        lambda a, b, _: [a, b, 2 * np.stack([a, b])],
    ),
    "two_names": Case(two_names, _shaped(_integers(256), _integers(128)), under_two_names),
    "beside_an_argument": Case(
        beside_an_argument,
        _shaped(_integers(128), _integers(128)),
        lambda a, _: [a * 3 + 1, a[::-1] * 3 + 1],
        lambda tensors: tensors,
    ),
    "moving": Case(moving, _shaped(_integers(9, 64)), moved, lambda _: [8]),
    "ahead": Case(
        ahead, _shaped(_integers(9, 64, dtype="float32"), _integers(1, 64, dtype="float32")), summed, lambda _: [9]
    ),
    "own_iteration": Case(
        own_iteration, _shaped(_integers(100), _integers(100)), lambda x, out: [2 * (x + 1), 4 * (x + 1)]
    ),
    "bounds": Case(
        bounds,
        _shaped(_integers(5, 20, dtype="float32"), _integers(8, 8, dtype="float32"), _integers(2)),
        within_bounds,
        lambda _: [5, 6, 20],
        "uint64",
    ),
    "elements": Case(
        elements,
        _shaped(
            lambda random: random.random(64) < 0.5,
            _integers(64, dtype="int8"),
            _integers(64, dtype="float16"),
            _integers(64, dtype="float64"),
            _integers(4),
            _integers(64, dtype="float32"),
        ),
        of_other_types,
    ),
}


def check(name, compiled, move, address, back):
    """Runs a case: `compiled` makes a kernel, `move` brings an array to where it runs, whose `address` is that of one
    there, and `back` brings one back."""
    case = CASES[name]
    arrays = case.tensors(np.random.default_rng(0))
    expected = case.expected(*arrays)
    tensors = [move(array) for array in arrays]
    addresses = move(np.array([address(tensor) for tensor in tensors], case.addresses))
    own = {id(tensor) for tensor in tensors}
    given = case.arguments(tensors)
    arguments = [move(a) if isinstance(a, np.ndarray) and id(a) not in own else a for a in given]
    compiled(case.program)(addresses, *arguments)
    for tensor, wanted in zip(tensors, expected, strict=True):
        np.testing.assert_array_equal(back(tensor), wanted)
