"""A convolution of images of N x H x W x C with weights of R x S x C x F: a product for each tap, no matrix of patches.

A block has `block_H` x `block_W` positions of one image. For each tap their pixels are a box of the image, moved by
the tap, that one bulk copy brings; what lies outside of the image reads as zero, which is the padding. The product
takes the box as a matrix, for which a `T.reshape` is copied once more, from shared memory to shared memory.
"""

import numpy as np
from cases import Case, check, normal

import tilec.language as T


def conv2d(
    images: int, height: int, width: int, channels: int, filters: int, taps: int, dtype: str,
    block_H: int = 8, block_W: int = 16, block_F: int = 128, block_C: int = 64, stages: int = 4, threads: int = 256,
):  # fmt: skip
    # Channels that the last step has too many read as zero.
    steps, pad = -(-channels // block_C), taps // 2
    across = -(-width // block_W)

    @T.prim_func
    def convolve(
        X: T.Tensor((images, height, width, channels), dtype), W: T.Tensor((taps, taps, channels, filters), dtype),
        Y: T.Tensor((images, height, width, filters), dtype),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(filters, block_F), T.ceildiv(height, block_H) * across, images, threads=threads) as (
            bx,
            by,
            image,
        ):
            Xs = T.alloc_shared((block_H, block_W, block_C), dtype)
            Ws = T.alloc_shared((block_C, block_F), dtype)
            acc = T.alloc_fragment((block_H * block_W, block_F), "float32")
            Ys = T.alloc_shared((block_H, block_W, block_F), dtype)
            y, x, f = by // across * block_H, by % across * block_W, bx * block_F
            T.clear(acc)
            for k in T.Pipelined(taps * taps * steps, num_stages=stages):
                r, s, c = k // steps // taps, k // steps % taps, k % steps * block_C
                T.copy(
                    X[image, y + r - pad : y + r - pad + block_H, x + s - pad : x + s - pad + block_W, c : c + block_C],
                    Xs,
                )
                T.copy(W[r, s, c : c + block_C, f : f + block_F], Ws)
                T.gemm(T.reshape(Xs, (block_H * block_W, block_C)), Ws, acc)
            T.copy(acc, T.reshape(Ys, (block_H * block_W, block_F)))
            T.copy(Ys, Y[image, y : y + block_H, x : x + block_W, f : f + block_F])

    return convolve


def reference(x, w):
    taps, pad = len(w), len(w) // 2
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    height, width = x.shape[1:3]
    return sum(padded[:, r : r + height, s : s + width] @ w[r, s] for r in range(taps) for s in range(taps))


def by_torch(x, w):
    from torch.nn.functional import conv2d

    # Channels are last in memory, as they are here.
    return conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=len(w) // 2).permute(0, 2, 3, 1)


def case(images, height, width, channels, filters, taps=3, dtype="bfloat16"):
    depth = taps * taps * channels
    return Case(
        name=f"conv2d {images}x{height}x{width}x{channels} to {filters} {taps}x{taps} {dtype}",
        programs=[lambda: conv2d(images, height, width, channels, filters, taps, dtype)],
        inputs=lambda random: [
            normal(random, (images, height, width, channels), dtype),
            normal(random, (taps, taps, channels, filters), dtype, depth**-0.5),
        ],
        outputs=[((images, height, width, filters), dtype)],
        reference=reference,
        peers={"torch": by_torch},
        bytes=2 * (images * height * width * (channels + filters) + depth * filters),
        flop=2 * images * height * width * filters * depth,
    )


CHECKED = [case(2, 10, 18, 64, 72), case(1, 8, 16, 96, 40)]
CASES = [case(64, 56, 56, 128, 128), case(64, 28, 28, 256, 256), case(64, 56, 56, 256, 256, taps=1)]

if __name__ == "__main__":
    check(CHECKED)
