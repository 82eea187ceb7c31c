"""The mode in which nothing is compiled: what is used, what is refused, and what the error says."""

import threading

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import backends
from tilec.backends.base import Backend
from tilec.backends.kernel_cache import KernelCache
from tilec.errors import CompileError, NotCachedError, TuningError


@pytest.fixture(autouse=True)
def _directory(own_cache, monkeypatch):
    """A cache for each test."""
    monkeypatch.delenv("TL_NEVER_COMPILE", raising=False)
    tilec.cache.clear()


def forget():
    """Leaves what is on disk alone, as a new process does."""
    tilec.cache.clear(kernels=False, tuning=False)


def scale(n, factor=2.0):
    @T.prim_func
    def multiply(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * factor

    return multiply


def lazy():
    return tilec.jit(target="cpu", out_idx=-1)(scale)


def eager():
    @tilec.jit(target="cpu")
    def increment(A):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1):
            for i in T.Parallel(N):
                A[i] = A[i] + 1.0

    return increment


def test_what_is_cached_is_used():
    tilec.compile(scale(8), target="cpu")
    forget()
    with tilec.never_compile():
        kernel = tilec.compile(scale(8), target="cpu")
        assert kernel.cached
        assert tilec.compile(scale(8), target="cpu") is kernel
    a, b = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel(a, b)
    np.testing.assert_array_equal(b, 2)


def test_what_is_not_is_an_error_that_says_what_differs():
    tilec.compile(scale(8), target="cpu")
    with tilec.never_compile(), pytest.raises(NotCachedError) as caught:
        tilec.compile(scale(9), target="cpu")
    text = str(caught.value)
    assert text.startswith("`multiply` is not in the cache, and `never_compile` forbids to compile it; compile it befo")
    assert f"{__file__}:" in text
    assert "with T.Kernel(1):" in text
    assert "kernel `multiply_kernel` is not in the cache, and nothing may be compiled" in text
    assert "is `multiply_kernel` of the entry " in text
    assert "the program differs" in text
    with tilec.never_compile(), pytest.raises(CompileError, match=r"`tl\.fast_math` is given here and not there\n"):
        tilec.compile(scale(8), target="cpu", fast_math=True)
    assert tilec.compile(scale(9), target="cpu") is not None, "elsewhere it may"


def test_an_empty_cache():
    with tilec.never_compile(), pytest.raises(NotCachedError, match="holds no entry to compare with"):
        tilec.compile(scale(8), target="cpu")


def test_mistakes_that_are_seen_before_are_still_mistakes():
    @T.prim_func
    def wrong(A: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                S = T.alloc_shared((64,), "float32")  # by every iteration
                S[i] = A[i, 0]

    with tilec.never_compile(), pytest.raises(CompileError, match="`wrong` cannot be compiled") as caught:
        tilec.compile(wrong, target="cpu")
    assert not isinstance(caught.value, NotCachedError)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"dump_dir": "dumps"}, "every pass must run, to be dumped to `dump_dir`"),
        ({}, "the cache is disabled"),
    ],
)
def test_what_is_never_looked_up(options, why, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if not options:
        monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    with tilec.never_compile(), pytest.raises(NotCachedError, match=why):
        tilec.compile(scale(8), target="cpu", **options)
    assert not (tmp_path / "dumps").exists()


def test_the_environment(monkeypatch):
    monkeypatch.setenv("TL_NEVER_COMPILE", "0")
    tilec.compile(scale(8), target="cpu")
    monkeypatch.setenv("TL_NEVER_COMPILE", "1")
    forget()
    assert tilec.compile(scale(8), target="cpu").cached
    with pytest.raises(NotCachedError):
        tilec.compile(scale(9), target="cpu")


def test_jit_functions():
    a = np.ones(8, np.float32)
    lazy()(8)
    eager()(a)
    forget()
    with tilec.never_compile():
        np.testing.assert_array_equal(lazy()(8)(a), 2 * a)
        increment = eager()
        increment(a)
        for call in (lambda: lazy()(8, factor=3.0), lambda: increment(np.ones(9, np.float32))):
            with pytest.raises(NotCachedError):
                call()
        assert increment.compile(a).cached
        with pytest.raises(NotCachedError):
            increment.compile(np.ones(9, np.float32))
    increment(np.ones(9, np.float32))


def test_threads_that_are_started_within():
    tilec.compile(scale(8), target="cpu")
    forget()
    with tilec.never_compile():
        future = tilec.compile_async(scale(9), target="cpu")
        found, refused = tilec.par_compile([scale(8), scale(9)], target="cpu", ignore_error=True)
        kernels = lazy().par_compile([{"n": 8}, {"n": 9}], ignore_error=True)
        with pytest.raises(NotCachedError):
            lazy().par_compile([(9,)])
    assert found.cached
    assert refused is None
    assert [kernel is None for kernel in kernels] == [False, True]
    with pytest.raises(NotCachedError):
        future.result(timeout=60)
    assert tilec.compile_async(scale(9), target="cpu").result(timeout=60) is not None


def test_threads_that_are_not():
    outcomes = []
    with tilec.never_compile():
        with tilec.never_compile():
            pass
        thread = threading.Thread(target=lambda: outcomes.append(tilec.compile(scale(8), target="cpu")))
        thread.start()
        thread.join()
        with pytest.raises(NotCachedError):
            tilec.compile(scale(9), target="cpu")
    assert len(outcomes) == 1


def test_what_backends_build():
    built = []

    class LibraryCache(KernelCache):
        files = ("library.txt",)

        def components(self, kernel):
            return {"option": str(option)}

        def build(self, kernel):
            built.append(kernel.name)
            return {"library.txt": b"x"}

    @backends.register
    class Library(Backend):
        name = "library"
        targets = ("cpu",)
        generator = "llvm"
        pipeline = "cpu"
        source_file = "kernel.s"
        loader = "a test"
        kernel_cache = LibraryCache

    try:
        option = 1
        tilec.compile(scale(8), target="cpu", backend="library")
        with tilec.never_compile():
            forget()
            assert tilec.compile(scale(8), target="cpu", backend="library").cached
            forget()
            option = 2
            with pytest.raises(NotCachedError, match="`multiply` is not .*\n.*: `option` is `1` there and `2` here"):
                tilec.compile(scale(8), target="cpu", backend="library")
        assert built == ["multiply"]
    finally:
        backends.unregister(Library)


def test_tuned_functions_run_from_results():
    def tuned():
        function = tilec.jit(target="cpu", out_idx=-1)(scale)
        return tilec.autotune(configs={"factor": [2.0]}, warmup=0, rep=0)(function)

    with (
        tilec.never_compile(),
        pytest.raises(TuningError, match="is not tuned for .*, and `never_compile` is in force"),
    ):
        tuned()(8)
    result = tuned().tune(8)
    forget()
    with tilec.never_compile():
        again = tuned().tune(8)
        assert again.from_cache
        assert again.kernel.cached
        assert again.latency == result.latency
    tilec.cache.clear(tuning=False)
    for frozen in (None, True):
        with tilec.never_compile(), pytest.raises(NotCachedError, match="`multiply` is not in the cache"):
            function = tilec.jit(target="cpu", out_idx=-1)(scale)
            tilec.autotune(configs={"factor": [2.0]}, warmup=0, rep=0, frozen=frozen)(function)(8)
