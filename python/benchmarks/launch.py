"""Time per call from Python, with 1, 3 and 10 tensors, beside a loop of cuLaunchKernelEx in C and beside other systems.

    python launch.py

Needs a GPU, PyTorch and a C compiler. Triton, TileLang and CuPy take part where they can be imported. Every kernel
writes a one to 128 elements of each tensor; an *eager* call finds its kernel by the tensors, and *with a result* the
call allocates one tensor more. A figure is the best of several loops of calls; the queue is drained between loops, not
within.
"""

import contextlib
import ctypes
import importlib.util
import subprocess
import tempfile
import time
from pathlib import Path

import torch

import tilec
import tilec.language as T
from tilec.errors import BackendError

COUNTS = (1, 3, 10)
ROUNDS, CALLS = 15, 300


def measure(call, arguments):
    """Returns the seconds that a call takes."""
    for _ in range(20):
        call(*arguments)
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call(*arguments)
        best = min(best, (time.perf_counter() - start) / CALLS)
        torch.cuda.synchronize()
    return best


@contextlib.contextmanager
def generated(name, source):
    """Returns the module of a source, for compilers that want to read it again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def names(count):
    return [f"x{i}" for i in range(count)]


def tl(count, **options):
    module = T.Module()
    annotations = [T.Tensor((128,), "float32")] * count
    with module.function(f"touch{count}", *annotations) as tensors, T.Kernel(1, threads=128), T.Parallel(128) as i:
        for tensor in tensors if count > 1 else (tensors,):
            tensor[i] = 1.0
    return tilec.compile(module, **options)


def tl_time(count, tensors):
    return measure(tl(count), tensors)


def tl_operator_time(count, tensors):
    """Returns the time of a call through PyTorch's dispatcher."""
    return measure(tl(count, backend="torch"), tensors)


def tl_nvcc_time(count, tensors):
    """Returns the time of a call of a library, `kernel_lib.so`."""
    return measure(tl(count, backend="nvcc"), tensors)


def tl_tvm_ffi_time(count, tensors):
    """Returns the time of a call through apache-tvm-ffi."""
    return measure(tl(count, backend="tvm_ffi"), tensors)


def custom_op_time(count, tensors):
    """Returns the time of a call of our kernel through the wrapper that PyTorch has for such operators."""
    kernel = tl(count)
    schema = f"({', '.join(f'Tensor(a{i}!) {name}' for i, name in enumerate(names(count)))}) -> ()"
    wrapped = torch.library.custom_op(f"benchmark::touch{count}", kernel, mutates_args=names(count), schema=schema)
    return measure(wrapped, tensors)


