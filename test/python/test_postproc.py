"""Hooks that edit generated source: that they run, when they run again, and what is in their key."""

import functools
import json
import logging
import operator
import re

import pytest

import tilec
import tilec.language as T
from tilec import _tl, postproc
from tilec.errors import ArgumentError

CHIP = {"target": "sm_90a", "assembler": "none"}


@T.prim_func
def increment(A: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            A[i] = A[i] + 1.0


@pytest.fixture(autouse=True)
def _cold(own_cache):
    yield
    tilec.register_ptx_postproc(None)
    tilec.register_cuda_postproc(None)


def compile_anew(**options):
    """Compiles as a new process would, with the directory alone to draw on."""
    tilec.cache.clear(kernels=False, tuning=False)
    return tilec.compile(increment, **CHIP, **options)


def mark(source, target):
    return f"{source}\n// marked for {target}\n"


def test_a_hook_edits_the_source():
    plain = compile_anew()
    kernel = compile_anew(postproc=mark)
    assert kernel.get_ptx() == f"{plain.get_ptx()}\n// marked for sm_90a\n"
    assert kernel.get_kernel_source() == kernel.get_ptx()
    assert kernel.cache_path != plain.cache_path
    assert (kernel.cache_path / "kernel.ptx").read_text() == kernel.get_ptx()


def test_a_hit_does_not_run_it(tmp_path):
    log = str(tmp_path / "calls")

    def count(source, target):
        with open(log, "a") as file:
            file.write("called\n")
        return source + "// counted\n"

    sources = [compile_anew(postproc=count) for _ in range(2)]
    assert [k.cached for k in sources] == [False, True]
    assert all("// counted" in k.get_ptx() for k in sources)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
    assert tilec.compile(increment, **CHIP, postproc=count) is sources[1]


@pytest.mark.skipif(json.loads(_tl.toolchain_info())["ptxas"]["path"] is None, reason="there is no ptxas here")
def test_what_is_assembled_is_the_edited_source():
    """The assembler stands behind the hook: it sees what the hook returns."""
    with pytest.raises(tilec.TLError, match="cannot be compiled"):
        tilec.compile(
            increment, target="sm_90a", assembler="ptxas", postproc=lambda source, target: source + "not ptx at all"
        )


def test_registered_hooks():
    assert tilec.register_ptx_postproc(mark) is mark
    assert "// marked" in compile_anew().get_ptx()

    def other(source, target):
        return source + "// other\n"

    source = compile_anew(postproc=other).get_ptx()
    assert "// other" in source
    assert "// marked" not in source
    tilec.register_ptx_postproc(None)
    tilec.register_cuda_postproc(mark)  # for the source of another generator
    assert "// marked" not in compile_anew().get_ptx()


def test_a_hook_of_the_ptx_leaves_the_cpu_alone():
    tilec.register_ptx_postproc(mark)
    assert "// marked" not in tilec.compile(increment, target="cpu").get_kernel_source()


PROGRAM = """
import json
import tilec, tilec.language as T

SUFFIX = "// global"

def helper(source):
    return source + "// helper"

def make(captured):
    def hook(source, target, default="// default"):
        nested = lambda text: text + "// nested"
        return nested(helper(source)) + SUFFIX + captured + default + "// constant\\n"
    return hook

@T.prim_func
def increment(A: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            A[i] = A[i] + 1.0

kernel = tilec.compile(increment, target="sm_90a", assembler="none", postproc=make("// captured"))
print(json.dumps([kernel.cached, kernel.get_ptx()]))
"""


@pytest.mark.parametrize("part", ["global", "helper", "default", "nested", "captured", "constant"])
def test_an_edited_hook_runs_again(python, part):
    assert json.loads(python(PROGRAM))[0] is False
    assert json.loads(python(PROGRAM.replace("SUFFIX =", "# a comment\n\nSUFFIX =")))[0] is True
    cached, source = json.loads(python(PROGRAM.replace(f"// {part}", f"// edited {part}")))
    assert not cached
    assert f"// edited {part}" in source


def hook_with(value):
    return lambda source, target: source + f"// {value}\n"


def test_equal_hooks_have_equal_fingerprints():
    assert postproc.fingerprint(hook_with(1)) == postproc.fingerprint(hook_with(1))
    values = [1, True, 1.0, "1", b"1", None, (1,), ((1,),), frozenset({1}), (), -0.0, 0.0, len, mark, operator, list]
    found = {postproc.fingerprint(hook_with(value)) for value in values}
    assert len(found) == len(values)
    assert postproc.fingerprint(hook_with(frozenset("abc"))) == postproc.fingerprint(hook_with(frozenset("cba")))


def test_hooks_that_call_themselves():
    def even(source, target, n=2):
        return source if n == 0 else odd(source, target, n - 1)

    def odd(source, target, n=1):
        return even(source, target, n - 1)

    assert postproc.fingerprint(even) == postproc.fingerprint(even)
    assert postproc.fingerprint(even) != postproc.fingerprint(odd)


class CallableObject:
    def __call__(self, source, target):
        return source + "// object\n"

    def method(self, source, target):
        return source + "// object\n"


def imports_ours(source, target):
    from tilec import __version__

    return f"{source}// {__version__}\n"


def uses_ours(source, target):
    return source + "// object\n" if postproc else source


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (hook_with([1]), "`value` in the closure of `hook_with.<locals>.<lambda>` is of type `list`"),
        (hook_with(([1],)), "element 0 of `value` .* is of type `list`"),
        (hook_with(CallableObject()), "is of type `CallableObject`"),
        (CallableObject(), "the hook is of type `CallableObject`"),
        (CallableObject().method, "the hook is of type `method`"),
        (functools.partial(mark), "the hook is of type `partial`"),
        (functools.lru_cache(mark), "the hook is of type `_lru_cache_wrapper`"),
        (imports_ours, "`imports_ours` imports `tilec`, whose code may change"),
        (uses_ours, "the global `postproc` .* is the module `tilec.postproc`, whose code may change"),
    ],
)
def test_hooks_without_a_fingerprint_are_not_cached(hook, why, caplog, tmp_path):
    caplog.set_level(logging.INFO, logger="tilec")
    for _ in range(2):
        kernel = tilec.compile(increment, **CHIP, postproc=hook)
        assert not kernel.cached
        assert kernel.cache_path is None
    assert not (tmp_path / "cache").exists()
    said = [r.message for r in caplog.records if "is not cached" in r.message]
    assert len(said) == 2
    assert re.search(f"`increment` is not cached: the hook .* has no fingerprint, .*{why}", said[0])


def test_a_hook_that_fails():
    class MyError(Exception):
        pass

    def fails(source, target):
        raise MyError("a reason")

    with pytest.raises(MyError, match="a reason"):
        compile_anew(postproc=fails)
    with pytest.raises(TypeError, match="a post-processor returns the source as `str`, not as `NoneType`"):
        compile_anew(postproc=lambda source, target: None)
    with pytest.raises(ArgumentError, match="is a function of source and target, not `3`"):
        tilec.compile(increment, **CHIP, postproc=3)
    with pytest.raises(ArgumentError, match="is a function of source and target"):
        tilec.register_ptx_postproc("text")
