"""Random numbers (semantics R1): those of Philox, in an order that no target and no number of threads changes."""

import numpy as np
import pytest

import tilec
import tilec.language as T
from philox import KNOWN_ANSWERS, numbers, philox, uniform
from tilec.errors import ArgumentError, DTypeError, IgnoredHintWarning, TLSyntaxError, UnsupportedError
from tilec.language import rng

TARGETS = {"cpu": {"target": "cpu"}, "sim": {"target": "sm_90a", "backend": "sim"}}


@pytest.fixture(params=TARGETS)
def run(request):
    return lambda program, *arguments: tilec.compile(program, **TARGETS[request.param])(*arguments)


@pytest.mark.parametrize(("counter", "key", "known"), KNOWN_ANSWERS)
def test_the_reference_has_the_published_numbers(counter, key, known):
    assert [int(word) for word in philox(counter, key)] == known


def test_kernels_have_the_published_numbers(run):
    n = len(KNOWN_ANSWERS)

    @T.prim_func
    def f(X: T.Tensor((n, 6), "uint32"), Y: T.Tensor((n, 4), "uint32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                words = rng.philox([X[i, k] for k in range(4)], [X[i, 4], X[i, 5]])
                for k in T.unroll(4):
                    Y[i, k] = words[k]

    found = np.zeros((n, 4), np.uint32)
    run(f, np.array([[*counter, *key] for counter, key, _ in KNOWN_ANSWERS], np.uint32), found)
    assert found.tolist() == [known for _, _, known in KNOWN_ANSWERS]


@pytest.mark.parametrize("threads", [1, 96])
def test_iterations_draw_as_if_they_came_one_after_the_other(run, threads):
    seed, sequence, first = 2**40 + 5, 2**33 + 1, 2**35 + 2

    @T.prim_func
    def f(A: T.Tensor((5, 7, 4), "uint32"), B: T.Tensor((70,), "uint32"), C: T.Tensor((3,), "uint32")):
        with T.Kernel(1, threads=threads):
            T.rng_init(seed, sequence, first)
            C[0] = T.rng_rand()
            for i, j in T.Parallel(5, 7):
                A[i, j, 0] = T.rng_rand()
                if j < 4:
                    A[i, j, 1] = T.rng_rand()
                for k in T.serial(7, 3, -2):
                    A[i, j, 5 - k // 2] = T.rng_rand()
            for k in T.serial(2):
                C[1 + k] = T.rng_rand()
                for i in T.Parallel(35):
                    B[35 * k + i] = T.rng_rand()

    a, b, c = np.zeros((5, 7, 4), np.uint32), np.zeros(70, np.uint32), np.zeros(3, np.uint32)
    run(f, a, b, c)
    expected = numbers(1 + 140 + 72, seed, sequence, first)
    assert c.tolist() == [expected[0], expected[141], expected[177]]
    for i, j in np.ndindex(5, 7):
        own = expected[1 + (i * 7 + j) * 4 :]
        assert a[i, j].tolist() == [own[0], own[1] if j < 4 else 0, own[2], own[3]]
    np.testing.assert_array_equal(b, np.concatenate([expected[142:177], expected[178:213]]))


def test_extents_that_are_known_later(run):
    @T.prim_func
    def f(n: T.int32, A: T.Tensor((T.dynamic("rows"), 3), "uint32"), B: T.Tensor((1,), "uint32")):
        with T.Kernel(1, threads=32):
            T.rng_init(3)
            for i in T.Parallel(n - 5000):  # runs nothing, and draws nothing
                A[i, 0] = T.rng_rand()
            for i, j in T.Parallel(T.dynamic("rows"), 3):
                A[i, j] = T.rng_rand()
            B[0] = T.rng_rand()

    a, b = np.zeros((1500, 3), np.uint32), np.zeros(1, np.uint32)
    run(f, 10, a, b)
    np.testing.assert_array_equal([*a.ravel(), *b], numbers(4501, 3))


@pytest.mark.parametrize("chosen", [True, False])
def test_a_choice_that_is_known_draws_what_one_that_is_not_does(run, chosen):
    """Each place has its number, whether it is left out when the kernel is built or when it runs."""

    @T.prim_func
    def f(N: T.Tensor((1,), "int32"), A: T.Tensor((2, 4, 2), "uint32")):
        with T.Kernel(1, threads=32):
            T.rng_init(7)
            for i in T.Parallel(4):
                A[0, i, 0] = T.if_then_else(chosen, T.rng_rand(), T.rng_rand())
                A[0, i, 1] = T.rng_rand()
            for i in T.Parallel(4):
                A[1, i, 0] = T.if_then_else(N[0] != 0, T.rng_rand(), T.rng_rand())
                A[1, i, 1] = T.rng_rand()

    a = np.zeros((2, 4, 2), np.uint32)
    run(f, np.array([chosen], np.int32), a)
    expected = numbers(24, 7).reshape(2, 4, 3)
    np.testing.assert_array_equal(a, expected[..., [0 if chosen else 1, 2]])


def test_threads_blocks_and_iterations_with_sequences_of_their_own(run):
    @T.prim_func
    def f(A: T.Tensor((2, 3, 40), "uint32"), B: T.Tensor((2, 3), "uint32"), C: T.Tensor((2, 3, 8), "uint32")):
        with T.Kernel(3, 2, threads=40) as (x, y):
            T.rng_init(9)
            B[y, x] = T.rng_rand()
            t = T.get_thread_binding()
            T.rng_init(9, t, 1)
            A[y, x, t] = T.rng_rand()
            for i in T.Parallel(8):
                T.rng_init(9, i + 100)
                T.rng_rand()
                C[y, x, i] = T.rng_rand()

    a, b, c = np.zeros((2, 3, 40), np.uint32), np.zeros((2, 3), np.uint32), np.zeros((2, 3, 8), np.uint32)
    run(f, a, b, c)
    first = np.concatenate([numbers(1, 9, sequence) for sequence in range(6)])
    np.testing.assert_array_equal(b.ravel(), first)
    np.testing.assert_array_equal(a[1, 2], [numbers(2, 9, sequence)[1] for sequence in range(40)])
    np.testing.assert_array_equal(c[0, 1], [numbers(2, 9, sequence)[1] for sequence in range(100, 108)])


def test_floats(run):
    n = 4096

    @T.prim_func
    def f(
        U: T.Tensor((n,), "float32"),
        V: T.Tensor((n,), "float64"),
        N: T.Tensor((n,), "float32"),
        M: T.Tensor((n,), "float64"),
    ):
        with T.Kernel(1, threads=128):
            T.rng_init(17)
            for i in T.Parallel(n):
                U[i] = T.rng_rand_float()
            for i in T.Parallel(n):
                V[i] = T.rng_rand_float(64)
            for i in T.Parallel(n):
                N[i] = T.rng_rand_float(dist="normal")
            for i in T.Parallel(n):
                M[i] = T.rng_rand_float(bit=64, dist="normal")

    results = [np.zeros(n, dtype) for dtype in ("float32", "float64", "float32", "float64")]
    run(f, *results)
    words = np.split(numbers(9 * n, 17), [n, 3 * n, 5 * n])

    def fine(pair):
        high, low = pair.reshape(-1, 2).T.astype(np.uint64)
        return ((high >> np.uint64(5)) * 2.0**26 + (low >> np.uint64(6))) * 2.0**-53 + 2.0**-54

    def normal(parts):
        size, turn = parts.reshape(-1, 2).T
        return np.sqrt(-2 * np.log(size)) * np.sin(2 * np.pi * turn)

    u = words[0].astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
    np.testing.assert_array_equal(results[0], u)
    np.testing.assert_array_equal(results[1], fine(words[1]))
    np.testing.assert_allclose(results[2], normal(uniform(words[2])).astype(np.float32), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(results[3], normal(fine(words[3])), rtol=1e-13, atol=1e-15)
    for found in results[2:]:
        assert abs(found.mean()) < 0.05
        assert abs(found.std() - 1) < 0.05


def in_kernel(body):
    @T.prim_func
    def f(A: T.Tensor((8,), "uint32"), n: T.int32):
        with T.Kernel(1, threads=32):
            body(A, n)

    return f


@T.macro
def drawn_as_often_as_is_known_later(A, n):
    T.rng_init(1)
    for i in T.Parallel(8):
        for _ in T.serial(n):
            A[i] = T.rng_rand()


@T.macro
def drawn_while_something_holds(A, n):
    T.rng_init(1)
    for i in T.Parallel(8):
        k = T.alloc_var("int32", 0)
        while k < n:
            k = k + 1
            A[i] = T.rng_rand()


def by_groups(begins_in_group):
    """Two groups of threads that draw one after the other, from sequences of their own."""

    @T.prim_func
    def f(A: T.Tensor((2, 64), "uint32")):
        with T.Kernel(1, threads=64):
            t = T.get_thread_binding()
            bar = T.alloc_barrier(32)
            if not begins_in_group:
                T.rng_init(9, t)
            if t < 32:
                if begins_in_group:
                    T.rng_init(9, t)
                for k in T.serial(2):
                    A[k, t] = T.rng_rand()
                T.barrier_arrive(bar)
            else:
                T.barrier_wait(bar, 0)
                if begins_in_group:
                    T.rng_init(9, t)
                for k in T.serial(2):
                    A[k, t] = T.rng_rand()

    return f


def test_groups_of_threads_begin_their_sequences_by_themselves():
    with pytest.raises(TLSyntaxError, match="put `T.rng_init` into the group"):
        tilec.compile(by_groups(begins_in_group=False), target="cpu")
    a = np.zeros((2, 64), np.uint32)
    tilec.compile(by_groups(begins_in_group=True), target="cpu")(a)
    np.testing.assert_array_equal(a, np.array([numbers(2, 9, t) for t in range(64)]).T)


@pytest.mark.parametrize("name", ["XORWOW", "MRG32k3a"])
def test_other_generators_are_named_in_a_warning(name):
    with pytest.warns(IgnoredHintWarning, match=f"`curandState{name}_t`, whose state .* are those of Philox"):

        @T.prim_func
        def f(A: T.Tensor((64,), "uint32")):
            with T.Kernel(1, threads=64):
                T.rng_init(5, 3, generator=f"curandState{name}_t")
                for i in T.Parallel(64):
                    A[i] = T.rng_rand()

    a = np.zeros(64, np.uint32)
    tilec.compile(f, target="cpu")(a)
    np.testing.assert_array_equal(a, numbers(64, 5, 3))


@T.macro
def begun_in_a_branch(A, n):
    if n > 0:
        T.rng_init(1)
    A[0] = T.rng_rand()


MISTAKES = [
    (lambda A, n: T.rng_rand(), TLSyntaxError, r"`T.rng_rand` needs a `T.rng_init\(seed\)` before it in the kernel"),
    (lambda A, n: T.rng_init(1.5), DTypeError, "`seed` of `T.rng_init` is an integer, not `1.5`"),
    (lambda A, n: T.rng_init(1, generator="curandStateSobol32_t"), ArgumentError, "`generator` of `T.rng_init` is"),
    (lambda A, n: (T.rng_init(1), T.rng_rand_float(16)), ArgumentError, "`bit` of `T.rng_rand_float` is 32 or 64"),
    (lambda A, n: (T.rng_init(1), T.rng_rand_float(dist="exp")), ArgumentError, '"uniform" or "normal", not `\'exp\''),
    (drawn_as_often_as_is_known_later, UnsupportedError, "how many numbers an iteration of `T.Parallel` draws"),
    (drawn_while_something_holds, UnsupportedError, "how many numbers an iteration of `T.Parallel` draws"),
    (begun_in_a_branch, TLSyntaxError, "a `T.rng_init` that stands inside a branch, which has ended"),
]


@pytest.mark.parametrize(("body", "error", "message"), MISTAKES)
def test_mistakes(body, error, message):
    with pytest.raises(error, match=message):
        in_kernel(body)
