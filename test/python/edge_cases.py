"""What the tests of arithmetic share: how a program runs on each target, and numbers that are edge cases."""

import functools
import itertools

import ml_dtypes
import numpy as np
import pytest

import tilec
import tilec.language as T

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


@functools.cache
def gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU answers")
    return torch


def runner(target):
    """Returns what compiles a program and calls it with NumPy arrays, on the CPU or, where one answers, on a GPU."""

    def on_cpu(program, *arguments):
        tilec.compile(program, target="cpu")(*arguments)

    def on_gpu(program, *arguments):
        torch = gpu()
        tensors = [to_torch(torch, a) if isinstance(a, np.ndarray) else a for a in arguments]
        tilec.compile(program)(*tensors)
        for array, tensor in zip(arguments, tensors, strict=True):
            if isinstance(array, np.ndarray):
                array.view(np.uint8).reshape(-1)[:] = tensor.cpu().contiguous().view(torch.uint8).numpy().reshape(-1)

    if target == "gpu":
        gpu()
    return on_cpu if target == "cpu" else on_gpu


def to_torch(torch, array):
    """Returns a copy on the GPU; types that NumPy lacks go by their bytes."""
    raw = torch.from_numpy(array.reshape(-1).view(np.uint8).copy()).cuda()
    return raw.view(getattr(torch, array.dtype.name)).reshape(array.shape)


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)


def evaluate(run, function, *arrays, out):
    """Returns `function` of the elements of arrays of one length, computed by a kernel."""
    n = arrays[0].size
    types = [str(a.dtype) for a in (*arrays, *([arrays[0]] * (3 - len(arrays))))]

    @T.prim_func
    def program(
        A: T.Tensor((n,), types[0]), B: T.Tensor((n,), types[1]), C: T.Tensor((n,), types[2]), R: T.Tensor((n,), out)
    ):
        with T.Kernel(T.ceildiv(n, 128), threads=64) as b:
            for i in T.Parallel(128):
                values = (A[b * 128 + i], B[b * 128 + i], C[b * 128 + i])
                R[b * 128 + i] = function(*values[: len(arrays)])

    result = np.zeros(n, dtype(out))
    run(program, *arrays, *([arrays[0]] * (3 - len(arrays))), result)
    return result


def integers(name):
    """Every kind of integer: around zero, around the ends, powers of two."""
    info = np.iinfo(name)
    around = [0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 100, info.max, info.max - 1, info.max // 2]
    numbers = {v for n in around for v in (n, -n, ~n) if info.min <= v <= info.max} | {info.min, info.min + 1}
    return np.array(sorted(numbers), name)


def pairs(left, right):
    a, b = zip(*itertools.product(left, right), strict=True)
    return np.array(a, left.dtype), np.array(b, right.dtype)


def cut(numbers, name):
    """Returns exact integers cut to a type."""
    bits, low = np.iinfo(name).bits, int(np.iinfo(name).min)
    return np.array([(int(v) - low) % (1 << bits) + low for v in numbers], name)
