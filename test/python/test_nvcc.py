"""The backend `nvcc`, as far as there is no GPU: what it builds, keeps, removes and says."""

import logging
import os
import shutil
import subprocess
import sys

import pytest

import tilec
import tilec.language as T
from tilec import _tl, backends
from tilec.backends.library import LibraryFile
from tilec.errors import BackendError, LaunchError

if backends.find("nvcc").missing():
    pytest.skip("there is no nvcc", allow_module_level=True)

N = T.dynamic("N")


@T.prim_func
def double(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
    with T.Kernel(T.ceildiv(N, 128), threads=128) as b:
        for i in T.Parallel(128):
            B[b * 128 + i] = A[b * 128 + i] * 2.0


@pytest.fixture(scope="module")
def kernel():
    return tilec.compile(double, target="sm_90a", backend="nvcc")


def test_a_library_is_built(kernel):
    assert kernel.artifact["kernel_lib.so"].startswith(b"\x7fELF")
    assert kernel.artifact.text("host_kernel.cpp") == kernel.get_host_source()
    assert "__global__" in kernel.get_kernel_source()


@pytest.mark.parametrize("name", ["cython", "ctypes"])
def test_names_that_it_also_answers_to(kernel, name):
    assert backends.find(name) is kernel.backend
    assert tilec.compile(double, target="sm_90a", backend=name).artifact.files == kernel.artifact.files


def test_it_checks_arguments_before_it_needs_a_gpu(kernel):
    with LibraryFile(kernel, "kernel_lib.so") as path:
        call = kernel.backend.launcher(kernel, _tl.open_library(str(path), "double"))
    assert not path.exists()
    with pytest.raises(tilec.errors.ArgumentError, match="`double`: argument `A` is null, expected a tensor of f32"):
        call(None, None)


def test_it_runs_on_a_gpu_only(kernel):
    with pytest.raises(BackendError, match="the backend `nvcc` is for `cuda`, and the target is `cpu`"):
        tilec.compile(double, target="cpu", backend="nvcc")
    try:
        has_gpu = _tl.cuda_device_count() > 0
    except LaunchError:
        has_gpu = False
    if not has_gpu:
        with pytest.raises(LaunchError, match="`double` is compiled for sm_90a and cannot run here"):
            kernel.launcher()


def test_it_comes_from_the_cache(own_cache):
    tilec.cache.clear(kernels=False, tuning=False)  # what this process holds
    first = tilec.compile(double, target="sm_90a", backend="nvcc")
    assert not first.cached
    tilec.cache.clear(kernels=False, tuning=False)
    again = tilec.compile(double, target="sm_90a", backend="nvcc")
    assert again is not first
    assert again.cached
    assert again.artifact.files == first.artifact.files


def test_what_the_compiler_reads_stays_where_asked_for(tmp_path):
    tilec.compile(double, target="sm_90a", backend="nvcc", dump_dir=str(tmp_path))
    (folder,) = tmp_path.glob("host-*")
    assert {"host_kernel.cpp", "device_images.cpp", "library.so"} <= {path.name for path in folder.iterdir()}
    assert (folder / "tl" / "host" / "cuda.h").exists()


def test_a_folder_that_cannot_be_removed_is_named(kernel, monkeypatch, caplog):
    def refuse(folder):
        raise PermissionError("it is in use")

    removed = []
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", refuse)
        with caplog.at_level(logging.WARNING), LibraryFile(kernel, "kernel_lib.so") as path:
            removed.append(path.parent)
    shutil.rmtree(removed[0])
    assert f"the temporary folder `{removed[0]}` cannot be removed: it is in use" in caplog.text


def test_what_is_not_keyed_does_not_reach_nvcc(kernel, own_cache, monkeypatch, tmp_path):
    """Flags, another compiler, and headers of other folders: each of them would end it."""
    (tmp_path / "cstdint").write_text("#error another header")
    for name, value in {
        "NVCC_PREPEND_FLAGS": "--nonsense",
        "NVCC_APPEND_FLAGS": "-DT=int -ccbin=/nowhere",
        "NVCC_CCBIN": "/nowhere",
        "CPATH": str(tmp_path),
        "CPLUS_INCLUDE_PATH": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    tilec.cache.clear(kernels=False, tuning=False)
    again = tilec.compile(double, target="sm_90a", backend="nvcc")
    assert not again.cached
    assert again.artifact["kernel_lib.so"]
    assert again.get_kernel_source() == kernel.get_kernel_source()


PROGRAM = """
import tilec
import tilec.language as T

@T.prim_func
def double(A: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128):
        for i in T.Parallel(128):
            A[i] = A[i] * 2.0

tilec.compile(double, target="sm_90a", backend="nvcc")
"""


def test_a_compiler_that_is_too_new_has_a_remedy(own_cache, tmp_path):
    """nvcc refuses the newest `g++`; `NVCC_CCBIN` names another, and is told in nvcc's stead."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "bin").mkdir()
    newest = tmp_path / "bin" / "g++"
    newest.write_text(f'#!/bin/sh\nexec {shutil.which("g++")} -D__GNUC__=99 "$@"\n')
    newest.chmod(0o755)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PATH": f"{newest.parent}:{os.environ['PATH']}",
    }
    for name, fails in (("", True), (shutil.which("g++") or "", False)):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")],
            env={**environment, "NVCC_CCBIN": name},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stderr
        assert ("name an older `g++` in `NVCC_CCBIN`" in done.stderr) == fails
