"""What compiling costs beside `ptxas` alone: `python python/benchmarks/compile_time.py`.

Each sample is another kernel without the cache, because nvJitLink keeps results of equal PTX in a process. `ptxas` runs
as a program on the PTX that we made. Needs `ptxas` on the path, and no GPU.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "integration"))
import kernels
import tilec

PROGRAMS = {
    "gemm 128x256x64, 4 stages": lambda i: kernels.gemm(
        4096, 4096, 4096 + 64 * i, "bfloat16", tile=(128, 256, 64), stages=4, threads=256
    ),
    "gemm 128x128x64, 3 stages": lambda i: kernels.gemm(4096, 4096, 4096 + 64 * i, "bfloat16"),
    "row softmax": lambda i: kernels.softmax(512 + 4 * i, 1024, "float16"),
}


def timed(function):
    """Milliseconds, and what the function returned."""
    start = time.perf_counter()
    result = function()
    return (time.perf_counter() - start) * 1e3, result


def measure(name, program, samples=7):
    cubin, ptx, alone = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "kernel.ptx"
        command = ["ptxas", "-arch=sm_90a", str(file), "-o", str(file.with_suffix(".cubin"))]
        for i in range(samples):
            function = program(i)
            cost, kernel = timed(lambda function=function: tilec.compile(function, target="sm_90a"))
            cubin.append(cost)
            function = program(i + samples)
            cost, _ = timed(lambda function=function: tilec.compile(function, target="sm_90a", assembler="none"))
            ptx.append(cost)
            file.write_text(kernel.get_ptx())
            alone.append(timed(lambda: subprocess.run(command, check=True))[0])
    ours, front, theirs = map(statistics.median, (cubin, ptx, alone))
    print(
        f"{name}: first {cubin[0]:.0f} ms, median {ours:.0f} ms (to PTX {front:.0f}), "
        f"ptxas alone {theirs:.0f} ms, ratio {ours / theirs:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    tilec.cache.disable()
    for name, program in PROGRAMS.items():
        measure(name, program)
