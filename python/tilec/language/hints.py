"""Annotations that programs carry for other compilers.

What changes how fast a kernel is, and not what it computes, is accepted: `IgnoredHintWarning` says once for each place
that it has no counterpart. What changes the meaning is refused where it says something else than the language does.
"""

from __future__ import annotations

import warnings

from ..buffers import Buffer
from ..builder import current_or_none
from ..errors import ArgumentError, IgnoredHintWarning, TLSyntaxError, UnsupportedError
from ..expr import place
from ..typed import TYPE_CHECKING, cast
from ..types import as_tuple
from ..values import known

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = [
    "Fragment", "Layout", "annotate_compile_flags", "annotate_l2_hit_ratio", "annotate_layout",
    "annotate_min_blocks_per_sm", "annotate_pass_configs", "annotate_restrict_buffers", "annotate_safe_value",
    "make_full_bank_swizzled_layout", "make_fully_replicated_layout_fragment", "make_gemm_fragment_8x8",
    "make_gemm_fragment_8x8_transposed", "make_half_bank_swizzled_layout", "make_linear_layout",
    "make_quarter_bank_swizzled_layout", "make_swizzled_layout", "make_volta_swizzled_layout",
    "make_wgmma_swizzled_layout",
]  # fmt: skip

_shown: dict[str, dict[Any, Any]] = {}
"""For each file of the user's what was warned of, as `warnings` keeps it."""


def ignored(what: str, instead: str) -> None:
    """Warns, once for each place, that something has no effect; `instead` says what the compiler does."""
    location = place()
    text = f"{what} has no counterpart here and is left out: {instead} [ignored-hint]"
    warnings.warn_explicit(
        f"{location.file}:{location.line}:{location.column}: warning: {text}",
        IgnoredHintWarning,
        location.file,
        location.line,
        registry=_shown.setdefault(location.file, {}),
    )


def ignored_options(function: str, instead: str, **given: Any) -> None:
    """Warns of those arguments that were given and have no effect."""
    for name, value in given.items():
        if value is not None and value is not False:
            ignored(f"`{name}` of `{function}`", instead)


_BY_ITSELF = "the compiler chooses where elements lie"


