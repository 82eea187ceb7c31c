"""The list of execution backends, and how target and backend are resolved with it."""

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import backends, targets
from tilec.backends.base import Backend, Need, Package
from tilec.backends.kernel_cache import KernelCache
from tilec.errors import BackendError, CacheError, TargetError


@T.prim_func
def increment(A: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            A[i] = A[i] + 1.0


class Absent(Need):
    def is_met(self):
        return False


@pytest.fixture
def added():
    """Registers backends for one test."""
    classes = []

    def add(backend):
        classes.append(backends.register(backend))
        return backend

    yield add
    for backend in classes:
        backends.unregister(backend)


@pytest.fixture(params=["with a GPU", "without a GPU"])
def chip(request, monkeypatch):
    found = "sm_90a" if request.param == "with a GPU" else None
    monkeypatch.setattr(targets, "gpu_chip", lambda: found)
    return found


def resolved(target=None, backend=None):
    choice = targets.resolve(target, backend)
    return choice.chip, choice.backend.name, choice.chosen


def test_what_is_given_is_taken(chip):
    assert resolved("cpu", "cpu") == ("cpu", "cpu", ())
    assert resolved("sm_80", "nvptx") == ("sm_80", "nvptx", ())
    assert resolved("sm_100a") == ("sm_100a", "nvptx", ("backend",))


@pytest.mark.parametrize("auto", [None, "auto"])
def test_what_is_not_given_is_chosen(chip, auto):
    expected = ("sm_90a", "nvptx") if chip else ("cpu", "cpu")
    assert resolved(auto, auto) == (*expected, ("target", "backend"))
    assert resolved(auto, "cpu") == ("cpu", "cpu", ("target",))


def test_a_backend_for_gpus_needs_a_chip(chip):
    if chip:
        assert resolved(None, "nvptx") == (chip, "nvptx", ("target",))
        assert resolved("cuda") == (chip, "nvptx", ("backend",))
        return
    with pytest.raises(
        TargetError, match=r'the backend `nvptx` needs a GPU to be compiled for; name a chip such as "sm'
    ):
        targets.resolve(None, "nvptx")
    with pytest.raises(TargetError, match='target "cuda" needs a GPU'):
        targets.resolve("cuda")


def test_the_environment_is_asked_where_the_program_does_not_say(monkeypatch, chip):
    monkeypatch.setenv("TL_TARGET", "sm_80")
    assert resolved() == ("sm_80", "nvptx", ("backend",))
    assert resolved("sm_90a") == ("sm_90a", "nvptx", ("backend",))
    monkeypatch.setenv("TL_TARGET", "auto")
    monkeypatch.setenv("TL_EXECUTION_BACKEND", "cpu")
    assert resolved() == ("cpu", "cpu", ("target",))
    assert resolved("sm_90a", "nvptx") == ("sm_90a", "nvptx", ())
    monkeypatch.setenv("TL_TARGET", "cpu")
    assert resolved() == ("cpu", "cpu", ())


def test_a_wrong_pair_shows_the_right_ones(monkeypatch):
    with pytest.raises(
        BackendError,
        match="the backend `nvptx` is for `cuda`, and the target is `cpu`; .* are `cpu`, `tvm_ffi`, `torch`$",
    ):
        targets.resolve("cpu", "nvptx")
    with pytest.raises(BackendError, match="the backend `cpu` is for `cpu`, and the target is `sm_80`; .* are `nvptx`"):
        targets.resolve("sm_80", "cpu")
    monkeypatch.setenv("TL_EXECUTION_BACKEND", "nvptx")
    with pytest.raises(BackendError, match=r"the backend `nvptx` \(of TL_EXECUTION_BACKEND\) is for `cuda`"):
        targets.resolve("cpu")
    monkeypatch.setenv("TL_TARGET", "sm_80")
    with pytest.raises(BackendError, match=r"the target is `sm_80` \(of TL_TARGET\)"):
        targets.resolve(None, "cpu")


@pytest.mark.parametrize("wrong", ["sm90", "tpu", "sm_9"])
def test_unknown_targets(monkeypatch, wrong):
    with pytest.raises(TargetError, match=f"unknown target `{wrong}`: use"):
        targets.resolve(wrong)
    monkeypatch.setenv("TL_TARGET", wrong)
    with pytest.raises(TargetError, match=f"unknown target `{wrong}`"):
        targets.resolve()


def test_unknown_backends_are_told_all_that_are_known(monkeypatch):
    with pytest.raises(ValueError, match="unknown backend `triton`; known are `auto`, ") as caught:
        tilec.compile(increment, backend="triton")
    assert isinstance(caught.value, BackendError)
    for name in backends.names():
        assert f"`{name}`" in str(caught.value)
    monkeypatch.setenv("TL_EXECUTION_BACKEND", "triton")
    with pytest.raises(BackendError, match="unknown backend `triton`"):
        targets.resolve()


def test_options_that_a_backend_does_not_have():
    with pytest.raises(BackendError, match="the backend `cpu` for `cpu` has no option `assembler`"):
        tilec.compile(increment, target="cpu", assembler="ptxas")
    with pytest.raises(BackendError, match="has no option `postproc`"):
        tilec.compile(increment, target="cpu", postproc=lambda source, target: source)
    with pytest.raises(TargetError, match="unknown assembler `gas`; known are `auto`, "):
        tilec.compile(increment, target="sm_90a", assembler="gas")


def test_what_a_backend_lacks(added, monkeypatch):
    @added
    class Lacking(Backend):
        name = "lacking"
        aliases = ("wanting",)
        targets = ("cuda",)
        generator = "ptx"
        pipeline = "nvptx"
        source_file = "kernel.ptx"
        loader = "nothing"
        needs = (Absent("a unicorn", "ask a knight"), Package("tilec_no_such_module.part", "no-such-package"))

    assert [need.name for need in backends.find("wanting").missing()] == ["a unicorn", "tilec_no_such_module.part"]
    with pytest.raises(BackendError, match="`lacking` is not available here: there is no `a unicorn`; ask a knight"):
        targets.resolve("sm_90a", "lacking")
    assert resolved("sm_90a")[1] == "nvptx"
    assert "no-such-package" in backends.table()
    for backend in backends.serving("cuda"):
        if backend.name != "lacking":
            monkeypatch.setattr(backend, "missing", lambda: [Absent("x", "y")])
            monkeypatch.setattr(type(backend), "needs", (Absent("x", "y"),))
    with pytest.raises(
        BackendError, match="no backend for `cuda` is available here .*`lacking`: there is no `a unicorn`"
    ):
        targets.resolve("sm_90a")


LOADED = """
import sys
import tilec
import tilec.language as T

@T.prim_func
def add(A: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(8):
            A[i] += 1.0

tilec.compile(add, target=TARGET, backend=BACKEND)
print([name for name in tilec.backends.MODULES if f"tilec.backends.{name}" in sys.modules])
"""


@pytest.mark.parametrize(
    ("target", "backend", "loaded"),
    [
        ("cpu", "cpu", ["cpu"]),
        ("cpu", "auto", ["nvptx", "nvrtc", "nvcc", "cpu"]),
        ("sm_90a", "auto", ["nvptx"]),
    ],
)
def test_what_is_not_asked_for_is_not_loaded(tmp_path, target, backend, loaded):
    """The first compilation of a process would wait for it."""
    program = tmp_path / "program.py"
    program.write_text(LOADED.replace("TARGET", repr(target)).replace("BACKEND", repr(backend)))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{loaded}\n"


def test_a_module_has_the_name_of_its_backend():
    assert [backend.name for backend in backends.known()][: len(backends.MODULES)] == list(backends.MODULES)


def test_names_are_taken_once(added):
    class Second(Backend):
        name = "second"
        aliases = ("nvptx",)
        targets = ("cuda",)

    backends.known()
    with pytest.raises(BackendError, match="two backends `nvptx`: NVPTXBackend, .*Second"):
        added(Second)


def test_each_backend_has_a_cache_of_its_own_made_on_first_use(added):
    kinds = [type(backend.kernels) for backend in backends.known()]
    assert len(set(kinds)) == len(kinds)
    assert KernelCache not in kinds
    tables = [backend.kernels._table for backend in backends.known()]
    assert len({id(table) for table in tables}) == len(tables)

    @added
    class Fresh(Backend):
        name = "fresh"
        targets = ("cpu",)

    assert backends.find("fresh")._kernels is None
    assert backends.find("fresh").kernels is backends.find("fresh").kernels


def test_what_was_chosen_is_said_once_and_only_then(caplog, own_cache, monkeypatch):
    tilec.cache.clear(kernels=False, tuning=False)
    monkeypatch.setattr(targets, "gpu_chip", lambda: None)
    caplog.set_level(logging.INFO, logger="tilec")
    tilec.compile(increment)
    tilec.compile(increment)
    said = [r.message for r in caplog.records if "no other was asked for" in r.message]
    assert said == ["`increment`: target `cpu` and backend `cpu`, because no other was asked for"]
    caplog.clear()
    tilec.cache.clear(kernels=False, tuning=False)
    tilec.compile(increment, target="cpu", backend="cpu")
    assert "because no other" not in caplog.text


class LibraryCache(KernelCache):
    """Builds a file from the launch plan, as a backend does that compiles a library."""

    files = ("library.txt", "empty.txt")
    built = 0
    option = "1"

    def components(self, kernel):
        return {"option": type(self).option}

    def build(self, kernel):
        type(self).built += 1
        return {"library.txt": f"{kernel.name} {type(self).option}".encode(), "empty.txt": b""}


@pytest.fixture
def library(added, own_cache):
    """Returns a backend's cache that builds files, in an empty directory."""

    class Cache(LibraryCache):
        built = 0

    @added
    class Library(Backend):
        name = "library"
        targets = ("cpu",)
        generator = "llvm"
        pipeline = "cpu"
        source_file = "kernel.s"
        loader = "a test"
        kernel_cache = Cache

        def load(self, kernel):
            return lambda a: np.copyto(a, len(kernel.artifact["library.txt"]))

    return Cache


def build(**options):
    """Compiles as a new process would, with the directory alone to draw on."""
    tilec.cache.clear(kernels=False, tuning=False)
    return tilec.compile(increment, backend="library", **options)


def test_what_a_backend_builds_is_stored(library, tmp_path):
    kernel = build()
    assert not kernel.cached
    assert kernel.artifact.directory.parents[2] == tmp_path / "cache"
    assert (kernel.artifact.directory / "library.txt").read_bytes() == b"increment 1"
    again = build()
    assert again is not kernel
    assert again.cached
    assert again.artifact.key == kernel.artifact.key
    assert again.artifact.text("library.txt") == "increment 1"
    assert library.built == 1
    a = np.zeros(8, np.float32)
    again(a)
    np.testing.assert_array_equal(a, 11)


def test_what_is_rightly_empty_is_told_from_what_is_not_there(library):
    for kernel in (build(), build()):
        assert kernel.artifact.text("empty.txt") == ""
        with pytest.raises(KeyError):
            kernel.artifact["other.txt"]


def test_what_it_depends_on_is_in_the_key(library):
    first = build()
    library.option = "2"
    second = build()
    assert second.artifact.text("library.txt") == "increment 2"
    assert first.artifact.key != second.artifact.key
    components = next(e for e in tilec.cache.entries() if e["key"] == second.artifact.key)["components"]
    assert {c["name"]: c.get("value") for c in components}["option"] == "2"


def test_it_says_whether_files_are_code_of_the_host(library):
    key = build().artifact.key
    metadata = next(e for e in tilec.cache.entries() if e["key"] == key)["metadata"]
    assert metadata == {"kernel": "increment", "backend": "library", "host_code": False}
    library.host_code = True
    library.option = "3"
    key = build().artifact.key
    assert next(e for e in tilec.cache.entries() if e["key"] == key)["metadata"]["host_code"] is True


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "manifest", "extra"])
def test_a_damaged_entry_is_built_again(library, damage):
    directory = build().artifact.directory
    directory.chmod(0o755)
    file = directory / ("manifest.json" if damage == "manifest" else "library.txt")
    file.chmod(0o644)
    if damage in ("flipped", "manifest"):
        content = bytearray(file.read_bytes())
        content[3] ^= 1
        file.write_bytes(content)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:3])
    elif damage == "missing":
        file.unlink()
    else:
        (directory / "more.txt").write_text("more")
    kernel = build()
    assert library.built == 2
    assert kernel.artifact.text("library.txt") == "increment 1"
    assert build().cached, "the entry is whole again"
    assert library.built == 2


