"""bf16 GEMM beside cuBLAS through torch, in one run: `python python/benchmarks/gemm_gpu.py [--quick] [backend …]`.

Random data; each sample is one launch between CUDA events, each backend (`nvptx`, unless others are named) and cuBLAS
in turn; medians. The best of a few tile sizes is taken, as an autotuner would. `gemm_gpu.py --quick nvptx nvrtc`
compares the two code generators.
"""

import functools
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


def compare(functions, rounds=20):
    """The median of each, in milliseconds, measured in turn."""
    times = [[] for _ in functions]
    for _ in range(3):
        for function in functions:
            function()
    for _ in range(rounds):
        for taken, function in zip(times, functions, strict=True):
            taken.append(sample(function))
    return [statistics.median(taken) for taken in times]


def measure(backends, chip, size, nt, tile, stages, threads):
    """One configuration beside cuBLAS: the ratio of speeds of the first backend, and a line to print."""
    A = torch.randn(size, size, device="cuda").bfloat16()
    B = torch.randn(size, size, device="cuda").bfloat16()
    C, D = torch.empty_like(A), torch.empty_like(A)
    right = B.t() if nt else B
    program = kernels.gemm(size, size, size, "bfloat16", nt=nt, relu=False, tile=tile, stages=stages, threads=threads)
    torch.mm(A, right, out=D)
    kernels_of = [tilec.compile(program, target=chip, backend=backend) for backend in backends]
    error = 0
    for kernel in kernels_of:
        C.fill_(float("nan"))
        kernel(A, B, C)
        error = max(error, ((C.float() - D.float()).abs().max() / D.float().abs().max()).item())
    calls = [functools.partial(kernel, A, B, C) for kernel in kernels_of]
    *ours, theirs = compare([*calls, lambda: torch.mm(A, right, out=D)])
    speeds = ", ".join(
        f"{backend} {2 * size**3 / time * 1e-9:6.1f} TFLOP/s (ratio {theirs / time:.3f}"
        + (f", of {backends[0]} {ours[0] / time:.3f})" if backend != backends[0] else ")")
        for backend, time in zip(backends, ours, strict=True)
    )
    text = (
        f"{chip} {'NT' if nt else 'NN'} {size}: {speeds}, cuBLAS {2 * size**3 / theirs * 1e-9:6.1f}, "
        f"tile {tile} stages {stages} threads {threads}, differs {error:.1e}"
    )
    return theirs / ours[0], text


def main():
    sizes = [4096] if "--quick" in sys.argv else [4096, 8192]
    backends = [name for name in sys.argv[1:] if not name.startswith("-")] or ["nvptx"]
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "tilec", tilec.__version__)
    for chip, configs in CONFIGS.items():
        for size in sizes:
            for nt in (False, True):
                rows = [measure(backends, chip, size, nt, *config) for config in configs]
                for _, text in sorted(rows, reverse=True):
                    print(text, flush=True)


if __name__ == "__main__":
    main()