def c_time(count, tensors):
    """Returns the time of a launch of our own kernel from a loop in C."""
    kernel = tl(count)
    kernel(*tensors)
    torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "launch_loop.so"
        source = Path(__file__).with_name("launch_loop.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        loop = ctypes.CDLL(str(library)).measureLaunches
    loop.restype = ctypes.c_double
    pointers = (ctypes.c_void_p * count)(*(tensor.data_ptr() for tensor in tensors))
    name = kernel.compile_info["kernels"][0]["name"]
    found = loop(kernel.file("kernel.cubin"), name.encode(), pointers, count, ROUNDS, CALLS)
    if found < 0:
        raise RuntimeError(f"the loop in C failed with {found}")
    return found


def tl_eager(count, result):
    body = "".join(f"    {name}: T.Tensor[[128], T.float32]\n" for name in names(count))
    body += "    y = T.empty((128,), T.float32)\n" if result else ""
    body += "    with T.Kernel(1, threads=128):\n        for i in T.Parallel(128):\n"
    body += "".join(f"            {name}[i] = 1.0\n" for name in [*names(count), *(["y"] if result else [])])
    body += "    return y\n" if result else ""
    source = "import tilec\nimport tilec.language as T\n\n\n@tilec.jit\n"
    return f"{source}def touch({', '.join(names(count))}):\n{body}"


def tl_eager_time(count, tensors):
    """Returns the time of a call that finds its kernel by its tensors."""
    with generated(f"tl_eager{count}", tl_eager(count, result=False)) as module:
        return measure(module.touch, tensors)


def tl_result_time(count, tensors):
    """Returns the time of such a call that also allocates a tensor and returns it."""
    with generated(f"tl_result{count}", tl_eager(count, result=True)) as module:
        return measure(module.touch, tensors)


def triton_time(count, tensors):
    importlib.import_module("triton")
    body = "\n".join(f"    tl.store({name} + i, 1.0)" for name in names(count))
    source = f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef touch({', '.join(names(count))}):\n"
    source += f"    i = tl.arange(0, 128)\n{body}\n"
    with generated(f"triton_touch{count}", source) as module:
        launch = module.touch[(1,)]
        return measure(lambda *arguments: launch(*arguments, num_warps=4), tensors)


def tilelang(count, result=False):
    """Returns a kernel of TileLang; with a result, the last parameter is one."""
    tilelang = importlib.import_module("tilelang")
    written = [*names(count), *(["y"] if result else [])]
    parameters = ", ".join(f"{name}: L.Tensor((128,), L.float32)" for name in written)
    body = "\n".join(f"        {name}[i] = 1.0" for name in written)
    source = f"import tilelang.language as L\n\n@L.prim_func\ndef touch({parameters}):\n"
    source += f"    with L.Kernel(1, threads=128) as b:\n        i = L.get_thread_binding()\n{body}\n"
    with generated(f"tilelang_touch{count}", source) as module:
        return tilelang.compile(module.touch, out_idx=-1 if result else None, target="cuda")


def tilelang_time(count, tensors):
    return measure(tilelang(count), tensors)


def tilelang_result_time(count, tensors):
    return measure(tilelang(count, result=True), tensors)


def tilelang_eager_time(count, tensors):
    body = "".join(f"    {name}: L.Tensor[[128], L.float32]\n" for name in names(count))
    body += "    with L.Kernel(1, threads=128) as b:\n        i = L.get_thread_binding()\n"
    body += "".join(f"        {name}[i] = 1.0\n" for name in names(count))
    source = "import tilelang\nimport tilelang.language as L\n\n@tilelang.jit\n"
    with generated(f"tilelang_eager{count}", f"{source}def touch({', '.join(names(count))}):\n{body}") as module:
        return measure(module.touch, tensors)


def cupy_time(count, tensors):
    import cupy

    parameters = ", ".join(f"float *x{i}" for i in range(count))
    body = "".join(f"x{i}[threadIdx.x] = 1.f;" for i in range(count))
    kernel = cupy.RawKernel(f'extern "C" __global__ void touch({parameters}) {{ {body} }}', "touch")
    arrays = tuple(cupy.from_dlpack(tensor) for tensor in tensors)
    return measure(lambda: kernel((1,), (128,), arrays), ())


SYSTEMS = {
    "C loop": c_time,
    "TL": tl_time,
    "TL, eager": tl_eager_time,
    "TL, with a result": tl_result_time,
    "TL, backend nvcc": tl_nvcc_time,
    "TL, backend tvm_ffi": tl_tvm_ffi_time,
    "TL, backend torch": tl_operator_time,
    "TL, custom_op": custom_op_time,
    "TileLang": tilelang_time,
    "TileLang, eager": tilelang_eager_time,
    "TileLang, with a result": tilelang_result_time,
    "Triton": triton_time,
    "CuPy": cupy_time,
}


def main():
    print(f"{torch.cuda.get_device_name()}: microseconds per call with {', '.join(map(str, COUNTS))} tensors")
    for name, system in SYSTEMS.items():
        figures = []
        for count in COUNTS:
            tensors = tuple(torch.zeros(128, device="cuda") for _ in range(count))
            try:
                figures.append(f"{system(count, tensors) * 1e6:8.2f}")
            except (ImportError, BackendError) as error:
                figures = [f"left out: {error}"]
                break
            assert all(bool((tensor == 1).all()) for tensor in tensors), f"{name} is wrong"
        print(f"{name:25}{''.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
