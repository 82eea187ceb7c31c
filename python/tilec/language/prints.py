"""What a kernel tells its caller: values, assertions, breakpoints (docs/Printing.md)."""

from __future__ import annotations

import itertools
import math

from .. import _ops, dtypes
from ..buffers import Buffer, Outside, Region, Var, alloc
from ..builder import current
from ..errors import ArgumentError, ShapeError, TLSyntaxError
from ..location import argument_text, user_frame
from ..typed import TYPE_CHECKING
from ..values import Expr, condition, expr, index_value, known, simplify
from .hints import ignored_options
from .tile import copy

if TYPE_CHECKING:
    from typing import Any

    from ..ir import Value

__all__ = ["breakpoint", "device_assert", "print"]

MOST_ELEMENTS = 65536


def print(obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0, *, layout: bool = False) -> None:
    """Prints a value, or a whole tile, when the kernel runs: to `sys.stdout`, before the call returns.

    - `obj`: a number, an element, a variable; a tile, an array, a tensor or a region of one, of up to 65536 elements;
      None to print only the message.
    - `msg`: what to say before it.
    - `warp_group_id`, `warp_id`: hints for other compilers, without effect: a tile is printed once, by the block.
    - `layout`: whether to print where the elements of a tile lie, too: the threads and registers of a fragment, the
      bytes of shared memory. A CPU has neither.

    It is executed as an assignment would be: once for each block, for each iteration in a `T.Parallel`, for each thread
    where it depends on the thread; under a condition where that holds. A tile is printed by the whole block. Lines come
    in the order of blocks, in a block in that of its statements, in a statement in that of iterations or threads.

    >>> T.print(acc, msg="after the loop")
    """
    builder = current()
    builder.reach_kernel("`T.print`")
    if isinstance(obj, str):
        if not isinstance(msg, str):
            raise ArgumentError(
                f"what `T.print` prints comes first, and what to say before it second: `T.print(value, msg={obj!r})`",
                location=_here(),
            )
        if msg:
            raise ArgumentError(f"`T.print` takes one message, and two are given: {obj!r}, {msg!r}", location=_here())
        obj, msg = None, obj
    _check_message("T.print", msg)
    ignored_options(
        "T.print",
        "a tile is printed once, by the whole block",
        warp_group_id=warp_group_id or None,
        warp_id=warp_id or None,
    )
    if obj is None:
        _ops.print(message=msg)
        return
    if layout and not isinstance(obj, Buffer | Region):
        raise ArgumentError(f"`layout` of `T.print` is of a tile, and `{obj!r}` is none", location=_here())
    _print(obj, msg, argument_text(builder.here(), "print", "obj"), layout=layout)


def device_assert(condition: Any, msg: str = "", no_stack_info: bool = False) -> None:
    """Lets the call raise a `DeviceAssertError` if a condition does not hold when the kernel runs.

    - `condition`: a truth value, of the kernel or of Python.
    - `msg`: what the error says besides.
    - `no_stack_info`: a hint for other compilers, without effect: the error names the line, block and iteration.

    The kernel runs to its end, and so does the function; the error is raised then. Of several that fail it is the
    first, in the order in which `T.print` prints. On a GPU the call does not wait, unless the function prints as well:
    the error is raised by the next call, or by `tilec.assertions.synchronize()`.

    >>> T.device_assert(A[0, 0] > 0, "the logarithm needs positive numbers")
    """
    builder = current()
    builder.reach_kernel("`T.device_assert`")
    _check_message("T.device_assert", msg)
    holds = _truth(condition)
    if holds is True:
        return
    _ops.assert_(  # noqa: PT009
        expr(holds, dtypes.bool_).value,
        text=argument_text(builder.here(), "device_assert", "condition"),
        message=msg,
    )


def breakpoint(*values: Any, condition: Any = True, msg: str = "", **named: Any) -> None:
    """Stops after the call, for each time that this was executed, in the debugger of Python, with values as they were.

    - `values`: numbers and tiles, as of `T.print`, which the debugger shows by the text that stands here. Without any
      it is all that has a name here: numbers, variables, and tiles on the chip that something was done with.
    - `named`: others, by the names to give them.
    - `condition`: where to stop: a truth value of the kernel.
    - `msg`: what to say.

    The kernel is not stopped, on a GPU it could not be: it notes the values and goes on. When it is done,
    `tilec.prints.hook` is called with each stop, in the order in which `T.print` prints; by default it starts `pdb`,
    where the values are variables, tiles as NumPy arrays.

    >>> T.breakpoint(acc, condition=n[0] == 3)
    """
    from .loops import If

    builder = current()
    builder.require_kernel("`T.breakpoint`")
    _check_message("T.breakpoint", msg)
    holds = _truth(condition)
    if holds is False:
        return
    place = builder.here()
    given = [(value, argument_text(place, "breakpoint", i) or f"value{i}") for i, value in enumerate(values)]
    given += [(value, name) for name, value in named.items()]
    if not given:
        given = in_scope()
    if holds is True:
        _stop(given, msg)
        return
    with If(holds):
        _stop(given, msg)


