"""Time per call from Python, with 1, 3 and 10 tensors, beside a loop of cuLaunchKernelEx in C and beside other systems.

    python launch.py

Needs a GPU, PyTorch and a C compiler. Triton, TileLang and CuPy take part where they can be imported. Every kernel
writes a one to 128 elements of each tensor; an *eager* call finds its kernel by the tensors, and *with a result* the
call allocates one tensor more. A figure is the best of several loops of calls, for which the systems take turns; the
queue is drained between loops, not within.
"""

import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import torch

import tilec
import tilec.language as T
from tilec.errors import BackendError

COUNTS = (1, 3, 10)
ROUNDS, CALLS = 40, 300

FOLDER = Path(tempfile.mkdtemp(prefix="launch-"))
"""For sources and libraries that are made here."""


def loop(call, arguments):
    """Returns a function that makes calls and returns the seconds that one took."""

    def run():
        start = time.perf_counter()
        for _ in range(CALLS):
            call(*arguments)
        return (time.perf_counter() - start) / CALLS

    return run


def generated(name, source):
    """Returns the module of a source, for compilers that want to read it again."""
    path = FOLDER / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(count):
    return [f"x{i}" for i in range(count)]


def tl(count, **options):
    module = T.Module()
    annotations = [T.Tensor((128,), "float32")] * count
    with module.function(f"touch{count}", *annotations) as tensors, T.Kernel(1, threads=128), T.Parallel(128) as i:
        for tensor in tensors if count > 1 else (tensors,):
            tensor[i] = 1.0
    return tilec.compile(module, **options)


def tl_kernel(count, tensors):
    return loop(tl(count), tensors)


def tl_operator(count, tensors):
    """Calls through PyTorch's dispatcher."""
    return loop(tl(count, backend="torch"), tensors)


def tl_nvcc(count, tensors):
    """Calls a library, `kernel_lib.so`."""
    return loop(tl(count, backend="nvcc"), tensors)


def tl_tvm_ffi(count, tensors):
    """Calls through apache-tvm-ffi."""
    return loop(tl(count, backend="tvm_ffi"), tensors)


def custom_op(count, tensors):
    """Calls our kernel through the wrapper that PyTorch has for such operators."""
    kernel = tl(count)
    schema = f"({', '.join(f'Tensor(a{i}!) {name}' for i, name in enumerate(names(count)))}) -> ()"
    wrapped = torch.library.custom_op(f"benchmark::touch{count}", kernel, mutates_args=names(count), schema=schema)
    return loop(wrapped, tensors)


def c_loop(count, tensors):
    """Launches our own kernel from C."""
    kernel = tl(count)
    kernel(*tensors)
    library = FOLDER / "launch_loop.so"
    source = Path(__file__).with_name("launch_loop.c")
    if not library.exists():
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    made = ctypes.CDLL(str(library))
    made.findFunction.restype, made.launchOften.restype = ctypes.c_void_p, ctypes.c_double
    name = kernel.compile_info["kernels"][0]["name"].encode()
    function = ctypes.c_void_p(made.findFunction(kernel.file("kernel.cubin"), name))
    pointers = (ctypes.c_void_p * count)(*(tensor.data_ptr() for tensor in tensors))

    def run():
        found = made.launchOften(function, pointers, count, CALLS)
        if found < 0:
            raise RuntimeError("a launch from C failed")
        return found

    return run


def eager(count, result):
    """Returns an eager function; with a result, it makes a tensor and returns it."""
    body = "".join(f"    {name}: T.Tensor[[128], T.float32]\n" for name in names(count))
    body += "    y = T.empty((128,), T.float32)\n" if result else ""
    body += "    with T.Kernel(1, threads=128):\n        for i in T.Parallel(128):\n"
    body += "".join(f"            {name}[i] = 1.0\n" for name in [*names(count), *(["y"] if result else [])])
    body += "    return y\n" if result else ""
    source = f"import tilec\nimport tilec.language as T\n\n\n@tilec.jit\ndef touch({', '.join(names(count))}):\n{body}"
    return generated(f"tl_eager{count}_{result}", source).touch


def tl_eager(count, tensors):
    """Calls a function that finds its kernel by its tensors."""
    return loop(eager(count, result=False), tensors)


def tl_result(count, tensors):
    """Calls one that allocates a tensor and returns it."""
    return loop(eager(count, result=True), tensors)


