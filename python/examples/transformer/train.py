"""Trains a small transformer whose attention, norms, rotations, gated product and loss are kernels of the examples.

python python/examples/transformer/train.py                    # check it, and on a GPU time it beside PyTorch
python python/examples/transformer/train.py --trace trace.json    # also write what the profiler saw
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from model import TINY, Size, Transformer, batch_of, check, graphed, pair, training_step
from torch import Tensor
from torch.utils.benchmark import Timer


def ways(model: Transformer, *batch: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Returns the ways to make a step of training, by name."""
    compiled = torch.compile(model, fullgraph=True)
    return {
        "eager": training_step(model, model, *batch),
        "compiled": training_step(model, compiled, *batch),
        "eager, in a graph": graphed(training_step(model, model, *batch)),
        "compiled, in a graph": graphed(training_step(model, compiled, *batch)),
    }


def forward_ways(model: Transformer, tokens: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Returns the ways to compute logits."""
    compiled = torch.compile(model, fullgraph=True)
    return {"forward": lambda: model(tokens), "forward, compiled": lambda: compiled(tokens)}


def median(call: Callable[[], object], seconds: float) -> float:
    """Returns how long a call takes, in milliseconds."""
    for _ in range(3):
        call()
    return Timer("call()", globals={"call": call}).blocked_autorange(min_run_time=seconds).median * 1e3


def measure(size: Size, seconds: float = 1.0) -> None:
    """Prints how long forward passes and steps take, beside PyTorch's own."""
    ours, plain = pair(size, "cuda")
    batch = batch_of(size, "cuda")
    tokens = size.batch * size.length
    print(f"{sum(p.numel() for p in ours.parameters()) / 1e6:.0f} million parameters, {tokens} tokens a step: {size}")
    print(f"  {'':22} {'ours, ms':>10} {'PyTorch, ms':>12} {'ratio':>7} {'our tokens/s':>13}")
    with torch.no_grad():
        pairs = list(zip(forward_ways(ours, batch[0]).items(), forward_ways(plain, batch[0]).values(), strict=True))
        rows = [(name, median(mine, seconds), median(theirs, seconds)) for (name, mine), theirs in pairs]
    pairs = list(zip(ways(ours, *batch).items(), ways(plain, *batch).values(), strict=True))
    rows += [(name, median(mine, seconds), median(theirs, seconds)) for (name, mine), theirs in pairs]
    for name, mine, theirs in rows:
        print(f"  {name:22} {mine:10.2f} {theirs:12.2f} {theirs / mine:7.2f} {tokens / mine * 1e3:13.0f}")


def trace(size: Size, file: str) -> None:
    """Writes a trace of three steps, and prints the kernels that take longest."""
    from torch.profiler import ProfilerActivity, profile

    device = "cuda" if torch.cuda.is_available() else "cpu"
    step = training_step(model := pair(size, device)[0], model, *batch_of(size, device))
    step()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device == "cuda")
    with profile(activities=activities) as seen:
        for _ in range(3):
            step()
    seen.export_chrome_trace(file)
    print(seen.key_averages().table(sort_by=f"self_{device}_time_total", row_limit=20))


def learn(size: Size, device: str, steps: int = 20) -> list[float]:
    """Returns the losses of a few steps on one batch, which a model learns by heart."""
    model = pair(size, device)[0]
    step = training_step(model, model, *batch_of(size, device), rate=1e-3)
    return [float(step()) for _ in range(steps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", metavar="FILE", help="write a trace of three steps")
    parser.add_argument("--seconds", type=float, default=1.0, help="to measure each way for")
    for field, default in Size()._asdict().items():
        parser.add_argument(f"--{field.replace('_', '-')}", type=int, default=default)
    chosen = vars(parser.parse_args())
    file, seconds = chosen.pop("trace"), chosen.pop("seconds")
    size = Size(**chosen)

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"{check(TINY, device):.2f} of PyTorch's own error at most, from float64")
    losses = learn(TINY, device)
    assert losses[-1] < losses[0] / 2, f"the loss goes from {losses[0]} to {losses[-1]}"
    print(f"transformer: correct, the loss goes from {losses[0]:.2f} to {losses[-1]:.2f}")
    if device == "cuda":
        measure(size, seconds)
    if file:
        trace(size if device == "cuda" else TINY, file)


if __name__ == "__main__":
    main()
