"""Layouts: where the elements of a tile lie, and which threads hold those of a fragment.

They are functions of the indices, which can be asked and put together. For `T.annotate_layout` they are hints: the
compiler chooses by itself where elements lie (semantics S8).
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from itertools import product

from ..errors import ArgumentError, RankError, ShapeError, UnsupportedError
from ..expr import place
from ..typed import TYPE_CHECKING
from ..types import as_tuple
from ..values import static_int
from .bits import index_to_coordinates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "Fragment", "Layout", "PartialFragment", "make_full_bank_swizzled_layout", "make_fully_replicated_layout_fragment",
    "make_gemm_fragment_8x8", "make_gemm_fragment_8x8_transposed", "make_half_bank_swizzled_layout",
    "make_linear_layout", "make_quarter_bank_swizzled_layout", "make_swizzled_layout", "make_volta_swizzled_layout",
    "make_wgmma_swizzled_layout",
]  # fmt: skip


class Layout:
    """Says where the elements of a tile lie: for `T.annotate_layout`, which leaves that to the compiler.

    - `shape`: the extents.
    - `forward_fn`: a function of the indices, which gives a place or several numbers of one; by default the indices.

    >>> T.Layout((4, 8), lambda i, j: j * 4 + i).map_forward_index([1, 2])
    [9]
    >>> T.Layout((4, 8), lambda i, j: j * 4 + i).inverse().map_forward_index([9])
    [1, 2]
    """

    def __init__(self, shape: Any, forward_fn: Callable[..., Any] | None = None) -> None:
        self.shape = tuple(static_int(extent, "an extent of a `T.Layout`") for extent in as_tuple(shape))
        if any(extent < 1 for extent in self.shape):
            raise ShapeError(f"the extents of a layout are positive, and {self.shape} are not", location=place())
        self.forward_fn = forward_fn
        self._found: dict[tuple[int, ...], list[int]] | None = None
        if type(self) is Layout:
            self._check_function("forward_fn", forward_fn, len(self.shape))

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Returns the place of the element at some indices, as a list of numbers."""
        at = self._indices(indices)
        return list(at if self.forward_fn is None else as_tuple(self.forward_fn(*at)))

    def __call__(self, *indices: Any) -> list[Any]:
        return self.map_forward_index(indices)

    def get_input_shape(self) -> list[int]:
        """Returns the extents of the tile."""
        return list(self.shape)

    def get_output_shape(self) -> list[int]:
        """Returns one more than the greatest number of a place, for each of its numbers."""
        return [max(numbers) + 1 for numbers in zip(*self._places.values(), strict=True)]

    def is_equal(self, other: Layout) -> bool:
        """Whether every element lies where it does in another layout."""
        return isinstance(other, Layout) and self.shape == other.shape and self._table == other._table

    def inverse(self) -> Layout:
        """Returns the layout from places to indices. Raises unless there is one element at each place."""
        extents = self.get_output_shape()
        found = {tuple(at): indices for indices, at in self._places.items()}
        if not len(found) == len(self._places) == math.prod(extents):
            raise ArgumentError(
                f"{self!r} has no inverse: of {math.prod(extents)} places {len(found)} are taken, by "
                f"{len(self._places)} elements",
                location=place(),
            )
        return Layout(extents, lambda *at: found[_numbers(at)])

    def reshape(self, shape: Any) -> Layout:
        """Returns the layout of the same elements, in row-major order, under the indices of another shape."""
        return Layout(self._reshaped(shape), lambda *at: self.map_forward_index(self._before(at, as_tuple(shape))))

    def repeat(self, dim: int, factor: int) -> Layout:
        """Returns the layout of `factor` such tiles along a dimension; which of them it is comes first in a place."""
        dim = self._dimension(dim, factor)
        extent = self.shape[dim]

        def forward(*at: Any) -> list[Any]:
            inner = [*at[:dim], at[dim] % extent, *at[dim + 1 :]]
            return [at[dim] // extent, *self.map_forward_index(inner)]

        return Layout((*self.shape[:dim], extent * factor, *self.shape[dim + 1 :]), forward)

    def expand(self, leading_shape: Any) -> Layout:
        """Returns the layout of a box of such tiles: the new indices come first, and first in a place."""
        leading = as_tuple(leading_shape)
        if not leading:
            return self
        count = len(leading)
        return Layout((*leading, *self.shape), lambda *at: [*at[:count], *self.map_forward_index(at[count:])])

    def __repr__(self) -> str:
        return f"a layout of {self.shape}"

    # What is known of all elements -----------------------------------------------------------------------------------

    @property
    def _places(self) -> dict[tuple[int, ...], list[int]]:
        """The place of each element."""
        if self._found is None:
            every = product(*map(range, self.shape))
            self._found = {at: [self._whole(number) for number in self.map_forward_index(at)] for at in every}
        return self._found

    @property
    def _table(self) -> Any:
        return self._places

    def _whole(self, number: Any) -> int:
        """Returns a number of a place, or raises: functions of programs give them."""
        if isinstance(number, str) or not hasattr(number, "__int__"):
            raise ArgumentError(
                f"a function of {self!r} gives `{number!r}`, and a place is a number, or a list of numbers",
                location=place(),
            )
        return static_int(number, f"a number of a place of {self!r}")

    def _check_function(self, name: str, function: Any, count: int) -> None:
        """Raises unless a function, if there is one, can be called with so many numbers."""
        from inspect import signature

        if function is None:
            return
        if not callable(function):
            raise ArgumentError(
                f"`{name}` of {self!r} is a function of its indices, not `{function!r}`", location=place()
            )
        try:
            signature(function).bind(*range(count))
        except TypeError:
            raise ArgumentError(
                f"`{name}` of {self!r} is a function of {count} numbers, and `{function!r}` takes others",
                location=place(),
            ) from None
        except ValueError:
            pass  # a function of C++, which does not say what it takes

    def _indices(self, indices: Any) -> list[Any]:
        at = list(as_tuple(indices))
        if len(at) != len(self.shape):
            raise RankError(f"{self!r} takes {len(self.shape)} indices, and {len(at)} are given", location=place())
        return at

    def _reshaped(self, shape: Any) -> tuple[Any, ...]:
        extents = as_tuple(shape)
        if math.prod(extents) != math.prod(self.shape):
            raise ShapeError(
                f"`reshape` keeps the elements: {self!r} has {math.prod(self.shape)} of them, and {extents} is "
                f"{math.prod(extents)}",
                location=place(),
            )
        return extents

    def _before(self, at: Sequence[Any], shape: Sequence[Any]) -> list[Any]:
        """Returns the indices before a reshape."""
        number: Any = 0
        for index, extent in zip(at, shape, strict=True):
            number = number * extent + index
        return index_to_coordinates(number, self.shape)

    def _dimension(self, dim: int, factor: int) -> int:
        if not hasattr(dim, "__index__") or not -len(self.shape) <= dim < len(self.shape):
            raise RankError(f"{self!r} has no dimension {dim}", location=place())
        if factor < 1:
            raise ArgumentError(f"a layout is repeated a positive number of times, not {factor}", location=place())
        return dim % len(self.shape)


class Fragment(Layout):
    """Says which thread holds which element of a fragment: a hint, which is left to the compiler.

    - `shape`: the extents.
    - `forward_fn`: a function of the indices that gives the thread, and which of its elements it is there.
    - `forward_thread_fn`: or one that gives the thread alone.
    - `replicate`: how many threads hold each element; the functions then take the number of one behind the indices.
    - `forward_index_fn`: beside `forward_thread_fn`, which of the thread's elements it is; by default they are counted
      in row-major order.

    >>> layout = T.Fragment((8, 8), forward_thread_fn=lambda i, j: i * 4 + j // 2)
    >>> layout.map_forward_thread([1, 3]), layout.map_forward_index([1, 3]), layout.get_thread_size()
    (5, [1], 32)
    """

    def __init__(
        self,
        shape: Any,
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(shape, forward_fn)
        if (forward_fn is None) == (forward_thread_fn is None):
            raise ArgumentError("a `T.Fragment` needs `forward_fn` or `forward_thread_fn`", location=place())
        if replicate < 1:
            raise ArgumentError(f"`replicate` of a `T.Fragment` is positive, not {replicate}", location=place())
        self.forward_thread_fn = forward_thread_fn
        self.forward_index_fn = forward_index_fn
        self.copies = replicate
        """How many threads hold each element."""
        self._check_function("forward_fn", forward_fn, len(self.shape) + (replicate > 1))
        self._check_function("forward_thread_fn", forward_thread_fn, len(self.shape) + (replicate > 1))
        self._check_function("forward_index_fn", forward_index_fn, len(self.shape))

    def map_forward_thread(self, indices: Any, copy: Any = 0) -> Any:
        """Returns the thread that holds the element at some indices; `copy` says which, if there are several."""
        at = self._indices(indices)
        if self.copies > 1:
            at.append(copy)
        if self.forward_thread_fn is not None:
            return self.forward_thread_fn(*at)
        assert self.forward_fn is not None, "one of the two is given"
        return as_tuple(self.forward_fn(*at))[0]

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Returns which of its thread's elements the element at some indices is."""
        at = self._indices(indices)
        if self.forward_fn is not None:
            _, *index = as_tuple(self.forward_fn(*at, *[0] * (self.copies > 1)))
            return list(as_tuple(index[0])) if len(index) == 1 else index
        if self.forward_index_fn is not None:
            return list(as_tuple(self.forward_index_fn(*at)))
        return [self._counted[_numbers(at)]]

    def get_thread_size(self) -> int:
        """Returns one more than the number of the greatest thread that holds an element."""
        return max(max(threads) for threads in self._threads.values()) + 1

    def repeat(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, repeats: Any, repeat_on_thread: bool = False, lower_dim_first: bool = True
    ) -> Fragment:
        """Returns the fragment of several such ones side by side.

        - `repeats`: how many, for each dimension.
        - `repeat_on_thread`: whether other threads hold the others; else the same ones hold more elements.
        - `lower_dim_first`: whether those along the last dimension follow each other; else along the first.
        """
        counts = as_tuple(repeats)
        if len(counts) != len(self.shape) or any(count < 1 for count in counts):
            raise ArgumentError(
                f"`repeats` is a positive number for each of the {len(self.shape)} dimensions, not {counts}",
                location=place(),
            )
        step = self.get_thread_size() if repeat_on_thread else self._elements_of_a_thread()
        order = [*range(len(counts))] if lower_dim_first else [*reversed(range(len(counts)))]

        def inner(at: Sequence[Any]) -> list[Any]:
            return [index % extent for index, extent in zip(at, self.shape, strict=True)]

        def number(at: Sequence[Any]) -> Any:
            total: Any = 0
            for dim in order:
                total = total * counts[dim] + at[dim] // self.shape[dim]
            return total

        def thread(*at: Any) -> Any:
            first, copy = (at[:-1], at[-1]) if self.copies > 1 else (at, 0)
            held = self.map_forward_thread(inner(first), copy)
            return held + step * number(first) if repeat_on_thread else held

        def index(*at: Any) -> Any:
            held = self.map_forward_index(inner(at))
            return held if repeat_on_thread else held[0] + step * number(at)

        extents = [extent * count for extent, count in zip(self.shape, counts, strict=True)]
        return Fragment(extents, forward_thread_fn=thread, replicate=self.copies, forward_index_fn=index)

    def replicate(self, replicate: int) -> Fragment:
        """Returns the fragment that `replicate` times as many threads hold, each time the next ones."""
        threads, copies = self.get_thread_size(), self.copies

        def thread(*at: Any) -> Any:
            *first, copy = at if replicate * copies > 1 else (*at, 0)
            return self.map_forward_thread(first, copy % copies) + threads * (copy // copies)

        return Fragment(self.shape, None, thread, replicate * copies, lambda *at: self.map_forward_index(at))

    def condense_rep_var(self) -> Fragment:
        """Returns the fragment with each thread that holds an element counted once."""
        distinct = {at: sorted(set(threads)) for at, threads in self._threads.items()}
        counts = {len(threads) for threads in distinct.values()}
        if counts == {self.copies}:
            return self
        if len(counts) > 1:
            raise ArgumentError(
                f"{self!r} has no smaller `replicate`: its elements are held by {min(counts)} to {max(counts)} threads",
                location=place(),
            )

        def thread(*at: Any) -> Any:
            *first, copy = at if max(counts) > 1 else (*at, 0)
            return distinct[_numbers(first)][static_int(copy, "the number of a copy")]

        return Fragment(self.shape, None, thread, max(counts), lambda *at: self.map_forward_index(at))

    def __repr__(self) -> str:
        return f"a fragment of {self.shape}"

    # What is known of all elements -----------------------------------------------------------------------------------

    @cached_property
    def _threads(self) -> dict[tuple[int, ...], list[int]]:
        """The threads that hold each element."""
        every = product(*map(range, self.shape))
        return {at: [int(self.map_forward_thread(at, copy)) for copy in range(self.copies)] for at in every}

    @cached_property
    def _counted(self) -> dict[tuple[int, ...], int]:
        """The number of each element among those of its thread."""
        seen: Counter[int] = Counter()
        out: dict[tuple[int, ...], int] = {}
        for at, (thread, *_) in self._threads.items():
            out[at] = seen[thread]
            seen[thread] += 1
        return out

    @property
    def _table(self) -> Any:
        return self._threads, self._places

    def _elements_of_a_thread(self) -> int:
        extents = self.get_output_shape()
        if len(extents) != 1:
            raise ArgumentError(
                f"{self!r} numbers the elements of a thread by {len(extents)} numbers, and `repeat` needs one",
                location=place(),
            )
        return extents[0]


class PartialFragment(Fragment):
    """Says which threads hold parts of a reducer that are still to be combined: a hint, as a `T.Fragment` is.

    - `shape`, `forward_fn`, `forward_thread_fn`, `forward_index_fn`: as of a `T.Fragment`.
    - `replicate`: how many threads hold parts of each element.
    - `combine`: how many of them hold parts of their own, by default all; others have what those have. It divides
      `replicate`, else an `ArgumentError` says so.

    >>> layout = T.PartialFragment((8,), forward_thread_fn=lambda i, part: i * 4 + part, replicate=4)
    >>> layout.combine_size, layout.get_thread_size()
    (4, 32)
    """

    def __init__(
        self,
        shape: Any,
        forward_fn: Callable[..., Any] | None = None,
        forward_thread_fn: Callable[..., Any] | None = None,
        replicate: int = 1,
        forward_index_fn: Callable[..., Any] | None = None,
        combine: int | None = None,
    ) -> None:
        super().__init__(shape, forward_fn, forward_thread_fn, replicate, forward_index_fn)
        self.combine_size = replicate if combine is None else combine
        if self.combine_size < 1 or replicate % self.combine_size:
            raise ArgumentError(
                f"`combine` of a `T.PartialFragment` must divide its `replicate`, {replicate}, and {combine} does not",
                location=place(),
            )

    def __repr__(self) -> str:
        groups = self.copies // self.combine_size
        return f"a partial fragment of {self.shape} (combine {self.combine_size} x copy {groups})"


def _numbers(indices: Sequence[Any]) -> tuple[int, ...]:
    return tuple(static_int(index, "an index") for index in indices)


# Shared memory -------------------------------------------------------------------------------------------------------


def make_linear_layout(buffer: Any) -> Layout:
    """Returns the layout of rows one after another, for `T.annotate_layout`.

    >>> T.make_linear_layout((4, 8)).map_forward_index([1, 2])
    [1, 2]
    """
    return Layout(_shape_of(buffer))


def make_swizzled_layout(buffer: Any, k_major: bool = True, allow_pad: bool = True) -> Layout:
    """Returns a layout without bank conflicts: units of 16 bytes change places, as far as rows are long enough.

    Tiles that instructions read get such ones anyway.

    - `buffer`: the tile.
    - `k_major`, `allow_pad`: of no effect on it.

    >>> T.annotate_layout({As: T.make_swizzled_layout(As)})
    """
    bits, columns = _bits_of(buffer), _shape_of(buffer)[-1]
    fitting = [units for units in (8, 4, 2) if columns * bits % (units * _UNIT) == 0]
    return _swizzled(buffer, fitting[0]) if fitting else make_linear_layout(buffer)


def make_wgmma_swizzled_layout(buffer: Any, continuity: int | None = None, k_major: bool = True) -> Layout:
    """Returns a layout for operands of `wgmma`; see `T.make_swizzled_layout`. Tiles get the right ones anyway.

    - `continuity`: how many elements of a row stay in one panel; those of the row if not given.

    >>> T.annotate_layout({As: T.make_wgmma_swizzled_layout(As)})
    """
    if continuity is None:
        return make_swizzled_layout(buffer, k_major)
    units = continuity * _bits_of(buffer) // _UNIT
    if units not in (2, 4, 8):
        raise ShapeError(f"a panel of a swizzled layout has 32, 64 or 128 bytes, not {units * 16}", location=place())
    return _swizzled(buffer, units)


def make_full_bank_swizzled_layout(buffer: Any) -> Layout:
    """Returns the layout of panels with rows of 128 bytes, whose 8 units change places from row to row.

    A place is the panel, the group of 8 rows, and the element in it; indices before the last two come first.

    >>> T.annotate_layout({As: T.make_full_bank_swizzled_layout(As)})
    """
    return _swizzled(buffer, 8)


def make_half_bank_swizzled_layout(buffer: Any) -> Layout:
    """Returns the layout of panels with rows of 64 bytes, whose 4 units change places every other row.

    >>> T.annotate_layout({As: T.make_half_bank_swizzled_layout(As)})
    """
    return _swizzled(buffer, 4)


def make_quarter_bank_swizzled_layout(buffer: Any) -> Layout:
    """Returns the layout of panels with rows of 32 bytes, whose 2 units change places every four rows.

    >>> T.annotate_layout({As: T.make_quarter_bank_swizzled_layout(As)})
    """
    return _swizzled(buffer, 2)


class _Chosen(Layout):
    """A layout that the compiler chooses: it can be asked for, and not looked at."""

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Raises: nobody knows before the kernel is compiled."""
        raise UnsupportedError(
            "where this layout puts an element is not known here: the compiler chooses it, and `T.Layout(shape, "
            "forward_fn)` says it by a function",
            location=place(),
        )


def make_volta_swizzled_layout(buffer: Any, is_a: bool = True, k_inner: bool = True) -> Layout:
    """Returns a layout for operands of older chips, for `T.annotate_layout`; tiles get the right ones anyway.

    >>> T.annotate_layout({As: T.make_volta_swizzled_layout(As)})
    """
    return _Chosen(_shape_of(buffer))


_UNIT = 128
"""Bits that stay side by side in a swizzled layout."""


def _swizzled(buffer: Any, units: int) -> Layout:
    """Returns the layout whose rows of so many units are exchanged, as TMA and `wgmma` have it."""
    shape, vector = _shape_of(buffer), _UNIT // _bits_of(buffer)
    columns = units * vector
    if len(shape) < 2 or shape[-1] % columns:
        raise ShapeError(
            f"a layout of rows of {units * _UNIT // 8} bytes needs two dimensions, and rows that are a multiple of "
            f"that; the tile is {shape} of {_bits_of(buffer)} bits",
            location=place(),
        )

    def forward(*at: Any) -> list[Any]:
        *outer, row, column = at
        panel, inside = column // columns, column % columns
        unit = (inside // vector) ^ (row * units // 8 % units)
        return [*outer, panel, row // 8, row % 8 * columns + unit * vector + inside % vector]

    return Layout(shape, forward)


def _shape_of(buffer: Any) -> tuple[Any, ...]:
    return as_tuple(getattr(getattr(buffer, "buffer", buffer), "shape", buffer))


def _bits_of(buffer: Any) -> int:
    dtype = getattr(getattr(buffer, "buffer", buffer), "dtype", None)
    if dtype is None:
        raise ArgumentError(
            f"a swizzled layout is one of a tile, whose type it needs, not of `{buffer!r}`", location=place()
        )
    return dtype.bits


# Fragments -----------------------------------------------------------------------------------------------------------


def _thread_of_8x8(i: Any, j: Any) -> Any:
    return i * 4 + j // 2


def _index_of_8x8(i: Any, j: Any) -> Any:
    return j % 2


def make_gemm_fragment_8x8() -> Fragment:
    """Returns how a warp holds a tile of 8 x 8, two neighbours in a thread, for `T.annotate_layout`.

    >>> layout = T.make_gemm_fragment_8x8()
    """
    return Fragment((8, 8), forward_thread_fn=_thread_of_8x8, forward_index_fn=_index_of_8x8)


def make_gemm_fragment_8x8_transposed() -> Fragment:
    """Returns how a warp holds the transpose of a tile of 8 x 8, for `T.annotate_layout`.

    >>> layout = T.make_gemm_fragment_8x8_transposed()
    """

    def thread(i: Any, j: Any) -> Any:
        return _thread_of_8x8(j, i)

    def index(i: Any, j: Any) -> Any:
        return _index_of_8x8(j, i)

    return Fragment((8, 8), forward_thread_fn=thread, forward_index_fn=index)


def make_fully_replicated_layout_fragment(buffer: Any, threads: int) -> Fragment:
    """Returns that every thread holds all elements, for `T.annotate_layout`.

    >>> T.annotate_layout({row: T.make_fully_replicated_layout_fragment(row, 128)})
    """

    def thread(*at: Any) -> Any:
        return at[-1] if threads > 1 else 0

    return Fragment(_shape_of(buffer), forward_thread_fn=thread, replicate=threads)
