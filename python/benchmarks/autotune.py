"""Tuning a bf16 GEMM over 96 configurations: `python python/benchmarks/autotune.py [part ...]`.

Each part prints what it measured; all share a new cache directory, or `--cache`.

- `tune`: from nothing, in wall time.
- `again`: in a new process, which compiles and measures nothing.
- `exhaustive`: every sample of every configuration, and how far the chosen one is behind the best of that.
- `planted`: with configurations that hang, fault, are wrong and do not compile: what is said of them, and what they
  change.
- `resume`: killed when half of the configurations have samples, and started again: which samples were taken twice.
- `peer`: TileLang's decorator on the same list, for `--peer-seconds` at most.

Without parts it is the first three. `--target cpu --size 128` runs it where there is no GPU, on a shorter list.
"""

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

START = time.perf_counter()

import tilec  # noqa: E402, the time that it takes counts
import tilec.language as T  # noqa: E402
from tilec import targets  # noqa: E402

AXES = {
    "bm": (64, 128),
    "bn": (64, 128, 256),
    "bk": (32, 64),
    "stages": (2, 3, 4, 5),
    "threads": (128, 256),
}
CONFIGS = [dict(zip(AXES, values, strict=True)) for values in itertools.product(*AXES.values())]
PLANTED = [{**CONFIGS[0], "fault": fault} for fault in ("hang", "fault", "wrong", "reject")]
PARTS = ("tune", "again", "exhaustive", "planted", "resume", "peer")


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


