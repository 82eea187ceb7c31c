"""The backend `tvm_ffi`, with the real package: tilec's calls, and those of any other host."""

import subprocess
import sys

import numpy as np
import pytest

import tilec
import tilec.language as T
from tilec.errors import TLError

tvm_ffi = pytest.importorskip("tvm_ffi")

M, N = T.dynamic("M, N")


@T.prim_func
def affine(
    A: T.Tensor((M, N), "float32"),
    B: T.Tensor((M, N), "float32"),
    unused: T.Tensor((N,), "int8"),
    a: T.float32,
    n: T.int32,
    big: T.uint64,
    flag: T.bool,
):
    with T.Kernel(M, T.ceildiv(N, 64), threads=64) as (x, y):
        for i in T.Parallel(64):
            if y * 64 + i < N:
                B[x, y * 64 + i] = a * A[x, y * 64 + i] + T.float32(n) + T.float32(big >> 60)


def arguments(m=3, n=100):
    A = np.random.default_rng(m * n).random((m, n), np.float32)
    return [A, np.full_like(A, np.nan), np.zeros(n, np.int8), 0.5, 7, 1 << 63, True]


def check(A, B, unused, a, n, big, flag):
    np.testing.assert_allclose(B, a * A + n + (big >> 60), rtol=1e-6)


@pytest.fixture(scope="module")
def kernel():
    return tilec.compile(affine, target="cpu", backend="tvm_ffi")


@pytest.mark.parametrize("shape", [(3, 100), (1, 1), (7, 640), (0, 5), (5, 0)])
def test_calls(kernel, shape):
    values = arguments(*shape)
    kernel(*values)
    check(*values)


def test_results_are_allocated():
    kernel = tilec.compile(affine, out_idx=[1], target="cpu", backend="tvm_ffi")
    A, _, *others = arguments()
    check(A, kernel(A, *others), *others)


def test_tensors_of_the_package(kernel):
    values = arguments()
    kernel(*(tvm_ffi.from_dlpack(v) if isinstance(v, np.ndarray) else v for v in values))
    check(*values)


def wrong_arguments():
    A, B, C, *others = arguments()
    yield "dtype", (A.astype(np.float64), B, C, *others)
    yield "rank", (A[0], B, C, *others)
    yield "shape", (A[:2], B, C, *others)
    yield "stride", (np.zeros((3, 200), np.float32)[:, ::2], B, C, *others)
    yield "scalar for tensor", (1, B, C, *others)
    yield "none for tensor", (None, B, C, *others)
    yield "float for integer", (A, B, C, 0.5, 1.5, 0, True)
    yield "large integer", (A, B, C, 0.5, 1 << 40, 0, True)
    yield "negative integer", (A, B, C, 0.5, 0, -1, True)
    yield "large float", (A, B, C, 1e300, 7, 0, True)
    yield "no Boolean", (A, B, C, 0.5, 7, 0, 2)


@pytest.mark.parametrize("values", [pytest.param(v, id=name) for name, v in wrong_arguments()])
def test_errors_are_those_of_other_backends(kernel, values):
    raised = []
    for function in (tilec.compile(affine, target="cpu"), kernel):
        with pytest.raises(TLError) as error:
            function(*values)
        raised.append(error.value)
    assert type(raised[1]) is type(raised[0])
    assert raised[1].message == raised[0].message


def test_what_the_package_refuses_is_an_error_too(kernel):
    A, B, C, *others = arguments()
    with pytest.raises(TLError, match="argument `A` is an argument of unknown kind, expected a tensor of f32"):
        kernel("text", B, C, *others)
    with pytest.raises(TLError):
        kernel(object(), B, C, *others)


PROGRAM = """
import sys
import numpy as np
import tvm_ffi

module = tvm_ffi.load_module(sys.argv[1])
A = np.arange(12, dtype=np.float32).reshape(3, 4)
B, C = np.zeros_like(A), np.zeros(4, np.int8)
module.affine(*map(tvm_ffi.from_dlpack, (A, B, C)), 2.0, 1, 0, False)
assert (B == 2 * A + 1).all()
for wrong in ((A[:2], B, C, 2.0, 1, 0, False), (A.astype(np.int32), B, C, 2.0, 1, 0, False), (A, B)):
    try:
        module.affine(*(tvm_ffi.from_dlpack(v) if isinstance(v, np.ndarray) else v for v in wrong))
    except Exception as error:
        print(type(error).__name__, error)
assert not any(name.split(".")[0] == "tilec" for name in sys.modules)
"""


@pytest.mark.parametrize("how", ["artifact", "export_library"])
def test_another_host_loads_the_library(kernel, tmp_path, how):
    library = tmp_path / "lib" / "libaffine.so"
    if how == "artifact":
        library.parent.mkdir()
        library.write_bytes(kernel.artifact["executable.so"])
    else:
        tilec.compile(affine, target="cpu").export_library(tmp_path)
    result = subprocess.run([sys.executable, "-c", PROGRAM, str(library)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    shape, dtype, count = result.stdout.splitlines()
    assert shape.startswith("ValueError `affine`: dimension 0 of `B` is 3, expected 2")
    assert dtype.startswith("TypeError `affine`: argument `A` has dtype i32, expected f32")
    assert count.startswith("TypeError `affine`: expected 7 arguments, got 2")


def test_the_library_comes_from_the_cache(own_cache):
    tilec.cache.clear(kernels=False, tuning=False)  # what this process holds
    first = tilec.compile(affine, target="cpu", backend="tvm_ffi")
    assert not first.cached
    tilec.cache.clear(kernels=False, tuning=False)
    second = tilec.compile(affine, target="cpu", backend="tvm_ffi")
    assert second is not first
    assert second.cached
    assert second.artifact["executable.so"] == first.artifact["executable.so"]
    assert second.artifact.text("host_kernel.cpp") == second.get_host_source()


def test_a_library_for_a_gpu_is_built_without_one():
    kernel = tilec.compile(affine, target="sm_80", backend="tvm_ffi")
    assert "namespace sm_80 {" in kernel.artifact.text("host_kernel.cpp")
    assert kernel.artifact["executable.so"].startswith(b"\x7fELF")
    assert ".target sm_80" in kernel.get_kernel_source()
