"""The speed of the simulator: `python python/benchmarks/simulator.py [--threads N]`.

- thread-instructions per second and core, on element-wise arithmetic and on rows that go through shared memory: an
  instruction of the program counts once for each thread that executes it.
- the time of a float16 GEMM of 256³ with the pipeline of each chip, and with roles on Hopper, without and with checks.
"""

import argparse
import time

import numpy as np

import tilec
import tilec.language as T
from tilec import _tl
from tilec.backends import sim


def mix(n, rounds):
    """Integer arithmetic, `rounds` times over, on each element."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 512), threads=128) as b:
            for i in T.Parallel(512):
                x = T.alloc_var("int32")
                x = A[b * 512 + i]
                for _ in T.serial(rounds):
                    x = (x * 1103515245 + 12345) ^ (x >> 7)
                B[b * 512 + i] = x

    return main


def exchange(n, rounds):
    """Rows that are turned round in shared memory, `rounds` times over: stores, barriers, loads, and little else."""

    @T.prim_func
    def main(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        with T.Kernel(T.ceildiv(n, 512), threads=128) as b:
            s, r = T.alloc_shared((512,), "int32"), T.alloc_fragment((512,), "int32")
            T.copy(A[b * 512], r)
            for _ in T.serial(rounds):
                for i in T.Parallel(512):
                    s[i] = r[i]
                for i in T.Parallel(512):
                    r[i] = s[511 - i]
            T.copy(r, B[b * 512])

    return main


def gemm(size):
    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")
    ):
        with T.Kernel(size // 128, size // 128, threads=128) as (bx, by):
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((128, 128), "float32")
            T.clear(c)
            for k in T.Pipelined(size // 64, num_stages=3):
                T.copy(A[by * 128, k * 64], a)
                T.copy(B[k * 64, bx * 128], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 128, bx * 128])

    return main


def gemm_with_roles(size):
    """A warp of its own copies, and two warp groups multiply; one block does all tiles."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"), B: T.Tensor((size, size), "float16"), C: T.Tensor((size, size), "float16")
    ):
        with T.Kernel(1, threads=256) as block:
            a, b = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 256), "float16")
            c = T.alloc_fragment((128, 256), "float32")
            for by, bx in T.Persistent([size // 128, size // 256], 1, block):
                T.clear(c)
                for k in T.Pipelined(size // 64, num_stages=3):
                    T.copy(A[by * 128, k * 64], a)
                    T.copy(B[k * 64, bx * 256], b)
                    T.gemm(a, b, c)
                T.copy(c, C[by * 128, bx * 256])

    return main


def seconds(kernel, *arguments):
    """The processor time of a call on all threads, which other processes do not change; the best of three."""
    kernel(*arguments)
    times = []
    for _ in range(3):
        begin = time.process_time()
        kernel(*arguments)
        times.append(time.process_time() - begin)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="threads of the host")
    threads = parser.parse_args().threads
    _tl.set_host_threads(threads)

    n, rounds = 1 << 15, 200
    A = np.arange(n, dtype="int32")
    B = np.empty_like(A)
    for name, program in (("arithmetic", mix), ("shared memory", exchange)):
        kernel = tilec.compile(program(n, rounds), target="sm_90a", backend="sim")
        for checks in (False, True):
            sim.set_options(checks=checks)
            before = _tl.simulated_instructions()
            kernel(A, B)
            count = _tl.simulated_instructions() - before
            rate = count / seconds(kernel, A, B)
            print(f"{name}, thread-instructions per second and core, checks={checks}: {rate / 1e6:.0f} million")

    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((256, 256)).astype("float16") for _ in range(2))
    C = np.empty_like(A)
    for name, chip, program in (
        ("gemm", "sm_80", gemm(256)),
        ("gemm", "sm_90a", gemm(256)),
        ("gemm with roles", "sm_90a", gemm_with_roles(256)),
    ):
        kernel = tilec.compile(program, target=chip, backend="sim")
        for checks in (False, True):
            sim.set_options(checks=checks)
            print(f"{name} 256^3 float16 for {chip}, checks={checks}: {seconds(kernel, A, B, C):.3f} s of a core")


if __name__ == "__main__":
    main()