def test_without_the_cache_it_is_built_and_not_stored(library, monkeypatch, tmp_path):
    monkeypatch.setenv("TL_DISABLE_CACHE", "1")
    assert build().artifact.directory is None
    assert build().artifact.text("library.txt") == "increment 1"
    assert library.built == 2
    assert not (tmp_path / "cache").exists()


def test_a_failed_build_is_the_callers_error_and_is_not_stored(library, monkeypatch):
    def fails(self, kernel):
        raise ZeroDivisionError("the tool broke")

    with monkeypatch.context() as patch:
        patch.setattr(library, "build", fails)
        with pytest.raises(ZeroDivisionError, match="the tool broke"):
            build()
    assert build().artifact.text("library.txt") == "increment 1"


def test_a_backend_builds_what_it_declares(library, monkeypatch):
    monkeypatch.setattr(library, "build", lambda self, kernel: {"library.txt": b""})
    with pytest.raises(CacheError, match="`library` declares library.txt, empty.txt and built library.txt"):
        build()
    monkeypatch.setattr(library, "files", ("../library.txt",))
    monkeypatch.setattr(library, "build", lambda self, kernel: {"../library.txt": b""})
    with pytest.raises(CacheError, match=r"cannot hold a file `\.\./library\.txt`"):
        build()


def test_an_entry_that_lacks_a_file_is_built_again(library, monkeypatch):
    build()
    monkeypatch.setattr(library, "files", ("library.txt", "third.txt"))
    monkeypatch.setattr(library, "build", lambda self, kernel: {"library.txt": b"anew", "third.txt": b""})
    assert build().artifact.text("library.txt") == "anew"


# What is made from the list.


def test_the_table_in_the_documentation_is_the_list():
    text = (Path(__file__).parents[2] / "docs" / "Backends.md").read_text()
    table = backends.table()
    assert table in text, f"docs/Backends.md: put this table, of `python -m tilec.backends`, in its place\n{table}"


def test_the_type_of_a_backends_name_is_the_list():
    from typing import get_args

    from tilec.backends.literals import BackendName

    assert list(get_args(BackendName)) == ["auto", *backends.names()]


def test_the_module_prints_the_table(python):
    out = python("import runpy; runpy.run_module('tilec.backends', run_name='__main__')")
    for name in backends.names():
        assert f"`{name}`" in out