def triton_kernel(count, tensors):
    importlib.import_module("triton")
    body = "\n".join(f"    tl.store({name} + i, 1.0)" for name in names(count))
    source = f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef touch({', '.join(names(count))}):\n"
    source += f"    i = tl.arange(0, 128)\n{body}\n"
    launch = generated(f"triton_touch{count}", source).touch[(1,)]
    return loop(lambda *arguments: launch(*arguments, num_warps=4), tensors)


def tilelang(count, result=False):
    """Returns a kernel of TileLang; with a result, the last parameter is one."""
    tilelang = importlib.import_module("tilelang")
    written = [*names(count), *(["y"] if result else [])]
    parameters = ", ".join(f"{name}: L.Tensor((128,), L.float32)" for name in written)
    body = "\n".join(f"        {name}[i] = 1.0" for name in written)
    source = f"import tilelang.language as L\n\n@L.prim_func\ndef touch({parameters}):\n"
    source += f"    with L.Kernel(1, threads=128) as b:\n        i = L.get_thread_binding()\n{body}\n"
    program = generated(f"tilelang_touch{count}_{result}", source).touch
    return tilelang.compile(program, out_idx=-1 if result else None, target="cuda")


def tilelang_kernel(count, tensors):
    return loop(tilelang(count), tensors)


def tilelang_result(count, tensors):
    return loop(tilelang(count, result=True), tensors)


def tilelang_eager(count, tensors):
    importlib.import_module("tilelang")
    body = "".join(f"    {name}: L.Tensor[[128], L.float32]\n" for name in names(count))
    body += "    with L.Kernel(1, threads=128) as b:\n        i = L.get_thread_binding()\n"
    body += "".join(f"        {name}[i] = 1.0\n" for name in names(count))
    source = "import tilelang\nimport tilelang.language as L\n\n@tilelang.jit\n"
    source += f"def touch({', '.join(names(count))}):\n{body}"
    return loop(generated(f"tilelang_eager{count}", source).touch, tensors)


def cupy_kernel(count, tensors):
    import cupy

    parameters = ", ".join(f"float *x{i}" for i in range(count))
    body = "".join(f"x{i}[threadIdx.x] = 1.f;" for i in range(count))
    kernel = cupy.RawKernel(f'extern "C" __global__ void touch({parameters}) {{ {body} }}', "touch")
    arrays = tuple(cupy.from_dlpack(tensor) for tensor in tensors)
    return loop(lambda: kernel((1,), (128,), arrays), ())


SYSTEMS = {
    "C loop": c_loop,
    "TL": tl_kernel,
    "TL, eager": tl_eager,
    "TL, with a result": tl_result,
    "TL, backend nvcc": tl_nvcc,
    "TL, backend tvm_ffi": tl_tvm_ffi,
    "TL, backend torch": tl_operator,
    "TL, custom_op": custom_op,
    "TileLang": tilelang_kernel,
    "TileLang, eager": tilelang_eager,
    "TileLang, with a result": tilelang_result,
    "Triton": triton_kernel,
    "CuPy": cupy_kernel,
}


def prepare(name, count):
    """Returns what measures a system once, after it was seen to do its work; or None without the system."""
    tensors = tuple(torch.zeros(128, device="cuda") for _ in range(count))
    try:
        run = SYSTEMS[name](count, tensors)
    except (ImportError, BackendError) as error:
        print(f"{name} is left out: {error}")
        return None
    run()
    torch.cuda.synchronize()
    assert all(bool((tensor == 1).all()) for tensor in tensors), f"{name} is wrong"
    return run


def measure(count):
    """Returns the best time of each system: they take turns, so that what else the machine does hits all alike."""
    loops = {name: run for name in SYSTEMS if (run := prepare(name, count))}
    best = dict.fromkeys(loops, float("inf"))
    for _ in range(ROUNDS):
        for name, run in loops.items():
            best[name] = min(best[name], run())
            torch.cuda.synchronize()
    return best


def main():
    found = [measure(count) for count in COUNTS]
    print(f"{torch.cuda.get_device_name()}: microseconds per call with {', '.join(map(str, COUNTS))} tensors")
    for name in found[0]:
        print(f"{name:25}{''.join(f'{best[name] * 1e6:8.2f}' for best in found)}")
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
