"""Functions outside of Python: libraries, a C++ program that links one, and sources that are edited and run again."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec import _tl
from tilec.backends.base import toolchain
from tilec.errors import ArgumentError, BackendError, LaunchError, TargetError, TLError

EXAMPLE = Path(__file__).parents[2] / "python" / "examples" / "aot"

M, N = T.dynamic("M, N")


@T.prim_func
def scale(
    A: T.Tensor((M, N), "float32"),
    B: T.StridedTensor((M, N), (T.dynamic("ld"), 1), "float32", align=4),
    register: T.Tensor((N,), "int8", align=1),
    a: T.float32,
    n: T.int32,
):
    with T.Kernel(M, T.ceildiv(N, 64), threads=64) as (x, y):
        for i in T.Parallel(64):
            if y * 64 + i < N:
                B[x, y * 64 + i] = a * A[x, y * 64 + i] + T.float32(n) + T.float32(register[y * 64 + i])


def arguments(m=3, n=100):
    random = np.random.default_rng(m * n)
    B = np.full((m, n + 5), np.nan, np.float32)[:, :n]
    return [random.random((m, n), np.float32), B, np.arange(n, dtype=np.int8), 0.5, 7]


def expected(A, B, C, a, n):
    return a * A + np.float32(n) + C.astype(np.float32)


def opened(kernel, path):
    """Returns the function of a library, called as a kernel is."""
    return kernel.backend.launcher(kernel, _tl.open_library(str(path), kernel.name))


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The library of `scale` for the CPU, installed."""
    folder = tmp_path_factory.mktemp("package")
    kernel = tilec.compile(scale, target="cpu")
    kernel.export_library(folder)
    return kernel, folder


def test_a_library_computes_what_the_kernel_does(package):
    kernel, folder = package
    call = opened(kernel, folder / "lib" / "libscale.so")
    for shape in [(3, 100), (1, 1), (64, 63), (7, 640), (0, 5), (5, 0)]:
        values = arguments(*shape)
        call(*values)
        np.testing.assert_allclose(values[1], expected(*values), rtol=1e-6)


def wrong_arguments():
    A, B, C, a, n = arguments()
    wide = np.zeros((3, 200), np.float32)
    yield "dtype", (A.astype(np.float64), B, C, a, n)
    yield "rank", (A[0], B, C, a, n)
    yield "shape", (A[:2], B, C, a, n)
    yield "contiguity", (wide[:, ::2], B, C, a, n)
    yield "stride", (A, wide[:, ::2], C, a, n)
    yield "alignment", (np.frombuffer(bytearray(1204), np.float32, 300, 4).reshape(3, 100), B, C, a, n)
    yield "scalar for tensor", (1, B, C, a, n)
    yield "float for integer", (A, B, C, a, 1.5)
    yield "large integer", (A, B, C, a, 1 << 40)
    yield "large float", (A, B, C, 1e300, n)


@pytest.mark.parametrize("values", [pytest.param(v, id=name) for name, v in wrong_arguments()])
def test_its_errors_are_those_of_the_kernel(package, values):
    kernel, folder = package
    with pytest.raises(TLError) as by_kernel:
        kernel(*values)
    with pytest.raises(TLError) as by_library:
        opened(kernel, folder / "lib" / "libscale.so")(*values)
    assert type(by_library.value) is type(by_kernel.value)
    assert by_library.value.message == by_kernel.value.message


def test_an_overflow_is_noticed(tmp_path):
    @T.prim_func
    def many(A: T.Tensor((M,), "int8"), n: T.int64):
        with T.Kernel(n * n * M, threads=1):
            A[0] = T.int8(1)

    kernel = tilec.compile(many, target="cpu")
    kernel.export_library(tmp_path)
    values = (np.zeros(3, np.int8), 1 << 62)
    messages = []
    for call in (kernel, opened(kernel, tmp_path / "lib" / "libmany.so")):
        with pytest.raises(TLError, match="64-bit overflow") as error:
            call(*values)
        messages.append(error.value.message)
    assert messages[0] == messages[1]


