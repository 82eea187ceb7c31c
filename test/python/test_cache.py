"""The cache between processes: cold, warm, disabled."""

import json

import pytest

PROGRAM = """
import json
import numpy as np
import tilec
import tilec.language as T

@T.prim_func
def double(A: T.Tensor(("n",), "float32"), B: T.Tensor(("n",), "float32")):
    with T.Kernel(T.ceildiv(T.dynamic("n"), 64)) as b:
        for i in T.Parallel(64):
            B[b * 64 + i] = A[b * 64 + i] * 2

kernel = tilec.compile(double, target="cpu")
a = np.arange(100, dtype=np.float32)
b = np.full_like(a, np.nan)
kernel(a, b)
assert (b == 2 * a).all()
print(json.dumps({
    "cached": kernel.cached,
    "source": kernel.get_kernel_source(),
    "path": str(kernel.cache_path) if kernel.cache_path else None,
    "stats": tilec.cache.stats(),
}))
"""


@pytest.fixture
def run(python, tmp_path, cache_on):
    def call(program=PROGRAM, **environment):
        return json.loads(python(program, TL_CACHE_DIR=str(tmp_path / "cache"), **environment))

    return call


def test_cold_and_warm(run, tmp_path):
    cold = run()
    assert not cold["cached"]
    assert cold["stats"]["compiled"] > 0
    assert cold["path"].startswith(str(tmp_path / "cache"))
    warm = run()
    assert warm["cached"]
    assert warm["stats"]["compiled"] == 0
    assert warm["stats"]["hits"] > 0
    assert warm["source"] == cold["source"]
    assert warm["path"] == cold["path"]


def test_edits_that_change_nothing_hit(run):
    run()
    commented = PROGRAM.replace("@T.prim_func", "# a comment\n\n@T.prim_func")
    assert run(commented)["cached"]
    assert not run(PROGRAM.replace("* 2\n", "* 4\n").replace("2 * a", "4 * a"))["cached"]


def test_disabled(run, tmp_path):
    for _ in range(2):
        out = run(TL_DISABLE_CACHE="1")
        assert not out["cached"]
        assert out["path"] is None
    assert not (tmp_path / "cache").exists()


def test_clear(run):
    run()
    cleared = run(PROGRAM.replace("kernel = ", "tilec.cache.clear()\nkernel = "))
    assert not cleared["cached"]


def test_disable_and_enable(run):
    run()
    out = run(PROGRAM.replace("kernel = ", "tilec.cache.disable()\nkernel = "))
    assert not out["cached"]
    out = run(PROGRAM.replace("kernel = ", "tilec.cache.disable(); tilec.cache.enable()\nkernel = "))
    assert out["cached"]


def test_a_damaged_entry_is_compiled_again(run, tmp_path):
    cold = run()
    for file in (tmp_path / "cache").rglob("kernel.o"):
        file.chmod(0o644)
        file.write_bytes(b"garbage")
    again = run()
    assert not again["cached"]
    assert again["source"] == cold["source"]


def test_quickstart_compiles_once(python, tmp_path, cache_on):
    program = "import runpy, sys; sys.argv = ['quickstart']; runpy.run_module('tilec.quickstart', run_name='__main__')"
    wrapped = f"try:\n    {program}\nexcept SystemExit as done:\n    assert done.code == 0"
    first = python(wrapped, TL_CACHE_DIR=str(tmp_path / "cache"))
    assert "correct" in first
    assert "Nothing was compiled" not in first
    second = python(wrapped, TL_CACHE_DIR=str(tmp_path / "cache"))
    assert "Nothing was compiled" in second
