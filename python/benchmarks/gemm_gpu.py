"""bf16 GEMM beside cuBLAS through torch, in one run: `python python/benchmarks/gemm_gpu.py [--quick]`.

Random data; each sample is one launch between CUDA events, ours and cuBLAS in turn; medians. The best of a few
tile sizes is taken, as an autotuner would.
"""

import pathlib
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "integration"))
import kernels
import tilec

CONFIGS = {
    "sm_90a": [
        ((128, 256, 64), 4, 256),
        ((128, 256, 64), 3, 256),
        ((256, 128, 64), 4, 256),
        ((128, 128, 64), 4, 128),
        ((128, 128, 64), 4, 256),
    ],
    "sm_90": [((128, 128, 64), 3, 128), ((128, 128, 32), 4, 128), ((128, 256, 64), 3, 256)],
}


def sample(function):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    function()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def compare(ours, theirs, rounds=20):
    """Medians of both, in milliseconds."""
    times = ([], [])
    for _ in range(3):
        ours(), theirs()
    for _ in range(rounds):
        times[0].append(sample(ours))
        times[1].append(sample(theirs))
    return map(statistics.median, times)


def measure(chip, size, nt, tile, stages, threads):
    """One configuration beside cuBLAS: the ratio of speeds, and a line to print."""
    A = torch.randn(size, size, device="cuda").bfloat16()
    B = torch.randn(size, size, device="cuda").bfloat16()
    C, D = torch.full_like(A, float("nan")), torch.empty_like(A)
    right = B.t() if nt else B
    program = kernels.gemm(size, size, size, "bfloat16", nt=nt, relu=False, tile=tile, stages=stages, threads=threads)
    kernel = tilec.compile(program, target=chip)
    kernel(A, B, C)
    torch.mm(A, right, out=D)
    error = ((C.float() - D.float()).abs().max() / D.float().abs().max()).item()
    ours, theirs = compare(lambda: kernel(A, B, C), lambda: torch.mm(A, right, out=D))
    speed = [2 * size**3 / t * 1e-9 for t in (ours, theirs)]
    text = (
        f"{chip} {'NT' if nt else 'NN'} {size}: {speed[0]:6.1f} TFLOP/s, cuBLAS {speed[1]:6.1f}, "
        f"ratio {theirs / ours:.3f}, tile {tile} stages {stages} threads {threads}, differs {error:.1e}"
    )
    return theirs / ours, text


def main():
    sizes = [4096] if "--quick" in sys.argv else [4096, 8192]
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "tilec", tilec.__version__)
    for chip, configs in CONFIGS.items():
        for size in sizes:
            for nt in (False, True):
                rows = [measure(chip, size, nt, *config) for config in configs]
                for _, text in sorted(rows, reverse=True):
                    print(text, flush=True)


if __name__ == "__main__":
    main()
