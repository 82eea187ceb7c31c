"""Tuning a bf16 GEMM over 96 configurations: `python python/benchmarks/autotune.py [--peers] [--planted]`.

Prints how long tuning takes from nothing, in a new process after that, and when it is exhaustive; and how the
configuration that was chosen compares with the best of the exhaustive run. `--peers` runs TileLang's decorator on the
same list, if it is installed. `--planted` adds configurations that hang, fault, compute the wrong thing and do not
compile, and says what they changed. `--target cpu --size 128` runs it all where there is no GPU, on a shorter list.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time

import tilec
import tilec.language as T
from tilec import targets

AXES = {
    "bm": (64, 128),
    "bn": (64, 128, 256),
    "bk": (32, 64),
    "stages": (2, 3, 4, 5),
    "threads": (128, 256),
}
CONFIGS = [dict(zip(AXES, values, strict=True)) for values in itertools.product(*AXES.values())]
PLANTED = [{**CONFIGS[0], "fault": fault} for fault in ("hang", "fault", "wrong", "reject")]


def make(target):
    @tilec.jit(target=target)
    def gemm(M, N, K, bm=64, bn=64, bk=32, stages=2, threads=128, fault=""):
        @T.prim_func
        def kernel(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
            with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm), threads=threads) as (bx, by):
                As = T.alloc_shared((bm, bk), "bfloat16")
                Bs = T.alloc_shared((bk, bn), "bfloat16")
                acc = T.alloc_fragment((bm, bn), "float32")
                T.clear(acc)
                if fault == "reject":
                    rejected = T.alloc_shared((bm, bn), "float32")  # no place for an accumulator
                if fault == "hang" or fault == "fault":
                    S = T.alloc_shared((64,), "float32")
                    x = T.alloc_var("int32", 0)
                    while x >= 0:
                        S[x] = 1.0
                        x = x + (0 if fault == "hang" else 4096)
                    C[0, 0] = T.cast(S[0], "bfloat16")
                for k in T.Pipelined(T.ceildiv(K, bk), num_stages=stages):
                    T.copy(A[by * bm, k * bk], As)
                    T.copy(B[k * bk, bx * bn], Bs)
                    T.gemm(As, Bs, rejected if fault == "reject" else acc)
                if fault == "wrong":
                    for i, j in T.Parallel(bm, bn):
                        acc[i, j] = acc[i, j] + 1
                T.copy(acc, C[by * bm, bx * bn])

        return kernel

    return gemm


def reference(A, B, C):
    """The expected result, in the same type: on the GPU with PyTorch, else in float32."""
    from tilec import Array, dtypes, supply

    if hasattr(A, "is_cuda"):
        return A @ B
    a, b = (supply.decode(x, d) for x, d in map(supply.to_storage, (A, B)))
    return Array.from_numpy(supply.encode(a @ b, dtypes.bfloat16), dtypes.bfloat16)


def tune(options, configs, **profile):
    """Returns the result and the seconds it took."""
    function = tilec.autotune(configs=configs, ref_prog=reference, timeout=10, **profile)(make(options.target))
    start = time.perf_counter()
    result = function.tune(options.size, options.size, options.size)
    return result, time.perf_counter() - start


def tilelang_seconds(options):
    """TileLang's decorator on the same list: the seconds, the best configuration, its milliseconds."""
    import tilelang
    import tilelang.language as TL
    import torch

    @tilelang.autotune(configs=[dict(c) for c in CONFIGS], ref_prog=lambda a, b: a @ b)
    @tilelang.jit(out_idx=[2])
    def gemm(M, N, K, bm=64, bn=64, bk=32, stages=2, threads=128):
        @TL.prim_func
        def main(
            A: TL.Tensor((M, K), TL.bfloat16), B: TL.Tensor((K, N), TL.bfloat16), C: TL.Tensor((M, N), TL.bfloat16)
        ):
            with TL.Kernel(TL.ceildiv(N, bn), TL.ceildiv(M, bm), threads=threads) as (bx, by):
                As = TL.alloc_shared((bm, bk), TL.bfloat16)
                Bs = TL.alloc_shared((bk, bn), TL.bfloat16)
                acc = TL.alloc_fragment((bm, bn), TL.float32)
                TL.clear(acc)
                for k in TL.Pipelined(TL.ceildiv(K, bk), num_stages=stages):
                    TL.copy(A[by * bm, k * bk], As)
                    TL.copy(B[k * bk, bx * bn], Bs)
                    TL.gemm(As, Bs, acc)
                TL.copy(acc, C[by * bm, bx * bn])

        return main

    start = time.perf_counter()
    kernel = gemm(options.size, options.size, options.size)
    torch.cuda.synchronize()
    return time.perf_counter() - start, getattr(kernel, "config", None), getattr(kernel, "latency", None)


