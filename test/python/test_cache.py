"""The cache between processes: cold, warm, disabled, damaged, cleared, shared by many."""

import json
import logging
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl

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


GPU_PROGRAM = """
import json
import tilec
import tilec.language as T

@T.prim_func
def zero(A: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            A[i] = 0.0

kernel = tilec.compile(zero, target="sm_90a", assembler="none")
print(json.dumps({"cached": kernel.cached, "path": str(kernel.cache_path) if kernel.cache_path else None}))
"""


@pytest.fixture
def run(python, own_cache):
    def call(program=PROGRAM, **environment):
        return json.loads(python(program, **environment))

    return call


@pytest.fixture
def cold(own_cache):
    """Makes this process start with an empty directory; returns it."""
    tilec.cache.clear(kernels=False, tuning=False)
    return own_cache


def forget():
    """Leaves this process with the directory alone to draw on, as a new one."""
    tilec.cache.clear(kernels=False, tuning=False)


def make(n, value=1.0):
    @T.prim_func
    def add(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                A[i] = A[i] + value

    return add


# Between processes.


def test_cold_and_warm(run, tmp_path):
    first = run()
    assert not first["cached"]
    assert first["stats"]["compiled"] > 0
    assert first["path"].startswith(str(tmp_path / "cache"))
    warm = run()
    assert warm["cached"]
    assert warm["stats"]["compiled"] == 0
    assert warm["stats"]["hits"] > 0
    assert warm["source"] == first["source"]
    assert warm["path"] == first["path"]


def test_edits_that_change_nothing_hit(run):
    run()
    commented = PROGRAM.replace("@T.prim_func", "# a comment\n\n@T.prim_func")
    assert run(commented)["cached"]
    assert not run(PROGRAM.replace("* 2\n", "* 4\n").replace("2 * a", "4 * a"))["cached"]


def test_another_working_directory_and_hash_seed_hit(run):
    run()
    moved = "import os; os.chdir('/')\n" + PROGRAM
    assert run(moved, PYTHONHASHSEED="7", USER="someone", HOME="/nowhere")["cached"]


def test_a_moved_directory_hits(run, tmp_path):
    run()
    (tmp_path / "cache").rename(tmp_path / "moved")
    out = run(TL_CACHE_DIR=str(tmp_path / "moved"))
    assert out["cached"]
    assert out["path"].startswith(str(tmp_path / "moved"))


def test_disabled(run, tmp_path):
    for _ in range(2):
        out = run(TL_DISABLE_CACHE="1")
        assert not out["cached"]
        assert out["path"] is None
    assert not (tmp_path / "cache").exists()


def test_disable_and_enable(run):
    run()
    out = run(PROGRAM.replace("kernel = ", "tilec.cache.disable()\nkernel = "))
    assert not out["cached"]
    out = run(PROGRAM.replace("kernel = ", "tilec.cache.disable(); tilec.cache.enable()\nkernel = "))
    assert out["cached"]


def test_quickstart_compiles_once(python, own_cache):
    program = "import runpy, sys; sys.argv = ['quickstart']; runpy.run_module('tilec.quickstart', run_name='__main__')"
    wrapped = f"try:\n    {program}\nexcept SystemExit as done:\n    assert done.code == 0"
    first = python(wrapped)
    assert "correct" in first
    assert "Nothing was compiled" not in first
    second = python(wrapped)
    assert "Nothing was compiled" in second


PROCESSES = int(os.environ.get("TL_TEST_PROCESSES", "8"))
"""How many processes start at once; 64 for the long run."""

KERNELS = 3

MANY = f"""
import json, sys
import numpy as np
import tilec
import tilec.language as T

def make(factor):
    @T.prim_func
    def scale(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(64):
                A[i] = A[i] * factor
    return scale

print("ready", flush=True)
sys.stdin.readline()
for factor in range(2, 2 + {KERNELS}):
    a = np.ones(64, np.float32)
    tilec.compile(make(float(factor)), target="cpu")(a)
    assert (a == factor).all()
stats = tilec.cache.stats()
print(json.dumps([stats["compiled"], stats["hits"], stats["misses"]]))
"""


def test_many_processes_at_once_compile_each_kernel_once(tmp_path, own_cache):
    file = tmp_path / "many.py"
    file.write_text(MANY)
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(file)]
    processes = [
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [json.loads(process.communicate(timeout=600)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES
    assert sum(compiled for compiled, _, _ in results) == KERNELS
    assert sum(hits for _, hits, _ in results) == KERNELS * (PROCESSES - 1)


# What is told apart, and what is not.


def test_closures(cold):
    """Factories that close over different values make different functions, in memory and on disk."""
    for _ in range(2):
        kernels = [tilec.compile(make(n), target="cpu") for n in (128, 256)]
        for kernel, n in zip(kernels, (128, 256), strict=True):
            a = np.zeros(n, np.float32)
            kernel(a)
            np.testing.assert_array_equal(a, 1)
        assert kernels[0].cache_path != kernels[1].cache_path
        forget()
    assert all(k.cached for k in kernels)
    assert not tilec.compile(make(128, 2.0), target="cpu").cached


def test_lazy_closures(cold):
    @tilec.jit(target="cpu", out_idx=-1)
    def factory(n, captured=3.0):
        @T.prim_func
        def fill(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(n):
                    B[i] = A[i] * captured

        return fill

    for n, captured in [(128, 3.0), (256, 3.0), (128, 4.0)]:
        np.testing.assert_array_equal(factory(n, captured)(np.ones(n, np.float32)), np.full(n, captured))


def test_options_and_outputs_are_told_apart(cold):
    kernels = [
        tilec.compile(make(64), target="sm_90a", assembler="none"),
        tilec.compile(make(64), target="sm_80", assembler="none"),
        tilec.compile(make(64), target="sm_90a", assembler="none", line_info=True),
        tilec.compile(make(64), target="sm_90a", assembler="none", fast_math=True),
        tilec.compile(make(64), target="cpu"),
    ]
    assert len({k.cache_path for k in kernels}) == len(kernels)
    assert not any(k.cached for k in kernels)
    function = make(64)
    assert tilec.compile(function, target="cpu") is not tilec.compile(function, 0, target="cpu")


def test_functions_without_parameters(cold):
    @T.prim_func
    def nothing():
        with T.Kernel(1):
            A = T.alloc_shared((64,), "float32")
            for i in T.Parallel(64):
                A[i] = 1.0

    for cached in (False, True):
        kernel = tilec.compile(nothing, target="cpu")
        assert kernel.cached is cached
        assert kernel() is None
        forget()


def test_results_without_dimensions(cold):
    @T.prim_func
    def last(A: T.Tensor((64,), "float32"), B: T.Tensor((), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(1):
                B[()] = A[63 - i]

    for cached in (False, True):
        kernel = tilec.compile(last, -1, target="cpu")
        assert kernel.cached is cached
        result = kernel(np.arange(64, dtype=np.float32))
        assert result.shape == ()
        assert result == 63
        forget()


def test_functions_without_kernels(cold):
    """A function that launches nothing has a source that is rightly empty; it is no error, cold or warm."""

    @T.prim_func
    def idle(A: T.Tensor((4,), "float32")):
        pass

    for _ in range(2):
        kernel = tilec.compile(idle, target="cpu")
        assert kernel.get_kernel_source() == ""
        assert kernel.cache_path is None
        kernel(np.zeros(4, np.float32))
        forget()


# The table of this process.


def test_the_same_function_is_one_kernel(cold):
    before = tilec.cache.stats()["reused"]
    function = make(64)
    first = tilec.compile(function, target="cpu")
    assert tilec.compile(function, target="cpu") is first
    assert tilec.compile(make(64), target="cpu") is first, "it is the text that counts"
    stats = tilec.cache.stats()
    assert stats["reused"] == before + 2
    assert stats["functions"] >= 1


def test_statistics(cold):
    before = tilec.cache.stats()
    assert before["entries_on_disk"] == before["bytes_on_disk"] == 0
    tilec.compile(make(64), target="cpu")
    forget()
    tilec.compile(make(64), target="cpu")
    after = tilec.cache.stats()
    assert {n: after[n] - before[n] for n in ("hits", "misses", "compiled", "entries_on_disk")} == {
        "hits": 1,
        "misses": 1,
        "compiled": 1,
        "entries_on_disk": 1,
    }
    assert after["seconds_saved"] > before["seconds_saved"]
    assert after["bytes"] > before["bytes"]
    assert after["bytes_on_disk"] > 0


def test_statistics_by_stage(cold):
    """A GPU's kernel without an assembler is one stage; what it cost is what a hit saves."""

    def compile_and_count():
        before = tilec.cache.stats()
        tilec.compile(make(64), target="sm_90a", assembler="none")
        after = tilec.cache.stats()
        stage = after["stages"]["tl-emit-ptx"]
        unused = dict.fromkeys(stage, 0)
        known = before["stages"].get("tl-emit-ptx", unused)
        return {n: after[n] - before[n] for n in before if n not in ("stages", "functions", "reused")}, {
            n: stage[n] - known[n] for n in stage
        }

    whole, stage = compile_and_count()
    assert (whole["hits"], whole["misses"], whole["compiled"], whole["failed"]) == (0, 1, 1, 0)
    assert (whole["bytes"], whole["seconds_saved"], whole["lookup_seconds"]) == (0, 0, 0)
    assert stage == {"hits": 0, "misses": 1, "bytes": 0, "seconds_saved": 0}
    forget()
    whole, stage = compile_and_count()
    assert (whole["hits"], whole["misses"], whole["compiled"], whole["failed"]) == (1, 0, 0, 0)
    assert whole["bytes"] == sum(f.stat().st_size for f in entry_files(cold) if f.name != "manifest.json")
    assert whole["lookup_seconds"] < whole["seconds_saved"] < 60
    assert stage == pytest.approx({n: whole[n] for n in stage})


def entry_files(directory):
    return [file for file in directory.glob("v1/*/*/*") if file.parent.name.startswith(file.parent.parent.name)]


def test_failures_are_counted(cold):
    @T.prim_func
    def too_large(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            T.alloc_shared((1 << 20,), "float32")
            shared = T.alloc_shared((1 << 20,), "float32")
            for i in T.Parallel(64):
                shared[i] = A[i]
            for i in T.Parallel(64):
                A[i] = shared[i]

    before = tilec.cache.stats()
    with pytest.raises(tilec.errors.CompileError):
        tilec.compile(too_large, target="sm_90a", assembler="none")
    after = tilec.cache.stats()
    assert {n: after[n] - before[n] for n in ("hits", "misses", "compiled", "failed", "entries_on_disk")} == {
        "hits": 0,
        "misses": 1,
        "compiled": 0,
        "failed": 1,
        "entries_on_disk": 0,
    }


# Clearing.


def tuning_record(value):
    def make_it():
        return {"record.json": value.encode()}, {"kind": tilec.cache.TUNING}

    return tilec.cache.fetch({"tuning": "a kernel"}, make_it).file("record.json").decode()


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ({}, set()),
        ({"kernels": False}, {"kernel"}),
        ({"tuning": False}, {"record"}),
        ({"kernels": False, "tuning": False}, {"kernel", "record"}),
    ],
)
def test_what_clearing_forgets(cold, scope, kept):
    tilec.compile(make(64), target="cpu")
    assert tuning_record("first") == "first"
    tilec.cache.clear(**scope)
    assert ("kernel" in kept) == tilec.compile(make(64), target="cpu").cached
    assert ("record" in kept) == (tuning_record("second") == "first")


def test_clearing_the_directory_leaves_memory_alone_if_asked(cold):
    function = make(64)
    kernel = tilec.compile(function, target="cpu")
    tilec.cache.clear(memory=False)
    assert tilec.cache.entries() == []
    assert tilec.compile(function, target="cpu") is kernel
    a = np.zeros(64, np.float32)
    kernel(a)
    np.testing.assert_array_equal(a, 1)


def test_clearing_what_is_not_there(cold):
    tilec.cache.clear()
    assert not cold.exists(), "clearing makes no directory"
    assert tilec.cache.entries() == []


def test_tl_clear_cache_clears_what_was_there_once(run):
    run()
    check = "tilec.cache.clear(kernels=False, tuning=False)\nassert tilec.compile(double, target='cpu').cached\n"
    twice = PROGRAM.replace("print(json", f"{check}print(json")
    assert not run(twice, TL_CLEAR_CACHE="1")["cached"]
    assert run(TL_CLEAR_CACHE="0")["cached"]


def test_tl_clear_cache_is_not_inherited(run, tmp_path):
    """A process that this one starts must not clear what this one made."""
    run()
    program = PROGRAM.replace("print(json", "import os\nassert 'TL_CLEAR_CACHE' not in os.environ\nprint(json")
    assert not run(program, TL_CLEAR_CACHE="1")["cached"]


def test_tl_clear_cache_waits_for_the_first_use(python, tmp_path, own_cache):
    """Importing does not touch the directory, even one that cannot be cleared; using it says so and goes on."""
    file = tmp_path / "a-file"
    file.write_text("not a directory")
    python("import tilec, tilec.language, tilec.cache, tilec.compiler", TL_CLEAR_CACHE="1", TL_CACHE_DIR=str(file))
    out = json.loads(python(PROGRAM, TL_CLEAR_CACHE="1", TL_CACHE_DIR=str(file)))
    assert out["path"] is None
    assert file.read_text() == "not a directory"


# Trouble.


def damage(directory, how):
    kernel = next(directory.rglob("kernel.o"))
    entry = kernel.parent
    entry.chmod(0o755)
    kernel.chmod(0o644)
    if how == "garbage":
        kernel.write_bytes(b"garbage")
    elif how == "a bit":
        content = bytearray(kernel.read_bytes())
        content[len(content) // 2] ^= 1
        kernel.write_bytes(content)
    elif how == "cut":
        kernel.write_bytes(kernel.read_bytes()[:-1])
    elif how == "empty":
        kernel.write_bytes(b"")
    elif how == "missing":
        kernel.unlink()
    elif how == "no manifest":
        (entry / "manifest.json").unlink()
    elif how == "half a manifest":
        manifest = entry / "manifest.json"
        manifest.chmod(0o644)
        manifest.write_bytes(manifest.read_bytes()[: manifest.stat().st_size // 2])
    else:
        shutil.rmtree(entry)
        entry.write_text("a file where the entry was")


@pytest.mark.parametrize(
    "how", ["garbage", "a bit", "cut", "empty", "missing", "no manifest", "half a manifest", "a file in its place"]
)
def test_a_damaged_entry_is_compiled_again_and_is_whole_after(cold, how):
    first = tilec.compile(make(64), target="cpu")
    damage(cold, how)
    forget()
    again = tilec.compile(make(64), target="cpu")
    assert not again.cached
    assert again.get_kernel_source() == first.get_kernel_source()
    forget()
    repaired = tilec.compile(make(64), target="cpu")
    assert repaired.cached
    a = np.zeros(64, np.float32)
    repaired(a)
    np.testing.assert_array_equal(a, 1)


def test_a_directory_that_is_deleted_meanwhile(cold):
    kernels = [tilec.compile(make(64, 1.0), target="cpu")]
    shutil.rmtree(cold)
    kernels.append(tilec.compile(make(64, 2.0), target="cpu"))
    shutil.rmtree(cold, ignore_errors=True)
    forget()
    kernels.append(tilec.compile(make(64, 1.0), target="cpu"))
    for kernel, value in zip(kernels, (1, 2, 1), strict=True):
        a = np.zeros(64, np.float32)
        kernel(a)
        np.testing.assert_array_equal(a, value)
    assert not kernels[2].cached
    forget()
    assert tilec.compile(make(64, 1.0), target="cpu").cached, "the directory was made anew"


@pytest.mark.parametrize("home", ["/proc/nothing", "/dev/null", ""])
def test_a_home_that_cannot_be_written(python, own_cache, monkeypatch, home):
    """Without a place to store, kernels are compiled; they are not stored, and it is no error."""
    monkeypatch.delenv("TL_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    program = PROGRAM if home else "import os, pwd\npwd.getpwuid = None\nos.environ['HOME'] = '/proc/x'\n" + PROGRAM
    out = json.loads(python(program, HOME=home))
    assert out["path"] is None
    assert not out["cached"]
    assert out["stats"]["compiled"] > 0


def test_a_directory_that_others_may_write_is_not_used(run, tmp_path):
    directory = tmp_path / "cache"
    directory.mkdir()
    directory.chmod(0o777)
    out = run()
    assert out["path"] is None
    assert list(directory.iterdir()) == []
    assert out["stats"]["entries_on_disk"] is None


def test_a_directory_of_a_group_needs_the_option(run, tmp_path):
    directory = tmp_path / "cache"
    directory.mkdir()
    directory.chmod(0o770)
    assert run()["path"] is None
    # Code for the host is not kept there even so; other entries are.
    out = run(GPU_PROGRAM, TL_CACHE_ALLOW_GROUP="1")
    assert out["path"].startswith(str(directory))
    assert run(GPU_PROGRAM, TL_CACHE_ALLOW_GROUP="1")["cached"]
    assert not run(GPU_PROGRAM)["cached"]


def test_bounds_are_those_of_the_environment(run):
    first = run()
    assert first["stats"]["entries_on_disk"] == 1
    size = first["stats"]["bytes_on_disk"]
    other = PROGRAM.replace("* 2\n", "* 4\n").replace("2 * a", "4 * a")
    assert run(other, TL_CACHE_MAX_BYTES=str(size * 3 // 2))["stats"]["entries_on_disk"] == 1


# What loading an entry does.


def test_nothing_of_an_entry_is_unpickled_or_imported(python, own_cache):
    """What Python's own auditing sees of a warm run: files of the cache are at most opened."""
    watched = (
        """
import pickle, sys
events = []
def audit(event, arguments):
    if event in ("pickle.find_class", "import", "exec", "compile", "ctypes.dlopen"):
        events.append((event, repr(arguments)))
sys.addaudithook(audit)
"""
        + PROGRAM
        + """
assert kernel.cached
def wrong():
    return [e for e in events if e[0] == "pickle.find_class" or tilec.cache.directory() in e[1]]
assert not wrong(), wrong()
pickle.loads(pickle.dumps(json.JSONDecoder))
assert wrong(), "the hook works"
"""
    )
    python(PROGRAM)
    python(watched)


# Fetching what is not a kernel.


def test_fetch_makes_once(cold):
    made = []

    def make_it():
        made.append(1)
        return {"a.bin": b"\0\xff", "empty": b""}, {"who": "a test"}

    for origin in ("made", "stored"):
        entry = tilec.cache.fetch({"name": "x", "bytes": b"\0\1"}, make_it)
        info = json.loads(entry.info())
        assert info["origin"] == origin
        assert info["metadata"] == {"who": "a test"}
        assert info["files"] == ["a.bin", "empty"]
        assert info["key"] == _tl.cache_key({"bytes": b"\0\1", "name": "x"})
        assert entry.file("a.bin") == b"\0\xff"
        assert entry.file("empty") == b""
        assert entry.file("other") is None
    assert made == [1]
    assert tilec.cache.lookup({"name": "x", "bytes": b"\0\1"}).file("a.bin") == b"\0\xff"
    assert tilec.cache.lookup({"name": "y", "bytes": b"\0\1"}) is None


# What is said.


def test_the_log_names_the_entry(cold, caplog):
    caplog.set_level(logging.INFO, logger="tilec")
    for state in ("compiled", "from the cache"):
        kernel = tilec.compile(make(64), target="cpu")
        said = [r.message for r in caplog.records if state in r.message]
        assert len(said) == 1
        assert said[0].endswith(f", {kernel.cache_path}")
        caplog.clear()
        forget()


def test_verbose_says_it_on_stderr_once(cold, capfd, monkeypatch):
    tilec.compile(make(64), target="cpu")
    assert capfd.readouterr().err == ""
    forget()
    tilec.compile(make(64), target="cpu", verbose=True)
    assert capfd.readouterr().err.count("tilec: `add` for cpu: from the cache") == 1
    monkeypatch.setenv("TL_VERBOSE", "1")
    forget()
    tilec.compile(make(64), target="cpu")
    assert capfd.readouterr().err.count("tilec: `add` for cpu: from the cache") == 1
    forget()
    tilec.compile(make(64), target="cpu", verbose=False)
    assert capfd.readouterr().err == ""


def test_a_name_beyond_ascii(cold):
    """Symbols of kernels have `_` for what assemblers do not take."""

    @T.prim_func
    def größe(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                A[i] = A[i] + 1.0

    for _ in range(2):
        forget()
        kernel = tilec.compile(größe, target="cpu")
        a = np.zeros(4, np.float32)
        kernel(a)
        assert a.tolist() == [1.0] * 4
    assert kernel.cached
    assert "gr____e_kernel" in tilec.compile(größe, target="sm_90a", assembler="none").get_ptx()