def test_a_package_has_what_c_needs(package):
    _, folder = package
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "include/scale.h",
        "include/tl-c/Call.h",
        "lib/libscale.so",
        "lib/cmake/scale/scale-config.cmake",
    }
    header = (folder / "include" / "scale.h").read_text()
    assert "const TlTensor *register_," in header, "`register` is no name in C"
    assert "int8 " not in header
    assert "B: f32 (M, N), with strides, aligned to 4 bytes" in header
    program = folder / "use.c"
    program.write_text('#include "scale.h"\nint main(void) { return tl_scale(0, 0, 0, 0, 0, 0) == 0; }\n')
    compiler = shutil.which("cc") or shutil.which("clang-22")
    run(compiler, "-std=c99", "-Wall", "-Werror", "-fsyntax-only", f"-I{folder}/include", program)
    program.unlink()


def test_only_the_entry_points_are_exported(package):
    _, folder = package
    tool = shutil.which("nm") or "/usr/lib/llvm-22/bin/llvm-nm"
    listed = run(tool, "-D", "--defined-only", folder / "lib" / "libscale.so")
    names = {f"tl_scale{suffix}" for suffix in ("", "_call", "_category", "_error")}
    assert {line.split()[-1] for line in listed.splitlines()} == {*names, "__tvm_ffi_scale"}


