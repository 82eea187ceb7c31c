"""What it costs to find a bf16 GEMM in the cache, in one process: `python python/benchmarks/cache.py`.

Each row has the median and the best of several compilations of the same function, in milliseconds. Key and lookup are
the compiler's own clock around them, once per kernel; the rest is what a caller waits for. Every file that comes from
disk is verified. TileLang and Triton take part where they can be imported, with the same program and with a kernel of
the same tiles; what they keep in memory is dropped before each of their lookups on disk. `--target sm_90a` needs no
GPU.
"""

import argparse
import gc
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

SIZE, TILE, STAGES, THREADS = 4096, (128, 128, 64), 3, 128
REPEATS = 50

TILE_PROGRAM = """
import {package}.language as T

@T.prim_func
def gemm(A: T.Tensor(({size}, {size}), "bfloat16"), B: T.Tensor(({size}, {size}), "bfloat16"),
         C: T.Tensor(({size}, {size}), "bfloat16")):
    with T.Kernel(T.ceildiv({size}, {n}), T.ceildiv({size}, {m}), threads={threads}) as (bx, by):
        As = T.alloc_shared(({m}, {k}), "bfloat16")
        Bs = T.alloc_shared(({k}, {n}), "bfloat16")
        acc = T.alloc_fragment(({m}, {n}), "float32")
        T.clear(acc)
        for i in T.Pipelined(T.ceildiv({size}, {k}), num_stages={stages}):
            T.copy(A[by * {m}, i * {k}], As)
            T.copy(B[i * {k}, bx * {n}], Bs)
            T.gemm(As, Bs, acc)
        T.copy(acc, C[by * {m}, bx * {n}])
"""

TRITON_PROGRAM = """
import triton
import triton.language as tl

@triton.jit
def gemm(a, b, c, size, m: tl.constexpr, n: tl.constexpr, k: tl.constexpr):
    rows = tl.program_id(1) * m + tl.arange(0, m)
    columns = tl.program_id(0) * n + tl.arange(0, n)
    inner = tl.arange(0, k)
    acc = tl.zeros((m, n), dtype=tl.float32)
    for i in range(0, size, k):
        x = tl.load(a + rows[:, None] * size + (i + inner)[None, :])
        y = tl.load(b + (i + inner)[:, None] * size + columns[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * size + columns[None, :], acc.to(tl.bfloat16))
"""


def load(name, source, folder):
    """Imports `source`; front ends want to read the file that a function is in."""
    path = Path(folder) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.gemm


def load_tile_program(package, folder):
    m, n, k = TILE
    source = TILE_PROGRAM.format(package=package, size=SIZE, m=m, n=n, k=k, stages=STAGES, threads=THREADS)
    return load(f"{package}_gemm", source, folder)


def once(call):
    """The milliseconds that a call takes."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def repeat(call, before=lambda: None):
    """The same of many calls, each after `before`."""
    times = []
    for _ in range(REPEATS):
        before()
        times.append(once(call))
    return times


def measure_tl(folder, options):
    os.environ["TL_CACHE_DIR"] = str(Path(folder) / "tl")
    import tilec
    from tilec import backends

    function = load_tile_program("tilec", folder)

    def call():
        return tilec.compile(function, target=options.target)

    def forget_functions():
        for backend in backends.known():
            backend.kernels.forget()

    def forget():
        tilec.cache.clear(kernels=False, tuning=False)

    def lookup(before):
        """What the compiler counts of its lookups, each after `before`."""
        costs = []
        for _ in range(REPEATS):
            before()
            start = tilec.cache.stats()
            call()
            now = tilec.cache.stats()
            assert now["hits"] == start["hits"] + 1
            assert now["misses"] == start["misses"]
            costs.append((now["lookup_seconds"] - start["lookup_seconds"]) * 1e3)
        return costs

    yield "TL", "compile", [once(call)]
    yield "TL", "key and lookup, in memory", lookup(forget_functions)
    yield "TL", "key and lookup, on disk", lookup(forget)
    yield "TL", "tilec.compile, what this process holds ready", repeat(call)
    yield "TL", "tilec.compile, from memory", repeat(call, forget_functions)
    yield "TL", "tilec.compile, from disk", repeat(call, forget)


def measure_tilelang(folder, options):
    os.environ["TILELANG_CACHE_DIR"] = str(Path(folder) / "tilelang")
    import tilelang

    tilelang.enable_cache()
    function = load_tile_program("tilelang", folder)

    def call():
        return tilelang.compile(function, target="cuda")

    def forget():
        for thing in gc.get_objects():
            if type(thing).__name__.endswith("KernelCache") and hasattr(thing, "_memory_cache"):
                thing._memory_cache.clear()

    version = f"TileLang {tilelang.__version__}"
    yield version, "compile", [once(call)]
    yield version, "tilelang.compile, from memory", repeat(call)
    yield version, "tilelang.compile, from disk", repeat(call, forget)


def measure_triton(folder, options):
    os.environ["TRITON_CACHE_DIR"] = str(Path(folder) / "triton")
    import torch
    import triton

    m, n, k = TILE
    kernel = load("triton_gemm", TRITON_PROGRAM, folder)
    tensors = [torch.zeros(SIZE, SIZE, dtype=torch.bfloat16, device="cuda") for _ in range(3)]

    def call():
        return kernel.warmup(*tensors, SIZE, m=m, n=n, k=k, grid=(1, 1), num_stages=STAGES, num_warps=THREADS // 32)

    version = f"Triton {triton.__version__}"
    yield version, "compile", [once(call)]
    yield version, "warmup, from memory", repeat(call)
    yield version, "warmup, from disk", repeat(call, kernel.device_caches.clear)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default="auto", help="what TL compiles for")
    options = parser.parse_args()
    print(f"{'system':20}{'what':48}{'median ms':>12}{'best ms':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for system in (measure_tl, measure_tilelang, measure_triton):
            try:
                for name, what, costs in system(folder, options):
                    print(f"{name:20}{what:48}{statistics.median(costs):12.3f}{min(costs):10.3f}", flush=True)
            except ImportError as error:
                print(f"left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
