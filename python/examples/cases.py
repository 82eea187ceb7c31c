"""What the examples share: a problem that a program is checked on and measured by.

An example makes `Case`s from shapes. It checks itself on the small ones of `CHECKED` when it is run; those of `CASES`
are what `python/benchmarks/run.py` measures on a GPU, beside the peers that they name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import tilec


@dataclass(frozen=True)
class Case:
    """A problem: a program, what it is called with, and what must come out.

    - `name`: the shapes and types, as in "4096x8192 bfloat16".
    - `programs`: functions that return a program, each another choice of tiles; the fastest counts.
    - `inputs`: makes the first arguments, arrays of NumPy, from a generator of random numbers.
    - `outputs`: shape and type of each further argument, which the program writes.
    - `reference`: computes the outputs from the inputs, of which inexact types come as `float64`; None for an output
      that only the program itself reads.
    - `peers`: other ways to compute it, by name: functions of PyTorch's tensors.
    - `bytes`, `flop`: what has to be moved between memory and the chip at least, and how many operations that takes.
    - `rtol`, `atol`: how far a number may be from the reference, relative to it and at all.
    - `options`: those of `tilec.compile`.
    """

    name: str
    programs: Sequence[Callable[[], tilec.PrimFunc]]
    inputs: Callable[[np.random.Generator], Sequence[np.ndarray]]
    outputs: Sequence[tuple[tuple[int, ...], str]]
    reference: Callable[..., Any]
    peers: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    bytes: int = 0
    flop: int = 0
    rtol: float = 1e-2
    atol: float = 1e-2
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def check(self, seed: int | None = None, **options: Any) -> None:
        """Runs all programs on fresh data, and raises an AssertionError if one computes something else.

        - `seed`: of the random numbers; another one each time by default.
        - `options`: those of `tilec.compile`, such as `target` and `backend`.
        """
        arrays = self.inputs(np.random.default_rng(seed))
        expected = self.reference(*map(_widened, arrays))
        expected = expected if isinstance(expected, tuple) else (expected,)
        for program in self.programs:
            found = [poisoned(*output) for output in self.outputs]
            tilec.compile(program(), **self.options, **options)(*arrays, *found)
            for number, wanted in zip(found, expected, strict=True):
                if wanted is None:
                    continue
                np.testing.assert_allclose(
                    _widened(number), wanted, rtol=self.rtol, atol=self.atol, err_msg=self.name, equal_nan=False
                )


def check(checked: Sequence[Case]) -> None:
    """Checks cases on the GPU, or on the CPU where there is none, and says so."""
    for case in checked:
        case.check()
        print(f"{case.name}: correct")


def dtype_of(name: str) -> np.dtype[Any]:
    """Returns NumPy's type for the name of one of the language.

    >>> dtype_of("bfloat16").itemsize
    2
    """
    small = {
        "bfloat16": ml_dtypes.bfloat16,
        "float8_e4m3": ml_dtypes.float8_e4m3fn,
        "float8_e5m2": ml_dtypes.float8_e5m2,
    }
    return np.dtype(small.get(name, name))


def poisoned(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Returns an array of what no result is: NaN, or the greatest integer."""
    kind = dtype_of(dtype)
    return np.full(shape, np.iinfo(kind).max if kind.kind in "iu" else math.nan, kind)


def normal(random: np.random.Generator, shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> np.ndarray:
    """Returns normally distributed numbers of a type."""
    return (random.standard_normal(shape, np.float32) * np.float32(scale)).astype(dtype_of(dtype))


def rows_and_threads(columns: int, held: int) -> tuple[int, int]:
    """Returns how many rows a block has whose threads hold so many numbers each, and how many threads."""
    threads = min(max(columns // held, 128), 1024)
    return max(threads * held // columns, 1), threads


def _widened(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)
