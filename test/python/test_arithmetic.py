"""One arithmetic on all targets (docs/language/semantics.md): integers and indices, against NumPy in wider types.

Each test runs on the CPU and, where one answers, on a GPU.
"""

import itertools
import math
import operator

import numpy as np
import pytest

import tilec
import tilec.language as T
from edge_cases import SIGNED, UNSIGNED, cut, evaluate, integers, pairs
from tilec.constants import rounded

pytestmark = pytest.mark.filterwarnings("ignore::tilec.errors.LostBitsWarning")

# Integers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_division_rounds_down_and_is_total(run, name):
    a, b = pairs(integers(name), integers(name))
    exact = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    found = evaluate(run, operator.floordiv, a, b, out=name)
    np.testing.assert_array_equal(found, cut([x // y if y else 0 for x, y in exact], name))
    found = evaluate(run, operator.mod, a, b, out=name)
    np.testing.assert_array_equal(found, cut([x % y if y else 0 for x, y in exact], name))
    found = evaluate(run, T.ceildiv, a, b, out=name)
    np.testing.assert_array_equal(found, cut([-(-x // y) if y else 0 for x, y in exact], name))


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_division_rounds_towards_zero_by_name(run, name):
    def quotient(x, y):
        return (abs(x) // abs(y) if (x < 0) == (y < 0) else -(abs(x) // abs(y))) if y else 0

    def rest(x, y):
        return x - y * quotient(x, y) if y else 0

    a, b = pairs(integers(name), integers(name))
    for op, exact in ((T.truncdiv, quotient), (T.truncmod, rest)):
        found = evaluate(run, op, a, b, out=name)
        np.testing.assert_array_equal(found, cut([exact(int(x), int(y)) for x, y in zip(a, b, strict=True)], name))
        found = evaluate(run, lambda x, op=op: op(x, 3), a, out=name)
        np.testing.assert_array_equal(found, cut([exact(int(x), 3) for x in a], name))


def test_division_towards_zero_of_mixed_signs(run):
    """A negative number beside a wider unsigned one, or one as wide, is divided as the unsigned one that it becomes."""
    x = np.array([-1, -5, 7, -100], "int32")
    for name, y in (("uint64", [2**64 - 8, 3, 2, 2**64 - 7]), ("uint32", [2**32 - 8, 3, 2, 2**32 - 7])):
        y = np.array(y, name)
        same = x.astype("int64").astype(name)
        np.testing.assert_array_equal(evaluate(run, T.truncdiv, x, y, out=name), same // y)
        np.testing.assert_array_equal(evaluate(run, T.truncmod, x, y, out=name), same % y)


def test_a_choice_of_numbers_has_their_type_whether_its_condition_is_known_or_not():
    """Rule P4; and what is chosen is no constant that the program writes as an index or a divisor (M4, I7)."""

    @T.prim_func
    def program(A: T.Tensor((64,), "int32"), B: T.Tensor((8, 2), "float64")):
        with T.Kernel(1, threads=32):
            y = A[5]
            for column, zero in enumerate((y, y * 0)):
                B[0, column] = T.cast(A[T.if_then_else(zero == 0, -1, -2)], "float64")
                B[1, column] = T.cast(A[T.Select(zero == 0, -1, -2)], "float64")
                B[2, column] = T.cast(T.if_then_else(zero == 0, 70000, 0) * 70000, "float64")
                B[3, column] = T.cast(T.if_then_else(zero == 0, 1, 2) << 33, "float64")
                B[4, column] = T.cast(T.Select(zero == 0, 2**31 - 1, 0) + 1, "float64")
                B[5, column] = T.cast(~T.if_then_else(zero == 0, True, False), "float64")
                B[6, column] = T.cast(A[7] // T.if_then_else(zero == 0, 0, 1), "float64")
                B[7, column] = T.cast(5 % T.if_then_else(zero == 0, 0, 1), "float64")

    A = np.arange(1, 65).astype("int32")
    A[5] = 0
    B = np.full((8, 2), np.nan)
    tilec.compile(program, target="cpu")(A, B)
    np.testing.assert_array_equal(B[:, 0], B[:, 1])
    np.testing.assert_array_equal(B[:, 1], [0, 0, 605032704, 0, -(2**31), 0, 0, 0])


def test_division_towards_zero_of_extents():
    n = T.dynamic("n")

    @T.prim_func
    def program(A: T.Tensor((n,), "int32"), B: T.Tensor((64,), "int32")):
        with T.Kernel(T.truncdiv(n, 3), threads=32) as b:
            B[b] = T.truncmod(n, 4)

    result = np.zeros(64, "int32")
    tilec.compile(program, target="cpu")(np.zeros(7, "int32"), result)
    np.testing.assert_array_equal(result[:3], [3, 3, 0])


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
@pytest.mark.parametrize("divisor", [1, -1, 2, -2, 3, -7, 8, 100])
def test_division_by_constants(run, name, divisor):
    if divisor < 0 and name in UNSIGNED:
        pytest.skip("unsigned types have no such number")
    a = integers(name)
    for op, exact in ((operator.floordiv, lambda x: x // divisor), (operator.mod, lambda x: x % divisor)):
        found = evaluate(run, lambda x, op=op: op(x, divisor), a, out=name)
        np.testing.assert_array_equal(found, cut([exact(int(x)) for x in a], name))


@pytest.mark.parametrize("name", ["int32", "uint32", "int8"])
def test_guarded_division(run, name):
    a = np.arange(128).astype(name)
    d = (a % 3).astype(name)

    def guarded(x, y):
        return T.if_then_else(y != 0, lambda: x // y, lambda: T.cast(7, name))

    found = evaluate(run, guarded, a, d, out=name)
    np.testing.assert_array_equal(found, np.where(d != 0, a // np.maximum(d, 1), 7))


def test_division_in_a_branch(run):
    @T.prim_func
    def f(A: T.Tensor((128,), "uint32"), D: T.Tensor((128,), "uint32"), B: T.Tensor((128,), "uint32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(128):
                if D[i] != 0:
                    B[i] = A[i] // D[i]
                else:
                    B[i] = 7

    a = np.arange(128, dtype=np.uint32)
    b = np.zeros_like(a)
    run(f, a, a % 3, b)
    np.testing.assert_array_equal(b, np.where(a % 3 != 0, a // np.maximum(a % 3, 1), 7))


@pytest.mark.parametrize("name", ["int32", "uint8", "int64"])
@pytest.mark.parametrize("divide", [operator.floordiv, operator.mod, T.ceildiv])
def test_a_divisor_that_a_value_turned_out_to_be_is_no_constant_of_the_program(run, divide, name):
    """Each is seen to be 0 when the kernel is built."""
    zeros = [
        lambda y, i: y << 98,
        lambda y, i: y * 0,
        lambda y, i: y % 1,
        lambda y, i: y & 0,
        lambda y, i: -(y * 0) + (y << 77),
        lambda y, i: T.cast(y * 0, "int64"),
        lambda y, i: i % 1,
        lambda y, i: i << 40,
        lambda y, i: T.get_block_binding(),
    ]

    @T.prim_func
    def program(A: T.Tensor((4,), name), B: T.Tensor((len(zeros), 2, 4), name)):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                for n, zero in enumerate(zeros):
                    B[n, 0, i] = divide(A[i], zero(A[i], i))
                    B[n, 1, i] = divide(T.cast(5, name), zero(A[i], i))

    b = np.full((len(zeros), 2, 4), 9, name)
    run(program, np.arange(4, dtype=name), b)
    assert not b.any()


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_shifts_by_any_amount(run, name):
    bits = np.iinfo(name).bits
    a, b = pairs(integers(name), integers(name))
    amounts = [min(int(y) % (1 << bits), bits) for y in b]
    found = evaluate(run, operator.lshift, a, b, out=name)
    np.testing.assert_array_equal(found, cut([int(x) << y for x, y in zip(a, amounts, strict=True)], name))
    found = evaluate(run, operator.rshift, a, b, out=name)
    np.testing.assert_array_equal(found, cut([int(x) >> y for x, y in zip(a, amounts, strict=True)], name))
    for amount in (-1, 0, 1, bits - 1, bits, bits + 1):
        shifted = amount if amount >= 0 else bits
        found = evaluate(run, lambda x, n=amount: (x << n) ^ (x >> n), a, out=name)
        np.testing.assert_array_equal(found, cut([(int(x) << shifted) ^ (int(x) >> shifted) for x in a], name))


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_arithmetic_wraps(run, name):
    a, b = pairs(integers(name), integers(name))
    for op in (operator.add, operator.sub, operator.mul):
        found = evaluate(run, op, a, b, out=name)
        exact = [op(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(found, cut(exact, name))


def test_what_wrapped_is_negative(run):
    n = 512

    @T.prim_func
    def f(R: T.Tensor((6, n), "int32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                x = T.cast(i, "int32") * 1103515245 + 12345
                R[0, i] = x % 1000
                R[1, i] = x >> 3
                R[2, i] = x // 10
                R[3, i] = (i * 100000000) % 1000
                R[4, i] = (i * 100000000) // 7
                R[5, i] = T.cast(T.cast(i * 300, "int8"), "int32") // 3

    o = np.zeros((6, n), np.int32)
    run(f, o)
    i = np.arange(n)
    x, y = cut(i * 1103515245 + 12345, "int32"), cut(i * 100000000, "int32")
    z = (i * 300).astype(np.int8).astype(np.int32)
    np.testing.assert_array_equal(o, [x % 1000, x >> 3, x // 10, y % 1000, y // 7, z // 3])


def test_indices_of_loops_wrap_at_32_bits(run):
    @T.prim_func
    def f(R: T.Tensor((64, 3), "int64"), n: T.int32):
        with T.Kernel(64, threads=32) as b:
            x = T.alloc_var("int64", 0)
            for k in T.serial(n, n + 1):
                x = (b * k * 100000000) // 3
            R[b, 0] = x
            R[b, 1] = (b * 2147483647) % 17
            R[b, 2] = b * 100000000 - 2147483647

    o = np.zeros((64, 3), np.int64)
    run(f, o, 43)
    b = np.arange(64)
    expected = [
        cut(b * 43 * 100000000, "int32").astype(int) // 3,
        cut(b * 2147483647, "int32").astype(int) % 17,
        cut(b * 100000000 - 2147483647, "int32"),
    ]
    np.testing.assert_array_equal(o, np.stack(expected, axis=1))


# Indices -------------------------------------------------------------------------------------------------------------


def test_a_tile_that_is_known_to_begin_outside(run):
    """Its first element is what stands for all outside, a number that others share and that stays."""

    @T.prim_func
    def f(A: T.Tensor((4, 6), "int8"), B: T.Tensor((4, 6), "int8")):
        with T.Kernel(1, threads=32) as b:
            T.annotate_safe_value({A: -1})
            S = T.alloc_shared((4, 6), "int8")
            T.copy(A[0, b % 1 - 1], S)
            T.copy(S, B)

    A, B = np.arange(24, dtype=np.int8).reshape(4, 6), np.full((4, 6), 77, np.int8)
    run(f, A, B)
    np.testing.assert_array_equal(B, np.concatenate([np.full((4, 1), -1, np.int8), A[:, :5]], axis=1))


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_what_is_outside_by_an_index_of_any_integer_type(run, name):
    """Zero has a sign, and 300 is no number that an `int8` is compared with."""

    @T.prim_func
    def f(N: T.Tensor((8,), name), A: T.Tensor((300,), "float32"), B: T.Tensor((2, 8), "float32")):
        with T.Kernel(1, threads=32):
            T.annotate_safe_value({A: -0.0})
            for i in T.Parallel(8):
                B[0, i] = A[N[i]]
                B[1, i] = T.reinterpret(T.ldg32(A[N[i]]), "float32")

    least, most = np.iinfo(name).min, np.iinfo(name).max
    i = np.array([least, 0, 1, 100, most, most - 1, 7, 127], name)
    a, b = np.arange(1, 301, dtype=np.float32), np.full((2, 8), 77, np.float32)
    run(f, i, a, b)
    expected = np.array([a[n] if 0 <= n < 300 else -0.0 for n in i.astype(object)], np.float32)
    np.testing.assert_array_equal(b.view("int32"), np.stack([expected, expected]).view("int32"))


@pytest.mark.parametrize("name", ["int8", "float16", "float32", "int64"])
def test_indices_that_come_back(run, name):
    """LLVM's vectoriser took remainders by powers of two for indices that grow, where other indices may wrap."""

    @T.prim_func
    def f(A: T.Tensor((512,), name), n: T.int32, B: T.Tensor((5, 600), name), C: T.Tensor((512,), name)):
        with T.Kernel(1, threads=64):
            for t in T.Parallel(512):
                for k, size in enumerate((4, 8, 16, 32, 12)):
                    B[k, t + n] = A[t % size]
                C[t + n] = A[T.cast(t, "uint8")]

    a, t = np.arange(512).astype(name), np.arange(512)
    b, c = np.zeros((5, 600), name), np.zeros(512, name)
    run(f, a, 3, b, c)
    for found, size in zip(b, (4, 8, 16, 32, 12), strict=True):
        np.testing.assert_array_equal(found[3:515], a[t % size])
    np.testing.assert_array_equal(c[3:], a[t % 256][:509])


def test_sums_of_nothing_and_of_negative_zeros(run):
    @T.prim_func
    def f(A: T.Tensor((64, 32), "float32"), n: T.int32, B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            R = T.alloc_reducer((64,), "float32", op="sum")
            T.fill(R, T.float32(-0.0))
            for _ in T.serial(n):
                for i, j in T.Parallel(64, 32):
                    R[i] += A[i, j]
            T.copy(R, B)

    for n in (0, 1, 3):
        b = np.ones(64, np.float32)
        run(f, np.full((64, 32), -0.0, np.float32), n, b)
        np.testing.assert_array_equal(b.view("int32"), np.full(64, -0.0, np.float32).view("int32"))


@pytest.mark.parametrize("name", ["int64", "uint64", "uint32", "int32"])
def test_indices_are_compared_before_they_are_narrowed(run, name):
    @T.prim_func
    def f(
        N: T.Tensor((8,), name),
        A: T.Tensor((16, 4), "float32"),
        B: T.Tensor((8,), "float32"),
        C: T.Tensor((16,), "float32"),
        D: T.Tensor((8, 4, 4), "float32"),
    ):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((4, 4), "float32")
            for i in T.Parallel(8):
                B[i] = A[N[i], 0] + A[N[i] + i - i, 1]
                C[N[i]] = 9.0
            for i in T.serial(8):
                T.copy(A[N[i], 0], S)
                T.copy(S, D[i, 0, 0])

    numbers = [5, 2**32 + 5, 2**32 - 1, 2**31 + 5, 2**31 - 1, 2**63 - 1, 2**33 + 15, 0]
    i = np.array([n % (1 << np.iinfo(name).bits) if name != "int64" else n for n in numbers], np.uint64)
    i = i.astype(name)
    a = np.arange(1, 65, dtype=np.float32).reshape(16, 4)
    b, c, d = np.zeros(8, np.float32), np.zeros(16, np.float32), np.full((8, 4, 4), np.nan, np.float32)
    run(f, i, a, b, c, d)
    inside = [n if 0 <= n < 16 else None for n in map(int, i)]
    np.testing.assert_array_equal(b, [0 if n is None else a[n, 0] + a[n, 1] for n in inside])
    np.testing.assert_array_equal(c, [9.0 if n in inside else 0 for n in range(16)])
    rows = [[a[n + r] if 0 <= n + r < 16 else np.zeros(4) for r in range(4)] for n in map(int, i)]
    np.testing.assert_array_equal(d, rows)


def test_inversion_of_unsigned_integers(run):
    for name in UNSIGNED:
        a = integers(name)
        np.testing.assert_array_equal(evaluate(run, operator.invert, a, out=name), ~a)


@pytest.mark.parametrize("run", ["cpu"], indirect=True)
def test_indices_outside_of_tiles_do_no_harm(run):
    @T.prim_func
    def f(N: T.Tensor((8,), "int32"), A: T.Tensor((8, 16), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((2, 8, 16), "float32")
            T.fill(S, 1.0)
            for i in T.Parallel(8):
                S[0, i, N[i]] = 2.0
            for i in T.serial(8):
                T.copy(A, S[T.max(N[i], 0)])
                B[i] = S[1, N[i], 3]

    n = np.array([0, 5, 15, 16, 10**6, -1, -(10**6), 2**31 - 1], np.int32)
    run(f, n, np.ones((8, 16), np.float32), np.zeros(8, np.float32))


def test_extremes_of_negated_integers(run):
    """Of `max(max(a, -b), c)` an assembler made one instruction, and lost the sign."""
    numbers = np.array([-(2**31), -1000, -3, -1, 0, 1, 2, 5, 1000, 2**31 - 1], "int32")
    a, b, c = (np.array(x, "int32") for x in zip(*itertools.product(numbers, repeat=3), strict=True))
    cases = {
        lambda x, y, z: T.max(T.max(x, -y), z): np.maximum(np.maximum(a, -b), c),
        lambda x, y, z: T.max(z, T.max(-y, x)): np.maximum(np.maximum(a, -b), c),
        lambda x, y, z: T.min(T.min(x, 0 - y), z): np.minimum(np.minimum(a, -b), c),
        lambda x, y, z: T.max(T.max(x, y * -1), -z): np.maximum(np.maximum(a, -b), -c),
        lambda x, y, z: T.max(T.max(x, 5 - y), z): np.maximum(np.maximum(a, 5 - b), c),
        lambda x, y, z: T.max(T.max(x, z - y), z): np.maximum(np.maximum(a, c - b), c),
        lambda x, y, z: T.min(T.min(x, ~y + 1), z): np.minimum(np.minimum(a, -b), c),
        lambda x, y, z: T.max(T.max(T.abs(x), y), z): np.maximum(np.maximum(np.abs(a), b), c),
        lambda x, y, z: T.min(T.max(x, -y), T.max(-y, z)): np.minimum(np.maximum(a, -b), np.maximum(-b, c)),
    }
    for function, expected in cases.items():
        np.testing.assert_array_equal(evaluate(run, function, a, b, c, out="int32"), expected)


def test_extremes_of_one_negated_integer(run):
    """By way of vectors, too."""

    @T.prim_func
    def program(A: T.Tensor((64,), "int32"), n: T.int32, B: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=32):
            S = T.alloc_shared((64,), "int32")
            T.copy(A, S)
            for i in T.Parallel(64):
                B[i] = T.max(S[63 - i], T.max(-n, S[i // 3]))

    a = np.random.default_rng(3).integers(-9, 9, 64).astype("int32")
    for n in (-5, 0, 5, 100):
        b = np.zeros_like(a)
        run(program, a, n, b)
        np.testing.assert_array_equal(b, np.maximum(a[::-1], np.maximum(-n, a[np.arange(64) // 3])))


@pytest.mark.parametrize("name", ["int8", "int16"])
def test_signs_of_short_integers(run, name):
    """What the least integer becomes has its sign in a wider type; to ptxas 13.0 `neg.s16` and `abs.s16` have none."""
    a = integers(name)
    for function, exact in (
        (lambda x: -x, operator.neg),
        (T.abs, abs),
        (lambda x: x * -64, lambda x: x * -64),
    ):
        expected = cut([exact(int(x)) for x in a], name)
        for wide in ("int16", "int32", "int64"):
            found = evaluate(run, lambda x, f=function, w=wide: T.cast(f(x), w), a, out=wide)
            assert (found == expected).all()
        floats = a.astype("float32")
        found = evaluate(run, lambda x, f=function: T.cast(f(T.cast(x, name)), "int16"), floats, out="int16")
        assert (found == expected).all()


def test_signs_as_numbers(run):
    """A shift by all bits but one leaves 0 or -1, which a compiler knows."""
    a = np.array([-(2.0**40), -1.0, -0.0, 0.0, 1.0, 300.0, np.nan])
    expected = np.where(np.nan_to_num(a).clip(-128, 127).astype("int8") < 0, 0, -1)
    for to in ("bfloat16", "float16", "float32"):
        found = evaluate(run, lambda x, to=to: (~x.astype("int8") >> 7).astype(to), a, out=to)
        np.testing.assert_array_equal(np.asarray(found, "float32"), expected)


# Loops ---------------------------------------------------------------------------------------------------------------


def test_loops_near_the_ends_of_an_index(run):
    """The counter goes one step beyond the end, and distances need more than 32 bits."""

    @T.prim_func
    def program(B: T.Tensor((5,), "int64"), c: T.int32, a: T.int32, b: T.int32):
        with T.Kernel(1, threads=32):
            total = T.alloc_var("int64", 0)
            for k in T.serial(c - 3, c, 2):
                total = total + k
            B[0] = total
            total = 0
            for k in T.serial(a, b, -1000000000):
                total = total + k
            B[1] = total
            total = 0
            for k in T.serial(b, a, 1000000000):
                total = total + k
            B[2] = total
            total = 0
            for k in T.serial(b, a, -1):
                total = total + 1
            B[3] = total
            total = 0
            for k in T.serial(c - 10, c, 3):
                total = total + 1
            B[4] = total

    found = np.full(5, -1)
    c, a, b = 2**31 - 1, 2_000_000_000, -2_000_000_000
    run(program, found, c, a, b)
    expected = [sum(range(c - 3, c, 2)), sum(range(a, b, -1000000000)), sum(range(b, a, 1000000000)), 0, 4]
    np.testing.assert_array_equal(found, expected)


def test_bounds_of_a_loop_that_are_no_index_are_cut_to_the_nearest(run):
    @T.prim_func
    def program(B: T.Tensor((4,), "int64"), n: T.int64, u: T.uint32, m: T.uint64):
        with T.Kernel(1, threads=32):
            total = T.alloc_var("int64", 0)
            for k in T.serial(2147483640, n):
                total = total + 1
            B[0] = total
            total = 0
            for k in T.serial(2147483640, u):
                total = total + 1
            B[1] = total
            total = 0
            for k in T.serial(2147483640, m):
                total = total + 1
            B[2] = total
            total = 0
            for k in T.serial(-n):
                total = total + 1
            B[3] = total

    found = np.full(4, -1)
    run(program, found, 2**32 + 3, 3_000_000_000, 2**63)
    np.testing.assert_array_equal(found, [7, 7, 7, 0])


# What is known when the kernel is built ------------------------------------------------------------------------------


def test_what_is_known_to_be_zero_is_a_value_of_its_type(run):
    """A factor or a divisor is often a parameter: where it is 0 or 1, the index is still a computed one (M4)."""
    a = integers("int32")
    for zero in (lambda x: x * 0, lambda x: 0 * x, lambda x: x % 1, lambda x: x << x.dtype.bits):
        found = evaluate(run, lambda x, zero=zero: zero(x).astype("float32") + 1, a, out="float32")
        np.testing.assert_array_equal(found, np.ones(a.size))
        found = evaluate(run, lambda x, zero=zero: (zero(x.astype("int64")) + x) * 3000000000, a, out="int64")
        np.testing.assert_array_equal(found, cut([int(x) * 3000000000 for x in a], "int64"))

    @T.prim_func
    def program(A: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                B[i] = A[i * 0 - 1] + A[i % 1 + 8]

    b = np.full(8, 7, np.int32)
    run(program, np.arange(1, 9, dtype=np.int32), b)
    np.testing.assert_array_equal(b, np.zeros(8))


def test_what_is_known_of_a_condition_does_not_change_a_type(run):
    """A number of Python beside a `uint8` is one, also where it is known that it is taken; Python's `if` chooses."""
    a = np.array([0, 1, 5, 255], "uint8")
    known = T.int64(3) < T.int64(9)
    for choose in (T.if_then_else, T.Select):
        found = evaluate(run, lambda x, c=choose: T.cast(-c(known, 3, x), "float64"), a, out="float64")
        assert (found == 253).all()

    @T.prim_func
    def program(A: T.Tensor((4,), "uint8"), B: T.Tensor((3, 4), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[0, i] = T.cast(-T.if_then_else(True, 3, A[i]), "int32")
                B[1, i] = -(3 if True else A[i])
                B[2, i] = T.if_then_else(T.int32(0) == 0, 7, A[i] // 0)

    b = np.zeros((3, 4), np.int32)
    run(program, a, b)
    assert (b == [[253], [-3], [7]]).all()


@pytest.mark.parametrize(("name", "big"), [("float16", 2048.0), ("bfloat16", 256.0), ("float32", 16777216.0)])
def test_constants_of_a_type_are_computed_in_it(run, name, big):
    def constants(x):
        one, large = T.cast(1.0, name), T.cast(big, name)
        return (large + one) - large

    def values(x):
        return (x * big + x) - big

    a = np.ones(1, "float32")
    for function in (constants, lambda x: values(x.astype(name))):
        found = evaluate(run, lambda x, function=function: function(x).astype("float32"), a, out="float32")
        np.testing.assert_array_equal(found, [0])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_constants_that_become_too_large_are_infinite(run, name):
    greatest = T.max_value(name)
    cases = {
        lambda: greatest * 2: np.inf,
        lambda: -greatest - greatest: -np.inf,
        lambda: T.cast(1, name) / T.cast(0, name): np.inf,
        lambda: T.cast(1, name) / T.cast(-0.0, name): -np.inf,
        lambda: T.cast(0, name) / T.cast(0, name): np.nan,
        lambda: greatest**2: np.inf,
        lambda: (-greatest) ** 3: -np.inf,
        lambda: T.cast(-0.0, name) ** -3: -np.inf,
        lambda: T.cast(0, name) ** -0.5: np.inf,
        lambda: T.cast(-1, name) ** 0.5: np.nan,
    }
    for make, expected in cases.items():
        found = evaluate(run, lambda x, make=make: make().astype("float32"), np.ones(1, "float32"), out="float32")
        np.testing.assert_array_equal(found, [expected])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("int64", 2**60 + 2**36 + 1),  # a little above the middle of two of `float32`, and just there in `float64`
        ("int64", -(2**60) - 2**36 - 1),
        ("int64", 2**60 + 2**36),
        ("uint64", 2**63 + 2**55 + 1),
        ("uint64", 2**64 - 1),
        ("int32", 2**31 - 1),
        ("float64", 1e300),
        ("float64", -1e300),
    ],
)
def test_constants_of_a_type_are_converted_as_other_numbers(run, name, source, number):
    found = []
    for make in (lambda x: T.cast(number, source), lambda x: x):
        a = np.array([number], source)
        found += [evaluate(run, lambda x, make=make: T.cast(make(x), name).astype("float32"), a, out="float32")]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_constants_are_rounded_once(name):
    rng = np.random.default_rng()
    kind = np.dtype(name)
    for number in rng.standard_normal(1000) * 10.0 ** rng.integers(-30, 30, 1000):
        with np.errstate(over="ignore"):
            assert rounded(number, getattr(T, name)) == kind.type(number)
    assert rounded(1e-46, T.float32) == 0
    assert math.copysign(1, rounded(-1e-46, T.float32)) == -1
    assert rounded(449.0, T.float8_e4m3) == 448.0


def test_uint32_and_an_index_meet_in_int64(run):
    """As `index` a number of 2^31 and more would be negative."""
    a = np.array([0, 1, 7, 2**31 - 1, 2**31, 3_000_000_000, 2**32 - 1], "uint32")
    for op in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.gt, T.max):
        exact = max if op is T.max else op

        @T.prim_func
        def program(A: T.Tensor((7,), "uint32"), B: T.Tensor((7,), "int64")):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(7):
                    B[i] = op(A[i], i + 1)

        b = np.full(7, 99)
        run(program, a, b)
        np.testing.assert_array_equal(b, [int(exact(int(x), i + 1)) for i, x in enumerate(a)])


@pytest.mark.parametrize("name", ["int32", "int16", "uint8", "bool"])
def test_an_index_beside_no_wider_integer_stays_an_index(run, name):
    """In either order: their sum meets `uint32` in `int64`, as an index does."""
    a = np.array([-1, 5, 100, -7]).astype(name)
    u = np.array([2**32 - 1, 2**31, 7, 2**32 - 6], "uint32")

    @T.prim_func
    def program(A: T.Tensor((4,), name), U: T.Tensor((4,), "uint32"), B: T.Tensor((2, 4), "int64")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[0, i] = (A[i] + i) + U[i]
                B[1, i] = (i + A[i]) + U[i]

    b = np.full((2, 4), 99)
    run(program, a, u, b)
    np.testing.assert_array_equal(b, [[int(x) + i + int(y) for i, (x, y) in enumerate(zip(a, u, strict=True))]] * 2)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers_of_one_width_meet_in_the_unsigned_one(run, bits):
    signed, unsigned = f"int{bits}", f"uint{bits}"
    a = np.array([0, 1, 5, 2 ** (bits - 1), 2**bits - 1], unsigned)
    b = np.array([-1, 2, 3, -(2 ** (bits - 1)), 7], signed)
    for op in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.lt, T.max):
        exact = max if op is T.max else op

        @T.prim_func
        def program(
            A: T.Tensor((5,), unsigned),
            B: T.Tensor((5,), signed),
            C: T.Tensor((5,), unsigned),
            D: T.Tensor((5,), unsigned),
        ):
            with T.Kernel(1, threads=32):
                for i in T.Parallel(5):
                    C[i] = op(A[i], B[i])
                    D[i] = op(A[i], T.cast(-1, signed))

        c, d = np.zeros(5, unsigned), np.zeros(5, unsigned)
        run(program, a, b, c, d)
        for left, right, found in (*zip(a, b, c, strict=True), *((x, -1, y) for x, y in zip(a, d, strict=True))):
            assert int(found) == int(exact(int(left), int(right) % 2**bits)) % 2**bits, (op, left, right)


def test_a_constant_below_zero_is_large_beside_an_unsigned_one(run):
    @T.prim_func
    def program(C: T.Tensor((3,), "int32")):
        with T.Kernel(1, threads=32):
            C[0] = T.cast(T.int32(-1) < T.uint32(5), "int32")
            C[1] = T.cast(T.max(T.int8(-1), T.uint8(3)) == T.uint8(255), "int32")
            C[2] = T.cast(T.int8(-1) < T.uint32(5), "int32")

    c = np.full(3, 9, np.int32)
    run(program, c)
    assert c.tolist() == [0, 1, 0]


def test_the_half_of_a_maximum_is_itself(run):
    """ptxas 13.0 took `max(x, 0) == 0` in one half of a register for a predicate that the other half wrote, too."""

    @T.prim_func
    def program(A: T.Tensor((2, 32), "int8"), B: T.Tensor((32,), "uint8")):
        with T.Kernel(1, threads=100):
            F = T.alloc_fragment((2, 32), "int8")
            T.copy(A, F)
            for _ in T.unroll(4):
                for i, j in T.Parallel(2, 32):
                    F[i, j] = T.max(T.abs(F[i, j]), T.cast(i, "int8") // F[i, j])
            T.copy(F[0, 0:32], B)

    a = np.random.default_rng().integers(-20, 20, (2, 32), dtype=np.int8)
    b = np.full(32, 99, np.uint8)
    run(program, a, b)
    np.testing.assert_array_equal(b, abs(a[0]))


def test_the_negative_of_a_constant(run):
    """A float has a negative zero, and floats of 8 bits have no difference to compute it by."""
    a = np.zeros(8, "float32")
    for name in ("float32", "float16", "float8_e4m3", "float8_e5m2"):
        for number in (0.0, 1.0, -2.0):
            found = evaluate(
                run, lambda x, n=number, t=name: T.cast(-T.cast(n, t), "float32") + x * 0, a, out="float32"
            )
            np.testing.assert_array_equal(found, np.full(8, -number, "float32"))
    zero = evaluate(run, lambda x: 1 / -T.cast(0.0, "float32"), a, out="float32")
    np.testing.assert_array_equal(zero, np.full(8, -np.inf, "float32"))


def test_an_index_of_fewer_bits(run):
    """MLIR folds `index_cast` to fewer bits and back to nothing; an index wraps in between."""

    def kernel(function):
        @T.prim_func
        def f(A: T.Tensor((200,), "int64"), B: T.Tensor((2, 200), "int64")):
            with T.Kernel(2, threads=32) as b:
                for i in T.Parallel(200):
                    B[b, i] = T.cast(function(i, b, A), "int64")

        return f

    a, i = np.arange(200, dtype="int64"), np.arange(200)
    for function, exact in (
        (lambda i, b, A: T.cast(i, "int8") + b, lambda b: i.astype("int8").astype("int64") + b),
        (lambda i, b, A: T.cast(i * 1000, "int16") + b, lambda b: (i * 1000).astype("int16").astype("int64") + b),
        (lambda i, b, A: T.if_then_else(T.cast(i, "int8") < b, 1, 0), lambda b: i.astype("int8") < b),
        (lambda i, b, A: A[T.cast(i, "int8")], lambda b: np.where(i < 128, i, 0)),
        (lambda i, b, A: T.cast(T.cast(i, "int8"), "int32") + b, lambda b: i.astype("int8").astype("int64") + b),
    ):
        found = np.full((2, 200), -1, "int64")
        run(kernel(function), a, found)
        np.testing.assert_array_equal(found, [exact(0), exact(1)])