def again(options):
    """The seconds that a second process takes from its start to the kernel, as it says itself."""
    command = [sys.executable, __file__, "--again", "--size", str(options.size), "--rep", str(options.rep)]
    command += ["--target", options.target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def compare_planted(options, configs, clean):
    """Prints what becomes of bad configurations, and by how much the figures of the good ones move."""
    result, seconds = tune(options, [*configs, *PLANTED], rep=options.rep + 1)
    for record in result.records:
        if "fault" in record.config:
            print(f"  planted {record.config['fault']:7} {record.status}: {' '.join(record.reason.split())[:100]}")
    before = {str(r.config): r.latency for r in clean.records if r.is_ok}
    moves = [abs(r.latency / before[str(r.config)] - 1) for r in result.records if str(r.config) in before and r.is_ok]
    print(f"  with them tuning takes {seconds:.1f} s; the best is {result.config}, {result.latency:.4f} ms")
    print(f"  the other medians move by {100 * sorted(moves)[len(moves) // 2]:.2f} % (median of {len(moves)})")


def main():
    start = time.perf_counter()
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--target", default="auto")
    parser.add_argument("--rep", type=float, default=100)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    is_cuda = targets.resolve(options.target).chip != "cpu"
    configs = CONFIGS if is_cuda else CONFIGS[::16]
    if options.again:
        result, seconds = tune(options, configs, rep=options.rep)
        whole = time.perf_counter() - start
        assert result.from_cache
        print(f"{whole * 1e3:.0f} ms from `main` on, {seconds * 1e3:.0f} ms of them tuning")
        return
    if is_cuda:
        import torch  # for the reference

        print(torch.cuda.get_device_name(), "torch", torch.__version__, end=" ")
    os.environ["TL_CACHE_DIR"] = tempfile.mkdtemp()
    print("tilec", tilec.__version__, f"{len(configs)} configurations, {options.size}^3 bf16")

    result, seconds = tune(options, configs, rep=options.rep)
    print(f"from nothing:  {seconds:7.1f} s  {result.config}  {result.latency:.4f} ms", flush=True)
    failed = [r for r in result.records if not r.is_ok]
    print(f"  {len(failed)} failed{': ' + failed[0].reason.splitlines()[0][:90] if failed else ''}")
    print(f"second process: {again(options)}", flush=True)
    full, exhaustive = tune(options, configs, rep=options.rep, early_stop=False, early_stop_factor=1e9, warmup=26)
    chosen = next(r for r in full.records if r.config == result.config)
    loss = chosen.latency / full.latency - 1
    print(f"exhaustive:    {exhaustive:7.1f} s  {full.config}  {full.latency:.4f} ms", flush=True)
    print(f"  the chosen one is {100 * loss:.2f} % behind the best of the exhaustive run")
    if options.planted:
        compare_planted(options, configs, full)
    if options.peers:
        try:
            theirs, config, latency = tilelang_seconds(options)
        except ImportError as error:
            print(f"TileLang: not here ({error})")
        else:
            print(f"TileLang:      {theirs:7.1f} s  {config}  {latency} ms; ours takes {seconds / theirs:.2f} of that")


if __name__ == "__main__":
    main()