def test_the_example_program_is_built_and_runs(tmp_path):
    package, moved = tmp_path / "package", tmp_path / "moved"
    run(sys.executable, EXAMPLE / "make_library.py", package)
    package.rename(moved)
    run("cmake", "-S", EXAMPLE, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={moved}")
    run("cmake", "--build", tmp_path / "build")
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
    said = run(tmp_path / "build" / "main", env=environment)
    assert said.startswith("y = 0.5 x + 1; and an error: `saxpy`: dimension 0 of `Y` is 99999, expected 100000")


def test_a_library_for_several_gpus(tmp_path):
    kernel = tilec.compile(scale, target="sm_80")
    kernel.export_library(tmp_path, ["sm_80", "sm_90a"])
    call = opened(kernel, tmp_path / "lib" / "libscale.so")
    assert call(*arguments()) is NotImplemented, "arrays of the host are for the host"
    function = ctypes.CDLL(str(tmp_path / "lib" / "libscale.so")).tl_scale_call
    assert function(None, 0, None) != 0
    assert "sm_90a, sm_80" in _tl.host_source(
        [kernel.compiled, tilec.compile(scale, target="sm_90a").compiled], "scale"
    )


def test_what_cannot_be_exported_is_said(tmp_path, monkeypatch):
    kernel = tilec.compile(scale, target="cpu")
    with pytest.raises(BackendError, match="the backend `cpu` is for `cpu`, and the target is `sm_80`"):
        kernel.export_library(tmp_path, ["cpu", "sm_80"])
    with pytest.raises(TargetError, match="unknown target `sm_nine`"):
        kernel.export_library(tmp_path, ["sm_nine"])
    with pytest.raises(ArgumentError, match="`chips` is a list such as"):
        kernel.export_library(tmp_path, "cpu")
    with pytest.raises(LaunchError, match="cannot be opened"):
        _tl.open_library(str(tmp_path / "absent.so"), "scale")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BackendError, match="the C.. compiler `no-such-compiler` is not on this machine; install it"):
        kernel.export_library(tmp_path)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendError, match="no C.. compiler on this machine; install `g..` or `clang`"):
        kernel.export_library(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.undo()
    with pytest.raises(BackendError, match="cannot make the folder of"):
        kernel.export_library(tmp_path / "file")


def test_host_sources_are_edited_and_built_again(tmp_path):
    kernel = tilec.compile(scale, target="cpu")
    kernel.export_sources(tmp_path)
    assert (tmp_path / "device_kernel.s").read_text() == kernel.get_kernel_source()
    host = tmp_path / "host_kernel.cpp"
    assert host.read_text() == kernel.get_host_source()
    host.write_text(host.read_text().replace('Call call("scale"', 'Call call("my scale"'))
    library = tmp_path / "edited.so"
    compiler = shutil.which("c++") or "clang++-22"
    objects = sorted(tmp_path.glob("*.o"))
    run(compiler, "-std=c++17", "-shared", "-fPIC", f"-I{tmp_path}", host, *objects, "-o", library)
    call = opened(kernel, library)
    values = arguments()
    call(*values)
    np.testing.assert_allclose(values[1], expected(*values), rtol=1e-6)
    with pytest.raises(TLError, match="`my scale`: argument `n` is 1099511627776"):
        call(*values[:-1], 1 << 40)


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launches(kernel):
    """Returns what a function launches, with symbols for extents, and without the names of kernels."""
    plan = kernel.compile_info["functions"][kernel.name]

    def named(value):
        if isinstance(value, dict):
            return {k: named(v) for k, v in value.items() if k not in ("kernel", "entry")}
        if isinstance(value, list) and value and value[0] in ("dim", "stride"):
            argument = plan["args"][value[1]]
            if value[0] == "stride" and argument["strides"] is not None:
                return argument["strides"][value[2]]
            # A contiguous matrix has the extent of its rows as stride.
            return [*argument["shape"], 1][value[2] + (value[0] == "stride")]
        return [named(v) for v in value] if isinstance(value, list) else value

    return plan["args"], named(plan["launches"])


@T.prim_func
def two_steps(A: T.Tensor((M, 128), "float16"), B: T.Tensor((M, 128), "float16"), C: T.Tensor((M, 128), "float32")):
    with T.Kernel(T.ceildiv(M, 64), threads=128) as b:
        S = T.alloc_shared((64, 128), "float16")
        T.copy(A[b * 64, 0], S)
        T.copy(S, B[b * 64, 0])
    with T.Kernel(M, threads=128) as b:
        for i in T.Parallel(128):
            C[b, i] = T.float32(B[b, i]) * 2.0


@T.prim_func
def written(A: T.Tensor((M,), "float32"), W: T.Tensor((4,), "float32")):
    T.CUDASourceCodeKernel(
        T.ceildiv(M, 128),
        threads=128,
        entry_name="ns::scale<float, (3 > 2)>",
        args=[A, T.int32(M)],
        shared_memory=M * 4,
        symbols={"weights": W},
        source_code_or_path="""
__constant__ float weights[4];
namespace ns {
template <typename T, bool Twice> __global__ void scale(T *a, int n) {
  extern __shared__ T tile[];
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n)
    a[i] *= weights[i % 4] * (Twice ? 2 : 1);
}
}
""",
    )


def needs(*tools):
    found = any(toolchain()[tool]["path"] for tool in tools)
    return pytest.mark.skipif(not found, reason=f"there is no {' or '.join(tools)}")


@pytest.mark.parametrize(
    ("function", "chip", "backend"),
    [
        pytest.param(scale, "sm_80", "nvptx", id="one kernel"),
        pytest.param(two_steps, "sm_80", "nvptx", id="two kernels"),
        pytest.param(two_steps, "sm_90a", "nvptx", id="tensor maps"),
        pytest.param(written, "sm_80", "nvptx", marks=needs("nvrtc", "nvcc"), id="source kernel"),
        pytest.param(two_steps, "sm_90a", "nvcc", marks=needs("nvcc"), id="CUDA"),
    ],
)
def test_edited_device_sources_run_again(tmp_path, function, chip, backend):
    kernel = tilec.compile(function, target=chip, backend=backend)
    kernel.export_sources(tmp_path)
    again = tilec.compile(getattr(imported(tmp_path / f"{kernel.name}.py"), kernel.name), target=chip)

    assert launches(again) == launches(kernel)
    for source in tmp_path.glob("device_kernel*"):
        assert source.read_text() in again.get_kernel_source(), "what is written is what runs"

    edited = next(iter(sorted(tmp_path.glob("device_kernel*"))))
    edited.write_text("// edited\n" + edited.read_text())
    again = tilec.compile(getattr(imported(tmp_path / f"{kernel.name}.py"), kernel.name), target=chip)
    assert "// edited" in again.get_kernel_source()