class Layout:
    """Says where the elements of a buffer lie: for `T.annotate_layout`, which leaves that to the compiler.

    - `shape`: the extents.
    - `forward_fn`: a function of the indices, which gives a place or several numbers of one; by default the indices.

    >>> T.Layout((4, 8), lambda i, j: j * 4 + i).map_forward_index([1, 2])
    [9]
    """

    def __init__(self, shape: Any, forward_fn: Any = None) -> None:
        self.shape = shape
        self.forward_fn = forward_fn

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Returns the place of the element at some indices, as a list of numbers."""
        place = indices if self.forward_fn is None else self.forward_fn(*indices)
        return list(as_tuple(place))

    def __call__(self, *indices: Any) -> list[Any]:
        return self.map_forward_index(indices)

    def get_input_shape(self) -> list[int]:
        """Returns the extents of the buffer."""
        return [int(extent) for extent in as_tuple(self.shape)]

    def get_output_shape(self) -> list[int]:
        """Returns one more than the greatest number of a place, for each of its numbers."""
        return [max(numbers) + 1 for numbers in zip(*self._places(), strict=True)]

    def is_equal(self, other: Layout) -> bool:
        """Whether every element lies where it does in another layout."""
        return self.get_input_shape() == other.get_input_shape() and self._places() == other._places()

    def _places(self) -> list[list[int]]:
        from itertools import product

        every = product(*(range(extent) for extent in self.get_input_shape()))
        return [[int(number) for number in self.map_forward_index(indices)] for indices in every]


class Fragment(Layout):
    """Says which thread holds which element of a fragment: a hint, which is left to the compiler.

    >>> T.annotate_layout({acc: T.Fragment((64, 64), forward_thread_fn=lambda i, j: i * 2 + j // 32)})
    """

    def __init__(
        self,
        shape: Any,
        forward_fn: Any = None,
        forward_thread_fn: Any = None,
        replicate: int = 1,
        forward_index_fn: Any = None,
    ) -> None:
        super().__init__(shape, forward_fn)
        self.forward_thread_fn = forward_thread_fn
        self.replicate = replicate
        self.forward_index_fn = forward_index_fn

    def _forward(self, indices: Any) -> Any:
        if self.forward_fn is None:
            raise UnsupportedError(
                "a `T.Fragment` without `forward_fn` or `forward_thread_fn` does not say which thread holds what: the "
                "compiler chooses it",
                location=place(),
            )
        return self.forward_fn(*indices)

    def map_forward_thread(self, indices: Any) -> Any:
        """Returns the number of the thread that holds the element at some indices."""
        if self.forward_thread_fn is None:
            return as_tuple(self._forward(indices))[0]
        return self.forward_thread_fn(*indices)

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Returns which of its thread's elements the element at some indices is."""
        if self.forward_thread_fn is None:
            return list(as_tuple(self._forward(indices))[1:])
        return list(as_tuple(0 if self.forward_index_fn is None else self.forward_index_fn(*indices)))


class _Chosen(Layout):
    """A layout that the compiler chooses: it can be asked for, and not looked at."""

    def map_forward_index(self, indices: Any) -> list[Any]:
        """Raises: nobody knows before the kernel is compiled."""
        raise UnsupportedError(
            "where a swizzled layout puts an element is not known here: the compiler chooses it, and `T.Layout(shape, "
            "forward_fn)` says it by a function",
            location=place(),
        )

    def get_output_shape(self) -> list[int]:
        """Returns the extents of the buffer: elements change places, and take no more room."""
        return self.get_input_shape()


def _layout_of(buffer: Any) -> Layout:
    return _Chosen(_shape_of(buffer))


def _shape_of(buffer: Any) -> Any:
    return as_tuple(getattr(getattr(buffer, "buffer", buffer), "shape", buffer))


def make_swizzled_layout(buffer: Any, k_major: bool = True, allow_pad: bool = True) -> Layout:
    """Returns a layout without bank conflicts, for `T.annotate_layout`; tiles get such ones anyway.

    >>> T.annotate_layout({As: T.make_swizzled_layout(As)})
    """
    return _layout_of(buffer)


def make_volta_swizzled_layout(buffer: Any, is_a: bool = True, k_inner: bool = True) -> Layout:
    """Returns a layout for operands of older chips, for `T.annotate_layout`; tiles get the right ones anyway.

    >>> T.annotate_layout({As: T.make_volta_swizzled_layout(As)})
    """
    return _layout_of(buffer)


def make_wgmma_swizzled_layout(buffer: Any, continuity: int | None = None, k_major: bool = True) -> Layout:
    """Returns a layout for operands of `wgmma`, for `T.annotate_layout`; tiles get the right ones anyway.

    >>> T.annotate_layout({As: T.make_wgmma_swizzled_layout(As)})
    """
    return _layout_of(buffer)


def make_full_bank_swizzled_layout(buffer: Any) -> Layout:
    """Returns a layout whose rows of 128 bytes are exchanged, for `T.annotate_layout`; tiles get such ones anyway.

    >>> T.annotate_layout({As: T.make_full_bank_swizzled_layout(As)})
    """
    return _layout_of(buffer)


def make_half_bank_swizzled_layout(buffer: Any) -> Layout:
    """Returns a layout whose rows of 64 bytes are exchanged, for `T.annotate_layout`; tiles get such ones anyway.

    >>> T.annotate_layout({As: T.make_half_bank_swizzled_layout(As)})
    """
    return _layout_of(buffer)


def make_quarter_bank_swizzled_layout(buffer: Any) -> Layout:
    """Returns a layout whose rows of 32 bytes are exchanged, for `T.annotate_layout`; tiles get such ones anyway.

    >>> T.annotate_layout({As: T.make_quarter_bank_swizzled_layout(As)})
    """
    return _layout_of(buffer)


def make_linear_layout(buffer: Any) -> Layout:
    """Returns the layout of rows one after another, for `T.annotate_layout`.

    >>> T.make_linear_layout((4, 8)).map_forward_index([1, 2])
    [1, 2]
    """
    return Layout(_shape_of(buffer))


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

    def thread(*_: Any) -> int:
        return 0

    return Fragment(_layout_of(buffer).shape, forward_thread_fn=thread, replicate=threads)


def annotate_layout(layout_map: Mapping[Any, Any]) -> None:
    """Says where the elements of buffers lie. The compiler chooses that by itself, and warns that it does.

    - `layout_map`: for each buffer a `T.Layout`, a `T.Fragment` or a function of its indices.

    >>> T.annotate_layout({As: T.make_swizzled_layout(As)})
    """
    for buffer, layout in _checked(layout_map, "T.annotate_layout").items():
        if not isinstance(layout, Layout) and not callable(layout):
            raise ArgumentError(
                f"`T.annotate_layout` needs a `T.Layout` or a function for each buffer, and {buffer!r} has "
                f"`{layout!r}`",
                location=place(),
            )
    ignored("`T.annotate_layout`", _BY_ITSELF)


def annotate_safe_value(safe_value_map: Mapping[Any, Any]) -> None:
    """Says what reads outside of tensors give, which is zero: any other number is refused.

    >>> T.annotate_safe_value({A: 0})
    """
    for buffer, value in _checked(safe_value_map, "T.annotate_safe_value").items():
        if known(value) != 0:
            raise ArgumentError(
                f"`T.annotate_safe_value`: reads outside of `{buffer.name}` give 0, not `{value!r}`; write "
                f"`T.if_then_else(i < extent, A[i], value)` where another number is needed",
                location=place(),
            )


def annotate_l2_hit_ratio(l2_hit_ratio_map: Mapping[Any, float]) -> None:
    """Says how much of tensors is to stay in the L2 cache: a hint without effect.

    >>> T.annotate_l2_hit_ratio({A: 0.5})
    """
    _checked(l2_hit_ratio_map, "T.annotate_l2_hit_ratio")
    ignored("`T.annotate_l2_hit_ratio`", "the chip decides what stays in its L2 cache")


def annotate_min_blocks_per_sm(n: int) -> None:
    """Says how many blocks are to fit on a multiprocessor: a hint without effect.

    >>> T.annotate_min_blocks_per_sm(2)
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ArgumentError(f"`T.annotate_min_blocks_per_sm` needs a positive integer, not `{n!r}`", location=place())
    ignored("`T.annotate_min_blocks_per_sm`", "the assembler decides how many registers a thread gets")


def annotate_restrict_buffers(*buffers: Any) -> None:
    """Says that tensors may share memory. They may not, if one of them is written: refused unless nothing is named.

    >>> T.annotate_restrict_buffers()
    """
    for buffer in buffers:
        raise ArgumentError(
            f"`T.annotate_restrict_buffers`: `{getattr(buffer, 'name', buffer)}` may not share memory with another "
            f"argument: a tensor that a kernel writes overlaps no other one; pass one tensor, and index it twice",
            location=place(),
        )


def annotate_compile_flags(flags: Any) -> None:
    """Gives options to a CUDA compiler, which has none to give them to here: a hint without effect.

    >>> T.annotate_compile_flags(["-O3"])
    """
    ignored("`T.annotate_compile_flags`", "give options to `tilec.compile`, such as `fast_math=True`")


def annotate_pass_configs(pass_configs: Any) -> None:
    """Sets options of another compiler's passes: a hint without effect.

    >>> T.annotate_pass_configs({"tl.disable_tma_lower": True})
    """
    ignored("`T.annotate_pass_configs`", "passes have no options that programs set")


def _checked(given: Any, function: str) -> dict[Any, Any]:
    """Returns a dictionary whose keys are buffers, or raises."""
    if current_or_none() is None:
        raise TLSyntaxError(f"`{function}` belongs inside a kernel", location=place())
    pairs = cast("dict[Any, Any]", given)
    if not isinstance(given, dict) or not all(isinstance(buffer, Buffer) for buffer in pairs):
        raise ArgumentError(f"`{function}` needs a dictionary by buffers, not `{given!r}`", location=place())
    return pairs
