"""`python -m tilec.warm`: kernels compiled ahead of time are there when a program asks for them."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tilec
from tilec import warm

KERNELS = """
import tilec
import tilec.language as T

def make(n, value):
    @T.prim_func
    def add(A: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                A[i] = A[i] + value
    return add

plain = make(64, 1.0)

@tilec.jit(out_idx=-1)
def lazy(n, factor=2.0):
    @T.prim_func
    def scale(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(n):
                B[i] = A[i] * factor
    return scale

@tilec.jit
def eager(A, block: int = 32):
    N = T.const("N")
    A: T.Tensor[[N], T.float32]
    C = T.empty((N,), T.float32)
    with T.Kernel(T.ceildiv(N, block)) as b:
        for i in T.Parallel(block):
            C[b * block + i] = A[b * block + i] + 1.0
    return C

def compiled():
    return tilec.compile(make(16, 3.0))

def broken():
    raise ZeroDivisionError("a reason")

def returns_a_number():
    T.prim_func
    return 3

number = 3
"""


@pytest.fixture
def files(tmp_path, monkeypatch, own_cache):
    monkeypatch.setenv("TL_TARGET", "cpu")
    monkeypatch.chdir(tmp_path)
    tilec.cache.clear(kernels=False, tuning=False)
    name = f"warm_kernels_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(KERNELS)
    return name


def manifest(*entries):
    with open("kernels.json", "w") as file:
        json.dump(entries, file)
    return "kernels.json"


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tilec.warm", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_manifest(files, monkeypatch):
    listed = manifest(
        {"kernel": f"{files}:make", "args": [64, 5.0]},
        {"kernel": f"{files}:plain", "options": {"fast_math": True}},
        {"kernel": f"{files}:lazy", "args": [64], "kwargs": {"factor": 4.0}},
        {"kernel": f"{files}:eager", "args": [{"tensor": [96], "dtype": "float32"}]},
        {"kernel": f"{files}:compiled"},
    )
    status, out, err = run(listed, "--json", "--jobs", "3")
    assert err == ""
    answer = json.loads(out)
    assert [kernel["error"] for kernel in answer["kernels"]] == [None] * 5
    assert status == 0
    assert [answer[n] for n in ("compiled", "cached", "failed")] == [5, 0, 0]
    assert answer["kernels"][2]["kernel"] == f"{files}:lazy(64, factor=4.0)"
    for kernel in answer["kernels"]:
        assert os.path.isdir(kernel["path"])

    # A program that asks for the same compiles nothing.
    monkeypatch.syspath_prepend(".")
    kernels = __import__(files)
    assert tilec.compile(kernels.make(64, 5.0)).cached
    assert not tilec.compile(kernels.make(64, 6.0)).cached
    assert kernels.lazy(64, factor=4.0).cached
    a = np.ones(96, np.float32)
    assert kernels.eager.compile(a).cached
    np.testing.assert_array_equal(kernels.eager(a), 2)

    status, out, _ = run(listed)
    assert status == 0
    assert out.splitlines()[-1] == "0 compiled, 5 were there, 0 failed"


def test_kernels_are_compiled_at_once(files):
    """Each of two kernels waits, while it is made, for the other to be made too."""
    together = threading.Barrier(2)

    class Meeting(warm.Spec):
        def compile(self):
            together.wait(timeout=60)
            return super().compile()

    sys.path.insert(0, "")
    try:
        answer = warm.warm([Meeting(f"{files}:plain"), Meeting(f"{files}:compiled")], jobs=2)
    finally:
        sys.path.remove("")
    assert [kernel["error"] for kernel in answer["kernels"]] == [None, None]


def test_what_is_compiled_and_cannot_be_stored_has_failed(files, tmp_path, monkeypatch):
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("TL_CACHE_DIR", str(tmp_path / "a-file"))
    status, out, err = run(f"{files}:plain")
    assert status == 1
    assert f"error: compiled, but not stored: the cache `{tmp_path}/a-file` cannot be written" in err
    assert "is not a directory" in err
    assert "0 compiled, 0 were there, 1 failed" in out


@pytest.mark.parametrize(
    ("arguments", "disable", "message"),
    [
        (["a:b", "--jobs", "0"], "", "argument --jobs: `0` is not a number of 1 or more"),
        (["a:b", "--jobs", "-1"], "", "argument --jobs: `-1` is not a number of 1 or more"),
        (["a:b", "--jobs", "all"], "", "argument --jobs: `all` is not a number of 1 or more"),
        ([], "", "the following arguments are required: kernels"),
        (["a:b", "--dir", "x"], "", "unrecognized arguments: --dir x"),
        (["a:b"], "1", "the cache is disabled by `TL_DISABLE_CACHE`, so that there is nothing to warm"),
    ],
)
def test_command_lines_that_make_no_sense(files, capsys, monkeypatch, arguments, disable, message):
    monkeypatch.setenv("TL_DISABLE_CACHE", disable)
    with pytest.raises(SystemExit) as caught:
        warm.main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_names_on_the_command_line(files):
    status, out, _ = run(f"{files}:plain", f"{files}.py:compiled", "--target", "cpu", "--backend", "cpu")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith(f"{files}:plain: compiled, {os.environ['TL_CACHE_DIR']}")
    assert lines[2] == "2 compiled, 0 were there, 0 failed"


def test_what_fails_is_said_and_the_rest_is_compiled(files):
    status, out, err = run(f"{files}:broken", f"{files}:plain", "no_such_module:f", "--jobs", "1")
    assert status == 1
    assert f"{files}:broken: error: ZeroDivisionError: a reason" in err
    assert "no_such_module:f: error: ArgumentError: `no_such_module:f` cannot be imported" in err
    assert "1 compiled, 0 were there, 2 failed" in out


def test_kernels_for_a_gpu_that_is_not_here(files):
    status, out, _ = run(f"{files}:plain", "--target", "sm_90a", "--backend", "nvptx")
    assert status == 0
    assert tilec.cache.entries()[0]["files"][-1]["name"] == "kernel.ptx"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kernel": "{}:absent"}, "has no `absent`"),
        ({"kernel": "plain"}, "name a kernel as `module:name` or `file.py:name`"),
        ({"kernel": "absent.py:plain"}, "cannot be imported"),
        ({"kernel": "{}:returns_a_number"}, "must return a `@T.prim_func` or a kernel, not `3`"),
        ({"kernel": "{}:number"}, "manifests name `@T.prim_func`s"),
        ({"kernel": "{}:broken"}, "or a call of `tilec.compile`"),
        ({"kernel": "{}:plain", "args": [1]}, "is a `@T.prim_func`, which takes no arguments"),
        ({"kernel": "{}:lazy", "args": [8], "options": {"target": "cpu"}}, "stand in its decorator"),
        ({"kernel": "{}:plain", "options": {"backend": "nvptx"}}, "the backend `nvptx` is for `cuda`"),
    ],
)
def test_mistakes_in_one_kernel(files, monkeypatch, entry, message):
    monkeypatch.syspath_prepend(".")
    entry = {**entry, "kernel": entry["kernel"].format(files)}
    answer = warm.warm([warm.Spec.from_json(entry)])
    assert answer["failed"] == 1
    assert message in answer["kernels"][0]["error"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "must be a list of kernels"),
        ("[3]", 'is an object with "kernel", not `3`'),
        ('[{"kernel": "a:b", "arguments": []}]', "`a:b`: unknown `arguments`; known are kernel, args, kwargs, options"),
        ("[", "cannot read `kernels.json`"),
        (None, "cannot read `kernels.json`"),
    ],
)
def test_mistakes_in_a_manifest(files, capsys, text, message):
    if text is not None:
        with open("kernels.json", "w") as file:
            file.write(text)
    with pytest.raises(SystemExit) as caught:
        warm.main(["kernels.json"])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal(capsys, monkeypatch):
    bar = warm._ProgressBar(4)
    bar.advance("first")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar.advance("second")
    assert capsys.readouterr().err == f"\r\x1b[K[{'#' * 15:<30}] 2/4 second"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("os:system", "manifests name kernels of modules that import `tilec`, and no others"),
        ("subprocess:run", "manifests name kernels of modules that import `tilec`, and no others"),
        ("tilec.warm:main", "manifests name kernels of modules that import `tilec`, and no others"),
        ("innocent.py:f", "manifests name kernels of modules that import `tilec`, and no others"),
        ("{files}:run", "functions of their module with a `@T.prim_func` in them"),
        ("{files}:T", "functions of their module with a `@T.prim_func` in them"),
        ("{files}:clean_up", "functions of their module with a `@T.prim_func` in them"),
        ("{outside}:f", "manifests name files below the current directory, and no others"),
        ("../outside.py:f", "manifests name files below the current directory, and no others"),
        ("link.py:f", "manifests name files below the current directory, and no others"),
    ],
)
def test_a_manifest_calls_nothing_else(files, tmp_path, monkeypatch, kernel, message):
    calls = "open({!r}, 'w')\ndef f(*a): open({!r}, 'w')\n".format(*2 * [str(tmp_path / "canary")])
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / f"{files}.py").write_text((tmp_path / f"{files}.py").read_text())
    monkeypatch.chdir(tmp_path / "here")
    with open("innocent.py", "w") as file:
        file.write(calls)
    outside = tmp_path / "outside.py"
    outside.write_text("import tilec\n" + calls)
    os.symlink(outside, "link.py")
    with open(f"{files}.py", "a") as file:
        file.write("from subprocess import run\ndef clean_up(path): run(path)\n")
    entry = {"kernel": kernel.format(files=files, outside=outside), "args": ["touch canary"]}
    status, out, _ = run(manifest(entry), "--json")
    assert status == 1
    assert message in json.loads(out)["kernels"][0]["error"]
    assert not list(tmp_path.glob("**/canary"))


@pytest.mark.parametrize("option", ["dump_dir", "postproc", "verbose"])
def test_a_manifest_says_nothing_of_places(files, tmp_path, option):
    with pytest.raises(SystemExit):
        warm.main([manifest({"kernel": f"{files}:plain", "options": {option: str(tmp_path / "canary")}})])
    assert not (tmp_path / "canary").exists()


OBEYED = "\x1b]0;title\x07\x9b2J\u202e\nforged: compiled"


@pytest.mark.parametrize(
    "entry",
    [
        {"kernel": f"x{OBEYED}"},
        {"kernel": f"{OBEYED}:x"},
        {"kernel": f"{{files}}:{OBEYED}"},
        {"kernel": f"{OBEYED}.py:x"},
        {"kernel": "a\0.py:x"},
        {"kernel": "{files}:make", "kwargs": {OBEYED: 1}},
        {"kernel": "{files}:make", "args": [{"tensor": [1], "dtype": OBEYED}]},
        {"kernel": "{files}:make", "args": [{"tensor": 5}]},
        {"kernel": "{files}:make", "args": [{"tensor": ["x"]}]},
        {"kernel": "{files}:make", "args": [{"tensor": [1], "dtype": [1]}]},
    ],
)
def test_a_manifest_is_shown_harmlessly(files, capfd, entry):
    entry["kernel"] = entry["kernel"].replace("{files}", files)
    with contextlib.suppress(SystemExit):
        assert warm.main([manifest(entry)]) == 1
    shown = "".join(capfd.readouterr())
    assert not any(c in shown for c in "\0\x1b\x07\x9b\u202e")
    assert "\nforged" not in shown
    assert "error: " in shown
