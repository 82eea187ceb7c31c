"""The whole way in one file: `python -m tilec.quickstart`.

Compiles a GEMM with a ReLU, through the cache, for this machine's GPU, or for its CPU where there is none; runs it,
checks the result, and says where everything lies and how long each step took. Where there is no GPU it also compiles
for one. Run it twice: the second time nothing is compiled.
"""

# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from __future__ import annotations

import math
import random
import struct
import time
from operator import mul

START = time.perf_counter()

import tilec  # noqa: E402
import tilec.language as T  # noqa: E402
from tilec import cache, targets  # noqa: E402
from tilec.errors import TLError  # noqa: E402
from tilec.typed import TYPE_CHECKING  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def halves(values: Sequence[float]) -> bytes:
    """Returns numbers as float16."""
    return struct.pack(f"{len(values)}e", *values)


def floats(data: bytes | bytearray) -> tuple[float, ...]:
    """Returns the numbers of float16."""
    return struct.unpack(f"{len(data) // 2}e", data)


def run(kernel: tilec.Kernel) -> bool:
    """Runs the kernel on random data and checks four rows of each tile: without NumPy, all would take seconds."""
    source = random.Random(0)
    data = [halves([source.gauss(0, 1) for _ in range(size)]) for size in (M * K, K * N)]
    device = 0 if kernel.is_cuda else None
    a, b, c = (tilec.Array.empty(shape, "float16", cuda=device) for shape in ((M, K), (K, N), (M, N)))
    a.copy_from(data[0])
    b.copy_from(data[1])
    c.copy_from(halves([math.nan]) * (M * N))
    result = bytearray(2 * M * N)
    start = time.perf_counter()
    kernel(a, b, c)
    c.copy_into(result)
    step("first run", time.perf_counter() - start, "with loading")
    start = time.perf_counter()
    kernel(a, b, c)
    c.copy_into(result)
    step("second run", time.perf_counter() - start, "with a copy from the GPU" if kernel.is_cuda else "")

    x, y, found = floats(data[0]), floats(data[1]), floats(result)
    columns = [y[j::N] for j in range(N)]
    correct, greatest = not any(map(math.isnan, found)), 0.0
    for i in range(0, M, 32):
        row = x[i * K : (i + 1) * K]
        for j, column in enumerate(columns):
            products = list(map(mul, row, column))
            expected = max(math.fsum(products), 0.0)
            # Rounding of the result to float16, and of the K float32 additions.
            bound = 2.0**-11 * expected + K * 2.0**-23 * sum(map(abs, products)) + 2.0**-24
            error = abs(found[i * N + j] - expected)
            greatest = max(greatest, error)
            correct = correct and error <= bound
    print(f"  result: {'correct' if correct else 'WRONG'}, greatest error {greatest:.2g}")
    return correct


def main() -> int:
    """Runs the steps; returns the process's exit code."""
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
