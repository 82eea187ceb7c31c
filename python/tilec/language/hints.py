"""Annotations that programs carry for other compilers.

What changes how fast a kernel is, and not what it computes, is accepted: `IgnoredHintWarning` says once for each place
that it has no counterpart. What changes the meaning is refused where it says something else than the language does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..buffers import Buffer
from ..builder import current, current_or_none
from ..errors import ArgumentError, IgnoredHintWarning, ShapeError, TLSyntaxError, warn_at
from ..expr import place
from ..typed import TYPE_CHECKING, cast
from ..values import known
from .layouts import Layout

if TYPE_CHECKING:
    from typing import Any

    from ..ir import Block
    from .kernel import Kernel

__all__ = [
    "annotate_compile_flags", "annotate_l2_hit_ratio", "annotate_layout",
    "annotate_pass_configs", "annotate_restrict_buffers", "annotate_safe_value",
]  # fmt: skip


class _Key(str):
    """The key of `annotations` under which a statement or a loop has a name, for `T.WSSchedule`.

    >>> T.clear(acc, annotations={T.WSID: "zero"})
    """

    __slots__ = ()


WSID = _Key("tl.ws_op_id")


def ignored(what: str, instead: str) -> None:
    """Warns, once for each place, that something has no effect; `instead` says what the compiler does."""
    warn_at(place(), f"{what} has no counterpart here and is left out: {instead}", IgnoredHintWarning)


def ignored_options(function: str, instead: str, **given: Any) -> None:
    """Warns of those arguments that were given and have no effect."""
    for name, value in given.items():
        if name == "annotations" and isinstance(value, Mapping) and WSID in value:
            value = _labelled(cast("Mapping[str, Any]", value))
        if value is not None and value is not False:
            ignored(f"`{name}` of `{function}`", instead)


def label(name: str) -> None:
    """Gives the statement that is being built a name, for the schedule of its kernel."""
    block = current().kernel_block
    if block is not None:
        kernel: Kernel = cast("Kernel", block.frame)
        kernel.labels.add(name)


def _labelled(annotations: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Notes the name that annotations give to a statement; returns the others, or None if there are none."""
    name = annotations[WSID]
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"`T.WSID` of `annotations` is a name, not `{name!r}`", location=place())
    label(name)
    return {key: value for key, value in annotations.items() if key != WSID} or None


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
        if isinstance(layout, Layout) and math.prod(layout.shape) != math.prod(buffer.static_shape() or layout.shape):
            raise ShapeError(
                f"`T.annotate_layout` needs a layout of each buffer's elements, and {buffer!r} has {layout!r}",
                location=place(),
            )
    ignored("`T.annotate_layout`", "the compiler chooses where elements lie")


def annotate_safe_value(safe_value_map: Mapping[Any, Any]) -> None:
    """Says what reads outside of tensors give in this kernel: elements, and tiles that `T.copy` copies.

    Without it they give zero, and so does what other tile operations read.

    - `safe_value_map`: for each tensor a number that is known when the kernel is built.

    Constraints: it stands before what reads the tensor, and not in a loop or a branch.

    >>> T.annotate_safe_value({image: -1})
    """
    what = "`T.annotate_safe_value`"
    pairs = _checked(safe_value_map, "T.annotate_safe_value").items()
    builder = current()
    kernel = builder.require_kernel(what)
    for buffer, value in pairs:
        number = known(value)
        if number is None:
            raise ArgumentError(
                f"{what} needs numbers that are known when the kernel is built, and `{buffer.name}` has `{value!r}`; "
                f"write `T.if_then_else(i < extent, A[i], value)` where another number is needed",
                location=place(),
            )
        if buffer.space != "global":
            raise ArgumentError(
                f"{what}: `{buffer.name or 'the buffer'}` is on the chip, and only tensors are read outside",
                location=place(),
            )
        before = builder.outside.get(buffer.value, 0)
        if number == before and math.copysign(1, number) == math.copysign(1, before):
            continue
        if builder.block is not kernel or _is_used(buffer, kernel):
            raise TLSyntaxError(
                f"{what} is for the whole kernel: write it before what reads `{buffer.name}`, outside of loops and "
                f"branches",
                location=place(),
            )
        builder.outside[buffer.value] = number


def _is_used(buffer: Buffer, block: Block) -> bool:
    """Returns whether a block has an operation on a buffer, in itself or further inside."""
    return any(buffer.value in op.operands or any(_is_used(buffer, b) for b in op.regions) for op in block.ops)


def annotate_l2_hit_ratio(l2_hit_ratio_map: Mapping[Any, float]) -> None:
    """Says how much of tensors is to stay in the L2 cache: a hint without effect.

    >>> T.annotate_l2_hit_ratio({A: 0.5})
    """
    _checked(l2_hit_ratio_map, "T.annotate_l2_hit_ratio")
    ignored("`T.annotate_l2_hit_ratio`", "the chip decides what stays in its L2 cache")


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


def annotate_pass_configs(configs: Any) -> None:
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
