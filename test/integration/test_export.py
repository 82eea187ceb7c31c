"""Functions outside of Python on a GPU: libraries, called by processes without tilec, and edited sources."""

import importlib.util
import os
import random
import subprocess
import sys

import pytest

import kernels
import tilec
import tilec.language as T
from tilec import _tl
from tilec.errors import DeviceError, LaunchError, ShapeError

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU answers", allow_module_level=True)

MAJOR, MINOR = torch.cuda.get_device_capability()
OWN = "sm_90a" if (MAJOR, MINOR) == (9, 0) else f"sm_{MAJOR}{MINOR}"
CHIPS = sorted({OWN, f"sm_{MAJOR}{MINOR}"})
random.seed(os.environ.get("TL_TEST_SEED"))


def opened(kernel, folder):
    """Returns the function of an exported library, called as a kernel is."""
    return kernel.backend.launcher(kernel, _tl.open_library(str(folder / "lib" / f"lib{kernel.name}.so"), kernel.name))


def gemm_arguments(m, n, k):
    A, B = (torch.randn(*shape, device="cuda", dtype=torch.float16) for shape in ((m, k), (k, n)))
    return A, B, torch.full((m, n), float("nan"), device="cuda", dtype=torch.float16)


def check_gemm(A, B, C):
    reference = (A.double() @ B.double()).clamp(min=0)
    bound = 2.0**-11 * reference.abs() + A.shape[1] * 2.0**-23 * (A.double().abs() @ B.double().abs())
    assert ((C.double() - reference).abs() <= bound).all()


@pytest.mark.parametrize("chip", CHIPS)
def test_a_library_computes_what_the_kernel_does(tmp_path, chip):
    """With tensor maps (the chip's own features) and without."""
    M, N, K = T.dynamic("M, N, K")
    function = kernels.gemm(M, N, K, "float16", threads=128 if chip.endswith("a") else 256)
    kernel = tilec.compile(function, target=chip)
    kernel.export_library(tmp_path)
    call = opened(kernel, tmp_path)
    for _ in range(5):
        m, n, k = (8 * random.randrange(1, 200) for _ in range(3))
        A, B, C = gemm_arguments(m, n, k)
        call(A, B, C)
        check_gemm(A, B, C)
        expected = torch.empty_like(C)
        kernel(A, B, expected)
        assert torch.equal(C, expected)


PROGRAM = """
import ctypes, sys, torch

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]

def passed(tensor):
    shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
    type, id = tensor.__dlpack_device__()
    made = Tensor(tensor.data_ptr(), int(type), id, tensor.dim(), 2, 32, 1, ctypes.addressof(shape), None, 0)
    made.keep = shape
    return ctypes.byref(made)

library = ctypes.CDLL(sys.argv[1])
library.tl_main_error.restype = ctypes.c_char_p
n = 100_003
A, B = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
C = torch.full_like(A, float("nan"))

stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    assert library.tl_main(passed(A), passed(B), passed(C), ctypes.c_void_p(stream.cuda_stream)) == 0
stream.synchronize()
assert torch.equal(C, A * 2 + B)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    current = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    assert library.tl_main(passed(A), passed(C), passed(B), current) == 0
A.fill_(1)
C.fill_(5)
graph.replay()
torch.cuda.synchronize()
assert torch.equal(B, A * 2 + C)

assert library.tl_main(passed(A), passed(B[:-1]), passed(C), None) == 6
print(library.tl_main_error().decode())
assert library.tl_main(passed(A), passed(B.cpu()), passed(C), None) == 9
print(library.tl_main_error().decode())
assert not any(name.split(".")[0] == "tilec" for name in sys.modules)
"""


def test_a_process_without_tilec_calls_a_library(tmp_path):
    """On a stream, and captured into a graph."""
    function = kernels.axpy(T.dynamic("n"), "float32")
    chips = ["sm_80", *CHIPS] if (MAJOR, MINOR) != (8, 0) else CHIPS
    tilec.compile(function, target=OWN).export_library(tmp_path, chips)
    library = tmp_path / "lib" / "libmain.so"
    command = [sys.executable, "-c", PROGRAM, str(library)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    shape, device = result.stdout.splitlines()
    assert shape.startswith("`main`: dimension 0 of `B` is 100002, expected 100003")
    assert device.startswith("`main`: argument `B` is on the CPU, expected a CUDA device")


def test_a_library_for_other_gpus_says_so(tmp_path):
    other = "sm_80" if MAJOR != 8 else "sm_90"
    kernel = tilec.compile(kernels.axpy(64, "float32"), target=other)
    kernel.export_library(tmp_path)
    tensors = [torch.zeros(64, device="cuda") for _ in range(3)]
    with pytest.raises(LaunchError, match=f"was built for {other}, this GPU .* is sm_{MAJOR}{MINOR}; compile it for"):
        opened(kernel, tmp_path)(*tensors)


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("chip", CHIPS)
def test_exported_sources_run_again(tmp_path, chip):
    function = kernels.gemm(T.dynamic("M"), 512, 256, "float16", threads=128 if chip.endswith("a") else 256)
    kernel = tilec.compile(function, target=chip)
    kernel.export_sources(tmp_path)
    again = tilec.compile(imported(tmp_path / "main.py").main, target=chip)
    A, B, C = gemm_arguments(1000, 512, 256)
    again(A, B, C)
    check_gemm(A, B, C)


@T.prim_func
def triple(A: T.Tensor((T.dynamic("n"),), "float32"), C: T.Tensor((T.dynamic("n"),), "float32")):
    with T.Kernel(T.ceildiv(T.dynamic("n"), 256), threads=256) as b:
        for i in T.Parallel(256):
            C[b * 256 + i] = A[b * 256 + i] * 3.0


def test_an_edited_source_does_something_else(tmp_path):
    tilec.compile(triple, target=OWN, backend="nvptx").export_sources(tmp_path)
    source = tmp_path / "device_kernel.ptx"
    three, five = "0f40400000", "0f40A00000"
    assert three in source.read_text()
    source.write_text(source.read_text().replace(three, five))
    A = torch.randn(1000, device="cuda")
    C = torch.full_like(A, float("nan"))
    tilec.compile(imported(tmp_path / "triple.py").triple, target=OWN)(A, C)
    assert torch.equal(C, A * 5)


def test_errors_of_a_call(tmp_path):
    kernel = tilec.compile(kernels.gemm(T.dynamic("M"), 512, 256, "float16"), target=OWN)
    kernel.export_library(tmp_path)
    call = opened(kernel, tmp_path)
    A, B, C = gemm_arguments(64, 512, 256)
    for error, arguments in ((ShapeError, (A, B[:128], C)), (DeviceError, (A, B.cpu(), C))):
        messages = []
        for function in (kernel, call):
            with pytest.raises(error) as raised:
                function(*arguments)
            messages.append(raised.value.message)
        assert messages[0] == messages[1]