class Benchmark:
    """The parts, which share a cache and what the first of them found."""

    def __init__(self, options):
        self.options = options
        start = time.perf_counter()
        self.is_cuda = targets.resolve(options.target).chip != "cpu"
        self.driver_seconds = time.perf_counter() - start
        self.configs = (CONFIGS if self.is_cuda else CONFIGS[::16])[:: options.every]
        self.seconds = None

    def tuned(self, configs=None, **profile):
        """Returns the result and the seconds it took."""
        o = self.options
        arguments = {"rep": o.rep, "timeout": 10, **profile}
        function = tilec.autotune(configs=configs or self.configs, ref_prog=reference, **arguments)(make(o.target))
        start = time.perf_counter()
        result = function.tune(o.size, o.size, o.size)
        return result, time.perf_counter() - start

    def elsewhere(self, part, **environment):
        """Runs a part in a process of its own."""
        o = self.options
        command = [
            sys.executable,
            os.path.abspath(__file__),
            part,
            "--size",
            str(o.size),
            "--rep",
            str(o.rep),
            "--target",
            o.target,
        ]
        command += ["--every", str(o.every), "--cache", os.environ["TL_CACHE_DIR"], "--quiet"]
        return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)

    def tune(self):
        result, self.seconds = self.tuned()
        print(f"from nothing:   {self.seconds:7.1f} s  {result.config}  {result.latency:.4f} ms")
        failed = [r for r in result.records if not r.is_ok]
        print(f"  {len(failed)} failed{': ' + failed[0].reason.splitlines()[0][:90] if failed else ''}")

    def again(self):
        done = self.elsewhere("found")
        print(f"second process: {done.stdout.strip() or done.stderr.strip()}")

    def found(self):
        """What the second process does: it must have nothing to do."""
        result, seconds = self.tuned()
        whole = time.perf_counter() - START
        result.kernel.launcher()
        loading = time.perf_counter() - START - whole
        compiled = json.loads(tilec._tl.cache_counters())["compiled"]
        assert result.from_cache
        assert compiled == 0
        steps = [f"{1e3 * s:.0f} ms" for s in (whole, self.driver_seconds, seconds, loading)]
        print(
            f"{steps[0]} from `import tilec` to the kernel, of them {steps[1]} to find the GPU and {steps[2]} for the "
            f"call; then {steps[3]} to make a context and load it; nothing compiled or measured"
        )

    def exhaustive(self):
        result, _ = self.tuned()
        full, seconds = self.tuned(early_stop=False, early_stop_factor=1e9, warmup=26)
        chosen = next(r for r in full.records if r.config == result.config)
        loss = chosen.latency / full.latency - 1
        print(f"exhaustive:     {seconds:7.1f} s  {full.config}  {full.latency:.4f} ms")
        print(f"  the chosen one is {100 * loss:.2f} % behind the best of the exhaustive run")

    def planted(self):
        clean, _ = self.tuned(early_stop=False, early_stop_factor=1e9, warmup=26)
        result, seconds = self.tuned(
            [*self.configs, *PLANTED], early_stop=False, early_stop_factor=1e9, warmup=26, rep=self.options.rep + 1
        )
        print(f"planted:        {seconds:7.1f} s  {result.config}  {result.latency:.4f} ms")
        for record in result.records:
            if "fault" in record.config:
                print(f"  {record.config['fault']:7} {record.status}: {' '.join(record.reason.split())[:100]}")
        before = {str(r.config): r.latency for r in clean.records if r.is_ok}
        moves = sorted(
            abs(r.latency / before[str(r.config)] - 1) for r in result.records if r.is_ok and str(r.config) in before
        )
        assert len(moves) == len(before), "every good configuration is still good"
        print(f"  other medians move by {100 * moves[len(moves) // 2]:.2f} % (median), {100 * moves[-1]:.2f} % (most)")

    def resume(self):
        with tempfile.TemporaryDirectory() as directory:
            self.options.rep += 2  # nothing of this is known
            kept_cache, os.environ["TL_CACHE_DIR"] = os.environ["TL_CACHE_DIR"], directory
            killed = self.elsewhere("killed", DIE_AFTER=str(max(1, len(self.configs) // 2)))
            assert killed.returncode == -signal.SIGKILL, killed.stderr
            (journal,) = (f for f in os.listdir(f"{directory}/v1/races") if f.endswith(".journal"))
            with open(f"{directory}/v1/races/{journal}", encoding="utf-8") as file:
                kept = sum(len(json.loads(line)[1]) for line in file)
            taken, compiled = _count_work()
            result, seconds = self.tuned()
            os.environ["TL_CACHE_DIR"] = kept_cache
            self.options.rep -= 2
        total = sum(len(r.samples) for r in result.records)
        print(f"resumed:        {seconds:7.1f} s  {result.config}  {result.latency:.4f} ms")
        print(f"  {kept} samples before it was killed, {len(taken)} after, {total} in the records")
        print(f"  {sum(compiled)} of {len(compiled)} configurations were compiled again")
        assert kept + len(taken) == total, "no sample was taken twice"

    def killed(self):
        """What the process that is killed does."""
        from tilec.autotuner import records

        left = int(os.environ["DIE_AFTER"])
        add = records.Journal.add

        def die(journal, key, samples):
            nonlocal left
            add(journal, key, samples)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        records.Journal.add = die
        self.tuned()

    def peer(self):
        start = time.perf_counter()
        command = [sys.executable, os.path.abspath(__file__), "tilelang", "--size", str(self.options.size), "--quiet"]
        command += ["--every", str(self.options.every)]
        limit = self.options.peer_seconds
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=tempfile.mkdtemp(),  # where it writes its log
            env={**os.environ, "TILELANG_DISABLE_CACHE": "1"},
        )
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"TileLang:       more than {limit:.0f} s, after which it was killed")
            theirs = time.perf_counter() - start
        else:
            if process.returncode != 0:
                print(f"TileLang:       {errors.strip().splitlines()[-1]}")
                return
            theirs, text = output.strip().splitlines()[-1].split("  ", 1)
            theirs = float(theirs)
            print(f"TileLang:       {theirs:7.1f} s  {text}")
        if self.seconds is not None:
            print(f"  ours took {self.seconds / theirs:.3f} of that")

    def tilelang(self):
        """TileLang's decorator on the same list; prints the seconds, its best configuration, and that one's time."""
        global TL  # it writes down what a closure holds, which no module can be
        import tilelang
        import tilelang.language as TL
        import torch

        @tilelang.autotune(configs=[dict(c) for c in self.configs], ref_prog=lambda a, b: a @ b)
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

        torch.zeros(1, device="cuda")  # the context is not tuning
        start = time.perf_counter()
        size = self.options.size
        kernel = gemm(size, size, size)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        print(f"{seconds:.1f}  {getattr(kernel, 'config', None)}  {getattr(kernel, 'latency', None)} ms")


def _count_work():
    """Returns lists that grow with every sample that is taken, and with whether each configuration was compiled."""
    from tilec.autotuner.processes import Worker

    taken, compiled = [], []
    call = Worker.call

    def note(worker, command, *arguments, timeout):
        result = call(worker, command, *arguments, timeout=timeout)
        if command == "samples":
            taken.extend(result)
        if command == "compile":
            compiled.append(result["compiled"])
        return result

    Worker.call = note
    return taken, compiled


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    hidden = ("found", "killed", "tilelang")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, *hidden, []], metavar="part")
    parser.add_argument("--size", type=int, default=4096, help="of each side of the matrices")
    parser.add_argument("--every", type=int, default=1, help="take every so many of the configurations")
    parser.add_argument("--rep", type=float, default=100, help="milliseconds of samples for each configuration")
    parser.add_argument("--target", default="auto")
    parser.add_argument("--cache", default=None, help="the cache directory; a new one by default")
    parser.add_argument("--peer-seconds", type=float, default=600)
    parser.add_argument("--quiet", action="store_true", help="no title")
    options = parser.parse_args()
    os.environ["TL_CACHE_DIR"] = options.cache or tempfile.mkdtemp()
    benchmark = Benchmark(options)
    if benchmark.is_cuda and options.parts != ["found"]:
        import torch  # noqa: F401, the reference runs where it is imported
    if not options.quiet:
        gpu = f"{json.loads(tilec._tl.cuda_device_info(0))['name']}, " if benchmark.is_cuda else ""
        print(f"{gpu}tilec {tilec.__version__}, {len(benchmark.configs)} configurations, {options.size}^3 bf16")
    for part in options.parts or PARTS[:3]:
        getattr(benchmark, part)()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
