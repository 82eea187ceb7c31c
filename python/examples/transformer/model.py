"""A small decoder-only transformer, of kernels or of PyTorch's own functions, and a step of its training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from operators import Ours, Plain, angles_of
from torch import Tensor, nn
from torch.nn import functional


class Size(NamedTuple):
    """The shapes of a model and of what it is trained with."""

    batch: int = 8
    length: int = 1024
    width: int = 1024
    layers: int = 8
    heads: int = 16
    kv_heads: int = 4
    dim: int = 64
    hidden: int = 2816
    vocabulary: int = 32000


TINY = Size(batch=2, length=96, width=256, layers=2, heads=4, kv_heads=2, dim=64, hidden=384, vocabulary=1000)
"""What checks take."""


def weights(*shape: int, dtype: torch.dtype) -> nn.Parameter:
    """Returns weights of a layer with as many inputs as the last extent."""
    return nn.Parameter(torch.randn(shape, dtype=dtype) * shape[-1] ** -0.5)


class Layer(nn.Module):
    """Attention and a gated layer, each behind an RMSNorm and beside what it is added to."""

    def __init__(self, size: Size, functions: Ours | Plain, dtype: torch.dtype) -> None:
        super().__init__()
        self.size, self.functions = size, functions
        all_heads = size.heads + 2 * size.kv_heads
        self.norm_1 = nn.Parameter(torch.ones(size.width, dtype=dtype))
        self.norm_2 = nn.Parameter(torch.ones(size.width, dtype=dtype))
        self.qkv = weights(all_heads * size.dim, size.width, dtype=dtype)
        self.out = weights(size.width, size.heads * size.dim, dtype=dtype)
        self.gate_and_up = weights(2 * size.hidden, size.width, dtype=dtype)
        self.down = weights(size.width, size.hidden, dtype=dtype)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        s, f = self.size, self.functions
        product = f.norm(x, self.norm_1) @ self.qkv.t()
        q, k, v = f.heads(product.view(s.batch, s.length, -1, s.dim), cos, sin)
        attended = f.attention(q, k, v).transpose(1, 2).reshape(x.shape[0], -1)
        x = x + attended @ self.out.t()
        return x + f.gated(f.norm(x, self.norm_2), self.gate_and_up) @ self.down.t()


class Transformer(nn.Module):
    """`Transformer(size, Ours)` and `Transformer(size, Plain)` have the same parameters, and compute the same."""

    def __init__(self, size: Size, functions: type[Ours | Plain], dtype: torch.dtype = torch.bfloat16) -> None:
        super().__init__()
        self.size, self.functions = size, functions(size, dtype)
        self.embedding = nn.Parameter(torch.randn(size.vocabulary, size.width, dtype=dtype))
        self.layers = nn.ModuleList(Layer(size, self.functions, dtype) for _ in range(size.layers))
        self.norm = nn.Parameter(torch.ones(size.width, dtype=dtype))
        self.head = weights(size.vocabulary, size.width, dtype=dtype)
        for name, table in zip(("cos", "sin"), angles_of(size.length, size.dim), strict=True):
            self.register_buffer(name, table)

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Tensor:
        """Returns the mean loss of `labels`, or logits if there are none; both are (batch, length), of int32."""
        x = functional.embedding(tokens.flatten(), self.embedding)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        logits = self.functions.norm(x, self.norm) @ self.head.t()
        return logits if labels is None else self.functions.losses(logits, labels.flatten()).mean()


def pair(size: Size, device: str, dtype: torch.dtype = torch.bfloat16) -> tuple[Transformer, Transformer]:
    """Returns a model of kernels and one of PyTorch's functions, with the same weights."""
    ours, plain = Transformer(size, Ours, dtype).to(device), Transformer(size, Plain, dtype).to(device)
    plain.load_state_dict(ours.state_dict())
    return ours, plain


def batch_of(size: Size, device: str) -> tuple[Tensor, Tensor]:
    """Returns random tokens, and of each the one that follows it."""
    text = torch.randint(size.vocabulary, (size.batch, size.length + 1), dtype=torch.int32, device=device)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def gradients(model: nn.Module, loss: Callable[..., Tensor], *batch: Tensor) -> dict[str, Tensor]:
    """Returns the loss, as "loss", and its gradients by the parameters' names, in float64."""
    model.zero_grad(set_to_none=True)
    value = loss(*batch)
    value.backward()
    found = {name: p.grad.double() for name, p in model.named_parameters() if p.grad is not None}
    return {"loss": value.detach().double(), **found}


def exact(plain: Transformer, *batch: Tensor) -> dict[str, Tensor]:
    """Returns what `gradients` would, computed in float64 from the same weights."""
    import copy

    wide = copy.deepcopy(plain).double()
    return gradients(wide, wide, *batch)


def errors(found: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, float]:
    """Returns of each how far it is off, relative to its norm."""
    assert found.keys() == expected.keys()
    return {name: float((found[name] - e).norm() / e.norm()) for name, e in expected.items()}


def check(size: Size, device: str, wrap: Callable[[nn.Module], Callable[..., Tensor]] = lambda model: model) -> float:
    """Compares the loss and all gradients with those in float64; returns the greatest error beside PyTorch's own.

    An error may be half as large again as that of PyTorch in the same type: both round, in different places. Raises an
    AssertionError for more. `wrap` makes of a model what is called, such as `torch.compile`.
    """
    ours, plain = pair(size, device)
    batch = batch_of(size, device)
    expected = exact(plain, *batch)
    theirs = errors(gradients(plain, plain, *batch), expected)
    mine = errors(gradients(ours, wrap(ours), *batch), expected)
    for name, error in mine.items():
        assert error <= 1.5 * theirs[name] + 1e-4, f"{name}: {error:.2g}, and PyTorch's own is {theirs[name]:.2g}"
    return max(error / theirs[name] for name, error in mine.items() if name != "loss")


def training_step(model: nn.Module, loss: Callable[..., Tensor], *batch: Tensor, rate: float = 3e-4) -> Any:
    """Returns a function that makes a step of training and returns the loss."""
    on_gpu = batch[0].is_cuda
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, fused=True, capturable=on_gpu)

    def step() -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        value = loss(*batch)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def graphed(step: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Captures a step in a CUDA graph; returns what replays it, which returns the captured loss."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):  # loads kernels, and makes the optimizer's state
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay() -> Tensor:
        graph.replay()
        return loss

    return replay
