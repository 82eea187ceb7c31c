"""Kernels of the examples as operators of PyTorch that have gradients, and the same functions of PyTorch alone.

`Ours` and `Plain` have the same members: a model is made of either. Each operator is known to PyTorch by the shapes of
its results (`backend="torch"`) and by its gradient (`torch.library.register_autograd`), so `torch.compile`, CUDA graphs
and autograd take it like one of their own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import tilec

sys.path.append(str(Path(__file__).parents[1]))  # the examples

from attention_backward import attention_backward
from cross_entropy import cross_entropy
from cross_entropy_backward import cross_entropy_backward
from flash_attention import flash_attention
from gate_up import gate_up, gate_up_backward
from rmsnorm import EPS, rmsnorm
from rmsnorm_backward import rmsnorm_backward, threads_for
from rope import angles
from split_heads import split_heads


def operator(program: tilec.PrimFunc, results: int | Sequence[int], **options: Any) -> Any:
    """Returns a program as an operator whose parameters of the numbers `results` are what it returns."""
    return tilec.compile(program, results, backend="torch", **options)


def with_gradient(forward: Any, gradient: Callable[..., Any], save: Callable[..., Any]) -> Any:
    """Gives an operator its gradient, and returns it."""
    torch.library.register_autograd(forward.op, gradient, setup_context=save)
    return forward


def save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """Keeps what an operator was called with for its gradient."""
    ctx.save_for_backward(*inputs)


def angles_of(length: int, dim: int) -> tuple[Tensor, Tensor]:
    """Returns cosine and sine of the angle of each position and pair, (length, dim / 2)."""
    cos, sin = angles(length, dim)
    return torch.from_numpy(cos), torch.from_numpy(sin)


# An operator has one gradient: each is made once.


@functools.cache
def rms_norm(columns: int, dtype: str) -> Any:
    """Returns f(X, W) of rows X."""
    threads = min(max(columns // 32, 128), 1024)
    backward = operator(rmsnorm_backward(columns, dtype, 264, threads_for(columns)), (3, 4, 5))

    def gradient(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        dx, dw, _ = backward(x, w, dy.contiguous())
        return dx, dw.to(w.dtype)

    forward = operator(rmsnorm(columns, dtype, max(threads * 32 // columns, 1), threads), 2)
    return with_gradient(forward, gradient, save_inputs)


@functools.cache
def heads(heads: int, kv_heads: int, length: int, dim: int, dtype: str) -> Any:
    """Returns f(X, cos, sin) = (Q, K, V) of X, (batch, length, heads of Q, K and V, dim)."""
    join = operator(split_heads(heads, kv_heads, length, dim, dtype, True), 5)

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[1:])

    def gradient(ctx: Any, *d: Tensor) -> tuple[Any, ...]:
        return join(*(x.contiguous() for x in d), *ctx.saved_tensors), None, None

    return with_gradient(operator(split_heads(heads, kv_heads, length, dim, dtype, False), (3, 4, 5)), gradient, save)


@functools.cache
def attention(batch: int, heads: int, kv_heads: int, length: int, dim: int, dtype: str) -> Any:
    """Returns f(Q, K, V) = (Out, logs), causal."""
    shape = (batch, heads, kv_heads, length, dim, True)
    # Tiles for those without wgmma, which keep more in registers, are narrower.
    width = 128 if not torch.cuda.is_available() or torch.cuda.get_device_capability() == (9, 0) else 64
    backward = operator(attention_backward(*shape, dtype, step=width // 2), (6, 7, 8, 9), fast_math=True)

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)  # nobody differentiates by the logarithms
        ctx.save_for_backward(*inputs, *output)

    def gradient(ctx: Any, d_out: Tensor, d_logs: Tensor) -> tuple[Tensor, ...]:
        q, k, v, out, logs = ctx.saved_tensors
        return backward(q, k, v, out, d_out.contiguous(), logs)[:3]

    forward = flash_attention(*shape, width, dtype)
    return with_gradient(operator(forward, (3, 4), fast_math=True), gradient, save)


@functools.cache
def gated(hidden: int, width: int, dtype: str) -> Any:
    """Returns f(X, W) = (silu(gate) * up, both products) with W of (2 * hidden, width)."""
    backward = operator(gate_up_backward(hidden, dtype), 2)

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)  # nor by the products
        ctx.save_for_backward(*inputs, output[1])

    def gradient(ctx: Any, dy: Tensor, d_both: Tensor) -> tuple[Tensor, Tensor]:
        x, w, both = ctx.saved_tensors
        d = backward(dy.contiguous(), both)
        return d @ w, d.t() @ x

    return with_gradient(operator(gate_up(hidden, width, dtype), (2, 3)), gradient, save)


@functools.cache
def losses(columns: int, dtype: str) -> Any:
    """Returns f(logits, labels), a loss for each row; labels are int32."""
    backward = operator(cross_entropy_backward(columns, dtype), 4, fast_math=True)

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    def gradient(ctx: Any, d: Tensor) -> tuple[Tensor, None]:
        return backward(*ctx.saved_tensors, d.contiguous()), None

    return with_gradient(operator(cross_entropy(columns, dtype), 2, fast_math=True), gradient, save)


class Ours:
    """The functions that a model is made of, as kernels for its shapes. The model is one of `float16` or `bfloat16`."""

    def __init__(self, size: Any, dtype: torch.dtype) -> None:
        kind = str(dtype).removeprefix("torch.")
        self._norm = rms_norm(size.width, kind)
        self._heads = heads(size.heads, size.kv_heads, size.length, size.dim, kind)
        self._attention = attention(size.batch, size.heads, size.kv_heads, size.length, size.dim, kind)
        self._gated = gated(size.hidden, size.width, kind)
        self._losses = losses(size.vocabulary, kind)

    def norm(self, x: Tensor, w: Tensor) -> Tensor:
        return self._norm(x, w)

    def heads(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self._heads(x, cos, sin)

    def attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self._attention(q, k, v)[0]

    def gated(self, x: Tensor, w: Tensor) -> Tensor:
        return self._gated(x, w)[0]

    def losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self._losses(logits, labels)


class Plain:
    """The same functions in PyTorch's own."""

    def __init__(self, size: Any, dtype: torch.dtype) -> None:
        self._counts = [size.heads, size.kv_heads, size.kv_heads]

    def norm(self, x: Tensor, w: Tensor) -> Tensor:
        return functional.rms_norm(x, w.shape, w, EPS)

    def heads(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        def turned(x: Tensor) -> Tensor:
            first, second = x.chunk(2, dim=3)
            c, s = cos[None, :, None, :], sin[None, :, None, :]
            return torch.cat([first * c - second * s, second * c + first * s], dim=3).to(x.dtype).transpose(1, 2)

        q, k, v = x.split(self._counts, dim=2)
        return turned(q), turned(k), v.transpose(1, 2)

    def attention(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])

    def gated(self, x: Tensor, w: Tensor) -> Tensor:
        gate, up = (x @ w.t()).chunk(2, dim=1)
        return functional.silu(gate) * up

    def losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        wide = logits if logits.dtype == torch.float64 else logits.float()
        return functional.cross_entropy(wide, labels.long(), reduction="none")
