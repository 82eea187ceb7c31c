"""The whole way in one file: `python -m tilec.quickstart`.

Compiles a GEMM with a ReLU, through the cache, for this machine's GPU, or for its CPU where there is none; runs it,
checks the result, and says where everything lies and how long each step took. Where there is no GPU it also compiles
for one. Run it twice: the second time nothing is compiled.
"""

# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from __future__ import annotations

import time
from importlib.util import find_spec

START = time.perf_counter()

import tilec  # noqa: E402
import tilec.language as T  # noqa: E402
from tilec import cache, targets  # noqa: E402
from tilec.errors import TLError  # noqa: E402

IMPORTED = time.perf_counter()

M, N, K = 512, 384, 256


@T.prim_func
def gemm_relu(
    A: T.Tensor((M, K), "float16"),
    B: T.Tensor((K, N), "float16"),
    C: T.Tensor((M, N), "float16"),
):
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=128) as (bx, by):
        As = T.alloc_shared((128, 64), "float16")
        Bs = T.alloc_shared((64, 128), "float16")
        acc = T.alloc_fragment((128, 128), "float32")
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=3):
            T.copy(A[by * 128, k * 64], As)
            T.copy(B[k * 64, bx * 128], Bs)
            T.gemm(As, Bs, acc)
        for i, j in T.Parallel(128, 128):
            acc[i, j] = T.max(acc[i, j], 0)
        T.copy(acc, C[by * 128, bx * 128])


TRACED = time.perf_counter()


def step(what: str, seconds: float, remark: str = "") -> None:
    """Prints one line of the report."""
    print(f"  {what:<12} {seconds * 1e3:8.1f} ms  {remark}")


def compiled(target: str) -> tilec.Kernel:
    """Compiles for a target and reports it."""
    start = time.perf_counter()
    kernel = tilec.compile(gemm_relu, target=target)
    state = "from the cache, nothing compiled" if kernel.cached else "compiled"
    step("compile", time.perf_counter() - start, f"for {kernel.target}: {state}")
    return kernel


def show_files(kernel: tilec.Kernel) -> None:
    """Prints where a kernel's files are."""
    for entry in kernel.compile_info["kernels"]:
        print(f"  {entry['name']}: {', '.join(entry['files'])}")
        print(f"    in {entry['path'] or 'memory only: the cache is off'}")


def run(kernel: tilec.Kernel) -> bool:
    """Runs the kernel on random data and compares with NumPy."""
    import numpy as np

    random = np.random.default_rng(0)
    a = random.standard_normal((M, K)).astype(np.float16)
    b = random.standard_normal((K, N)).astype(np.float16)
    c = np.full((M, N), np.nan, np.float16)
    start = time.perf_counter()
    kernel(a, b, c)
    step("first run", time.perf_counter() - start, "with loading")
    start = time.perf_counter()
    kernel(a, b, c)
    step("second run", time.perf_counter() - start, "with copies to the GPU and back" if kernel.is_cuda else "")

    x, y = a.astype(np.float64), b.astype(np.float64)
    expected = np.maximum(x @ y, 0)
    # Rounding of the result to float16, and of the K float32 additions.
    bound = 2.0**-11 * expected + K * 2.0**-23 * (np.abs(x) @ np.abs(y)) + 2.0**-24
    error = np.abs(c.astype(np.float64) - expected)
    correct = bool(np.all(error <= bound))
    print(f"  result: {'correct' if correct else 'WRONG'}, greatest error {np.nanmax(error):.2g}")
    return correct


def main() -> int:
    """Runs the steps; returns the process's exit code."""
    if find_spec("numpy") is None:
        print("The kernel's numbers are NumPy's here: `pip install numpy`, and run this again.")
        return 1
    print(f"GEMM with ReLU, {M} x {N} x {K}, float16")
    step("import", IMPORTED - START)
    step("trace", TRACED - IMPORTED, "from Python to the tile dialect")
    kernel = compiled("auto")
    correct = run(kernel)
    show_files(kernel)
    kernels = [kernel]
    if targets.gpu_chip() is None:
        print("There is no GPU here; the same program for an H100:")
        try:
            kernels.append(compiled("sm_90a"))
            show_files(kernels[-1])
        except TLError as error:
            print(f"  {error}")
            correct = False
    if all(k.cached for k in kernels):
        print("Nothing was compiled: everything came from the cache.")
    elif cache.is_enabled():
        print("Run it again: nothing will be compiled.")
    return 0 if correct else 1


if __name__ == "__main__":
    raise SystemExit(main())
