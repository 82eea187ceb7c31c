"""The speed of the simulator: `python python/benchmarks/simulator.py [--threads N]`.

- thread-instructions per second and core, on element-wise arithmetic and on rows that go through shared memory: an
  instruction of the program counts once for each thread that executes it.
- the time of a float16 GEMM of 256³ with the pipeline of each chip, and with roles on Hopper, without and with checks.
- how much longer checks make kernels that do little but what they look at: `T.Parallel` loops in which each access is
  compared with those of other iterations, by both lowerings, atomic operations, and loops that wait.
"""

import argparse
import time
import warnings

import numpy as np

import tilec
import tilec.language as T
from tilec import _tl
from tilec.backends import sim
from tilec.errors import RacingWriteWarning


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


def halves(dtype, size=1024, rounds=20):
    """Vectors of elements, all iterations of a thread at once."""

    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=128) as b:
            s = T.alloc_shared((2 * size,), dtype)
            for i in T.Parallel(2 * size):
                s[i] = T.cast(i % 100, dtype)
            for _ in T.serial(rounds):
                for i in T.Parallel(size):
                    s[i] = s[i] + s[i + size]
            for i in T.Parallel(size):
                B[b * size + i] = T.cast(s[i], "int32")

    return main


def table(how):
    """Places that a table says, so that nothing is known of them when the kernel is compiled.

    A thread does its iterations one after another if they go round a loop of their own.
    """

    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=128) as b:
            s = T.alloc_shared((1024,), "int32")
            for i in T.Parallel(1024):
                s[i] = i
            for k in T.serial(20):
                for i in T.Parallel(1024):
                    if how == "shared":
                        s[A[i]] = s[A[i]] + k
                    elif how == "device":
                        B[b * 1024 + A[i]] = B[b * 1024 + A[i]] + k
                    else:
                        for j in T.serial(2 + i % 2):
                            s[A[i]] = s[A[i]] + j
            for i in T.Parallel(1024):
                B[b * 1024 + i] = B[b * 1024 + i] + s[i]

    return main


def two_indices():
    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=128) as b:
            s = T.alloc_shared((32, 64), "int32")
            for i, j in T.Parallel(32, 64):
                s[i, j] = i + j
            for _ in T.serial(20):
                for i, j in T.Parallel(32, 32):
                    s[i, j] = s[i, j] + s[j, i + 32]
            for i, j in T.Parallel(32, 32):
                B[b * 1024 + i * 32 + j] = s[i, j]

    return main


def fragment(is_one_after_another):
    """Registers of a fragment, which have no accesses of their own."""

    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=64) as b:
            f = T.alloc_fragment((64, 16), "int32")
            for i, j in T.Parallel(64, 16):
                f[i, j] = A[b * 1024 + i * 16 + j]
            for _ in T.serial(20):
                for i, j in T.Parallel(64, 16):
                    x = T.alloc_var("int32")
                    x = j
                    if is_one_after_another:
                        while x > 8:
                            x = x // 2
                    if j > 0:
                        f[i, j] = f[i, j] + f[i, 0] + x
            for i, j in T.Parallel(64, 16):
                B[b * 1024 + i * 16 + j] = f[i, j]

    return main


def counts(space, order):
    """Atomic operations of all threads, on eight numbers."""

    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=128) as b:
            n = T.alloc_shared((8,), "int32")
            T.fill(n, 0)
            for _ in T.serial(20):
                for i in T.Parallel(1024):
                    if space == "shared":
                        T.atomic_add(n[i % 8], 1, order)
                    else:
                        T.atomic_add(B[4000 + i % 8], 1, order)
            for i in T.Parallel(8):
                B[b * 8 + i] = n[i]

    return main


def waits():
    """One thread of a block waits for another, round after round."""

    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=128):
            s = T.alloc_shared((8,), "int32")
            T.fill(s, 0)
            for k in T.serial(50):
                for i in T.Parallel(128):
                    if i == 127:
                        T.atomic_store(s[0], k + 1)
                    if i == 3:
                        while T.atomic_load(s[0]) <= k:
                            pass
                T.sync_threads()

    return main


def grid():
    """Blocks that wait for each other, round after round."""

    @T.prim_func
    def main(A: T.Tensor((4096,), "int32"), B: T.Tensor((4096,), "int32")):
        with T.Kernel(4, threads=128) as b:
            for k in T.serial(50):
                B[b] = k
                T.sync_grid()

    return main


COMPARED = {
    "iterations, shared memory, int32": lambda: halves("int32"),
    "iterations, shared memory, float16": lambda: halves("float16"),
    "iterations, shared memory, int8": lambda: halves("int8"),
    "iterations, shared memory, two of a thread": lambda: halves("int32", size=256, rounds=40),
    "iterations, shared memory, by a table": lambda: table("shared"),
    "iterations, device memory, by a table": lambda: table("device"),
    "iterations, shared memory, one after another": lambda: table("one after another"),
    "iterations, shared memory, two indices": two_indices,
    "iterations, fragment": lambda: fragment(False),
    "iterations, fragment, one after another": lambda: fragment(True),
    "atomic operations, shared memory": lambda: counts("shared", "relaxed"),
    "atomic operations, device memory": lambda: counts("device", "relaxed"),
    "atomic operations that order, of all threads": lambda: counts("device", "acq_rel"),
    "loops that wait for a thread": waits,
    "loops that wait for blocks": grid,
}


def seconds(kernel, *arguments, calls=3):
    """The processor time of a call on all threads, which other processes do not change; the best of several."""
    kernel(*arguments)
    times = []
    for _ in range(calls):
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

    A, B = np.arange(4096, dtype="int32"), np.zeros(4096, "int32")
    for name, make in COMPARED.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RacingWriteWarning)  # tables here have no index twice
            kernel = tilec.compile(make(), target="sm_90a", backend="sim")
        sim.set_options(checks=False)
        without = seconds(kernel, A, B, calls=20)
        sim.set_options(checks=True)
        with_checks = seconds(kernel, A, B, calls=10)
        print(f"{name}: {without * 1e3:.2f} ms, with checks {with_checks * 1e3:.2f} ms, x {with_checks / without:.1f}")


if __name__ == "__main__":
    main()