def in_scope() -> list[tuple[Any, str]]:
    """Returns what has a name where the user's program is, and can be printed there, with the names."""
    builder = current()
    frame = user_frame()
    found: list[tuple[Any, str]] = []
    around = list(itertools.takewhile(lambda block: not block.is_kernel, builder.block.ancestors()))
    # Tiles are the block's: an iteration cannot print one, nor a branch that may depend on the thread.
    has_tiles = not any("T.Parallel" in block.label for block in around) and not (
        around and "gpu.thread_id" in {op.name for block in builder.block.ancestors() for op in block.ops}
    )
    names: dict[str, Any] = {} if frame is None else frame.f_locals
    for name, value in names.items():
        if isinstance(value, Var) and value.buffer.value.block.is_visible_from(builder.block):
            found.append((value, name))
        elif isinstance(value, Buffer):
            is_known = value.space != "global" and value.value.uses > 0 and not value.is_view
            is_small = is_known and math.prod(value.static_shape() or (0,)) <= MOST_ELEMENTS
            if has_tiles and is_small and value.value.block.is_visible_from(builder.block):
                found.append((value, name))
        elif isinstance(value, Expr) and (value.const is not None or value.value.block.is_visible_from(builder.block)):
            found.append((value, name))
    return found


def _here() -> Any:
    return current().here()


def _check_message(function: str, message: Any) -> None:
    """Raises unless a message is text that is known now."""
    if not isinstance(message, str):
        raise ArgumentError(f"`msg` of `{function}` is text, not `{message!r}`", location=_here())
    import re  # only where messages are given

    if found := re.search(r"<(?:\w+ value|variable|\w+ buffer)\b[^>]*>", message):
        raise ArgumentError(
            f"`msg` of `{function}` is text that is known when the kernel is built, and it has `{found[0]}` in it, "
            f"which is known only when it runs: print that by itself, `T.print(value, msg=...)`",
            location=_here(),
        )


def _truth(value: Any) -> bool | Expr:
    if isinstance(value, Buffer | Region | Outside):
        raise TLSyntaxError(
            f"a condition is a truth value, and `{value!r}` is none: use an element, `T.any_of` or `T.all_of`",
            location=_here(),
        )
    return condition(value)


def _stop(given: list[tuple[Any, str]], msg: str) -> None:
    if not given:
        _ops.print(message=msg, stop=True, last=True)
    for i, (value, name) in enumerate(given):
        _print(value, msg, name, stop=True, last=i == len(given) - 1)


def _print(obj: Any, msg: str, name: str, *, stop: bool = False, last: bool = False, layout: bool = False) -> None:
    if isinstance(obj, Outside):
        obj.fail()
    if isinstance(obj, tuple | list | dict | set):
        raise ArgumentError(
            f"`T.print` prints one value or tile, and `{obj!r}` may hold several: call it for each", location=_here()
        )
    if isinstance(obj, Var):
        obj = obj.load()
    if isinstance(obj, Buffer | Region):
        _print_tile(obj, msg, name, stop, last, layout)
        return
    number = simplify(obj)
    if not isinstance(number, Expr):
        number = expr(number, _type_of(number))
    if isinstance(number.dtype, dtypes.Format):
        number = expr(number, number.dtype.value)
    _ops.print(number.value, message=msg, name=name, dtype=number.dtype.name, stop=stop, last=last)


def _type_of(number: Any) -> dtypes.DType:
    if isinstance(number, bool):
        return dtypes.bool_
    return dtypes.int64 if isinstance(number, int) else dtypes.float64


def _print_tile(obj: Buffer | Region, msg: str, name: str, stop: bool, last: bool, layout: bool) -> None:
    region = obj if isinstance(obj, Region) else Region.of(obj, ())
    buffer = region.buffer
    tile = [buffer.shape[d] if e is None else e or 1 for d, e in enumerate(region.extents)]
    extents = [extent for extent in tile if isinstance(extent, int)]
    if len(extents) != len(tile):
        raise ShapeError(
            f"`T.print` needs extents that are known when the kernel is built: give a region of `{buffer.name}`, such "
            f"as `{buffer.name}[{', '.join('0:4' for _ in tile)}]`",
            location=_here(),
        )
    if math.prod(extents) > MOST_ELEMENTS:
        raise ShapeError(
            f"`T.print` prints up to {MOST_ELEMENTS} elements at once, and this is ({', '.join(map(str, extents))}): "
            f"give a region of `{buffer.name}`",
            location=_here(),
        )
    offsets = list(region.offsets)
    if layout and (buffer.is_view or tuple(extents) != buffer.shape):
        raise ArgumentError(
            f"`layout` of `T.print` is of a whole tile, and this is a part of `{buffer.name}`, or a view of it",
            location=_here(),
        )
    if isinstance(buffer.dtype, dtypes.Format):
        made = alloc(extents or (1,), buffer.dtype.value, "local" if buffer.space == "local" else "fragment")
        copy(Region(buffer, region.offsets, tuple(extents)), made)
        buffer, offsets = made, [0] * len(extents)
    if buffer.is_view:
        made = alloc(buffer.shape, buffer.dtype, "local" if buffer.space == "local" else "fragment")
        copy(buffer, made)
        buffer = made
    places: list[Value] = [] if all(known(o) == 0 for o in offsets) else [index_value(o) for o in offsets]
    _ops.print(
        buffer.value,
        places,
        message=msg,
        name=name or buffer.name,
        dtype=buffer.dtype.name,
        tile=extents,
        shown=[extent for extent, given in zip(extents, region.extents, strict=True) if given != 0],
        stop=stop,
        last=last,
        layout=layout,
    )
